"""The precision of written numbers: units in the last place, and how a student rounds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.rounding_rules import RoundingRule
from attncli.checking.thresholds import FINE_UNIT
from attncli.notation.last_place import significant

MIN_FOR_RULE = 3
"""Minimum count of written numbers whose common number of digits is a rule."""

POWER = re.compile(r"[-+]?[0-9]{1,4}")
"""The power of ten at the end of a decimal number, after the letter e."""

MAX_OWN = 2
"""Maximum number of roundings that a submission is assumed to use, the most common first."""


def only_unit(unit: Array) -> float | None:
    """Return the unit that all numbers have in common; None where they have several."""
    first = unit.flat[0] if unit.size else np.nan
    return float(first) if (unit == first).all() and unit.size else None


def informative_units(values: Array, unit: Array, texts: Array, most: float) -> Array:
    """Return the units of the last informative digits.

    With three significant digits the zeros at the end of a large number are no information, nor
    are the point and the zero that programs write after it: 1200000 may mean 1202604. Where all
    numbers are small, a whole number is none: a weight of 1 could be anything from a half on. It
    is taken as rounded to the decimals of its neighbours, or to a tenth of the largest number; so
    is a 0 beside decimals.

    Args:
        values: the written numbers.
        unit: one unit in the last place of each.
        texts: what was written.
        most: the largest number that this step may hold.
    """
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) >= 100) & (values % 1 == 0) & (unit > FINE_UNIT)
    if whole.any():
        digits = max(3, significant(texts[~np.isnan(values)].tolist()))
        size = np.floor(np.log10(np.abs(values), where=whole, out=np.zeros_like(values)))
        unit = np.where(whole, np.maximum(unit, 10.0 ** (size + 1 - digits)), unit)
    finer = unit[(unit > 0) & (unit < 1) & ~np.isnan(values)]
    blank = (unit >= 1) & (2 * unit > most) | (values == 0) & (unit == 1) & bool(finer.size)
    return np.where(blank, finer.max() if finer.size else most / 10, unit)


def are_decimals(unit: Array) -> Array:
    """Return which units are powers of ten, not those of an expression such as 16/1.73."""
    power = np.log10(np.where(unit > 0, unit, 1.0))
    found: Array = (unit > 0) & (np.abs(power - np.round(power)) < 1e-6)
    return found


@lru_cache(maxsize=16384)  # as for `decimal_of`
def _digits_of(text: str) -> tuple[int, int]:
    """Return the number of significant digits, and of decimals, of a number with a point.

    Both are 0 of any other text, such as 0.1·e^2, which is exact, or what is no number.
    """
    mantissa, _, power = text.lower().partition("e")
    if "." not in mantissa or (power and POWER.fullmatch(power) is None):
        return 0, 0
    return significant([text]), max(0, len(mantissa.partition(".")[2]) - int(power or 0))


def roundings_of(texts: Sequence[str]) -> tuple[RoundingRule, ...]:
    """Return how a student rounds, the most common number of decimals first.

    Only numbers with a point count; a whole number may be exact. Where all have as many significant
    digits, or their decimals differ, the student may count those: 0.478 has three of both.
    """
    decimals: Counter[int] = Counter()
    digits = []
    for text in texts:
        count, places = _digits_of(text)
        if count:
            decimals[places] += 1
            digits.append(count)
    found = [RoundingRule(count) for count, _ in decimals.most_common(MAX_OWN)]
    most = max(digits, default=0)
    is_even = len(digits) >= MIN_FOR_RULE and min(digits) == most
    if 2 <= most <= 6 and (is_even or len(decimals) > 1):
        by_digits = RoundingRule(most, is_significant=True)
        return (by_digits,) if is_even and len(decimals) > 1 else (*found, by_digits)
    return tuple(found)
