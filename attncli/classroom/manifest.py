"""The manifest: the student and the problems of each file, and the rule by which they are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from attncli.classroom.answer_files import (
    CANVAS,
    NO_ANSWERS,
    AnswerFile,
    ClassFolders,
    Course,
    answer_paths,
    by_platform,
    find_answer_files,
    own_name,
    read_answer_file,
    whose,
)
from attncli.classroom.assignment import ProblemSet, ReadAnswers, by_student, merged, tells_problem
from attncli.classroom.name_index import words_of
from attncli.core.errors import InputError, Place, refuse
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import all_of, as_cell, count_of, csv_text, regex, visible
from attncli.reading.document import Submission
from attncli.reading.files import Folder, folder_name, is_file, is_folder, natural
from attncli.reading.read import read_table

OPEN, PASSED_OVER = "open", "passed over"
"""The beginnings of rules for files that the teacher should look at, and that count for nobody."""

MAX_PATHS_NAMED = 20
"""Maximum number of passed-over files that a message names; it counts the others."""


class ManifestEntry(Record, eq=False):
    """A row of the manifest: the student of a file, or of a line of a file of several students.

    Attributes:
        student: the name; "" if the file is marked for no student.
        problem: the numbers of the problems that it answers; "" if it may be any.
        file: its path, with a line of it as in `form.csv:12`; "" if nothing was handed in.
        rule: how the student and the problem are known; begins with `OPEN` if they are not.
        answers: what was read, or why it could not be, by the index of the problem.
        version: the number of a resubmission; the highest one counts.
        nearest: the students to whom an open file may belong.
    """

    student: str
    problem: str
    file: str
    rule: str
    answers: Mapping[int, ReadAnswers] = EMPTY
    version: int = 0
    nearest: Sequence[str] = ()

    def read(self, index: int) -> Submission | None:
        """Return the answers to a problem, if they could be read."""
        answers = self.answers.get(index)
        return answers if isinstance(answers, Submission) else None


def manifest(sources: Sequence[str], course: Course) -> list[ManifestEntry]:
    """Return an entry for each file that the user names, or that is in a folder that they name.

    `course.tell` is called with a sentence about files that are passed over.
    """
    every = find_answer_files(sources, course)
    layout = ClassFolders(every, course)
    entries: list[ManifestEntry] = []
    spelled: dict[object, str] = {}  # the first way in which a name is written
    for one in sorted(every, key=lambda one: one.kind == "folder"):
        if one.kind == "folder":
            entries += _without_answers(one, layout, entries)
        elif one.kind == "other":
            entries.append(ManifestEntry("", "", one.path, PASSED_OVER))
        elif one.is_of_several:
            entries += _of_several(one, course)
        elif one.kind != "hidden":
            for entry in _of_one(one, layout):
                words = entry.student if course.roster else frozenset(words_of(entry.student))
                name = spelled.setdefault(words or entry.student, entry.student)
                entries.append(replace(entry, student=name))
    count = len(course.problems.keys)
    entries = [one for group in by_person(entries) for one in _settled(group, count)]
    answered = {(one.student, n) for one in entries for n in one.answers if one.read(n)}
    entries = [_opened(one, answered) for one in entries]
    _tell_passed_over(every, entries, course)
    return entries


def _without_answers(
    one: AnswerFile, layout: ClassFolders, known: Sequence[ManifestEntry]
) -> Iterator[ManifestEntry]:
    """Yield the entry of a student whose folder has no files, if no other file is the student's."""
    seen = {entry.student for entry in known}
    if not seen or not layout.student(one):
        return
    name = layout.student(one)[-1]
    path = next(p for p in (Path(one.path), *Path(one.path).parents) if folder_name(str(p)) == name)
    students, rule, _ = whose(one, layout)
    error = Place(str(path)).error(NO_ANSWERS)
    answers = dict.fromkeys(range(len(layout.course.problems.keys)), error)
    for student in students:
        if student not in seen:
            yield ManifestEntry(student, "", str(path), rule, answers)


def _of_several(one: AnswerFile, course: Course) -> Iterator[ManifestEntry]:
    for part in by_student(course.problems, one.read, Place(one.path)):
        file = f"{one.path}:{part.line}" if part.line else one.path
        rule = f"its line says {visible(part.student)}"
        name = course.roster.find(part.student) if course.roster else part.student
        nearest = () if name else course.roster.nearest(part.student)
        yield ManifestEntry(name, "", file, rule, part.by_problem, nearest=nearest)


def _of_one(one: AnswerFile, layout: ClassFolders) -> Iterator[ManifestEntry]:
    """Yield an entry for each student of a file: a group may hand in one together."""
    names, rule, nearest = whose(one, layout)
    if not names and one.kind == "unreadable" and not layout.own_words(one):
        yield ManifestEntry("", "", one.path, PASSED_OVER)
        return
    match = by_platform(CANVAS, one)
    version = int(match["version"] or 0) if match else 0
    answers, told = answers_of(one, layout.course.problems)
    rule = "; ".join(filter(None, (rule, told)))
    for name in names or [""]:
        yield ManifestEntry(name, "", one.path, rule, answers, version, nearest)


