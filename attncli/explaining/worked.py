"""Operations worked with terms: how each number of a step was made."""

from __future__ import annotations

from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.explaining.terms import Constant, Leaf, Term, term_of
from attncli.tape.cells import Index
from attncli.tape.step import ALL, Expression, Part, Step
from attncli.tape.walk import cut, evaluate, evaluate_part

LARGE = 2_000
"""The cells of a step of more numbers than this are worked one by one, as they are asked for."""


class Worked:
    """The terms of the steps of one trace; each operation is worked once."""

    def __init__(self) -> None:
        self.inputs: dict[int, Array] = {}
        self.done: dict[int, Array] = {}
        self.kept: list[Step] = []  # ids are of living steps

    def term(self, step: Step, at: Index) -> Term:
        """Return how a cell of a step's array was made."""
        if step.operation is None:
            return term_of(self.leaves(step)[at])
        if step.array.size > LARGE and step.array.ndim == 4:
            return self._alone(step.operation, at)
        if id(step) not in self.done:
            self.kept.append(step)
            self.done[id(step)] = evaluate(step.operation, self.leaves, Constant)
        return term_of(np.broadcast_to(self.done[id(step)], step.array.shape)[at])

    def _alone(self, operation: Expression, at: Index) -> Term:
        """Return how one number of many was made, without working out the others."""
        batch, head, row, column = at
        part = (slice(row, row + 1), slice(column, column + 1))
        worked = evaluate_part(operation, part, self.leaves, Constant)
        batches, heads = worked.shape[:2]
        return term_of(worked[min(batch, batches - 1), min(head, heads - 1), 0, 0])

    def leaves(self, step: Step, part: Part = (ALL, ALL)) -> Array:
        """Return the array of a step, or a part of it, with a leaf for each number."""
        if id(step) not in self.inputs:
            self.kept.append(step)
            self.inputs[id(step)] = np.empty(step.array.shape, object)
        array = cut(self.inputs[id(step)], part)
        for at in np.ndindex(array.shape):
            if array[at] is None:
                whole = self._place(at, part, step)
                array[at] = Leaf(step, whole, shortest(step.array[whole]))
        return array

    @staticmethod
    def _place(at: Index, part: Part, step: Step) -> Index:
        """Return the place in a step's array of a place in a part of it."""
        starts = [
            p.start or 0 if n > 1 else 0 for p, n in zip(part, step.array.shape[2:4], strict=True)
        ]
        return (*at[:2], at[2] + starts[0], at[3] + starts[1], *at[4:])


def shortest(number: Any) -> float:
    """Return the float of a number; of a float32, that of the digits that it has."""
    return float(str(number)) if isinstance(number, np.float32) else float(number)
