"""The names of a class: a CSV table with a column of names, or one name per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from attncli.errors import Place
from attncli.files.class_csv import STUDENT, name_columns, plain
from attncli.files.csv_text import CsvText
from attncli.files.document import Source, error_at
from attncli.files.read import STDIN, read_text
from attncli.text.escapes import lines_of, visible

ROSTER_HINT = "head the column of the names by Name, or write one name a line"

QUOTED_CELL = re.compile(r'"(([^"]|"")*)"')
"""A line that is one cell of CSV in quotes; a quote in it is written twice."""

NO_STUDENTS = ("points possible",)
"""Cells in the column of names of a gradebook, in lower case, that are no students."""


def read_roster(source: Source, stdin: BinaryIO | None = None) -> list[str]:
    """Return the names of the students, in their order.

    Args:
        source: a CSV file whose first line heads a column Name or Student, or First name and Last
            name; or a file with one name a line. "-" is standard input.
        stdin: what to read for "-".

    Raises:
        InputError: for a file that cannot be read, or names nobody.
    """
    text = read_text(source, stdin)
    name = STDIN if source == "-" else str(source)
    found = [one for one in _names(text, name) if one and plain(one) not in NO_STUDENTS]
    if not found:
        raise error_at(Place(name), "the roster names nobody", ROSTER_HINT)
    return found


def _names(text: str, name: str) -> Iterator[str]:
    table = CsvText(text, name)
    if table.delimiter == " ":  # no cells, so each line is a name
        lines = [" ".join(_unquoted(line.strip()).split()) for line in lines_of(text)]
        filled = list(filter(None, lines))
        yield from filled[1:] if filled and filled[0].casefold() in STUDENT else filled
        return
    header, *rows = table.rows
    columns = name_columns(list(map(plain, header.cells)))
    if not columns:
        heads = ", ".join(map(visible, header.cells))
        message = f"no column of the roster is that of the names: {heads}"
        raise error_at(Place(name, header.line), message, ROSTER_HINT)
    for row in rows:
        parts = (row.cells[index] for index in columns if index < len(row.cells))
        yield " ".join(" ".join(parts).split())


def _unquoted(line: str) -> str:
    match = QUOTED_CELL.fullmatch(line)
    return match[1].replace('""', '"') if match else line
