"""Who handed in what: the student and the problems of each file, and the rule that tells it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from attncli.checking.submission import Submission
from attncli.errors import Fault, InputError, Place, refuse
from attncli.files.archives import is_file, is_folder
from attncli.files.assignment import ProblemSet
from attncli.files.csv_blocks import CsvText
from attncli.files.document import error_at
from attncli.files.folders import folder_name, is_hidden, natural
from attncli.files.handed_in import (
    CANVAS,
    METADATA,
    MOODLE,
    NO_ANSWERS,
    Course,
    Handed,
    Layout,
    by_platform,
    handed_in,
    opened,
    own_name,
)
from attncli.files.read import STDIN, read_text
from attncli.files.roster import words_of
from attncli.files.submissions import ReadSubmission, by_student, merged, tells_problem
from attncli.records import EMPTY, Record, replace
from attncli.text.escapes import as_cell, visible
from attncli.text.sentences import all_of

COLUMNS = ("student", "problem", "file", "rule")
OPEN, PASSED_OVER, ABSENT = "open", "passed over", "handed in nothing"
"""The beginnings of rules for files that are marked for nobody, and the rule for no file."""

SEVERAL = "each row, or part, names its student"

MAX_PATHS_NAMED = 20
"""Maximum number of passed-over files that a message names; it counts the others."""


class Entry(Record, eq=False):
    """A row of the manifest: a file, and whose it is.

    Attributes:
        student: the name; "" if the file names several students, or if it is marked for nobody.
        problem: the numbers of the problems that it answers; "" if only the file tells them.
        file: its path; "" for a student who handed in nothing.
        rule: what told the student and the problem; it begins with `OPEN` where nothing did.
        variant: the variant that the file names, or "".
        answers: what was read, by the index of the problem.
        several: the submissions of a file of several students.
        version: the number of a resubmission; the highest one counts.
        error: why the file cannot be read.
    """

    student: str
    problem: str
    file: str
    rule: str
    variant: str = ""
    answers: Mapping[int, ReadSubmission] = EMPTY
    several: Iterable[ReadSubmission] = ()
    version: int = 0
    error: InputError | None = None


Told: TypeAlias = Callable[[Handed, Layout, Course], Sequence[str]]
"""Returns texts that name the students of a file, or nothing."""


def _by_key(one: Handed, layout: Layout, course: Course) -> Sequence[str]:
    return [one.stated]


def _by_metadata(one: Handed, layout: Layout, course: Course) -> Sequence[str]:
    people = layout.submitters(one)
    return [" ".join(words) if course.roster else words[0] for words in people if words]


def _by_moodle(one: Handed, layout: Layout, course: Course) -> Sequence[str]:
    match = by_platform(MOODLE, one)
    return [match["who"]] if match else []


def _by_canvas(one: Handed, layout: Layout, course: Course) -> Sequence[str]:
    match = by_platform(CANVAS, one)
    return [match["who"]] if match else []


def _by_folder(one: Handed, layout: Layout, course: Course) -> Sequence[str]:
    return layout.student(one)[-1:]


def _by_class(one: Handed, layout: Layout, course: Course) -> Sequence[str]:
    around = [] if one.is_listed else [folder_name(one.source)]
    people = (course.roster.find(part) for part in (*one.parts, *around))
    return [person.name for person in people if person is not None][:1]


def _by_name(one: Handed, layout: Layout, course: Course) -> Sequence[str]:
    if one.is_listed and not course.roster:
        only = one.read[0][0] if len(one.read) == 1 else one.path
        return [STDIN if only == "-" else only]
    return [layout.own_words(one) or one.parts[-1]]


RULES: Mapping[str, Told] = {
    "its key student": _by_key,
    f"Gradescope's {METADATA}": _by_metadata,
    "the name that Moodle gave": _by_moodle,
    "the name that Canvas gave": _by_canvas,
    "its folder": _by_folder,
    "a name of the class in its path": _by_class,
    "its name": _by_name,
}
"""What tells the students of a file, the first that does. If the class is known, a text that names
no student of it tells nothing."""


def whose(one: Handed, layout: Layout, course: Course) -> tuple[Sequence[str], str]:
    """Return the students of a file and the rule that tells them; or [] and the nearest name."""
    said: list[str] = []
    for rule, tell in RULES.items():
        texts = [text for text in tell(one, layout, course) if text]
        if texts and not course.roster:
            return texts, rule
        people = [course.roster.find(text) for text in texts]
        if texts and None not in people:
            return list(dict.fromkeys(person.name for person in people if person)), rule
        said += texts
    near = course.roster.nearest(said[-1] if said else one.parts[-1])
    return [], f"{OPEN}: perhaps {near}"


def manifest(sources: Sequence[str], course: Course) -> list[Entry]:
    """Return whose each file is that the user names, or that is in a folder of those."""
    every = handed_in(sources, course)
    layout = Layout(every, course)
    found: list[Entry] = []
    for one in sorted(every, key=lambda one: one.kind == "folder"):
        if one.kind == "folder":
            found += _without_answers(one, layout, course, found)
        elif one.several is not None:
            found.append(Entry("", "", one.path, SEVERAL, several=one.several))
        elif one.kind == "other":
            found.append(Entry("", "", one.path, PASSED_OVER))
        else:
            students, rule = whose(one, layout, course)
            if one.kind == "unreadable" and rule == "its name" and not layout.own_words(one):
                students, rule = [], PASSED_OVER
            entry = _entry(one, rule, course)
            found += [replace(entry, student=name) for name in students] or [entry]
    _tell_passed_over(every, found, course)
    return found


def _without_answers(
    one: Handed, layout: Layout, course: Course, known: Sequence[Entry]
) -> Iterator[Entry]:
    """Yield the entry of a student whose folder has no files, if it is one's and has not come."""
    chain = layout.student(one)
    seen = {entry.student for entry in known}
    if not chain or not seen:
        return
    students, rule = whose(one, layout, course)
    path = next(p for p in (Path(one.path), *Path(one.path).parents) if p.name == chain[-1])
    for name in students:
        if name not in seen:
            error = error_at(Place(str(path)), NO_ANSWERS)
            yield Entry(name, "", str(path), rule, error=error)


