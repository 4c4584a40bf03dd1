"""The answers of a class in one table: one row per student, or one row per number.

A wide table has cells in its headings, such as `Name, "What is scores[1,1]?", "2: scores[1,1]"`; a
long one the columns `student, problem, step, batch, head, row, column, hidden, value`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from shlex import quote

from attncli.core.errors import Fault, InputError, KeyPath, Locate, Place, nowhere, refuse
from attncli.core.numbers.grid import is_word
from attncli.core.tape.step_words import may_mean_step
from attncli.core.text.strings import all_of, did_you_mean, regex, visible, whole_names
from attncli.reading import document, headings
from attncli.reading.cells import CellRow, Table
from attncli.reading.document import PROBLEM, STUDENT_KEYS, Document, KnownClass, twice
from attncli.reading.headings import NO_STUDENTS, folded_heading

PARTNER = regex(r"(?s:.*\b(partner|team|group|peer|with|mit)\b.*)")
"""Headings, in lower case, of columns that may name other students than the one of the row."""

MAX_HEADERS = 3
"""Maximum number of rows of headings: Qualtrics writes codes, questions and identifiers."""
IDENTIFIERS = '{"ImportId"'
"""How the cells in Qualtrics' row of identifiers begin."""
MAX_SAMPLE = 100
"""Maximum number of rows in which the students' names are searched."""
MAX_HEADINGS = 20
"""Maximum number of headings that a message names."""


def joined(row: CellRow, columns: Sequence[int]) -> str:
    """Return the text of some cells of a row, with single blanks."""
    return " ".join(" ".join(row.cells[n] for n in columns if n < len(row.cells)).split())