def answers_of(one: AnswerFile, problems: ProblemSet) -> tuple[Mapping[int, ReadAnswers], str]:
    """Return the answers of one student by problem, and what tells the problem."""
    if one.error:
        return dict.fromkeys(range(len(problems.keys)), one.error), ""
    inner_first = (own_name(one), *one.parts[-2::-1])
    told = [index for part in inner_first if (index := problems.names.in_name(part)[0]) is not None]
    if told and len(one.read) == 1 and not tells_problem(problems, one.read[0][1]):
        return {told[0]: one.read[0][1]}, "the problem by its path"
    parts = by_student(problems, one.read, Place(one.path))
    answers = {index: read for part in parts for index, read in part.by_problem.items()}
    return answers, "the problem by its contents" if len(problems.keys) > 1 else ""


def answers_to(index: int, entries: Sequence[ManifestEntry]) -> ReadAnswers | None:
    """Return the answers to a problem in the files of a student; those of several are merged."""
    read = [(one.file, answers) for one in entries if (answers := one.read(index))]
    if read:
        return merged(read, index)
    unread = [one.answers[index] for one in entries if index in one.answers]
    faults = (fault for error in unread if isinstance(error, InputError) for fault in error.faults)
    return InputError(*dict.fromkeys(faults)) if unread else None


def by_person(entries: Sequence[ManifestEntry]) -> Iterator[list[ManifestEntry]]:
    """Yield the entries of each student together, and each entry without a student alone."""
    groups: dict[object, list[ManifestEntry]] = {}
    for number, one in enumerate(entries):
        groups.setdefault(one.student or number, []).append(one)
    yield from groups.values()


def _settled(group: Sequence[ManifestEntry], count: int) -> Iterator[ManifestEntry]:
    """Yield the entries of a student with the problems that they answer.

    An entry is passed over if a newer resubmission, or another file, answers the same. It is open
    if it contradicts another one, or cannot be read.
    """
    newest: dict[int, int] = {}
    for one in group:
        read = filter(one.read, one.answers)
        newest |= {index: max(one.version, newest.get(index, 0)) for index in read}
    latest = [
        replace(
            one, answers={n: x for n, x in one.answers.items() if one.version >= newest.get(n, 0)}
        )
        for one in group
    ]
    clashing = {n for n in newest if isinstance(answers_to(n, latest), InputError)}
    for one, before in zip(latest, group, strict=True):
        unread = [index for index in one.answers if not one.read(index)]
        is_any = count == 1 or len(unread) == len(one.answers) == count
        problem = "" if is_any else " ".join(str(index + 1) for index in sorted(one.answers))
        if before.answers and not one.answers:
            rule = f"{PASSED_OVER}: {one.student} handed it in again"
        elif unread and len(unread) == len(one.answers) and newest.keys() >= set(unread):
            rule = f"{PASSED_OVER}: other files of {one.student} answer the same"
        elif unread and one.student:
            rule = f"{OPEN}: it cannot be read ({one.rule})"
        elif twice := clashing.intersection(one.answers):
            rule = f"{OPEN}: another file answers problem {min(twice) + 1}, too ({one.rule})"
        else:
            rule = one.rule
        student = "" if rule.startswith(PASSED_OVER) else one.student
        yield replace(one, student=student, problem=problem, rule=rule)


def _opened(entry: ManifestEntry, answered: Container[tuple[str, int]]) -> ManifestEntry:
    """Return an entry; one without a student is open, and names students without such answers."""
    if entry.student or entry.rule.startswith(PASSED_OVER):
        return entry
    left = [who for who in entry.nearest if any((who, n) not in answered for n in entry.answers)]
    likely = left or entry.nearest
    perhaps = f": perhaps {' or '.join(likely)}" if likely else ""
    told = f" ({entry.rule})" if entry.rule else ""
    return replace(entry, rule=f"{OPEN}{perhaps}{told}", nearest=likely)


def _tell_passed_over(
    every: Sequence[AnswerFile], entries: Sequence[ManifestEntry], course: Course
) -> None:
    paths_passed_over = {one.file for one in entries if one.rule.startswith(PASSED_OVER)}
    for source in dict.fromkeys(one.source for one in every):
        of_source = [one for one in every if one.source == source]
        paths = [one.path for one in of_source if one.path in paths_passed_over]
        paths.sort(key=lambda path: (len(Path(path).parts), natural(path)))
        names = [visible(str(Path(path).relative_to(source))) for path in paths]
        hidden = sum(one.kind == "hidden" for one in of_source)
        others = [count_of(hidden, "hidden file")] if hidden else []
        if names or others:
            course.tell(f"{visible(source)}: passed over {few(names, *others)}")


def few(names: Sequence[str], *others: str) -> str:
    """Return names and other words as a list; beyond `MAX_PATHS_NAMED` names, only their count."""
    more = len(names) - MAX_PATHS_NAMED
    shown = [*names[:MAX_PATHS_NAMED], f"{more} more"] if more > 1 else names
    return all_of([*shown, *others])


