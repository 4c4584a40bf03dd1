"""The right calculations of a problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from attncli.arithmetic.intervals import Interval
from attncli.checking.agreement import is_within, reach
from attncli.checking.judged import Given
from attncli.checking.thresholds import ROUNDED
from attncli.mechanisms.trace import Trace
from attncli.records import Record


class Right(Record, eq=False):
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

    def is_given(self, given: Given) -> bool:
        """Return True if all numbers of a step are right."""
        ends, half = self._ends[given.step.name], ROUNDED * given.unit
        inside = is_within(given.written.values, Interval(ends.low - half, ends.high + half))
        return bool(inside.all())

    def changed(self, change: Callable[[Trace], Trace]) -> Right:
        """Return every calculation changed, as by another right way of working."""
        return Right(change(self.trace), tuple(map(change, self.others)))
