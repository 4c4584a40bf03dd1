"""The files of answers that the user names, and how the folders of a class are arranged."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias, get_args

from attncli.classroom.assignment import ProblemSet, ReadSubmission
from attncli.classroom.name_index import Roster
from attncli.core.errors import InputError, Place
from attncli.core.records import Record
from attncli.core.text.strings import regex
from attncli.reading.document import Submission
from attncli.reading.files import folder_name, is_file, is_folder
from attncli.reading.folders import FileKind, files_in
from attncli.reading.read import STDIN, read
from attncli.reading.submissions import step_in

NO_ANSWERS = "there are no answers in this folder"
METADATA = "submission_metadata.yml"
"""The file in which an export of Gradescope has the students of each folder beside it."""

MOODLE = regex(r"(?P<who>.+?)_\d+_assignsubmission_[^\W_]+_(?P<file>.*)")
CANVAS = regex(r"(?P<who>[^\W_]+)(?:_LATE)?_\d+_\d+_(?P<file>.+?)(?:-(?P<version>\d{1,9}))?")
"""Names of the files, or folders, that these platforms export: https://docs.moodle.org/en/
Using_Assignment and https://community.canvaslms.com (Download student submissions)."""

PASSED_OVER_KINDS = ("other", "hidden")
"""Kinds of files that are not read."""

PathParts: TypeAlias = tuple[str, ...]
"""A path below the folder that the user named, without the suffix."""


class AnswerFile(Record, eq=False):
    """A file that was handed in.

    Attributes:
        parts: the names of the folders around it and of the file, without the suffix.
        source: the file or folder that the user named.
        read: its submissions.
        is_of_several: True for a table with a row per student, and a file that names several.
        error: why it cannot be read.
    """

    path: str
    parts: PathParts
    source: str
    kind: FileKind = "answers"
    read: tuple[ReadSubmission, ...] = ()
    is_of_several: bool = False
    error: InputError | None = None

    @property
    def names(self) -> list[str]:
        """The names of students that are written in the file."""
        read = (one for _, one in self.read if isinstance(one, Submission))
        return [one.name for one in read if one.is_named]

    @property
    def is_listed(self) -> bool:
        """True for a file that the user named, and not its folder."""
        return self.source == self.path


class Course(Record, eq=False):
    """The problems and the class, by which the student of a file is identified.

    Attributes:
        roster: the class; empty if its members are known from the files alone.
        load: reads the submissions of a file.
        tell: is called with a sentence about the files that are passed over.
    """

    problems: ProblemSet
    roster: Roster
    load: Callable[[str], Iterator[ReadSubmission]]
    tell: Callable[[str], None]


def find_answer_files(sources: Sequence[str], course: Course) -> list[AnswerFile]:
    """Return the files that the user names, and those in folders, each only once.

    Raises:
        InputError: if the only thing that the user names is a folder without answers.
    """
    several = len({Path(source).resolve() for source in sources}) > 1
    files: dict[str, AnswerFile] = {}
    for source in sources:
        if is_folder(source):
            within = (folder_name(source),) if several else ()
            some = _in_folder(source, within, course)
            if all(one.kind in PASSED_OVER_KINDS for one in some):
                if not several:
                    raise Place(source).error(NO_ANSWERS)
                some.append(AnswerFile(source, (*within, ""), source, "folder"))
        else:
            parts = Path(source).with_suffix("").parts if several else (Path(source).stem,)
            some = [read_answer_file(source, parts, source, course)]
        for one in some:
            files.setdefault("-" if one.path == "-" else os.path.realpath(one.path), one)
    return list(files.values())


def _in_folder(folder: str, within: PathParts, course: Course) -> list[AnswerFile]:
    """Return the files in a folder and below: answers, then unreadable ones, folders, the rest."""
    files: list[AnswerFile] = []
    folders: list[tuple[str, PathParts]] = []
    for (path, below, _), kind in files_in(folder):
        parts = within + below
        if Path(path).name == METADATA:
            continue
        if kind == "folder":
            folders.append((path, parts))
        elif kind in PASSED_OVER_KINDS:
            files.append(AnswerFile(path, parts, folder, kind))
        else:
            files.append(read_answer_file(path, parts, folder, course, kind))
    counting = [one.parts for one in files if one.kind not in PASSED_OVER_KINDS]
    used = {parts[:n] for parts in counting for n in range(len(parts))}
    empty = [(path, parts) for path, parts in folders if parts not in used]
    files += [AnswerFile(path, (*parts, ""), folder, "folder") for path, parts in empty]
    return sorted(files, key=lambda one: get_args(FileKind).index(one.kind))


