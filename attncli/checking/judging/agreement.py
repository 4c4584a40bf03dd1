"""When written numbers agree with others: rounding, units, and every threshold of judging.

Each threshold has its unit and its reason: *derived* follows from arithmetic; *measured* was set by
the survey that is named, and changes only if that is repeated; *chosen* is a convention that a
teacher would accept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from math import log10
from typing import TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, interval
from attncli.core.numbers.last_place import significant
from attncli.core.records import Record, replace
from attncli.core.tape.evaluation import Values
from attncli.core.text.strings import regex

# ---- when a written number agrees with another

ROUNDED = 0.5
"""Maximum error, in units in the last place, of a number that was rounded. Derived."""

CUT_OFF = 1.0
"""Maximum error, in units in the last place, of a number that was cut off. Derived."""

FLOAT_ERROR = 1e-9
"""Relative error granted to calculations in 64-bit floats, theirs and ours. Chosen, far above the
bound (terms · 2⁻⁵³) of any calculation that is checked."""

FLOAT_ERROR_OF_EXACT = 1e-12
"""Maximum relative error of a number that counts as exact, with no more digits than were written.
It is so small because tanh 14 is not exactly 1: cut off, it is 0.9999. Chosen."""

NEAR_ZERO = 1e-3
"""Error granted to every number of a matrix, relative to that of its largest: a sum whose terms
cancel is off by a share of its terms, not of the sum. Chosen."""

SMALLEST_TERM, LARGEST_TERM = 1e-2, 1.0
"""Bounds of the largest number that `NEAR_ZERO` is relative to. The lower one is for a matrix whose
numbers are all sums that cancel; the upper one keeps the error of e^60 from being granted to small
numbers beside it. Chosen."""

# ---- what written digits mean

FINE_UNIT = 0.01
"""Maximum unit in the last place of a number whose zeros at the end always count. Chosen."""

LARGE_WHOLE = 1000
"""Minimum size of a whole number whose zeros at the end may be uninformative: it has more than
three digits. Derived."""

MAX_TOLERATED_UNIT = 1 / 8
"""Maximum unit in the last place, relative to the largest number of a step, for which an error of
one unit is tolerated: with a coarser one, nearly any number would be one unit off. Chosen."""

TOLERATED_UNIT = 0.011
"""Maximum unit in the last place for which an error of one unit is tolerated, whatever the step's
largest number: two decimals. Chosen."""

# ---- intervals

MAX_WIDTH = 2 / 3
"""Maximum width of an interval, relative to the step's largest number, that counts as evidence: a
wider one accepts almost any number. Measured with students who make one mistake, as
benchmarks/surveys/test_mistakes.py draws them."""

MAX_FINER = 5.0
"""Maximum error, in units in the last place, explained by hidden steps rounded one digit finer than
the submission. Chosen; the survey `one_wrong_cell` of benchmarks.surveys asks for almost no
miss above it."""

# ---- rounding schedules

PLAUSIBLE_UNITS = 10.0
"""Errors up to this size, in units in the last place, need no evidence, see `MAX_CHANCE`. Measured
by `python -m benchmarks.surveys roundings`: at 5, honest numbers of the submission's own digits
were refused."""

MAX_CHANCE = 0.05
"""Maximum probability that some schedule reproduces numbers that are wrong for no reason. Measured
by `python -m benchmarks.surveys one_wrong_cell`: 2 of 3,106 that are over 10 units off pass."""

MIN_GIVEN, MIN_SHARE_GIVEN = 3, 2 / 3
"""A schedule must give at least this share of the numbers of a step; the others are taken as slips
beside it. If it gives fewer numbers than this count, it must also be evident, however little they
are off. Chosen."""

MAX_TRIED_NUMBERS = 3_000_000
"""Maximum number of cells, over all schedules, that are calculated for one step. It bounds time
(about 0.1 s) and memory; homework needs a twentieth. Chosen."""

# ---- what explains a wrong step

MAX_COINCIDENCE = 0.01
"""Maximum expected number of random wrong steps that an explanation would fit, if it is to be
reported without "perhaps". Chosen; tests/checking/test_causes_of_wrong_numbers.py counts such
claims about random numbers."""

MAX_ABOUT = 0.1
"""Maximum share by which a number may be off what a sentence says that it is about. Chosen."""

NEARLY_ONE = 1.02
"""Minimum factor, common to all numbers of a step, that is reported. Chosen: a smaller factor may
come from a small change to every number."""


Unit: TypeAlias = Array | float
"""One unit in the last place of each written number; 0 for what is exact."""


def float_error(expected: Values) -> Array:
    ends = interval(expected)
    size = np.maximum(np.abs(ends.low), np.abs(ends.high))
    size = np.where(np.isfinite(size), size, 0.0)
    largest_term = min(size.max(initial=SMALLEST_TERM), LARGEST_TERM)
    error: Array = FLOAT_ERROR * (size + NEAR_ZERO * largest_term)
    return error


def reach(unit: Unit, expected: Values, units: float = ROUNDED) -> Interval:
    """Return the interval of written numbers that agree with each expected one; see `agrees`."""
    ends = interval(expected)
    more = units * unit + float_error(ends)
    return Interval(ends.low - more, ends.high + more)


def is_within(written: Array, ends: Interval) -> Array:
    with np.errstate(invalid="ignore"):
        inside: Array = (written >= ends.low) & (written <= ends.high)
    return inside


def agrees(written: Array, unit: Unit, expected: Values, units: float = ROUNDED) -> Array:
    """Return which written numbers are within some `units` of what is expected.

    The unit of an exact number is 0; nan agrees with nothing.
    """
    return is_within(written, reach(unit, expected, units))


def is_same(written: Array, right: Array, error: float = FLOAT_ERROR) -> Array:
    """Return which numbers equal the expected ones, but for a relative error."""
    with np.errstate(invalid="ignore"):  # −∞ − (−∞)
        same: Array = (written == right) | (np.abs(written - right) <= error * np.abs(right))
    return same


def exact_cells(numbers: Values, unit: Array) -> Array:
    """Return which numbers, or intervals without width, have no more digits than were written."""
    ends = interval(numbers)
    with np.errstate(invalid="ignore"):  # both ends may be infinite
        known = ~(ends.high - ends.low > float_error(ends))
    known &= np.isfinite(ends.low) & (unit > 0)
    units, middle = np.where(known, unit, 1.0), np.where(known, ends.low, 0.0)
    rounded = np.round(middle / units) * units
    return (np.abs(rounded - middle) <= FLOAT_ERROR_OF_EXACT * np.abs(middle)) & known


def is_exact(numbers: Values, unit: Array) -> bool:
    """Return True if no number has more digits than were written, of those that have a unit."""
    kept = np.isfinite(interval(numbers).low) & (unit > 0)
    return bool(kept.any() and exact_cells(numbers, unit)[kept].all())


def is_informative(ends: Interval, most: float) -> Array:
    with np.errstate(invalid="ignore"):  # −∞ − (−∞)
        narrow: Array = (ends.high - ends.low <= MAX_WIDTH * most) | (ends.high == ends.low)
    return narrow


def largest(array: Array) -> float:
    return float(np.abs(array).max(initial=0.0, where=np.isfinite(array)))


TIE_ERROR = 1e-9
"""Maximum error, in units in the last place, of a float that counts as a half. Chosen."""

CALCULATOR_ERROR = 2e-8
"""Maximum distance, in units in the last place, by which a float below a whole number of units is
cut off to that number. Calculators show ten digits: tanh 12 is 1, and tanh 9 is 0.999. Chosen."""

TEN = np.float64(10)
"""10 as a float of NumPy, whose powers overflow to infinity; Python's raise an error."""

