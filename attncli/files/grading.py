"""Many sheets of answers for one problem: each is judged, and a bad one stops no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, TypeAlias

from attncli.checking.answers import Submission
from attncli.checking.check import AnswerKey, Report, own_submission
from attncli.errors import InputError, Place
from attncli.files.document import error_at
from attncli.files.load import load_each_sheet
from attncli.problem.problem import Problem
from attncli.records import Record


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
) -> Iterator[Graded]:
    """Yield the report of every sheet of answers, or why there is none.

    Args:
        problems: what was worked: one problem for any number of sheets, or several, for which
            each file has as many sheets.
        sources: files of answers; without any, the answers that stand in the problems.
        strict: whether a number that is off in its last digit, or rounded early, is wrong.
        stdin: what to read for "-".

    Raises:
        InputError: if a problem cannot be calculated, if its marking names no step of it, or if it
            holds no answers where none are named.
    """
    keys = [AnswerKey(problem) for problem in problems]
    if not sources:
        for key in keys:
            yield _graded(key, own_submission(key.problem), strict)
    for source in sources:
        try:
            sheets = load_each_sheet(source, stdin)
            if len(keys) > 1 and len(sheets) != len(keys):
                sets = f"{len(sheets)} set{'s'[: len(sheets) != 1]} of answers"
                message = f"there are {sets}, but {len(keys)} problems"
                hint = "part the answers to each problem by a line of ---"
                raise error_at(Place(source), message, hint)
        except InputError as error:
            yield Unread(source, error)
            continue
        for number, (name, sheet) in enumerate(sheets):
            if isinstance(sheet, InputError):
                yield Unread(name, sheet)
            else:
                yield _graded(keys[number if len(keys) > 1 else 0], sheet, strict)


def _graded(key: AnswerKey, sheet: Submission, strict: bool) -> Graded:
    try:
        return key.check(sheet, strict)
    except InputError as error:
        return Unread(sheet.name, error)
