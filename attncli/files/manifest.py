"""The files of each student in a folder, told by the names of files and folders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path

from attncli.files import archives
from attncli.files.assignment import (
    PROBLEM_SUFFIXES,
    Assignment,
    files_in,
    folded_name,
    folders_in,
    is_hidden,
    without_zip,
)
from attncli.files.file_access import BY_SUFFIX
from attncli.files.read import WORKSHEET_SUFFIXES
from attncli.records import Record
from attncli.text.escapes import visible
from attncli.text.sentences import all_of

READ = (*PROBLEM_SUFFIXES, ".txt")
"""Suffixes of files of answers; worksheets are read, too, if answers are marked in them."""

NOT_A_STUDENT = re.compile(
    r"(?:read ?me|instructions?|(?:home|class|course)?work|hw|tasks?|aufgaben?(?:blatt)?|"
    r"(?:work|answer|exercise|problem)? ?sheets?|exercises?|problems?(?: set)?|assignments?|"
    r"answers?|results?|submission|solutions?|l(?:ö|oe)sung(?:en)?|questions?)[ \d]*"
)
"""Names of files that are not the name of a student."""

MAX_PATHS_NAMED = 20
"""Maximum number of passed-over files that a message names; it counts the others."""

PathParts = tuple[str, ...]
"""A path below the folder that the user named, without the suffix."""


class StudentFiles(Record):
    """The files of a student, each with the index of the problem that its name tells, or None.

    The student is "" if only the contents of the files tell the name. `unread` is a file that
    cannot be read, such as a PDF, or a folder without answers, if there is nothing else.
    """

    student: str
    files: Sequence[tuple[str, int | None]]
    unread: str = ""


def manifest_of_folder(
    folder: str, assignment: Assignment, tell: Callable[[str], None], is_one_of_several: bool
) -> Iterator[StudentFiles]:
    """Yield what each student handed in, of the files in a folder and below.

    A file is of the problem and of the student whose names are in its path. A folder with one file,
    or with files of the same names as in other folders, is that of a student. With
    `is_one_of_several` the user named other folders, too, so that each may be that of a student.
    `tell` is called with a sentence about the files that are passed over.
    """
    read, unreadable, others = _by_use(folder)
    owners = Owners(folder, assignment, [parts for _, parts in read], is_one_of_several)
    found: dict[PathParts, list[tuple[str, int | None]]] = {}
    for path, parts in read:
        student, problem = owners.of(parts)
        found.setdefault(student, []).append((path, problem))
    around = {start for _, parts in read for start in _prefixes(parts[:-1])}
    depths = [len(student) for student in found if student in around]
    empty = _empty_folders(folder, owners, around, min(depths, default=1))
    # If no student has a folder, an empty one may be anything.
    unread = {parts: str(Path(folder, *parts)) for parts in empty if depths}
    noted = set[PathParts]()
    for path, parts in unreadable:
        student = owners.of_unreadable(parts, empty)
        is_beside = student in noted | around or any(start in found for start in _prefixes(student))
        if is_beside or (len(parts) == 1 and not owners.is_student(parts[0])):
            others.append(path)
        else:
            noted.add(student)
            unread[student] = path
    if others:
        tell(passed_over(others, folder))
    for student, files in found.items():
        yield StudentFiles(student[-1] if student else folder_name(folder), files)
    for student, path in unread.items():
        yield StudentFiles(student[-1], (), path)


def _empty_folders(
    folder: str, owners: Owners, around: Container[PathParts], least: int
) -> dict[PathParts, None]:
    """Return the folders of students in which no file is read.

    Those of students are at least `least` deep, or have no folder inside; `around` are the folders
    in which a file is read.
    """
    folders = [*folders_in(folder)]
    parents = {parts[:-1] for parts in folders}
    empty: dict[PathParts, None] = {}
    for parts in folders:  # those around a folder come before it
        is_students = len(parts) >= least or parts not in parents
        is_inside = parts in around or any(start in empty for start in _prefixes(parts))
        if is_students and not is_inside and owners.may_be_empty(parts):
            empty[parts] = None
    return empty


def _prefixes(parts: PathParts) -> set[PathParts]:
    return {parts[:end] for end in range(1, len(parts) + 1)}


def _by_use(
    folder: str,
) -> tuple[list[tuple[str, PathParts]], list[tuple[str, PathParts]], list[str]]:
    """Return the files of a folder that are read, those of other programs, and the rest."""
    read, unreadable = list[tuple[str, PathParts]](), list[tuple[str, PathParts]]()
    others = list[str]()
    for path, parts in files_in(folder):
        file = Path(path)
        suffix = file.suffix.lower()
        # A link to a file elsewhere is not followed.
        is_inside = archives.is_file(path) and file.resolve().is_relative_to(Path(folder).resolve())
        if not is_inside or is_hidden(file.name):
            others.append(path)
        elif suffix in READ or (suffix in WORKSHEET_SUFFIXES and _has_answers(file)):
            read.append((path, parts))
        elif suffix in BY_SUFFIX:
            unreadable.append((path, parts))
        else:
            others.append(path)
    return read, unreadable, others


def _has_answers(worksheet: Path) -> bool:
    from attncli.files.worksheets import has_answers  # it is slow to import

    return has_answers(worksheet)


def manifest_of_files(sources: Sequence[str], assignment: Assignment) -> Iterator[StudentFiles]:
    """Yield the files that the user names.

    If each has the name of one of several problems, all files in a folder are of one student.
    """
    first = assignment.first
    problems = [first.which(Path(source).stem) for source in sources]
    if len(first.keys) == 1 or None in problems:
        yield from (StudentFiles("", [(source, None)]) for source in sources)
        return
    found: dict[Path, list[tuple[str, int | None]]] = {}
    for source, problem in zip(sources, problems, strict=True):
        found.setdefault(Path(source).parent, []).append((source, problem))
    for folder, files in found.items():
        yield StudentFiles(folder_name(str(folder)), files)


def passed_over(paths: Sequence[str], folder: str) -> str:
    shown = [path for path in paths if not is_hidden(Path(path).name)]
    names = [visible(str(Path(path).relative_to(folder))) for path in shown]
    more = len(names) - MAX_PATHS_NAMED
    listed = [*names[:MAX_PATHS_NAMED], f"{more} more"] if more > 1 else names
    if hidden := len(paths) - len(shown):
        listed.append(f"{hidden} hidden file{'s'[: hidden != 1]}")
    return f"{visible(folder)}: passed over {all_of(listed)}"


class Owners:
    """Tells from the names of files which student and which problem they are of."""

    def __init__(
        self,
        folder: str,
        assignment: Assignment,
        every: Sequence[PathParts],
        is_one_of_several: bool,
    ) -> None:
        self._assignment = assignment
        self._first = assignment.first
        flat = [parts[0] for parts in every if len(parts) == 1]
        self._one_student = all(self._problem(name) is not None for name in flat)
        is_own = assignment.has(folder_name(folder)) or (is_one_of_several and len(flat) < 2)
        self._of_class = not is_own and (not flat or not all(map(self._is_no_student, flat)))
        self._inside = Counter(parts[:-1] for parts in every)
        self._alike = Counter(name for name, _ in {(p[-1], p[:-1]) for p in every})
        self._of_problems = {p[:-1] for p in every if self._problem(p[-1]) is not None}
        self._shared = {parts[:-1] for parts in every if self._alike[parts[-1]] > 1}

    def of(self, parts: PathParts) -> tuple[PathParts, int | None]:
        """Return the path of the student, empty for the folder itself, and the problem's index."""
        problem, rest = None, parts
        for place in range(len(parts) - 1, -1, -1):
            if len(parts) == 1 and not self._one_student:
                break
            if (problem := self._problem(parts[place])) is not None:
                rest = (*parts[:place], *parts[place + 1 :])
                break
        for end in range(len(rest), 0, -1):
            if self._assignment.has(rest[end - 1]):
                return rest[:end], problem
        if problem is not None or len(parts) == 1:
            return rest, problem
        around = parts[:-1]
        is_alone = self._inside[around] == 1
        is_students = is_alone or around in self._shared or around in self._of_problems
        return (parts[:-1] if is_students else parts), None

    def of_unreadable(self, parts: PathParts, empty: Container[PathParts]) -> PathParts:
        """Return the path of the student who handed in a file that cannot be read."""
        own = next((start for start in _prefixes(parts[:-1]) if start in empty), None)
        if own is not None:
            return own
        student, problem = self.of(parts)
        is_alone = problem is None and len(parts) > 1 and not self._inside[parts[:-1]]
        return parts[:-1] if is_alone else student

    def may_be_empty(self, parts: PathParts) -> bool:
        """Return True if a folder, or one around it, has no files and no name of a problem."""
        has_files = any(self._inside[start] for start in _prefixes(parts))
        return not has_files and all(self._problem(name) is None for name in parts)

    def is_student(self, name: str) -> bool:
        """Return True if a file in the folder itself seems to have the name of a student.

        It does not if the other files have the names that one student gives to several answers.
        """
        return self._assignment.has(name) or (self._of_class and not self._is_no_student(name))

    def _is_no_student(self, name: str) -> bool:
        if self._assignment.has(name):
            return False
        return (
            bool(NOT_A_STUDENT.fullmatch(folded_name(name))) or self._first.which(name) is not None
        )

    def _problem(self, name: str) -> int | None:
        if len(self._first.keys) == 1 or self._assignment.has(name):
            return None
        return self._first.which(name)


def folder_name(folder: str) -> str:
    return without_zip(Path(folder).resolve().name)
