"""The wrong numbers of students who make a mistake and work on from it to the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

import numpy as np

from attncli.checking.judging import agreement
from attncli.checking.judging.agreement import CUT_OFF, ROUNDED, RoundingRule
from attncli.checking.judging.operands import together
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.naming.catalogued import is_possible
from attncli.classroom.drawing import tidy
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, interval
from attncli.core.attention.softmax import Exp, Sum
from attncli.core.mechanisms.trace import Trace
from attncli.core.records import Record
from attncli.core.tape.evaluation import (
    Change,
    Replay,
    Values,
    broadcast_to_step,
    evaluate,
    sources,
    walk,
)
from attncli.core.tape.operations import Divide
from attncli.core.tape.step import ShapeError, Step

COARSEST = RoundingRule(2)
"""Coarsest rounding of hidden steps: a distractor must differ from the numbers it gives. Chosen."""

MAX_UNSEEN_ERROR = ROUNDED + CUT_OFF
"""Maximum error, in units in the last place, that does not show a mistake: the wrong number may be
rounded, and the correct one cut off. Derived."""

ENOUGH_WRONG = 2
"""Minimum count of wrong numbers that shows a mistake: a single one could be any slip."""

Key = tuple[str, str, int]
"""A mistake's id, the step in which it is made, and the index of the way to make it there."""


class Question:
    """The steps and digits that a problem and all its variants ask for."""

    def __init__(
        self, original: Trace, asked: Collection[str], decimals: int, tolerance: float = 0.0
    ) -> None:
        self.original = original
        self.steps = tuple(original.steps)
        self.asked = [name for name in self.steps if name in asked]
        self.unit = 10.0**-decimals  # in the last place of the wanted numbers
        self.tolerance = tolerance
        self._operands = {
            s.name: {x.name for x in sources(s) if x.operation is not None} for s in original
        }

    def reached(self, names: Iterable[str]) -> list[str]:
        """Return these steps and all that depend on them, in the order of computation."""
        names_reached = set(names)
        names_reached.update(name for name in self.steps if self._operands[name] & names_reached)
        return [name for name in self.steps if name in names_reached]


class Distractor(Record, eq=False):
    """The wrong numbers that one mistake leads to."""

    key: Key
    seen: int
    """Count of wrong numbers that show the mistake, at most `ENOUGH_WRONG`: those in the step where
    it is made, or those in the first wanted step after it, whichever are fewer, as a student may
    hand in every step or only the wanted ones. 0 if the student cannot go on from it."""
    asked: Sequence[Step]  # the asked steps that it changes
    replay: Replay[Array]

    @cached_property
    def numbers(self) -> dict[str, Array]:
        """The wrong numbers of the wanted steps, up to one that cannot be calculated."""
        numbers = {}
        with suppress(ShapeError):
            for step in self.asked:
                numbers[step.name] = self.replay(step)
        return numbers


