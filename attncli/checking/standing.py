"""What a student's written numbers stand for, and what follows from them.

A student's numbers take the place of the computed ones: each operation is evaluated on the
student's own operands, so that a slip is told apart from what only follows from it. A written
number stands for the numbers that it may be a rounding of, so operands are intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import takewhile

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, hull, interval
from attncli.attention.normalizers import Exp, Sum
from attncli.checking import judged as status
from attncli.checking.agreement import (
    CUT_OFF,
    LEAST,
    ROUNDED,
    SHARE,
    agrees,
    is_exact,
    is_known,
    is_same,
)
from attncli.checking.answers import ShapeMismatch, Written
from attncli.checking.digits import SPARE, Habit, habit_of, to_unit
from attncli.checking.judged import Compared, Given, Judged, Misshapen, NotGiven
from attncli.checking.ranged import together
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.replay import Change, Replay, Values
from attncli.tape.step import Step
from attncli.tape.walk import sources

LEAST_HOLLOW = 3
"""Fewer equal numbers may be equal by chance."""

Settle = Callable[[Step, Values], Values]


class Standing:
    """The numbers of one sheet, as later steps go on from them.

    Attributes:
        trace: the right calculation.
        others: calculations that are right as well, such as the one without rounding.
        judged: the steps that have been judged so far, by name; the judge adds to it.
        midpoints: the calculation on the student's own numbers, as they were written.
        ranges: the same on intervals that are as narrow as can be: a right number is what was
            written, what is right, or between. Mistakes are told by it.
        carried: on all that was written stands for; what is not shown has every digit. It and
            `rounded` decide what is wrong.
        rounded: the same, with what is not shown rounded as the student does, or not.
        cut_off: the same, with numbers perhaps cut off.
        kept: as `carried`, where somebody goes on with every digit from what was rounded.
        together: the operations that are ranged as one.
    """

    def __init__(
        self, trace: Trace, others: tuple[Trace, ...], given: Mapping[str, Written | ShapeMismatch]
    ) -> None:
        self.trace = trace
        self.others = others
        self.judged: dict[str, Judged] = {}
        written = {name: one for name, one in given.items() if isinstance(one, Written)}
        self._written = list(written.values())
        self._share = max((one.share for one in self._written), default=SHARE)
        self._least = max((LEAST.get(one.dtype, 0.0) for one in self._written), default=0.0)
        self.together = together(trace, given)
        self._cuts, self._asked = False, 0
        self._narrow: dict[str, Values] = {}
        self._unrounded: dict[str, bool] = {}
        self._earlier: dict[str, tuple[Array, Interval]] = {}
        self.midpoints: Replay[Array] = Replay(trace, self._midpoints)
        self.ranges: Replay[Values] = Replay(
            trace,
            lambda step: self._known(step, self._narrowed),
            lambda _, found: self._settled(found, self.cuts),
            instead=self.together,
        )
        self.carried = self.wide(lambda _, found: found)
        self.rounded = self.wide(lambda _, found: self._settled(found, self.cuts))
        self.cut_off = self.wide(lambda _, found: self._settled(found, True), cuts=True)
        self.kept = self.wide(lambda _, found: found, keeps=True)

    @cached_property
    def habit(self) -> Habit:
        """To what the student rounds."""
        texts = [text for one in self._written for text in one.texts.ravel().tolist()]
        return habit_of(texts, [u for one in self._written for u in one.unit.ravel().tolist()])

    @cached_property
    def habit_of_cutting(self) -> Habit:
        """The same where further digits may be cut off."""
        return replace(self.habit, cuts=True)

    @property
    def cuts(self) -> bool:
        """Whether a number so far was cut off rather than rounded, so that others may be, too."""
        for name in list(self.judged)[self._asked :]:
            self._cuts = self._cuts or self.judged[name].has(status.LAST_DIGIT)
        self._asked = len(self.judged)
        return self._cuts

    @property
    def has_blanks(self) -> bool:
        """Whether a cell was left out of a step that was given."""
        return any(one.missing.any() for one in self._written)

    def is_first(self, step: Step) -> bool:
        """Return whether nothing that a step is made of was given."""
        before = takewhile(lambda other: other is not step, self.trace)
        return all(isinstance(self.judged[other.name], NotGiven) for other in before)

    def not_shown_before(self, step: Step) -> list[Step]:
        """Return the steps that a step is made of and that were not given, or not in every cell."""
        before = list(takewhile(lambda other: other is not step, self.trace))
        if self.has_blanks:
            missing = (self.judged[other.name].codes == status.MISSING for other in before)
            return [other for other, cells in zip(before, missing, strict=True) if cells.any()]
        wanted, found = {source.name for source in sources(step)}, []
        for other in reversed(before):
            if other.name in wanted and isinstance(self.judged[other.name], NotGiven):
                found.append(other)
                wanted.update(source.name for source in sources(other))
        return found[::-1]

    def wide(
        self,
        settle: Settle,
        change: Change | None = None,
        cuts: bool = False,
        keeps: bool = False,
        worked: Mapping[str, Values] | None = None,
    ) -> Replay[Values]:
        """Return a replay on all that was written stands for.

        Args:
            settle: rounds what is not shown, before it is used.
            change: operations that take the place of those of the trace; by default those that are
                ranged as one.
            cuts: whether numbers may have been cut off, even if none so far was.
            keeps: whether nobody goes on from a number as it was written.
            worked: values of steps that are not shown, where they are known already.
        """
        replay: Replay[Values] = Replay(
            self.trace,
            lambda step: self._known(step, lambda given: self._widened(given, replay, cuts, keeps)),
            lambda step, found: self._blurred(bounded(settle(step, found))),
            instead=self.together if change is None else change,
            of_input=None if self._share == SHARE else lambda step: self._blurred(step.array),
            worked=worked,
        )
        return replay

    def from_earlier(self, step: Step) -> tuple[Array, Interval]:
        """Return what the student's own earlier numbers give for a step, and the range of that."""
        if step.name not in self._earlier:
            yours = self.midpoints.result(step)
            wide = interval(bounded(self.ranges.result(step)))
            # Floats may take the number itself out of its range, by a last digit.
            ends = Interval(np.fmin(wide.low, yours), np.fmax(wide.high, yours))
            self._earlier[step.name] = yours, ends
        return self._earlier[step.name]

    @cached_property
    def right_in_floats(self) -> Replay[Values]:
        """The right calculation in floats of the type in which the sheet holds its numbers."""
        blurred: Replay[Values] = Replay(
            self.trace,
            settle=lambda _, found: self._blurred(found),
            instead=self.together,
            of_input=lambda step: self._blurred(step.array),
        )
        return blurred

    def _blurred(self, found: Values) -> Values:
        """Return the intervals that a calculation in short floats may give, where it is one."""
        if self._share == SHARE:
            return found
        ends = interval(found)
        size = np.maximum(np.abs(ends.low), np.abs(ends.high))
        some = (size > 0) & np.isfinite(size)  # 0 is 0 in every float
        more = np.where(some, self._share * np.where(some, size, 0.0) + self._least, 0.0)
        return Interval(ends.low - more, ends.high + more)

    def _settled(self, found: Values, cuts: bool) -> Values:
        """Return the intervals of a step that was left out: rounded before its use, or not."""
        habit = self.habit_of_cutting if cuts else self.habit
        return habit.perhaps_rounded(bounded(found))

    def _known(self, step: Step, stand_for: Callable[[Given], Values]) -> Values | None:
        """Return what a step stands for that was handed in; None where it was not.

        Nothing can follow from a matrix that does not fit, so there it is the right one; nor from
        one of nothing but 0 or 1 that is wrong.
        """
        judged = self.judged.get(step.name)
        if isinstance(judged, Misshapen):
            return step.array
        if not isinstance(judged, Given) or _is_hollow(judged):
            return None
        return stand_for(judged)

    def _midpoints(self, step: Step) -> Array | None:
        judged = self.judged.get(step.name)
        if isinstance(judged, Misshapen):
            return step.array
        if not isinstance(judged, Given) or _is_hollow(judged):
            return None
        values = np.where(_is_the_right_one(judged), step.array, judged.written.values)
        missing = judged.written.missing
        return np.where(missing, self.midpoints.result(step), values) if missing.any() else values

    def _widened(self, judged: Given, replay: Replay[Values], cuts: bool, keeps: bool) -> Values:
        """Return all that the numbers of a step stand for: each may be rounded, or cut off."""
        cuts = cuts or self.cuts
        written, right = judged.written, judged.step.array
        same = _is_the_right_one(judged)
        if same.all() and written.share == SHARE and self._is_exact_before(judged):
            return right
        units = CUT_OFF if cuts else ROUNDED
        half = judged.unit * (0.0 if self._is_unrounded(judged) else units)
        values = np.where(same, right, written.values)
        follows = interval(bounded(replay.result(judged.step)))
        found = self._between(judged, values, half, follows, keeps)
        if written.missing.any():
            found = _where(written.missing, interval(self._blank(judged, follows, cuts)), found)
        return self._blurred(found)

    def _is_exact_before(self, judged: Given) -> bool:
        """Whether no number before a step was rounded, so that what is right is no coincidence."""
        before = takewhile(lambda other: other is not judged, self.judged.values())
        return all(_is_the_right_one(one).all() for one in before if isinstance(one, Given))

    def _between(
        self, judged: Given, values: Array, half: Array, follows: Interval, keeps: bool
    ) -> Interval:
        """Return what numbers stand for: all between what was written and what it is rounded from.

        That is what follows from the numbers before it, as far as it rounds to what was written,
        and a little more, as somebody may go on with one digit more than is written. Nobody goes
        on from a row of zeros, so there what was written is no end.
        """
        with np.errstate(invalid="ignore"):
            is_known = follows.high - follows.low <= SHARE * np.abs(values)
        spare = 0.0 if keeps else np.where(is_known & _is_the_right_one(judged), 0.0, SPARE * half)
        low = np.maximum(values - half, follows.low) - spare
        low = np.where((follows.low >= 0) & (values >= 0), np.maximum(low, 0.0), low)
        high = np.minimum(values + half, follows.high) + spare
        # What was rounded early comes from other numbers than those that are asked here.
        is_rounding = (low <= high) & (not judged.has(status.ROUNDED_EARLY))
        near = self._near(judged, values)
        rounding = Interval(np.where(is_rounding, low, values), np.where(is_rounding, high, values))
        between = rounding if keeps else hull(near.low - spare, near.high + spare, rounding)
        found = _where(is_rounding, between, Interval(values - half, values + half))
        zeros = (values == 0) & is_rounding & (follows.high > 0) & (half > 0)
        if keeps or not zeros.any() or not isinstance(judged.step.operation, Exp | Sum):
            return found
        along = self.trace.problem.rules.normalize.along
        finer = Habit(float(judged.unit.max()) / 10)
        unseen = interval(finer.perhaps_rounded(follows))
        return _where(zeros.all(axis=along, keepdims=True), unseen, found)

    def _blank(self, judged: Given, follows: Values, cuts: bool) -> Values:
        """Return the intervals of cells that were left out, perhaps rounded as their neighbours."""
        units = judged.unit[(judged.unit > 0) & ~judged.written.missing]
        coarsest, ends = float(units.max(initial=0.0)), interval(follows)
        rounded = (to_unit(end, coarsest, cuts) for end in (ends.low, ends.high))
        return hull(self._settled(follows, cuts), *(rounded if coarsest else ()))

    def _narrowed(self, judged: Given) -> Values:
        """Return the intervals of a step, no wider than what can be told of it."""
        name = judged.step.name
        if name not in self._narrow:
            self._narrow[name] = self._of_given(judged)
        return self._narrow[name]

    def _of_given(self, judged: Given) -> Values:
        right = judged.step.array
        same = _is_the_right_one(judged)
        if same.all():
            return right
        values = np.where(same, right, judged.written.values)
        half = judged.unit * (0.0 if self._is_unrounded(judged) else ROUNDED)
        found = self._stand_for(judged, values, half)
        missing = judged.written.missing
        if isinstance(judged, Compared) or missing.any() or self._is_after_a_mistake(judged):
            _, follows = self.from_earlier(judged.step)
            # A number that follows from the student's own is perhaps right only by chance.
            half = np.where(judged.codes == status.LAST_DIGIT, 2 * half, half)
            low, high = values - half, values + half
            both = Interval(np.maximum(low, follows.low), np.minimum(high, follows.high))
            may_follow = agrees(values, 2 * half, follows, judged.written.share)
            found = _where(may_follow, hull(found, both), found)
            if missing.any():
                found = _where(missing, interval(self._blank(judged, follows, self.cuts)), found)
        return found

    def _stand_for(self, judged: Given, values: Array, half: Array) -> Interval:
        """Return the intervals that numbers stand for, by their statuses.

        A right number stands for what was written, for what it was rounded from, and for little
        else; one that follows for itself. Beside a wrong number, right ones may be right by chance.
        """
        if judged.has(status.WRONG):
            return Interval(values - half, values + half)
        near = self._near(judged, values)
        is_right = (judged.codes == status.CORRECT) | (judged.codes == status.LAST_DIGIT)
        spare = np.where(is_right & ~_is_the_right_one(judged), half * SPARE, 0.0)
        return Interval(near.low - spare, near.high + spare)

    def _near(self, judged: Given, values: Array) -> Interval:
        """Return the intervals between what was written and what is right, where it is right."""
        rights = (judged.step.array, *(other[judged.step.name].array for other in self.others))
        is_right = (judged.codes == status.CORRECT) | (judged.codes == status.LAST_DIGIT)
        return _where(is_right, hull(values, *rights), interval(values))

    def _is_after_a_mistake(self, judged: Given) -> bool:
        """Whether a step before has a wrong number, so that right ones may be right by chance."""
        before = takewhile(lambda other: other is not judged, self.judged.values())
        return any(other.has(status.WRONG) for other in before)

    def _is_unrounded(self, judged: Given) -> bool:
        """Whether no number of a step was rounded: neither the right ones nor the student's.

        A wrong number that uses all its decimals may be the rounding of anything, such as 5.77
        where 10 is right.
        """
        name = judged.step.name
        if name not in self._unrounded:
            self._unrounded[name] = self._has_all_digits(judged)
        return self._unrounded[name]

    def _has_all_digits(self, judged: Given) -> bool:
        unit, values, share = judged.unit, judged.written.values, judged.written.share
        if isinstance(judged, Compared) and not is_known(judged.follows, unit, share):
            return False
        with np.errstate(invalid="ignore"):  # −∞
            tens = values / np.where(unit, 10 * unit, 1.0)
            uses_last_digit = np.abs(tens - np.round(tens)) > 0.05
        is_doubtful = uses_last_digit & (judged.codes == status.WRONG) & (unit < 1)
        return is_exact(judged.step.array, unit, share) and not is_doubtful.any()


def _is_the_right_one(judged: Given) -> Array:
    """Return which numbers are the right ones with every digit."""
    same = is_same(judged.written.values, judged.step.array, judged.written.share)
    found: Array = (judged.codes == status.CORRECT) & same
    return found


def _is_hollow(judged: Given) -> bool:
    """Return whether a wrong step holds the same number everywhere, 0 or 1, as if nothing."""
    if not judged.has(status.WRONG):
        return False
    numbers = judged.written.values[~judged.written.missing]
    return (
        numbers.size >= LEAST_HOLLOW
        and bool((numbers == numbers[0]).all())
        and (float(numbers[0]) in (0.0, 1.0))
    )


def bounded(found: Values) -> Values:
    """Return intervals in which an end that no float can tell is infinite."""
    if not isinstance(found, Interval):
        return found
    low = np.where(np.isnan(found.low), -np.inf, found.low)
    return Interval(low, np.where(np.isnan(found.high), np.inf, found.high))


def _where(chosen: Array, one: Interval, other: Interval) -> Interval:
    return Interval(np.where(chosen, one.low, other.low), np.where(chosen, one.high, other.high))
