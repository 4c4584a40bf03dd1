"""The wrong numbers of students who make a mistake and work on from it to the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice

import numpy as np

from attncli.checking.judging import agreement
from attncli.checking.judging.agreement import CUT_OFF, ROUNDED, RoundingRule
from attncli.checking.judging.operands import together
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.naming.catalogued import is_possible
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, interval
from attncli.core.attention.softmax import Exp, Sum
from attncli.core.calculation.mistake import made_of
from attncli.core.calculation.trace import Trace
from attncli.core.drawing.numbers_like import tidy
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
from attncli.core.tape.step import Expression, ShapeError, Step

MAX_CHANGED_NUMBERS = 2**20
"""Maximum count of numbers in the steps of changes that are worked together: 8 MiB. Chosen."""

COARSEST = RoundingRule(2)
"""Coarsest rounding of hidden steps: a distractor must differ from the numbers it gives. Chosen."""

MAX_UNSEEN_ERROR = ROUNDED + CUT_OFF
"""Maximum error, in units in the last place, that does not show a mistake: the wrong number may be
rounded, and the correct one cut off. Derived."""

TELLING_NUMBERS = 4
"""Count of numbers by which most pairs of distractors are told apart. Chosen."""

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
        self._reached: dict[frozenset[str], Collection[str]] = {}

    def reached(self, names: Iterable[str]) -> Collection[str]:
        """Return these steps and all that depend on them, in the order of computation."""
        start = frozenset(names)
        if start not in self._reached:
            reached = set(start)
            reached.update(name for name in self.steps if self._operands[name] & reached)
            self._reached[start] = dict.fromkeys(n for n in self.steps if n in reached)
        return self._reached[start]


class Outcome(Record, eq=False):
    """The numbers that a mistake leads to, calculated when they are first read."""

    value: Callable[[Step], Array]  # the numbers of a step; raises a ShapeError if it has none
    count: Callable[[Step], int]  # of its wrong numbers, at most `ENOUGH_WRONG`
    divides: Callable[[], bool]  # whether it divides by 0, or by what its student writes as 0
    line: Callable[[], Array] | None = None  # all wanted numbers, if they have the usual shapes


class Distractor(Record, eq=False):
    """The wrong numbers that one mistake leads to."""

    key: Key
    seen: int
    """Count of wrong numbers that show the mistake, at most `ENOUGH_WRONG`: those in the step where
    it is made, or those in the first wanted step after it, whichever are fewer, as a student may
    hand in every step or only the wanted ones. 0 if the student cannot go on from it."""
    asked: Sequence[Step]  # the asked steps that it changes
    outcome: Outcome

    @cached_property
    def numbers(self) -> dict[str, Array]:
        """The wrong numbers of the wanted steps, up to one that cannot be calculated."""
        numbers = {}
        with suppress(ShapeError):
            for step in self.asked:
                numbers[step.name] = self.outcome.value(step)
        return numbers


class Distractors:
    """The distractors of one calculation."""

    def __init__(self, trace: Trace, question: Question) -> None:
        self.trace = trace
        self.question = question
        self._right = {step.name: step.array for step in trace}
        self.right = {name: self._right[name] for name in question.asked}
        self._right_ranges: dict[str, Interval] = {}
        self._tidy = tidy(trace.problem)
        self.dividing = {s for s in trace if s.operation is not None and _divisions(s.operation)}
        # A student writes every step, or only the wanted ones and perhaps rounds the others.
        self._around = self._replayed(self._right)
        is_whole = len(self.right) == len(self._right)
        self._roughly = self._around if is_whole else self._replayed(self.right)

    def at(self, places: Iterable[tuple[str, str]]) -> list[Distractor]:
        """Return the distractors of mistakes in steps, one for each way to make one, in order."""
        steps = {step.name: (step, self.trace.around(step)) for step in self.trace}
        changes = {
            (id_, place, way): change
            for id_, place in places
            for way, (change, _) in enumerate(MISTAKES[id_].changes(*steps[place]))
        }
        count = MAX_CHANGED_NUMBERS // sum(array.size for array in self._right.values()) or 1
        rest, distractors = iter(changes.items()), list[Distractor | None]()
        while part := dict(islice(rest, count)):
            batch = Batch(self, [*part.values()])
            for place, (key, change) in enumerate(part.items()):
                outcome = batch.outcome(place) or self._outcome(change)
                distractors.append(self._distractor(key, change, outcome))
        return [one for one in distractors if one is not None]

    def _outcome(self, change: Change) -> Outcome:
        reached = self.question.reached(change)
        steps = [self.trace[name] for name in reached]
        worked = {n: array for n, array in self._right.items() if n not in reached}
        replay: Replay[Array] = Replay(steps, settle=self.settled, worked=worked, instead=change)

        def count(step: Step) -> int:
            wide = broadcast_to_step(replay(step), step)
            wrong = ENOUGH_WRONG if wide is None else int(self.are_wrong(wide, step).sum())
            return min(wrong, ENOUGH_WRONG)

        def divides() -> bool:
            dividing = (step for step in steps if step.name in change or step in self.dividing)
            made = (change.get(step.name) or made_of(step) for step in dividing)
            return any(self.divides_by_nothing(one, replay).any() for one in made)

        return Outcome(replay, count, divides)

    def settled(self, step: Step, numbers: Array) -> Array:
        return self._tidy(step.name, numbers)

    def _distractor(self, key: Key, change: Change, outcome: Outcome) -> Distractor | None:
        """Return the distractor of a change; None if no student would write its numbers."""
        steps = [*map(self.trace.steps.__getitem__, self.question.reached(change))]
        asked = [step for step in steps if step.name in self.right]
        changed = [step for step in steps if step.name in change]
        try:
            is_different = [self._is_different(outcome, step, change) for step in changed]
            if None in is_different:
                return None
            seen = _wrong_numbers(outcome, steps, asked, changed) if any(is_different) else 0
            if seen and outcome.divides():
                seen = 0
        except ShapeError:
            return None
        return Distractor(key, seen, asked, outcome)

    def _is_different(self, outcome: Outcome, step: Step, change: Change) -> bool | None:
        """Return True if a changed step looks different; None if no student writes it.

        Students do not write nan or ∞, and a vector may be a row or a column.
        """
        numbers = outcome.value(step)
        if not (numbers < np.inf).all():
            return None
        is_turned = numbers.shape != step.array.shape and numbers.size == step.array.size
        if is_turned and numbers.size in numbers.shape:
            return None if agreement.is_same(numbers.ravel(), step.array.ravel()).all() else True
        is_as_large = broadcast_to_step(numbers, step) is not None
        if is_as_large and not is_possible(self.trace, outcome.value, step, change, numbers):
            return None
        return outcome.count(step) > 0

    def divides_by_nothing(
        self, expression: Expression, value_of: Callable[[Step], Array]
    ) -> Array:
        """Return, along the axis of the batch, where it divides by 0, or by what is written so."""
        divides, unit = np.zeros(1, bool), self.question.unit
        for node in _divisions(expression):
            parts = (evaluate(part, value_of) for part in (node.dividend, node.divisor))
            dividend, divisor = map(np.abs, parts)
            try:
                is_written_as_0 = (divisor < unit) & (dividend >= unit)
            except ValueError as error:
                raise ShapeError(*error.args) from error
            by_nothing = is_written_as_0 | ((divisor == 0) & (dividend > 0))
            divides = divides | by_nothing.reshape(len(by_nothing), -1).any(axis=-1)
        return divides

    def are_wrong(self, numbers: Array, step: Step) -> Array:
        are_right = agreement.is_within(numbers, self._right_range(step))
        return ~are_right

    def _right_range(self, step: Step) -> Interval:
        if step.name not in self._right_ranges:
            ends = [step.array]
            is_asked = step.name in self.right
            for replay in dict.fromkeys((self._around, self._roughly)[: 1 + is_asked]):
                around = interval(replay.result(step))
                known = agreement.is_informative(around, agreement.largest(step.array))
                ends += [np.where(known, end, step.array) for end in (around.low, around.high)]
            unit, more = self.question.unit, self.question.tolerance
            expected = Interval(np.fmin.reduce(ends) - more, np.fmax.reduce(ends) + more)
            self._right_ranges[step.name] = agreement.reach(unit, expected, units=MAX_UNSEEN_ERROR)
        return self._right_ranges[step.name]

    def _replayed(self, written: Collection[str]) -> Replay[Values]:
        return Replay(
            self.trace,
            known=lambda step: self._written(step) if step.name in written else None,
            settle=lambda _, numbers: COARSEST.interval(numbers),
            instead=together(self.trace, written),
        )

    def _written(self, step: Step) -> Interval:
        """Return the intervals of right numbers that are written with the wanted decimals."""
        unit = np.full(step.array.shape, self.question.unit)
        is_exact = agreement.exact_cells(step.array, unit)
        half = np.where(is_exact, 0.0, ROUNDED * self.question.unit)
        return Interval(step.array - half, step.array + half)


def _divisions(expression: Expression) -> list[Divide]:
    return [node for node in walk(expression) if isinstance(node, Divide)]


class Batch:
    """What many changes of one calculation lead to, each with a place along the axis of the batch.

    As in a `Replay`, a step is worked when it is first needed, in the order of computation.
    """

    def __init__(self, distractors: Distractors, changes: Sequence[Change]) -> None:
        self._of, self._changes = distractors, changes
        self._reached = list(map(distractors.question.reached, changes))
        is_alone = all(len(step.array) == 1 for step in distractors.trace)
        self._is_known = np.full(len(changes), is_alone)
        self._rest = iter(distractors.trace)
        self._numbers: dict[str, Array] = {}
        self._divides: dict[str, Array] = {}
        self._counts: dict[str, Array] = {}

    def outcome(self, place: int) -> Outcome | None:
        """Return what a change leads to; None if it must be worked by itself.

        That is so if a step has another shape, or if the problem itself has a batch.
        """
        if self._is_known[place]:
            for name in self._changes[place]:
                self._of_all(self._of.trace[name])
        if not self._is_known[place]:
            return None
        value, count = partial(self._value, place), partial(self._count, place)
        return Outcome(value, count, lambda: bool(self._divided[place]), lambda: self._lines[place])

    def _of_all(self, step: Step) -> Array:
        if step.operation is None:
            return step.array
        while step.name not in self._numbers:
            following = next(self._rest)
            self._numbers[following.name] = self._worked(following)
        return self._numbers[step.name]

    def _worked(self, step: Step) -> Array:
        """Return the numbers of a step for all changes, or the right ones if none reaches it."""
        at = np.array([step.name in names for names in self._reached]) & self._is_known
        if step.operation is None or not at.any():
            return step.array
        result = self._of.settled(step, evaluate(step.operation, self._of_all))
        numbers = np.broadcast_to(result, (len(at), *result.shape[1:])).copy("K")
        numbers[~at] = step.array
        divides = np.zeros(len(at), bool)
        if step in self._of.dividing:
            divides |= self._of.divides_by_nothing(step.operation, self._of_all)
        for i in (i for i in np.flatnonzero(at).tolist() if step.name in self._changes[i]):
            change, value = self._changes[i][step.name], partial(self._value, i)
            self._is_known[i] = False
            with suppress(ShapeError):
                changed = self._of.settled(step, evaluate(change, value))
                divides[i] = self._of.divides_by_nothing(change, value).any()
                self._is_known[i] = changed.shape == step.array.shape
            numbers[i : i + 1] = changed if self._is_known[i] else step.array
        self._divides[step.name] = divides & at
        return numbers

    def _value(self, place: int, step: Step) -> Array:
        numbers = self._of_all(step)
        return numbers if len(numbers) == 1 else numbers[place : place + 1]

    def _count(self, place: int, step: Step) -> int:
        if step.name not in self._counts:
            are_wrong = self._of.are_wrong(self._of_all(step), step)
            counts = are_wrong.reshape(len(are_wrong), -1).sum(axis=1)
            self._counts[step.name] = np.minimum(counts, ENOUGH_WRONG)
        return int(self._counts[step.name][place])

    @cached_property
    def _divided(self) -> Array:
        """Whether each change divides by 0, or by what is written so, in any step."""
        for step in self._of.trace:
            self._of_all(step)
        divides: Array = np.any([*self._divides.values()], axis=0)
        return divides

    @cached_property
    def _lines(self) -> Array:
        count = len(self._changes)
        steps = [self._of.trace[name] for name in self._of.right]
        wide = (np.broadcast_to(self._of_all(s), (count, *s.array.shape[1:])) for s in steps)
        return np.concatenate([array.reshape(count, -1) for array in wide], axis=1)


def _wrong_numbers(
    outcome: Outcome, steps: list[Step], asked: list[Step], changed: list[Step]
) -> int:
    """Return the least count of wrong numbers in the steps that must show a mistake.

    They are the first wanted one and, if the mistake is in the powers or their sum, the first
    step after those: other powers are right if a number was subtracted from all scores.
    """
    shows = (step for step in steps if not isinstance(step.operation, Exp | Sum))
    is_power = isinstance(changed[0].operation, Exp | Sum)
    counts = [ENOUGH_WRONG]
    for step in (*asked[:1], *islice(shows, is_power)):
        count = outcome.count(step)
        counts.append(ENOUGH_WRONG if count and step in changed else count)
    return min(counts)


def alike_pairs(
    distractors: Sequence[Distractor], right: Mapping[str, Array], unit: float
) -> set[frozenset[Key]]:
    """Return the pairs of distractors whose wanted numbers agree to one unit."""
    pairs: set[frozenset[Key]] = set()
    groups: dict[object, dict[Key, Array]] = {}
    usual = tuple(array.shape for array in right.values())
    for one in distractors:
        if (line_of := one.outcome.line) is not None:
            shapes, line = usual, line_of()
        else:
            numbers = {**right, **one.numbers}.values()
            shapes = tuple(array.shape for array in numbers)
            line = np.concatenate([array.ravel() for array in numbers])
        groups.setdefault(shapes, {})[one.key] = line
    for group in groups.values():
        keys, lines = [*group], np.array([*group.values()])
        ends = agreement.reach(unit, lines, units=CUT_OFF)
        # Nearly all pairs differ in one of the few numbers in which the most distractors differ.
        few = (lines != lines[0]).sum(axis=0).argsort()[-TELLING_NUMBERS:]
        around = Interval(ends.low[:, None, few], ends.high[:, None, few])
        may_be_close: Array = np.all(agreement.is_within(lines[:, few], around), axis=-1)
        np.fill_diagonal(may_be_close, False)
        for i in np.flatnonzero(may_be_close.any(axis=-1)).tolist():
            others = np.flatnonzero(may_be_close[i])
            ends_of_one = Interval(ends.low[i], ends.high[i])
            is_close = agreement.is_within(lines[others], ends_of_one).all(axis=-1)
            pairs.update(frozenset((keys[i], keys[other])) for other in others[is_close])
    return pairs