class Distractors:
    """The distractors of one calculation."""

    def __init__(self, trace: Trace, question: Question) -> None:
        self.trace = trace
        self._question = question
        self._right = {step.name: step.array for step in trace}
        self.right = {name: self._right[name] for name in question.asked}
        self._right_ranges: dict[str, Interval] = {}
        self._tidy = tidy(trace.problem)
        # A student writes every step, or only the wanted ones and perhaps rounds the others.
        self._around = self._replayed(self._right)
        self._roughly = self._replayed(self.right)

    def at(self, id_: str, place: str) -> list[Distractor]:
        """Return the distractors of a mistake in a step, one for each way to make it."""
        changes = enumerate(MISTAKES[id_].changes(self.trace[place], self.trace))
        distractors = (self._distractor((id_, place, way), change) for way, (change, _) in changes)
        return [one for one in distractors if one is not None]

    def _distractor(self, key: Key, change: Change) -> Distractor | None:
        """Return the distractor of a change; None if no student would write its numbers."""
        names = self._question.reached(change)
        steps = [self.trace[name] for name in names]
        worked = {name: array for name, array in self._right.items() if name not in names}

        def settle(step: Step, numbers: Array) -> Array:
            return self._tidy(step.name, numbers)

        replay: Replay[Array] = Replay(steps, settle=settle, worked=worked, instead=change)
        asked = [step for step in steps if step.name in self.right]
        changed = [step for step in steps if step.name in change]
        try:
            is_different = [self._is_different(replay, step, change) for step in changed]
            if None in is_different:
                return None
            seen = self._wrong_numbers(replay, steps, asked, changed) if any(is_different) else 0
            if seen and any(self._divides_by_nothing(replay, step, change) for step in steps):
                seen = 0
        except ShapeError:
            return None
        return Distractor(key, seen, asked, replay)

    def _wrong_numbers(
        self, replay: Replay[Array], steps: list[Step], asked: list[Step], changed: list[Step]
    ) -> int:
        """Return the least count of wrong numbers in the steps that must show a mistake.

        They are the first wanted one and, if the mistake is in the powers or their sum, the first
        step after those: other powers are right if a number was subtracted from all scores.
        """
        shows = [step for step in steps if not isinstance(step.operation, Exp | Sum)]
        counts = [ENOUGH_WRONG]
        for step in (*asked[:1], *(shows[:1] if changed[0] not in shows else ())):
            count = self._count_wrong(replay(step), step)
            counts.append(ENOUGH_WRONG if count and step in changed else count)
        return min(counts)

    def _is_different(self, replay: Replay[Array], step: Step, change: Change) -> bool | None:
        """Return True if a changed step looks different; None if no student writes it.

        Students do not write nan or ∞, and a vector may be a row or a column.
        """
        numbers = replay(step)
        if not (numbers < np.inf).all():
            return None
        is_turned = numbers.shape != step.array.shape and numbers.size == step.array.size
        if is_turned and numbers.size in numbers.shape:
            return None if agreement.is_same(numbers.ravel(), step.array.ravel()).all() else True
        is_as_large = broadcast_to_step(numbers, step) is not None
        if is_as_large and not is_possible(self.trace, replay, step, change, numbers):
            return None
        return self._count_wrong(numbers, step) > 0

    def _divides_by_nothing(self, replay: Replay[Array], step: Step, change: Change) -> bool:
        """Return True if a step divides by 0, or by a number that its student writes as 0."""
        operation = change.get(step.name, step.operation)
        for node in walk(operation) if operation is not None else ():
            if not isinstance(node, Divide):
                continue
            parts = (evaluate(part, replay) for part in (node.dividend, node.divisor))
            dividend, divisor = map(np.abs, parts)
            is_written_as_0 = (divisor < self._question.unit) & (dividend >= self._question.unit)
            if (is_written_as_0 | ((divisor == 0) & (dividend > 0))).any():
                return True
        return False

    def _count_wrong(self, numbers: Array, step: Step) -> int:
        """Return the count of wrong numbers, at most `ENOUGH_WRONG`, as for another shape."""
        wide = broadcast_to_step(numbers, step)
        if wide is None:
            return ENOUGH_WRONG
        return min(int((~agreement.is_within(wide, self._right_range(step))).sum()), ENOUGH_WRONG)

    def _right_range(self, step: Step) -> Interval:
        """Return an interval around each number of a step that contains all right answers."""
        if step.name not in self._right_ranges:
            ends = [step.array]
            for replay in (self._around, *[self._roughly] * (step.name in self.right)):
                around = interval(replay.result(step))
                known = agreement.is_informative(around, agreement.largest(step.array))
                ends += [np.where(known, end, step.array) for end in (around.low, around.high)]
            unit, more = self._question.unit, self._question.tolerance
            expected = Interval(np.fmin.reduce(ends) - more, np.fmax.reduce(ends) + more)
            self._right_ranges[step.name] = agreement.reach(unit, expected, units=MAX_UNSEEN_ERROR)
        return self._right_ranges[step.name]

    def _replayed(self, written: Collection[str]) -> Replay[Values]:
        """Return the calculation from these steps as written with the wanted decimals."""
        return Replay(
            self.trace,
            known=lambda step: self._written(step) if step.name in written else None,
            settle=lambda _, numbers: COARSEST.interval(numbers),
            instead=together(self.trace, written),
        )

    def _written(self, step: Step) -> Interval:
        """Return the intervals of right numbers that are written with the wanted decimals."""
        unit = np.full(step.array.shape, self._question.unit)
        is_exact = agreement.exact_cells(step.array, unit)
        half = np.where(is_exact, 0.0, ROUNDED * self._question.unit)
        return Interval(step.array - half, step.array + half)


def alike_pairs(
    distractors: Sequence[Distractor], right: Mapping[str, Array], unit: float
) -> set[frozenset[Key]]:
    """Return the pairs of distractors whose wanted numbers agree to one unit."""
    pairs: set[frozenset[Key]] = set()
    groups: dict[object, dict[Key, Array]] = {}
    for one in distractors:
        numbers = {**right, **one.numbers}.values()
        shapes = tuple(array.shape for array in numbers)
        line = np.concatenate([array.ravel() for array in numbers])
        groups.setdefault(shapes, {})[one.key] = line
    for group in groups.values():
        keys, lines = [*group], np.array([*group.values()])
        ends = agreement.reach(unit, lines, units=CUT_OFF)
        for key, low, high in zip(keys, ends.low, ends.high, strict=True):
            is_close = agreement.is_within(lines, Interval(low, high)).all(axis=-1)
            pairs.update(frozenset((key, keys[i])) for i in np.flatnonzero(is_close))
    return pairs
