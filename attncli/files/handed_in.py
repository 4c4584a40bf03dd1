"""Which files of a folder are whose answers: students have a file each, or a folder each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attncli.files.assignment import SUFFIXES, Assignment, files_in, is_hidden
from attncli.files.foreign import SUFFIXES as FOREIGN
from attncli.records import Record
from attncli.text.escapes import visible
from attncli.text.sentences import all_of

READ = (*SUFFIXES, ".txt")
"""How files of answers end."""

MOST_NAMED = 3
"""Of more files that are passed over, the others are counted."""

Parts = tuple[str, ...]
"""A path below the folder that was named, without the suffix."""


class HandedIn(Record):
    """What a student handed in.

    Attributes:
        student: what the files are called by; "" where only the sheets in them tell.
        files: each with the problem that its name tells, from 0, or None.
        foreign: files that hold no numbers to read, such as a PDF, where there is nothing else.
    """

    student: str
    files: Sequence[tuple[str, int | None]]
    foreign: Sequence[str] = ()


def handed_in(
    folder: str, assignment: Assignment, tell: Callable[[str], None]
) -> Iterator[HandedIn]:
    """Yield what each student handed in, of the files in a folder and those below it.

    A file is that of the problem, and of the student, whose name it has or a folder around it; a
    folder with one file, or with files called as those of other folders, is that of a student.

    Args:
        folder: the folder.
        assignment: what was given.
        tell: called with a sentence on the files that are passed over.
    """
    read, foreign, others = _sorted(folder)
    whose = Whose(folder, assignment, [parts for _, parts in read])
    found: dict[Parts, list[tuple[str, int | None]]] = {}
    for path, parts in read:
        student, problem = whose.of(parts)
        found.setdefault(student, []).append((path, problem))
    unread: dict[Parts, list[str]] = {}
    for path, parts in foreign:
        folders = [parts[:end] for end in range(1, len(parts))]
        if len(parts) > 1 and not any(student in folders for student in found):
            unread.setdefault(parts[:-1], []).append(path)
        else:
            others.append(path)
    if others:
        tell(passed_over(others, folder))
    for student, files in found.items():
        yield HandedIn(student[-1] if student else _name(folder), files)
    for student, paths in unread.items():
        yield HandedIn(student[-1], (), paths)


def _sorted(folder: str) -> tuple[list[tuple[str, Parts]], list[tuple[str, Parts]], list[str]]:
    """Return the files of a folder that are read, those of other programs, and the rest."""
    read, foreign = list[tuple[str, Parts]](), list[tuple[str, Parts]]()
    others = list[str]()
    for path, parts in files_in(folder):
        suffix = Path(path).suffix.lower()
        is_file = Path(path).is_file() and _is_inside(path, folder)
        if is_file and suffix in READ and not is_hidden(Path(path).name):
            read.append((path, parts))
        elif is_file and suffix in FOREIGN and not is_hidden(Path(path).name):
            foreign.append((path, parts))
        else:
            others.append(path)
    return read, foreign, others


def named(sources: Sequence[str], assignment: Assignment) -> Iterator[HandedIn]:
    """Yield what was handed in, where each file is named on the command line.

    Where there are several problems, and each file is called as one of them, those of a folder are
    of one student.
    """
    first = assignment.first
    problems = [first.which(Path(source).stem) for source in sources]
    if len(first.keys) == 1 or None in problems:
        yield from (HandedIn("", [(source, None)]) for source in sources)
        return
    found: dict[Path, list[tuple[str, int | None]]] = {}
    for source, problem in zip(sources, problems, strict=True):
        found.setdefault(Path(source).parent, []).append((source, problem))
    for folder, files in found.items():
        yield HandedIn(_name(str(folder)), files)


def passed_over(paths: Sequence[str], folder: str) -> str:
    """Return a sentence on files that hold no answers; those that are hidden are counted."""
    shown = [path for path in paths if not is_hidden(Path(path).name)]
    names = [visible(str(Path(path).relative_to(folder))) for path in shown]
    more = len(names) - MOST_NAMED
    listed = [*names[:MOST_NAMED], f"{more} more"] if more > 1 else names
    if hidden := len(paths) - len(shown):
        listed.append(f"{hidden} hidden file{'s'[: hidden != 1]}")
    return f"{visible(folder)}: passed over {all_of(listed)}"


class Whose:
    """Tells by the names of files whose they are, and of which problem.

    Args:
        folder: the folder in which they are.
        assignment: what was given.
        every: the parts of all paths.
    """

    def __init__(self, folder: str, assignment: Assignment, every: Sequence[Parts]) -> None:
        self._folder = folder
        self._assignment = assignment
        self._first = assignment.first
        flat = [parts[0] for parts in every if len(parts) == 1]
        self._one_student = all(self._problem(name) is not None for name in flat)
        self._inside = Counter(parts[:-1] for parts in every)
        self._alike = Counter(name for name, _ in {(p[-1], p[:-1]) for p in every})
        self._shared = {parts[:-1] for parts in every if self._alike[parts[-1]] > 1}

    def of(self, parts: Parts) -> tuple[Parts, int | None]:
        """Return the path of the student, and which problem it is, or None.

        The path of the folder itself is empty.
        """
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
        is_students = self._inside[parts[:-1]] == 1 or parts[:-1] in self._shared
        return (parts[:-1] if is_students else parts), None

    def _problem(self, name: str) -> int | None:
        if len(self._first.keys) == 1 or self._assignment.has(name):
            return None
        return self._first.which(name)


def _is_inside(path: str, folder: str) -> bool:
    """Whether a file is in a folder, and no link to one elsewhere."""
    return Path(path).resolve().is_relative_to(Path(folder).resolve())


def _name(folder: str) -> str:
    return Path(folder).resolve().name
