"""Every cell of a student's answers against the right number and against what follows.

A student's numbers take the place of the computed ones: each operation is evaluated on the
student's own operands, so that a slip is told apart from what only follows from it. A written
number stands for the numbers that it may be a rounding of, so operands are intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import takewhile

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, hull, interval
from attncli.checking import judged as status
from attncli.checking.agreement import CUT_OFF, ROUNDED, agrees, is_exact, is_known, is_same
from attncli.checking.answers import ShapeMismatch, Written
from attncli.checking.digits import SPARE, Habit, habit_of, telling_units
from attncli.checking.judged import Compared, Given, Judged, Misshapen, NotGiven
from attncli.mechanisms.trace import Trace
from attncli.tape.replay import Replay, Values
from attncli.tape.step import Step


class Judge:
    """Judges one student's answers, step by step in the order of computation.

    Attributes:
        trace: the right calculation.
        others: calculations that are right as well, such as the one without rounding.
        given: the student's matrices by step.
        judged: the steps so far.
        midpoints: the calculation on the student's own numbers, as they were written.
        ranges: the same on the intervals that those numbers stand for.
    """

    def __init__(
        self, trace: Trace, others: tuple[Trace, ...], given: Mapping[str, Written | ShapeMismatch]
    ) -> None:
        self.trace = trace
        self.others = others
        self.given = given
        self.judged: dict[str, Judged] = {}
        self.midpoints: Replay[Array] = Replay(trace, lambda step: self._own_numbers(step)[0])
        self.ranges: Replay[Values] = Replay(
            trace, lambda step: self._own_numbers(step)[1], lambda _, found: self._settled(found)
        )
        self._numbers: dict[str, tuple[Array, Values]] = {}

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
        unit = telling_units(written.values, written.unit, written.texts)
        given = Given(step, codes, written, unit)
        codes[~written.missing] = status.WRONG
        codes[self._agrees_with_right(given, ROUNDED)] = status.CORRECT
        off = codes == status.WRONG
        if not off.any():
            return given
        if not is_exact(step.array, unit, written.share):
            codes[off & self._agrees_with_right(given, CUT_OFF)] = status.LAST_DIGIT
        yours, follows = self._from_earlier(step)
        if not is_known(follows, unit, written.share):
            codes[off & given.agrees(follows, CUT_OFF)] = status.LAST_DIGIT
        codes[off & given.agrees(follows)] = status.FOLLOWS
        return Compared(step, codes, written, unit, yours, follows)

    def _agrees_with_right(self, given: Given, units: float) -> Array:
        """Return which numbers agree with those of any right calculation."""
        found = given.agrees(given.step.array, units)
        for other in self.others:
            found |= given.agrees(other[given.step.name].array, units)
        return found

    def _from_earlier(self, step: Step) -> tuple[Array, Interval]:
        """Return what the student's own earlier numbers give for a step, and the range of that."""
        yours = self.midpoints.result(step)
        wide = interval(_bounded(self.ranges.result(step)))
        # Floats may take the number itself out of its range, by a last digit.
        return yours, Interval(np.fmin(wide.low, yours), np.fmax(wide.high, yours))

    @cached_property
    def _habit(self) -> Habit:
        given = [one for one in self.given.values() if isinstance(one, Written)]
        texts = [text for one in given for text in one.texts.flat]
        return habit_of(texts, [float(unit) for one in given for unit in one.unit.flat])

    def _settled(self, found: Values) -> Values:
        """Return the intervals of a step that was left out: rounded before its use, or not."""
        return self._habit.perhaps_rounded(_bounded(found))

    def _own_numbers(self, step: Step) -> tuple[Array, Values] | tuple[None, None]:
        """Return what a student goes on with from a step: numbers, and what they stand for.

        None where nothing was handed in. Nothing can follow from a matrix that does not fit, so
        there it is the right one.
        """
        judged = self.judged.get(step.name)
        if isinstance(judged, Misshapen):
            return step.array, step.array
        if not isinstance(judged, Given):
            return None, None
        if step.name not in self._numbers:
            self._numbers[step.name] = self._of_given(judged)
        return self._numbers[step.name]

    def _of_given(self, judged: Given) -> tuple[Array, Values]:
        """Return the numbers of a step that was handed in, and the intervals they stand for."""
        right, share = judged.step.array, judged.written.share
        is_right = (judged.codes == status.CORRECT) & is_same(judged.written.values, right, share)
        values = np.where(is_right, right, judged.written.values)
        if is_right.all():
            return right, right
        half = judged.unit * (0.0 if self._is_unrounded(judged) else ROUNDED)
        found = self._stand_for(judged, values, np.where(is_right, 0.0, half * SPARE), half)
        missing = judged.written.missing
        if isinstance(judged, Compared) or missing.any() or self._is_after_a_mistake(judged):
            yours, follows = self._from_earlier(judged.step)
            # A number that follows from the student's own is perhaps right only by chance.
            low, high = values - half, values + half
            both = Interval(np.maximum(low, follows.low), np.minimum(high, follows.high))
            may_follow = agrees(values, 2 * half, follows, share)
            found = _where(may_follow, hull(found, both), found)
            if missing.any():
                values = np.where(missing, yours, values)
                found = _where(missing, interval(self._settled(follows)), found)
        return values, found

    def _stand_for(self, judged: Given, values: Array, spare: Array, half: Array) -> Interval:
        """Return the intervals that numbers stand for, by their statuses.

        A right number stands for what was written, for what it was rounded from, and for little
        else; one that follows for itself, a wrong one for all that round to it.
        """
        rights = (judged.step.array, *(other[judged.step.name].array for other in self.others))
        near = hull(values, *rights)
        is_right = (judged.codes == status.CORRECT) | (judged.codes == status.LAST_DIGIT)
        half = np.where(judged.codes == status.FOLLOWS, 0.0, half)
        low = np.where(is_right, near.low - spare, values - half)
        high = np.where(is_right, near.high + spare, values + half)
        return Interval(low, high)

    def _is_after_a_mistake(self, judged: Given) -> bool:
        """Whether a step before has a wrong number, so that right ones may be right by chance."""
        before = takewhile(lambda other: other is not judged, self.judged.values())
        return any(other.has(status.WRONG) for other in before)

    def _is_unrounded(self, judged: Given) -> bool:
        """Whether no number of a step was rounded: neither the right ones nor the student's.

        A wrong number that uses all its decimals may be the rounding of anything, such as 5.77
        where 10 is right.
        """
        unit, values, share = judged.unit, judged.written.values, judged.written.share
        if isinstance(judged, Compared) and not is_known(judged.follows, unit, share):
            return False
        with np.errstate(invalid="ignore"):  # −∞
            tens = values / np.where(unit, 10 * unit, 1.0)
            uses_last_digit = np.abs(tens - np.round(tens)) > 0.05
        is_doubtful = uses_last_digit & (judged.codes == status.WRONG) & (unit < 1)
        return is_exact(judged.step.array, unit, share) and not is_doubtful.any()


def _bounded(found: Values) -> Values:
    """Return intervals in which an end that no float can tell is infinite."""
    if not isinstance(found, Interval):
        return found
    low = np.where(np.isnan(found.low), -np.inf, found.low)
    return Interval(low, np.where(np.isnan(found.high), np.inf, found.high))


def _where(chosen: Array, one: Interval, other: Interval) -> Interval:
    return Interval(np.where(chosen, one.low, other.low), np.where(chosen, one.high, other.high))
