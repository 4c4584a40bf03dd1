"""One row per student with the points of each problem, as learning platforms import grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest

from attncli.checking.check import Report
from attncli.files.grading import Student
from attncli.files.roster import Person, Roster
from attncli.rendering.csv import csv_text
from attncli.rendering.grades import NO_GRADE, roster_cell
from attncli.rendering.verdicts import points_text
from attncli.text.escapes import as_cell, visible


def totals(
    students: Iterable[Student], roster: Roster | None, delimiter: str = ","
) -> tuple[str, list[str]]:
    """Return the table, and sentences on who has no grade, no row, or perhaps a wrong 0.

    Its rows and first columns are those of the roster; without one, there is a row for each name.
    """
    found: dict[str, list[float | None]] = {}
    titles, without, empty = list[list[str]](), list[str](), list[str]()
    for student in students:
        name = student[0].name
        reports = [one if isinstance(one, Report) else None for one in student]
        found[name] = [one.total if one and one.marking.points else None for one in reports]
        titles.append([one.title for one in student])
        empty += [name] if all(one and one.verdict == "empty" for one in reports) else []
    heads = [*roster.heads] if roster else ["name"]
    for number, several in enumerate(zip_longest(*titles, fillvalue=""), 1):
        title = column_title(several, number)
        heads.append(f"problem {number}" if title in heads else title)
    rows = [[*map(as_cell, heads), "total"]]
    people = roster.people if roster else [Person(name, (name,)) for name in found]
    names = Counter(person.name for person in people)
    for person in people:
        known = found.get(person.name, []) if names[person.name] == 1 else []
        points = [*known, *[None] * (len(heads) - len(person.cells) - len(known))]
        total = None if None in points else sum(one or 0 for one in points)
        grades = (NO_GRADE if one is None else points_text(one) for one in (*points, total))
        rows.append([*map(roster_cell, person.cells), *grades])
        without += [person.name] if total is None else []
    notes, others = list[str](), sorted(found.keys() - names)
    if without:
        why = "their answers are missing, cannot be read, or are not those of one student"
        notes.append(f"no grade ({NO_GRADE}) for {_listed(without)}: {why}")
    if others:
        notes.append(f"no row for {_listed(others)}: not in the roster")
    if empty and (others or (without and not roster)):
        notes.append(f"0 points for {_listed(empty)}: no answers are theirs, unless some above are")
    return csv_text(rows, delimiter), notes


def _listed(names: Iterable[str]) -> str:
    return "; ".join(map(visible, names))


def column_title(titles: Iterable[str], number: int) -> str:
    """Return the heading of a problem: its title, if that is the same for all; or its number."""
    known = {*titles} - {""}
    return known.pop() if len(known) == 1 else f"problem {number}"
