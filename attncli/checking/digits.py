"""What the digits of a written number say: how exact it is, and to what a student rounds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import isfinite

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, interval
from attncli.checking.agreement import ROUNDED
from attncli.notation.written import vanishes
from attncli.records import Record
from attncli.tape.replay import Values

DECIMAL = re.compile(r"[+-]?\d*(?:\.(\d*))?(?:[eE]([+-]?\d+))?")
"""A decimal number; its groups are the decimals and the power of ten."""

LIKE_BLOCKED = -999.0
"""Programs write a number as low as this where a hand writes −∞ for a blocked cell."""

SPARE = 0.1
"""How far beyond its rounding a number may lie, in halves of its last digit.

Who goes on with one digit more than is written is off by as much.
"""

ALL_DIGITS = 17
"""So many significant digits hold any float."""

FINE = 0.01
"""A digit of such a unit, or of a finer one, always says something."""

ENOUGH = 3
"""From so many numbers on, what they have in common is a habit."""


@lru_cache(maxsize=16384)  # the sheets of a class are made of the same numbers
def decimal_of(text: str) -> tuple[float, float] | None:
    """Return a decimal number, and one unit of its last digit; None for any other text.

    >>> decimal_of("0.50"), decimal_of("-1.5e3"), decimal_of("1/3"), decimal_of("-")
    ((0.5, 0.01), (-1500.0, 100.0), None, None)
    """
    text = text.replace("−", "-")
    match = DECIMAL.fullmatch(text)
    if match is None:
        return None
    decimals, power = match.groups()
    try:
        number, unit = float(text), 10.0 ** (int(power or 0) - len(decimals or ""))
    except (ValueError, OverflowError):  # a lone sign is no number, 1e400 is too large for one
        return None
    return (number, unit) if isfinite(number) and (number or not vanishes(text)) else None


def significant(texts: Iterable[str]) -> int:
    """Return the most significant digits that any of some decimal numbers has.

    Zeros at the end of a whole number are none: 1200 may be written for 1202.
    """
    most = 0
    for text in texts:
        mantissa = text.lstrip("+-").lower().partition("e")[0].removesuffix(".0")
        digits = mantissa.replace(".", "").lstrip("0")
        most = max(most, len(digits if "." in mantissa else digits.rstrip("0")))
    return most


def only_unit(unit: Array) -> float | None:
    """Return the unit that all numbers have, None where they have several, or are none."""
    first = unit.flat[0] if unit.size else np.nan
    return float(first) if (unit == first).all() and unit.size else None


def telling_units(values: Array, unit: Array, texts: Array, most: float) -> Array:
    """Return the units of the last digits that say something.

    In three significant digits the zeros at the end of a large number say nothing, nor does the
    point and zero that programs write after it: 1200000 may stand for 1202604. And where all
    numbers are small a whole number says nothing: a weight of 1 would be anything from a half on.
    It stands for what rounds to it in the decimals of its neighbours, or in a tenth of the largest;
    so does a 0 beside decimals.

    Args:
        values: the written numbers.
        unit: the units of their last digits.
        texts: what was written.
        most: the largest that a number of this step may be.
    """
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) >= 100) & (values % 1 == 0) & (unit > FINE)
    if whole.any():
        digits = max(3, significant(texts[~np.isnan(values)].tolist()))
        size = np.floor(np.log10(np.abs(values), where=whole, out=np.zeros_like(values)))
        unit = np.where(whole, np.maximum(unit, 10.0 ** (size + 1 - digits)), unit)
    finer = unit[(unit > 0) & (unit < 1) & ~np.isnan(values)]
    blank = (unit >= 1) & (2 * unit > most) | (values == 0) & (unit == 1) & bool(finer.size)
    return np.where(blank, finer.max() if finer.size else most / 10, unit)


def are_decimals(unit: Array) -> Array:
    """Return which units are those of a last digit, not of an expression such as 16/1.73."""
    power = np.log10(np.where(unit > 0, unit, 1.0))
    found: Array = (unit > 0) & (np.abs(power - np.round(power)) < 1e-6)
    return found


class Habit(Record):
    """To what a student rounds.

    Attributes:
        finest: the finest unit of a last digit; 0 where nothing was written as a decimal.
        digits: how many significant digits are kept.
        cuts: whether further digits may be cut off, rather than rounded.
    """

    finest: float
    digits: int = ALL_DIGITS
    cuts: bool = False

    def units(self, found: Values) -> Array:
        """Return to what unit each number is rounded.

        A digit is kept of the largest number of each row: nobody goes on from a row of zeros.
        """
        wide = interval(found)
        size = np.maximum(np.abs(wide.low), np.abs(wide.high))
        largest = np.where(np.isfinite(size), size, 0.0).max(axis=-1, keepdims=True)
        if self.digits == ALL_DIGITS and ((2 * largest >= self.finest) | (largest == 0)).all():
            return np.full_like(size, self.finest)
        with np.errstate(all="ignore"):
            unit = np.maximum(_place(size) * 10.0 ** (1 - self.digits), self.finest)
            place = _place(largest)
        unit = np.where(np.isfinite(unit), unit, self.finest)
        return np.where((largest > 0) & (unit > 2 * largest), place, unit)

    def rounded(self, found: Values) -> Values:
        """Return the numbers, or the ends of the intervals, of a step that was rounded."""
        unit = self.units(found)
        if isinstance(found, Interval):
            ends = (to_unit(end, unit, self.cuts) for end in (found.low, found.high))
            return Interval(*ends)
        return to_unit(found, unit, self.cuts)

    def perhaps_rounded(self, found: Values) -> Values:
        """Return the intervals of a step that was left out, rounded before it was used or not."""
        if not self.finest:
            return found
        wide, unit = interval(found), self.units(found)
        ends = np.stack((-wide.low, wide.high))  # one array, as nothing else is asked as often
        moved = _outwards(ends, unit)
        if self.cuts:
            moved = np.maximum(moved, to_unit(ends, unit, True))
        low, high = -moved[0], moved[1]
        return low if np.array_equal(low, high) else Interval(low, high)

    def perhaps_finer(self, found: Values) -> Values:
        """Return intervals that hold what is rounded, or cut off, to this unit or any finer one."""
        wide, unit = interval(found), self.units(found)
        ends = np.stack((-wide.low, wide.high))
        with np.errstate(invalid="ignore"):
            is_kept = np.abs(to_unit(ends, unit, False) - ends) <= 1e-9 * np.abs(ends)
        moved = ends + np.where(
            is_kept, 0.0, np.where(ends < 0, unit, (ROUNDED + SPARE / 2) * unit)
        )
        return Interval(-moved[0], moved[1])


def _place(size: Array) -> Array:
    """Return one unit of the first digit of each number: 10 for 41.3."""
    found: Array = 10.0 ** np.floor(np.log10(size))
    return found


def to_unit(numbers: Array, unit: Array | float, cuts: bool) -> Array:
    """Return numbers rounded, or cut off, to a unit; an infinite one stays.

    A half is rounded away from 0. What a float blurs far behind the unit does not count.
    """
    with np.errstate(invalid="ignore"):
        units = np.round(numbers / unit, 9)
        whole = np.trunc(units if cuts else units + np.copysign(0.5, units))
        found = whole * unit
    return np.where(np.isfinite(found), found, numbers)


def _outwards(end: Array, unit: Array) -> Array:
    """Return the upper ends of intervals, moved to where they may be rounded up to, if that is up.

    A half may be rounded either way. An infinite end stays where it is.
    """
    with np.errstate(invalid="ignore"):
        rounded = np.floor(end / unit + (ROUNDED + 1e-9)) * unit
        is_moved = np.abs(rounded - end) > 1e-9 * np.abs(end)
    return np.maximum(end, np.where(is_moved, rounded + SPARE * unit / 2, end))


def habit_of(texts: Sequence[str], units: Iterable[float]) -> Habit:
    """Return to what a student rounds, from all that was written and the units of its last digits.

    Only numbers with a point tell; a whole number may be exact. Where all have as many decimals,
    that is the habit; where some have fewer, or all have as many significant digits, three or four
    of those may be.
    """
    digits = {text: significant([text]) for text in set(texts) if "." in text}
    pairs = zip(texts, units, strict=True)
    kept = [(digits[text], unit) for text, unit in pairs if text in digits and unit]
    finest = min((unit for _, unit in kept), default=0.0)
    counts = [count for count, _ in kept if count]
    most = max(counts, default=0)
    # 0.478 has three decimals and three digits: where all are so, either may be the habit.
    is_even = len(counts) >= ENOUGH and min(counts) == most
    is_mixed = any(unit > 1.5 * finest for _, unit in kept)
    by_digits = 3 <= most <= 4 and (is_even or is_mixed)
    return Habit(finest, most if by_digits else ALL_DIGITS)
