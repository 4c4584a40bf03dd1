"""Operations worked with terms: how each number of a step was made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.explaining.terms import Constant, Leaf, Term, term_of
from attncli.tape.cells import Index
from attncli.tape.step import ALL, Expression, Part, Step
from attncli.tape.walk import cut, evaluate, evaluate_part

LARGE = 2_000
"""Number of cells from which working single cells is faster than working the whole step."""


class Worked:
    """The terms of the steps of one trace; each operation is worked once.

    Args:
        numbers: gives the numbers of a step or an input that a later one is made from.
        large: the cells of a step of more numbers than this are worked one by one.
    """

    def __init__(
        self, numbers: Callable[[Step], Array] = lambda step: step.array, large: int = LARGE
    ) -> None:
        self.numbers = numbers
        self.large = large
        self.inputs: dict[Step, Array] = {}
        self.done: dict[Step, Array] = {}

    def term(self, step: Step, at: Index) -> Term:
        """Return how a cell of a step's array was made."""
        if step.operation is None:
            return term_of(self.leaves(step)[at])
        if step.array.size > self.large and step.array.ndim == 4:
            return self._alone(step.operation, at)
        if step not in self.done:
            terms = evaluate(step.operation, self.leaves, Constant)
            self.done[step] = np.broadcast_to(terms, step.array.shape)
        return term_of(self.done[step][at])

    def _alone(self, operation: Expression, at: Index) -> Term:
        """Return how one number of many was made, without working out the others."""
        batch, head, row, column = at
        part = (slice(row, row + 1), slice(column, column + 1))
        worked = evaluate_part(operation, part, self.leaves, Constant)
        batches, heads = worked.shape[:2]
        return term_of(worked[min(batch, batches - 1), min(head, heads - 1), 0, 0])

    def leaves(self, step: Step, part: Part = (ALL, ALL)) -> Array:
        """Return the array of a step, or a part of it, with a leaf for each number."""
        if step not in self.inputs:
            self.inputs[step] = np.empty(step.array.shape, object)
        array = cut(self.inputs[step], part)
        numbers = np.broadcast_to(self.numbers(step), step.array.shape)
        for at in np.ndindex(array.shape):
            if array[at] is None:
                whole = _place(at, part, step)
                array[at] = Leaf(step, whole, shortest(numbers[whole]))
        return array


def _place(at: Index, part: Part, step: Step) -> Index:
    """Return the place in a step's array of a place in a part of it."""
    sizes = step.array.shape[2:4]
    row, column = ((p.start or 0) if size > 1 else 0 for p, size in zip(part, sizes, strict=True))
    return (*at[:2], at[2] + row, at[3] + column, *at[4:])


def shortest(number: Any) -> float:
    """Return the float of a number; of a shorter one, that of the digits that it has."""
    return float(str(number)) if isinstance(number, np.float16 | np.float32) else float(number)
