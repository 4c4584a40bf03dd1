"""Where the numbers of a matrix in a document are from."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.rendering.views import Index, Views
from attncli.tape.cells import place_of
from attncli.tape.step import Expression, Step
from attncli.tape.walk import evaluate

Cell = tuple[str, tuple[int, ...]]
"""The name of a step or input, and an index into its `value`."""


class Provenance:
    """From row and column of a shown matrix to the cell whose number stands there.

    The operations themselves tell: they are given numbered bytes in place of numbers, which can
    be moved (transposed, cut, repeated, put side by side) but not calculated with.
    """

    def __init__(self, views: Views, part: Expression, place: Index, joined: bool) -> None:
        self.views = views
        self.part = part
        self.place = place
        self.joined = joined
        self.steps: list[Step] = []
        self.ends: list[int] = []  # the number of the last cell of each step
        self.found: Array | None = None
        self.looked = False

    def __call__(self, row: int, column: int) -> Cell | None:
        """Return the cell; None where the number is that of no step, as in a product of two."""
        if not self.looked:
            self.looked = True
            self.found = self._numbers()
        number = 0 if self.found is None else int(self.found[row, column])
        if number == 0:
            return None
        which = int(np.searchsorted(self.ends, number))
        step = self.steps[which]
        offset = number - 1 - (self.ends[which] - step.array.size)
        at = np.unravel_index(offset, step.array.shape)
        return step.name, place_of(step, tuple(int(i) for i in at))

    def _numbers(self) -> Array | None:
        try:
            moved = evaluate(self.part, self._numbered)
        except TypeError:  # NumPy knows no sum or product of bytes
            return None
        shown = self.views.on_sheet(self.part, moved, self.place, self.joined)
        return np.ascontiguousarray(shown).view(np.int64)

    def _numbered(self, step: Step) -> Array:
        start = (self.ends[-1] if self.ends else 0) + 1
        self.steps.append(step)
        self.ends.append(start + step.array.size - 1)
        numbers = np.arange(start, start + step.array.size, dtype=np.int64)
        return numbers.view("V8").reshape(step.array.shape)
