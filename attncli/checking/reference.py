"""The correct calculations of a problem."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
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

MAX_KEPT_RESULTS = 1_000
"""Maximum number of results that are kept in memory; then all are dropped. One submission needs at
most 220 of those of a sample, and 1,000 take about 16 MB (measured). Chosen."""


class Reference(Record, eq=False):
    """The correct calculations of a problem, with which submissions are compared.

    Attributes:
        trace: the calculation by which a submission is judged.
        others: calculations that are correct as well, such as the one without rounding.
    """

    trace: Trace
    others: tuple[Trace, ...] = ()

    @cached_property
    def _intervals(self) -> dict[str, Interval]:
        """The correct numbers of each step, widened by the error of floats."""
        return {step.name: reach(0.0, step.array) for step in self.trace}

    @cached_property
    def is_small(self) -> bool:
        """True if the calculations are so small that results for them may be kept in memory."""
        return sum(step.array.size for step in self.trace) <= MAX_KEPT_NUMBERS

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.fields}  # copies keep no results

    def kept(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """Return a result that depends on the problem and a key alone; work it out only once.

        The students of a class hand in the same steps. Where they hand in only the output, this
        makes judging a wrong one three times as fast (benchmarks/checking.py).
        """
        if not self.is_small:
            return make()
        with suppress(KeyError):  # another thread may clear them
            found: T = self._kept[key]
            return found
        found = make()
        if len(self._kept) >= MAX_KEPT_RESULTS:
            self._kept.clear()
        self._kept[key] = found
        return found

    def is_given(self, given: Given) -> bool:
        """Return True if all numbers of a step are correct; missing ones do not count."""
        ends, half = self._intervals[given.step.name], ROUNDED * given.unit
        inside = is_within(given.written.values, Interval(ends.low - half, ends.high + half))
        return bool(inside.all() or (inside | given.written.missing).all())

    def changed(self, change: Callable[[Trace], Trace]) -> Reference:
        """Return every calculation changed, as by another correct way of working."""
        return Reference(change(self.trace), tuple(map(change, self.others)))
