"""The answers of a class in one CSV table: one row per student, or one row per number.

A wide table has the names of cells in its header, such as `name, "scores[1,1]", "2: scores[1,1]"`;
a long one the columns `student, problem, step, batch, head, row, column, hidden, value`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from attncli.checking.submission import COMMENTS, STUDENT_KEYS, TITLE
from attncli.errors import Fault, InputError, KeyPath, Place
from attncli.files.csv_blocks import CsvRow, CsvText
from attncli.files.document import Document, Headings, twice
from attncli.records import EMPTY, Record, replace
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean

STUDENT = (*STUDENT_KEYS, TITLE)
FIRST = ("first name", "firstname", "given name", "forename")
LAST = ("last name", "lastname", "surname", "family name")
WHOLE = ("full name", "student name", "your name", "username", "email address", "email", "e-mail")
"""Headings of the students' names, the first of them first, if no column is Name or Student."""
LONG_HEADINGS = {
    **dict.fromkeys(STUDENT, "student"),
    **{word: word for word in ("problem", "step", "batch", "head", "row", "hidden", "value")},
    **dict.fromkeys(("column", "col"), "column"),
    **dict.fromkeys(("number", "answer", "given"), "value"),
}
"""The meanings of the headings of a long table."""

NEEDED = {"step", "row", "value"}
CELL_HEADING = re.compile(r"\w.*\[.*\]")


class CellEntry(Record):
    """One cell of a table, with its line from 1, and its column from 0.

    `group` is equal for all cells of one submission; `key` names the cell of a step, or what else
    it holds, such as `student`; `fault` says why the cell, or its line, is no answer.
    """

    group: object
    key: str
    written: str
    line: int
    column: int
    fault: Fault | None = None


def name_columns(words: Sequence[str]) -> list[int]:
    """Return the columns with the name of a student, or with its parts; headings are lower case."""
    named, first, last, whole = (
        [words.index(word) for word in group if word in words][:1]
        for group in (STUDENT, FIRST, LAST, WHOLE)
    )
    return named or [*first, *last] or whole


def folded_heading(heading: str) -> str:
    """Return a heading in lower case and with single blanks, as headings are compared."""
    return " ".join(heading.casefold().split())


def submissions_in(
    text: str, name: str, folder: Path, meanings: Headings = EMPTY
) -> Iterator[Document]:
    """Yield the submissions of a table of a class; none if the CSV text is no such table.

    `meanings` give by the headings of a wide table what their columns hold: the name of a cell or a
    step, `name` or `comment`. The error of a submission says what is wrong with its lines.
    """
    table = CsvText(text, name)
    header, *rows = table.rows or [CsvRow(1, [])]
    mapped = {folded_heading(heading): cell for heading, cell in meanings.items()}
    cells = _whole(header.cells)
    if unknown := [
        word for word in meanings if folded_heading(word) not in map(folded_heading, cells)
    ]:
        hint = did_you_mean(unknown[0], map(visible, cells))
        raise table.error(header.line, f"no column is headed {visible(unknown[0])}", hint)
    cells = [mapped.get(folded_heading(cell), cell) for cell in cells]
    words = list(map(folded_heading, cells))
    meant = [LONG_HEADINGS.get(word, "") for word in words]
    if set(meant) >= NEEDED:
        yield from _documents(_long(meant, rows), table, folder)
        return
    names = name_columns(words)
    is_cell = [cell in meanings.values() or CELL_HEADING.fullmatch(cell) for cell in cells]
    if not names or not any(is_cell):
        return
    columns = {
        index: word if word in COMMENTS else cell
        for index, (cell, word) in enumerate(zip(cells, words, strict=True))
        if index not in names and word not in STUDENT and (word in COMMENTS or is_cell[index])
    }
    headings = {key: index for index, key in columns.items()}
    if again := [index for index, key in columns.items() if headings[key] != index]:
        message = f"the heading {visible(columns[again[0]])} is there twice"
        raise table.error(header.line, message, "keep one of them", again[0])

    def place(path: KeyPath) -> Place:
        column = headings.get(str(path[0])) if path else None
        return Place("") if column is None else table.place(header.line, column)

    for row in rows:  # one by one, so that a large class needs little memory
        yield from _documents(_wide(names, columns, len(cells), row), table, folder, place)