def meanings(row: CellRow, known: KnownClass) -> list[str]:
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

    def __init__(self, table: Table, known: KnownClass) -> None:
        self._table, self._known = table, known
        tops = table.rows[:MAX_HEADERS]
        keys = [self._keys(meanings(row, known)) for row in tops]
        with_cells = (n for n, row in enumerate(keys) if any("[" in key for key in row.values()))
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
        shortest: dict[str, str] = {}  # of the headings of a cell: S[1,1], not "Points - S[1,1]"
        for n, key in keys[top].items():
            shortest[key] = min(shortest.get(key, self.heads[n]), self.heads[n], key=len)
        self.keys = {
            n: key
            for n, key in keys[top].items()
            if shortest[key] == self.heads[n] or shortest[key] not in self.heads[n]
        }
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
        if any(len(word) > 2 and may_mean_step(word, ()) for word in firsts):
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
        likely = {n: cell for n in others if (cell := headings.likely_cell(self.heads[n]))}
        for index, cell in likely.items():
            head = self.others[index]
            hint = f"if it means {cell}, write that, or add {_flag(head, cell)}"
            yield self._fault(f"{head} is not the name of one cell", hint, index)
        named = ", ".join(visible(head) for head in self.heads[:MAX_HEADINGS])
        if not likely and not last.keys() - set(document.KEYS_BESIDE_STEPS):
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
            if headings.name_columns([word]):
                continue
            if word in document.KEYS_BESIDE_STEPS:
                keys[index] = word
            elif cell in self._known.headings.values():
                keys[index] = cell
            elif named := headings.named_cell(cell):
                which = self._known.which(named[0]) if self._known.which else None
                keys[index] = named[1] if which is None else f"{which + 1}: {named[1]}"
        return keys

    def _student_columns(self) -> list[int]:
        """Return the columns that tell the student of a row, by the headings or by the class.

        Where several do, such as a name and an address, all count, so that one may be wrong.
        """
        headed = headings.name_columns(self.words)
        free = [n for n in self.others if not PARTNER.fullmatch(self.words[n])]
        pairs = [[a, b] for a, b in pairwise(free) if b == a + 1]
        named = self._naming([headed, *([n] for n in free)]) or self._naming(pairs)
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

    def _naming(self, options: Sequence[list[int]]) -> list[tuple[list[int], list[str]]]:
        """Return those columns of which at least half of the texts name a student, and whom."""
        naming = []
        for columns in options:
            texts = [joined(row, columns) for row in self.rows[:: len(self.rows) // MAX_SAMPLE + 1]]
            people = list(map(self._known.who, texts))
            if 0 < len(texts) - texts.count("") <= 2 * (len(people) - people.count("")):
                naming.append((columns, people))
        return naming

    def heading(self, path: KeyPath) -> Place:
        column = next((n for n, key in self.keys.items() if (key,) == path[:1]), None)
        return Place("") if column is None else self._place(column)

    def _place(self, column: int | None) -> Place:
        starts = map(len, whole_names(self.header.cells)[:column])
        return self._table.place(self.header, None if column is None else sum(starts))

    def _fault(self, message: str, hint: str, column: int | None = None) -> Fault:
        return Fault(message, hint=hint, place=self._place(column))


def _flag(heading: str, meaning: str) -> str:
    return f"--map {quote(f'{heading}={meaning}')}"


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

LONG = {"step", "row", "value"}
"""Columns of a table with one row per number; the others of it may be left out."""

NO_RESPONSE = "-"
"""The text in the responses that Moodle exports for a question that was not answered."""


def submissions_in(table: Table, known: KnownClass) -> Iterator[Document]:
    """Yield the submissions of a table of a class; none if it is no such table.

    The error of a submission says what is wrong with its lines.
    """
    if not table.rows:
        return
    words = map(folded_heading, meanings(table.rows[0], known))
    meant = ["student" if word in STUDENT_KEYS else word for word in words]
    if set(meant) >= LONG:
        for answers in _long(table, meant, known):
            yield answers.document()
    elif (columns := ClassColumns(table, known)).is_of_class():
        for answers in _wide(table, columns, known):  # one by one, to need little memory
            yield answers.document(columns.heading)


class _Answers:
    """The answers of one student to one problem, or to all, with their places and faults."""

    def __init__(self, table: Table, row: CellRow) -> None:
        self._table, self._row = table, row
        self._cells: dict[str, tuple[str, CellRow, int]] = {}
        self.faults: list[Fault] = []

    def add(self, key: str, written: str, row: CellRow, column: int) -> None:
        if key in self._cells:
            self.refuse(row, column, twice(key, self._cells[key][1].line), "keep one of them")
        else:
            self._cells[key] = written, row, column

    def refuse(self, row: CellRow, column: int, message: str, hint: str) -> None:
        self.faults.append(Fault(message, hint=hint, place=self._table.place(row, column)))

    def document(self, heading: Locate = nowhere) -> Document:
        values = {key: written for key, (written, _, _) in self._cells.items()}
        error = InputError(*self.faults) if self.faults else None
        return Document(self._table.name, values, self._locate, {}, False, heading, error)

    def _locate(self, path: KeyPath) -> Place:
        _, row, column = self._cells.get(str(path[0]) if path else "", ("", self._row, None))
        return self._table.place(row, column)


def _wide(table: Table, columns: ClassColumns, known: KnownClass) -> Iterator[_Answers]:
    """Yield the answers of each student; of several rows for one problem, the latest counts."""
    faults = [*columns.faults()]
    if not columns.students or not columns.rows:
        refuse(faults)
    problem = [index for index, key in columns.keys.items() if key == PROBLEM]
    first, *_ = [*columns.students, 0]
    by_student = defaultdict[object, list[CellRow]](list)
    for row in columns.rows:
        name = known.student(joined(row, columns.students))
        if name or joined(row, [*columns.keys]):
            by_student[(name, joined(row, problem)) if name else row.line].append(row)
    for rows in by_student.values():
        latest = _latest(rows, [*columns.others]) if len(rows) > 1 else None
        row = latest or rows[-1]
        answers = _Answers(table, row)
        answers.faults += faults
        name = joined(row, columns.students)
        answers.add("student", name, row, first)
        if latest is None and len({joined(one, [*columns.keys]) for one in rows}) > 1:
            more = [f"{len(rows) - MAX_HEADINGS} more"] if len(rows) > MAX_HEADINGS else []
            lines = all_of([*(str(one.line) for one in rows[:MAX_HEADINGS]), *more])
            said = visible(known.student(name))
            message = f"{said} has answers in lines {lines}, and no time tells the latest"
            answers.refuse(row, first, message, "keep one of them")
        for index, key in columns.keys.items():
            written = joined(row, [index]).removeprefix("'")
            answers.add(key, "" if written == NO_RESPONSE else written, row, index)
        if len(row.cells) > len(columns.heads):
            message = f"this row has {len(row.cells)} cells, the headings {len(columns.heads)}"
            hint = 'quote numbers with a comma: "0,14"'
            answers.refuse(row, len(columns.heads), message, hint)
        yield answers


def _latest(rows: Sequence[CellRow], columns: Sequence[int]) -> CellRow | None:
    """Return the row that was sent last; None if no column tells the times.

    Of several columns with times, the last is that at which a form was sent.
    """
    from_last = rows[::-1]  # of rows sent at the same time, the lowest counts
    for column in reversed(columns):
        times = [joined(row, [column]) for row in from_last]
        orders = [[_moment(time, order) for time in times] for order in ((2, 1, 0), (2, 0, 1))]
        latest = {moments.index(max(moments)) for moments in orders if all(moments)}
        if len(latest) == 1:
            return from_last[latest.pop()]
    return None


def _moment(time: str, order: Sequence[int]) -> list[int]:
    """Return year, month, day, hour, …; [] if a time does not have them in this order.

    >>> _moment("2/1/2024 1:05 PM", (2, 1, 0)), _moment("2024-01-02 13:05", (2, 1, 0))
    ([2024, 1, 2, 13, 5], [2024, 1, 2, 13, 5])
    """
    for number, month in enumerate(MONTHS, 1):
        time = re.sub(rf"\b{month}[a-z]*", str(number), time, flags=re.IGNORECASE)
    numbers = [int(number) for number in re.findall(r"\d{1,9}", time)]
    if len(numbers) < 5 or not re.search(r"\d{4}|[/.]", time):  # 24-01-02 may be a day or a year
        return []
    date = numbers[:3] if numbers[0] > 31 else [numbers[index] for index in order]
    if half := re.search(r"\d *([ap])\.?m\b", time, re.IGNORECASE):
        numbers[3] = numbers[3] % 12 + 12 * (half[1] in "pP")
    return [*date, *numbers[3:6]] if date[1] <= 12 else []


def _long(table: Table, meant: Sequence[str], known: KnownClass) -> Iterable[_Answers]:
    rows = table.rows[1:]
    lines = [defaultdict(str, zip(meant, row.cells, strict=False)) for row in rows]
    with_rows = {cells["step"] for cells in lines if cells["row"]}
    submissions: dict[tuple[str, str], _Answers] = {}
    for row, cells in zip(rows, lines, strict=True):
        group = known.student(cells["student"]), cells[PROBLEM]
        if group not in submissions:
            submissions[group] = _Answers(table, row)
            for word in filter(cells.get, ("student", PROBLEM)):
                submissions[group].add(word, cells[word], row, meant.index(word))
        key = cells["step"]
        refuse = partial(submissions[group].refuse, row)
        if not key:
            message = "this line does not tell of which step its number is"
            refuse(meant.index("step"), message, "write the step's name")
        elif cells["column"] and not cells["row"] and key in with_rows:
            message = f"this line tells the column of {visible(key)}, but no row"
            refuse(meant.index("row"), message, "write the row's number or label")
        else:
            value = cells["value"].removeprefix("'")
            submissions[group].add(_cell_of(cells), value, row, meant.index("value"))
    return submissions.values()


def _cell_of(cells: Mapping[str, str]) -> str:
    key = cells["step"]
    for axis in ("batch", "head"):
        if place := cells[axis]:
            key += f"[{axis} {place.removeprefix(axis).strip()}]"
    places = [cells["row"], cells["column"], cells["hidden"]]
    named = [place for place in places if place and place != "sum"]
    quoted = [f'"{p}"' if set(p) & set(",[]") and '"' not in p else p for p in named]
    return f"{key}[{', '.join(quoted)}]" if named else key
