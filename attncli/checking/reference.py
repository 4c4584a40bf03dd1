"""The right calculations of a problem."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

from attncli.arithmetic.intervals import Interval
from attncli.checking.agreement import is_within, reach
from attncli.checking.judged import Given
from attncli.checking.thresholds import ROUNDED
from attncli.mechanisms.trace import Trace
from attncli.records import Record

T = TypeVar("T")

MAX_KEPT_NUMBERS = 5_000
"""Maximum number of numbers of a calculation for which results are kept in memory. Chosen."""


class Reference(Record, eq=False):
    """The right calculations of a problem.

    Attributes:
        trace: the calculation by which a submission is judged.
        others: calculations that are right as well, such as the one without rounding.
    """

    trace: Trace
    others: tuple[Trace, ...] = ()

    @cached_property
    def _ends(self) -> dict[str, Interval]:
        """The ends of the right numbers of each step, with the error of floats."""
        return {step.name: reach(0.0, step.array) for step in self.trace}

    @cached_property
    def is_small(self) -> bool:
        """True if the calculations are so small that results for them may be kept in memory."""
        return sum(step.array.size for step in self.trace) <= MAX_KEPT_NUMBERS

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def kept(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """Return what is made at the first call with a key.

        A class hands in the same steps. What follows from the problem alone, such as the numbers
        of each mistake, is worked out once; for a class that hands in only the output, this makes
        judging a wrong one three times as fast.
        """
        if not self.is_small:
            return make()
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def is_given(self, given: Given) -> bool:
        """Return True if all numbers of a step are right."""
        ends, half = self._ends[given.step.name], ROUNDED * given.unit
        inside = is_within(given.written.values, Interval(ends.low - half, ends.high + half))
        return bool(inside.all() or (inside | given.written.missing).all())

    def changed(self, change: Callable[[Trace], Trace]) -> Reference:
        """Return every calculation changed, as by another right way of working."""
        return Reference(change(self.trace), tuple(map(change, self.others)))
