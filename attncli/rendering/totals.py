"""One row per student with the points of each problem, as learning platforms import grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest

from attncli.checking.check import Report
from attncli.files.grading import Student
from attncli.files.roster import Person, Roster
from attncli.rendering.csv import csv_text
from attncli.rendering.grades import roster_cell
from attncli.rendering.verdicts import points_text
from attncli.text.escapes import as_cell, visible

NO_GRADE = "-"
"""The text for points that are not known: Moodle and Canvas read it as no grade. An empty cell of a
new column would be 0 in Moodle."""


def totals(
    students: Iterable[Student], roster: Roster | None, delimiter: str = ","
) -> tuple[str, list[str]]:
    """Return the table, and sentences on who has no grade or no row.

    Its rows and first columns are those of the roster; without one, there is a row for each name.
    """
    found: dict[str, list[list[float | None]]] = {}
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
    people = roster.people if roster else [Person(name, (name,)) for name in found]
    names = Counter(person.name for person in people)
    for person in people:
        own = found.get(person.name, [])
        known = own[0] if len(own) == names[person.name] == 1 else []
        every = [*known, *[None] * (len(heads) - len(person.cells) - len(known))]
        total = None if None in every else sum(one or 0 for one in every)
        grades = (NO_GRADE if one is None else points_text(one) for one in (*every, total))
        rows.append([*map(roster_cell, person.cells), *grades])
        without += [visible(person.name)] * (total is None)
    unclear = "their answers are missing, cannot be read, or are not those of one student"
    notes = [f"no grade ({NO_GRADE}) for {'; '.join(without)}: {unclear}"] if without else []
    if others := found.keys() - names:
        notes.append(f"no row for {'; '.join(map(visible, sorted(others)))}: not in the roster")
    return csv_text(rows, delimiter), notes


def column_title(titles: Iterable[str], number: int) -> str:
    """Return the heading of a problem: its title, if that is the same for all; or its number."""
    known = {*titles} - {""}
    return known.pop() if len(known) == 1 else f"problem {number}"
