"""The students of a class, and which column of its table holds what (`--map`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import BinaryIO

from attncli.core.errors import Place, fail
from attncli.core.records import Record, replace
from attncli.core.text.escapes import lines_of, visible
from attncli.reading.class_csv import NO_STUDENTS, folded_heading, name_columns
from attncli.reading.csv_blocks import CsvText
from attncli.reading.document import FileName, Headings, error_at
from attncli.reading.files import is_file
from attncli.reading.read import CSV_SUFFIXES, STDIN, read, read_text

ROSTER_HINT = "head the column of the names by Name, or write one name per line"

MAP_HINT = "write such as 'Question 1=weights[1,1]', or name a file of such pairs"

IDENTIFIER = re.compile(
    r".*\b(s?id|sis|e-?mail|mail|user ?name|login|net ?id|(student|id) number)\b.*|matr.*"
)
"""Headings of the columns in which each student has another number, address or word."""

MIN_IDENTIFIER = 3
"""Minimum length of a number or word that means a student: shorter ones are in many names."""

MIN_LIKENESS = 0.5
"""Minimum likeness (of `difflib`) of a text to a name that may be meant."""

QUOTED_CELL = re.compile(r'"(([^"]|"")*)"')
"""A line that is one cell of CSV in quotes; a quote in it is written twice."""

PLAIN_LETTERS = str.maketrans({"ı": "i", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"})
"""Letters without their strokes, which Unicode does not take apart as it does é."""

UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
"""How letters with marks are written where a keyboard has none."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a name in the form in which names are compared.

    >>> words_of("Zoë O'Brien-Groß"), words_of("LOVELACE, Ada_hw2")
    (('zoe', 'o', 'brien', 'gross'), ('lovelace', 'ada', 'hw2'))
    """
    from unicodedata import combining, normalize  # which few commands need

    folded = normalize("NFKD", text.casefold().translate(PLAIN_LETTERS))
    return tuple(re.findall(r"[^\W_]+", "".join(c for c in folded if not combining(c))))


class Person(Record):
    """A student: the name, the row of the roster, and other words that mean this student alone."""

    name: str
    cells: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()


class Roster:
    """The students of a class; `heads` are the headings of the roster's columns."""

    def __init__(self, people: Sequence[Person], heads: Sequence[str] = ()) -> None:
        self.people, self.heads = tuple(people), tuple(heads)
        self._named = {person.name: person for person in self.people}
        self._by_key: dict[str, list[Person]] = {}
        for keys_of in (_parts_of_name, _whole_keys):  # a whole name replaces a part of others
            found: dict[str, list[Person]] = {}
            for person in self.people:
                for key in keys_of(person):
                    found.setdefault(key, []).append(person)
            self._by_key |= found

    def __bool__(self) -> bool:
        return bool(self.people)

    def find(self, text: str) -> Person | None:
        """Return the student whom a text names; None for nobody, or if it may be several.

        Other words, as in the name of a file, do not matter. Of two names of which one is a part of
        the other, the longer one counts.

        >>> roster = Roster([Person("Ada Lovelace"), Person("Zoe Blum", (), ("4711",))])
        >>> [roster.find(text).name for text in ("lovelace_ada_hw2", "blumzoe_3_hw2", "4711-hw")]
        ['Ada Lovelace', 'Zoe Blum', 'Zoe Blum']
        """
        if text in self._named:
            return self._named[text]
        words = words_of(text)
        spans = combinations(range(len(words) + 1), 2)
        named = {span: self._by_key.get("".join(words[slice(*span)]), ()) for span in spans}
        known = [(i, j) for (i, j), people in named.items() if people]
        whole = [(i, j) for i, j in known if not any(_is_inside((i, j), other) for other in known)]
        meant = [{person.name for person in named[span]} for span in whole]
        names = set.intersection(*meant) if meant else set()
        return self._named[names.pop()] if len(names) == 1 else None

    def nearest(self, text: str) -> Sequence[str]:
        """Return the names that share the most words with a text, or the one most like it.

        >>> roster = Roster([Person("Ada Lovelace"), Person("Bo Kim"), Person("Min-jun Kim")])
        >>> [roster.nearest(text) for text in ("Ada", "Lovlace", "kim_hw2", "Zoe")]
        [['Ada Lovelace'], ['Ada Lovelace'], ['Bo Kim', 'Min-jun Kim'], []]
        """
        from difflib import get_close_matches

        said = sorted(words_of(text))
        names = {" ".join(sorted(words_of(person.name))): person.name for person in self.people}
        shared = {name: len({*said}.intersection(name.split())) for name in names}
        most = max(shared.values(), default=0)
        if most:
            return [names[name] for name in names if shared[name] == most]
        return [names[name] for name in get_close_matches(" ".join(said), names, 1, MIN_LIKENESS)]

    def written_in(self, text: str) -> list[str]:
        """Return the students whose names, as the roster has them, are in a text."""
        found = set()
        for name in sorted(self._named, key=len, reverse=True):  # Jan Kleinschmidt before Jan Klein
            if name in text:
                found.add(name)
                text = text.replace(name, " ")
        return [name for name in self._named if name in found]


