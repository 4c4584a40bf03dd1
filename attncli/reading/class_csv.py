"""The answers of a class in one CSV table: one row per student, or one row per number.

A wide table has cells in its headings, such as `Name, "What is scores[1,1]?", "2: scores[1,1]"`; a
long one the columns `student, problem, step, batch, head, row, column, hidden, value`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from attncli.core.errors import Fault, InputError, KeyPath, Place, refuse
from attncli.core.text.escapes import visible
from attncli.core.text.sentences import all_of
from attncli.reading.class_columns import ClassColumns, folded_heading, joined, meanings
from attncli.reading.csv_blocks import CsvRow, CsvText
from attncli.reading.document import Document, KnownClass, twice
from attncli.reading.submission import PROBLEM, STUDENT_KEYS

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

LONG = {"step", "row", "value"}
"""Columns of a table with one row per number; the others of it may be left out."""

NO_RESPONSE = "-"
"""The text in the responses that Moodle exports for a question that was not answered."""


def submissions_in(text: str, name: str, folder: Path, known: KnownClass) -> Iterator[Document]:
    """Yield the submissions of a table of a class; none if the CSV text is no such table.

    The error of a submission says what is wrong with its lines.
    """
    table = CsvText(text, name)
    if not table.rows:
        return
    words = map(folded_heading, meanings(table.rows[0], known))
    meant = ["student" if word in STUDENT_KEYS else word for word in words]
    if set(meant) >= LONG:
        for answers in _long(table, meant, known):
            yield answers.document(folder)
    elif (columns := ClassColumns(table, known)).is_of_class():
        for answers in _wide(table, columns, known):  # one by one, to need little memory
            yield answers.document(folder, columns.heading)


class _Answers:
    """The answers of one student to one problem, or to all, with their places and faults."""

    def __init__(self, table: CsvText, line: int) -> None:
        self._table, self._line = table, line
        self._cells: dict[str, tuple[str, int, int]] = {}
        self.faults: list[Fault] = []

    def add(self, key: str, written: str, line: int, column: int) -> None:
        if key in self._cells:
            self.refuse(line, column, twice(key, self._cells[key][1]), "keep one of them")
        else:
            self._cells[key] = written, line, column

    def refuse(self, line: int, column: int, message: str, hint: str) -> None:
        self.faults.append(Fault(message, hint=hint, place=self._table.place(line, column)))

    def document(self, folder: Path, heading: Callable[[KeyPath], Place] | None = None) -> Document:
        values = {key: written for key, (written, _, _) in self._cells.items()}
        error = InputError(*self.faults) if self.faults else None
        return Document(self._table.name, folder, values, self._locate, {}, False, heading, error)

    def _locate(self, path: KeyPath) -> Place:
        _, line, column = self._cells.get(str(path[0]) if path else "", ("", self._line, None))
        return self._table.place(line, column)


def _wide(table: CsvText, columns: ClassColumns, known: KnownClass) -> Iterator[_Answers]:
    """Yield the answers of each student; of several rows for one problem, the latest counts."""
    faults = [*columns.faults()]
    if not columns.students or not columns.rows:
        refuse(faults)
    problem = [index for index, key in columns.keys.items() if key == PROBLEM]
    first = columns.students[0] if columns.students else 0
    found: dict[object, list[CsvRow]] = {}
    for row in columns.rows:
        name = known.student(joined(row, columns.students))
        if name or joined(row, [*columns.keys]):
            group = (name, joined(row, problem)) if name else row.line
            found.setdefault(group, []).append(row)
    for rows in found.values():
        latest = _latest(rows, [*columns.others]) if len(rows) > 1 else 0
        row = rows[-1 if latest is None else latest]
        answers = _Answers(table, row.line)
        answers.faults += faults
        name = joined(row, columns.students)
        answers.add("student", name, row.line, first)
        if latest is None and len({joined(one, [*columns.keys]) for one in rows}) > 1:
            lines = all_of([str(one.line) for one in rows])
            said = visible(known.student(name))
            message = f"{said} has answers in lines {lines}, and no time tells the latest"
            answers.refuse(row.line, first, message, "keep one of them")
        for index, key in columns.keys.items():
            written = joined(row, [index]).removeprefix("'")
            answers.add(key, "" if written == NO_RESPONSE else written, row.line, index)
        if len(row.cells) > len(columns.heads):
            message = f"this row has {len(row.cells)} cells, the headings {len(columns.heads)}"
            hint = 'quote numbers with a comma: "0,14"'
            answers.refuse(row.line, len(columns.heads), message, hint)
        yield answers


def _latest(rows: Sequence[CsvRow], columns: Sequence[int]) -> int | None:
    """Return the index of the row that was sent last; None if no column tells the times.

    Of several columns with times, the last is that at which a form was sent.
    """
    for column in reversed(columns):
        latest = set()
        for order in ((2, 1, 0), (2, 0, 1)):
            moments = [_moment(joined(row, [column]), order) for row in rows]
            if all(moments):
                latest.add(max(range(len(rows)), key=lambda index: (moments[index], index)))
        if len(latest) == 1:
            return latest.pop()
    return None


def _moment(time: str, order: Sequence[int]) -> list[int]:
    """Return year, month, day, hour, …; [] if a time does not have them in this order.

    >>> _moment("2/1/2024 1:05 PM", (2, 1, 0)), _moment("2024-01-02 13:05", (2, 1, 0))
    ([2024, 1, 2, 13, 5], [2024, 1, 2, 13, 5])
    """
    for number, month in enumerate(MONTHS, 1):
        time = re.sub(rf"\b{month}[a-z]*", str(number), time, flags=re.IGNORECASE)
    numbers = [int(number) for number in re.findall(r"\d+", time)]
    if len(numbers) < 5 or not re.search(r"\d{4}|[/.]", time):  # 24-01-02 may be a day or a year
        return []
    date = numbers[:3] if numbers[0] > 31 else [numbers[index] for index in order]
    if half := re.search(r"\d *([ap])\.?m\b", time, re.IGNORECASE):
        numbers[3] = numbers[3] % 12 + 12 * (half[1] in "pP")
    return [*date, *numbers[3:6]] if date[1] <= 12 else []


def _long(table: CsvText, meant: Sequence[str], known: KnownClass) -> Iterable[_Answers]:
    rows = table.rows[1:]
    lines = [defaultdict(str, zip(meant, row.cells, strict=False)) for row in rows]
    with_rows = {own["step"] for own in lines if own["row"]}
    found: dict[tuple[str, str], _Answers] = {}
    for row, own in zip(rows, lines, strict=True):
        group = known.student(own["student"]), own[PROBLEM]
        if group not in found:
            found[group] = _Answers(table, row.line)
            for word in filter(own.get, ("student", PROBLEM)):
                found[group].add(word, own[word], row.line, meant.index(word))
        key = own["step"]
        refuse = partial(found[group].refuse, row.line)
        if not key:
            message = "this line does not tell of which step its number is"
            refuse(meant.index("step"), message, "write the step's name")
        elif own["column"] and not own["row"] and key in with_rows:
            message = f"this line tells the column of {visible(key)}, but no row"
            refuse(meant.index("row"), message, "write the row's number or label")
        else:
            value = own["value"].removeprefix("'")
            found[group].add(_cell_of(own), value, row.line, meant.index("value"))
    return found.values()


def _cell_of(own: Mapping[str, str]) -> str:
    key = own["step"]
    for axis in ("batch", "head"):
        if place := own[axis]:
            key += f"[{axis} {place.removeprefix(axis).strip()}]"
    places = [own["row"], own["column"], own["hidden"]]
    named = [place for place in places if place and place != "sum"]
    quoted = [f'"{p}"' if set(p) & set(",[]") and '"' not in p else p for p in named]
    return f"{key}[{', '.join(quoted)}]" if named else key
