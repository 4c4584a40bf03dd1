"""Who handed in what: the student and the problems of each file, and the rule that tells it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from attncli.classroom.assignment import ProblemSet
from attncli.classroom.handed_in import (
    CANVAS,
    METADATA,
    MOODLE,
    NO_ANSWERS,
    ClassFolders,
    Course,
    Handed,
    by_platform,
    handed_in,
    own_name,
)
from attncli.classroom.roster import words_of
from attncli.classroom.submissions import ReadAnswers, by_student, merged, tells_problem
from attncli.core.errors import InputError, Place
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.escapes import visible
from attncli.core.text.sentences import all_of
from attncli.reading.document import Submission, error_at
from attncli.reading.files import folder_name, is_hidden, natural, without_zip
from attncli.reading.read import STDIN

OPEN, PASSED_OVER = "open", "passed over"
"""The beginnings of rules for files that the teacher should look at, and that count for nobody."""

MAX_PATHS_NAMED = 20
"""Maximum number of passed-over files that a message names; it counts the others."""


class ManifestEntry(Record, eq=False):
    """A row of the manifest: whose a file, or a line of a file of several students, is.

    Attributes:
        student: the name; "" for what is marked for nobody.
        problem: the numbers of the problems that it answers; "" if it may be any.
        file: its path, with a line of it as in `form.csv:12`; "" if nothing was handed in.
        rule: what told the student and the problem; it begins with `OPEN` where nothing did.
        answers: what was read, or why it could not be, by the index of the problem.
        version: the number of a resubmission; the highest one counts.
        nearest: the students whom it may mean, where it is open.
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
        found = self.answers.get(index)
        return found if isinstance(found, Submission) else None


Told: TypeAlias = Callable[[Handed, ClassFolders, Course], Sequence[str]]
"""Returns texts that name the students of a file, or nothing."""


def _by_key(one: Handed, layout: ClassFolders, course: Course) -> Sequence[str]:
    return one.names[:1]


def _by_metadata(one: Handed, layout: ClassFolders, course: Course) -> Sequence[str]:
    people = layout.submitters(one)
    return [" ".join(words) if course.roster else words[0] for words in people if words]


def _by_platform(
    pattern: re.Pattern[str], one: Handed, layout: ClassFolders, course: Course
) -> Sequence[str]:
    match = by_platform(pattern, one)
    return [match["who"]] if match else []


def _by_folder(one: Handed, layout: ClassFolders, course: Course) -> Sequence[str]:
    return layout.student(one)[-1:]


def _by_class(one: Handed, layout: ClassFolders, course: Course) -> Sequence[str]:
    around = [] if one.is_listed else [folder_name(one.source)]
    people = (course.roster.find(part) for part in (*one.parts, *around))
    return [person.name for person in people if person is not None][:1]


def _by_name(one: Handed, layout: ClassFolders, course: Course) -> Sequence[str]:
    if one.is_listed and not course.roster:
        only = one.read[0][0] if len(one.read) == 1 else one.path
        return [STDIN if only == "-" else only]
    own = layout.own_words(one)
    return [own] if own or one.kind == "unreadable" or course.roster else [one.parts[-1]]


RULES: Mapping[str, Told] = {
    "its key student": _by_key,
    f"Gradescope's {METADATA}": _by_metadata,
    "the name that Moodle gave": partial(_by_platform, MOODLE),
    "the name that Canvas gave": partial(_by_platform, CANVAS),
    "its folder": _by_folder,
    "a name of the class in its path": _by_class,
    "its name": _by_name,
}
"""Functions that find the students of a file, the most reliable first. If the class is known, names
that are not in it are left out."""


def whose(
    one: Handed, layout: ClassFolders, course: Course
) -> tuple[Sequence[str], str, Sequence[str]]:
    """Return the students of a file, and the rule that tells them; or whom it may mean.

    A name is "" if it is that of nobody in the class; there are none if no rule tells any.
    """
    said: list[str] = []
    for rule, tell in RULES.items():
        texts = [text for text in tell(one, layout, course) if text]
        if texts and not course.roster:
            return texts, rule, ()
        people = [course.roster.find(text) for text in texts]
        if any(people):
            return list(dict.fromkeys(person.name if person else "" for person in people)), rule, ()
        said += texts
    return (), "", next(filter(None, map(course.roster.nearest, said)), ())


def manifest(sources: Sequence[str], course: Course) -> list[ManifestEntry]:
    """Return whose each file is that the user names, or that is in a folder of those.

    `course.tell` is called with a sentence about files that are passed over.
    """
    every = handed_in(sources, course)
    layout = ClassFolders(every, course)
    found: list[ManifestEntry] = []
    spelled: dict[object, str] = {}  # the first way in which a name is written
    for one in sorted(every, key=lambda one: one.kind == "folder"):
        if one.kind == "folder":
            found += _without_answers(one, layout, course, found)
        elif one.kind == "other":
            found.append(ManifestEntry("", "", one.path, PASSED_OVER))
        elif one.is_of_several:
            found += _of_several(one, course)
        else:
            for entry in _of_one(one, layout, course):
                words = entry.student if course.roster else frozenset(words_of(entry.student))
                name = spelled.setdefault(words or entry.student, entry.student)
                found.append(replace(entry, student=name))
    count = len(course.problems.keys)
    found = [one for group in by_person(found) for one in _settled(group, count)]
    answered = {(one.student, n) for one in found for n in one.answers if one.read(n)}
    found = [_opened(one, answered) for one in found]
    _tell_passed_over(every, found, course)
    return [one for one in found if not is_hidden(Path(one.file).name)]


