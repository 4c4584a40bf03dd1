"""Where the numbers of a shown matrix are from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.tape.cells import Index, place_of
from attncli.tape.step import Expression, Step
from attncli.tape.walk import evaluate

Source = tuple[str, Index]
"""The name of a step or input, and an index into its `value`."""


class Provenance:
    """From row and column of a shown matrix to the cell whose number stands there.

    The operations themselves tell: they are given numbered bytes in place of numbers, which can
    be moved (transposed, cut, repeated, put side by side) but not calculated with. `on_page` cuts
    the matrix out of an array of the step or operand `part`; of a large one, only the numbers of
    the rows and columns that are shown are kept.
    """

    def __init__(
        self,
        part: Expression,
        on_page: Callable[[Array], Array],
        rows: Iterable[int | None],
        columns: Iterable[int | None],
    ) -> None:
        self.part = part
        self.on_page = on_page
        self.rows, self.columns = (
            {place: number for number, place in enumerate(p for p in places if p is not None)}
            for places in (rows, columns)
        )
        self.steps: list[Step] = []
        self.ends: list[int] = []  # the number of the last cell of each step

    def __call__(self, row: int, column: int) -> Source | None:
        """Return the cell; None where the number is that of no step, as in a product of two."""
        if self._numbers is None:
            return None
        number = int(self._numbers[self.rows[row], self.columns[column]])
        if number == 0:
            return None
        which = int(np.searchsorted(self.ends, number))
        step = self.steps[which]
        offset = number - 1 - (self.ends[which] - step.array.size)
        at = np.unravel_index(offset, step.array.shape)
        return step.name, place_of(step, tuple(int(i) for i in at))

    @cached_property
    def _numbers(self) -> Array | None:
        try:
            moved = evaluate(self.part, self._numbered)
        except TypeError:  # NumPy knows no sum or product of bytes
            return None
        shown = self.on_page(moved)[np.ix_([*self.rows], [*self.columns])]
        return np.ascontiguousarray(shown).view(np.int64)

    def _numbered(self, step: Step) -> Array:
        start = (self.ends[-1] if self.ends else 0) + 1
        self.steps.append(step)
        self.ends.append(start + step.array.size - 1)
        numbers = np.arange(start, start + step.array.size, dtype=np.int64)
        return numbers.view("V8").reshape(step.array.shape)
