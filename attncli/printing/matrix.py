"""One matrix of a page: its numbers, labels and marks, and the text in each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.records import EMPTY, Record
from attncli.core.tape.step import Step
from attncli.core.text.numbers import NumberStyle

ROOM = 8
"""Width, in characters, of the room for a number that is yet to be written."""

EMPTY_CELL = ("", "faint")
"""The text and the style of a cell that has no number."""

TO_WRITE = ("", "")
"""The text and the style of a cell in which a number is to be written."""

LineIndex = int | None
"""A row or a column; None for those that are left out."""


class Matrix(Record, eq=False):
    """A matrix (rows, columns) as a page shows it, with a name above and labels beside it."""

    values: Array
    rows: Sequence[LineIndex]  # those that are shown
    columns: Sequence[LineIndex]
    name: str = ""
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()
    write: NumberStyle = NumberStyle()
    bars: Sequence[int] = ()  # the columns with a bar before them, which parts heads
    shaded: bool = False  # whether the background shows the size of a number
    cells: Mapping[tuple[LineIndex, LineIndex], tuple[str, str]] = EMPTY  # other texts, with styles
    is_open: bool = False  # whether the cells have room for numbers that the reader writes

    @property
    def is_cut(self) -> bool:
        return None in (*self.rows, *self.columns)

    def text(self, row: LineIndex, column: LineIndex) -> str:
        return self.texts(row, [column])[0]

    def texts(self, row: LineIndex, columns: Sequence[LineIndex]) -> list[str]:
        """Return the texts of some cells of a row; dots for what is left out."""
        if row is None:
            return ["⋱" if column is None else "⋮" for column in columns]
        numbers = self.values[row].tolist()
        written = iter(self.write.texts([numbers[c] for c in columns if c is not None]))
        texts = ["…" if column is None else next(written) for column in columns]
        if not self.cells:
            return texts
        pairs = zip(columns, texts, strict=True)
        return [self.cells.get((row, column), (text, ""))[0] for column, text in pairs]

    def widths(self, size_of: Callable[[str], int]) -> list[int]:
        """Return the size of the longest text of each column that is shown."""
        if self.cells:
            lines = [self.texts(row, self.columns) for row in self.rows]
            return [max(map(size_of, texts)) for texts in zip(*lines, strict=True)]
        shown = [[p for p in axis if p is not None] for axis in (self.rows, self.columns)]
        sizes = iter(self.write.widths(self.values[np.ix_(*shown)]))
        return [1 if column is None else next(sizes) for column in self.columns]

    @property
    def width(self) -> int:
        """About how many characters wide the matrix is in a document."""
        widths = self.widths(len)
        if self.is_open:
            rooms = [any(self.has_room(row, c) for row in self.rows) for c in self.columns]
            widths = [max(w, ROOM * room) for w, room in zip(widths, rooms, strict=True)]
        return sum(2 + width for width in widths)

    def shade(self, row: int, column: int) -> float | None:
        """Return how strong the background of a number is, from 0 to 1; None for no background."""
        value = float(self.values[row, column])
        if not self.shaded or np.isinf(value) or (row, column) in self.cells:
            return None
        return min(1.0, abs(value))

    def is_empty(self, row: LineIndex, column: LineIndex) -> bool:
        """Return whether a cell has no number, or is left out."""
        return row is None or column is None or self.cells.get((row, column)) == EMPTY_CELL

    def has_room(self, row: LineIndex, column: LineIndex) -> bool:
        """Return whether a number is to be written in a cell."""
        return self.is_open and not self.is_empty(row, column)


def axis_labels(step: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a step's rows and columns on paper."""
    row, column = ("", *step.axes)[-2:]
    return step.labels.get(row, ()), step.labels.get(column, ())


def shape_text(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"