def _is_inside(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return span != other and other[0] <= span[0] and span[1] <= other[1]


def _spellings(person: Person) -> list[tuple[str, ...]]:
    """Return the words of a name, the first name first, also with umlauts as two letters."""
    name = " ".join(reversed(person.name.casefold().split(",", 1)))
    return [words_of(text) for text in (name, name.translate(UMLAUTS))]


def _whole_keys(person: Person) -> set[str]:
    """Return the texts that mean a student, without blanks: the name in any order, and numbers."""
    spellings = _spellings(person)
    found = {"".join(words[i:] + words[:i]) for words in spellings for i in range(len(words))}
    for identifier in person.identifiers:
        local, at, _ = identifier.partition("@")
        keys = {"".join(words_of(identifier)), "".join(words_of(local)) if at else ""}
        found |= {key for key in keys if len(key) >= MIN_IDENTIFIER}
    return found


def _parts_of_name(person: Person) -> set[str]:
    """Return the first word of a longer name with one other, in both orders."""
    pairs = ((words[0], word) for words in _spellings(person) for word in words[1:])
    return {text for one, other in pairs for text in (one + other, other + one)}


def read_roster(source: FileName, stdin: BinaryIO | None = None) -> Roster:
    """Return the students of a class, in their order.

    The first line of a CSV file heads a column Name or Student, or First name and Last name; any
    other file has one name per line. "-" is standard input.
    """
    text = read_text(source, stdin)
    name = STDIN if source == "-" else str(source)
    table = CsvText(text, name)
    if table.delimiter == " ":  # no cells, so each line is a name
        people, heads = [Person(line, (line,)) for line in _lines(text)], ["name"]
    else:
        heads = table.rows[0].cells
        people = list(_told_apart(list(_people(table, name))))
    if not people:
        raise error_at(Place(name), "the roster has no names", ROSTER_HINT)
    return Roster(people, heads)


def _lines(text: str) -> Iterator[str]:
    for number, line in enumerate(filter(None, map(str.strip, lines_of(text)))):
        match = QUOTED_CELL.fullmatch(line)
        plain = " ".join((match[1].replace('""', '"') if match else line).split())
        if plain and not (number == 0 and name_columns([folded_heading(plain)])):
            yield plain


def _people(table: CsvText, name: str) -> Iterator[Person]:
    header, *rows = table.rows
    words = list(map(folded_heading, header.cells))
    columns = name_columns(words)
    if not columns:
        heads = ", ".join(map(visible, header.cells))
        message = f"no column of the roster is that of the names: {heads}"
        raise error_at(Place(name, header.line), message, ROSTER_HINT)
    own = [index for index, word in enumerate(words) if IDENTIFIER.fullmatch(word)]
    for row in rows:
        cells = [*row.cells, *[""] * (len(words) - len(row.cells))]
        identifiers = tuple(cells[index] for index in own if cells[index])
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
