"""When a written number agrees with the number, or the interval, that should stand there.

A written number stands for every number that rounds to it, so it need not be equal. How far it may
be off is said once, here, as a sum of parts that each have a reason.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, interval
from attncli.tape.replay import Values

ROUNDED = 0.5
"""How many units of its last digit a number is off at most that was rounded as it should be.

A half may be rounded either way: up as people do, to even as programs do.
"""

CUT_OFF = 1.0
"""The same for a number whose further digits were cut off, or that was rounded the wrong way."""

SHARE = 1e-9
"""Which share of itself a number may be off because floats of 64 bits lose digits."""

SHARES = {"float16": 2e-3, "float32": 1e-6}
"""The same for the steps of a calculation in shorter floats: some units in their last place."""

LEAST = {"float16": 6e-8, "float32": 1e-45}
"""The least number that a shorter float holds; what is smaller may be 0."""

SHARE_OF_EXACT = 1e-12
"""The same for what is to be told from 1: a tangent of 14 is not, and is 0.9999 cut off."""

NEAR_ZERO = 1e-3
"""Which part of that share any number is granted of the largest one of its matrix, or of 1.

A sum whose terms cancel misses 0 by a share of the terms, not of 0. The largest number counts as 1
at most: beside e^60 any other number is small, and not the less wrong for that. It counts as
`LEAST_TERM` at least, as in a whole matrix all terms may cancel.
"""

LEAST_TERM = 1e-2

TELLING = 2 / 3
"""Which part of what a step can be a range is at most from which a number can be said to follow."""


Unit: TypeAlias = Array | float
"""One unit of the last written digit of each number; 0 for what is exact."""


def tolerance(unit: Unit, expected: Values, share: float = SHARE, units: float = ROUNDED) -> Array:
    """Return how far each written number of a matrix may be from what is expected.

    Args:
        unit: of each number.
        expected: the numbers of the matrix that should stand there.
        share: which share of itself a number may be off because of floats.
        units: how many units the rounding may take.
    """
    return units * unit + slack(expected, share)


def slack(expected: Values, share: float = SHARE) -> Array:
    """Return the part of `tolerance` that is due to floats, the same whatever was written."""
    ends = interval(expected)
    size = np.maximum(np.abs(ends.low), np.abs(ends.high))
    size = np.where(np.isfinite(size), size, 0.0)
    near_zero = NEAR_ZERO * min(size.max(initial=LEAST_TERM), 1.0)
    found: Array = share * (size + near_zero)
    return found


def agrees(
    written: Array, unit: Unit, expected: Values, share: float = SHARE, units: float = ROUNDED
) -> Array:
    """Return which written numbers may stand for the numbers, or intervals, that are expected.

    What is expected broadcasts with what was written, of which nan, a cell that was left out,
    agrees with nothing; the other arguments are those of `tolerance`.
    """
    return is_within(written, reach(unit, expected, share, units))


def reach(unit: Unit, expected: Values, share: float = SHARE, units: float = ROUNDED) -> Interval:
    """Return which numbers may stand for what is expected; the arguments are as for `agrees`."""
    ends, more = interval(expected), tolerance(unit, expected, share, units)
    return Interval(ends.low - more, ends.high + more)


def is_within(written: Array, found: Interval) -> Array:
    """Return which written numbers lie in intervals; nan lies in none."""
    with np.errstate(invalid="ignore"):
        inside: Array = (written >= found.low) & (written <= found.high)
    return inside


def is_same(written: Array, right: Array, share: float = SHARE) -> Array:
    """Return which numbers are the right ones but for what floats lose, with every digit."""
    with np.errstate(invalid="ignore"):  # −∞ − (−∞)
        found: Array = (written == right) | (np.abs(written - right) <= share * np.abs(right))
    return found


def is_exact(numbers: Array, unit: Array, share: float = SHARE) -> bool:
    """Return whether no number has more digits than were written.

    Then nothing was rounded, and a number that is off in its last digit is wrong.
    """
    kept = np.isfinite(numbers) & (unit > 0)
    return bool(kept.any() and exact_cells(numbers, unit, share)[kept].all())


def exact_cells(numbers: Array, unit: Array, share: float = SHARE) -> Array:
    """Return which numbers have no more digits than were written, of those that have a unit."""
    kept = np.isfinite(numbers) & (unit > 0)
    units = np.where(kept, unit, 1.0)
    numbers = np.where(np.isfinite(numbers), numbers, 0.0)
    written = np.round(numbers / units) * units
    share = SHARE_OF_EXACT if share == SHARE else share
    return agrees(written, 0.0, numbers, share) & kept


def is_known(expected: Interval, unit: Array, share: float = SHARE) -> bool:
    """Return whether intervals are single numbers that have no more digits than were written."""
    kept = np.isfinite(expected.low) & (unit > 0)
    return bool(kept.any() and known_cells(expected, unit, share)[kept].all()) and not (
        _is_wide(expected, share).any()
    )


def known_cells(expected: Interval, unit: Array, share: float = SHARE) -> Array:
    """Return which intervals are single numbers that have no more digits than were written."""
    return exact_cells(expected.low, unit, share) & ~_is_wide(expected, share)


def _is_wide(expected: Interval, share: float) -> Array:
    with np.errstate(invalid="ignore"):  # both ends may be infinite
        wide: Array = expected.high - expected.low > tolerance(0.0, expected, share)
    return wide


def tells(found: Interval, most: float) -> Array:
    """Return which ranges are not so wide that a number may be anything."""
    with np.errstate(invalid="ignore"):  # −∞ − (−∞)
        narrow: Array = (found.high - found.low <= TELLING * most) | (found.high == found.low)
    return narrow


def largest(array: Array) -> float:
    """Return the size of the largest number of an array; an infinite one does not count."""
    size = np.abs(array)
    return float(np.where(np.isfinite(size), size, 0.0).max(initial=0.0))
