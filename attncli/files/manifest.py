"""Who handed in what: the student and the problems of each file, and the rule that tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from attncli.checking.submission import Submission
from attncli.errors import InputError, Place
from attncli.files.assignment import ProblemSet
from attncli.files.document import error_at
from attncli.files.folders import folder_name, is_hidden, natural, without_zip
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
    own_name,
)
from attncli.files.read import STDIN
from attncli.files.roster import words_of
from attncli.files.submissions import (
    ReadSubmission,
    StudentsAnswers,
    by_student,
    merged,
    tells_problem,
)
from attncli.records import EMPTY, Record, replace
from attncli.text.escapes import visible
from attncli.text.sentences import all_of

OPEN, PASSED_OVER = "open", "passed over"
"""The beginnings of rules for files that are marked for nobody, or that cannot be read."""

MAX_PATHS_NAMED = 20
"""Maximum number of passed-over files that a message names; it counts the others."""


class Entry(Record, eq=False):
    """A row of the manifest: whose a file, or a line of a file of several students, is.

    Attributes:
        student: the name; "" for what is marked for nobody.
        problem: the numbers of the problems that it answers; "" for the only one.
        file: its path, with a line of it as in `form.csv:12`; "" if nothing was handed in.
        rule: what told the student and the problem; it begins with `OPEN` where nothing did.
        answers: what was read, by the index of the problem.
        variant: the variant that it names, or "".
        version: the number of a resubmission; the highest one counts.
        error: why it cannot be read.
        nearest: the student whom it may mean, where it is open.
    """

    student: str
    problem: str
    file: str
    rule: str
    answers: Mapping[int, ReadSubmission] = EMPTY
    variant: str = ""
    version: int = 0
    error: InputError | None = None
    nearest: str = ""

    def open(self, course: Course, said: str) -> Entry:
        """Return the entry as one that tells no student, with the one that is most like a text."""
        near = course.roster.nearest(said)
        perhaps = f": perhaps {near}" if near else ""
        told = f" ({self.rule})" if self.rule else ""
        rule = f"{OPEN}{perhaps}{told}"
        return replace(self, rule=rule, nearest=near)


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
    own = layout.own_words(one)
    return [own] if own or one.kind == "unreadable" else [one.parts[-1]]


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


def whose(one: Handed, layout: Layout, course: Course) -> tuple[Sequence[str], str] | None:
    """Return the students of a file and the rule that tells them, if one does."""
    for rule, tell in RULES.items():
        texts = [text for text in tell(one, layout, course) if text]
        if texts and not course.roster:
            return texts, rule
        people = [course.roster.find(text) for text in texts]
        if texts and None not in people:
            return list(dict.fromkeys(person.name for person in people if person)), rule
    return None


def manifest(sources: Sequence[str], course: Course) -> list[Entry]:
    """Return whose each file is that the user names, or that is in a folder of those.

    `course.tell` is called with a sentence about files that are passed over.
    """
    every = handed_in(sources, course)
    layout = Layout(every, course)
    found: list[Entry] = []
    spelled: dict[frozenset[str], str] = {}  # the first way in which a name is written
    for one in sorted(every, key=lambda one: one.kind == "folder"):
        if one.kind == "folder":
            found += _without_answers(one, layout, course, found)
        elif one.kind == "other":
            found.append(Entry("", "", one.path, PASSED_OVER))
        elif one.several is not None:
            found += _of_several(one, course)
        elif students := whose(one, layout, course):
            names, rule = students
            entry = _of_one(one, rule, course.problems)
            names = [spelled.setdefault(frozenset(words_of(name)), name) for name in names]
            found += [replace(entry, student=name) for name in names]
        elif one.kind == "unreadable" and not layout.own_words(one):
            found.append(Entry("", "", one.path, PASSED_OVER))
        else:
            entry = _of_one(one, "", course.problems)
            found.append(entry.open(course, layout.own_words(one) or one.stated))
    found = _with_what_is_open([*_without_older(found)], course.problems)
    _tell_passed_over(every, found, course)
    return [one for one in found if not is_hidden(Path(one.file).name)]


def _without_answers(
    one: Handed, layout: Layout, course: Course, known: Sequence[Entry]
) -> Iterator[Entry]:
    """Yield the entry of a student whose folder has no files, if no other file is the student's."""
    seen = {entry.student for entry in known}
    if not seen or not layout.student(one):
        return
    name = layout.student(one)[-1]
    path = next(p for p in (Path(one.path), *Path(one.path).parents) if without_zip(p.name) == name)
    students, rule = whose(one, layout, course) or ([], "")
    for student in students:
        if student not in seen:
            error = error_at(Place(str(path)), NO_ANSWERS)
            yield Entry(student, "", str(path), rule, error=error)


