"""The answers of a class in one CSV table: one row per student, or one row per number.

A wide table has cells in its headings, such as `Name, "What is scores[1,1]?", "2: scores[1,1]"`; a
long one the columns `student, problem, step, batch, head, row, column, hidden, value`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from attncli.checking.submission import PROBLEM
from attncli.errors import Fault, InputError, KeyPath, Place, refuse
from attncli.files.class_columns import NO_STUDENTS, ClassColumns, folded_heading, joined
from attncli.files.csv_blocks import CsvRow, CsvText
from attncli.files.document import Document, KnownClass, StudentNames, twice
from attncli.records import Record, replace
from attncli.text.escapes import visible
from attncli.text.sentences import all_of

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

FindStudent: TypeAlias = Callable[[str], tuple[str, Fault | None]]


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


def submissions_in(text: str, name: str, folder: Path, known: KnownClass) -> Iterator[Document]:
    """Yield the submissions of a table of a class; none if the CSV text is no such table.

    The error of a submission says what is wrong with its lines.
    """
    table = CsvText(text, name)
    if not table.rows:
        return
    columns = ClassColumns(table, known)
    named = lru_cache(None)(partial(_named, known.roster))
    if columns.is_long:
        yield from _documents(_long(columns.long, columns.rows, named), table, folder)
    elif columns.is_of_class():
        for entries in _wide(columns, named):  # one by one, so that a class needs little memory
            yield from _documents(entries, table, folder, columns.heading)


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
        if (known := own.setdefault(entry.key, entry)) is not entry and fault is None:
            fault = Fault(twice(entry.key, known.line), hint="keep one of them")
        if fault:
            place = fault.place or table.place(entry.line, entry.column)
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


def _named(roster: StudentNames | None, text: str) -> tuple[str, Fault | None]:
    """Return the name of the student whom a text names; with a fault if that is not one alone."""
    if not roster or not text:
        return text, None
    if person := roster.find(text):
        return person.name, None
    hint = f"the nearest name is {visible(roster.nearest(text))}"
    return text, Fault(f"{visible(text)} names no single student of the class", hint=hint)


def _wide(columns: ClassColumns, named: FindStudent) -> Iterator[Iterator[CellEntry]]:
    """Yield the entries of each student; of several rows to one problem, the latest counts."""
    faults = [*columns.faults()]
    if not columns.students or not columns.rows:
        refuse(faults)
    problem = [index for index, key in columns.keys.items() if key == PROBLEM]
    found: dict[object, list[CsvRow]] = {}
    for row in columns.rows:
        name, _ = named(joined(row, columns.students))
        if folded_heading(name) not in NO_STUDENTS and (name or joined(row, [*columns.keys])):
            group = (name, joined(row, problem)) if name else row.line
            found.setdefault(group, []).append(row)
    for rows in found.values():
        latest = _latest([joined(row, columns.time) for row in rows]) if len(rows) > 1 else 0
        row = rows[-1 if latest is None else latest]
        name, fault = named(joined(row, columns.students))
        if not name and columns.students:
            fault = Fault("this row has answers, but no name", hint="write the student's name")
        elif latest is None and len({joined(one, [*columns.keys]) for one in rows}) > 1:
            lines = all_of([str(one.line) for one in rows])
            message = f"{visible(name)} has answers in lines {lines}, and no time tells the latest"
            fault = Fault(message, hint="keep one of them")
        yield _entries(columns, row, name, [*faults, *filter(None, [fault])])


def _latest(times: Sequence[str]) -> int | None:
    """Return the index of the latest of several times, as days of months or months of days."""
    latest = set()
    for order in ((2, 1, 0), (2, 0, 1)):
        moments = [_moment(time, order) for time in times]
        if all(moments):
            latest.add(max(range(len(times)), key=lambda index: (moments[index], index)))
    return latest.pop() if len(latest) == 1 else None


def _moment(time: str, order: Sequence[int]) -> list[int]:
    """Return year, month, day, hour, … of a time; [] if a date in this order has none of them.

    >>> _moment("2/1/2024 1:05 PM", (2, 1, 0)), _moment("2024-01-02 13:05", (2, 1, 0))
    ([2024, 1, 2, 13, 5], [2024, 1, 2, 13, 5])
    """
    for number, month in enumerate(MONTHS, 1):
        time = re.sub(rf"\b{month}[a-z]*", str(number), time, flags=re.IGNORECASE)
    numbers = [int(number) for number in re.findall(r"\d+", time)]
    if len(numbers) < 5 or not re.search(r"\d{4}|/", time):  # 24-01-02 may be a day or a year
        return []
    date = numbers[:3] if numbers[0] > 31 else [numbers[index] for index in order]
    if half := re.search(r"\d *([ap])\.?m\b", time, re.IGNORECASE):
        numbers[3] = numbers[3] % 12 + 12 * (half[1] in "pP")
    return [*date, *numbers[3:6]] if date[1] <= 12 else []


def _entries(
    columns: ClassColumns, row: CsvRow, name: str, faults: Sequence[Fault]
) -> Iterator[CellEntry]:
    """Yield the cells of a student's row; columns without a key, such as a time, are skipped."""
    first = columns.students[0] if columns.students else 0
    yield CellEntry(row.line, "student", name, row.line, first)
    for fault in faults:
        yield CellEntry(row.line, "", "", row.line, first, fault)
    for index, key in columns.keys.items():
        written = row.cells[index].removeprefix("'") if index < len(row.cells) else ""
        yield CellEntry(row.line, key, written, row.line, index)
    if len(row.cells) > len(columns.heads):
        message = f"this row has {len(row.cells)} cells, the headings {len(columns.heads)}"
        fault = Fault(message, hint='quote numbers with a comma: "0,14"')
        yield CellEntry(row.line, "", "", row.line, len(columns.heads), fault)


def _long(meant: Sequence[str], rows: Sequence[CsvRow], named: FindStudent) -> Iterator[CellEntry]:
    lines, groups = [], set()
    for row in rows:
        padded = [*row.cells, *[""] * len(meant)]
        lines.append({word: cell for word, cell in zip(meant, padded, strict=False) if word})
    with_rows = {own["step"] for own in lines if own["row"]}
    for row, own in zip(rows, lines, strict=True):
        name, fault = named(own.get("student", ""))
        group = name, own.get("problem", "")
        for word, said in zip(("student", "problem"), group, strict=True):
            if said and group not in groups:
                known = fault if word == "student" else None
                yield CellEntry(group, word, said, row.line, meant.index(word), known)
        groups.add(group)
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
