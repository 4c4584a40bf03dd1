"""Arrays that a program calculated, and which of their numbers differ from the right ones.

No number of an array was rounded by hand; all carry the error of a calculation in floats.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import dropwhile

import numpy as np

from attncli.checking.answers.program_arrays import sizes_of
from attncli.checking.answers.written_cells import Matrices, Written
from attncli.checking.errors_of_floats import MAX_ERRORS, distance, errors_of
from attncli.checking.judging import judged_steps
from attncli.checking.judging.agreement import FLOAT_ERROR, ROUNDED, largest
from attncli.checking.judging.judge import Hypotheses, Judge, follows_as_written
from attncli.checking.judging.judged_steps import Difference, Given, Judged, Misshapen
from attncli.checking.judging.operands import Reference, middle
from attncli.core.arithmetic.elements import Array
from attncli.core.calculation.trace import Trace
from attncli.core.problem.marking import Marking
from attncli.core.tape.evaluation import Replay, Values, array_of
from attncli.core.tape.step import LEADING, Step

TINY = float(np.finfo(float).tiny)
"""Minimum difference that is granted where every number of a step is 0. Derived."""

OF_FLOATS: Hypotheses = ((judged_steps.FOLLOWS, follows_as_written),)
"""The explanations of wrong numbers that nobody rounded."""


def most_of(off: Array) -> float:
    return float(np.fmax.reduce(off, axis=None, initial=0.0))


class _Calculated(Given, eq=False):
    """An array that a program calculated: its unit is the error of its floats.

    Attributes:
        is_right: which numbers are near enough to the right ones.
        largest: the largest difference from the right numbers, of those that are not nan.
    """

    comparison: Comparison
    is_right: Array
    largest: float

    def agrees(self, expected: Values, units: float = ROUNDED, unit: Array | None = None) -> Array:
        """Return which numbers are near enough; the error grows with the largest number."""
        numbers = middle(expected)
        if numbers is self.step.array:
            return self.is_right  # an array may be large, and is compared with this twice
        limit = units / ROUNDED * self.comparison.limit(self.step, numbers)
        return self.step.from_paper(~(self.comparison.off(self.step, numbers) > limit))

    @property
    def values(self) -> Array:
        return self.written.values  # no copy, as arrays may be large


class Comparison(Judge):
    """The arrays of one submission, compared with one way of calculating the problem.

    Attributes:
        steps: each step of the calculation, judged, with a `Difference` for each array.
        apart: how many numbers of a step differ where a query sees no key, and are not compared.
        wrong: the names of those with a wrong number, in the order of computation.
    """

    def __init__(self, trace: Trace, arrays: Matrices, marking: Marking, dtype: str) -> None:
        self.marking, self.dtype = marking, dtype
        self.errors = errors_of(trace, arrays, dtype)
        self.apart: dict[str, int] = {}
        super().__init__(Reference(trace), arrays, hypotheses=OF_FLOATS)
        vars(self.operands).pop("written", None)  # a whole calculation, which takes much memory
        self.steps = {name: self._difference(judged) for name, judged in self.judged.items()}
        self.wrong = [name for name, one in self.steps.items() if one.has(judged_steps.WRONG)]

    def _answer(self, step: Step, codes: Array, written: Written) -> Given:
        limit, off = self.limit(step, step.array), self.off(step, step.array)
        unit = np.broadcast_to(limit / ROUNDED, codes.shape)
        is_whole = np.broadcast_to(np.False_, codes.shape)
        if (blind := self.blind(step, array_of)).any():
            all_off = distance(step.on_paper(written.values), step.on_paper(step.array))
            self.apart[step.name] = int((np.isnan(off) & blind & ~(all_off <= limit)).sum())
        is_right = step.from_paper(~(off > limit))
        if (most := most_of(off)) == np.inf:
            numbers = step.on_paper(written.values).reshape(off.shape)
            most = most_of(np.where(np.isnan(numbers), np.nan, off))
        return _Calculated(step, codes, written, unit, unit, is_whole, self, is_right, most)

    def _compared(self, answer: Given) -> Judged:
        self._explained(answer)
        # Later steps are not expected to follow from an array that holds nan.
        return self._difference(answer) if answer.written.blank.any() else answer

    def _difference(self, judged: Judged) -> Judged:
        step, codes = judged.step, judged.codes
        if isinstance(judged, Misshapen):
            codes = np.full_like(codes, judged_steps.WRONG)
            message = judged.mismatch.fault.message.rpartition(": ")[2]  # without the key
            values = np.full(step.value.shape, np.nan)
            return Difference(step, codes, values, np.inf, np.inf, f"T{message[1:]}.")
        if not isinstance(judged, _Calculated):
            return judged
        values, errors = step.on_paper(judged.values), self.errors[step.name] or 1.0
        return Difference(step, codes, values, judged.largest, judged.largest / errors)

    def limit(self, step: Step, numbers: Array) -> float:
        """Return the maximum difference from numbers of a step, or from what others give for it."""
        right = largest(step.array)
        most = max(right, largest(numbers))
        if self.marking.rtol is not None:
            return max(self.marking.rtol * most, TINY) + self.marking.tolerance
        larger = most / right if right else 1.0
        carried = MAX_ERRORS[self.dtype] * self.errors[step.name] * larger
        return max(carried, FLOAT_ERROR * most, TINY) + self.marking.tolerance

    def off(
        self, step: Step, numbers: Array, value_of: Callable[[Step], Array] = array_of
    ) -> Array:
        """Return how far an array is from numbers of its step, on paper.

        It is nan in empty cells, and where a query sees no key in some head and the array holds
        nan, or what a finite fill gives, the mean. `value_of` gives the numbers of `masked`.

        Raises:
            ValueError: if the array has another shape.
        """
        right, matrix = step.on_paper(numbers), self.matrices[step.name]
        array, missing = matrix.texts, np.zeros(right.shape, bool)
        # If it has the shape of the step, it was written for some cells alone.
        is_misplaced = sizes_of(array.shape) == sizes_of(step.value.shape)
        if isinstance(matrix, Written):
            array, is_misplaced = step.on_paper(matrix.values), False
            missing = step.on_paper(matrix.missing)
        if is_misplaced or sizes_of(array.shape) != sizes_of(right.shape):
            raise ValueError(array.shape)
        array = array.reshape(right.shape)
        off, blind = distance(array, right), self.blind(step, value_of)
        missing = missing | (blind & np.isnan(array))
        if (blind & ~missing & (off > 0)).any():
            filled = self._filled.result(step)
            missing |= blind & (distance(array, step.on_paper(filled)) <= self.limit(step, filled))
        return np.where(missing, np.nan, off)

    @cached_property
    def _filled(self) -> Replay[Array]:
        """The calculation with equal scores, as a finite fill leaves them where no key is seen."""
        masked = self.trace["masked"]
        equal = np.zeros_like(masked.array)
        return Replay(self.trace, lambda step: equal if step is masked else None)

    def is_masked(self, step: Step) -> bool:
        """Return True for rows of queries, after the mask."""
        later = dropwhile(lambda name: name != "masked", self.trace.steps)
        return step.trailing[:1] == ("query",) and step.name in [*later][1:]

    def blind(self, step: Step, numbers: Callable[[Step], Array]) -> Array:
        """Return which cells of a step, on paper, are of queries that see no key in some head."""
        if not self.is_masked(step):
            return np.zeros((1,) * len(step.axes), bool)
        blind = (numbers(self.trace["masked"]) == -np.inf).all(axis=-1, keepdims=True)
        for axis, name in enumerate(LEADING):
            blind = blind if name in step.leading else blind.any(axis=axis, keepdims=True)
        cells: Array = step.on_paper(blind)
        return cells
