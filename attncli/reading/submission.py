"""A submission: matrices as they were written, under the student's words for the steps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attncli.core.errors import KeyPath, Locate, Place, fail, located, nowhere
from attncli.core.numbers.matrices import with_zeros
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import TEXT_KEYS
from attncli.core.records import EMPTY, Record
from attncli.core.text.escapes import visible

if TYPE_CHECKING:
    from attncli.core.numbers.grid import Labels
    from attncli.core.problem.problem import Problem

ANSWERS_HINT = "write such as weights: [[0.5, 0.5]]"

STUDENT_KEYS = ("student", "name")
"""Keys for the student's name; the first that a submission has counts."""

TITLE = "title"
"""Key of the problem's title; it names a submission without any name, as on standard input."""

NOTES = "notes"
"""Key of remarks: the student's, or in a copy of a problem those of the problem."""

COMMENTS = ("comment", "comments", "remark", "remarks", "note", NOTES)
"""Keys of remarks, of the student or of the person who typed the submission."""

PROBLEM = "problem"
"""Key of the problem that was worked, where there are several."""

VARIANT = "variant"
"""Key of the variant that was worked."""

KEYS_BESIDE_STEPS = tuple(dict.fromkeys((*STUDENT_KEYS, *COMMENTS, *TEXT_KEYS, "")))
"""Keys of a submission that are not names of steps. A new key has a place here."""


class Submission(Record, eq=False):
    """One student's answers, as they were read: raw matrices by words for the steps.

    Attributes:
        locate: gives the place of a step, a row or a cell.
        ragged: True if a row may be shorter than others, as CSV drops empty cells at the end.
        labels: the words beside a matrix by its key; `weights[2]` is the second of a stack.
        comment: what was written beside the matrices.
        heading: gives the place of a step's name, where that is the heading of a column.
        problem: the number or the title of the problem, if the submission holds it.
        variant: the name of the variant, if the submission holds it.
        is_named: True if the submission itself holds the student's name.
        read_as: the names of steps and cells that letters mean, by key; "" for an unread key.
    """

    name: str
    matrices: Mapping[str, Any]
    locate: Locate = nowhere
    ragged: bool = False
    labels: Mapping[str, Labels] = EMPTY
    comment: str = ""
    heading: Locate = nowhere
    problem: str = ""
    variant: str = ""
    is_named: bool = False
    read_as: Mapping[str, str] = EMPTY

    @property
    def answers(self) -> dict[str, Any]:
        """The matrices without remarks and names, by the names of steps that letters mean."""
        named = ((key, self.read_as.get(key, key)) for key in self.matrices)
        return {name: self.matrices[k] for k, name in named if name not in KEYS_BESIDE_STEPS}

    @property
    def is_row(self) -> bool:
        """True for a row of a table of many students, whose headings are names of cells."""
        return self.heading is not nowhere


def submission_of(
    values: Mapping[str, Any],
    name: str,
    locate: Locate = nowhere,
    ragged: bool = False,
    labels: Mapping[str, Labels] = EMPTY,
    heading: Locate | None = None,
    is_file: bool = False,
) -> Submission:
    """Return the submission in plain values: answers, a file with the key `answers`, or results.

    `locate` gives the place of a key path of the values, `heading` that of a key which heads a
    column. If `is_file`, `name` is that of a file with this submission, which no title replaces.
    """
    part, matrices = _part_and_matrices(values)
    items = matrices.items()
    recorded = {key for key, raw in items if isinstance(raw, Mapping) and "value" in raw}
    as_written = {k: with_zeros(raw["value"]) if k in recorded else raw for k, raw in items}

    def place(path: KeyPath) -> Place:
        inner = ("value",) if path and path[0] in recorded else ()
        return locate((*filter(None, (part,)), *path[:1], *inner, *path[1:]))

    start = f"{part}." if part else ""
    own = {key.removeprefix(start): words for key, words in labels.items() if key.startswith(start)}
    copied = KEYS.keys() & values.keys() - {"answers", *TEXT_KEYS}
    is_copy = "steps" in values or ("answers" in values and copied)  # its notes are the problem's
    left_out = NOTES if is_copy else ""
    about = {**{key: raw for key, raw in values.items() if key != left_out}, **matrices}
    student = next(filter(None, (_said(values.get(key)) for key in STUDENT_KEYS)), "")
    title = "" if is_file else _said(values.get(TITLE))
    return Submission(
        name=student or title or name,
        matrices=as_written,
        locate=place,
        ragged=ragged,
        labels=own,
        comment="\n".join(filter(None, (_said(about.get(key)) for key in COMMENTS))),
        heading=heading or nowhere,
        problem=_said(values.get(PROBLEM)),
        variant=_said(values.get(VARIANT)),
        is_named=bool(student),
    )


def own_submission(problem: Problem) -> Submission:
    """Return the answers that are written in the problem itself.

    Raises:
        InputError: if there are none.
    """
    if problem.answers is None:
        hint = "name a file of answers, or put the matrices under the key answers"
        with located(problem.source):
            raise fail("the problem has no answers to check", hint=hint)
    values = {"student": problem.student, "answers": problem.answers}
    return submission_of(values, problem.title or "answers", problem.source)


def _part_and_matrices(values: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(values, Mapping):
        message = "answers must be a mapping of step names to matrices"
        is_path = isinstance(values, str | os.PathLike)
        hint = "load_answers reads a file, and check takes each submission of it"
        raise fail(message, hint=hint if is_path else ANSWERS_HINT)
    part = next((key for key in ("steps", "answers") if key in values), "")
    matrices = values[part] if part else values
    if not isinstance(matrices, Mapping):
        message = f"{part} must be a mapping of step names to matrices"
        raise fail(message, part, hint=ANSWERS_HINT)
    for key in matrices:
        if not isinstance(key, str):
            message = f"a key of answers must be the name of a step, not {visible(repr(key))[:40]}"
            raise fail(message, hint=ANSWERS_HINT)
    return part, matrices


def _said(raw: object) -> str:
    if isinstance(raw, list | tuple):
        lines = [_said(line) for line in raw if not isinstance(line, list | tuple)]
        return "\n".join(filter(None, lines))
    return str(raw).strip() if isinstance(raw, str | int | float) else ""
