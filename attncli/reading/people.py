"""People in tables and lists: their names, and what else means one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from attncli.core.errors import Place
from attncli.core.records import Record, replace
from attncli.core.text.strings import lines_of, regex, visible
from attncli.reading.cells import CsvText, Table
from attncli.reading.document import FileName
from attncli.reading.headings import NO_STUDENTS, folded_heading, name_columns
from attncli.reading.read import read_table

IDENTIFIER = regex(
    r"(?s:.*\b(s?id|sis|e-?mail|mail|user ?name|login|net ?id|(student|id) number)\b.*|matr.*)"
)
"""Headings of the columns in which each student has another number, address or word."""

QUOTED_CELL = regex(r'"(([^"]|"")*)"')
"""A line that is one cell of CSV in quotes; a quote in it is written twice."""

ROSTER_HINT = "head the column of the names by Name, or write one name per line"


class Person(Record):
    """A student: the name, the row of the roster, and other words that mean this student alone."""

    name: str
    cells: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()


def read_people(source: FileName, stdin: BinaryIO | None = None) -> tuple[list[Person], list[str]]:
    """Return the people of a table, and the headings of its columns.

    The first line of a CSV file heads a column Name or Student, or First name and Last name; any
    other file has one name per line. "-" is standard input.
    """
    table = read_table(source, stdin)
    name = table.name
    if isinstance(table, CsvText) and table.delimiter == " ":  # no cells, so each line is a name
        people, heads = [Person(line, (line,)) for line in _lines(table.text)], ["name"]
    else:
        heads = table.rows[0].cells
        people = list(_told_apart(list(_people(table, name))))
    if not people:
        raise Place(name).error("the roster has no names", ROSTER_HINT)
    return people, heads


def _lines(text: str) -> Iterator[str]:
    for number, line in enumerate(filter(None, map(str.strip, lines_of(text)))):
        match = QUOTED_CELL.fullmatch(line)
        plain = " ".join((match[1].replace('""', '"') if match else line).split())
        if plain and not (number == 0 and name_columns([folded_heading(plain)])):
            yield plain


def _people(table: Table, name: str) -> Iterator[Person]:
    header, *rows = table.rows
    words = list(map(folded_heading, header.cells))
    columns = name_columns(words)
    if not columns:
        heads = ", ".join(map(visible, header.cells))
        message = f"no column of the roster is that of the names: {heads}"
        raise Place(name, header.line).error(message, ROSTER_HINT)
    identifying = [index for index, word in enumerate(words) if IDENTIFIER.fullmatch(word)]
    for row in rows:
        cells = [*row.cells, *[""] * (len(words) - len(row.cells))]
        identifiers = tuple(cells[index] for index in identifying if cells[index])
        called = " ".join(" ".join(cells[index] for index in columns).split())
        called = called or next(iter(identifiers), "")
        if called and folded_heading(called) not in NO_STUDENTS:
            yield Person(called, tuple(cells[: len(words)]), identifiers)


def _told_apart(people: Sequence[Person]) -> Iterator[Person]:
    """Yield the students, those of one name with their numbers, as Ann Lee (4711)."""
    count = Counter(person.name for person in people)
    for one in people:
        is_alone = count[one.name] == 1 or not one.identifiers
        yield one if is_alone else replace(one, name=f"{one.name} ({one.identifiers[0]})")
