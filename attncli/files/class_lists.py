"""The meanings of the columns of a class's table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attncli.errors import fail
from attncli.files.archives import is_file
from attncli.files.csv_blocks import CsvText
from attncli.files.document import Headings, error_at
from attncli.files.read import CSV_SUFFIXES, read, read_text
from attncli.text.escapes import visible

MAP_HINT = "write such as 'Question 1=weights[1,1]', or name a file of such pairs"


def read_headings(flags: Sequence[str]) -> Headings:
    """Return the meaning of each heading: the name of a cell or a step, `name` or `comment`.

    A flag is a pair `HEADING=CELL`, or a file: a mapping in YAML or JSON, or CSV with two columns.
    """
    found: dict[str, str] = {}
    for flag in flags:
        heading, sign, cell = flag.rpartition("=")
        is_pair = bool(sign and heading.strip() and cell.strip())
        pairs = [(heading, cell)] if is_pair and not is_file(flag) else _of_file(flag)
        for word, meaning in ((one.strip(), other.strip()) for one, other in pairs):
            if found.setdefault(word, meaning) != meaning:
                message = f"--map gives {visible(word)} two meanings"
                raise fail(message, hint="leave one of them out")
    return found


def _of_file(name: str) -> Sequence[tuple[str, str]]:
    suffix = Path(name).suffix.lower()
    if not suffix:
        raise fail(f"--map {visible(name)} is not of the form HEADING=CELL", hint=MAP_HINT)
    if suffix in CSV_SUFFIXES:
        table = CsvText(read_text(name), name)
        for row in table.rows:
            if len(row.cells) != 2:
                message = "a line of a map has two cells: the heading and what it means"
                raise table.error(row.line, message, 'quote a comma: "weights[1,1]"')
        return [(row.cells[0], row.cells[1]) for row in table.rows]
    pairs: list[tuple[str, str]] = []
    for document in read(name):
        if document.error:
            raise document.error
        for heading, cell in document.values.items():
            if not isinstance(cell, str) or not cell:
                message = f"{visible(heading)} must mean a cell"
                raise error_at(document.locate((heading,)), message, MAP_HINT)
            pairs.append((heading, cell))
    return pairs
