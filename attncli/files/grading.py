"""The submissions of a class, judged one by one; a bad one stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from pathlib import Path
from typing import BinaryIO, TypeAlias

from attncli.checking.check import Report, own_submission
from attncli.checking.submission import Submission
from attncli.errors import InputError, Place, fail
from attncli.files import archives
from attncli.files.assignment import Assignment, ProblemSet
from attncli.files.document import Document, Headings, error_at
from attncli.files.manifest import StudentFiles, folder_name, manifest_of_files, manifest_of_folder
from attncli.files.read import STDIN, read
from attncli.files.submissions import (
    ReadSubmission,
    answer_files,
    by_problem,
    load_each_submission,
    with_matrices,
)
from attncli.problem.problem import Problem
from attncli.records import EMPTY, Record, replace
from attncli.text.escapes import visible
from attncli.text.sentences import all_of


class Unread(Record):
    """A submission that could not be read, and why; `title` is the problem's, if it is known."""

    name: str
    error: InputError
    title: str = ""


Graded: TypeAlias = Report | Unread

Student: TypeAlias = tuple[Graded, ...]
"""What was found in the answers of one student, one item per problem."""

NO_ANSWERS = "there are no answers in this folder"


def silent(_: str) -> None:
    """Say nothing about the files that are passed over."""


class Grading(Record):
    """How submissions are read and judged; see `grade_all`.

    `tell` is called with a sentence about the files that are passed over. With `with_absent`,
    students of a variant who handed in nothing to the folder of a class are included; `worked` are
    the variants of the others, added as their files are read.
    """

    assignment: Assignment
    strict: bool = False
    stdin: BinaryIO | None = None
    matrices: Mapping[str, str] = EMPTY
    allow_outside: bool = False
    headings: Headings = EMPTY
    tell: Callable[[str], None] = silent
    with_absent: bool = True
    worked: set[str] | None = None

    def students(self, sources: Sequence[str]) -> Iterator[Student]:
        """Yield for each student the report on each problem, or why there is none."""
        first = self.assignment.first
        files = answer_files(self.matrices)
        _refuse_several(self.matrices, len(first.keys), "problems")
        _refuse_several(self.matrices, len(sources), "files of answers")
        if not sources:
            if self.assignment.names:
                hint = "name the files of answers, or their folder"
                raise fail("variants have no answers to check", hint=hint)
            own = [_own_answers(key.problem, self.matrices) for key in first.keys]
            for number, submission in enumerate(own):
                yield (self._graded(first, number, with_matrices(submission, files)),)
            return
        noting = replace(self, worked=set())
        for is_folder, some in groupby(sources, _is_folder):
            for one in self._manifest(list(some), is_folder, len(sources) == 1):
                yield from noting._of_student(one, files)
        if self.with_absent and any(map(self._is_of_class, sources)):
            yield from noting._absent()

    def _is_of_class(self, source: str) -> bool:
        """Return True for a folder of the answers of a class, and not of one student."""
        return _is_folder(source) and not self.assignment.has(folder_name(source))

    def _absent(self) -> Iterator[Student]:
        """Yield empty submissions for variants without one, if students' names tell them apart."""
        names = [] if self.assignment.are_numbered else self.assignment.names
        for name in names:
            if name not in (self.worked or ()):
                yield self._together(name, {}, name)

    def _manifest(
        self, sources: Sequence[str], are_folders: bool, is_only: bool
    ) -> Iterator[StudentFiles]:
        if not are_folders:
            yield from manifest_of_files(sources, self.assignment)
            return
        for folder in sources:
            found = [*manifest_of_folder(folder, self.assignment, self.tell, not is_only)]
            if is_only and not found:
                raise error_at(Place(folder), NO_ANSWERS)
            yield from found or [StudentFiles(folder_name(folder), (), folder)]

    def _of_student(self, one: StudentFiles, files: Mapping[str, Document]) -> Iterator[Student]:
        """Yield what is found in the files of a student, or of all students in one table."""
        if one.unread:
            yield self._without_answers(one)
            return
        found: dict[int, ReadSubmission] = {}
        paths: dict[int, str] = {}
        unplaced: dict[str, InputError] = {}
        tells_problem = any(problem is not None for _, problem in one.files)
        for source, problem in one.files:
            name = f"{one.student}, {Path(source).name}" if len(one.files) > 1 else one.student
            try:
                read = load_each_submission(source, self.stdin, self.allow_outside, self.headings)
                if problem is None:
                    yield from self._of_file(name, source, read, files)
                else:
                    found[problem] = _only(list(read), problem, source, paths.get(problem, ""))
            except InputError as error:
                if problem is not None:
                    found[problem] = source, error
                elif tells_problem:
                    unplaced[source] = error
                else:
                    yield self._unread(one.student or source, error, one.student, source)
            if problem is not None:
                paths[problem] = source
        if found and unplaced:
            found = self._with_unplaced(one.student, found, unplaced)
        if found:
            yield self._together(one.student, found, one.student)

    def _with_unplaced(
        self, student: str, found: Mapping[int, ReadSubmission], unplaced: Mapping[str, InputError]
    ) -> dict[int, ReadSubmission]:
        """Return the submissions of a student, with errors for the problems that none answers.

        `unplaced` are the errors of files that tell no problem: each may be of any that is left.
        """
        every = range(len(self.assignment.first.keys))
        if len(found) == len(every):
            paths = all_of([visible(source) for source in unplaced])
            self.tell(f"passed over {paths}: other files answer every problem")
        faults = [fault for error in unplaced.values() for fault in error.faults]
        rest: ReadSubmission = student, InputError(*faults)
        return {**dict.fromkeys(every, rest), **found}

    def _of_file(
        self,
        student: str,
        source: str,
        submissions: Iterator[ReadSubmission],
        files: Mapping[str, Document],
    ) -> Iterator[Student]:
        """Yield what is found in a file whose name tells no problem, one student at a time."""
        stem, shown = (source, STDIN) if source == "-" else (Path(source).stem, source)
        problems = self.assignment.first
        if len(problems.keys) == 1:
            few = list(islice(submissions, 2))
            _refuse_several(self.matrices, len(few), "submissions")
            who = student if len(few) == 1 else ""
            for name, one in chain(few, submissions):
                added = one if isinstance(one, InputError) else with_matrices(one, files)
                yield self._together(who, {0: (name, added)}, student, stem)
            return
        for found in by_problem(problems, submissions, Place(shown)):
            if found.error:
                yield self._unread(found.name, found.error, student, stem, found.name)
            else:
                who = student or found.name or shown
                yield self._together(who, found.by_problem, student, stem, found.name)

    def _together(self, student: str, found: Mapping[int, ReadSubmission], *names: str) -> Student:
        """Return what is found on each problem of one student; missing answers are empty.

        `names`, and the names in the submissions, tell which variant the student has.
        """
        read = [one for _, one in found.values() if isinstance(one, Submission)]
        stated = [one.name for one in read if one.is_named]
        called = next(iter([*stated, *filter(None, [student])]), "")
        try:
            given = self._given_to(*names, *stated)
        except InputError as error:
            return self._unread(called or next(iter(found.values()))[0], error)
        graded: list[Graded] = []
        for number in range(len(given.keys)):
            known, one = found.get(number, (called, Submission(called, {})))
            name = called or known
            if isinstance(one, InputError):
                graded.append(Unread(name, one, given.title(number)))
            else:
                graded.append(self._graded(given, number, replace(one, name=name)))
        return tuple(graded)

    def _given_to(self, *names: str) -> ProblemSet:
        if self.worked is not None:
            self.worked.add(self.assignment.variant_of(*names))
        return self.assignment.given_to(*names)

    def _graded(self, given: ProblemSet, number: int, submission: Submission) -> Graded:
        title = given.title(number)
        try:
            report = given.keys[number].check(submission, self.strict)
        except InputError as error:
            return Unread(submission.name, error, title)
        return report if report.title == title else replace(report, title=title)

    def _without_answers(self, one: StudentFiles) -> Student:
        error = error_at(Place(one.unread), NO_ANSWERS)
        if not archives.is_folder(one.unread):
            try:
                next(read(one.unread), None)
            except InputError as found:
                error = found
        return self._unread(one.student, error, one.student)

    def _unread(self, name: str, error: InputError, *names: str) -> Student:
        try:
            given = self._given_to(*names)
        except InputError:
            given = self.assignment.first
        return tuple(Unread(name, error, given.title(n)) for n in range(len(given.keys)))