def answer_paths(sources: Sequence[str]) -> Iterator[str]:
    """Yield the files of answers that the user names, and those in folders."""
    for source in sources:
        if is_folder(source):
            for one, kind in files_in(source):
                if kind in ("answers", "unreadable") and Path(one.path).name != METADATA:
                    yield one.path
        else:
            yield source


def read_answer_file(
    path: str, parts: PathParts, source: str, course: Course, kind: FileKind = "answers"
) -> AnswerFile:
    try:
        read = tuple(course.load(path))
    except InputError as error:
        return AnswerFile(path, parts, source, kind, error=error)
    except MemoryError:
        too_large = Place(path).error("reading this takes more memory than there is")
        return AnswerFile(path, parts, source, kind, error=too_large)
    return AnswerFile(path, parts, source, kind, read, _are_of_several(read, course))


def _are_of_several(read: Sequence[ReadSubmission], course: Course) -> bool:
    """Return True for rows of a table, several names, and answers that no number tells apart."""
    some = [one for _, one in read if isinstance(one, Submission)]
    names = {one.name for one in some if one.is_named}
    are_alike = len(read) > 1 and len(course.problems.keys) == 1  # of students, or attempts
    return len(names) > 1 or are_alike or any(one.is_row for one in some)


def _are_of_students_above(chains: Sequence[PathParts], depth: int) -> bool:
    """Return True if folders so deep are alone in theirs, and some have one name: Ada/hw, Bo/hw."""
    level = {chain[:depth] for chain in chains if len(chain) >= depth}
    return len({chain[:-1] for chain in level}) == len(level) > len({chain[-1] for chain in level})


class ClassFolders:
    """How the folders of a class are arranged: which part of a path is the student's folder.

    The students' folders are as deep as the least deep one with answers. A folder around all files
    is nobody's; but files that have no student's name, in no folder inside, are those of the
    student who has the folder's name.
    """

    def __init__(self, every: Sequence[AnswerFile], course: Course) -> None:
        self.course = course
        self._problems = course.problems.names
        self.own_words = cache(self._own_words)
        self._submitters = cache(_submitters)
        self.submitters_of = cache(self._submitters_of)
        answers = [one for one in every if one.kind == "answers"]
        self._names = Counter(map(self.own_words, answers))
        chains = [self._folders(one) for one in answers]
        flat = [one for one, chain in zip(answers, chains, strict=True) if not chain]
        nameless = not any(one.is_listed or self.own_words(one) for one in flat)
        self._around = folder_name(str(Path(flat[0].path).parent)) if flat and nameless else ""
        depth, listed = 1, [one for one in answers if one.is_listed]
        self._are_problems = all(
            self._problems.in_name(one.parts[-1])[0] is not None for one in listed
        )
        while self._is_around_all(chains, depth):
            depth += 1
        self._depth = min((len(chain) for chain in chains if len(chain) >= depth), default=depth)
        while self._depth > depth and _are_of_students_above(chains, self._depth):
            self._depth -= 1

    def _folders(self, one: AnswerFile) -> PathParts:
        """Return the folders around a file, without those that are named for a problem."""
        told = (self._problems.in_name(part) for part in one.parts[:-1])
        pairs = zip(one.parts, told, strict=False)
        return tuple(part for part, (index, rest) in pairs if index is None or rest)

    def _is_around_all(self, chains: Sequence[PathParts], depth: int) -> bool:
        """Return True if all answers are in one folder, which is not that of one student."""
        level = {chain[:depth] for chain in chains}
        if len(level) != 1 or len(level.pop()) < depth:
            return False
        is_inside = any(len(chain) > depth for chain in chains)
        are_named = len(self._names.keys() - {""}) > 1 or not self._are_problems
        return len(chains) > 1 and (is_inside or are_named)

    def student(self, one: AnswerFile) -> PathParts:
        """Return the path of the student's folder around a file; () if there is none."""
        chain, words = self._folders(one), self.own_words(one)
        is_named = one.is_listed and words and self._names[words] == 1
        if len(chain) >= self._depth and not is_named:
            return chain[: self._depth]
        return (self._around,) if self._around and not chain else ()

    def _own_words(self, one: AnswerFile) -> str:
        """Return the name of a file without the problem, a step, and words that name nobody."""
        said = self._problems.in_name(own_name(one))[1]
        return "" if step_in(said) == said else said

    def _submitters_of(self, folder: Path, depth: int) -> Sequence[tuple[str, ...]]:
        """Return the names, numbers and addresses of a folder's students that Gradescope tells.

        The folder lies at a depth below the one that was named, which holds what Gradescope wrote.
        """
        around = (folder, *folder.parents)[:depth]
        people = (self._submitters(one.parent / METADATA).get(one.name) for one in around)
        return next(filter(None, people), ())


