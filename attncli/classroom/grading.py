"""The submissions of a class, judged one by one; a bad one stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeAlias, TypeVar

from attncli.checking.check import Graded
from attncli.classroom.answer_files import Course
from attncli.classroom.assignment import Assignment, ProblemSet, ReadAnswers
from attncli.classroom.manifest import (
    ABSENT,
    OPEN,
    ManifestEntry,
    answers_to,
    by_person,
    manifest,
    read_manifest,
)
from attncli.classroom.name_index import Roster
from attncli.core.errors import InputError, Place, fail
from attncli.core.jobs import Pool
from attncli.core.problem.problem import Problem
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import visible
from attncli.reading.document import KnownClass, Submission, Unread
from attncli.reading.files import is_folder
from attncli.reading.submissions import answers_in_files, load_each_submission

MAX_LIKELY = 10
"""Maximum number of students that a message names as those whose a file may be. Chosen."""


Part = TypeVar("Part")

Student: TypeAlias = tuple[Graded, ...]
"""The results of one student, one item per problem."""


StudentFiles: TypeAlias = tuple[Sequence[ManifestEntry], Sequence[ManifestEntry]]
"""The files of a student, and those that perhaps are the student's."""


def silent(_: str) -> None:
    """Say nothing about the files that are passed over."""


class Grading(Record):
    """How submissions are read and judged; see `grade_all`.

    Attributes:
        roster: the class; by default the names of the variants.
        manifest: a file that says whose each file is; "" if rules are to tell it.
        tell: is called with a sentence about the files that are passed over.
        with_absent: whether students of the class who handed in nothing are included.
    """

    assignment: Assignment
    strict: bool = False
    stdin: BinaryIO | None = None
    matrices: Mapping[str, str] = EMPTY
    allow_outside: bool = False
    headings: Mapping[str, str] = EMPTY
    tell: Callable[[str], None] = silent
    with_absent: bool = True
    roster: Roster | None = None
    manifest: str = ""

    @property
    def course(self) -> Course:
        roster = self.assignment.roster if self.roster is None else self.roster
        first = self.assignment.first
        which = (lambda said: first.names.in_name(said)[0]) if len(first.keys) > 1 else None
        known = KnownClass(self.headings, roster.find, which)
        load = partial(
            load_each_submission, stdin=self.stdin, allow_outside=self.allow_outside, known=known
        )
        return Course(first, roster, load, self.tell)

    def entries(self, sources: Sequence[str]) -> list[ManifestEntry]:
        """Return the manifest of files and folders, with students of the class without any file.

        Without a roster, a folder is of a class unless it has the name of one student.
        """
        course = self.course
        entries = manifest(sources, course)
        people = [person.name for person in course.roster.people]
        of_class = (s for s in sources if is_folder(s) and Path(s).resolve().name not in people)
        if self.roster or any(of_class):
            seen = {one.student for one in entries}
            entries += [ManifestEntry(name, "", "", ABSENT) for name in people if name not in seen]
        return entries

    def students(self, sources: Sequence[str]) -> Iterator[Student]:
        """Yield for each student the report on each problem, or why there is none."""
        if sources or self.manifest:
            yield from map(self._graded, self._files(sources))
        else:
            yield from self._inside()

    def parts(
        self, sources: Sequence[str], pool: Pool, make: Callable[[Student], Part]
    ) -> Iterator[Part]:
        """Yield what `make` makes of the results of each student, in processes of a pool.

        Results that tell a place in a file are found in this process, which has the files.
        """
        if not (sources or self.manifest):
            yield from map(make, self._inside())
            return
        work = partial(replace(self, stdin=None, tell=silent)._parts, make)
        every = pool.each(work, self._files(sources), lambda one: make(self._lost(one)))
        for files, part in every:
            yield make(self._graded(files)) if part is None else part

    def _parts(
        self, make: Callable[[Student], Part], every: list[StudentFiles]
    ) -> list[Part | None]:
        students = map(self._graded, every)
        return [
            # The places of errors in files are known to the process that has the files.
            None if any(isinstance(x, Unread) or x.tells_place for x in one) else make(one)
            for one in students
        ]

    def _lost(self, files: StudentFiles) -> Student:
        """Return why there is no report on answers that twice ended the process they were in."""
        first = files[0][0]
        message = "the process that judged this ended, and so did another"
        error, problems = Place(first.file).error(message), self.assignment.first
        titles = map(problems.title, range(len(problems.keys)))
        return tuple(Unread(first.student or first.file, error, title) for title in titles)

    def _files(self, sources: Sequence[str]) -> list[StudentFiles]:
        files = self._files_of_flags(len(sources), "files of answers")
        if self.manifest:
            every = read_manifest(self.manifest, self.course, sources, self.allow_outside)
        else:
            every = self.entries(sources)
        entries = [one for one in every if one.file or self.with_absent]
        _refuse_several(self.matrices, len(entries), "submissions")
        if files:
            entries = [_with(one, files) for one in entries]
        perhaps: dict[str, list[ManifestEntry]] = {}
        for one in entries:
            for name in one.nearest:
                perhaps.setdefault(name, []).append(one)
        absent = (one.student for one in entries if not one.file and one.student in perhaps)
        told = {perhaps[name][-1].file for name in absent}  # in the results of these students
        return [
            (group, perhaps.get(group[0].student, ()))
            for group in by_person(entries)
            if group[0].student  # files of nobody, which are passed over, have no results
            or (group[0].rule.startswith(OPEN) and group[0].file not in told)
        ]

    def _files_of_flags(self, count: int = 0, what: str = "") -> Submission | None:
        """Return the answers in files that flags name; None if they name none."""
        files = answers_in_files(self.matrices) if self.matrices else None
        _refuse_several(self.matrices, len(self.assignment.first.keys), "problems")
        _refuse_several(self.matrices, count, what)
        return files

    def _inside(self) -> Iterator[Student]:
        """Yield the results for the answers that the problems themselves hold."""
        problems, files = self.assignment.first, self._files_of_flags()
        if len(self.assignment.names) > 1:
            hint = "name the files of answers, or their folder"
            raise fail("variants have no answers to check", hint=hint)
        unnamed = Submission(", ".join(self.matrices.values()), {})
        answers = [
            unnamed if files and one.problem.answers is None else Submission.inside(one.problem)
            for one in problems.keys
        ]
        for number, one in enumerate(answers):
            whole = one.joined(files) if files else one
            yield (self._report(problems, number, one.name, whole),)

    def _graded(self, files: StudentFiles) -> Student:
        """Return the results of one student; missing answers are empty.

        They are unknown if they may be in one of the files that are `perhaps` the student's.
        """
        group, perhaps = files
        first, every = group[0], range(len(self.assignment.first.keys))
        name = first.student or first.file
        last = {number: one for one in perhaps for number in one.answers}
        answers: dict[int, ReadAnswers] = {number: _untold(one) for number, one in last.items()}
        if not first.student:
            answers = dict.fromkeys(every, _untold(first))
        else:
            merged = ((index, answers_to(index, group)) for index in every)
            answers |= {index: one for index, one in merged if one is not None}
        variants = [one.variant for one in answers.values() if isinstance(one, Submission)]
        names = [*variants, first.student, Path(first.file).stem]
        try:
            problems = self.assignment.given_to(*filter(None, names))
        except InputError as error:
            problems = self.assignment.first
            unread = next((one for one in answers.values() if isinstance(one, InputError)), error)
            answers = dict.fromkeys(every, unread)
        nothing = Submission(name, {})
        return tuple(
            self._report(problems, number, name, answers.get(number, nothing))
            for number in range(len(problems.keys))
        )

    def _report(self, problems: ProblemSet, number: int, name: str, one: ReadAnswers) -> Graded:
        title = problems.title(number)
        if isinstance(one, InputError):
            return Unread(name, one, title)
        try:
            report = problems.keys[number].check(replace(one, name=name), self.strict)
        except InputError as error:
            return Unread(name, error, title)
        return report if report.title == title else replace(report, title=title)


