"""Every cell of a student's answers against the right number and against what follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, hull, interval
from attncli.checking import judged as status
from attncli.checking.agreement import CUT_OFF, ROUNDED, SHARE, known_cells, largest, tells
from attncli.checking.answers import ShapeMismatch, Written
from attncli.checking.digits import FINE, are_decimals, telling_units
from attncli.checking.early import rounded_on_the_way
from attncli.checking.judged import Compared, Given, Judged, Misshapen, NotGiven
from attncli.checking.ranged import axis_of_shares, shares_of
from attncli.checking.right import Right, RightStep
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
    """

    def __init__(self, right: Right, given: Mapping[str, Written | ShapeMismatch]) -> None:
        self.right = right
        self.trace = right.trace
        self.given = given
        self.judged: dict[str, Judged] = {}

    @cached_property
    def standing(self) -> Standing:
        """What the student's numbers stand for, which nobody asks of a sheet that is right."""
        return Standing(self.right, self.given, self.judged)

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
        if not isinstance(written, Written):
            codes = np.full(step.array.shape, status.MISSING, np.int8)
            return Misshapen(step, codes, written) if written else NotGiven(step, codes)
        right = self.right[step.name]
        judged = Given(step, right.correct, written, self._telling_unit(right, written))
        # Nearly all steps are right. Of short floats what is right is a range, asked below.
        if written.share == SHARE and right.agrees(judged, ROUNDED).all():
            return judged
        codes = np.where(written.missing, status.MISSING, status.WRONG).astype(np.int8)
        judged = replace(judged, codes=codes)
        codes[self._agrees_with_right(judged, ROUNDED)] = status.CORRECT
        if not (codes == status.WRONG).any():
            return judged
        compared = self._compared(judged)
        if right.axis_of_shares:
            self._refuse_what_is_no_share(compared)
        if compared.has(status.WRONG):
            return replace(compared, follows=self.standing.from_earlier(step)[1])
        return compared

    def _telling_unit(self, right: RightStep, written: Written) -> Array:
        """Return the units of the last digits that say something."""
        if (written.only_unit or 1.0) <= FINE:
            return written.unit
        most = 1.0 if right.axis_of_shares else max(right.largest, largest(written.values))
        return telling_units(written.values, written.unit, written.texts, most)

    def _agrees_with_right(self, judged: Given, units: float) -> Array:
        """Return which numbers agree with those of any right calculation."""
        step = judged.step
        if judged.written.share != SHARE:
            found = self._agrees(judged, self.standing.right_in_floats(step), units)
        else:
            found = self.right[step.name].agrees(judged, units)
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
        step, codes = judged.step, judged.codes
        off, yours = codes == status.WRONG, self.standing.midpoints.result(step)
        ranges = list(self._telling_ranges(step, yours))
        for found in ranges:
            codes[off & self._agrees(judged, found)] = status.FOLLOWS
        compared = Compared(step, codes, judged.written, judged.unit, yours, ranges[0])
        return self._forgiven(compared, ranges) if (codes == status.WRONG).any() else compared

    def _forgiven(self, compared: Compared, ranges: Sequence[Interval]) -> Compared:
        """Judge numbers that neither are right nor follow: off in the last digit, rounded early."""
        step, codes, unit = compared.step, compared.codes, compared.unit
        share, off = compared.written.share, codes == status.WRONG
        forgives = are_decimals(unit) & (unit <= self._coarsest_forgiven(compared))
        inexact = ~self.right[step.name].exact_cells(compared)
        codes[off & forgives & inexact & self._agrees_with_right(compared, CUT_OFF)] = (
            status.LAST_DIGIT
        )
        for found in ranges:
            known = known_cells(found, unit, share)
            codes[off & forgives & ~known & compared.agrees(found, CUT_OFF)] = status.LAST_DIGIT
        early = rounded_on_the_way(self.standing, compared, forgives)
        codes[early.cells] = status.ROUNDED_EARLY
        return replace(compared, rounding=early.words)

    def _coarsest_forgiven(self, compared: Compared) -> Array:
        """Return the coarsest units of numbers that may be off in their last digit.

        A unit must be small beside what the step can be; one decimal of small numbers is coarse,
        but what somebody writes who cuts off.
        """
        right, unit = self.right[compared.step.name], compared.unit
        if right.axis_of_shares:
            return np.full_like(unit, SMALL)
        most = max(right.largest, largest(compared.yours))
        return np.where(unit < 1, max(most, HUNDREDTH), SMALL * most)

    def _telling_ranges(self, step: Step, yours: Array) -> Iterator[Interval]:
        """Yield the ranges of what follows, nan where a number could stand for anything.

        Somebody goes on from what is written or from every digit. Where the range of both is too
        wide to tell anything, each by itself may be narrow.
        """
        most = max(self.right[step.name].largest, largest(yours))
        wide = interval(self.standing.carried.result(step))
        telling = tells(wide, most)
        if not telling.all():  # it may be of small differences of large numbers
            most = max(most, _reach(step))
            telling = tells(wide, most)
        if telling.all():
            yield wide
            return
        yield _where(telling, wide)
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


def _where(chosen: Array, found: Interval) -> Interval:
    return Interval(np.where(chosen, found.low, np.nan), np.where(chosen, found.high, np.nan))
