"""The numbers with which a student went on: as written, or as they were before rounding."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.answers import agreement
from attncli.checking.answers.agreement import RoundingRule, agrees, is_exact, roundings_of
from attncli.checking.answers.answers import Matrices, Written
from attncli.checking.judging.judged import CORRECT, MISSING, WRONG, Given, Judged
from attncli.checking.judging.reference import Reference, T, together
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, hull, interval, where
from attncli.core.records import EMPTY
from attncli.core.tape.replay import Change, Replay, Values
from attncli.core.tape.step import Step
from attncli.core.tape.walk import sources

MAX_KEPT_SIZE = 100
"""Maximum size of a step for which results are kept; all take a few megabytes."""


Numbers: TypeAlias = Callable[[Step], Any]
"""A function that gives the numbers of a shown step, or their intervals."""


class Operands:
    """The numbers from which later steps of one submission are made."""

    def __init__(self, reference: Reference, given: Matrices, judged: Mapping[str, Judged]) -> None:
        self.reference, self.trace, self.judged = reference, reference.trace, judged
        self._shown = {name: one for name, one in given.items() if isinstance(one, Written)}
        self._together = together(self.trace, given)
        self._hidden: dict[str, list[Step]] = {}
        self._numbers: dict[str, list[Array]] = {}

    def replay(
        self, shown: Numbers, settle: Callable[[Any], Any] = lambda x: x, instead: Change = EMPTY
    ) -> Replay[Values]:
        """Return the calculation with some numbers for shown steps, and hidden ones settled."""
        return Replay(
            self.trace,
            lambda step: self._known(step, shown),
            lambda step, found: self.completed(step, settle(found), shown),
            instead={**self._together, **instead},
        )

    @cached_property
    def written(self) -> Replay[Array]:
        return Replay(self.trace, self._known, self.completed)

    @cached_property
    def meant(self) -> Replay[Values]:
        return self.replay(self._meant)

    @cached_property
    def ranges(self) -> Replay[Values]:
        """The calculation on intervals that hold both, and hidden steps rounded or not."""
        return self.replay(
            lambda step: hull(self.written(step), self.meant(step)),
            lambda found: hull(found, *(one.interval(found) for one in self.roundings)),
        )

    def kept(self, name: Hashable, step: Step, make: Callable[[], T]) -> T:
        """Return a result for a step, kept for a class if it depends on no number of a student."""
        if step.array.size > MAX_KEPT_SIZE or not self.is_first(step):
            return make()
        key = name, step.name, self.roundings, frozenset(self._together)
        return self.reference.kept(key, make)

    @cached_property
    def texts(self) -> list[str]:
        """Every number that was handed in, as it was written."""
        return [text for one in self._shown.values() for text in one.texts.ravel().tolist()]

    @cached_property
    def roundings(self) -> tuple[RoundingRule, ...]:
        return roundings_of(self.texts)

    def shown(self, step: Step) -> Given | None:
        """Return a step that was given in its shape, so that later steps go on from it."""
        judged = self.judged.get(step.name)
        return judged if isinstance(judged, Given) else None

    def is_whole(self, step: Step) -> bool:
        given = self.shown(step)
        return given is not None and not given.written.blank.any()

    def is_first(self, step: Step) -> bool:
        before = takewhile(lambda one: one.step.name != step.name, self.judged.values())
        return not any(self.shown(one.step) for one in before)

    def ancestors(
        self, step: Step, is_left_out: Callable[[Step], bool] = lambda source: False
    ) -> list[Step]:
        """Return every step that a step is made of, shown or not, in the order of computation."""
        wanted, found = {source.name for source in sources(step)}, []
        for other in reversed(list(takewhile(lambda other: other is not step, self.trace))):
            if other.name in wanted and not is_left_out(other):
                found.append(other)
                wanted.update(source.name for source in sources(other))
        return found[::-1]

    def hidden_before(self, step: Step) -> list[Step]:
        if step.name not in self._hidden:
            self._hidden[step.name] = self.ancestors(step, self.is_whole)
        return self._hidden[step.name]

    def _given(self, step: Step) -> Given:
        given = self.shown(step)
        assert given is not None  # as every caller passes a shown step
        return given

    def _values(self, step: Step) -> Array:
        return self._given(step).values

    def _known(self, step: Step, shown: Numbers | None = None) -> Any:
        return (shown or self._values)(step) if self.is_whole(step) else None

    def completed(
        self, step: Step, made: Any, shown: Numbers | None = None, is_kept: bool = False
    ) -> Any:
        """Return worked numbers with shown ones instead; if `is_kept`, only where they differ."""
        if (given := self.shown(step)) is None:
            return made
        stays = wide_as(given.written.blank, made)
        numbers = wide_as((shown or self._values)(step), made)
        if is_kept:
            unit = wide_as(given.unit, made)
            stays = stays | agrees(numbers, unit, made, agreement.CUT_OFF)
        return np.where(stays, made, numbers)

    def _meant(self, step: Step) -> Values:
        """Return the numbers of a step before rounding: of a wrong one, whatever rounds to it."""
        given = self._given(step)
        wrong = given.codes == WRONG
        before = takewhile(lambda other: other is not given, self.judged.values())
        if not any(one.has(WRONG) for one in (*before, given)):
            return given.expected
        follows = bounded(self.meant.result(step))
        beside = wrong.any(axis=-1, keepdims=True)  # numbers of a wrong row are right by accident
        unit = np.where(given.codes == CORRECT, given.unit_if_correct, given.unit)
        # A wrong decimal may be the rounding of anything, even where all right numbers are exact; a
        # whole number beside decimals is what it is.
        is_exact_here = self._is_unrounded(given) & ~(wrong & (unit < 1)) | (wrong & given.is_whole)
        half = np.where(is_exact_here, 0.0, agreement.ROUNDED * unit)
        around = Interval(given.values - half, given.values + half)
        both = Interval(np.maximum(follows.low, around.low), np.minimum(follows.high, around.high))
        ends = interval(given.expected)
        doubtful = (follows.low < follows.high) & (both.low <= both.high)
        ends = where(doubtful & (given.codes == CORRECT), hull(ends, both), ends)
        ends = where(doubtful & (given.codes != CORRECT), both, ends)
        return where(wrong | (beside & (given.codes == CORRECT)), around, ends)

    def _is_unrounded(self, given: Given) -> bool:
        right = given.step.array, self.meant.result(given.step)
        return all(is_exact(numbers, given.unit) for numbers in right)

    def numbers(self, step: Step) -> list[Array]:
        """Return the numbers with which the student may have gone on from a shown step.

        These are the written ones; what explains them, with every digit; and, where it is written
        so, what the numbers before them give, and what explains them, with one and two digits more.
        """
        if step.name not in self._numbers:
            given, written = self._given(step), self.written(step)
            found = [written]
            meant = np.where(np.isin(given.codes, (WRONG, MISSING)), written, given.expected)
            own = self.roundings[:1]
            finer = (one(meant) for rule in own for one in (rule.finer, rule.finer.finer))
            again = (*self.unrounded(step)[1:], *finer)
            for other in (meant, *(self.completed(step, one, is_kept=True) for one in again)):
                if not any(np.array_equal(other, one) for one in found):
                    found.append(other)
            self._numbers[step.name] = found
        return self._numbers[step.name]

    def unrounded(self, step: Step) -> list[Array]:
        return [step.array, self.written.result(step), _middle(self.meant.result(step))]


def wide_as(array: Any, made: Any) -> Any:
    times = made.shape[0] // array.shape[0] or 1
    return np.tile(array, (times, *[1] * (array.ndim - 1))) if times > 1 else array


def bounded(found: Values) -> Interval:
    ends = interval(found)
    return Interval(np.fmax(ends.low, -np.inf), np.fmin(ends.high, np.inf))


def _middle(found: Values) -> Array:
    ends = interval(found)
    return np.where(ends.low == ends.high, ends.low, (ends.low + ends.high) / 2)
