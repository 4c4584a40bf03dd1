"""Rows of cells with their places, whether a CSV text or a workbook holds them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from attncli.core.errors import Place


class CellRow(NamedTuple):  # made in a fifth of the time of a record: large tables have many
    """Cells beside each other, and where the first of them is, from 1."""

    cells: list[str]
    line: int
    column: int = 1
    sheet: str = ""  # of a workbook

    def after(self, count: int) -> CellRow:
        """Return the row without its first cells."""
        return self._replace(cells=self.cells[count:], column=self.column + count)


class Table:
    """Rows of the cells of a file, none of them empty, without the empty cells at their ends."""

    def __init__(self, name: str, rows: list[CellRow]) -> None:
        self.name, self.rows = name, rows

    def place(self, row: CellRow, cell: int | None = None) -> Place:
        """Return the place of a row, or of a cell of it, from 0: in a workbook that of the cell."""
        column = row.column + (cell or 0)
        said = f"sheet {row.sheet}, cell {cell_name(row.line, column)}"
        return Place(self.name, row.line, column, cell=said)


def cell_name(row: int, column: int) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(column)}{row}"


def trimmed(rows: Iterable[CellRow]) -> list[CellRow]:
    """Return rows that are not empty, without the empty cells at their ends.

    One behind a label stays, as a row of a matrix may have a label and no numbers.
    """
    kept = []
    for row in rows:
        if filled := [n for n, cell in enumerate(row.cells, 1) if cell]:
            kept.append(row._replace(cells=row.cells[: max(filled[-1], 2)]))
    return kept