UP, EVEN, CUT = "rounded", "rounded, a half to even,", "cut off"
"""How further digits are removed; `UP` rounds a half away from zero."""


class RoundingRule(Record):
    """One way to round numbers: `mode` is `UP`, `EVEN` or `CUT`."""

    count: int  # of decimals, or of significant digits
    is_significant: bool = False
    mode: str = UP

    def __str__(self) -> str:
        noun = "significant digit" if self.is_significant else "decimal"
        preposition = "after" if self.mode == CUT else "to"
        return f"{self.mode} {preposition} {self.count} {noun}{'' if self.count == 1 else 's'}"

    @property
    def finer(self) -> RoundingRule:
        return replace(self, count=self.count + 1)

    def writes(self, unit: Array) -> bool:
        """Return True if the rule may give numbers with these units, or zeros at their end."""
        return self.is_significant or bool((unit > 0.9 * 10.0**-self.count).all())

    def of_mode(self, mode: str) -> RoundingRule:
        return replace(self, mode=mode)

    def __call__(self, numbers: Array) -> Array:
        units, power = self._units(numbers)
        with np.errstate(all="ignore"):
            whole = np.floor(units + (CALCULATOR_ERROR if self.mode == CUT else 0.5 + TIE_ERROR))
            if self.mode == EVEN and (ties := self.ties(numbers)).any():
                powers = np.broadcast_to(power, units.shape)[ties]
                whole[ties] = list(map(_printed, numbers[ties].tolist(), powers.tolist()))
            rounded = np.copysign(whole / power, numbers)
        return np.where(np.isfinite(rounded), rounded, numbers)

    def keeps(self, numbers: Array) -> bool:
        return bool(np.isclose(self(numbers), numbers, rtol=FLOAT_ERROR, atol=0).all())

    def ties(self, numbers: Array) -> Array:
        """Return which numbers are in the middle between two rounded ones."""
        units, _ = self._units(numbers)
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            halves: Array = np.abs(units - np.floor(units) - 0.5) <= TIE_ERROR
        return halves

    def _units(self, numbers: Array) -> tuple[Array, Array]:
        size = np.abs(numbers)
        with np.errstate(all="ignore"):
            lead = np.floor(np.log10(size)) + 1 if self.is_significant else 0
            power = np.asarray(TEN ** (self.count - lead))
            return size * power, power

    def interval(self, numbers: Values) -> Interval:
        """Return intervals that contain numbers as they are, rounded, and cut off."""
        ends = interval(numbers)
        low = np.minimum(*(np.copysign(size, ends.low) for size in self._around(ends.low)))
        high = np.maximum(*(np.copysign(size, ends.high) for size in self._around(ends.high)))
        low = np.where(np.isfinite(low), low, ends.low)
        return Interval(low, np.where(np.isfinite(high), high, ends.high))

    def _around(self, numbers: Array) -> tuple[Array, Array]:
        """Return the least and the largest size of numbers as they are, rounded, and cut off."""
        units, power = self._units(numbers)
        with np.errstate(all="ignore"):
            cut, up = np.floor(units + CALCULATOR_ERROR), np.floor(units + 0.5 + TIE_ERROR)
            return np.minimum(cut, units) / power, np.maximum(np.maximum(up, cut), units) / power

    def any_finer(self, numbers: Values) -> Interval:
        """Return intervals that contain numbers rounded or cut off to these digits, or to more."""
        ends = interval(numbers)
        size = np.maximum(np.abs(ends.low), np.abs(ends.high))
        with np.errstate(all="ignore"):
            lead = np.floor(np.log10(size)) + 1 if self.is_significant else np.zeros(size.shape)
            unit = np.where((size > 0) & np.isfinite(size), 10.0 ** (lead - self.count), 0.0)
        low = np.where(ends.low >= 0, np.maximum(0.0, ends.low - unit), ends.low - unit / 2)
        high = np.where(ends.high <= 0, np.minimum(0.0, ends.high + unit), ends.high + unit / 2)
        return Interval(low, high)


