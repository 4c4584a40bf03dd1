"""What the columns of a class's table hold: names of students, cells of steps, remarks, times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from shlex import quote

from attncli.core.errors import Fault, InputError, KeyPath, Place
from attncli.core.numbers.grid import is_word
from attncli.core.tape.words import ALIASES, may_mean_step
from attncli.core.text.escapes import visible
from attncli.core.text.sentences import all_of, did_you_mean, near_words, whole_names
from attncli.reading.csv_blocks import CsvRow, CsvText
from attncli.reading.document import KnownClass, StudentNames
from attncli.reading.submission import KEYS_BESIDE_STEPS, STUDENT_KEYS

NAMES = (
    STUDENT_KEYS,
    ("first name", "firstname", "first", "given name", "vorname"),
    ("last name", "lastname", "last", "surname", "family name", "nachname"),
    ("full name", "student name", "your name", "username", "email address", "email", "e-mail"),
)
"""Headings of whole names, of their parts, and of what is used where there are neither."""
NO_STUDENTS = ("points possible", "average", "overall average", "mean", "median", "sum", "total")
"""First cells of rows, in lower case, that are of no student."""
PARTNER = re.compile(r".*\b(partner|team|group|peer|with|mit)\b.*")
"""Headings, in lower case, of columns that may name other students than the one of the row."""

MAX_HEADERS = 3
"""Maximum number of rows of headings: Qualtrics writes codes, questions and identifiers."""
IDENTIFIERS = '{"ImportId"'
"""How the cells in Qualtrics' row of identifiers begin."""
MAX_SAMPLE = 100
"""Maximum number of rows by which the columns of the students' names are found."""
MAX_HEADINGS = 20
"""Maximum number of headings that a message names."""

IN_BRACKETS = re.compile(
    r"\s*((?:\[\s*(?:(?:head|batch)\s*)?\d+\s*\]\s*)*"
    r'\[(?!(?:score|points|feedback|comment)\])(?:"[^"]*"|[^\[\]"])+\])',
    re.IGNORECASE,
)
"""The places in brackets behind the name of a step; not `[Score]`, which forms add."""

AXIS_WORD = re.compile(r"(?<=[\[,])\s*(?:row|column|col)\s+(?=\d)", re.IGNORECASE)
"""A word before the number of a place, as in the grids of forms."""

WHOLE_STEPS = ALIASES.keys() - {"sum"}
"""Steps that a heading may name without places; a column `sum` may hold points."""

NEARLY = re.compile(r"([^\W\d]{3,}?)([\s_({]*)(?:\[([^\[\]]*\d[^\[\]]*)|(\d+)[\s_,;]+(\d+))")
"""A word, what is between, and places in brackets or two numbers: perhaps a cell."""


def name_columns(words: Sequence[str]) -> list[int]:
    """Return the columns with the name of a student, or with its parts; headings are lower case."""
    found = [[words.index(word) for word in group if word in words][:1] for group in NAMES]
    whole, first, last, other = found
    return whole or [*first, *last] or other


def folded_heading(heading: str) -> str:
    """Return a heading in lower case and with single blanks, as headings are compared."""
    return " ".join(heading.casefold().split())


def joined(row: CsvRow, columns: Sequence[int]) -> str:
    """Return the text of some cells of a row, with single blanks."""
    return " ".join(" ".join(row.cells[n] for n in columns if n < len(row.cells)).split())


def meanings(row: CsvRow, known: KnownClass) -> list[str]:
    """Return the headings in a row, or what `--map` says that they mean."""
    mapped = {folded_heading(heading): cell for heading, cell in known.headings.items()}
    return [
        mapped.get(folded_heading(head), head) for head in map(",".join, whole_names(row.cells))
    ]