def _documents(
    entries: Iterator[CellEntry],
    table: CsvText,
    folder: Path,
    heading: Callable[[KeyPath], Place] | None = None,
) -> Iterator[Document]:
    found: dict[object, dict[str, CellEntry]] = {}
    faults: dict[object, list[Fault]] = {}
    for entry in entries:
        own = found.setdefault(entry.group, {})
        fault = entry.fault
        if fault is None and (known := own.setdefault(entry.key, entry)) is not entry:
            if entry.key in (*STUDENT, "problem"):
                continue
            fault = Fault(twice(entry.key, known.line), hint="keep one of them")
        if fault:
            place = table.place(entry.line, entry.column)
            faults.setdefault(entry.group, []).append(replace(fault, place=place))
    for group, own in found.items():
        values = {key: entry.written for key, entry in own.items()}
        error = InputError(*faults[group]) if group in faults else None
        locate = partial(_locate, table, own)
        yield Document(table.name, folder, values, locate, heading=heading, error=error)


def _locate(table: CsvText, own: Mapping[str, CellEntry], path: KeyPath) -> Place:
    if path and (entry := own.get(str(path[0]))):
        return table.place(entry.line, entry.column)
    first = next(iter(own.values()), None)
    return table.place(first.line if first else 1)


def _wide(
    names: Sequence[int], columns: Mapping[int, str], headings: int, row: CsvRow
) -> Iterator[CellEntry]:
    """Yield the cells of one student's row; columns without a key, such as a time, are skipped."""
    padded = [*row.cells, *[""] * (headings - len(row.cells))]
    student = " ".join(" ".join(padded[index] for index in names).split())
    yield CellEntry(row.line, "student", student, row.line, names[0])
    for index, key in columns.items():
        yield CellEntry(row.line, key, padded[index], row.line, index)
    if len(row.cells) > headings:
        message = f"this row has {len(row.cells)} cells, the headings {headings}"
        fault = Fault(message, hint='quote numbers with a comma: "0,14"')
        yield CellEntry(row.line, "", "", row.line, headings, fault)


def _long(meant: Sequence[str], rows: Sequence[CsvRow]) -> Iterator[CellEntry]:
    lines = []
    for row in rows:
        padded = [*row.cells, *[""] * len(meant)]
        lines.append({word: cell for word, cell in zip(meant, padded, strict=False) if word})
    with_rows = {own["step"] for own in lines if own["row"]}
    for row, own in zip(rows, lines, strict=True):
        group = (own.get("student", ""), own.get("problem", ""))
        for word, said in zip(("student", "problem"), group, strict=True):
            if said:
                yield CellEntry(group, word, said, row.line, meant.index(word))
        key, wrong = own["step"], None
        if not key:
            message = "this line does not tell of which step its number is"
            wrong = "step", Fault(message, hint="write the step's name")
        elif own.get("column", "") and not own["row"] and key in with_rows:
            message = f"this line tells the column of {visible(key)}, but no row"
            wrong = "row", Fault(message, hint="write the row's number or label")
        if wrong:
            yield CellEntry(group, "", "", row.line, meant.index(wrong[0]), wrong[1])
        else:
            yield CellEntry(group, _cell_of(own), own["value"], row.line, meant.index("value"))


def _cell_of(own: Mapping[str, str]) -> str:
    key = own["step"]
    for axis in ("batch", "head"):
        if place := own.get(axis, ""):
            key += f"[{axis} {place.removeprefix(axis).strip()}]"
    places = [own["row"], own.get("column", ""), own.get("hidden", "")]
    named = [place for place in places if place and place != "sum"]
    quoted = [f'"{p}"' if set(p) & set(",[]") and '"' not in p else p for p in named]
    return f"{key}[{', '.join(quoted)}]" if named else key


def _whole(cells: Sequence[str]) -> list[str]:
    """Return the cells of a header; names such as `scores[1,1]` that had no quotes are joined."""
    found: list[str] = []
    for cell in cells:
        if found and found[-1].count("[") > found[-1].count("]"):
            found[-1] += f",{cell}"
        else:
            found.append(cell)
    return found