COARSEST_ROUNDINGS = (RoundingRule(1), RoundingRule(2, is_significant=True))
"""Coarsest roundings of a schedule, by decimals or by digits: they bound the numbers of all."""


def _printed(number: float, power: float) -> float:
    """Return the units of a number as programs round it: by its exact value, a half to even."""
    return round(Decimal(abs(number)).scaleb(round(log10(power))))


def with_sum(shares: Array, along: int, total: Array | float, rounding: RoundingRule) -> Array:
    """Return rounded shares; the largest of each line is adjusted to make their sum `total`.

    The total is 1, or 0 where everything is blocked; `along` is the axis of a line.
    """
    largest, rounded = shares.argmax(axis=along, keepdims=True), rounding(shares)
    missing = total - rounded.sum(axis=along, keepdims=True)
    adjusted = np.take_along_axis(rounded, largest, along) + missing
    np.put_along_axis(rounded, largest, rounding.of_mode(UP)(adjusted), along)
    return rounded


MIN_FOR_RULE = 3
"""Minimum count of written numbers from which a common number of digits is inferred. Chosen."""

POWER = regex(r"[-+]?[0-9]{1,4}")
"""The power of ten at the end of a decimal number, after the letter e."""

MAX_RULES = 2
"""Maximum number of rules, each with another count of decimals, that a submission is assumed to
round by. Chosen."""


