"""Which cell each number of a shown matrix comes from."""

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

CELL = np.dtype([("step", np.int32), ("place", np.int64)])
"""Number of a step, from 1, and place of a cell in its flat array. NumPy moves such records, but
refuses to calculate with them."""


class Provenance:
    """From row and column of a shown matrix to the cell whose number is shown there.

    The operand `part` is evaluated with `CELL` records in place of numbers, which its operations
    may move (transpose, cut, repeat) but not calculate with. `on_page` cuts the matrix out of the
    result; only the `rows` and `columns` that are shown are kept, without those that are None.
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

    def __call__(self, row: int, column: int) -> Source | None:
        """Return the cell; None where the number is that of no step, as in a product of two."""
        if self._cells is None:
            return None
        number, place = self._cells[self.rows[row], self.columns[column]].item()
        if number == 0:  # the operation filled it in
            return None
        step = self.steps[number - 1]
        at = np.unravel_index(place, step.array.shape)
        return step.name, place_of(step, tuple(int(i) for i in at))

    @cached_property
    def _cells(self) -> Array | None:
        """The cells that are shown; None if their numbers are calculated."""
        try:
            moved = evaluate(self.part, self._numbered)
        except TypeError:
            return None
        return self.on_page(moved)[np.ix_([*self.rows], [*self.columns])]

    def _numbered(self, step: Step) -> Array:
        self.steps.append(step)
        cells = np.empty(step.array.shape, CELL)
        cells["step"] = len(self.steps)
        cells["place"] = np.arange(step.array.size).reshape(step.array.shape)
        return cells