LinesOf: TypeAlias = Callable[[str], Mapping[int, Mapping[int, ReadAnswers]]]
COLUMNS = ("student", "problem", "file", "rule")
ABSENT = "handed in nothing"
"""The rule for a student without a file."""

LINE = regex(r"\A(?P<file>.+):(?P<line>\d{1,9})\Z")
"""A line of a file of several students."""


def manifest_text(entries: Iterable[ManifestEntry]) -> bytes:
    """Return the manifest: a row per file, and one for each student who handed in nothing."""
    rows = [(one.student, one.problem, one.file, one.rule) for one in entries]
    return csv_text([COLUMNS, *(map(as_cell, row) for row in rows)]).encode()


def read_manifest(
    file: str, course: Course, sources: Sequence[str], allow_outside: bool
) -> list[ManifestEntry]:
    """Return the entries of a manifest, as `manifest_text` wrote them or as they were corrected.

    It may name `sources`, what is in these and in its own folder; others if `allow_outside`.
    `course.tell` is called with the files in `sources` without a row, such as newer ones.

    Raises:
        InputError: for missing columns, an unknown student or problem, and a missing file, or one
            that the manifest may not name.
    """
    others = [*map(Path, sources)]
    way_out = "name its folder behind the problem"
    folder = Folder(Path(file).parent, allow_outside, others, way_out)
    table = read_table(file)
    header = [cell.casefold() for cell in table.rows[0].cells] if table.rows else []
    if missing := [name for name in COLUMNS[:3] if name not in header]:
        hint = f"the first line of a manifest is {','.join(COLUMNS)}"
        raise Place(file, 1).error(f"a column is missing: {', '.join(missing)}", hint)
    entries, errors = list[ManifestEntry](), list[InputError]()
    lines_of = cache(partial(_lines, course=course))  # of a table, which many rows name
    for row in table.rows[1:]:
        cells = dict(zip(header, [*row.cells, *[""] * len(header)], strict=False))
        try:
            entries.append(_followed(cells, table.place(row), course, lines_of, folder))
        except InputError as error:
            errors.append(error)
    refuse([fault for error in errors for fault in error.faults])
    known = {LINE.sub(r"\g<file>", one.file) for one in entries} | {one.file for one in entries}
    if left_out := [visible(path) for path in answer_paths(sources) if path not in known]:
        course.tell(f"{visible(file)}: no row for {few(left_out)}, so not marked")
    return entries


def _followed(
    cells: Mapping[str, str], place: Place, course: Course, lines_of: LinesOf, folder: Folder
) -> ManifestEntry:
    student, problem, path, rule = (cells.get(name, "") for name in COLUMNS)
    known = course.roster.find(student)
    if student and course.roster and not known:
        near = " or ".join(map(visible, course.roster.nearest(student)))
        hint = f"did you mean {near}?" if near else "name one of the class, or nobody"
        raise place.error(f"no student is called {visible(student)}", hint)
    student = known or student
    if not student and not rule.startswith((OPEN, PASSED_OVER)):
        rule = OPEN
    if not path or (not student and rule.startswith(PASSED_OVER)):
        return ManifestEntry(student, problem, path, rule)
    words = [word for word in re.split(r"[\s,;]+", problem) if word]
    indices = (course.problems.names.which(word) for word in words)
    wanted = [index for index in indices if index is not None]
    if len(wanted) < len(words):
        hint = f"there are {len(course.problems.keys)}: write their numbers"
        raise place.error(f"there is no problem {visible(problem)}", hint)
    for name in {path, LINE.sub(r"\g<file>", path)}:
        try:
            folder.file(str(Path(name).absolute()))
        except InputError as error:
            (fault,) = error.faults
            raise place.error(f"{path}: {fault.message}", fault.hint) from None
    answers = _read(path, wanted, place, course, lines_of)
    chosen = {n: read for n, read in answers.items() if not wanted or n in wanted}
    nearest = [] if student else course.roster.named_in(rule)
    return ManifestEntry(student, problem, path, rule, chosen, nearest=nearest)


def _read(
    path: str, wanted: Sequence[int], place: Place, course: Course, lines_of: LinesOf
) -> Mapping[int, ReadAnswers]:
    if is_folder(path):
        error = Place(path).error(NO_ANSWERS)
        return dict.fromkeys(range(len(course.problems.keys)), error)
    match = LINE.fullmatch(path)
    if match and is_file(match["file"]) and not is_file(path):
        if (answers := lines_of(match["file"]).get(int(match["line"]))) is not None:
            return answers
        message = f"there are no answers in line {match['line']} of {visible(match['file'])}"
        raise place.error(message)
    if not is_file(path):
        raise place.error(f"there is no such file: {visible(path)}")
    one = read_answer_file(path, (Path(path).stem,), path, course)
    if len(wanted) == len(one.read) == 1:
        return {wanted[0]: one.read[0][1]}
    return answers_of(one, course.problems)[0]


def _lines(file: str, course: Course) -> Mapping[int, Mapping[int, ReadAnswers]]:
    one = read_answer_file(file, (Path(file).stem,), file, course)
    if one.error:
        raise one.error
    parts = by_student(course.problems, one.read, Place(file))
    return {part.line: part.by_problem for part in parts}