class ClassColumns:
    """The columns of a table with one row per student.

    Attributes:
        header: the row of the headings; `rows` are those of students below.
        heads: the headings as they are written.
        words: what they mean, in lower case.
        keys: the names of cells and other keys of submissions, by column.
        students: the columns with the name of the student, or with its parts.
        others: the headings of all other columns.
    """

    def __init__(self, table: CsvText, known: KnownClass) -> None:
        self._table, self._known = table, known
        tops = table.rows[:MAX_HEADERS]
        keys = [self._keys(meanings(row, known)) for row in tops]
        with_cells = (n for n, own in enumerate(keys) if any("[" in key for key in own.values()))
        top = next(with_cells, 0)
        ids = [n for n, row in enumerate(tops) if row.cells[0].startswith(IDENTIFIERS)]
        rows = table.rows[max(top, *ids, 0) + 1 :]
        self.rows = [row for row in rows if folded_heading(row.cells[0]) not in NO_STUDENTS]
        self.header, self.heads = tops[top], list(map(",".join, whole_names(tops[top].cells)))
        self.words = list(map(folded_heading, meanings(tops[top], known)))
        folded = list(map(folded_heading, self.heads))
        if unknown := [head for head in known.headings if folded_heading(head) not in folded]:
            hint = did_you_mean(unknown[0], map(visible, self.heads))
            raise InputError(self._fault(f"no column is headed {visible(unknown[0])}", hint))
        self.keys = {n: key for n, key in keys[top].items() if not self._is_about(n, keys[top])}
        others = [n for n in range(len(self.heads)) if n not in keys[top]]
        self.others = {n: visible(" ".join(self.heads[n].split())) for n in others}
        self.students = self._student_columns()

    def is_of_class(self) -> bool:
        """Return True if the table is not one of a matrix or of options."""
        cells = [key for key in self.keys.values() if "[" in key]
        if self._known.headings or (self.students and cells):
            return True
        corner = [self.words[0]] if 0 in self.others else []
        firsts = {*corner, *(row.cells[0] for row in self.rows)}
        if "" in corner or any(len(word) > 2 and may_mean_step(word, ()) for word in firsts):
            return False  # such a word is the key of a matrix
        if self.students:
            names = [joined(row, self.students) for row in self.rows]
            return sum(map(is_word, names)) > len(names) / 2
        return any("," in key for key in cells) and all(map(is_word, self.others.values()))

    def faults(self) -> Iterator[Fault]:
        """Yield why the headings do not tell the cells, or the students, of the table."""
        last = {key: index for index, key in self.keys.items()}
        for index, key in self.keys.items():
            if index != last[key]:
                message = f"the heading {visible(key)} is there twice"
                yield self._fault(message, "keep one of them", last[key])
        others = [n for n in self.others if n not in self.students]
        likely = {n: cell for n in others if (cell := likely_cell(self.heads[n]))}
        for index, cell in likely.items():
            head = self.others[index]
            hint = f"if it means {cell}, write that, or add {_flag(head, cell)}"
            yield self._fault(f"{head} is not the name of one cell", hint, index)
        named = ", ".join(visible(head) for head in self.heads[:MAX_HEADINGS])
        if not likely and not last.keys() - set(KEYS_BESIDE_STEPS):
            cell = "1: weights[1,1]" if self._known.which else "weights[1,1]"
            flags = [f"{_flag(self.others[n], cell)} for each, or a file of pairs" for n in others]
            hint = [f"columns such as {cell}", *flags][-1]  # in forms the questions come last
            yield self._fault(f"no heading names a cell of a step: {named}", f"add {hint}")
        if not self.students and len(self.rows) > 1:
            words = [n for n in others if not re.search(r"\d", joined(self.rows[0], [n]))]
            way = f", or add {_flag(self.others[words[0]], 'name')}" if words else ""
            message = f"no column is that of the students' names: {named}"
            yield self._fault(message, f"head it by Name{way}")

    def _keys(self, cells: Sequence[str]) -> dict[int, str]:
        keys: dict[int, str] = {}
        for index, cell in enumerate(cells):
            word = folded_heading(cell)
            if any(word in group for group in NAMES):
                continue
            if word in KEYS_BESIDE_STEPS:
                keys[index] = word
            elif cell in self._known.headings.values():
                keys[index] = cell
            elif found := named_cell(cell):
                which = self._known.which(found[0]) if self._known.which else None
                keys[index] = found[1] if which is None else f"{which + 1}: {found[1]}"
        return keys

    def _is_about(self, index: int, keys: Mapping[int, str]) -> bool:
        """Return True if a heading holds that of another column of its cell: "Points - S[1,1]"."""
        own = self.heads[index]
        same = (self.heads[n] for n in keys if n != index and keys[n] == keys[index])
        return any(head in own and head != own for head in same)

    def _student_columns(self) -> list[int]:
        """Return the columns that tell the student of a row, by the headings or by the class.

        Where several do, such as a name and an address, all count, so that one may be wrong.
        """
        headed, roster = name_columns(self.words), self._known.roster
        if not roster or not self.rows:
            return headed
        free = [n for n in self.others if not PARTNER.fullmatch(self.words[n])]
        pairs = [[a, b] for a, b in pairwise(free) if b == a + 1]
        named = self._naming(roster, [headed, *([n] for n in free)]) or self._naming(roster, pairs)
        if not named:
            return headed
        (first, people), *others = named
        for columns, who in others:
            same = [a == b for a, b in zip(people, who, strict=True) if a and b]
            if 2 * sum(same) >= len(same):
                first = [*first, *(n for n in columns if n not in first)]
            elif first[: len(headed)] != headed or not headed:
                both = all_of([self.others[n] for n in (first[0], columns[0])])
                hint = f"add {_flag(self.others[first[0]], 'name')}"
                raise InputError(self._fault(f"{both} name different students", hint))
        return first

    def _naming(
        self, roster: StudentNames, options: Sequence[list[int]]
    ) -> list[tuple[list[int], list[object]]]:
        """Return those columns of which at least half of the texts name a student, and whom."""
        found = []
        for columns in options:
            texts = [joined(row, columns) for row in self.rows[:: len(self.rows) // MAX_SAMPLE + 1]]
            people = list(map(roster.find, texts))
            if 0 < len(texts) - texts.count("") <= 2 * (len(people) - people.count(None)):
                found.append((columns, people))
        return found

    def heading(self, path: KeyPath) -> Place:
        """Return the place of the heading of a key."""
        column = next((n for n, key in self.keys.items() if (key,) == path[:1]), None)
        return Place("") if column is None else self._place(column)

    def _place(self, column: int | None) -> Place:
        starts = map(len, whole_names(self.header.cells)[:column])
        return self._table.place(self.header.line, None if column is None else sum(starts))

    def _fault(self, message: str, hint: str, column: int | None = None) -> Fault:
        return Fault(message, hint=hint, place=self._place(column))


def _flag(heading: str, meaning: str) -> str:
    return f"--map {quote(f'{heading}={meaning}')}"


def named_cell(heading: str) -> tuple[str, str] | None:
    """Return the text before the cell, or the step, that a heading names, and its name.

    A heading that names several cells names none of them.

    >>> named_cell("Problem 2: what is weights [row 1]? (2 points)"), named_cell("Response 1")
    (('Problem 2: what is', 'weights[1]'), None)
    """
    found = list(_cells(heading))
    if len({cell for _, cell in found}) == 1:
        return found[0]
    before, _, name = heading.rpartition(":")
    return (before, name.strip()) if not found and name.strip() in WHOLE_STEPS else None


def _cells(heading: str) -> Iterator[tuple[str, str]]:
    for places in IN_BRACKETS.finditer(heading):
        before = heading[: places.start()].rstrip(" ?:")
        starts = [word.start() for word in re.finditer(r"(?<![^\s:;,])[\w√∂(][^\s:;,]*", before)]
        for start in starts:  # of several words, the longest name counts
            if _may_be_cell(before[start:], places[0]):
                yield before[:start].strip(), before[start:] + AXIS_WORD.sub("", places[1])
                break


def _may_be_cell(name: str, places: str) -> bool:
    row, line, _ = name.partition("_")  # z_love is a row of z
    is_step = may_mean_step(name, ()) or (line != "" and len(row) <= 3)
    if len(name) == 2 and name.isalpha():  # "in [1-5]"
        is_step = any(name.casefold() in words for words in ALIASES.values())
    are_places = not places.startswith(" ") or re.search(r"[\d,]", places) is not None
    return is_step and (are_places or name in ALIASES)


def likely_cell(heading: str) -> str:
    """Return the cell that a heading may mean which names no single one; "" if it may mean none.

    >>> likely_cell("weigths[1,1]"), likely_cell("weights_1_2"), likely_cell("Group [A]")
    ('weights[1,1]', 'weights[1,2]', '')
    """
    cells = [cell for _, cell in _cells(heading)]
    for name, between, places, row, column in NEARLY.findall(heading):
        near = near_words(name, ALIASES) or ([] if between else ["weights"])
        is_pair = re.fullmatch(r"\d+\s*,\s*\d+", places)
        if row and may_mean_step(name, ()):
            cells.append(f"{name}[{row},{column}]")
        elif places and near and (is_pair or not between):
            cells.append(f"{near[0]}[{places}]")
    return cells[0] if cells else ""
