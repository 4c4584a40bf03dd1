"""What the written numbers of a sheet stand for: the numbers that they may be roundings of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, hull, interval
from attncli.attention.normalizers import Exp, Sum
from attncli.checking import judged as status
from attncli.checking.agreement import CUT_OFF, LEAST, ROUNDED, SHARE, agrees, is_known
from attncli.checking.answers import Written
from attncli.checking.digits import SPARE, Habit, habit_of, to_unit
from attncli.checking.judged import Compared, Given, Judged
from attncli.checking.right import Right
from attncli.records import replace
from attncli.tape.replay import Values
from attncli.tape.step import Step

Follows: TypeAlias = Callable[[Step], Values]
"""What tells what follows from the numbers before a step."""

LEAST_HOLLOW = 3
"""Fewer equal numbers may be equal by chance."""


class Meanings:
    """What the numbers of one sheet stand for.

    Attributes:
        right: the right calculations.
        judged: the steps that have been judged so far, by name; the judge adds to it.
        written: the matrices of the sheet.
    """

    def __init__(
        self, right: Right, judged: Mapping[str, Judged], written: Sequence[Written]
    ) -> None:
        self.right = right
        self.judged = judged
        self.written = written
        self._share = max((one.share for one in written), default=SHARE)
        self._least = max((LEAST.get(one.dtype, 0.0) for one in written), default=0.0)
        self._cuts, self._asked = False, 0
        self._narrow: dict[str, Values] = {}
        self._unrounded: dict[str, bool] = {}

    @cached_property
    def habit(self) -> Habit:
        """To what the student rounds."""
        texts = [text for one in self.written for text in one.texts.ravel().tolist()]
        return habit_of(texts, [u for one in self.written for u in one.unit.ravel().tolist()])

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
    def are_short(self) -> bool:
        """Whether the sheet holds numbers of a calculation in short floats."""
        return self._share != SHARE

    def blurred(self, found: Values) -> Values:
        """Return the intervals that a calculation in short floats may give, where it is one."""
        if not self.are_short:
            return found
        ends = interval(found)
        size = np.maximum(np.abs(ends.low), np.abs(ends.high))
        some = (size > 0) & np.isfinite(size)  # 0 is 0 in every float
        more = np.where(some, self._share * np.where(some, size, 0.0) + self._least, 0.0)
        return Interval(ends.low - more, ends.high + more)

    def settled(self, found: Values, cuts: bool) -> Values:
        """Return the intervals of a step that was left out: rounded before its use, or not."""
        habit = self.habit_of_cutting if cuts else self.habit
        return habit.perhaps_rounded(bounded(found))

    def widely(
        self, judged: Given, follows: Follows, cuts: bool = False, keeps: bool = False
    ) -> Values:
        """Return all that the numbers of a step stand for: each may be rounded, or cut off.

        Args:
            judged: the step.
            follows: tells what follows from the numbers before a step.
            cuts: whether numbers may have been cut off, even if none so far was.
            keeps: whether nobody goes on from a number as it was written.
        """
        cuts = cuts or self.cuts
        written, right = judged.written, judged.step.array
        same = judged.same
        if same.all() and written.share == SHARE and self._is_exact_before(judged):
            return right
        units = CUT_OFF if cuts else ROUNDED
        half = judged.unit * (0.0 if self._is_unrounded(judged) else units)
        values = np.where(same, right, written.values)
        ends = interval(bounded(follows(judged.step)))
        found = self._between(judged, values, half, ends, keeps)
        if written.missing.any():
            found = _where(written.missing, interval(self._blank(judged, ends, cuts)), found)
        return self.blurred(found)

    def _is_exact_before(self, judged: Given) -> bool:
        """Whether no number before a step was rounded, so that what is right is no coincidence."""
        before = takewhile(lambda other: other is not judged, self.judged.values())
        return all(one.same.all() for one in before if isinstance(one, Given))

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
        spare = 0.0 if keeps else np.where(is_known & judged.same, 0.0, SPARE * half)
        written = Interval(values - half, values + half)
        low = np.maximum(written.low, follows.low) - spare
        low = np.where((follows.low >= 0) & (values >= 0), np.maximum(low, 0.0), low)
        high = np.minimum(written.high, follows.high) + spare
        # What was rounded early comes from other numbers than those that are asked here.
        is_rounding = (low <= high) & (not judged.has(status.ROUNDED_EARLY))
        rounding = _where(is_rounding, Interval(low, high), interval(values))
        found = rounding
        if not keeps:
            near = self._near(judged, values)
            found = hull(near.low - spare, near.high + spare, rounding)
        found = _where(is_rounding, found, written)
        if keeps or not isinstance(judged.step.operation, Exp | Sum):
            return found
        zeros = (values == 0) & is_rounding & (follows.high > 0) & (half > 0)
        if not zeros.any():
            return found
        finer = Habit(float(judged.unit.max()) / 10)
        unseen = interval(finer.perhaps_rounded(follows))
        along = self.right.trace.problem.rules.normalize.along
        return _where(zeros.all(axis=along, keepdims=True), unseen, found)

    def _blank(self, judged: Given, follows: Values, cuts: bool) -> Values:
        """Return the intervals of cells that were left out, perhaps rounded as their neighbours."""
        units = judged.unit[(judged.unit > 0) & ~judged.written.missing]
        coarsest, ends = float(units.max(initial=0.0)), interval(follows)
        rounded = (to_unit(end, coarsest, cuts) for end in (ends.low, ends.high))
        return hull(self.settled(follows, cuts), *(rounded if coarsest else ()))

    def narrowly(self, judged: Given, follows: Callable[[Step], Interval]) -> Values:
        """Return the intervals of a step, no wider than what can be told of it.

        Args:
            judged: the step.
            follows: tells what follows from the student's own numbers before a step.
        """
        name = judged.step.name
        if name not in self._narrow:
            self._narrow[name] = self._of_given(judged, follows)
        return self._narrow[name]

    def _of_given(self, judged: Given, follows: Callable[[Step], Interval]) -> Values:
        right = judged.step.array
        same = judged.same
        if same.all():
            return right
        values = np.where(same, right, judged.written.values)
        half = judged.unit * (0.0 if self._is_unrounded(judged) else ROUNDED)
        found = self._stand_for(judged, values, half)
        missing = judged.written.missing
        if isinstance(judged, Compared) or missing.any() or self._is_after_a_mistake(judged):
            ends = follows(judged.step)
            # A number that follows from the student's own is perhaps right only by chance.
            half = np.where(judged.codes == status.LAST_DIGIT, 2 * half, half)
            low, high = values - half, values + half
            both = Interval(np.maximum(low, ends.low), np.minimum(high, ends.high))
            may_follow = agrees(values, 2 * half, ends, judged.written.share)
            found = _where(may_follow, hull(found, both), found)
            if missing.any():
                found = _where(missing, interval(self._blank(judged, ends, self.cuts)), found)
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
        spare = np.where(is_right & ~judged.same, half * SPARE, 0.0)
        return Interval(near.low - spare, near.high + spare)

    def _near(self, judged: Given, values: Array) -> Interval:
        """Return the intervals between what was written and what is right, where it is right."""
        others = (other[judged.step.name].array for other in self.right.others)
        is_right = (judged.codes == status.CORRECT) | (judged.codes == status.LAST_DIGIT)
        return _where(is_right, hull(values, judged.step.array, *others), interval(values))

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
        if not self.right[judged.step.name].is_exact(judged):
            return False
        if isinstance(judged, Compared) and not is_known(judged.follows, unit, share):
            return False
        with np.errstate(invalid="ignore"):  # −∞
            tens = values / np.where(unit, 10 * unit, 1.0)
            uses_last_digit = np.abs(tens - np.round(tens)) > 0.05
        is_doubtful = uses_last_digit & (judged.codes == status.WRONG) & (unit < 1)
        return not is_doubtful.any()


def is_hollow(judged: Given) -> bool:
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
    return Interval(np.fmax(found.low, -np.inf), np.fmin(found.high, np.inf))


def _where(chosen: Array, one: Interval, other: Interval) -> Interval:
    if chosen.all():
        return one
    return Interval(np.where(chosen, one.low, other.low), np.where(chosen, one.high, other.high))
