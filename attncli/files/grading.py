"""Many sheets of answers for one problem: each is judged, and a bad one stops no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, TypeAlias

from attncli.checking.answers import Submission
from attncli.checking.check import AnswerKey, Report, own_submission
from attncli.errors import InputError, Place, fail
from attncli.files.document import error_at
from attncli.files.load import NOTHING, answer_files, load_each_sheet, with_matrices
from attncli.problem.problem import Problem
from attncli.records import Record
from attncli.text.escapes import visible


class Unread(Record):
    """Answers that could not be read, and why."""

    name: str
    error: InputError


Graded: TypeAlias = Report | Unread


def grade_all(
    problems: Sequence[Problem],
    sources: Sequence[str],
    strict: bool = False,
    stdin: BinaryIO | None = None,
    matrices: Mapping[str, str] = NOTHING,
    allow_outside: bool = False,
) -> Iterator[Graded]:
    """Yield the report of every sheet of answers, or why there is none.

    Args:
        problems: what was worked: one problem for any number of sheets, or several, for which
            each file has as many sheets.
        sources: files of answers; without any, the answers that stand in the problems.
        strict: whether a number that is off in its last digit, or rounded early, is wrong.
        stdin: what to read for "-".
        matrices: files of single answers, by step: {"weights": "w.csv"}; they are added to the
            one sheet that there is.
        allow_outside: whether a sheet may name files outside its own folder and those below.

    Raises:
        InputError: if a problem cannot be calculated, if its marking names no step of it, or if it
            holds no answers where none are named.
    """
    keys = [AnswerKey(problem) for problem in problems]
    files = answer_files(matrices)
    _refuse_several(matrices, len(keys), "problems")
    _refuse_several(matrices, len(sources), "files of answers")
    if not sources:
        for key in keys:
            yield _graded(key, with_matrices(_own_sheet(key.problem, matrices), files), strict)
    for source in sources:
        try:
            found = load_each_sheet(source, stdin, allow_outside)
            for number, (name, sheet) in enumerate(_as_many(found, source, len(keys), matrices)):
                if isinstance(sheet, InputError):
                    yield Unread(name, sheet)
                else:
                    key = keys[number if len(keys) > 1 else 0]
                    yield _graded(key, with_matrices(sheet, files), strict)
        except InputError as error:
            yield Unread(source, error)


def _own_sheet(problem: Problem, matrices: Mapping[str, str]) -> Submission:
    """Return the answers that stand in a problem; an empty sheet where only files hold any."""
    if matrices and problem.answers is None:
        return Submission(", ".join(matrices.values()), {})
    return own_submission(problem)


def _as_many(
    sheets: Iterator[tuple[str, Submission | InputError]],
    source: str,
    problems: int,
    matrices: Mapping[str, str],
) -> Iterable[tuple[str, Submission | InputError]]:
    """Return the sheets of a file as they come; as many as there are problems, if several are."""
    if problems == 1 and not matrices:
        return sheets
    every = list(sheets)
    _refuse_several(matrices, len(every), "sheets of answers")
    if problems > 1 and len(every) != problems:
        sets = f"{len(every)} set{'s'[: len(every) != 1]} of answers"
        message = f"there are {sets}, but {problems} problems"
        raise error_at(Place(source), message, "part the answers to each problem by a line of ---")
    return every


def _refuse_several(matrices: Mapping[str, str], count: int, what: str) -> None:
    """Refuse single answers where it is not clear to which of several sheets they belong."""
    for name, file in matrices.items() if count > 1 else ():
        message = f"-m {visible(name)}={visible(file)} is an answer of one sheet"
        hint = f"write {visible(name)}: {visible(file)} in the file of its sheet"
        raise fail(f"{message}, but there are {count} {what}", hint=hint)


def _graded(key: AnswerKey, sheet: Submission, strict: bool) -> Graded:
    try:
        return key.check(sheet, strict)
    except InputError as error:
        return Unread(sheet.name, error)
