"""Many sheets of answers for the problems of a class: each is judged, a bad one stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from pathlib import Path
from typing import BinaryIO, TypeAlias

from attncli.checking.check import Report, own_submission
from attncli.checking.submission import ABOUT, PROBLEM, Submission, nowhere
from attncli.errors import InputError, KeyPath, Place, fail
from attncli.files.assignment import Assignment, Given
from attncli.files.document import Document, Headings, error_at
from attncli.files.handed_in import HandedIn, folder_name, handed_in, named
from attncli.files.read import STDIN
from attncli.files.sheets import answer_files, load_each_sheet, with_matrices
from attncli.files.unsupported import unsupported
from attncli.problem.problem import Problem
from attncli.records import EMPTY, Record, replace
from attncli.text.escapes import visible
from attncli.text.sentences import all_of


class Unread(Record):
    """Answers that could not be read, and why; `title` is that of the problem, if it is known."""

    name: str
    error: InputError
    title: str = ""


Graded: TypeAlias = Report | Unread

Student: TypeAlias = tuple[Graded, ...]
"""What was found in the answers of one student to each of the problems."""

NO_ANSWERS = "there are no answers in this folder"

UNTOLD = -1
"""The place of the problem that answers are of which do not tell it."""

Sheet: TypeAlias = tuple[str, Submission | InputError]
"""What a sheet is called, and the sheet, or why it could not be read."""


def silent(_: str) -> None:
    """Tell nothing of the files that are passed over."""


class Grading(Record):
    """How sheets are read and judged.

    Attributes:
        assignment: what the class was given.
        strict: whether a number that is off in its last digit, or rounded early, is wrong.
        stdin: what to read for "-".
        matrices: files of single answers, by step: {"weights": "w.csv"}; they are added to the
            one sheet that there is.
        allow_outside: whether a sheet may name files outside its own folder and those below.
        headings: what columns of a table of a class hold, by their headings.
        tell: called with a sentence on files in a folder that are passed over.
        with_absent: whether those who have a variant, and handed in nothing to the folder of a
            class, are among the students.
        worked: the variants of those whose sheets were found, noted as they are read.
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
        """Yield for each student the report on each of the problems, or why there is none.

        Args:
            sources: files and folders of answers; without any, the answers that stand in the
                problems. In a folder, students have a file each, or a folder each.

        Raises:
            InputError: if a problem holds no answers where none are named, or if it is not clear
                to which sheet a matrix belongs.
        """
        first = self.assignment.first
        files = answer_files(self.matrices)
        _refuse_several(self.matrices, len(first.keys), "problems")
        _refuse_several(self.matrices, len(sources), "files of answers")
        if not sources:
            if self.assignment.names:
                hint = "name the files of answers, or their folder"
                raise fail("variants have no answers to check", hint=hint)
            sheets = [_own_sheet(key.problem, self.matrices) for key in first.keys]
            for number, sheet in enumerate(sheets):
                yield (self._graded(first, number, with_matrices(sheet, files)),)
            return
        noting = replace(self, worked=set())
        for is_folder, some in groupby(sources, _is_folder):
            for one in self._handed_in(list(some), is_folder, len(sources) == 1):
                yield from noting._of_student(one, files)
        if self.with_absent and any(map(self._is_of_class, sources)):
            yield from noting._absent()

    def _is_of_class(self, source: str) -> bool:
        """Whether a source is a folder of the answers of a class, and not of one student."""
        return _is_folder(source) and not self.assignment.has(folder_name(source))

    def _absent(self) -> Iterator[Student]:
        """Yield empty sheets of those whose variants nobody worked, unless these are numbered."""
        names = [] if self.assignment.are_numbered else self.assignment.names
        for name in names:
            if name not in (self.worked or ()):
                yield self._together(name, {}, name)

    def _handed_in(
        self, sources: Sequence[str], are_folders: bool, is_only: bool
    ) -> Iterator[HandedIn]:
        if not are_folders:
            yield from named(sources, self.assignment)
            return
        for folder in sources:
            is_empty = True
            for one in handed_in(folder, self.assignment, self.tell, not is_only):
                is_empty = False
                yield one
            if is_empty and is_only:
                raise error_at(Place(folder), NO_ANSWERS)
            if is_empty:
                yield HandedIn(folder_name(folder), (), folder)

    def _of_student(self, one: HandedIn, files: Mapping[str, Document]) -> Iterator[Student]:
        """Yield what is found in the files of a student, or of all students in one table."""
        if one.unread:
            yield self._without_answers(one)
            return
        told: dict[int, tuple[str, list[Sheet]]] = {}
        tells_problem = any(problem is not None for _, problem in one.files)
        unplaced: dict[str, InputError] = {}
        several = len(one.files) > 1
        for source, problem in one.files:
            student = f"{one.student}, {Path(source).name}" if several else one.student
            try:
                sheets = load_each_sheet(source, self.stdin, self.allow_outside, self.headings)
                if problem is None:
                    yield from self._of_file(student, source, sheets, files)
                else:
                    path, known = told.get(problem, (source, []))
                    found = [(name, sheet) for name, sheet in sheets]
                    if known or len(found) > 1:
                        both = "one file" if path == source else f"{visible(path)} and this file"
                        message = f"{both} hold several answers to problem {problem + 1}"
                        error = error_at(Place(source), message, "keep one of them")
                        found = [(found[0][0], error)]
                    told[problem] = source, found
            except InputError as error:
                if problem is None and tells_problem:
                    unplaced[source] = error
                elif problem is None:
                    yield self._unread(one.student or source, error, one.student, source)
                else:
                    told[problem] = source, [(source, error)]
        if told:
            by_problem = {problem: sheets[0] for problem, (_, sheets) in told.items()}
            if unplaced:
                by_problem = self._with_unplaced(one.student, by_problem, unplaced)
            yield self._together(one.student, by_problem, one.student)

    def _with_unplaced(
        self, student: str, found: Mapping[int, Sheet], unplaced: Mapping[str, InputError]
    ) -> dict[int, Sheet]:
        """Return the sheets of a student with errors for the problems that no sheet answers.

        `unplaced` are why files tell no problem: they may be of any that is left.
        """
        every = range(len(self.assignment.first.keys))
        if len(found) == len(every):
            paths = all_of([visible(source) for source in unplaced])
            self.tell(f"passed over {paths}: other files answer every problem")
        faults = [fault for error in unplaced.values() for fault in error.faults]
        rest: Sheet = student, InputError(*faults)
        return {**dict.fromkeys(every, rest), **found}

    def _of_file(
        self, student: str, source: str, sheets: Iterator[Sheet], files: Mapping[str, Document]
    ) -> Iterator[Student]:
        """Yield what is found in a file whose name tells no problem, a student at a time."""
        stem, shown = (source, STDIN) if source == "-" else (Path(source).stem, source)
        whole = self.assignment.first
        if len(whole.keys) == 1:
            few = list(islice(sheets, 2))
            _refuse_several(self.matrices, len(few), "sheets of answers")
            who = student if len(few) == 1 else ""
            for name, sheet in chain(few, sheets):
                if not isinstance(sheet, InputError):
                    added = with_matrices(sheet, files)
                    yield self._together(who, {0: (name, added)}, student, stem)
                else:
                    yield self._together(who, {0: (name, sheet)}, student, stem)
            return
        yield from self._of_several(student, stem, shown, sheets)

    def _of_several(
        self, student: str, stem: str, shown: str, sheets: Iterator[Sheet]
    ) -> Iterator[Student]:
        """Yield what is found in a file of answers to several problems, a student at a time.

        A key such as `2: weights[1,1]` tells of which problem a number is, as in a table with a row
        a student; or the key `problem` of a sheet; or the order of as many sheets as problems.
        """
        whole, is_told = self.assignment.first, False
        by_student: dict[str, dict[int, Sheet]] = {}
        others: list[Sheet] = []
        for name, sheet in sheets:
            if isinstance(sheet, InputError):
                others.append((name, sheet))
            elif parts := _parts(whole, sheet):
                is_told = True
                if rest := parts.pop(UNTOLD, None):
                    key = next(iter(rest.matrices))
                    message = f"{visible(key)} does not tell of which problem it is"
                    error = error_at(rest.heading((key,)), message, f"write 1: {visible(key)}")
                    yield self._unread(name, error, student, stem, name)
                    continue
                found: dict[int, Sheet] = {place: (name, part) for place, part in parts.items()}
                yield self._together(student or name, found, student, stem)
            elif sheet.problem:
                is_told = True
                is_own = sheet.is_named or sheet.heading is not nowhere
                own = by_student.setdefault(name if is_own else "", {})
                place, read = _place_of(whole, sheet, own)
                own[place] = name, read
            else:
                others.append((name, sheet))
        for name, found in by_student.items():
            yield self._together(student or name or shown, found, student, stem, name)
        if not is_told and len(others) != len(whole.keys):
            count = "is 1 set" if len(others) == 1 else f"are {len(others)} sets"
            message = f"there {count} of answers, but {len(whole.keys)} problems"
            hint = "part the answers to each problem by a line of ---, or write problem: 2"
            raise error_at(Place(shown), message, hint)
        if not is_told:
            yield self._together(student or shown, dict(enumerate(others)), student, stem)
            return
        hint = "write such as problem: 2"
        untold = error_at(Place(shown), "these answers do not tell of which problem", hint)
        for name, other in others:
            error = other if isinstance(other, InputError) else untold
            yield self._unread(name, error, student, stem, name)

    def _together(
        self, student: str, found: Mapping[int, Sheet], *names: str, source: str = ""
    ) -> Student:
        """Return what is found on each problem of one student; what was not given is empty.

        `names` tell whose variant it is; so does the name in a sheet.
        """
        sheets = [sheet for _, sheet in found.values() if isinstance(sheet, Submission)]
        stated = [sheet.name for sheet in sheets if sheet.is_named]
        called = next(iter([*stated, *filter(None, [student])]), "")
        try:
            given = self._given_to(*names, *stated)
        except InputError as error:
            return self._unread(called or next(iter(found.values()))[0], error)
        graded: list[Graded] = []
        for number in range(len(given.keys)):
            known, sheet = found.get(number, (called, Submission(called, {})))
            name = called or known
            if isinstance(sheet, InputError):
                graded.append(Unread(name, sheet, given.title(number)))
            else:
                graded.append(self._graded(given, number, replace(sheet, name=name)))
        return tuple(graded)

    def _given_to(self, *names: str) -> Given:
        """Return what a student was given, and note that there is a sheet to it."""
        if self.worked is not None:
            self.worked.add(self.assignment.variant_of(*names))
        return self.assignment.given_to(*names)

    def _graded(self, given: Given, number: int, sheet: Submission) -> Graded:
        title = given.title(number)
        try:
            report = given.keys[number].check(sheet, self.strict)
        except InputError as error:
            return Unread(sheet.name, error, title)
        return report if report.title == title else replace(report, title=title)

    def _without_answers(self, one: HandedIn) -> Student:
        """Return that nothing of what a student handed in can be read."""
        path = one.unread
        found = unsupported(b"", Path(path).suffix.lower())
        if found is None or Path(path).is_dir():
            return self._unread(one.student, error_at(Place(path), NO_ANSWERS), one.student)
        fault = replace(found.faults[0], place=Place(path))
        return self._unread(one.student, InputError(fault), one.student)

    def _unread(self, name: str, error: InputError, *names: str) -> Student:
        """Return that nothing of a student could be read, for each of the problems."""
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
    """Yield the report of every sheet of answers, or why there is none.

    Args:
        problems: what was worked: one problem or several, or what each student of a class was
            given (`load_assignment`).
        sources: files and folders of answers; without any, the answers that stand in the problems.
        strict: as of `Grading`, and so are the others.
        stdin: what to read for "-".
        matrices: files of single answers, by step.
        allow_outside: whether a sheet may name any file.
        headings: what columns of a table of a class hold.

    Raises:
        InputError: if a problem cannot be calculated, if its marking names no step of it, or if it
            holds no answers where none are named.
    """
    assignment = problems if isinstance(problems, Assignment) else Assignment(problems)
    grading = Grading(assignment, strict, stdin, matrices, allow_outside, headings)
    for student in grading.students(sources):
        yield from student


