"""Every cell of a student's answers against the right number and against what follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, hull, interval
from attncli.checking import judged as status
from attncli.checking.agreement import CUT_OFF, ROUNDED, SHARE, known_cells, largest, tells
from attncli.checking.answers import ShapeMismatch, Written
from attncli.checking.digits import always_tell, are_decimals, telling_units
from attncli.checking.early import rounded_on_the_way
from attncli.checking.judged import Compared, Given, Judged, Misshapen, NotGiven
from attncli.checking.ranged import axis_of_shares, shares_of
from attncli.checking.right import Right
from attncli.checking.standing import Standing
from attncli.records import replace
from attncli.tape.replay import Replay, Values
from attncli.tape.step import Step
from attncli.tape.walk import evaluate

SMALL = 1 / 8
"""Which part of what a step can be a unit is at most that forgives a last digit."""

HUNDREDTH = 0.011
"""Two decimals are never too coarse, also where every number is smaller than that."""

NEAR = 0.05
"""By which part of itself a number may be off that follows from what is too coarse to tell it."""

SPARE_OF_SUMS = 0.02
"""By how much weights may miss the sum 1 beside their own rounding, as their sum was rounded."""


class Judge:
    """Judges one student's answers, step by step in the order of computation.

    Attributes:
        right: the right calculations.
        trace: the first of them.
        given: the student's matrices by step.
        judged: the steps so far.
        standing: what the student's numbers stand for.
    """

    def __init__(self, right: Right, given: Mapping[str, Written | ShapeMismatch]) -> None:
        self.right = right
        self.trace = right.trace
        self.given = given
        self.standing = Standing(right, given)
        self.judged = self.standing.judged

    @property
    def midpoints(self) -> Replay[Array]:
        """The calculation on the student's own numbers, as they were written."""
        return self.standing.midpoints

    @property
    def ranges(self) -> Replay[Values]:
        """The same on the intervals that those numbers stand for."""
        return self.standing.ranges

    def steps(self) -> Iterator[Judged]:
        """Judge every step of the trace."""
        for step in self.trace:
            self.judged[step.name] = self._judge(step)
            yield self.judged[step.name]

    def _judge(self, step: Step) -> Judged:
        written = self.given.get(step.name)
        codes = np.full(step.array.shape, status.MISSING, np.int8)
        if written is None:
            return NotGiven(step, codes)
        if isinstance(written, ShapeMismatch):
            return Misshapen(step, codes, written)
        unit = written.unit
        if not always_tell(unit):
            right, most = self.right[step.name], 1.0
            if not right.axis_of_shares:
                most = max(right.largest, largest(written.values))
            unit = telling_units(written.values, unit, written.texts, most)
        judged = Given(step, codes, written, unit)
        codes[~written.missing] = status.WRONG
        codes[self._agrees_with_right(judged, ROUNDED)] = status.CORRECT
        if not (codes == status.WRONG).any():
            return judged
        compared = self._compared(judged)
        if axis_of_shares(step):
            self._refuse_what_is_no_share(compared)
        if compared.has(status.WRONG):
            return replace(compared, follows=self.standing.from_earlier(step)[1])
        return compared

    def _agrees_with_right(self, judged: Given, units: float) -> Array:
        """Return which numbers agree with those of any right calculation."""
        step = judged.step
        if judged.written.share != SHARE:
            found = self._agrees(judged, self.standing.right_in_floats(step), units)
        else:
            found = self.right[step.name].agrees(judged.written.values, judged.unit, units)
            found = self._or_tolerated(found, judged, step.array)
        for other in self.right.others:
            found |= self._agrees(judged, other[step.name].array, units)
        return found

    def _agrees(self, judged: Given, expected: Values, units: float = ROUNDED) -> Array:
        """Return which numbers may stand for what is expected, or are off by what is tolerated."""
        return self._or_tolerated(judged.agrees(expected, units), judged, expected)

    def _or_tolerated(self, found: Array, judged: Given, expected: Values) -> Array:
        """Return which numbers were found to agree, or are off by what is tolerated."""
        if more := self.trace.problem.marking.tolerance:
            ends = interval(expected)
            found |= judged.agrees(Interval(ends.low - more, ends.high + more), 0.0)
        return found

    def _compared(self, judged: Given) -> Compared:
        """Judge the numbers of a step that are not right, by the student's earlier numbers."""
        step, codes, written, unit = judged.step, judged.codes, judged.written, judged.unit
        off = codes == status.WRONG
        yours = self.standing.midpoints.result(step)
        forgives = are_decimals(unit) & (unit <= _coarsest_forgiven(step, yours, unit))
        inexact = ~self.right[step.name].exact_cells(unit, written.share)
        codes[off & forgives & inexact & self._agrees_with_right(judged, CUT_OFF)] = (
            status.LAST_DIGIT
        )
        ranges = list(self._telling_ranges(step, yours))
        for found in ranges:
            known = known_cells(found, unit, written.share)
            codes[off & forgives & ~known & judged.agrees(found, CUT_OFF)] = status.LAST_DIGIT
        for found in ranges:
            codes[off & self._agrees(judged, found)] = status.FOLLOWS
        compared = Compared(step, codes, written, unit, yours, ranges[0])
        early = rounded_on_the_way(self.standing, compared, forgives)
        codes[early.cells] = status.ROUNDED_EARLY
        return replace(compared, rounding=early.words)

    def _telling_ranges(self, step: Step, yours: Array) -> Iterator[Interval]:
        """Yield the ranges of what follows, nan where a number could stand for anything.

        Somebody goes on from what is written or from every digit. Where the range of both is too
        wide to tell anything, each by itself may be narrow.
        """
        most = max(largest(step.array), largest(yours))
        wide = interval(self.standing.carried.result(step))
        telling = tells(wide, most)
        if not telling.all():  # it may be of small differences of large numbers
            most = max(most, _reach(step))
            telling = tells(wide, most)
        yield _where(telling, wide)
        if not telling.all():
            near = (hull(x * (1 - NEAR), x * (1 + NEAR)) for x in (yours, step.array))
            _, follows = self.standing.from_earlier(step)
            for found in (interval(self.standing.kept.result(step)), follows, *near):
                yield _where(~telling & tells(found, most), found)

    def _refuse_what_is_no_share(self, judged: Given) -> None:
        """Call wrong what is no part of a whole: below 0, above 1, or in a row that misses 1.

        Where the student's own sum is there, weights are parts of that.
        """
        codes, values = judged.codes, judged.written.values
        if shares_of(judged.step.operation) and judged.step.name not in self.standing.together:
            return
        more = judged.written.share
        with np.errstate(invalid="ignore"):
            outside = (values < -more) | (values > 1 + more)
        codes[outside & (codes != status.MISSING) & (codes != status.CORRECT)] = status.WRONG
        if not isinstance(judged, Compared) or judged.written.missing.any():
            return
        along = axis_of_shares(judged.step) or 0
        spare = (judged.unit + more).sum(axis=along, keepdims=True) + SPARE_OF_SUMS
        off = np.abs(values.sum(axis=along, keepdims=True) - 1) > spare
        near = (codes == status.LAST_DIGIT) | (codes == status.ROUNDED_EARLY)
        codes[off & near] = status.WRONG


def _reach(step: Step) -> float:
    """Return the largest size that a number of a step can have, whatever the signs before it."""
    if axis_of_shares(step) or step.operation is None:
        return 1.0

    def of_either_sign(source: Step) -> Interval:
        size = np.where(np.isfinite(source.array), np.abs(source.array), 0.0)
        return Interval(-size, size)

    found = interval(evaluate(step.operation, of_either_sign))
    return max(largest(found.high), largest(found.low), largest(step.array))


def _coarsest_forgiven(step: Step, yours: Array, unit: Array) -> Array:
    """Return the coarsest units of numbers that may be off in their last digit.

    A unit must be small beside what the step can be; one decimal of small numbers is coarse, but
    what somebody writes who cuts off.
    """
    if axis_of_shares(step):
        return np.full_like(unit, SMALL)
    most = max(largest(step.array), largest(yours))
    return np.where(unit < 1, max(most, HUNDREDTH), SMALL * most)


def _where(chosen: Array, found: Interval) -> Interval:
    return Interval(np.where(chosen, found.low, np.nan), np.where(chosen, found.high, np.nan))
