"""The numbers with which a student went on: as written, or as they were before rounding.

A step that is shown takes the place of the computed one, so that a slip is told apart from what
only follows from it. A step that is not shown is computed from those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TypeVar

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, hull, interval
from attncli.checking.agreement import agrees, is_exact, is_same
from attncli.checking.answers import ShapeMismatch, Written
from attncli.checking.digits import roundings_of
from attncli.checking.judged import CORRECT, LAST_DIGIT, MISSING, WRONG, Given, Judged, Misshapen
from attncli.checking.ranged import together
from attncli.checking.right import Right
from attncli.checking.rounding import Rounding
from attncli.checking.thresholds import CUT_OFF, FLOAT_ERROR, ROUNDED, SMALLEST_FLOATS
from attncli.tape.replay import Change, Replay, Values
from attncli.tape.step import Expression, Step
from attncli.tape.walk import evaluate, sources

V = TypeVar("V", bound=Values)

MAX_KEPT = 10_000
"""Maximum size of a step whose result is kept; for larger ones it costs more than it saves."""

MIN_HOLLOW = 3
"""Minimum count of equal numbers that are not equal by chance."""


class Work(Replay[V]):
    """A replay that keeps what each step becomes, as judging a step asks for it several times."""

    def result(self, step: Step) -> V:
        """Return what a step's operation makes of the values before it, even if it is known."""
        kept: dict[str, V] = self.__dict__.setdefault("_results", {})
        if step.name in kept:
            return kept[step.name]
        found = super().result(step)
        if step.array.size <= MAX_KEPT:
            kept[step.name] = found
        return found


