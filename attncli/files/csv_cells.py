"""CSV as spreadsheets and people write it: its lines and cells, and their places."""

from __future__ import annotations

import csv
import io
import re

from attncli.errors import InputError, Place
from attncli.files.document import error_at
from attncli.records import Record
from attncli.text.escapes import lines_of, of_cell

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
TITLE = re.compile(
    r"# .*[^\W\d]{2}.*|(?:step|part) \d.*|[^\d:=]*\w(?: ?[:=]| \([^()\d]*\))", re.IGNORECASE
)
"""A line that is one name, or a comment, though blanks separate cells."""
QUOTED = re.compile(r'"[^"]*"')
MIN_FIELD_LIMIT = 131_072
"""The default limit of the csv module on the characters of a cell."""


class CsvRow(Record):
    """The cells of one line, and its number from 1."""

    line: int
    cells: list[str]


class CsvText:
    """The rows of a CSV text.

    Attributes:
        text: as it was written.
        name: the file's name, for messages.
        delimiter: the sign between cells, or " " for any blanks.
        rows: the lines that are not blank, without the empty cells that spreadsheets add.

    Raises:
        InputError: for a quotation mark that is not closed.
    """

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.delimiter, skipped = _delimiter(text)
        pairs = self._lines_of_words() if self.delimiter == " " else self._lines_of_cells()
        has_escapes = "'" in text
        self.rows = []
        for line, cells in pairs:
            while cells and not cells[-1]:
                cells.pop()
            if cells and line > skipped:
                self.rows.append(CsvRow(line, list(map(of_cell, cells)) if has_escapes else cells))

    def _lines_of_words(self) -> list[tuple[int, list[str]]]:
        lines = enumerate(map(str.strip, lines_of(self.text)), 1)
        return [(n, [line] if TITLE.fullmatch(line) else line.split()) for n, line in lines]

    def _lines_of_cells(self) -> list[tuple[int, list[str]]]:
        csv.field_size_limit(max(len(self.text), MIN_FIELD_LIMIT))
        source, comma = io.StringIO(self.text, newline=""), self.delimiter == ","
        found, before = [], 0
        reader = csv.reader(source, delimiter=self.delimiter, skipinitialspace=True, strict=True)
        try:
            for cells in reader:
                texts = [cell.strip() for cell in cells]
                found.append((before + 1, texts if comma else list(map(_with_point, texts))))
                before = reader.line_num
        except csv.Error:
            message = "a quotation mark is not closed, or stands inside a cell"
            hint = 'write a quotation mark inside a cell twice: "a ""b"" c"'
            raise self.error(before + 1, message, hint) from None
        return found

    def place(self, line: int, cell: int | None = None) -> Place:
        """Return the place of a line, or of a cell of it, from 0."""
        written = "".join(lines_of(self.text)[line - 1 : line])
        column = 0 if cell is None else _column(written, self.delimiter, cell)
        return Place(self.name, line, column, written)

    def error(self, line: int, message: str, hint: str = "", cell: int | None = None) -> InputError:
        """Return the error for a line, or a cell of it."""
        return error_at(self.place(line, cell), message, hint)


def _delimiter(text: str) -> tuple[str, int]:
    """Return the sign between cells, and the number of lines to skip (Excel's `sep=;`)."""
    declared = re.match(r'"?sep=([^"\r\n])"?[\r\n]', text + "\n", re.IGNORECASE)
    if declared:
        return declared[1], 1
    lines = lines_of(QUOTED.sub("", text))
    # The delimiter is in most lines; a comma may also be a decimal point, so it comes last.
    counts = {delimiter: sum(delimiter in line for line in lines) for delimiter in "\t;,"}
    best = max(counts, key=lambda delimiter: counts[delimiter])
    return (best, 0) if counts[best] else (" ", 0)


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell


def _column(line: str, delimiter: str, index: int) -> int:
    """Return the column, from 1, where a cell of a line starts."""
    if delimiter == " ":
        starts = [word.start() + 1 for word in re.finditer(r"\S+", line)]
        return starts[index] if index < len(starts) else 1
    sign = re.escape(delimiter)
    cells = re.finditer(rf'( *(?:"(?:[^"]|"")*"?)?[^{sign}]*)(?:{sign}|\Z)', line)
    for cell in [*cells][index : index + 1]:
        blanks = len(cell[1]) - len(cell[1].lstrip())
        return max(1, min(cell.start() + blanks + 1, len(line)))
    return max(1, len(line))