def _of_several(one: Handed, course: Course) -> Iterator[Entry]:
    """Yield an entry for each student of a table, or of a file of several."""
    for part in by_student(course.problems, one.several or (), Place(one.path)):
        line = line_of(part)
        file = f"{one.path}:{line}" if line else one.path
        student = part.student or next(name for name, _ in part.by_problem.values())
        rule = f"its line says {visible(student)}"
        entry = _entry(file, rule, part.by_problem, part.variant, course.problems)
        if not course.roster:
            yield replace(entry, student=student)
        elif person := course.roster.find(student):
            yield replace(entry, student=person.name)
        else:
            yield entry.open(course, student)


def line_of(part: StudentsAnswers) -> int:
    """Return the line in which a file of several students names one; 0 if it has no lines."""
    read = next(one for _, one in part.by_problem.values())
    if isinstance(read, InputError):
        return next((fault.place.line for fault in read.faults if fault.place), 0)
    return read.locate(("student",)).line


def _of_one(one: Handed, rule: str, problems: ProblemSet) -> Entry:
    """Return the entry of a file of one student, without the student."""
    match = by_platform(CANVAS, one)
    version = int(match["version"] or 0) if match else 0
    if one.error:
        return Entry("", "", one.path, rule, version=version, error=one.error)
    answers, variant, told = answers_of(one, problems)
    rule = "; ".join(filter(None, [rule, told])) if len(problems.keys) > 1 else rule
    return replace(_entry(one.path, rule, answers, variant, problems), version=version)


def _entry(
    file: str, rule: str, answers: Mapping[int, ReadSubmission], variant: str, problems: ProblemSet
) -> Entry:
    errors = [error for _, error in answers.values() if isinstance(error, InputError)]
    if len(errors) == len(problems.keys):
        faults = dict.fromkeys(fault for error in errors for fault in error.faults)
        return Entry("", "", file, rule, variant=variant, error=InputError(*faults))
    numbers = sorted(index + 1 for index in answers) if len(problems.keys) > 1 else ()
    return Entry("", " ".join(map(str, numbers)), file, rule, answers, variant)


def answers_of(one: Handed, problems: ProblemSet) -> tuple[Mapping[int, ReadSubmission], str, str]:
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


def submission_to(index: int, entries: Sequence[Entry]) -> ReadSubmission | None:
    """Return what the files of a student hold of one problem; its parts in several are merged."""
    own = [(one.file, one.answers[index]) for one in entries if index in one.answers]
    read = [(file, one) for file, one in own if isinstance(one[1], Submission)]
    return merged(read, index) if read else own[0][1] if own else None


def _without_older(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield the entries without the answers for which there is a newer resubmission."""
    newest: dict[tuple[str, int], int] = {}
    for one in entries:
        for key in ((one.student, index) for index in one.answers):
            newest[key] = max(one.version, newest.get(key, 0))
    for one in entries:
        kept = {n: x for n, x in one.answers.items() if one.version == newest[one.student, n]}
        is_older = one.answers and not kept
        rule = f"{PASSED_OVER}: it was handed in again" if is_older else one.rule
        yield replace(one, answers=kept, rule=rule)


def _with_what_is_open(entries: Sequence[Entry], problems: ProblemSet) -> list[Entry]:
    """Return the entries; open are those that contradict each other, or cannot be read.

    An unreadable file is passed over if others answer every problem.
    """
    by_student: dict[str, list[Entry]] = {}
    for one in entries:
        by_student.setdefault(one.student, []).append(one)
    found = []
    for one in entries:
        others = by_student[one.student] if one.student else [one]
        answered = {index for other in others for index in other.answers}
        rule = one.rule
        if one.error is not None and len(answered) == len(problems.keys):
            rule = f"{PASSED_OVER}: other files answer every problem"
        elif one.error is not None:
            rule = f"{OPEN}: it cannot be read ({rule})" if one.student else rule
        elif twice := [index for index in one.answers if _differ(index, others)]:
            rule = f"{OPEN}: another file answers problem {twice[0] + 1}, too ({rule})"
        found.append(replace(one, rule=rule))
    return found


def _differ(index: int, entries: Sequence[Entry]) -> bool:
    """Return True if files of one student answer a problem with other numbers."""
    own = [one.answers[index] for one in entries if index in one.answers]
    if sum(isinstance(read, Submission) for _, read in own) < 2:
        return False
    found = submission_to(index, entries)
    return found is not None and isinstance(found[1], InputError)


def _tell_passed_over(every: Sequence[Handed], found: Sequence[Entry], course: Course) -> None:
    paths = {one.file for one in found if one.rule.startswith(PASSED_OVER)}
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
