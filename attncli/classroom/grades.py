"""Reports for teachers: grade books, and the results.json of Gradescope."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from attncli.checking.check import Graded, Report
from attncli.checking.judging import judged_steps
from attncli.classroom.grading import Student
from attncli.core.errors import fail
from attncli.core.problem.marking import as_points
from attncli.core.text.strings import as_cell, csv_text, lines_of, visible
from attncli.printing import verdicts
from attncli.printing.class_report import row_of
from attncli.printing.csv import PLAIN_NUMBER
from attncli.printing.report import remarks
from attncli.printing.selection import ReportSelection
from attncli.reading.document import Unread
from attncli.reading.people import Person

NO_GRADE = "-"
"""The text for points that are not known: Moodle and Canvas read it as no grade. An empty cell of a
new column would be 0 in Moodle."""

HEADS = (
    "name",
    "problem",
    "verdict",
    "first_wrong_step",
    "mistake",
    "message",
    *judged_steps.STATUSES,
)
POINT_COLUMNS = ("points", "of")
SAID_COLUMNS = ("said", "comment")

OUTCOMES = {"correct": "✓ right", "missing": "not given"}
"""The text for a step, or for its cells that have points, by a status that says all of it."""


def as_csv(
    graded: Iterable[Graded], selection: ReportSelection, delimiter: str = ","
) -> Iterator[bytes]:
    steps = [f"points_{name}" for name in selection.points]
    columns = [*HEADS, *steps, *(POINT_COLUMNS if steps else ()), *SAID_COLUMNS]
    heads, by_name = _of_roster(selection)
    if not selection.follows:
        yield csv_text([[*heads, *map(as_cell, columns)]], delimiter).encode()
    for one in graded:
        cells = by_name.get(one.name, [""] * len(heads))
        said = ["", ""]
        if not isinstance(one, Unread):
            said = [" ".join(one.said), " ".join(lines_of(one.comment))]
        row = row_of(one)
        about = row.name, row.title, row.verdict, row.first_wrong_step, row.mistake, row.message
        counts = [*map(str, one.counts.values())] if isinstance(one, Report) else []
        counts = counts or [""] * len(judged_steps.STATUSES)
        texts = map(as_cell, [*about, *counts, *_points(one, selection.points), *said])
        yield csv_text([[*cells, *texts]], delimiter).encode()


def _of_roster(selection: ReportSelection) -> tuple[list[str], dict[str, list[str]]]:
    """Return the roster's headings, and the cells of each student whose name is the only one."""
    if len(selection.heads) < 2:  # no roster, or one that has only the names
        return [], {}
    counts = Counter(person.name for person in selection.people)
    alone = [person for person in selection.people if counts[person.name] == 1]
    by_name = {person.name: [*map(roster_cell, person.cells)] for person in alone}
    return [*map(roster_cell, selection.heads)], by_name


def roster_cell(text: str) -> str:
    """Return a cell of the roster as it was, unless a spreadsheet would take it for a formula."""
    return text if PLAIN_NUMBER.fullmatch(text) or text == NO_GRADE else as_cell(text)


def _points(graded: Graded, steps: Sequence[str]) -> list[str]:
    numbers: list[float | None] = [None] * len([*steps, *POINT_COLUMNS])
    if isinstance(graded, Report) and graded.marking.points:
        numbers = [*map(graded.points.get, steps), graded.total, graded.marking.possible]
    texts = ["" if number is None else verdicts.points_text(number) for number in numbers]
    return texts if steps else []


def totals(
    students: Iterable[Student], selection: ReportSelection, delimiter: str = ","
) -> tuple[str, list[str]]:
    """Return the table, and sentences on who has no grade, no row, or perhaps a wrong 0.

    Its rows and first columns are those of the roster; without one, there is a row for each name.
    """
    roster = selection.people
    points_of: dict[str, list[float | None]] = {}
    titles, without, empty = list[list[str]](), list[str](), list[str]()
    for student in students:
        name = student[0].name
        reports = [one if isinstance(one, Report) else None for one in student]
        points_of[name] = [one.total if one and one.marking.points else None for one in reports]
        titles.append([one.title for one in student])
        empty += [name] if all(one and one.verdict == "empty" for one in reports) else []
    heads = [*selection.heads] if roster else ["name"]
    for number, several in enumerate(zip_longest(*titles, fillvalue=""), 1):
        title = column_title(several, number)
        heads.append(f"problem {number}" if title in heads else title)
    rows = [[*map(as_cell, heads), "total"]]
    people = roster or [Person(name, (name,)) for name in points_of]
    names = Counter(person.name for person in people)
    for person in people:
        known = points_of.get(person.name, []) if names[person.name] == 1 else []
        points = [*known, *[None] * (len(heads) - len(person.cells) - len(known))]
        total = None if None in points else sum(one or 0 for one in points)
        every = (*points, total)
        grades = (NO_GRADE if one is None else verdicts.points_text(one) for one in every)
        rows.append([*map(roster_cell, person.cells), *grades])
        without += [person.name] if total is None else []
    notes, others = list[str](), sorted(points_of.keys() - names)
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


