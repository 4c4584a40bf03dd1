"""Submissions from files, with the matrix files that they name, and the problems they answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import BinaryIO, TypeAlias

from attncli.checking.submission import (
    KEYS_BESIDE_STEPS,
    PROBLEM,
    Submission,
    nowhere,
    submission_of,
)
from attncli.errors import InputError, KeyPath, Place, fail, located, refuse
from attncli.files.assignment import ProblemSet
from attncli.files.document import Document, FileName, Headings, error_at
from attncli.files.file_access import Folder
from attncli.files.load import flag_place, matrix_of, names_file
from attncli.files.read import read
from attncli.problem.faults import REPLACES
from attncli.problem.keys import KEYS
from attncli.records import EMPTY, Record, replace
from attncli.text.escapes import visible

NO_PROBLEM = -1
"""Stands for the index of the problem, for answers that do not tell it."""

ReadSubmission: TypeAlias = tuple[str, Submission | InputError]
"""The name of a submission, and the submission or why it could not be read."""


class StudentsAnswers(Record):
    """The submission of a student to each problem, by its index, or why none can be judged.

    The name is "" if the submissions have no student's name.
    """

    name: str
    by_problem: Mapping[int, ReadSubmission] = EMPTY
    error: InputError | None = None


def load_answers(
    source: FileName, stdin: BinaryIO | None = None, *, allow_outside: bool = False
) -> list[Submission]:
    """Read every submission of a file of hand-worked answers.

    Args:
        source: a YAML, JSON, CSV or NPZ file of matrices by step name, also one that
            `attn compute` wrote; "-" for standard input.
        stdin: what to read for "-".
        allow_outside: whether they may name files outside the folder of the file and those below.

    Raises:
        InputError: for what cannot be read, with its place.
    """
    found = [one for _, one in load_each_submission(source, stdin, allow_outside)]
    refuse([fault for one in found if isinstance(one, InputError) for fault in one.faults])
    return [one for one in found if not isinstance(one, InputError)]


def load_each_submission(
    source: FileName,
    stdin: BinaryIO | None = None,
    allow_outside: bool = False,
    headings: Headings = EMPTY,
) -> Iterator[tuple[str, Submission | InputError]]:
    """Yield the name of every submission of a file, and the submission or its error."""
    documents = read(source, stdin, dict.fromkeys(KEYS_BESIDE_STEPS, False), of_class=headings)
    first, second = next(documents, None), next(documents, None)
    several = second is not None
    for number, document in enumerate(chain(filter(None, (first, second)), documents), 1):
        name = f"{document.name}, {number}" if several else document.name
        try:
            with located(document.locate):
                values, labels = {} if document.bare else document.values, document.labels
                found = submission_of(
                    *(values, name, document.locate, bool(labels), labels),
                    heading=document.heading,
                    is_file=not several and source != "-",
                )
                name = found.name
                if document.bare:
                    hint = "write them under its name, such as weights: [[0.5, 0.5]]"
                    raise fail("these numbers do not tell of which step they are", hint=hint)
                if document.error:
                    raise document.error
                folder = Folder(document.folder, allow_outside)
                named = {word: raw for word, raw in found.matrices.items() if names_file(raw)}
                files = {word: matrix_of(word, raw, folder) for word, raw in named.items()}
                found = with_matrices(found, files)
        except InputError as error:
            yield name, error
        else:
            yield name, found


def for_problem(matrices: Mapping[str, str]) -> dict[str, str]:
    """Return the matrices that are of the problem, of those that flags of `attn check` name.

    All others are answers; so are Q, K, V and scores, which may be either.
    """
    heads = {name: name.partition(".")[0] for name in matrices}
    return {n: f for n, f in matrices.items() if heads[n] in KEYS and heads[n] not in REPLACES}


def answer_files(matrices: Mapping[str, str]) -> dict[str, Document]:
    """Return the contents of the files of answers that flags name, such as {"weights": "w.csv"}."""
    files = {}
    for name, file in matrices.items():
        with located(flag_place(f"-m {name}={file}")):
            files[name] = matrix_of(name, file, None)
    return files


def with_matrices(answers: Submission, files: Mapping[str, Document]) -> Submission:
    if not files:
        return answers

    def locate(path: KeyPath) -> Place:
        if path and path[0] in files:
            return files[str(path[0])].locate(("X", *path[1:]))
        return answers.locate(path)

    matrices = {word: file.values["X"] for word, file in files.items()}
    labels = {word: file.labels["X"] for word, file in files.items() if file.labels}
    return replace(
        answers,
        matrices={**answers.matrices, **matrices},
        locate=locate,
        ragged=True,
        labels={**answers.labels, **labels},
    )


def by_problem(
    problems: ProblemSet, submissions: Iterator[ReadSubmission], place: Place
) -> Iterator[StudentsAnswers]:
    """Yield the answers of each student in a file of answers to several problems.

    A key such as `2: weights[1,1]` tells the problem of a number, as in a table with one row per
    student; or the key `problem` of a submission; or the order of as many submissions as problems.
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
    rest = parts.pop(NO_PROBLEM, None)
    if rest is None:
        return StudentsAnswers(name, {index: (name, part) for index, part in parts.items()})
    key = next(iter(rest.matrices))
    message = f"{visible(key)} does not tell of which problem it is"
    error = error_at(rest.heading((key,)), message, f"write 1: {visible(key)}")
    return StudentsAnswers(name, error=error)


def _parts(problems: ProblemSet, whole: Submission) -> dict[int, Submission]:
    """Return the parts of a submission whose keys tell their problems, as `2: Q[1,1]`, if any do.

    The keys that do not are a part of their own, `NO_PROBLEM`.
    """
    keys: dict[int, dict[str, str]] = {}
    for key in whole.matrices:
        word, colon, name = key.partition(":")
        index = problems.which(word) if colon and name.strip() else None
        if index is not None:
            keys.setdefault(index, {})[name.strip()] = key
        elif key not in KEYS_BESIDE_STEPS:
            keys.setdefault(NO_PROBLEM, {})[key] = key
    if not keys.keys() - {NO_PROBLEM}:
        return {}
    return {index: _part(whole, own) for index, own in keys.items()}


def _part(whole: Submission, keys: Mapping[str, str]) -> Submission:
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
