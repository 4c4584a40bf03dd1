"""The problems of a class, the same ones or variants for all; and those that are answered."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from attncli.checking.check import AnswerKey
from attncli.classroom.name_index import ProblemNames, Roster
from attncli.core.errors import InputError, Place, fail, refuse
from attncli.core.problem.problem import Problem
from attncli.core.records import Record
from attncli.core.text.strings import visible
from attncli.reading.document import Submission
from attncli.reading.files import is_folder
from attncli.reading.folders import problem_files
from attncli.reading.load import Overrides, load_each
from attncli.reading.people import Person

VARIANTS_KEPT = 32
"""Number of variants whose right numbers are kept: 200 students with 4 variants then take 0.1 s to
grade and not 1.9 s, and a variant per student takes little memory."""


class ProblemSet(Record):
    """The answer keys of a student, by the index of the problem, and the names of the problems."""

    keys: Sequence[AnswerKey]
    names: ProblemNames

    def fitting(self, submission: Submission) -> int | None:
        """Return the index of the only problem whose steps a submission has, in their shapes."""
        misfits = [key.misfits(submission) for key in self.keys]
        least = min(misfits)
        return misfits.index(least) if misfits.count(least) == 1 and least[0] == 0 else None

    def title(self, index: int) -> str:
        """Return the title of a problem for a report, or its number among several."""
        several = len(self.keys) > 1
        return self.keys[index].problem.title or (f"problem {index + 1}" if several else "")


class Assignment:
    """The problems of a class.

    Args:
        problems: those that everybody works; none if there are variants.
        variants: the problems of each variant, by its name: the student's, or its number.
        stems: the names of the problems' files without suffixes, if each has a file.

    Raises:
        InputError: for problems that cannot be calculated, and a marking that names no step.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        variants: Mapping[str, Sequence[Problem]] | None = None,
        stems: Sequence[str] = (),
    ) -> None:
        self._variants = dict(variants or {})
        self._keys_of = lru_cache(VARIANTS_KEPT)(self._read)
        self._stems = stems
        self._shared = None if self._variants else problem_set(problems, stems)
        self.first = self._shared or self._keys_of(next(iter(self._variants)))
        numbers = [re.fullmatch(r"\D*(\d{1,3})", name) for name in self._variants]
        names = [] if all(numbers) else self.names
        written = [(one[1].lstrip("0"), one[0]) for one in reversed(numbers) if one and not names]
        self._by_number: dict[str, str] = dict(written)
        self.roster = Roster([Person(name) for name in names])
        """The class that the names of the variants tell; empty if they are numbers."""
        points = (key.marking.points for key in self._different_keys())
        self.points = tuple(dict.fromkeys(name for names in points for name in names))
        """Names of the steps that have points in some problem."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in self.__dict__.items() if name != "_keys_of"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._keys_of = lru_cache(VARIANTS_KEPT)(self._read)

    @property
    def names(self) -> list[str]:
        """The names of the variants; none if everybody works the same problems."""
        return list(self._variants)

    def variant_of(self, *names: str) -> str:
        """Return the name of a student's variant; "" if everybody works the same problems.

        Args:
            names: what the student or the variant is called, the most reliable name first.

        Raises:
            InputError: if no variant has such a name.
        """
        if self._shared is not None:
            return ""
        for said in filter(None, names):
            if name := self.roster.find(said):
                return name
            number = re.match(r"\D*(\d+)", said)  # such as 07 of `07-Flo`
            if number and (numbered := self._by_number.get(number[1].lstrip("0"))):
                return numbered
        known = ", ".join(map(visible, self.names[:5])) + (", …" if len(self.names) > 5 else "")
        who = visible(next(iter(filter(None, names)), ""))
        raise fail(f"no variant is called {who}", hint=f"the variants are {known}")

    def given_to(self, *names: str) -> ProblemSet:
        """Return the problems of a student; names and errors are those of `variant_of`."""
        return self._shared or self._keys_of(self.variant_of(*names))

    def _read(self, name: str) -> ProblemSet:
        return problem_set(self._variants[name], self._stems)

    def _different_keys(self) -> Iterator[AnswerKey]:
        """Yield the keys; those of variants with equal markings only once."""
        if self._shared is not None:
            yield from self._shared.keys
        seen: set[str] = set()
        for name, problems in self._variants.items():
            said = repr([(one.marking.ask, one.marking.points) for one in problems])
            if said not in seen:
                seen.add(said)
                yield from self._keys_of(name).keys


def problem_set(problems: Sequence[Problem], stems: Sequence[str] = ()) -> ProblemSet:
    keys = [AnswerKey(problem) for problem in problems]
    files = stems if len(stems) == len(keys) else [""] * len(keys)
    pairs = [(key.problem.title, file) for key, file in zip(keys, files, strict=True)]
    return ProblemSet(keys, ProblemNames(pairs))


def load_assignment(
    source: str | os.PathLike[str], overrides: Overrides | None = None
) -> Assignment:
    """Return the assignment of a class: the problems of a file, or of a folder.

    Problems with the key `student` or `variant` are those of that variant. In a folder of others,
    if all have different titles, everybody works all of them, in the order of the files' names;
    else each file is the variant of the student whose name it has, and so is each folder inside,
    with any number of problems. The solutions that `attn vary` writes are left out.

    Raises:
        InputError: for a folder without problems, and for those of an `Assignment`.
    """
    name = os.fspath(source)
    overrides = overrides or Overrides()
    folders = problem_files(name, overrides.allow_outside) if is_folder(name) else None
    problems: dict[str, list[Problem]] = {}
    errors = list[InputError]()
    for file in folders or [name]:
        for problem in load_each(file, overrides):
            if isinstance(problem, InputError):
                errors.append(problem)
            else:
                problems.setdefault(file, []).append(problem)
    refuse([fault for error in errors for fault in error.faults])
    return assigned(problems, folders)


def assigned(
    problems: Mapping[str, Sequence[Problem]], folders: Mapping[str, tuple[str, ...]] | None = None
) -> Assignment:
    """Return the assignment that problems are, by their files; `folders` are those around each."""
    pairs = [(file, one) for file, some in problems.items() for one in some]
    names = [one.student or one.variant for _, one in pairs]
    if not all(names) or (folders is None and len(set(names)) < 2):
        titles = {one.title for _, one in pairs} - {""}
        is_flat = not any((folders or {}).values())
        if folders is None or (is_flat and len(titles) == len(pairs)):
            every = _numbered([one for _, one in pairs])
            return Assignment(every, stems=[Path(file).stem for file in problems])
        names = [[Path(file).stem, *folders[file]][-1] for file, _ in pairs]
    variants: dict[str, list[Problem]] = {}
    for name, (_, one) in zip(names, pairs, strict=True):
        variants.setdefault(name, []).append(one)
    return Assignment((), {name: _numbered(some) for name, some in variants.items()})


def _numbered(problems: Sequence[Problem]) -> list[Problem]:
    return [one.numbered(number) for number, one in enumerate(problems, 1)]


ReadAnswers: TypeAlias = Submission | InputError
"""The answers to a problem, or why they could not be read."""

ReadSubmission: TypeAlias = tuple[str, ReadAnswers]
"""The name of a submission, and what was read."""


class StudentsAnswers(Record, eq=False):
    """The answers of a student in a file, by the index of the problem."""

    student: str
    by_problem: Mapping[int, ReadAnswers]

    @property
    def line(self) -> int:
        """The line in which the student is named; 0 if the file has no lines."""
        one = next(iter(self.by_problem.values()))
        if isinstance(one, InputError):
            return next((fault.place.line for fault in one.faults if fault.place), 0)
        return one.locate(("student",)).line


def by_student(
    problems: ProblemSet, submissions: Iterable[ReadSubmission], place: Place
) -> Iterator[StudentsAnswers]:
    """Yield the answers of each student in a file.

    The problem of an answer is known, in this order, from a key such as `2: weights[1,1]`, as in a
    table with one row per student; from the key `problem`; from the order, if there are as many
    submissions as problems; from the shapes, if only one problem has them. Answers whose problem
    is unknown may be to any problem that is not answered otherwise, so each of these gets an error.
    """
    rest: list[tuple[str, ReadSubmission]] = []
    for name, one in submissions:
        parts = {0: one} if len(problems.keys) == 1 else _parts(problems, one)
        if parts:
            yield StudentsAnswers(name, parts)
        else:
            rest.append((_student(name, one, place.file), (name, one)))
    names = {student for student, _ in rest} - {""}
    only = names.pop() if len(names) == 1 else ""  # which is that of all documents
    groups: dict[str, list[ReadSubmission]] = {}
    for student, named in rest:
        groups.setdefault(student or only, []).append(named)
    for student, some in groups.items():
        by_problem = _by_problem(problems, [one for _, one in some], place)
        yield StudentsAnswers(student or some[0][0], by_problem)


def _student(name: str, one: ReadAnswers, file: str) -> str:
    if isinstance(one, Submission):
        return name if one.is_named or one.is_row else ""
    return "" if name == file or re.fullmatch(rf"{re.escape(file)}, \d+", name) else name


def _by_problem(
    problems: ProblemSet, submissions: Sequence[ReadAnswers], place: Place
) -> dict[int, ReadAnswers]:
    told: dict[int, ReadAnswers] = {}
    rest: list[ReadAnswers] = []
    for one in submissions:
        index = problems.names.which(one.problem) if isinstance(one, Submission) else None
        if isinstance(one, InputError) or index is None:
            rest.append(one)
        elif index in told:
            message = f"problem {index + 1} is answered twice"
            told[index] = one.locate(("problem",)).error(message, "keep one of them")
        else:
            told[index] = one
    if not told and len(rest) == len(problems.keys):
        return dict(enumerate(rest))
    errors: list[InputError] = []
    for one in rest:
        fits = None if isinstance(one, InputError) or one.problem else problems.fitting(one)
        if fits is not None and fits not in told:
            told[fits] = one
        else:
            errors.append(_untold(problems, one, place, len(rest)))
    if errors:
        error = InputError(*dict.fromkeys(fault for one in errors for fault in one.faults))
        return {**dict.fromkeys(range(len(problems.keys)), error), **told}
    return told


def _untold(problems: ProblemSet, one: ReadAnswers, place: Place, count: int) -> InputError:
    """Return the error for answers whose problem is unknown; `count` sets of answers have none."""
    if isinstance(one, InputError):
        return one
    if one.problem:
        hint = f"there are {len(problems.keys)}: write their numbers or titles"
        message = f"there is no problem {visible(one.problem)}"
        return one.locate(("problem",)).error(message, hint)
    sets = "is 1 set" if count == 1 else f"are {count} sets"
    hint = "separate the answers to each problem by a line of ---, or write problem: 2"
    message = f"there {sets} of answers, but {len(problems.keys)} problems"
    return place.error(message, hint)


def _parts(problems: ProblemSet, whole: ReadAnswers) -> dict[int, ReadAnswers]:
    """Return the parts of a submission by problem, if any of its keys name one, as `2: Q[1,1]`.

    If other keys name none, each part is an error.
    """
    keys: dict[int, dict[str, str]] = {}
    others: list[str] = []
    for key in whole.answers if isinstance(whole, Submission) else ():
        word, colon, name = key.partition(":")
        index = problems.names.which(word) if colon and name.strip() else None
        if index is not None:
            keys.setdefault(index, {})[name.strip()] = key
        else:
            others.append(key)
    if not keys or isinstance(whole, InputError):
        return {}
    if others:
        key, count = visible(others[0]), len(problems.keys)
        message = f"{key} does not tell of which of the {count} problems it is"
        hint = f"write the number of its problem before it, such as 1: {key}"
        error = whole.heading((others[0],)).error(message, hint)
        return dict.fromkeys(range(count), error)
    return {index: whole.part(names) for index, names in keys.items()}


def tells_problem(problems: ProblemSet, one: ReadAnswers) -> bool:
    """Return True if a submission itself names the problem that it answers."""
    return isinstance(one, Submission) and bool(one.problem or _parts(problems, one))


def merged(files_read: Sequence[tuple[str, Submission]], index: int) -> ReadAnswers:
    """Return the submissions of several files to one problem as one; equal ones count once.

    If two files answer the same step with other numbers, the result is an error.
    """
    (file, whole), *others = files_read
    files = dict.fromkeys(whole.matrices, file)
    for other_file, other in others:
        if other.contents and other.contents == whole.contents:
            continue
        steps = [*other.answers]
        if both := [key for key in steps if key in files]:
            message = (
                f"{visible(files[both[0]])} and this file answer {both[0]} of problem {index + 1}"
            )
            hint = "keep one of them; or choose in a manifest: attn check … --manifest FILE.csv"
            return Place(other_file).error(message, hint)
        whole = whole.joined(other)
        files |= dict.fromkeys(steps, other_file)
    return whole
