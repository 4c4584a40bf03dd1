"""How students write numbers: rounded to a habit, early or late."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Habit:
    """How a student writes: to so many decimals, or significant digits.

    Attributes:
        count: how many digits.
        significant: whether they are counted from the first that is not 0.
        early: whether every step goes on from the numbers as they were written.
    """

    count: int
    significant: bool = False
    early: bool = False

    def text(self, number: float) -> str:
        """Write a number."""
        if not isfinite(number):
            return "-inf" if number < 0 else "inf"
        return written(number, self.count, self.significant)

    def texts(self, numbers: Numbers) -> list[str]:
        """Write every number."""
        return [self.text(x) for x in numbers.ravel().tolist()]

    def rounded(self, numbers: Numbers) -> Numbers:
        """Return the numbers as they read when written."""
        return np.array([float(t) for t in self.texts(numbers)]).reshape(numbers.shape)

    def half_units(self, numbers: Numbers) -> Numbers:
        """Return half a unit of the last digit that is written of each number."""
        return np.array([half_unit(t) for t in self.texts(numbers)]).reshape(numbers.shape)

    def __str__(self) -> str:
        kind = "significant" if self.significant else "decimals"
        return f"{self.count} {kind}, {'goes on from rounded' if self.early else 'rounds last'}"


@lru_cache(maxsize=200_000)
def written(number: float, count: int, significant: bool) -> str:
    """Round half away from zero, as people do; what floats add to a half is not theirs."""
    exact = Decimal(f"{number:.12g}")
    place = -count if not significant else (exact.adjusted() - count + 1 if exact else 0)
    digits = exact.quantize(Decimal(1).scaleb(min(place, 0)), rounding=ROUND_HALF_UP)
    if place > 0:
        digits = (exact.scaleb(-place)).quantize(Decimal(1), rounding=ROUND_HALF_UP).scaleb(place)
    return f"{digits:f}"


@lru_cache(maxsize=200_000)
def half_unit(text: str) -> float:
    """Return half a unit of the last written digit; 1200 in three digits has tens."""
    if "inf" in text or text in ("0", "-0"):  # who writes significant digits has no digit for it
        return 0.0
    decimals = len(text.partition(".")[2])
    digits = text.lstrip("-")
    if not decimals and len(digits) > 3 and set(digits[3:]) == {"0"}:
        return 0.5 * 10.0 ** (len(digits) - 3)
    return 0.5 * 10.0**-decimals


HABITS = [
    Habit(count, significant, early)
    for count, significant in ((2, False), (4, False), (3, True))
    for early in (True, False)
]
