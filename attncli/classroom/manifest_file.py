"""The manifest as a file, which a teacher may correct, and the files that it names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from attncli.classroom.handed_in import NO_ANSWERS, Course, answer_paths, opened
from attncli.classroom.manifest import OPEN, PASSED_OVER, ManifestEntry, answers_of, few
from attncli.classroom.submissions import ReadAnswers, by_student
from attncli.core.errors import Fault, Place, collected, refuse
from attncli.core.text.escapes import as_cell, visible
from attncli.reading.csv_blocks import CsvText
from attncli.reading.document import error_at
from attncli.reading.files import is_file, is_folder
from attncli.reading.read import read_text

LinesOf: TypeAlias = Callable[[str], Mapping[int, Mapping[int, ReadAnswers]]]
COLUMNS = ("student", "problem", "file", "rule")
ABSENT = "handed in nothing"
"""The rule for a student without a file."""

LINE = re.compile(r"(?P<file>.+):(?P<line>\d+)\Z")
"""A line of a file of several students."""


def manifest_text(entries: Iterable[ManifestEntry]) -> bytes:
    """Return the manifest: a row per file, and one for each student who handed in nothing."""
    out = io.StringIO()
    rows = [(one.student, one.problem, one.file, one.rule) for one in entries]
    written = csv.writer(out, lineterminator="\n")
    written.writerows([COLUMNS, *([as_cell(cell) for cell in row] for row in rows)])
    return out.getvalue().encode()


def read_manifest(file: str, course: Course) -> list[ManifestEntry]:
    """Return the entries of a manifest, as `manifest_text` wrote them or as they were corrected.

    Raises:
        InputError: for missing columns, an unknown student or problem, and a missing file.
    """
    table = CsvText(read_text(file), file)
    header = [cell.casefold() for cell in table.rows[0].cells] if table.rows else []
    if missing := [name for name in COLUMNS[:3] if name not in header]:
        hint = f"the first line of a manifest is {','.join(COLUMNS)}"
        raise error_at(Place(file, 1), f"a column is missing: {', '.join(missing)}", hint)
    entries, faults = list[ManifestEntry](), list[Fault]()
    lines_of = cache(partial(_lines, course=course))  # of a table, which many rows name
    for row in table.rows[1:]:
        cells = dict(zip(header, [*row.cells, *[""] * len(header)], strict=False))
        with collected(faults):
            entries.append(_followed(cells, table.place(row.line), course, lines_of))
    refuse(list(dict.fromkeys(faults)))
    return entries


def tell_missing(
    file: str, entries: Sequence[ManifestEntry], sources: Sequence[str], course: Course
) -> None:
    """Say which files of answers have no row in a manifest, as what was handed in since."""
    known = {LINE.sub(r"\g<file>", one.file) for one in entries} | {one.file for one in entries}
    if missing := [visible(path) for path in answer_paths(sources) if path not in known]:
        course.tell(f"{visible(file)}: no row for {few(missing)}, so not marked")


def _followed(
    cells: Mapping[str, str], place: Place, course: Course, lines_of: LinesOf
) -> ManifestEntry:
    student, problem, path, rule = (cells.get(name, "") for name in COLUMNS)
    person = course.roster.find(student)
    if student and course.roster and person is None:
        near = " or ".join(map(visible, course.roster.nearest(student)))
        hint = f"did you mean {near}?" if near else "name one of the class, or nobody"
        raise error_at(place, f"no student is called {visible(student)}", hint)
    student = person.name if person else student
    if not student and not rule.startswith((OPEN, PASSED_OVER)):
        rule = OPEN
    if not path or (not student and rule.startswith(PASSED_OVER)):
        return ManifestEntry(student, problem, path, rule)
    words = [word for word in re.split(r"[\s,;]+", problem) if word]
    found = (course.problems.which(word) for word in words)
    wanted = [index for index in found if index is not None]
    if len(wanted) < len(words):
        hint = f"there are {len(course.problems.keys)}: write their numbers"
        raise error_at(place, f"there is no problem {visible(problem)}", hint)
    answers = _read(path, wanted, place, course, lines_of)
    chosen = {n: read for n, read in answers.items() if not wanted or n in wanted}
    nearest = [] if student else course.roster.written_in(rule)
    return ManifestEntry(student, problem, path, rule, chosen, nearest=nearest)


def _read(
    path: str, wanted: Sequence[int], place: Place, course: Course, lines_of: LinesOf
) -> Mapping[int, ReadAnswers]:
    """Return the answers in a file, or in a line of one."""
    if is_folder(path):
        error = error_at(Place(path), NO_ANSWERS)
        return dict.fromkeys(range(len(course.problems.keys)), error)
    match = LINE.fullmatch(path)
    if match and is_file(match["file"]) and not is_file(path):
        if (found := lines_of(match["file"]).get(int(match["line"]))) is not None:
            return found
        message = f"there are no answers in line {match['line']} of {visible(match['file'])}"
        raise error_at(place, message)
    if not is_file(path):
        raise error_at(place, f"there is no such file: {visible(path)}")
    one = opened(path, (Path(path).stem,), path, course)
    if len(wanted) == len(one.read) == 1:
        return {wanted[0]: one.read[0][1]}
    return answers_of(one, course.problems)[0]


def _lines(file: str, course: Course) -> Mapping[int, Mapping[int, ReadAnswers]]:
    """Return the answers in a file of several students, by the line in which each is named."""
    one = opened(file, (Path(file).stem,), file, course)
    if one.error:
        raise one.error
    parts = by_student(course.problems, one.read, Place(file))
    return {part.line: part.by_problem for part in parts}
