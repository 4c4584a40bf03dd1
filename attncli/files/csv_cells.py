"""CSV as spreadsheets and people write it: its lines and cells, and where each stands."""

from __future__ import annotations

import csv
import io
import re

from attncli.errors import Place
from attncli.files.document import error_at
from attncli.records import Record
from attncli.text.escapes import lines_of, of_cell

COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
HEADING = re.compile(
    r"# .*[^\W\d]{2}.*|(?:step|part) \d.*|[^\d:=]*\w(?: ?[:=]| \([^()\d]*\))", re.I
)
"""A line that is one name, or a comment, though blanks part cells."""
QUOTED = re.compile(r'"[^"]*"')


class Row(Record):
    """The cells of one line, and its number from 1."""

    line: int
    cells: list[str]
    is_parted_by_blanks: bool = False


def delimiter_of(text: str) -> tuple[str, int]:
    """Return what parts the cells, and how many lines to skip (Excel's `sep=;`)."""
    told = re.match(r'"?sep=([^"\r\n])"?[\r\n]', text + "\n", re.IGNORECASE)
    if told:
        return told[1], 1
    lines = lines_of(QUOTED.sub("", text))
    # What parts cells stands in most lines; a comma may also be a decimal point, so it comes last.
    counts = {delimiter: sum(delimiter in line for line in lines) for delimiter in "\t;,"}
    best = max(counts, key=lambda delimiter: counts[delimiter])
    return (best, 0) if counts[best] else (" ", 0)


def rows_of(text: str, name: str, delimiter: str, skip: int) -> list[Row]:
    """Return the lines that are not blank, without the empty cells that spreadsheets add."""
    if delimiter == " ":
        lines = enumerate(map(str.strip, lines_of(text)), 1)
        pairs = [(n, [line] if HEADING.fullmatch(line) else line.split()) for n, line in lines]
    else:
        csv.field_size_limit(max(len(text), 131072))
        source = io.StringIO(text, newline="")
        reader = csv.reader(source, delimiter=delimiter, skipinitialspace=True, strict=True)
        pairs, before = [], 0
        try:
            for cells in reader:
                pairs.append((before + 1, [cell.strip() for cell in cells]))
                before = reader.line_num
        except csv.Error:
            message = "a quotation mark is not closed, or stands inside a cell"
            hint = 'write a quotation mark inside a cell twice: "a ""b"" c"'
            raise error_at(place_of(text, name, before + 1), message, hint) from None
    rows = []
    for line, cells in pairs:
        while cells and not cells[-1]:
            cells.pop()
        if cells and line > skip:
            texts = list(map(of_cell, cells))
            texts = _with_points(texts) if delimiter in ";\t" else texts
            rows.append(Row(line, texts, delimiter == " "))
    return rows


def _with_points(cells: list[str]) -> list[str]:
    return [cell.replace(",", ".") if COMMA.fullmatch(cell) else cell for cell in cells]


def place_of(text: str, name: str, line: int, column: int = 0) -> Place:
    """Return the place of a line, and of a column of it, of the text of a file."""
    return Place(name, line, column, "".join(lines_of(text)[line - 1 : line]))


def column_of(line: str, delimiter: str, index: int) -> int:
    """Return the column, from 1, where a cell of a line starts."""
    if delimiter == " ":
        starts = [m.start() for m in re.finditer(r"\S+", line)]
        return starts[index] + 1 if index < len(starts) else 1
    quoted = False
    cell, is_quoted_cell, begins = 0, False, True
    for at, character in enumerate(line):
        ends = character == delimiter and not quoted
        if cell == index and (ends or not character.isspace()):
            return at + 1
        if ends:
            cell, is_quoted_cell, begins = cell + 1, False, True
            continue
        is_quoted_cell |= begins and character == '"'  # elsewhere it is a character like others
        quoted ^= is_quoted_cell and character == '"'
        begins &= character == " "
    return max(1, len(line))
