"""The answers of a class in one CSV table: a row a student, or a row a number.

Wide: `name, "scores[1,1]", "scores[1,2]", …`, whose header names cells as attn prints them; or has
other words, and a mapping says which cell each is. With several problems, `2: scores[1,1]` is a
cell of the second. Long: `student, problem, step, head, row, column, value`, in any order;
`hidden` is the third place of a cell that has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from attncli.checking.submission import COMMENTS, STUDENT_KEYS, TITLE
from attncli.errors import Fault, InputError, KeyPath, Place
from attncli.files.csv_cells import Row, column_of, delimiter_of, place_of, rows_of
from attncli.files.document import Raw, error_at
from attncli.records import EMPTY, Record, replace
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean

STUDENT = (*STUDENT_KEYS, TITLE)
FIRST = ("first name", "firstname", "given name", "forename")
LAST = ("last name", "lastname", "surname", "family name")
OTHERWISE = (
    "full name",
    "student name",
    "your name",
    "username",
    "email address",
    "email",
    "e-mail",
)
"""What names a student where no column is called Name or Student, the first of them first."""
LONG = {
    **dict.fromkeys(STUDENT, "student"),
    **{word: word for word in ("problem", "step", "batch", "head", "row", "hidden", "value")},
    **dict.fromkeys(("column", "col"), "column"),
    **dict.fromkeys(("number", "answer", "given"), "value"),
}
"""What the columns of a long table may be called."""

NEEDED = {"step", "row", "value"}
CELL = re.compile(r"\w.*\[.*\]")


class Sheet(Record):
    """The answers of one student: numbers by the names of their cells, and their places.

    Attributes:
        heading: gives the place of a heading, where the cells are named in a first line.
        error: what is wrong with the lines of this student.
    """

    values: dict[str, Raw]
    locate: Callable[[KeyPath], Place]
    heading: Callable[[KeyPath], Place] | None = None
    error: InputError | None = None


class Entry(Record):
    """One cell of a table: whose it is, the name of the cell of a step, and what is written.

    Entries of the same group are of the same sheet. The line counts from 1, the column from 0.
    With a fault, the entry stands for a line that is no answer.
    """

    group: object
    key: str
    written: str
    line: int
    column: int
    fault: Fault | None = None


def name_columns(words: Sequence[str]) -> list[int]:
    """Return the columns of a table that hold a name, or the parts of it in their order.

    `words` are the headings in small letters.
    """
    for names in ((word,) for word in STUDENT):
        if names[0] in words:
            return [words.index(names[0])]
    parts = (next((words.index(w) for w in group if w in words), None) for group in (FIRST, LAST))
    found = [index for index in parts if index is not None]
    return found or [words.index(word) for word in OTHERWISE if word in words][:1]


def plain(heading: str) -> str:
    """Return a heading without what does not tell it from another: capitals and blanks."""
    return " ".join(heading.casefold().split())


def sheets(text: str, name: str, meanings: Mapping[str, str] = EMPTY) -> Iterator[Sheet]:
    """Yield the sheets of a table of a class; none where the CSV text of a file is no such table.

    Args:
        text: what stands in the file.
        name: the name of the file.
        meanings: what columns of a wide table hold, by their headings: the name of a cell or a
            step, `name` or `comment`.

    Raises:
        InputError: for a heading that stands twice, or a meaning of one that does not stand there.
            What is wrong with a line stands in its sheet.
    """
    delimiter, skip = delimiter_of(text)
    header, *rest = rows_of(text, name, delimiter, skip) or [Row(1, [])]
    mapped = {plain(heading): cell for heading, cell in meanings.items()}
    cells = _whole(header.cells)
    if unknown := [word for word in meanings if plain(word) not in map(plain, cells)]:
        message = f"no column is headed {visible(unknown[0])}"
        hint = did_you_mean(unknown[0], map(visible, cells))
        raise error_at(place_of(text, name, header.line), message, hint)
    cells = [mapped.get(plain(cell), cell) for cell in cells]
    words = list(map(plain, cells))
    meant = [LONG.get(word, "") for word in words]
    if set(meant) >= NEEDED:
        yield from _sheets(_long(meant, rest), text, name)
        return
    names = name_columns(words)
    is_cell = [cell in meanings.values() or CELL.fullmatch(cell) for cell in cells]
    if not names or not any(is_cell):
        return
    columns = {
        index: word if word in COMMENTS else cell
        for index, (cell, word) in enumerate(zip(cells, words, strict=True))
        if index not in names and word not in STUDENT and (word in COMMENTS or is_cell[index])
    }
    headings = {key: Entry(None, key, "", header.line, i) for i, key in columns.items()}
    if twice := [i for i, key in columns.items() if headings[key].column != i]:
        heading = Entry(None, "", "", header.line, twice[0])
        message = f"the heading {visible(columns[twice[0]])} stands twice"
        raise error_at(_place(text, name, heading), message, "keep one of them")

    def place(path: KeyPath) -> Place:
        heading = headings.get(str(path[0])) if path else None
        return _place(text, name, heading) if heading else Place("")

    for row in rest:  # so that no more is kept of a large class than the rows
        for sheet in _sheets(_wide(names, columns, len(cells), row), text, name):
            yield replace(sheet, heading=place)


def _sheets(entries: Iterator[Entry], text: str, name: str) -> list[Sheet]:
    found: dict[object, dict[str, Entry]] = {}
    errors: dict[object, list[Fault]] = {}
    for entry in entries:
        own = found.setdefault(entry.group, {})
        fault = entry.fault
        if fault is None and (known := own.setdefault(entry.key, entry)) is not entry:
            message = f"{visible(entry.key)} stands twice; it stood in line {known.line} already"
            fault = (
                None
                if entry.key in (*STUDENT, "problem")
                else Fault(message, hint="keep one of them")
            )
        if fault:
            place = _place(text, name, entry)
            errors.setdefault(entry.group, []).append(replace(fault, place=place))
    return [
        replace(_sheet(own, text, name), error=InputError(*errors[group]))
        if group in errors
        else _sheet(own, text, name)
        for group, own in found.items()
    ]


def _sheet(own: Mapping[str, Entry], text: str, name: str) -> Sheet:
    def locate(path: KeyPath) -> Place:
        if path and path[0] in own:
            return _place(text, name, own[str(path[0])])
        first = next(iter(own.values()), None)
        return place_of(text, name, first.line if first else 1)

    return Sheet({key: entry.written for key, entry in own.items()}, locate)


def _place(text: str, name: str, entry: Entry) -> Place:
    place = place_of(text, name, entry.line)
    column = column_of(place.text, delimiter_of(text)[0], entry.column)
    return place_of(text, name, entry.line, column)


def _wide(
    names: Sequence[int], columns: Mapping[int, str], headings: int, row: Row
) -> Iterator[Entry]:
    """Yield the cells of a row of a table, a student's; columns that are no cells are passed over.

    The exports of forms begin with such as the time and an address. The columns are keys by number,
    those of the name apart; there are so many headings.
    """
    padded = [*row.cells, *[""] * (headings - len(row.cells))]
    student = " ".join(" ".join(padded[index] for index in names).split())
    yield Entry(row.line, "student", student, row.line, names[0])
    for index, key in columns.items():
        yield Entry(row.line, key, padded[index], row.line, index)
    if len(row.cells) > headings:
        message = f"this row has {len(row.cells)} cells, the headings {headings}"
        fault = Fault(message, hint='quote numbers with a comma: "0,14"')
        yield Entry(row.line, "", "", row.line, headings, fault)


def _long(meant: Sequence[str], rows: Sequence[Row]) -> Iterator[Entry]:
    """Yield the cells of a table with a row a number."""
    lines = []
    for row in rows:
        padded = [*row.cells, *[""] * len(meant)]
        lines.append({word: cell for word, cell in zip(meant, padded, strict=False) if word})
    with_rows = {own["step"] for own in lines if own["row"]}
    for row, own in zip(rows, lines, strict=True):
        group = (own.get("student", ""), own.get("problem", ""))
        for word, said in zip(("student", "problem"), group, strict=True):
            if said:
                yield Entry(group, word, said, row.line, meant.index(word))
        key, wrong = own["step"], None
        if not key:
            message = "this line does not tell of which step its number is"
            wrong = ("step", Fault(message, hint="write the step's name"))
        elif own.get("column", "") and not own["row"] and key in with_rows:
            message = f"this line tells the column of {visible(key)}, but no row"
            wrong = ("row", Fault(message, hint="write the row's number or label"))
        if wrong:
            yield Entry(group, "", "", row.line, meant.index(wrong[0]), wrong[1])
            continue
        yield Entry(group, _cell_of(own), own["value"], row.line, meant.index("value"))


def _cell_of(own: Mapping[str, str]) -> str:
    """Return the name of the cell that a line of a long table is about."""
    key = own["step"]
    for axis in ("batch", "head"):
        if place := own.get(axis, ""):
            key += f"[{axis} {place.removeprefix(axis).strip()}]"
    places = [own["row"], own.get("column", ""), own.get("hidden", "")]
    if named := [_quoted(place) for place in places if place and place != "sum"]:
        key += f"[{', '.join(named)}]"
    return key


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
