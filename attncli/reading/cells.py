"""Rows of cells with their places, whether a CSV text or a workbook holds them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from attncli.core.errors import InputError, Place
from attncli.reading.document import error_at


class CellRow(NamedTuple):  # as a large table makes them in a third of the time of a record
    """Cells beside each other, and where the first of them is, from 1."""

    cells: list[str]
    line: int
    column: int = 1
    sheet: str = ""  # of a workbook

    def after(self, count: int) -> CellRow:
        """Return the row without its first cells."""
        return self._replace(cells=self.cells[count:], column=self.column + count)


class Table:
    """The rows of a file, without empty rows, and without the empty cells at their ends."""

    def __init__(self, name: str, rows: list[CellRow]) -> None:
        self.name, self.rows = name, rows

    def place(self, row: CellRow, cell: int | None = None) -> Place:
        """Return the place of a row, or of a cell of it, from 0."""
        raise NotImplementedError

    def error(
        self, row: CellRow, message: str, hint: str = "", cell: int | None = None
    ) -> InputError:
        return error_at(self.place(row, cell), message, hint)


def trimmed(rows: Iterable[CellRow]) -> list[CellRow]:
    """Return rows that are not empty, without the empty cells at their ends.

    One behind a label stays, as a row with a label alone is no name of a matrix.
    """
    ends = (
        (row, max((n for n, cell in enumerate(row.cells, 1) if cell), default=0)) for row in rows
    )
    return [row._replace(cells=row.cells[: max(end, 2)]) for row, end in ends if end]
