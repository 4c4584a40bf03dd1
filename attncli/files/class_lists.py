"""Lists of a class: the names of its students, and the meanings of the columns of its table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from attncli.errors import Place, fail, located
from attncli.files.archives import is_file
from attncli.files.class_csv import STUDENT, folded_heading, name_columns
from attncli.files.csv_blocks import CsvText
from attncli.files.document import FileName, Headings, error_at
from attncli.files.read import STDIN, read, read_text
from attncli.text.escapes import lines_of, visible

ROSTER_HINT = "head the column of the names by Name, or write one name per line"

QUOTED_CELL = re.compile(r'"(([^"]|"")*)"')
"""A line that is one cell of CSV in quotes; a quote in it is written twice."""

NO_STUDENTS = ("points possible",)
"""Cells in the column of names of a gradebook, in lower case, that are no students."""

MAP_HINT = "write such as 'Question 1=weights[1,1]', or name a file of such pairs"


def read_roster(source: FileName, stdin: BinaryIO | None = None) -> list[str]:
    """Return the names of the students, in their order.

    The first line of a CSV file heads a column Name or Student, or First name and Last name; any
    other file has one name per line. "-" is standard input.
    """
    text = read_text(source, stdin)
    name = STDIN if source == "-" else str(source)
    found = [one for one in _names(text, name) if one and folded_heading(one) not in NO_STUDENTS]
    if not found:
        raise error_at(Place(name), "the roster has no names", ROSTER_HINT)
    return found


def _names(text: str, name: str) -> Iterator[str]:
    table = CsvText(text, name)
    if table.delimiter == " ":  # no cells, so each line is a name
        lines = [" ".join(_unquoted(line.strip()).split()) for line in lines_of(text)]
        filled = list(filter(None, lines))
        yield from filled[1:] if filled and filled[0].casefold() in STUDENT else filled
        return
    header, *rows = table.rows
    columns = name_columns(list(map(folded_heading, header.cells)))
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


def read_headings(flags: Sequence[str]) -> Headings:
    """Return the meaning of each heading: the name of a cell or a step, `name` or `comment`.

    A flag is a pair `HEADING=CELL`, or a file: a mapping in YAML or JSON, or CSV with two columns.
    """
    found: dict[str, str] = {}
    for flag in flags:
        heading, sign, cell = flag.rpartition("=")
        is_pair = bool(sign and heading.strip() and cell.strip())
        pairs = [(heading, cell)] if is_pair and not is_file(flag) else _of_file(flag)
        for known, meaning in pairs:
            word = known.strip()
            if found.setdefault(word, meaning.strip()) != meaning.strip():
                message = f"--map gives {visible(word)} two meanings"
                raise fail(message, hint="leave one of them out")
    return found


def _of_file(name: str) -> list[tuple[str, str]]:
    if not Path(name).suffix:
        raise fail(f"--map {visible(name)} is not of the form HEADING=CELL", hint=MAP_HINT)
    if Path(name).suffix.lower() in (".csv", ".tsv"):
        text = read_text(name)
        rows = CsvText(text, name).rows
        if wrong := [row.line for row in rows if len(row.cells) != 2]:
            message = "a line of a map has two cells: the heading and what it means"
            raise error_at(Place(name, wrong[0]), message, 'quote a comma: "weights[1,1]"')
        return [(row.cells[0], row.cells[1]) for row in rows]
    pairs: list[tuple[str, str]] = []
    for document in read(name):
        with located(document.locate):
            if document.error:
                raise document.error
            for heading, cell in document.values.items():
                if not isinstance(cell, str):
                    raise fail(
                        f"{visible(str(heading))} must mean a cell", str(heading), hint=MAP_HINT
                    )
                pairs.append((str(heading), cell))
    return pairs