def _without_answers(
    one: Handed, layout: ClassFolders, course: Course, known: Sequence[ManifestEntry]
) -> Iterator[ManifestEntry]:
    """Yield the entry of a student whose folder has no files, if no other file is the student's."""
    seen = {entry.student for entry in known}
    if not seen or not layout.student(one):
        return
    name = layout.student(one)[-1]
    path = next(p for p in (Path(one.path), *Path(one.path).parents) if without_zip(p.name) == name)
    students, rule, _ = whose(one, layout, course)
    error = error_at(Place(str(path)), NO_ANSWERS)
    answers = dict.fromkeys(range(len(course.problems.keys)), error)
    for student in students:
        if student not in seen:
            yield ManifestEntry(student, "", str(path), rule, answers)


def _of_several(one: Handed, course: Course) -> Iterator[ManifestEntry]:
    """Yield an entry for each student of a table, or of a file of several."""
    for part in by_student(course.problems, one.read, Place(one.path)):
        file = f"{one.path}:{part.line}" if part.line else one.path
        rule = f"its line says {visible(part.student)}"
        person = course.roster.find(part.student)
        name = part.student if not course.roster else person.name if person else ""
        nearest = () if name else course.roster.nearest(part.student)
        yield ManifestEntry(name, "", file, rule, part.by_problem, nearest=nearest)


def _of_one(one: Handed, layout: ClassFolders, course: Course) -> Iterator[ManifestEntry]:
    """Yield an entry for each student of a file: a group may hand in one together."""
    names, rule, nearest = whose(one, layout, course)
    if not names and one.kind == "unreadable" and not layout.own_words(one):
        yield ManifestEntry("", "", one.path, PASSED_OVER)
        return
    match = by_platform(CANVAS, one)
    version = int(match["version"] or 0) if match else 0
    answers, told = answers_of(one, course.problems)
    rule = "; ".join(filter(None, (rule, told)))
    for name in names or [""]:
        yield ManifestEntry(name, "", one.path, rule, answers, version, nearest)


def answers_of(one: Handed, problems: ProblemSet) -> tuple[Mapping[int, ReadAnswers], str]:
    """Return the answers of one student by problem, and what tells the problem."""
    if one.error:
        return dict.fromkeys(range(len(problems.keys)), one.error), ""
    inner_first = (own_name(one), *one.parts[-2::-1])
    told = [index for part in inner_first if (index := problems.in_name(part)[0]) is not None]
    if told and len(one.read) == 1 and not tells_problem(problems, one.read[0][1]):
        return {told[0]: one.read[0][1]}, "the problem by its path"
    parts = by_student(problems, one.read, Place(one.path))
    found = {index: read for part in parts for index, read in part.by_problem.items()}
    return found, "the problem by its contents" if len(problems.keys) > 1 else ""


def answers_to(index: int, entries: Sequence[ManifestEntry]) -> ReadAnswers | None:
    """Return what the files of a student hold of one problem; its parts in several are merged."""
    read = [(one.file, answers) for one in entries if (answers := one.read(index))]
    if read:
        return merged(read, index)
    own = [one.answers[index] for one in entries if index in one.answers]
    faults = (fault for error in own if isinstance(error, InputError) for fault in error.faults)
    return InputError(*dict.fromkeys(faults)) if own else None


def by_person(entries: Sequence[ManifestEntry]) -> Iterator[list[ManifestEntry]]:
    """Yield the entries of each student, and those of nobody each alone."""
    groups: dict[object, list[ManifestEntry]] = {}
    for number, one in enumerate(entries):
        groups.setdefault(one.student or number, []).append(one)
    yield from groups.values()


def _settled(group: Sequence[ManifestEntry], count: int) -> Iterator[ManifestEntry]:
    """Yield the entries of a student with the problems that they answer.

    Nobody's are those of which a newer resubmission, or another file, answers the same; open are
    those that contradict each other, or cannot be read.
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
    """Return an entry; one that tells no student is open, and may mean who did not answer it."""
    if entry.student or entry.rule.startswith(PASSED_OVER):
        return entry
    left = [who for who in entry.nearest if any((who, n) not in answered for n in entry.answers)]
    likely = left or entry.nearest
    perhaps = f": perhaps {' or '.join(likely)}" if likely else ""
    told = f" ({entry.rule})" if entry.rule else ""
    return replace(entry, rule=f"{OPEN}{perhaps}{told}", nearest=likely)


def _tell_passed_over(
    every: Sequence[Handed], found: Sequence[ManifestEntry], course: Course
) -> None:
    paths = {one.file for one in found if one.rule.startswith(PASSED_OVER)}
    for source in dict.fromkeys(one.source for one in every):
        own = [one.path for one in every if one.source == source and one.path in paths]
        own.sort(key=lambda path: (len(Path(path).parts), natural(path)))
        shown = [path for path in own if not is_hidden(Path(path).name)]
        names = [visible(str(Path(path).relative_to(source))) for path in shown]
        hidden = len(own) - len(shown)
        others = [f"{hidden} hidden file{'s'[: hidden != 1]}"] if hidden else []
        if own:
            course.tell(f"{visible(source)}: passed over {few(names, *others)}")


def few(names: Sequence[str], *others: str) -> str:
    """Return a list of names, the last of many only counted, and of other words."""
    more = len(names) - MAX_PATHS_NAMED
    shown = [*names[:MAX_PATHS_NAMED], f"{more} more"] if more > 1 else names
    return all_of([*shown, *others])
