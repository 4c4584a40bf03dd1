"""When a written number agrees with an expected number or interval."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, interval
from attncli.checking.thresholds import (
    FLOAT_ERROR,
    FLOAT_ERROR_OF_EXACT,
    LARGEST_TERM,
    MAX_WIDTH,
    NEAR_ZERO,
    ROUNDED,
    SMALLEST_TERM,
)
from attncli.tape.replay import Values

Unit: TypeAlias = Array | float
"""One unit in the last place of each written number; 0 for what is exact."""


def float_error(expected: Values, share: float = FLOAT_ERROR) -> Array:
    """Return the error that floats may have in each expected number, given their relative error."""
    ends = interval(expected)
    size = np.maximum(np.abs(ends.low), np.abs(ends.high))
    size = np.where(np.isfinite(size), size, 0.0)
    largest_term = min(size.max(initial=SMALLEST_TERM), LARGEST_TERM)
    found: Array = share * (size + NEAR_ZERO * largest_term)
    return found


def reach(
    unit: Unit, expected: Values, share: float = FLOAT_ERROR, units: float = ROUNDED
) -> Interval:
    """Return which written numbers agree with what is expected; arguments as for `agrees`."""
    ends = interval(expected)
    more = units * unit + float_error(ends, share)
    return Interval(ends.low - more, ends.high + more)


def is_within(written: Array, found: Interval) -> Array:
    """Return which written numbers lie in intervals; nan lies in none."""
    with np.errstate(invalid="ignore"):
        inside: Array = (written >= found.low) & (written <= found.high)
    return inside


def agrees(
    written: Array, unit: Unit, expected: Values, share: float = FLOAT_ERROR, units: float = ROUNDED
) -> Array:
    """Return which written numbers may stand for what is expected.

    Args:
        written: the numbers; nan, a cell that was left out, agrees with nothing.
        unit: one unit in the last place of each; 0 for what is exact.
        expected: the numbers or intervals that should stand there; it broadcasts.
        share: the relative error of floats.
        units: how many units in the last place a number may be off.
    """
    return is_within(written, reach(unit, expected, share, units))


def is_same(written: Array, right: Array, share: float = FLOAT_ERROR) -> Array:
    """Return which numbers are the expected ones with every digit, but for the error of floats."""
    with np.errstate(invalid="ignore"):  # −∞ − (−∞)
        found: Array = (written == right) | (np.abs(written - right) <= share * np.abs(right))
    return found


def exact_cells(numbers: Values, unit: Array, share: float = FLOAT_ERROR) -> Array:
    """Return which numbers have no more digits than were written, so that none was rounded.

    An interval is such a number if it has no width.
    """
    ends = interval(numbers)
    with np.errstate(invalid="ignore"):  # both ends may be infinite
        known = ~(ends.high - ends.low > float_error(ends, share))
    known &= np.isfinite(ends.low) & (unit > 0)
    units, middle = np.where(known, unit, 1.0), np.where(known, ends.low, 0.0)
    share = FLOAT_ERROR_OF_EXACT if share == FLOAT_ERROR else share
    return agrees(np.round(middle / units) * units, 0.0, middle, share) & known


def is_exact(numbers: Values, unit: Array, share: float = FLOAT_ERROR) -> bool:
    """Return True if no number has more digits than were written, of those that have a unit."""
    kept = np.isfinite(interval(numbers).low) & (unit > 0)
    return bool(kept.any() and exact_cells(numbers, unit, share)[kept].all())


def is_informative(found: Interval, most: float) -> Array:
    """Return which intervals are narrow enough, beside the largest number, to be evidence."""
    with np.errstate(invalid="ignore"):  # −∞ − (−∞)
        narrow: Array = (found.high - found.low <= MAX_WIDTH * most) | (found.high == found.low)
    return narrow


def largest(array: Array) -> float:
    """Return the size of the largest number of an array; an infinite one does not count."""
    size = np.abs(array)
    return float(np.where(np.isfinite(size), size, 0.0).max(initial=0.0))
