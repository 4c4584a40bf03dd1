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

NUMBERED = np.dtype("V8")
"""Eight bytes that NumPy moves, but refuses to calculate with."""


class Provenance:
    """From row and column of a shown matrix to the cell whose number is shown there.

    The operand `part` is evaluated with the number of each cell in place of its value, as
    `NUMBERED` bytes: operations that only move cells (transpose, cut, repeat) carry them along,
    and one that calculates raises a TypeError. `on_page` cuts the matrix out of that array; of it,
    only the `rows` and `columns` that are shown are kept (None stands for those left out).
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
        self.starts = [1]  # the number of the first cell of each step, and of the next step

    def __call__(self, row: int, column: int) -> Source | None:
        """Return the cell; None where the number is that of no step, as in a product of two."""
        if self._numbers is None:
            return None
        number = int(self._numbers[self.rows[row], self.columns[column]])
        if number == 0:
            return None  # the operation filled it in
        which = int(np.searchsorted(self.starts, number, side="right")) - 1
        step = self.steps[which]
        at = np.unravel_index(number - self.starts[which], step.array.shape)
        return step.name, place_of(step, tuple(int(i) for i in at))

    @cached_property
    def _numbers(self) -> Array | None:
        """The numbers of the cells that are shown; None if they are calculated, not moved."""
        try:
            moved = evaluate(self.part, self._numbered)
        except TypeError:
            return None
        shown = self.on_page(moved)[np.ix_([*self.rows], [*self.columns])]
        return np.ascontiguousarray(shown).view(np.int64)

    def _numbered(self, step: Step) -> Array:
        """Return the numbers of a step's cells, which follow those of the steps before it."""
        start, end = self.starts[-1], self.starts[-1] + step.array.size
        self.steps.append(step)
        self.starts.append(end)
        return np.arange(start, end, dtype=np.int64).view(NUMBERED).reshape(step.array.shape)
