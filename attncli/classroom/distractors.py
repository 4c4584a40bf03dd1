"""The wrong numbers of students who make a mistake and work on from it to the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice

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
from attncli.core.tape.step import ALL, Expression, ShapeError, Step

MAX_CHANGED_NUMBERS = 2**20
"""Maximum count of numbers in the steps of changes that are worked together: 8 MiB. Chosen."""

COARSEST = RoundingRule(2)
"""Coarsest rounding of hidden steps: a distractor must differ from the numbers it gives. Chosen."""

MAX_UNSEEN_ERROR = ROUNDED + CUT_OFF
"""Maximum error, in units in the last place, that does not show a mistake: the wrong number may be
rounded, and the correct one cut off. Derived."""

TELLING_NUMBERS = 16
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


class Known(Record, eq=False):
    """Results of a mistake in the steps that were calculated for many mistakes at once."""

    numbers: Mapping[str, Array]  # of the steps that it reaches
    divides: bool  # True if one of them divides by 0, or by a number that its student writes as 0


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
        is_whole = len(self.right) == len(self._right)
        self._roughly = self._around if is_whole else self._replayed(self.right)

    def at(self, places: Iterable[tuple[str, str]]) -> list[Distractor]:
        """Return the distractors of mistakes in steps, one for each way to make one, in order."""
        changes = {
            (id_, place, way): change
            for id_, place in places
            for way, (change, _) in enumerate(MISTAKES[id_].changes(self.trace[place], self.trace))
        }
        count = MAX_CHANGED_NUMBERS // sum(array.size for array in self._right.values()) or 1
        rest, distractors = iter(changes.items()), list[Distractor | None]()
        while part := dict(islice(rest, count)):
            reached = list(map(self._question.reached, part.values()))
            known = self._known([*part.values()], reached)
            distractors += map(self._distractor, part, part.values(), reached, known)
        return [one for one in distractors if one is not None]

    def _known(
        self, changes: Sequence[Change], reached: Sequence[Collection[str]]
    ) -> Iterator[Known | None]:
        """Yield what is known of each change; `reached` are the names of the steps it reaches.

        All are worked together, each with a place along the axis of the batch. Nothing is known of
        a change with which a step has another shape, or if the problem itself has a batch.
        """
        is_alone = all(len(array) == 1 for array in self._right.values())
        is_known, divides = np.full(len(changes), is_alone), np.zeros(len(changes), bool)
        numbers = dict(self._right)

        def value(source: Step, rows: slice = ALL) -> Array:
            array = source.array if source.operation is None else numbers[source.name]
            return array if len(array) == 1 else array[rows]

        for step in self.trace if is_alone else ():
            at = np.array([step.name in names for names in reached]) & is_known
            if step.operation is None or not at.any():
                continue
            result = self._settled(step, evaluate(step.operation, value))
            every = np.broadcast_to(result, (len(changes), *result.shape[1:])).copy("K")
            every[~at] = step.array
            by_nothing = np.resize(self._divides_by_nothing(step.operation, value), len(changes))
            for i in (i for i in np.flatnonzero(at).tolist() if step.name in changes[i]):
                of_one, is_known[i] = partial(value, rows=slice(i, i + 1)), False
                with suppress(ShapeError):
                    own = self._settled(step, evaluate(changes[i][step.name], of_one))
                    by_nothing[i] = self._divides_by_nothing(changes[i][step.name], of_one).any()
                    is_known[i] = own.shape == step.array.shape
                every[i : i + 1] = own if is_known[i] else step.array
            divides |= by_nothing & at
            numbers[step.name] = every
        for i, names in enumerate(reached):
            so_far = {name: numbers[name][i:][:1] for name in names}
            yield Known(so_far, bool(divides[i])) if is_known[i] else None

    def _settled(self, step: Step, numbers: Array) -> Array:
        return self._tidy(step.name, numbers)

    def _distractor(
        self, key: Key, change: Change, reached: Collection[str], known: Known | None
    ) -> Distractor | None:
        """Return the distractor of a change; None if no student would write its numbers."""
        steps = [self.trace[name] for name in reached]
        worked = {n: array for n, array in self._right.items() if n not in reached}
        worked |= known.numbers if known else {}
        replay: Replay[Array] = Replay(steps, settle=self._settled, worked=worked, instead=change)
        asked = [step for step in steps if step.name in self.right]
        changed = [step for step in steps if step.name in change]
        try:
            is_different = [self._is_different(replay, step, change) for step in changed]
            if None in is_different:
                return None
            seen = self._wrong_numbers(replay, steps, asked, changed) if any(is_different) else 0
            if seen and (known.divides if known else self._divides(replay, steps, change)):
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

    def _divides(self, replay: Replay[Array], steps: Sequence[Step], change: Change) -> bool:
        """Return True if any of some steps divides by nothing."""
        made_of = [change.get(step.name, step.operation) for step in steps]
        every = (node for node in made_of if node is not None)
        return any(self._divides_by_nothing(node, replay).any() for node in every)

    def _divides_by_nothing(
        self, expression: Expression, value_of: Callable[[Step], Array]
    ) -> Array:
        """Return, along the axis of the batch, where it divides by 0, or by what is written so."""
        divides, unit = np.zeros(1, bool), self._question.unit
        for node in walk(expression):
            if isinstance(node, Divide):
                parts = (evaluate(part, value_of) for part in (node.dividend, node.divisor))
                dividend, divisor = map(np.abs, parts)
                is_written_as_0 = (divisor < unit) & (dividend >= unit)
                by_nothing = is_written_as_0 | ((divisor == 0) & (dividend > 0))
                divides = divides | by_nothing.reshape(len(by_nothing), -1).any(axis=-1)
        return divides

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
            is_asked = step.name in self.right
            for replay in dict.fromkeys((self._around, self._roughly)[: 1 + is_asked]):
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
        # Nearly all pairs differ in one of the few numbers in which the most distractors differ.
        few = (lines != lines[0]).sum(axis=0).argsort()[-TELLING_NUMBERS:]
        around = Interval(ends.low[:, None, few], ends.high[:, None, few])
        may_be_close: Array = np.all(agreement.is_within(lines[:, few], around), axis=-1)
        for key, rows, low, high in zip(keys, may_be_close, ends.low, ends.high, strict=True):
            is_close = agreement.is_within(lines[rows], Interval(low, high)).all(axis=-1)
            pairs.update(frozenset((key, keys[i])) for i in np.flatnonzero(rows)[is_close])
    return pairs