def only_unit(unit: Array) -> float | None:
    first = unit.flat[0] if unit.size else np.nan
    return float(first) if (unit == first).all() and unit.size else None


def informative_units(values: Array, unit: Array, texts: Array, most: float) -> Array:
    """Return the units of the last informative digits of numbers that are at most `most`.

    Zeros at the end of a large number are uninformative after three significant digits: 1200000 may
    mean 1202604. If all numbers are small, so is a whole number: a weight of 1 may be any number
    above a half. It is taken as rounded to the decimals of its neighbours, or to a tenth of the
    largest number; so is a 0 beside decimals.
    """
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) >= LARGE_WHOLE) & (values % 1 == 0) & (unit > FINE_UNIT)
    if whole.any():
        digits = max(3, significant(texts[~np.isnan(values)].tolist()))
        size = np.floor(np.log10(np.abs(values), where=whole, out=np.zeros_like(values)))
        unit = np.where(whole, np.maximum(unit, 10.0 ** (size + 1 - digits)), unit)
    finer = unit[(unit > 0) & (unit < 1) & ~np.isnan(values)]
    blank = (unit >= 1) & (2 * unit > most) | (values == 0) & (unit == 1) & bool(finer.size)
    return np.where(blank, finer.max() if finer.size else most / 10, unit)


def units_beside_decimals(unit: Array, texts: Array, submission: Sequence[str]) -> Array:
    """Return the units of calculated numbers, or of those from which others were calculated.

    A whole number has as many decimals as most other numbers of its step, or of the
    submission if it is the only one: 11 beside 3.12 is 11.00. It is left as it is if all may have
    as many significant digits, as 16, 3.2 and 0.45 have.
    """
    whole = unit == 1
    if not whole.any():
        return unit
    near = texts[unit > 0].tolist()
    near = near if len(near) > 1 else submission
    decimals = Counter(_digits_of(text)[1] for text in near)
    if len(decimals) > 1 and not _may_share_digits(near):
        decimals[0] -= 1  # the number itself
        most = max(decimals.values())
        count = min(places for places, times in decimals.items() if times == most)
        return np.where(whole, 10.0**-count, unit)
    return unit


def _may_share_digits(texts: Sequence[str]) -> bool:
    """Return True if numbers may all have one number of significant digits; 10 has one or two."""
    least, most = 1, np.inf
    for text in texts:
        mantissa = text.lstrip("+-−").lower().partition("e")[0]
        digits = mantissa.replace(".", "").lstrip("0")
        may_end_in_0 = "." not in mantissa or mantissa.endswith(".0")
        least = max(least, len(digits.rstrip("0") if may_end_in_0 else digits))
        most = min(most, len(digits) or np.inf)
    return least <= most


def are_decimals(unit: Array) -> Array:
    """Return which units are powers of ten, not those of an expression such as 16/1.73."""
    power = np.log10(np.where(unit > 0, unit, 1.0))
    decimal: Array = (unit > 0) & (np.abs(power - np.round(power)) < 1e-6)
    return decimal


@lru_cache(maxsize=16384)  # as for `decimal_of`
def _digits_of(text: str) -> tuple[int, int]:
    """Return the count of significant digits, and of decimals, of a number with a point; else 0."""
    mantissa, _, power = text.lower().partition("e")
    if "." not in mantissa or (power and POWER.fullmatch(power) is None):
        return 0, 0
    return significant([text]), max(0, len(mantissa.partition(".")[2]) - int(power or 0))


def roundings_of(texts: Sequence[str]) -> tuple[RoundingRule, ...]:
    """Return how a student rounds, the most common number of decimals first.

    A whole number may be exact. If decimals differ, a student may count significant digits.
    """
    decimals: Counter[int] = Counter()
    digits = []
    for text in texts:
        count, places = _digits_of(text)
        if count:
            decimals[places] += 1
            digits.append(count)
    rules = [RoundingRule(count) for count, _ in decimals.most_common(MAX_RULES)]
    most = max(digits, default=0)
    is_even = len(digits) >= MIN_FOR_RULE and min(digits) == most
    if 2 <= most <= 6 and (is_even or len(decimals) > 1):
        by_digits = RoundingRule(most, is_significant=True)
        return (by_digits,) if is_even and len(decimals) > 1 else (*rules, by_digits)
    return tuple(rules)
