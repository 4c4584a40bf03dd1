"""The numbers that mistakes lead to, where a student works on from a mistake to the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, interval
from attncli.attention.normalizers import Exp, Sum
from attncli.checking.agreement import (
    CUT_OFF,
    ROUNDED,
    RoundingRule,
    exact_cells,
    is_informative,
    is_same,
    is_within,
    largest,
    reach,
)
from attncli.checking.catalogued import is_possible
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.reference import together
from attncli.mechanisms.trace import Trace
from attncli.tape.operations import Divide
from attncli.tape.replay import Change, Replay, Values, fitted
from attncli.tape.step import Expression, Step
from attncli.tape.walk import evaluate, sources, walk
from attncli.teaching.drawing import tidy
from attncli.teaching.work import rough_work

COARSEST = RoundingRule(2)
"""Coarsest rounding of hidden steps; a distractor must differ from what it leads to."""

SEEN = ROUNDED + CUT_OFF
"""Maximum distance, in units of the last digit, of a wrong number that still looks right.

It may have been rounded itself, and the right one cut off.
"""

ENOUGH = 2
"""Number of wrong numbers that show a mistake: a single one could be any slip."""

Key = tuple[str, str, int]
"""A mistake's id, the step in which it is made, and the number of the way to make it there."""


class Question:
    """What is asked of a problem and of all its variants.

    Args:
        trace: the calculation of one of them; those of the others have the same steps.
        asked: the names of the steps that are asked.
        decimals: how many digits after the point are asked.
        tolerance: how far a right number may be off.

    Attributes:
        asked: the names of the steps that are asked, in the order of computation.
        unit: one unit of the last digit that is asked.
        given: the calculation.
        usual_work: its rough work.
    """

    def __init__(
        self, trace: Trace, asked: Iterable[str], decimals: int, tolerance: float = 0.0
    ) -> None:
        names = {*asked}
        self.given = trace
        self.usual_work = rough_work(trace) or 1
        self.steps = tuple(trace.steps)
        self.asked = [name for name in trace.steps if name in names]
        self.decimals = decimals
        self.unit = 10.0**-decimals
        self.tolerance = tolerance
        self._made_from = {
            s.name: {x.name for x in sources(s) if x.operation is not None} for s in trace
        }
        self._reached: dict[frozenset[str], tuple[str, ...]] = {}

    def reached(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return some steps and those that are made from them, in the order of computation."""
        begin = frozenset(names)
        if begin not in self._reached:
            found = set(begin)
            for name in self.steps:
                if self._made_from[name] & found:
                    found.add(name)
            self._reached[begin] = tuple(name for name in self.steps if name in found)
        return self._reached[begin]


class Distractor:
    """The wrong numbers that one mistake leads to.

    Attributes:
        key: which mistake, where, and in which way.
        seen: the number of wrong numbers, up to `ENOUGH`, in the step where it is made and in the
            first asked step after it, the lesser of both; 0 if nobody can go on. The first counts
            for a student who hands in everything, the second for one who hands in what is asked.
        is_asked: whether it changes an asked step.
    """

    def __init__(self, key: Key, seen: int, asked: Sequence[Step], replay: Replay[Array]) -> None:
        self.key = key
        self.seen = seen
        self.is_asked = bool(asked)
        self._asked = asked
        self._replay = replay

    @property
    def is_seen(self) -> bool:
        """Whether any wrong number shows it."""
        return self.seen > 0

    @cached_property
    def numbers(self) -> dict[str, Array]:
        """The asked steps, as far as they can be calculated."""
        found = {}
        for step in self._asked:
            try:
                found[step.name] = self._replay(step)
            except ValueError:  # NumPy's, for shapes that do not go together
                break
        return found


class Distractors:
    """The distractors of one calculation."""

    def __init__(self, trace: Trace, question: Question) -> None:
        self.trace = trace
        self._question = question
        self._right = {step.name: step.array for step in trace}
        self._found: dict[tuple[str, str], dict[Key, Distractor]] = {}
        self._divisions = {step.name: _divisions(step.operation) for step in trace}
        self._as_written: dict[str, Interval] = {}
        self._right_ones: dict[str, Interval] = {}
        self._tidy = tidy(trace.problem)

    def at(self, id_: str, place: str) -> Mapping[Key, Distractor]:
        """Return the distractors of a mistake in a step, one for each way to make it."""
        if (id_, place) not in self._found:
            found = self._found[id_, place] = {}
            changes = MISTAKES[id_].changes(self.trace[place], self.trace)
            for number, (change, _) in enumerate(changes):
                distractor = self._distractor((id_, place, number), change)
                if distractor is not None:
                    found[distractor.key] = distractor
        return self._found[id_, place]

    def of(self, key: Key) -> Distractor | None:
        """Return one distractor, or None if there is none."""
        return self.at(*key[:2]).get(key)

    def are_alike(self, one: Key, other: Key) -> bool:
        """Return whether two mistakes give the same asked numbers."""
        effects = [effect for effect in map(self.of, (one, other)) if effect is not None]
        return len(effects) == 2 and bool(close(effects, self.right, self._question.unit)[0, 1])

    @cached_property
    def right(self) -> dict[str, Array]:
        return {name: self._right[name] for name in self._question.asked}

    def _distractor(self, key: Key, change: Change) -> Distractor | None:
        """Return the distractor of a change; None if nobody can have made it, or can go on."""
        names = self._question.reached(change)
        steps = [self.trace[name] for name in names]
        worked = {name: array for name, array in self._right.items() if name not in names}
        replay: Replay[Array] = Replay(
            steps,
            settle=lambda step, numbers: self._tidy(step.name, numbers),
            worked=worked,
            instead=change,
        )
        asked = [step for step in steps if step.name in self.right]
        made = [step for step in steps if step.name in change]
        try:
            is_different = [self._is_different(replay, step, change) for step in made]
            if None in is_different:
                return None
            counts = [
                ENOUGH if count and step in made else count
                for step, count in self._wrong_numbers(replay, steps, asked, made)
            ]
            seen = min([ENOUGH, *counts]) if any(is_different) else 0
            if seen and any(self._divides_by_nothing(replay, step, change) for step in steps):
                seen = 0
        except ValueError:  # NumPy's, for shapes that do not go together
            return None
        return Distractor(key, seen, asked, replay)

    def _wrong_numbers(
        self, replay: Replay[Array], steps: list[Step], asked: list[Step], made: list[Step]
    ) -> list[tuple[Step, int]]:
        """Return the steps that must show a mistake, each with its count of wrong numbers.

        They are the first one that is asked, and, where a mistake is made in powers or their sum,
        the first one after these, as it is right to subtract a number from all scores first.
        """
        shows = [step for step in steps if not isinstance(step.operation, Exp | Sum)]
        after = [] if made[0] in shows else shows[:1]
        return [(step, self._count_wrong(replay(step), step)) for step in (*asked[:1], *after)]

    def _is_different(self, replay: Replay[Array], step: Step, change: Change) -> bool | None:
        """Return whether a changed step looks different; None if nobody can have made it.

        Nobody writes nan or ∞, or goes on from them. A vector may be a row or a column.
        """
        found = replay(step)
        if not (found < np.inf).all():
            return None
        if found.shape != step.array.shape and _is_same_vector(found, step.array):
            return None
        is_as_large = fitted(found, step) is not None
        if is_as_large and not is_possible(self.trace, replay, step, change, found):
            return None
        return self._count_wrong(found, step) > 0

    def _divides_by_nothing(self, replay: Replay[Array], step: Step, change: Change) -> bool:
        """Return whether a step would have to be divided by 0, or by what is written as 0.

        Scores may cancel where their powers did not; what comes of that is anything.
        """
        changed = change.get(step.name)
        for node in self._divisions[step.name] if changed is None else _divisions(changed):
            parts = (evaluate(part, replay) for part in (node.dividend, node.divisor))
            dividend, divisor = map(np.abs, parts)
            is_nothing = divisor < self._question.unit
            if (is_nothing & (dividend >= self._question.unit)).any():
                return True
            if ((divisor == 0) & (dividend > 0)).any():
                return True
        return False

    def _count_wrong(self, found: Array, step: Step) -> int:
        """Return the number of wrong numbers, up to `ENOUGH`; another shape counts as enough."""
        made = fitted(found, step)
        if made is None:
            return ENOUGH
        return min(int((~is_within(made, self._may_be(step))).sum()), ENOUGH)

    def _may_be(self, step: Step) -> Interval:
        """Return the interval of numbers that count as right."""
        if step.name not in self._right_ones:
            ends = [step.array]
            for replay in self._ways(step):
                found = interval(replay.result(step))
                telling = is_informative(found, largest(step.array))
                ends += [np.where(telling, end, step.array) for end in (found.low, found.high)]
            more = self._question.tolerance
            expected = Interval(np.fmin.reduce(ends) - more, np.fmax.reduce(ends) + more)
            self._right_ones[step.name] = reach(self._question.unit, expected, units=SEEN)
        return self._right_ones[step.name]

    def _ways(self, step: Step) -> Iterator[Replay[Values]]:
        """Yield the calculations that lead to right numbers of a step."""
        yield self._around
        if step.name in self.right and len(self.right) < len(self._right):  # else both are one
            yield self._roughly

    @cached_property
    def _around(self) -> Replay[Values]:
        """The calculation where every step was written with the digits that are asked."""
        instead = together(self.trace, self.trace.steps.keys())
        return Replay(self.trace, known=self._written, instead=instead)

    @cached_property
    def _roughly(self) -> Replay[Values]:
        """The same where only what is asked was written, and the rest perhaps rounded."""

        def known(step: Step) -> Values | None:
            return self._written(step) if step.name in self.right else None

        return Replay(
            self.trace,
            known=known,
            settle=lambda _, found: COARSEST.interval(found),
            instead=together(self.trace, self.right),
        )

    def _written(self, step: Step) -> Interval:
        """Return the interval of a right number that is written with the digits that are asked."""
        if step.name not in self._as_written:
            unit = np.full(step.array.shape, self._question.unit)
            half = np.where(exact_cells(step.array, unit), 0.0, ROUNDED * self._question.unit)
            self._as_written[step.name] = Interval(step.array - half, step.array + half)
        return self._as_written[step.name]


def _divisions(made: Expression | None) -> list[Divide]:
    return [] if made is None else [node for node in walk(made) if isinstance(node, Divide)]


def _is_same_vector(one: Array, other: Array) -> bool:
    """Return whether one array is the other, a row or a column, transposed."""
    is_vector = one.size == other.size and one.size in one.shape
    return is_vector and bool(is_same(one.ravel(), other.ravel()).all())


def close(effects: Sequence[Distractor], right: Mapping[str, Array], unit: float) -> Array:
    """Return a matrix of which pairs of distractors give the same asked numbers."""
    found = np.zeros((len(effects), len(effects)), bool)
    groups: dict[object, list[tuple[int, Array]]] = {}
    for index, effect in enumerate(effects):
        numbers = {**right, **effect.numbers}
        shapes = tuple(array.shape for array in numbers.values())
        line = np.concatenate([array.ravel() for array in numbers.values()])
        groups.setdefault(shapes, []).append((index, line))
    for group in groups.values():
        places = np.array([index for index, _ in group])
        lines = np.array([line for _, line in group])
        ends = reach(unit, lines, units=CUT_OFF)
        for index, low, high in zip(places, ends.low, ends.high, strict=True):
            found[index, places] = is_within(lines, Interval(low, high)).all(axis=-1)
    return found | found.T
