"""The answers of a class in one CSV table: a row a student, or a row a number.

Wide: `name, "scores[1,1]", "scores[1,2]", …`, whose header names cells as attn prints them. Long:
`student, step, head, row, column, value`, its columns in any order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from attncli.errors import KeyPath, Place
from attncli.files.csv_cells import Row, column_of, delimiter_of, place_of, rows_of
from attncli.files.document import Raw, error_at
from attncli.records import Record
from attncli.text.escapes import visible

STUDENT = ("student", "name", "title")
COMMENT = ("comment", "comments", "remark", "remarks", "note", "notes")
LONG = {
    **dict.fromkeys(STUDENT, "student"),
    **{word: word for word in ("problem", "step", "batch", "head", "row", "value")},
    **dict.fromkeys(("column", "col"), "column"),
    **dict.fromkeys(("number", "answer", "given"), "value"),
}
"""What the columns of a long table may be called."""

NEEDED = {"step", "row", "value"}
CELL = re.compile(r"\w.*\[.*\]")


class Sheet(Record):
    """The answers of one student: numbers by the names of their cells, and their places."""

    values: dict[str, Raw]
    locate: Callable[[KeyPath], Place]


class Entry(Record):
    """One cell of a table: whose it is, the name of the cell of a step, and what is written.

    Entries of the same group are of the same sheet. The line counts from 1, the column from 0.
    """

    group: object
    key: str
    written: str
    line: int
    column: int


def sheets(text: str, name: str) -> list[Sheet]:
    """Return the sheets of a table of a class; none where the CSV text of a file is no such table.

    Raises:
        InputError: for a cell that stands twice, or a line without a step.
    """
    delimiter, skip = delimiter_of(text)
    header, *rest = rows_of(text, name, delimiter, skip) or [Row(1, [])]
    cells = _whole(header.cells)
    words = [" ".join(cell.casefold().split()) for cell in cells]
    meant = [LONG.get(word, "") for word in words]
    if set(meant) >= NEEDED:
        entries = _long(meant, rest, text, name)
    elif set(words) & set(STUDENT) and any(map(CELL.fullmatch, cells)):
        entries = _wide(cells, words, rest)
    else:
        return []
    return _sheets(entries, text, name)


def _sheets(entries: Iterator[Entry], text: str, name: str) -> list[Sheet]:
    found: dict[object, dict[str, Entry]] = {}
    for entry in entries:
        own = found.setdefault(entry.group, {})
        if (known := own.get(entry.key)) is None:
            own[entry.key] = entry
        elif entry.key not in STUDENT:
            message = f"{visible(entry.key)} stands twice; it stood in line {known.line} already"
            raise error_at(_place(text, name, entry), message, "keep one of them")
    return [_sheet(own, text, name) for own in found.values()]


def _sheet(own: Mapping[str, Entry], text: str, name: str) -> Sheet:
    def locate(path: KeyPath) -> Place:
        if path and path[0] in own:
            return _place(text, name, own[str(path[0])])
        return place_of(text, name, next(iter(own.values())).line)

    return Sheet({key: entry.written for key, entry in own.items()}, locate)


def _place(text: str, name: str, entry: Entry) -> Place:
    place = place_of(text, name, entry.line)
    column = column_of(place.text, delimiter_of(text)[0], entry.column)
    return place_of(text, name, entry.line, column)


def _wide(cells: Sequence[str], words: Sequence[str], rows: Sequence[Row]) -> Iterator[Entry]:
    """Yield the cells of a table with a row a student; columns that are no cells are passed over.

    The exports of forms begin with such as the time and an address.
    """
    names = [index for index, word in enumerate(words) if word in STUDENT][:1]
    for row in rows:
        for index, (cell, word) in enumerate(zip(cells, words, strict=True)):
            written = row.cells[index] if index < len(row.cells) else ""
            if index in names:
                yield Entry(row.line, "student", written, row.line, index)
            elif word in COMMENT or CELL.fullmatch(cell):
                key = word if word in COMMENT else cell
                yield Entry(row.line, key, written, row.line, index)


def _long(meant: Sequence[str], rows: Sequence[Row], text: str, name: str) -> Iterator[Entry]:
    """Yield the cells of a table with a row a number."""
    for row in rows:
        padded = [*row.cells, *[""] * len(meant)]
        own = {word: cell for word, cell in zip(meant, padded, strict=False) if word}
        if not own["step"]:
            message = "this line does not tell of which step its number is"
            raise error_at(place_of(text, name, row.line), message, "write the step's name")
        group = (own.get("student", ""), own.get("problem", ""))
        if group[0]:
            yield Entry(group, "student", group[0], row.line, meant.index("student"))
        key = own["step"]
        for axis in ("batch", "head"):
            if place := own.get(axis, ""):
                key += f"[{axis} {place.removeprefix(axis).strip()}]"
        places = [own["row"], own.get("column", "")]
        if named := [_quoted(place) for place in places if place and place != "sum"]:
            key += f"[{', '.join(named)}]"
        yield Entry(group, key, own["value"], row.line, meant.index("value"))


def _quoted(label: str) -> str:
    """Return a label as it stands in the name of a cell."""
    return f'"{label}"' if set(label) & set(",[]") and '"' not in label else label


def _whole(cells: Sequence[str]) -> list[str]:
    """Return the cells of a header, with names such as `scores[1,1]` that no quotes kept whole."""
    found: list[str] = []
    for cell in cells:
        if found and found[-1].count("[") > found[-1].count("]"):
            found[-1] += f",{cell}"
        else:
            found.append(cell)
    return found