def _submitters(file: Path) -> Mapping[str, Sequence[tuple[str, ...]]]:
    """Return the students of each folder: https://help.gradescope.com (Export submissions)."""
    students: dict[str, Sequence[tuple[str, ...]]] = {}
    for document in read(file) if is_file(str(file), within=str(file.parent)) else ():
        for folder, about in document.values.items():
            people = about.get(":submitters") if isinstance(about, Mapping) else None
            words = (":name", ":sid", ":email")
            students[folder] = [
                tuple(str(one[word]) for word in words if one.get(word))
                for one in people or ()
                if isinstance(one, Mapping)
            ]
    return students


def by_platform(pattern: re.Pattern[str], one: AnswerFile) -> re.Match[str] | None:
    """Return the match of a platform's names with the first part of a path that is one."""
    return next(filter(None, map(pattern.fullmatch, one.parts)), None)


def own_name(one: AnswerFile) -> str:
    """Return the name that a student gave to a file, without what a platform adds."""
    for pattern in (MOODLE, CANVAS):
        if match := pattern.fullmatch(one.parts[-1]):
            return match["file"]
    return one.parts[-1]


Rule: TypeAlias = Callable[[AnswerFile, ClassFolders], Sequence[str]]
"""Returns texts that name the students of a file, or nothing."""


def _by_metadata(one: AnswerFile, layout: ClassFolders) -> Sequence[str]:
    people = layout.submitters_of(Path(one.path).parent, len(one.parts) - 1)
    return [" ".join(words) if layout.course.roster else words[0] for words in people if words]


def _by_platform(pattern: re.Pattern[str], one: AnswerFile, layout: ClassFolders) -> Sequence[str]:
    match = by_platform(pattern, one)
    return [match["who"]] if match else []


def _by_class(one: AnswerFile, layout: ClassFolders) -> Sequence[str]:
    if not layout.course.roster:
        return []
    around = [] if one.is_listed else [folder_name(one.source)]
    names = map(layout.course.roster.find, (*one.parts, *around))
    return [name for name in names if name][:1]


def _by_name(one: AnswerFile, layout: ClassFolders) -> Sequence[str]:
    if one.is_listed and not layout.course.roster:
        only = one.read[0][0] if len(one.read) == 1 else one.path
        return [STDIN if only == "-" else only]
    words = layout.own_words(one)
    return [words] if words or one.kind == "unreadable" or layout.course.roster else [one.parts[-1]]


RULES: Mapping[str, Rule] = {
    "its key student": lambda one, _: one.names[:1],
    f"Gradescope's {METADATA}": _by_metadata,
    "the name that Moodle gave": partial(_by_platform, MOODLE),
    "the name that Canvas gave": partial(_by_platform, CANVAS),
    "its folder": lambda one, layout: layout.student(one)[-1:],
    "a name of the class in its path": _by_class,
    "its name": _by_name,
}
"""Functions that find the students of a file, the most reliable first. If the class is known, names
that are not in it are left out."""


def whose(one: AnswerFile, layout: ClassFolders) -> tuple[Sequence[str], str, Sequence[str]]:
    """Return the students of a file, and the rule that tells them; or whom it may mean.

    A name is "" if it is that of nobody in the class; there are none if no rule tells any.
    """
    roster, unknown = layout.course.roster, list[str]()
    for rule, texts_of in RULES.items():
        texts = [text for text in texts_of(one, layout) if text]
        if texts and not roster:
            return texts, rule, ()
        names = list(dict.fromkeys(map(roster.find, texts)))
        if any(names):
            return names, rule, ()
        unknown += texts
    return (), "", next(filter(None, map(roster.nearest, unknown)), ())