def _with(entry: ManifestEntry, files: Submission) -> ManifestEntry:
    added = {n: one.joined(files) for n in entry.answers if (one := entry.read(n))}
    return replace(entry, answers={**entry.answers, **added})


def _untold(one: ManifestEntry) -> InputError:
    """Return why the answers in a file are marked for nobody."""
    errors = [error for error in one.answers.values() if isinstance(error, InputError)]
    likely = [*map(visible, one.nearest[:MAX_LIKELY])]
    likely += ["another one"] if len(one.nearest) > MAX_LIKELY else []
    perhaps = f", perhaps {' or '.join(likely)}" if likely else ""
    message = f"this does not tell whose answers it has{perhaps}"
    hint = "write student: NAME into it, or the name into its row of --manifest FILE.csv"
    return errors[0] if errors else Place(one.file).error(message, hint)


def grade_all(
    problems: Sequence[Problem] | Assignment,
    sources: Sequence[str],
    strict: bool = False,
    stdin: BinaryIO | None = None,
    matrices: Mapping[str, str] = EMPTY,
    allow_outside: bool = False,
    headings: Mapping[str, str] = EMPTY,
    roster: Roster | None = None,
) -> Iterator[Graded]:
    """Yield the report on every submission, or why there is none.

    Args:
        problems: what was worked: one problem or several, or what each student of a class was
            given (`load_assignment`).
        sources: files and folders of answers; without any, the answers in the problems themselves.
        strict: whether a number that is off in its last digit, or rounded early, is wrong.
        stdin: what to read for "-".
        matrices: files of single answers, by step.
        allow_outside: whether a submission may name any file.
        headings: meanings of the columns of a class table.
        roster: the class (`read_roster`), whose students have a report, too, if they handed in
            nothing; by default the names of the variants.

    Raises:
        InputError: if a problem cannot be calculated, if its marking names no step of it, or if it
            holds no answers where none are named.
    """
    assignment = problems if isinstance(problems, Assignment) else Assignment(problems)
    grading = Grading(assignment, strict, stdin, matrices, allow_outside, headings, roster=roster)
    for student in grading.students(sources):
        yield from student


def _refuse_several(matrices: Mapping[str, str], count: int, what: str) -> None:
    for name, file in matrices.items() if count > 1 else ():
        message = f"-m {visible(name)}={visible(file)} is an answer of one submission"
        hint = f"write {visible(name)}: {visible(file)} in its file"
        raise fail(f"{message}, but there are {count} {what}", hint=hint)