def grade_all(
    problems: Sequence[Problem] | Assignment,
    sources: Sequence[str],
    strict: bool = False,
    stdin: BinaryIO | None = None,
    matrices: Mapping[str, str] = EMPTY,
    allow_outside: bool = False,
    headings: Headings = EMPTY,
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

    Raises:
        InputError: if a problem cannot be calculated, if its marking names no step of it, or if it
            holds no answers where none are named.
    """
    assignment = problems if isinstance(problems, Assignment) else Assignment(problems)
    grading = Grading(assignment, strict, stdin, matrices, allow_outside, headings)
    for student in grading.students(sources):
        yield from student


def _only(found: list[ReadSubmission], problem: int, source: str, earlier: str) -> ReadSubmission:
    """Return the only submission of a file; `earlier` is another file for the same problem."""
    if not earlier and len(found) == 1:
        return found[0]
    both = f"{visible(earlier)} and this file" if earlier else "one file"
    message = f"{both} hold several answers to problem {problem + 1}"
    return found[0][0], error_at(Place(source), message, "keep one of them")


def _is_folder(source: str) -> bool:
    return source != "-" and archives.is_folder(source)


def _own_answers(problem: Problem, matrices: Mapping[str, str]) -> Submission:
    if matrices and problem.answers is None:
        return Submission(", ".join(matrices.values()), {})
    return own_submission(problem)


def _refuse_several(matrices: Mapping[str, str], count: int, what: str) -> None:
    for name, file in matrices.items() if count > 1 else ():
        message = f"-m {visible(name)}={visible(file)} is an answer of one submission"
        hint = f"write {visible(name)}: {visible(file)} in its file"
        raise fail(f"{message}, but there are {count} {what}", hint=hint)