def as_gradescope(graded: Iterable[Graded], selection: ReportSelection) -> Iterator[bytes]:
    """Yield the results of one student, with a test for each step that has points.

    Without points there is a test of one point for each asked step, or for the whole problem; see
    https://gradescope-autograders.readthedocs.io/en/latest/specs/

    Raises:
        InputError: for several students, as each has a file of results.
    """
    students: list[Graded] = []
    for one in graded:
        if students and one.name != students[0].name:
            names = f"{visible(students[0].name)} and {visible(one.name)}"
            message = f"results.json of Gradescope is of one student, but here are {names}"
            raise fail(message, hint="write one for each: -o 'results/{student}.json'")
        students.append(one)
    yield f"{json.dumps(_results(students, selection), ensure_ascii=False, indent=1)}\n".encode()


def _results(graded: Sequence[Graded], selection: ReportSelection) -> dict[str, Any]:
    tests = [test for n, one in enumerate(graded, 1) for test in _tests(one, str(n), selection)]
    lines = list[str]()
    for one in graded:
        lines.append(f"{visible(one.title)}: {_verdict(one)}" if one.title else _verdict(one))
        if isinstance(one, Report) and one.skipped:
            lines.append(verdicts.skipped(one.skipped))
    return {
        "score": as_points(sum(test["score"] for test in tests)),
        "output": "\n".join(lines),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"student": visible(graded[0].name)} if graded else {},
    }


def _verdict(one: Graded) -> str:
    if isinstance(one, Report):
        return verdicts.verdict(one)
    return f"could not be read: {verdicts.reason(one)}"


def _tests(one: Graded, number: str, selection: ReportSelection) -> Iterator[dict[str, Any]]:
    title = visible(one.title) or f"problem {number}"
    if isinstance(one, Unread):
        yield _test(0.0, 1.0, title, number, [_verdict(one)], [], verdict="unreadable")
        return
    shown, marking = remarks(one, selection, selection.solution), one.marking
    names = tuple(marking.points) or marking.ask

    def lines_of(step: str) -> Iterator[str]:
        remark = shown[step]
        if remark.sign == "✗" and remark.first_wrong:
            yield f"the first wrong number is {remark.first_wrong}"
        yield from [OUTCOMES[remark.status]] if remark.status in OUTCOMES else remark.sentences

    if not names:
        mistakes = [one.findings[name].id for name in one.wrong_steps if name in one.findings]
        score = float(one.verdict == "correct")
        lines = [verdicts.verdict(one), *one.said]
        lines += [f"{name}: {line}" for name in shown for line in lines_of(name)]
        yield _test(score, 1.0, title, number, lines, mistakes, verdict=one.verdict)
    for place, name in enumerate(names, 1):
        possible = float(marking.points.get(name, 1.0))
        score = one.points[name] if marking.points else as_points(one.share(name))
        step, worst = one.answers[name], one.status(name)
        lines = [OUTCOMES[worst]] if worst in OUTCOMES else [*lines_of(step)]
        missing = int((one.codes(name) == judged_steps.MISSING).sum())
        if missing and worst != "missing":
            lines.append(f"left out: {verdicts.cell_count(name, missing, one.codes(name).size)}")
        finding = one.findings.get(step) if worst not in OUTCOMES else None
        about, where = f"{title}: {name}", f"{number}.{place}"
        mistakes = [finding.id] if finding else []
        yield _test(score, possible, about, where, lines, mistakes, step=name, status=worst)


def _test(
    score: float,
    possible: float,
    name: str,
    number: str,
    lines: Iterable[str],
    mistakes: Sequence[str],
    **more: str,
) -> dict[str, Any]:
    return {
        "score": score,
        "max_score": possible,
        "status": "passed" if score >= possible else "failed",
        "name": name,
        "number": number,
        "output": "\n".join(visible(part) for line in lines for part in line.splitlines()),
        "tags": mistakes,
        "extra_data": more,
    }
