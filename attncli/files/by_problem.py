"""Which problem each submission answers, where a file holds answers to several problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from attncli.checking.submission import ABOUT, PROBLEM, Submission, nowhere
from attncli.errors import InputError, KeyPath, Place
from attncli.files.assignment import ProblemSet
from attncli.files.document import error_at
from attncli.records import EMPTY, Record, replace
from attncli.text.escapes import visible

NO_PROBLEM = -1
"""Stands for the index of the problem, for answers that do not tell it."""

ReadSubmission: TypeAlias = tuple[str, Submission | InputError]
"""The name of a submission, and the submission or why it could not be read."""


class StudentsAnswers(Record):
    """The submissions of one student to several problems.

    Attributes:
        name: what the submissions call the student; "" if they name nobody.
        by_problem: the submission to each problem, by the problem's index.
        error: why none of them can be judged.
    """

    name: str
    by_problem: Mapping[int, ReadSubmission] = EMPTY
    error: InputError | None = None


def by_problem(
    problems: ProblemSet, submissions: Iterator[ReadSubmission], place: Place
) -> Iterator[StudentsAnswers]:
    """Yield the answers of each student in a file of answers to several problems.

    A key such as `2: weights[1,1]` tells of which problem a number is, as in a table with one row
    per student; or the key `problem` of a submission; or the order of as many submissions as
    problems.

    Args:
        problems: what the students were given.
        submissions: those of the file.
        place: where the file is, for messages about the whole.

    Raises:
        InputError: if nothing tells the problems, and there are not as many submissions.
    """
    tells_problem = False
    by_student: dict[str, dict[int, ReadSubmission]] = {}
    others: list[ReadSubmission] = []
    for name, one in submissions:
        if isinstance(one, InputError):
            others.append((name, one))
        elif parts := _parts(problems, one):
            tells_problem = True
            yield _of_parts(name, parts)
        elif one.problem:
            tells_problem = True
            is_own = one.is_named or one.heading is not nowhere
            found = by_student.setdefault(name if is_own else "", {})
            index, checked = _with_index(problems, one, found)
            found[index] = name, checked
        else:
            others.append((name, one))
    for name, found in by_student.items():
        yield StudentsAnswers(name, found)
    if tells_problem:
        hint = "write such as problem: 2"
        untold = error_at(place, "these answers do not tell of which problem", hint)
        for name, other in others:
            yield StudentsAnswers(name, error=other if isinstance(other, InputError) else untold)
    elif len(others) == len(problems.keys):
        yield StudentsAnswers("", dict(enumerate(others)))
    else:
        count = "is 1 set" if len(others) == 1 else f"are {len(others)} sets"
        message = f"there {count} of answers, but {len(problems.keys)} problems"
        hint = "part the answers to each problem by a line of ---, or write problem: 2"
        raise error_at(place, message, hint)


def _of_parts(name: str, parts: dict[int, Submission]) -> StudentsAnswers:
    """Return the answers of a submission that was split by the problems that its keys tell."""
    rest = parts.pop(NO_PROBLEM, None)
    if rest is None:
        return StudentsAnswers(name, {index: (name, part) for index, part in parts.items()})
    key = next(iter(rest.matrices))
    message = f"{visible(key)} does not tell of which problem it is"
    error = error_at(rest.heading((key,)), message, f"write 1: {visible(key)}")
    return StudentsAnswers(name, error=error)


def _parts(problems: ProblemSet, whole: Submission) -> dict[int, Submission]:
    """Return the parts of a submission whose keys tell of which problem they are, as `2: Q[1,1]`.

    It is empty if no key does; if some do not, these are a part of their own, `NO_PROBLEM`.
    """
    keys: dict[int, dict[str, str]] = {}
    for key in whole.matrices:
        word, colon, name = key.partition(":")
        index = problems.which(word) if colon and name.strip() else None
        if index is not None:
            keys.setdefault(index, {})[name.strip()] = key
        elif key not in ABOUT:
            keys.setdefault(NO_PROBLEM, {})[key] = key
    if not keys.keys() - {NO_PROBLEM}:
        return {}
    return {index: _part(whole, own) for index, own in keys.items()}


def _part(whole: Submission, keys: Mapping[str, str]) -> Submission:
    """Return the part of a submission that some keys are of, each under its name in that part."""

    def in_whole(path: KeyPath) -> KeyPath:
        return (keys.get(str(path[0]), path[0]), *path[1:]) if path else path

    return replace(
        whole,
        matrices={name: whole.matrices[key] for name, key in keys.items()},
        locate=lambda path: whole.locate(in_whole(path)),
        heading=lambda path: whole.heading(in_whole(path)),
    )


def _with_index(
    problems: ProblemSet, one: Submission, known: Mapping[int, ReadSubmission]
) -> tuple[int, Submission | InputError]:
    """Return the index of the problem that a submission names, and the submission or its error."""
    index = problems.which(one.problem)
    where = one.locate((PROBLEM,))
    if index is None:
        hint = f"there are {len(problems.keys)}: write their numbers or titles"
        error = error_at(where, f"there is no problem {visible(one.problem)}", hint)
        return next((n for n in range(len(problems.keys)) if n not in known), 0), error
    if index in known:
        message = f"problem {index + 1} is answered twice"
        return index, error_at(where, message, "keep one of them")
    return index, one
