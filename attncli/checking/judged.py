"""The steps of a student's answers, judged."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval
from attncli.checking.agreement import agrees, is_same
from attncli.checking.answers import ShapeMismatch, Written
from attncli.checking.thresholds import ROUNDED
from attncli.records import Record
from attncli.tape.replay import Values
from attncli.tape.step import Step

STATUSES = ("correct", "last_digit", "rounded_early", "follows", "wrong", "missing")
CORRECT, LAST_DIGIT, ROUNDED_EARLY, FOLLOWS, WRONG, MISSING = range(6)
WORST_FIRST = (WRONG, FOLLOWS, ROUNDED_EARLY, LAST_DIGIT, CORRECT)


MIN_HOLLOW = 3
"""Minimum count of equal numbers that are not equal by chance."""


class Judged(Record, eq=False):
    """One step of a student's answers. Arrays have the layout of the step's array.

    Attributes:
        step: the step of the correct calculation.
        codes: the status of each cell, an index of `STATUSES`.
    """

    step: Step
    codes: Array

    @cached_property
    def _tally(self) -> list[int]:
        """The number of cells with each status; the statuses do not change any more."""
        self.codes.setflags(write=False)
        counts: list[int] = np.bincount(self.codes.ravel(), minlength=len(STATUSES)).tolist()
        return counts

    def has(self, code: int) -> bool:
        return self._tally[code] > 0

    @property
    def counts(self) -> dict[str, int]:
        return dict(zip(STATUSES, self._tally, strict=True))

    @cached_property
    def status(self) -> str:
        """The status of the step: that of its worst cell."""
        return next((STATUSES[code] for code in WORST_FIRST if self.has(code)), "missing")


class NotGiven(Judged):
    """A step of which nothing was handed in."""


class Misshapen(Judged):
    """A step that was handed in with the wrong shape; no cell of it can be judged."""

    mismatch: ShapeMismatch

    @cached_property
    def status(self) -> str:
        return "wrong"


class Given(Judged):
    """A step that was handed in with the right shape; unless it is `Compared`, no number is wrong.

    The units are those of the last informative digits.
    """

    written: Written
    unit: Array

    @property
    def expected(self) -> Array:
        """The number with which each cell was compared: here the correct one, with every digit."""
        right: Array = self.step.array
        return right

    @cached_property
    def values(self) -> Array:
        """The written numbers; a correct number with all its digits is that number exactly."""
        self.codes.setflags(write=False)
        written, right = self.written, self.step.array
        same = is_same(written.values, right, written.share) & (self.codes == CORRECT)
        return np.where(same, right, written.values)

    @cached_property
    def is_hollow(self) -> bool:
        """True for a wrong step with the same number, 0 or 1, in every cell, as if left out."""
        if not self.has(WRONG):
            return False
        numbers = self.written.values[~self.written.blank]
        is_even = numbers.size >= MIN_HOLLOW and bool((numbers == numbers[0]).all())
        return is_even and float(numbers[0]) in (0.0, 1.0)

    def agrees(self, expected: Values, units: float = ROUNDED) -> Array:
        """Return which of the student's numbers agree with what is expected."""
        return agrees(self.written.values, self.unit, expected, self.written.share, units)


class Compared(Given):
    """A step with a number that is not correct, so that the student's earlier numbers matter.

    Attributes:
        explained: the number with which each cell was compared: that of the hypothesis that
            explains it, and for a wrong one what the student's own earlier numbers give.
        yours: what the student's own earlier numbers give.
        follows: the intervals of that, as each written number may be any that rounds to it.
        rounding: the schedule by which numbers were rounded early, such as "√3 taken as 1.73".
        short: the numbers that are wrong because they have fewer digits than are asked for.
    """

    explained: Array
    yours: Array
    follows: Interval
    rounding: str = ""
    short: Array | None = None

    @property
    def expected(self) -> Array:
        """The number with which each cell was compared, with every digit."""
        return self.explained