def _is_folder(source: str) -> bool:
    return source != "-" and Path(source).is_dir()


def _own_sheet(problem: Problem, matrices: Mapping[str, str]) -> Submission:
    """Return the answers that stand in a problem; an empty sheet where only files hold any."""
    if matrices and problem.answers is None:
        return Submission(", ".join(matrices.values()), {})
    return own_submission(problem)


def _place_of(
    whole: Given, sheet: Submission, known: Mapping[int, Sheet]
) -> tuple[int, Submission | InputError]:
    """Return which problem a sheet says that it answers, with the sheet, or what is wrong."""
    place = whole.which(sheet.problem)
    where = sheet.locate((PROBLEM,))
    if place is None:
        hint = f"there are {len(whole.keys)}: write their numbers or titles"
        error = error_at(where, f"there is no problem {visible(sheet.problem)}", hint)
        return next((n for n in range(len(whole.keys)) if n not in known), 0), error
    if place in known:
        message = f"problem {place + 1} is answered twice"
        return place, error_at(where, message, "keep one of them")
    return place, sheet


def _parts(whole: Given, sheet: Submission) -> dict[int, Submission]:
    """Return the parts of a sheet whose keys tell of which problem they are, as `2: Q[1,1]` does.

    Nothing where none does; where some do not, those are a part of their own, `UNTOLD`.
    """
    keys: dict[int, dict[str, str]] = {}
    for key in sheet.matrices:
        word, colon, name = key.partition(":")
        place = whole.which(word) if colon and name.strip() else None
        if place is not None:
            keys.setdefault(place, {})[name.strip()] = key
        elif key not in ABOUT:
            keys.setdefault(UNTOLD, {})[key] = key
    told = {place: _part(sheet, own) for place, own in keys.items()}
    return told if keys.keys() - {UNTOLD} else {}


def _part(sheet: Submission, keys: Mapping[str, str]) -> Submission:
    """Return the part of a sheet that some keys are of, each under its name in that part."""

    def locate(path: KeyPath) -> Place:
        return sheet.locate((keys.get(str(path[0]), path[0]), *path[1:]) if path else path)

    def heading(path: KeyPath) -> Place:
        return sheet.heading((keys.get(str(path[0]), path[0]), *path[1:]) if path else path)

    matrices = {name: sheet.matrices[key] for name, key in keys.items()}
    return replace(sheet, matrices=matrices, locate=locate, heading=heading)


def _refuse_several(matrices: Mapping[str, str], count: int, what: str) -> None:
    """Refuse single answers where it is not clear to which of several sheets they belong."""
    for name, file in matrices.items() if count > 1 else ():
        message = f"-m {visible(name)}={visible(file)} is an answer of one sheet"
        hint = f"write {visible(name)}: {visible(file)} in the file of its sheet"
        raise fail(f"{message}, but there are {count} {what}", hint=hint)
