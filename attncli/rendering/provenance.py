"""Which cells of a trace a page shows, and the numbers by which its script knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.tape.cells import Index, place_of
from attncli.tape.step import Step
from attncli.tape.walk import evaluate

if TYPE_CHECKING:
    from attncli.rendering.views import Panel

Source = tuple[str, Index]
"""The name of a step or input, and an index into its `value`."""


class PageCells:
    """The cells of one trace that a page shows, numbered in the order in which they are shown.

    Every cell of a step has an id, counted from 1 over all steps that were asked for. To see whose
    number stands where in an operand, such as Kᵀ, the operation itself is evaluated on arrays of
    ids. NumPy holds them as 8 bytes without a meaning, which can be moved (transposed, cut,
    repeated, put side by side) but not calculated with.

    Attributes:
        last: the number of the last cell so far.
        starts: the id before the first cell of each step, by its name and the shape of its array.
        count: the number of ids so far.
        numbers: the number of each cell by its id; 0 for those that are not shown.
    """

    def __init__(self, last: int = 0) -> None:
        self.last = last
        self.starts: dict[tuple[str, tuple[int, ...]], int] = {}
        self.steps: list[Step] = []
        self.count = 0
        self.numbers = np.zeros(1, np.int64)

    def ids(self, panel: Panel) -> Array:
        """Return the ids of what a panel shows, for its `rows` and `columns`.

        They are 0 where a number is that of no step, as in a product of two, and where rows or
        columns are left out.
        """
        rows, columns = panel.matrix.rows, panel.matrix.columns
        places = np.ix_([row or 0 for row in rows], [column or 0 for column in columns])
        try:
            moved = panel.on_page(evaluate(panel.part, self._as_bytes))[places]
        except TypeError:  # NumPy knows no sum or product of bytes
            return np.zeros((len(rows), len(columns)), np.int64)
        ids: Array = np.ascontiguousarray(moved).view(np.int64)
        ids[[row is None for row in rows]] = 0
        ids[:, [column is None for column in columns]] = 0
        return ids

    def _as_bytes(self, step: Step) -> Array:
        """Return the ids of a step's cells in the layout of its array."""
        key, size = (step.name, step.array.shape), step.array.size
        if key not in self.starts:
            self.starts[key] = self.count
            self.steps.append(step)
            self.count += size
            if self.count >= len(self.numbers):  # what is not shown takes no memory
                shown = np.flatnonzero(self.numbers)
                numbers = np.zeros(2 * self.count, np.int64)
                numbers[shown] = self.numbers[shown]
                self.numbers = numbers
        first = self.starts[key] + 1
        return np.arange(first, first + size, dtype=np.int64).view("V8").reshape(step.array.shape)

    def numbered(self, ids: Array) -> Array:
        """Return the numbers of the cells of some ids; those that have none get the next ones."""
        fresh = ids[(self.numbers[ids] == 0) & (ids > 0)]
        cells, firsts = np.unique(fresh, return_index=True)
        cells = cells[np.argsort(firsts)]
        self.numbers[cells] = np.arange(self.last + 1, self.last + 1 + cells.size)
        self.last += cells.size
        found: Array = self.numbers[ids]
        return found

    def place(self, step: Step, one: int) -> Index:
        """Return where the cell of an id stands in the `value` of its step."""
        offset = one - self.starts[step.name, step.array.shape] - 1
        at = np.unravel_index(offset, step.array.shape)
        return place_of(step, tuple(int(i) for i in at))

    def of(self, step: Step) -> Array:
        """Return the numbers of a step's cells as they stand on paper."""
        start = self.starts[step.name, step.array.shape] + 1
        numbers = self.numbers[start : start + step.array.size]
        return step.on_paper(numbers.reshape(step.array.shape))

    def by_source(self, most: float = np.inf) -> dict[Source, int]:
        """Return the numbers of the cells that are shown, of steps of at most so many cells."""
        found = []
        for step in self.steps:
            numbers = self.of(step) if step.array.size <= most else np.zeros(0)
            for place in map(tuple, np.argwhere(numbers).tolist()):
                found.append((int(numbers[place]), (step.name, place)))
        return {source: number for number, source in sorted(found)}