def _tell_passed_over(every: Sequence[Handed], found: Sequence[Entry], course: Course) -> None:
    paths = {one.file for one in found if one.rule == PASSED_OVER}
    for source in dict.fromkeys(one.source for one in every):
        own = [one.path for one in every if one.source == source and one.path in paths]
        own.sort(key=lambda path: (len(Path(path).parts), natural(path)))
        shown = [path for path in own if not is_hidden(Path(path).name)]
        names = [visible(str(Path(path).relative_to(source))) for path in shown]
        more = len(names) - MAX_PATHS_NAMED
        listed = [*names[:MAX_PATHS_NAMED], f"{more} more"] if more > 1 else names
        if hidden := len(own) - len(shown):
            listed.append(f"{hidden} hidden file{'s'[: hidden != 1]}")
        if listed:
            course.tell(f"{visible(source)}: passed over {all_of(listed)}")


def _entry(one: Handed, rule: str, course: Course) -> Entry:
    """Return the entry of a file without its student."""
    match, problems = by_platform(CANVAS, one), course.problems
    version = int(match["version"] or 0) if match else 0
    if one.error:
        return Entry("", "", one.path, rule, version=version, error=one.error)
    answers, variant, told = _answers(one, problems)
    errors = [error for _, error in answers.values() if isinstance(error, InputError)]
    if len(errors) == len(problems.keys):
        faults = dict.fromkeys(fault for error in errors for fault in error.faults)
        return Entry("", "", one.path, rule, variant, error=InputError(*faults), version=version)
    numbers = " ".join(str(index + 1) for index in sorted(answers))
    if len(problems.keys) == 1:
        numbers = ""
    elif told:
        rule = f"{rule}; {told}"
    return Entry("", numbers, one.path, rule, variant, answers, version=version)


def _answers(one: Handed, problems: ProblemSet) -> tuple[Mapping[int, ReadSubmission], str, str]:
    """Return the submissions of one student by problem, the variant, and what tells the problem."""
    told = next((index for index in _told(one, problems) if index is not None), None)
    if told is not None and len(one.read) == 1 and not tells_problem(problems, one.read[0][1]):
        submission = one.read[0][1]
        variant = submission.variant if isinstance(submission, Submission) else ""
        return {told: one.read[0]}, variant, "the problem by its path"
    parts = list(by_student(problems, one.read, Place(one.path)))
    found = {index: read for part in parts for index, read in part.by_problem.items()}
    return found, next((p.variant for p in parts if p.variant), ""), "the problem by its contents"


def _told(one: Handed, problems: ProblemSet) -> Iterator[int | None]:
    """Yield the problems that the parts of a path tell, the innermost part first."""
    if len(problems.keys) > 1:
        yield problems.in_name(own_name(one))[0]
        yield from (problems.in_name(part)[0] for part in one.parts[-2::-1])


