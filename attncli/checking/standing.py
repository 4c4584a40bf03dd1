"""What follows from a student's written numbers.

They take the place of the computed ones: each operation is evaluated on the student's own operands,
so that a slip is told apart from what only follows from it. A written number stands for the numbers
that it may be a rounding of, so operands are intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from itertools import takewhile
from typing import Any, TypeAlias, TypeVar

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, interval
from attncli.checking import judged as status
from attncli.checking.answers import ShapeMismatch, Written
from attncli.checking.judged import Given, Judged, Misshapen, NotGiven
from attncli.checking.meanings import Follows, Meanings, bounded, is_hollow
from attncli.checking.ranged import together
from attncli.checking.right import Right
from attncli.tape.replay import Change, Replay, Values
from attncli.tape.step import Step
from attncli.tape.walk import sources

Settle: TypeAlias = Callable[[Step, Values], Values]
"""What becomes of a step that is not shown before it is used."""

Mean: TypeAlias = Callable[[Given, Follows], Values]
"""What the numbers of a step stand for that is shown."""

V = TypeVar("V", bound=Values)

MOST_KEPT = 10_000
"""Of larger steps it is not kept what follows for them."""


class OnSheet(Replay[V]):
    """A calculation on the numbers of a sheet.

    What follows for a step is asked when the step is judged, and again for what its numbers stand
    for, so it is kept; of large steps it would take more memory than it saves time.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._results: dict[str, V] = {}

    def result(self, step: Step) -> V:
        """Return what a step's operation makes of the values before it, even if it is known."""
        if step.name in self._results:
            return self._results[step.name]
        found = super().result(step)
        if step.array.size <= MOST_KEPT:
            self._results[step.name] = found
        return found


def exactly(_: Step, found: Values) -> Values:
    """Round nothing."""
    return found


class Standing:
    """The numbers of one sheet, as later steps go on from them.

    Attributes:
        right: the right calculations.
        trace: the one by which the sheet is judged.
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
        meanings: what the numbers of the sheet stand for.
    """

    def __init__(
        self,
        right: Right,
        given: Mapping[str, Written | ShapeMismatch],
        judged: Mapping[str, Judged],
    ) -> None:
        self.right = right
        self.trace = trace = right.trace
        self.judged = judged
        written = [one for one in given.values() if isinstance(one, Written)]
        self.meanings = mean = Meanings(right, self.judged, written)
        self.together = together(trace, given)
        self._earlier: dict[str, tuple[Array, Interval]] = {}
        self.midpoints: Replay[Array] = OnSheet(
            trace, lambda step: self._known(step, self._as_written)
        )
        self.ranges: Replay[Values] = OnSheet(
            trace,
            lambda step: self._known(step, lambda given: mean.narrowly(given, self._range_of)),
            lambda _, found: mean.settled(found, mean.cuts),
            instead=self.together,
        )
        self.carried = self.wide(exactly)
        self.rounded = self.wide(lambda _, found: mean.settled(found, mean.cuts))
        self.cut_off = self.wide(lambda _, found: mean.settled(found, True), self.perhaps_cut)
        self.kept = self.wide(exactly, partial(mean.widely, keeps=True))

    @property
    def perhaps_cut(self) -> Mean:
        """What numbers stand for that may have been cut off."""
        return partial(self.meanings.widely, cuts=True)

    @property
    def has_blanks(self) -> bool:
        """Whether a cell was left out of a step that was given."""
        return any(one.missing.any() for one in self.meanings.written)

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
        mean: Mean | None = None,
        change: Change | None = None,
        worked: Mapping[str, Values] | None = None,
    ) -> Replay[Values]:
        """Return a replay on all that was written stands for.

        Args:
            settle: rounds what is not shown, before it is used.
            mean: what is shown stands for; by default all that it may be a rounding of.
            change: operations that take the place of those of the trace; by default those that are
                ranged as one.
            worked: values of steps that are not shown, where they are known already.
        """
        meanings = self.meanings
        mean = mean or meanings.widely
        replay: Replay[Values] = OnSheet(
            self.trace,
            lambda step: self._known(step, lambda given: mean(given, replay.result)),
            lambda step, found: meanings.blurred(bounded(settle(step, found))),
            instead=self.together if change is None else change,
            of_input=self._blurred_input,
            worked=worked,
        )
        return replay

    @property
    def _blurred_input(self) -> Callable[[Step], Values] | None:
        blurred = self.meanings.blurred
        return (lambda step: blurred(step.array)) if self.meanings.are_short else None

    def from_earlier(self, step: Step) -> tuple[Array, Interval]:
        """Return what the student's own earlier numbers give for a step, and the range of that."""
        if step.name not in self._earlier:
            yours = self.midpoints.result(step)
            wide = interval(bounded(self.ranges.result(step)))
            # Floats may take the number itself out of its range, by a last digit.
            ends = Interval(np.fmin(wide.low, yours), np.fmax(wide.high, yours))
            self._earlier[step.name] = yours, ends
        return self._earlier[step.name]

    def _range_of(self, step: Step) -> Interval:
        return self.from_earlier(step)[1]

    @cached_property
    def right_in_floats(self) -> Replay[Values]:
        """The right calculation in floats of the type in which the sheet holds its numbers."""
        blurred: Replay[Values] = Replay(
            self.trace,
            settle=lambda _, found: self.meanings.blurred(found),
            instead=self.together,
            of_input=self._blurred_input,
        )
        return blurred

    def _known(self, step: Step, stand_for: Callable[[Given], V]) -> V | Array | None:
        """Return what a step stands for that was handed in; None where it was not.

        Nothing can follow from a matrix that does not fit, so there it is the right one; nor from
        one of nothing but 0 or 1 that is wrong.
        """
        judged = self.judged.get(step.name)
        if isinstance(judged, Misshapen):
            return step.array
        if not isinstance(judged, Given) or is_hollow(judged):
            return None
        return stand_for(judged)

    def _as_written(self, judged: Given) -> Array:
        """Return the numbers of a step, those that were left out as they follow."""
        step, missing = judged.step, judged.written.missing
        values = np.where(judged.same, step.array, judged.written.values)
        return np.where(missing, self.midpoints.result(step), values) if missing.any() else values
