"""What the digits of a written number say: how exact it is, and to what a student rounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isfinite

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, interval
from attncli.checking.agreement import ROUNDED, SHARE, SHARE_OF_SINGLES, SHARE_OF_WRITTEN_SINGLES
from attncli.records import Record
from attncli.tape.replay import Values

DECIMAL = re.compile(r"[+-]?\d*(?:\.(\d*))?(?:[eE]([+-]?\d+))?")
"""A decimal number; its groups are the decimals and the power of ten."""

LIKE_BLOCKED = -1e4
"""Programs write a number as low as this where a hand writes −∞ for a blocked cell."""

SPARE = 0.1
"""How far beyond its rounding a number may lie, in halves of its last digit.

Who goes on with one digit more than is written is off by as much.
"""

ENOUGH = 3
"""From so many numbers on, what they have in common is a habit."""


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
    return (number, unit) if isfinite(number) else None


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


def telling_units(values: Array, unit: Array, texts: Array) -> Array:
    """Return the units of the last digits that say something: 1200000 may stand for 1202604.

    In three significant digits the zeros at the end of a large number say nothing, nor does the
    point and zero that programs write after it.
    """
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) >= 100) & (values % 1 == 0) & (unit > 0.01)
    if not whole.any():
        return unit
    digits = max(3, significant(texts[~np.isnan(values)].tolist()))
    size = np.floor(np.log10(np.abs(values), where=whole, out=np.zeros_like(values)))
    return np.where(whole, np.maximum(unit, 10.0 ** (size + 1 - digits)), unit)


def share_of_floats(values: Array, unit: Array, right: Array) -> float:
    """Return which share of itself a number may be off because a computer worked it out.

    Args:
        values: the written numbers.
        unit: the units of their last digits.
        right: what the program itself works out, in floats of 64 or 32 bits.
    """
    least = SHARE_OF_SINGLES if right.dtype == np.float32 else SHARE
    long = (unit > 0) & (unit < 1e-9 * np.abs(values))  # more digits than anybody writes by hand
    with np.errstate(over="ignore"):
        are_singles = long.any() and np.array_equal(values[long].astype(np.float32), values[long])
    return SHARE_OF_WRITTEN_SINGLES if are_singles else least


class Habit(Record):
    """To what a student rounds.

    Attributes:
        finest: the finest unit of a last digit; 0 where nothing was written as a decimal.
        digits: how many significant digits are kept.
    """

    finest: float
    digits: int

    def perhaps_rounded(self, found: Values) -> Values:
        """Return the intervals of a step that was left out, rounded before it was used or not."""
        if not self.finest:
            return found
        wide = interval(found)
        size = np.maximum(np.abs(wide.low), np.abs(wide.high))
        with np.errstate(all="ignore"):
            unit = 10.0 ** (np.floor(np.log10(size)) + 1 - self.digits)
        unit = np.where(np.isfinite(unit), np.maximum(unit, self.finest), self.finest)
        low, high = -_outwards(-wide.low, unit), _outwards(wide.high, unit)
        return low if np.array_equal(low, high) else Interval(low, high)


def _outwards(end: Array, unit: Array) -> Array:
    """Return the upper ends of intervals, moved to where they may be rounded up to, if that is up.

    A half may be rounded either way. An infinite end stays where it is.
    """
    with np.errstate(invalid="ignore"):
        rounded = np.floor(end / unit + (ROUNDED + 1e-9)) * unit
        is_moved = np.abs(rounded - end) > 1e-9 * np.abs(end)
    return np.maximum(end, np.where(is_moved, rounded + SPARE * unit / 2, end))


def habit_of(texts: Iterable[str], units: Iterable[float]) -> Habit:
    """Return to what a student rounds, from all that was written and the units of its last digits.

    Only numbers with a point tell; a whole number may be exact. Where all have as many decimals,
    that is the habit; where some have fewer, or all have as many significant digits, three or four
    of those may be.
    """
    pairs = zip(texts, units, strict=True)
    kept = [(significant([text]), unit) for text, unit in pairs if "." in text and unit]
    finest = min((unit for _, unit in kept), default=0.0)
    counts = [count for count, _ in kept if count]
    most = max(counts, default=0)
    # 0.478 has three decimals and three digits: where all are so, either may be the habit.
    is_even = len(counts) >= ENOUGH and min(counts) == most
    is_mixed = any(unit > 1.5 * finest for _, unit in kept)
    by_digits = 3 <= most <= 4 and (is_even or is_mixed)
    return Habit(finest, most if by_digits else 17)
