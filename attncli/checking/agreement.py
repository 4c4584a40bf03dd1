"""When a written number agrees with an expected one, and every threshold of judging.

Each threshold has its unit and its reason: *derived* follows from arithmetic; *measured* was set by
the survey that is named, and moves only with it; *chosen* is a convention that a teacher would
accept.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, interval
from attncli.tape.replay import Values

# ---- when a written number agrees with another

ROUNDED = 0.5
"""Maximum error, in units in the last place, of a number that was rounded. Derived."""

CUT_OFF = 1.0
"""Maximum error, in units in the last place, of a number that was cut off. Derived."""

FLOAT_ERROR = 1e-9
"""Relative error granted to calculations in 64-bit floats, theirs and ours. Chosen, far above the
bound (terms · 2⁻⁵³) of any calculation that is checked."""

SHORT_FLOAT_ERRORS = {"float16": 2e-3, "float32": 1e-6}
"""Relative error of a step worked out in shorter floats: some units in the last place. Derived."""

SMALLEST_FLOATS = {"float16": 6e-8, "float32": 1e-45}
"""Smallest number that a shorter float holds: anything smaller may have become 0. Derived."""

FLOAT_ERROR_OF_EXACT = 1e-12
"""Relative error by which a number is told from a whole one: tanh 14 is not 1, and is 0.9999 cut
off. Chosen."""

NEAR_ZERO = 1e-3
"""Error granted to any number of a matrix, relative to `FLOAT_ERROR` of its largest: a sum whose
terms cancel misses 0 by a share of its terms, not of 0. Chosen."""

SMALLEST_TERM, LARGEST_TERM = 1e-2, 1.0
"""Bounds of the largest number in `NEAR_ZERO`: all terms of a matrix may cancel, and beside e^60
another number is not the less wrong. Chosen."""

# ---- what written digits mean

FINE_UNIT = 0.01
"""A last digit of this unit, or of a finer one, is never taken for a filler zero. Chosen."""

COARSEST_SHARE = 1 / 8
"""Maximum unit in the last place, relative to the largest number of a step, for which an error of
one unit is tolerated: with a coarser one, nearly any number would be one unit off. Chosen."""

COARSEST_UNIT = 0.011
"""Unit that is never too coarse, in steps of small numbers: two decimals. Chosen."""

# ---- intervals

MAX_WIDTH = 2 / 3
"""Maximum width of an interval, relative to the step's largest number, that counts as evidence: a
wider one accepts almost any number. Measured by benchmarks/fairness.py mistakes."""

MAX_FINER = 5.0
"""Maximum error, in units in the last place, explained by hidden steps that were rounded one digit
finer than the submission. Above it such an interval explains too much. Chosen; it is the bound from
which the survey benchmarks/one_wrong_cell.py asks for almost no miss."""

# ---- rounding schedules

PLAUSIBLE_UNITS = 10.0
"""Errors up to this size, in units in the last place, are explained by any schedule that fits;
larger ones need evidence, see `MAX_CHANCE`. Measured by benchmarks/roundings.py: at 5, honest
numbers of the submission's own digits were refused."""

MAX_CHANCE = 0.05
"""Maximum probability that some schedule reproduces numbers that are wrong for no reason. Measured
by benchmarks/one_wrong_cell.py: none over 10 units may pass."""

MAX_HALVES = 0.1
"""Maximum width of what halves rounded either way make of a number, relative to the step's largest
number. Chosen: a choice, such as that of hardmax, makes it as wide as the step."""

MIN_GIVEN, MIN_SHARE_GIVEN = 3, 3 / 4
"""Minimum count, and share, of the numbers that are off which a schedule must give if it does not
give all: the others are slips beside it. Chosen."""

MAX_TRIED_NUMBERS = 3_000_000
"""Maximum number of cells that all schedules together are tried on for one step. It bounds time
(about 0.1 s) and memory; homework needs a twentieth. Chosen."""

# ---- what explains a wrong step

MAX_COINCIDENCE = 0.01
"""Maximum number of steps, wrong for no reason, that would show an explanation by chance, for one
without a "perhaps". Chosen; tests/test_naming.py counts such claims about random numbers."""

MAX_HAND_DECIMALS = 6
"""Maximum number of decimals of a number that was worked by hand. Chosen."""

NEARLY_ONE = 1.02
"""Minimum common factor of all numbers that is called one. Chosen: a smaller one comes of something
small that was done to every number."""


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
    """Return which numbers have no more digits than were written, so that none was rounded."""
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
    with np.errstate(invalid="ignore"):  # −∞ − (−∞)
        narrow: Array = (found.high - found.low <= MAX_WIDTH * most) | (found.high == found.low)
    return narrow


def largest(array: Array) -> float:
    size = np.abs(array)
    return float(np.where(np.isfinite(size), size, 0.0).max(initial=0.0))
