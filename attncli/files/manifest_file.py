"""The manifest as a file, which a teacher may correct, and the files that it names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attncli.errors import Fault, InputError, Place, refuse
from attncli.files.archives import is_file, is_folder
from attncli.files.csv_blocks import CsvText
from attncli.files.document import error_at
from attncli.files.handed_in import NO_ANSWERS, Course, opened
from attncli.files.manifest import OPEN, PASSED_OVER, Entry, answers_of
from attncli.files.read import read_text
from attncli.files.submissions import Answers, by_student
from attncli.text.escapes import as_cell, visible

COLUMNS = ("student", "problem", "file", "rule")
ABSENT = "handed in nothing"
"""The rule for a student without a file."""

PERHAPS = re.compile(rf"{OPEN}: perhaps (.+?)(?: \(.*)?")
LINE = re.compile(r"(?P<file>.+):(?P<line>\d+)")
"""A line of a file of several students."""


def manifest_text(entries: Iterable[Entry], absent: Iterable[str]) -> bytes:
    """Return the manifest: a row per file, and one for each student who handed in nothing."""
    out = io.StringIO()
    rows = [(one.student, one.problem, one.file, one.rule) for one in entries]
    rows += [(name, "", "", ABSENT) for name in absent]
    written = csv.writer(out, lineterminator="\n")
    written.writerows([COLUMNS, *([as_cell(cell) for cell in row] for row in rows)])
    return out.getvalue().encode()


def read_manifest(file: str, course: Course) -> list[Entry]:
    """Return the entries of a manifest, as `manifest_text` wrote them or as they were corrected.

    Raises:
        InputError: for missing columns, an unknown student or problem, and a missing file.
    """
    table = CsvText(read_text(file), file)
    header = [cell.casefold() for cell in table.rows[0].cells] if table.rows else []
    if missing := [name for name in COLUMNS[:3] if name not in header]:
        hint = f"the first line of a manifest is {','.join(COLUMNS)}"
        raise error_at(Place(file, 1), f"a column is missing: {', '.join(missing)}", hint)
    entries, faults = list[Entry](), list[Fault]()
    for row in table.rows[1:]:
        cells = dict(zip(header, [*row.cells, *[""] * len(header)], strict=False))
        try:
            entries.append(_followed(cells, table.place(row.line), course))
        except InputError as error:
            faults += error.faults
    refuse(faults)
    return entries


def _followed(cells: Mapping[str, str], place: Place, course: Course) -> Entry:
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
        return Entry(student, problem, path, rule)
    words = [word for word in re.split(r"[\s,;]+", problem) if word]
    found = (course.problems.which(word) for word in words)
    wanted = [index for index in found if index is not None]
    if len(wanted) < len(words):
        hint = f"there are {len(course.problems.keys)}: write their numbers"
        raise error_at(place, f"there is no problem {visible(problem)}", hint)
    answers, variant = _read(path, wanted, place, course)
    chosen = {n: read for n, read in answers.items() if not wanted or n in wanted}
    perhaps = None if student else PERHAPS.fullmatch(rule)
    nearest = perhaps[1].split(" or ") if perhaps else ()
    return Entry(student, problem, path, rule, chosen, variant, nearest=nearest)


def _read(
    path: str, wanted: Sequence[int], place: Place, course: Course
) -> tuple[Mapping[int, Answers], str]:
    """Return the answers in a file, or in a line of one, and the variant."""
    if is_folder(path):
        error = error_at(Place(path), NO_ANSWERS)
        return dict.fromkeys(range(len(course.problems.keys)), error), ""
    match = LINE.fullmatch(path)
    file, line = (match["file"], int(match["line"])) if match and not is_file(path) else (path, 0)
    if not is_file(file):
        raise error_at(place, f"there is no such file: {visible(path)}")
    one = opened(file, (Path(file).stem,), file, course)
    if len(wanted) == len(one.read) == 1 and not line:
        return {wanted[0]: one.read[0][1]}, ""
    if not line or one.error:
        answers, variant, _ = answers_of(one, course.problems)
        return answers, variant
    for part in by_student(course.problems, one.several or one.read, Place(file)):
        if part.line == line:
            return part.by_problem, part.variant
    raise error_at(place, f"there are no answers in line {line} of {visible(file)}")