class Operands:
    """What later steps of one submission are made from.

    Args:
        right: the right calculations.
        given: the student's matrices by step.
        judged: the steps that have been judged so far, by name; the judge adds to it.
    """

    def __init__(
        self,
        right: Right,
        given: Mapping[str, Written | ShapeMismatch],
        judged: Mapping[str, Judged],
    ) -> None:
        self.right = right
        self.trace = right.trace
        self.judged = judged
        self._shown = [one for one in given.values() if isinstance(one, Written)]
        self.together = together(right.trace, given)
        # Numbers with many digits may look like floats among others that were written by hand.
        inexact = [
            one
            for name, one in given.items()
            if isinstance(one, Written)
            and not is_same(one.values, right.trace[name].array)[~one.blank].all()
        ]
        floats = [one for one in inexact if one.dtype]
        if 2 * len(floats) < len(inexact):
            floats = []
        self._share = max((one.share for one in floats), default=FLOAT_ERROR)
        self._smallest = max((SMALLEST_FLOATS.get(one.dtype, 0.0) for one in floats), default=0.0)
        self._hidden: dict[str, list[Step]] = {}
        self._readings: dict[str, list[Array]] = {}

    # ---- calculations on these numbers

    @cached_property
    def written(self) -> Replay[Array]:
        """The calculation on the numbers as they were written; other steps have every digit."""
        return Work(self.trace, self._known(lambda judged: self._filled(judged, self.written)))

    @cached_property
    def meant(self) -> Replay[Values]:
        """The calculation on the numbers that a student had before rounding them.

        Of a wrong number nobody knows these, so it is the interval of what rounds to it.
        """
        return Work(
            self.trace,
            self._known(self._meant),
            lambda _, found: self._in_floats(found),
            instead=self.together,
            of_input=self._of_input,
        )

    @cached_property
    def ranges(self) -> Replay[Values]:
        """The calculation on intervals that hold both, and hidden steps rounded or not."""
        return Work(
            self.trace,
            self._known(lambda judged: hull(self.written(judged.step), self.meant(judged.step))),
            lambda _, found: hull(found, *(one.interval(found) for one in self.roundings)),
            instead=self.together,
        )

    def with_hidden(
        self, settle: Callable[[Values], Interval], shown: Callable[[Step], Values] | None = None
    ) -> Replay[Values]:
        """Return the calculation in which hidden steps become intervals.

        Args:
            settle: gives the interval of a step, such as what it may be rounded to.
            shown: gives the numbers of a step that is shown; by default as they were written.
        """
        value_of = shown or self.written
        return Work(
            self.trace,
            lambda step: value_of(step) if self.is_whole(step) else None,
            lambda step, found: self._filled_in(step, settle(found)),
            instead=self.together,
        )

    def _filled_in(self, step: Step, found: Interval) -> Interval:
        """Return intervals with the cells as written that are shown."""
        judged = self.judged.get(step.name)
        if not isinstance(judged, Given) or is_hollow(judged):
            return found
        return _where(judged.written.blank, found, interval(judged.values))

    @cached_property
    def right_in_floats(self) -> Replay[Values]:
        """The right calculation in floats of the type in which the submission holds its numbers."""
        return Replay(
            self.trace,
            settle=lambda _, found: self._in_floats(found),
            instead=self.together,
            of_input=self._of_input,
        )

    # ---- what is shown

    @cached_property
    def roundings(self) -> tuple[Rounding, ...]:
        """How the student rounds, by the digits of what was written."""
        return roundings_of([text for one in self._shown for text in one.texts.ravel().tolist()])

    @property
    def are_floats(self) -> bool:
        """True if the submission holds numbers of a calculation in short floats."""
        return self._share != FLOAT_ERROR

    def is_first(self, step: Step) -> bool:
        """Return True if nothing that comes before a step was given."""
        before = takewhile(lambda other: other is not step, self.trace)
        return not any(self.is_shown(other.name) for other in before)

    def is_shown(self, name: str) -> bool:
        """Return True if later steps go on from what was written for a step."""
        judged = self.judged.get(name)
        return isinstance(judged, Given) and not is_hollow(judged)

    def ancestors(self, step: Step) -> list[Step]:
        """Return every step that a step is made of, shown or not, in the order of computation."""
        wanted, found = {source.name for source in sources(step)}, []
        for other in reversed(list(takewhile(lambda other: other is not step, self.trace))):
            if other.name in wanted:
                found.append(other)
                wanted.update(source.name for source in sources(other))
        return found[::-1]

    def hidden_before(self, step: Step) -> list[Step]:
        """Return the steps that a step is made of and that are not shown, or not in every cell."""
        if step.name not in self._hidden:
            wanted, found = {source.name for source in sources(step)}, []
            before = list(takewhile(lambda other: other is not step, self.trace))
            for other in reversed(before):
                if other.name in wanted and not self.is_whole(other):
                    found.append(other)
                    wanted.update(source.name for source in sources(other))
            self._hidden[step.name] = found[::-1]
        return self._hidden[step.name]

    def filled(self, step: Step, made: Array) -> Array:
        """Return the numbers of a hidden step, with the cells as written that are shown."""
        return self._with_shown(step, made, lambda missing, values, unit: missing)

    def kept(self, step: Step, made: Array) -> Array:
        """Return worked numbers of a step where it is written so, else what is written."""

        def is_kept(missing: Array, values: Array, unit: Array) -> Array:
            return missing | agrees(values, unit, made, self._share, CUT_OFF)

        return self._with_shown(step, made, is_kept)

    def _with_shown(
        self, step: Step, made: Array, is_made: Callable[[Array, Array, Array], Array]
    ) -> Array:
        judged = self.judged.get(step.name)
        if not isinstance(judged, Given) or is_hollow(judged):
            return judged.step.array if isinstance(judged, Misshapen) else made
        places = len(made) // len(judged.values) or 1
        parts = (judged.written.blank, judged.values, judged.unit)
        wide = [np.tile(one, (places, *[1] * (one.ndim - 1))) for one in parts]
        return np.where(is_made(*wide), made, wide[1])

    def is_whole(self, step: Step) -> bool:
        """Return True if later steps go on from what was written in every cell of a step."""
        judged = self.judged.get(step.name)
        if isinstance(judged, Misshapen):
            return True
        return self.is_shown(step.name) and not (
            isinstance(judged, Given) and judged.written.blank.any()
        )

    # ---- one step

    def _known(self, stands_for: Callable[[Given], V]) -> Callable[[Step], V | Array | None]:
        """Return what gives the numbers of a shown step, and None for any other.

        Nothing can follow from a matrix of another shape, so the right one stands in for it; nor
        from one of nothing but 0 or 1 that is wrong.
        """

        def known(step: Step) -> V | Array | None:
            judged = self.judged.get(step.name)
            if isinstance(judged, Misshapen):
                return step.array
            if not isinstance(judged, Given) or is_hollow(judged):
                return None
            return stands_for(judged)

        return known

    def _filled(self, judged: Given, replay: Replay[Array]) -> Array:
        """Return the numbers of a step, those that were left out as they follow."""
        missing = judged.written.blank
        if not missing.any():
            return judged.values
        return np.where(missing, replay.result(judged.step), judged.values)

    def _meant(self, judged: Given) -> Values:
        """Return what the numbers of a step were before rounding, as far as that is known.

        Of a wrong number it is whatever rounds to it, and of one that follows from it what follows.
        """
        if self.are_floats:  # a program goes on with the floats that it has
            return self._in_floats(self.written(judged.step))
        blank, wrong = judged.written.blank, judged.codes == WRONG
        expected: Values = judged.expected
        if wrong.any() or blank.any() or self._is_after_wrong(judged):
            follows = bounded(self.meant.result(judged.step))
            half = np.where(self.is_unrounded(judged), 0.0, ROUNDED * judged.unit)
            around = Interval(judged.values - half, judged.values + half)
            both = Interval(
                np.maximum(follows.low, around.low), np.minimum(follows.high, around.high)
            )
            ends = interval(judged.expected)
            doubtful = (follows.low < follows.high) & (both.low <= both.high)
            ends = _where(doubtful & (judged.codes == CORRECT), hull(ends, both), ends)
            ends = _where(doubtful & (judged.codes != CORRECT), both, ends)
            expected = _where(blank, follows, _where(wrong & ~blank, around, ends))
        return expected

    def _is_after_wrong(self, judged: Given) -> bool:
        """Return True if a step before has a wrong number, so that right ones may be by chance."""
        before = takewhile(lambda other: other is not judged, self.judged.values())
        return any(other.has(WRONG) for other in before)

    def is_unrounded(self, judged: Given) -> bool:
        """Return True if no number of a step was rounded: neither the right ones nor the student's.

        A wrong number that uses all its decimals may be the rounding of anything, such as 5.77
        where 10 is right.
        """
        unit, share = judged.unit, judged.written.share
        if not is_exact(judged.step.array, unit, share):
            return False
        if not is_exact(self.meant.result(judged.step), unit, share):
            return False
        with np.errstate(invalid="ignore"):  # −∞
            tens = judged.values / np.where(unit, 10 * unit, 1.0)
            uses_last_digit = np.abs(tens - np.round(tens)) > 0.05
        return not (uses_last_digit & (judged.codes == WRONG) & (unit < 1)).any()

    def _in_floats(self, found: Values) -> Values:
        """Return the intervals that a calculation in short floats may give, where it is one."""
        if not self.are_floats:
            return found
        ends = interval(found)
        size = np.maximum(np.abs(ends.low), np.abs(ends.high))
        some = (size > 0) & np.isfinite(size)  # 0 is 0 in every float
        more = np.where(some, self._share * np.where(some, size, 0.0) + self._smallest, 0.0)
        return Interval(ends.low - more, ends.high + more)

    @property
    def _of_input(self) -> Callable[[Step], Values] | None:
        return (lambda step: self._in_floats(step.array)) if self.are_floats else None

    @property
    def cuts(self) -> bool:
        """True if a number so far was cut off rather than rounded."""
        return any(one.has(LAST_DIGIT) for one in self.judged.values())

    def readings(self, step: Step) -> list[Array]:
        """Return the numbers with which somebody may have gone on from a shown step.

        These are the written ones; what explains them, with every digit; and, where it is written
        so, what the numbers before them give, as they were written and before rounding, and what
        explains them, with one and two digits more than were written.
        """
        if step.name not in self._readings:
            judged, written = self.judged[step.name], self.written(step)
            assert isinstance(judged, Given)  # as only shown steps are asked for
            known = (judged.codes != WRONG) & (judged.codes != MISSING)
            found = [written]
            meant = np.where(known, judged.expected, written)
            finer = (
                one(meant) for own in self.roundings[:1] for one in (own.finer, own.finer.finer)
            )
            again = (self.written.result(step), _middle(self.meant.result(step)), *finer)
            for other in (meant, *(self.kept(step, one) for one in again)):
                if not any(np.array_equal(other, one) for one in found):
                    found.append(other)
            self._readings[step.name] = found
        return self._readings[step.name]

    def unrounded(self, step: Step) -> list[Array]:
        """Return what a step becomes where nothing is rounded that is not shown."""
        return [step.array, self.written.result(step), _middle(self.meant.result(step))]

    def value_with(self, values: Mapping[str, Array]) -> Callable[[Step], Array]:
        """Return what gives inputs, and shown steps: some as they are told, others as written."""

        def value(step: Step) -> Array:
            known = values.get(step.name) if step.operation is not None else None
            return self.written(step) if known is None else known

        return value

    def worked_again(
        self,
        step: Step,
        worked: Sequence[Step],
        values: Mapping[str, Array],
        complete: Callable[[Step, Array], Array],
    ) -> Array:
        """Return what a step becomes where some steps are worked again on the way to it.

        Args:
            step: the step.
            worked: the steps that are worked, in the order of computation.
            values: the numbers of other steps; by default as they were written.
            complete: puts the cells that are shown into a worked step.
        """
        values = dict(values)
        for source in worked:
            made: Array = evaluate(_made(source), self.value_with(values))
            values[source.name] = complete(source, made)
        found: Array = evaluate(_made(step), self.value_with(values))
        return found

    def coarsest(self, step: Step, roundings: Sequence[Rounding], change: Change) -> Values:
        """Return the intervals of a step where all that leads to it may be rounded coarsely.

        Args:
            step: the step.
            roundings: the coarsest ways to round; those of the submission are added.
            change: operations on intervals that take the place of others.
        """

        def known(source: Step) -> Values | None:
            judged = self.judged.get(source.name)
            if isinstance(judged, Misshapen):
                return source.array
            if source.name in change or not self.is_whole(source):
                return None
            return self._around(judged) if isinstance(judged, Given) else None

        def settled(source: Step, found: Values) -> Values:
            wide = hull(found, *(one.any_finer(found) for one in every))
            judged = self.judged.get(source.name)
            if source.name in change or not isinstance(judged, Given) or is_hollow(judged):
                return wide
            return _where(judged.written.blank, wide, self._around(judged))

        every = (*roundings, *self.roundings)
        replay: Replay[Values] = Replay(
            self.trace, known, settled, instead={**self.together, **change}
        )
        return replay.result(step)

    def _around(self, judged: Given) -> Interval:
        """Return intervals that hold every number with which somebody may go on from a step."""
        written, more = self.written(judged.step), CUT_OFF * judged.unit
        return hull(*self.readings(judged.step), written - more, written + more)


def is_hollow(judged: Given) -> bool:
    """Return True for a wrong step that holds the same number everywhere, 0 or 1, as if nothing."""
    if not judged.has(WRONG):
        return False
    numbers = judged.written.values[~judged.written.blank]
    is_even = numbers.size >= MIN_HOLLOW and bool((numbers == numbers[0]).all())
    return is_even and float(numbers[0]) in (0.0, 1.0)


def _made(step: Step) -> Expression:
    return step if step.operation is None else step.operation


def _middle(found: Values) -> Array:
    ends = interval(found)
    with np.errstate(invalid="ignore"):  # −∞ + ∞
        return np.where(ends.low == ends.high, ends.low, (ends.low + ends.high) / 2)


def bounded(found: Values) -> Interval:
    """Return intervals in which an end that no float can tell is infinite."""
    ends = interval(found)
    return Interval(np.fmax(ends.low, -np.inf), np.fmin(ends.high, np.inf))


def _where(chosen: Array, one: Interval, other: Interval) -> Interval:
    return Interval(np.where(chosen, one.low, other.low), np.where(chosen, one.high, other.high))
