"""The problems that submissions answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from attncli.checking.answers.answers import contents_of
from attncli.classroom.assignment import ProblemSet
from attncli.core.errors import InputError, Place, error_at
from attncli.core.records import Record
from attncli.core.text.strings import visible
from attncli.reading.document import Submission

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
            told[index] = error_at(one.locate(("problem",)), message, "keep one of them")
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
        return error_at(one.locate(("problem",)), message, hint)
    sets = "is 1 set" if count == 1 else f"are {count} sets"
    hint = "separate the answers to each problem by a line of ---, or write problem: 2"
    message = f"there {sets} of answers, but {len(problems.keys)} problems"
    return error_at(place, message, hint)


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
        error = error_at(whole.heading((others[0],)), message, hint)
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
        if contents_of(other) and contents_of(other) == contents_of(whole):
            continue
        steps = [*other.answers]
        if both := [key for key in steps if key in files]:
            message = (
                f"{visible(files[both[0]])} and this file answer {both[0]} of problem {index + 1}"
            )
            hint = "keep one of them; or choose in a manifest: attn check … --manifest FILE.csv"
            return error_at(Place(other_file), message, hint)
        whole = whole.joined(other)
        files |= dict.fromkeys(steps, other_file)
    return whole
