"""One row per student with the points of each problem, as learning platforms import grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from attncli.checking.check import Report
from attncli.files.grading import Student
from attncli.files.roster import Roster
from attncli.rendering.csv import csv_text
from attncli.rendering.grades import roster_cell
from attncli.rendering.verdicts import points_text
from attncli.text.escapes import as_cell, visible

NO_GRADE = "-"
"""The text for points that are not known: Moodle and Canvas read it as no grade. An empty cell of a
new column would be 0 in Moodle."""

Points = Sequence[float | None]
"""The points of a student in each problem; None where they are not known."""


def totals(
    students: Iterable[Student], roster: Roster | None, delimiter: str = ","
) -> tuple[str, list[str]]:
    """Return the table, with the rows and columns of the roster, and sentences on who has no grade.

    Without a roster, there is a row for each student.
    """
    found: dict[str, list[Points]] = {}
    titles: list[list[str]] = []
    for student in students:
        reports = [one if isinstance(one, Report) else None for one in student]
        points = [one.total if one and one.marking.points else None for one in reports]
        found.setdefault(student[0].name, []).append(points)
        titles.append([one.title for one in student])
    heads = [*roster.heads] if roster else ["name"]
    for number, several in enumerate(zip_longest(*titles, fillvalue=""), 1):
        title = column_title(several, number)
        heads.append(f"problem {number}" if title in heads else title)
    rows, without = [[*map(as_cell, heads), "total"]], list[str]()
    for name, cells, known in _rows(found, roster):
        every = [*known, *[None] * (len(heads) - len(cells) - len(known))]
        total = None if None in every else sum(one or 0 for one in every)
        grades = (NO_GRADE if one is None else points_text(one) for one in (*every, total))
        rows.append([*map(roster_cell, cells), *grades])
        without += [visible(name)] * (total is None)
    unclear = "their answers are missing, cannot be read, or are not those of one student"
    notes = [f"no grade ({NO_GRADE}) for {'; '.join(without)}: {unclear}"] if without else []
    if roster and (others := found.keys() - {person.name for person in roster.people}):
        notes.append(f"no row for {'; '.join(map(visible, sorted(others)))}: not in the roster")
    return csv_text(rows, delimiter), notes


def _rows(
    found: Mapping[str, list[Points]], roster: Roster | None
) -> Iterator[tuple[str, Sequence[str], Points]]:
    """Yield the name, the first cells and the points of each student."""
    if roster is None:
        yield from ((name, [name], points) for name, own in found.items() for points in own)
        return
    names = Counter(person.name for person in roster.people)
    for person in roster.people:
        own = found.get(person.name, [])
        yield person.name, person.cells, own[0] if len(own) == names[person.name] == 1 else []


def column_title(titles: Iterable[str], number: int) -> str:
    """Return the heading of a problem: its title, if that is the same for all; or its number."""
    known = {*titles} - {""}
    return known.pop() if len(known) == 1 else f"problem {number}"