# The manifest as a file


def manifest_text(entries: Iterable[Entry], absent: Iterable[str]) -> bytes:
    """Return the manifest: a row per file, and one for each student who handed in nothing."""
    out = io.StringIO()
    rows = [(one.student, one.problem, one.file, one.rule) for one in entries]
    rows += [(name, "", "", ABSENT) for name in absent]
    csv.writer(out, lineterminator="\n").writerows(
        [COLUMNS, *([as_cell(cell) for cell in row] for row in rows)]
    )
    return out.getvalue().encode()


def read_manifest(file: str, course: Course) -> list[Entry]:
    """Return the entries of a manifest, as they were written by `manifest_text` or corrected.

    Raises:
        InputError: for a row without the columns, an unknown student or problem, and a file that
            is not there.
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
            entries += _followed(cells, table.place(row.line), course)
        except InputError as error:
            faults += error.faults
    refuse(faults)
    return entries


def _followed(cells: Mapping[str, str], place: Place, course: Course) -> Iterator[Entry]:
    student, problem, path, rule = (cells.get(name, "") for name in COLUMNS)
    person = course.roster.find(student)
    if student and course.roster and person is None:
        near = visible(course.roster.nearest(student))
        raise error_at(place, f"no student is called {visible(student)}", f"did you mean {near}?")
    student = person.name if person else student
    if not path or (not student and rule.startswith((OPEN, PASSED_OVER))):
        yield Entry(student, problem, path, rule if not student else ABSENT)
        return
    if path != "-" and not (is_file(path) or is_folder(path)):
        raise error_at(place, f"there is no such file: {visible(path)}")
    wanted = [course.problems.which(word) for word in re.split(r"[\s,;]+", problem) if word]
    if None in wanted:
        hint = f"there are {len(course.problems.keys)}: write their numbers"
        raise error_at(place, f"there is no problem {visible(problem)}", hint)
    one = opened(path, (Path(path).stem,), path, course)
    if not student:
        yield Entry("", "", path, SEVERAL, several=one.several or one.read, error=one.error)
        return
    if one.error:
        yield Entry(student, problem, path, rule, error=one.error)
        return
    if (
        len(wanted) == 1
        and len(one.read) == 1
        and not tells_problem(course.problems, one.read[0][1])
    ):
        yield Entry(student, problem, path, rule, answers={wanted[0] or 0: one.read[0]})
        return
    answers, variant, _ = _answers(one, course.problems)
    chosen = {n: read for n, read in answers.items() if not wanted or n in wanted}
    yield Entry(student, problem, path, rule, variant, chosen)


# The files of each student together


class Handing(Record, eq=False):
    """All that one student handed in: the submission to each problem, by its index.

    `names` are other names by which the variant may be called; the last is that of a file.
    """

    student: str
    answers: Mapping[int, ReadSubmission]
    names: tuple[str, ...] = ()


def together(entries: Iterable[Entry], course: Course) -> Iterator[Handing | Entry]:
    """Yield what each student handed in, and the entries that name no student, in their order."""
    groups: dict[object, list[Entry]] = {}
    for number, one in enumerate(entries):
        key: object = frozenset(words_of(one.student)) or number
        groups.setdefault(key, []).append(one)
    for group in groups.values():
        first = group[0]
        if not first.student:
            yield first
            continue
        names = dict.fromkeys(one.variant for one in group if one.variant)
        stem = Path(first.file).stem
        yield Handing(first.student, _all_of(group, course), (*names, first.student, stem))


def _all_of(group: Sequence[Entry], course: Course) -> dict[int, ReadSubmission]:
    """Return the submissions of a student by problem; files of parts of a problem are merged."""
    count = range(len(course.problems.keys))
    found: dict[int, ReadSubmission] = {}
    unread = [one.error for one in group if one.error is not None]
    for index in count:
        own = [one for one in group if index in one.answers]
        newest = max((one.version for one in own), default=0)
        latest = [(one.file, one.answers[index]) for one in own if one.version == newest]
        read = [(file, one) for file, one in latest if isinstance(one[1], Submission)]
        if read:
            found[index] = merged(read, index)
        elif latest:
            found[index] = latest[0][1]
    if unread and len(found) == len(count):
        paths = all_of([visible(one.file) for one in group if one.error is not None])
        course.tell(f"passed over {paths}: other files answer every problem")
    elif unread:
        faults = [fault for error in unread for fault in error.faults]
        rest = group[0].student, InputError(*faults)
        return {**dict.fromkeys(count, rest), **found}
    return found
