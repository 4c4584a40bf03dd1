"""The cells of CSV as spreadsheets and people write it: what separates them, quotes, commas."""

from __future__ import annotations

import csv
import io
import re
from functools import cached_property

from attncli.core.errors import Place
from attncli.core.numbers.grid import GROUPED, ambiguous
from attncli.core.text.strings import lines_of, of_cell, regex
from attncli.reading.cells import CellRow, Table
from attncli.reading.document import error_at

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
