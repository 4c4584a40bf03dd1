"""How students write numbers: to so many decimals or significant digits, rounded or cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[Any]

UNWRITABLE = 1e7
"""Nobody writes larger numbers out by hand."""

GoesOn: TypeAlias = Callable[[str, Numbers], Numbers]
"""Takes a step's name and its numbers, and returns what the student goes on with."""


def with_all_digits(_: str, numbers: Numbers) -> Numbers:
    """Go on with what the calculator holds."""
    return numbers


@dataclass(frozen=True)
class Pen:
    """How a student writes numbers.

    Attributes:
        count: number of digits.
        significant: True if they are counted from the first that is not 0.
        cut: True if further digits are cut off, not rounded.
        plain: True if what is exact without is written without zeros at the end: 2, not 2.00.
        whole: True if that holds of whole numbers alone: 2 beside 0.50.
    """

    count: int
    significant: bool = False
    cut: bool = False
    plain: bool = False
    whole: bool = False

    @property
    def unit(self) -> float:
        """The unit in the last place of a pen that counts decimals."""
        return 10.0**-self.count

    def places(self, numbers: Numbers) -> Numbers:
        """Return after how many decimals each number ends."""
        if not self.significant:
            return np.full(numbers.shape, self.count)
        size = np.abs(np.where(np.isfinite(numbers) & (numbers != 0), numbers, 1.0))
        found: Numbers = self.count - 1 - np.floor(np.log10(size) + 1e-12).astype(int)
        return found

    def rounded(self, numbers: Numbers) -> Numbers:
        """Return the numbers as they read when written; a half is rounded up, as people do."""
        numbers = np.asarray(numbers, float)
        power = 10.0 ** self.places(numbers)
        finite = np.where(np.isfinite(numbers), numbers, 0.0)
        more = 2e-8 if self.cut else 0.5 + 1e-9
        made = np.sign(finite) * np.floor(np.abs(finite) * power + more) / power
        return np.where(np.isfinite(numbers), made + 0.0, numbers)

    def texts(self, numbers: Numbers) -> Numbers:
        """Return an array of written numbers."""
        numbers = np.asarray(numbers, float)
        made = self.rounded(numbers)
        places = self.places(made if self.significant else numbers)
        rows = zip(numbers.ravel().tolist(), made.ravel().tolist(), places.ravel(), strict=True)
        return np.array([self._text(*row) for row in rows], object).reshape(numbers.shape)

    def text(self, number: float) -> str:
        return str(self.texts(np.array(number)).item())

    def _text(self, number: float, made: float, places: int) -> str:
        if not np.isfinite(made):
            return "-inf" if made < 0 else "inf"
        if self.significant and made == 0:
            return "0"
        text = f"{made:.{max(places, 0)}f}"
        is_exact = abs(number - made) <= 1e-12 * abs(number)
        if "." in text and is_exact and (self.plain or (self.whole and made == round(made))):
            text = text.rstrip("0").rstrip(".")
        return text.removeprefix("-") if float(text) == 0 else text

    def half_units(self, numbers: Numbers) -> Numbers:
        """Return half a unit of the last digit of each number; 1200 in three digits has tens.

        A lone 0 has no digit: who writes significant digits writes it of nothing else.
        """
        numbers = np.asarray(numbers, float)
        half = 0.5 * 10.0 ** -self.places(self.rounded(numbers))
        is_bare = ~np.isfinite(numbers) | (self.significant & (self.rounded(numbers) == 0))
        return np.where(is_bare, 0.0, half)

    def finer(self, by: int) -> Pen:
        """Return a pen for scratch paper, with more digits."""
        return replace(self, count=self.count + by)

    def __str__(self) -> str:
        kind = "significant digits" if self.significant else "decimals"
        return f"{'cut off' if self.cut else 'rounded'} to {self.count} {kind}"


@dataclass(frozen=True)
class Habit(Pen):
    """A pen, and whether every step goes on from the numbers as they were written.

    Attributes:
        early: True if it does.
    """

    early: bool = False

    def goes_on(self, _: str, numbers: Numbers) -> Numbers:
        """Return what is used of a step."""
        return self.rounded(numbers) if self.early else numbers

    def __str__(self) -> str:
        return f"{super().__str__()}, {'goes on from rounded' if self.early else 'rounds last'}"


HABITS = [
    Habit(count, significant, early=early)
    for count, significant in ((2, False), (4, False), (3, True))
    for early in (True, False)
]
