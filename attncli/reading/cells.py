"""Rows of cells with their places, of a workbook or of CSV as spreadsheets and people write it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from attncli.core.errors import Place, error_at
from attncli.core.numbers.grid import GROUPED, ambiguous
from attncli.core.text.strings import lines_of, of_cell, regex


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


WITH_COMMA = regex(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
TITLE_LINE = regex(
    r"# (?s:.*)[^\W\d]{2}(?s:.*)|(?:step|part) \d.*|[^\d:=]*\w(?: ?[:=]| \([^()\d]*\))",
    re.IGNORECASE,
)
"""A line that is one name, or a comment, though blanks separate cells."""
MAX_FIELD = 2**31 - 1
"""The largest limit on the characters of a cell that the csv module takes on every system."""


class CsvText(Table):
    """The rows of a CSV text; `delimiter` is the sign between cells, or " " for any blanks."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(name, [])
        self.text = text
        self.delimiter, skipped = delimiter_of(text)
        rows = self._rows_of_words() if self.delimiter == " " else self._rows_of_cells()
        has_escapes = "'" in text
        for row in rows:
            while row.cells and not row.cells[-1]:
                row.cells.pop()
            if has_escapes:
                row.cells[:] = map(of_cell, row.cells)
        self.rows = [row for row in rows if row.cells and row.line > skipped]

    @cached_property
    def _lines(self) -> list[str]:
        return lines_of(self.text)

    def _rows_of_words(self) -> list[CellRow]:
        lines = enumerate(map(str.strip, self._lines), 1)
        return [
            CellRow([line] if TITLE_LINE.fullmatch(line) else line.split(), n) for n, line in lines
        ]

    def _rows_of_cells(self) -> list[CellRow]:
        csv.field_size_limit(MAX_FIELD)
        source = io.StringIO(self.text, newline="")
        reader = csv.reader(source, delimiter=self.delimiter, skipinitialspace=True, strict=True)
        rows, line = list[CellRow](), 1
        try:
            for cells in reader:
                rows.append(CellRow([cell.strip() for cell in cells], line))
                line = reader.line_num + 1
        except csv.Error:
            message = "a quotation mark is not closed, or is inside a cell"
            hint = 'write a quotation mark inside a cell twice: "a ""b"" c"'
            raise error_at(self.place(CellRow([], line)), message, hint) from None
        if self.delimiter != ",":
            self._set_points(rows)
        return rows

    def _set_points(self, rows: list[CellRow]) -> None:
        """Write a point for each decimal comma; between tabs, 1,000 alone may be a thousand."""
        cells = ((row, n, cell) for row in rows for n, cell in enumerate(row.cells))
        commas = [(row, n, cell) for row, n, cell in cells if WITH_COMMA.fullmatch(cell)]
        grouped = (GROUPED.fullmatch(cell) for *_, cell in commas)
        if commas and self.delimiter == "\t" and all(grouped):
            row, n, cell = commas[0]
            message = str(ambiguous(cell, ("decimal", "thousands")))
            raise error_at(self.place(row, n), message)
        for row, n, cell in commas:
            row.cells[n] = cell.replace(",", ".")

    def place(self, row: CellRow, cell: int | None = None) -> Place:
        written = "".join(self._lines[row.line - 1 : row.line])
        column = 0 if cell is None else _column(written, self.delimiter, cell)
        return Place(self.name, row.line, column, written)


def delimiter_of(text: str) -> tuple[str, int]:
    """Return the sign between cells, and the number of lines to skip (Excel's `sep=;`)."""
    if declared := re.match(r'"?sep=([^"\r\n])"?[\r\n]', text + "\n", re.IGNORECASE):
        return declared[1], 1
    bare = re.sub(r'"[^"]*"', "", text)
    lines = lines_of(bare)
    # The delimiter is in most lines; a comma may also be a decimal point, so it comes last.
    best = max("\t;,", key=lambda sign: sum(sign in line for line in lines))
    return best if best in bare else " ", 0


def _column(line: str, delimiter: str, index: int) -> int:
    if delimiter == " ":
        starts = [word.start() + 1 for word in re.finditer(r"\S+", line)]
        return starts[index] if index < len(starts) else 1
    sign = re.escape(delimiter)
    cells = re.finditer(rf'( *(?:"(?:[^"]|"")*"?)?[^{sign}]*)(?:{sign}|\Z)', line)
    for cell in [*cells][index : index + 1]:
        blanks = len(cell[1]) - len(cell[1].lstrip())
        return max(1, min(cell.start() + blanks + 1, len(line)))
    return max(1, len(line))
