"""Which cells of a trace a page shows, and the numbers by which its script knows them."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.rendering.views import Panel
from attncli.tape.cells import Index, place_of
from attncli.tape.step import Step
from attncli.tape.walk import evaluate

Source = tuple[str, Index]
"""The name of a step or input, and an index into its `value`."""


class PageCells:
    """The cells of one trace that a page shows, numbered in the order in which they are shown.

    Every cell of a step has an id, counted from 1 over all steps of the page. To see whose number
    is where in an operand, such as Kᵀ, the operation itself is evaluated on arrays of ids. NumPy
    holds them as 8 bytes without a meaning, which can be moved (transposed, cut, repeated, put
    side by side) but not calculated with.
    """

    def __init__(self, before: int = 0) -> None:
        self.before = before  # the count of cells of other traces on the page
        self.starts: dict[tuple[str, tuple[int, ...]], int] = {}  # the id before a step's first
        self.steps: list[Step] = []
        self.count = 0  # of ids so far
        self.numbers: dict[int, int] = {}  # by id

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
        key, size = (step.name, step.array.shape), step.array.size
        if key not in self.starts:
            self.starts[key] = self.count
            self.steps.append(step)
            self.count += size
        first = self.starts[key] + 1
        return np.arange(first, first + size, dtype=np.int64).view("V8").reshape(step.array.shape)

    def numbered(self, ids: Array) -> list[list[int]]:
        """Return the numbers of cells by their ids; those that have none get the next ones."""
        for one in ids.ravel().tolist():
            if one and one not in self.numbers:
                self.numbers[one] = self.before + len(self.numbers) + 1
        return [[self.numbers.get(one, 0) for one in row] for row in ids.tolist()]

    def place(self, step: Step, one: int) -> Index:
        """Return the index of the cell of an id in the `value` of its step."""
        offset = one - self.starts[step.name, step.array.shape] - 1
        at = np.unravel_index(offset, step.array.shape)
        return place_of(step, tuple(int(i) for i in at))

    def by_source(self, most: float = np.inf) -> dict[Source, int]:
        """Return the numbers of the cells that are shown, of steps of at most `most` cells."""
        found = []
        for step in self.steps:
            if step.array.size <= most:
                first = self.starts[step.name, step.array.shape] + 1
                some = [self.numbers.get(one, 0) for one in range(first, first + step.array.size)]
                numbers = step.on_paper(np.reshape(some, step.array.shape))
                for place in map(tuple, np.argwhere(numbers).tolist()):
                    found.append((int(numbers[place]), (step.name, place)))
        return {source: number for number, source in sorted(found)}
