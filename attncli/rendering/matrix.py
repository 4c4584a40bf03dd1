"""One matrix of a page: its numbers, labels and marks, and what is written in each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.records import EMPTY, Record
from attncli.text.elision import LIMIT, kept
from attncli.text.numbers import NumberStyle

GAP = "  "

ROOM = 8
"""Width, in characters, of the room for a number that is yet to be written."""

Place = int | None
"""A row or a column; None stands for those that are left out."""


def never(row: int, column: int) -> bool:
    """Return False: no cell is blank."""
    return False


class Matrix(Record, eq=False):
    """What is shown of a matrix, with a name above and labels beside it.

    Attributes:
        values: the numbers (rows, columns).
        full: whether it is shown whole, where it is large.
        limit: an axis of at most this length is shown whole in any case.
        only_rows: the rows that are shown; all where it is empty.
        only_columns: the columns that are shown; all where it is empty.
        write: how a number is written.
        gap: what stands between two numbers.
        bars: before which columns a bar stands, between heads.
        shaded: whether the size of a number is shown by its background.
        is_blank: which cells are empty.
        cells: the cells that show a text in place of their number, each with its style.
        is_open: whether the cells have room for numbers that somebody is to write.
    """

    values: Array
    name: str = ""
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()
    full: bool = False
    limit: int = LIMIT
    only_rows: Sequence[int] = ()
    only_columns: Sequence[int] = ()
    write: NumberStyle = NumberStyle()
    gap: str = GAP
    bars: Sequence[int] = ()
    shaded: bool = False
    is_blank: Callable[[int, int], bool] = never
    cells: Mapping[tuple[int, int], tuple[str, str]] = EMPTY
    is_open: bool = False

    @property
    def rows(self) -> list[Place]:
        """The rows that are shown, None for those left out."""
        return [*self.only_rows] or kept(self.values.shape[0], self.full, self.limit)

    @property
    def columns(self) -> list[Place]:
        """The columns that are shown, None for those left out."""
        return [*self.only_columns] or kept(self.values.shape[1], self.full, self.limit)

    @property
    def is_cut(self) -> bool:
        """Whether rows or columns are left out."""
        return None in (*self.rows, *self.columns)

    @property
    def is_numeric(self) -> bool:
        """Whether every cell shows its number."""
        return not self.cells and not self.is_open and self.is_blank is never

    def text(self, row: Place, column: Place) -> str:
        """Return what stands in a cell; dots for rows and columns that are left out."""
        return self.texts(row, [column])[0]

    def texts(self, row: Place, columns: Sequence[Place]) -> list[str]:
        """Return what stands in some cells of a row."""
        if row is None:
            return ["⋱" if column is None else "⋮" for column in columns]
        if self.is_numeric:
            numbers = self.values[row].tolist()
            shown = iter(self.write.texts([numbers[c] for c in columns if c is not None]))
            return ["…" if column is None else next(shown) for column in columns]
        return ["…" if column is None else self._other(row, column) for column in columns]

    def _other(self, row: int, column: int) -> str:
        if (row, column) in self.cells:
            return self.cells[row, column][0]
        if self.is_open or self.is_blank(row, column):
            return ""
        return self.write(float(self.values[row, column]))

    def widths(self, size_of: Callable[[str], int]) -> list[int]:
        """Return the size of the longest text of each column that is shown."""
        columns, rows = self.columns, self.rows
        if not self.is_numeric:
            lines = [self.texts(row, columns) for row in rows]
            return [max(map(size_of, texts)) for texts in zip(*lines, strict=True)]
        shown = self.values[
            np.ix_(*[[p for p in axis if p is not None] for axis in (rows, columns)])
        ]
        sizes = iter(self.write.widths(shown))
        return [1 if column is None else next(sizes) for column in columns]

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
        if not self.shaded or np.isinf(value) or self.is_blank(row, column) or self.is_open:
            return None
        return min(1.0, abs(value))

    def is_empty(self, row: Place, column: Place) -> bool:
        """Return whether a cell is blank or left out."""
        return row is None or column is None or self.is_blank(row, column)

    def has_room(self, row: Place, column: Place) -> bool:
        """Return whether a number is to be written in a cell."""
        return self.is_open and not self.is_empty(row, column)
