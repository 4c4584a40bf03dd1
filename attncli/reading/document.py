"""What a reader returns: plain values, and the place of each; and the submission in them."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from attncli.core.errors import InputError, KeyPath, Locate, Place, fail, nowhere
from attncli.core.problem.keys import KEYS, TEXT_KEYS
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import regex, visible

if TYPE_CHECKING:
    from attncli.core.numbers.grid import Labels
    from attncli.core.problem.problem import Problem


# Text, a list or mapping of these, or an array; NumPy takes longer to import than files to read.
Raw: TypeAlias = Any

FileName: TypeAlias = str | os.PathLike[str]
"""A file; "-" is standard input."""

Options: TypeAlias = Mapping[str, bool]
"""Words that begin a line of CSV with an option, each with whether its value is a list."""

Headings: TypeAlias = Mapping[str, str]
"""Meanings of the columns of a class table: {"Question 1": "weights[1,1]"}."""


class KnownClass(Record):
    """A class, as the reader of its table needs it.

    `headings` tell what columns hold; `who` returns the name of the student whom a text names, or
    "". `which` returns the index of the problem that a text names, and is None if there is only
    one problem.
    """

    headings: Headings = EMPTY
    who: Callable[[str], str] = lambda text: ""
    which: Callable[[str], int | None] | None = None

    def student(self, text: str) -> str:
        """Return the name of the student whom a text names; the text, if it names none."""
        return self.who(text) or text


def has_decimal_pairs(text: str, start: int = 0, end: int = sys.maxsize) -> bool:
    """Return whether a part of a text may have decimal commas: 1,5, 2,5."""
    # Most lists have a blank behind each comma, and a pattern takes time to be compiled.
    is_plain = text.count(",", start, end) == text.count(", ", start, end)
    return not is_plain and DECIMAL_PAIRS.search(text, start, end) is not None


DECIMAL_PAIRS = regex(r"(?<=[\[ ])[-+]?\d+,\d+, |, +[-+]?\d+,\d+\s*[\],]")
"""A comma without a blank in a row with another that has one: `decimal_comma` looks at the list."""

MAX_LEVELS = 64
"""Maximum depth of nested values, which bounds the stack. Chosen."""

TOO_DEEP = f"more than {MAX_LEVELS} brackets or levels inside each other", "leave some of them out"

MAX_KEYS = 10_000
"""Maximum number of keys of a mapping, such as the cells that are answered. Chosen."""

YAML_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl")

NULL_WORDS = ("~", "null", "Null", "NULL")


class Blank(str):
    """The text of a key's value where nothing is written, not even null: an error in a problem."""

    __slots__ = ()


BLANK = Blank()


class OpenKey(Record):
    """A key without a value, or with null, which leaves it out."""

    path: KeyPath
    is_null: bool
    is_only: bool  # True if its mapping has no other key


def without_nulls(raw: Raw, path: KeyPath, open_keys: list[OpenKey]) -> Raw:
    """Return a value without the keys that are null; add those and keys without value to a list.

    What JSON nests more deeply than YAML may be stays as it is: no key of a problem is there.
    """
    if len(path) > MAX_LEVELS:
        return raw
    if isinstance(raw, dict):
        values = {key: value for key, value in raw.items() if value is not None}
        open_keys += (
            OpenKey((*path, key), is_null=value is None, is_only=len(values) == 1)
            for key, value in raw.items()
            if value is None or isinstance(value, Blank)
        )
        return {key: without_nulls(v, (*path, key), open_keys) for key, v in values.items()}
    if isinstance(raw, list) and dict in map(type, raw):
        return [without_nulls(item, (*path, at), open_keys) for at, item in enumerate(raw)]
    return raw


class Document(Record):
    """One problem, or one set of answers, as it was read, or why it could not be read.

    Every scalar of a text format is text with its digits as written. `labels` are the words beside
    a matrix in CSV, by key; `W_q[2]` is the second of a stack.
    """

    name: str  # of the file, as the user wrote it
    values: dict[str, Raw]
    locate: Locate  # of a key, of an item, or of the nearest thing around it
    labels: Mapping[str, Labels] = EMPTY
    bare: bool = False  # a single matrix or list without a key, which gets the key X
    heading: Locate = nowhere  # of a column, if keys are headings
    error: InputError | None = None
    open_keys: tuple[OpenKey, ...] = ()  # the keys without a value, or with null

    @property
    def folder(self) -> Path:
        """The folder of the file, to which the names of files in it are relative."""
        return Path(self.name).parent

    def renamed(self, old: str, new: str) -> Document:
        """Return the document with another key for a matrix, or with one where it had none."""

        def locate(path: KeyPath) -> Place:
            return self.locate((old, *path[1:]) if path[:1] == (new,) else path)

        values = {new if key == old else key: value for key, value in self.values.items()}
        labels = {new: self.labels[old]} if old in self.labels else {}
        return replace(self, values=values, labels=labels, locate=locate, bare=False)


MAX_SHOWN_LINES = 6
"""Maximum number of lines, or of runs of them, that a note names."""

PAUSE = Document("", {}, nowhere)
"""Stands between two documents of a pipe that holds no more for now."""


def unread(error: InputError, name: str) -> Document:
    """Return a document that holds nothing but why it could not be read."""
    return Document(name, {}, lambda _: Place(name), error=error)


def note_unread(name: str, lines: Sequence[int], options: Sequence[str] = ()) -> None:
    """Warn that lines of a text are not read, and how options are written that they may mean."""
    every = {*lines}
    starts = [line for line in lines if line - 1 not in every]
    ends = [line for line in lines if line + 1 not in every]
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)]
    more = ", …" if len(parts) > MAX_SHOWN_LINES else ""
    words, are = ("line", "is") if len(lines) == 1 else ("lines", "are")
    said = f"{visible(name)}: {words} {', '.join(parts[:MAX_SHOWN_LINES])}{more} {are} not read"
    if options:
        said += f"; an option is written as {' or '.join(options)}"
    warnings.warn(said, UnicodeWarning, stacklevel=2)


def twice(word: str, line: int, place: Place | None = None) -> str:
    """Return the message for a key that is in a line, or in a cell, of the file already."""
    first = place.cell if place and place.cell else f"line {line}"
    return f"{visible(word)} is written twice, first in {visible(first)}"


MAX_PARTS = 64
"""Maximum number of parts of a key with points between them, which bounds the stack. Chosen."""


def assign(values: dict[str, Raw], key: str, raw: Raw, *, in_place: bool = False) -> None:
    """Set a key; `score.W` sets W inside score, and a plain value of score becomes its name.

    A key of more than `MAX_PARTS` parts is that of no value inside another. A mapping is copied
    before a key is set inside it, or with `in_place` changed, which no alias of YAML may be.
    """
    head, dot, tail = key.partition(".") if key.count(".") < MAX_PARTS else (key, "", "")
    inside: Raw = values.get(head, {})
    if not dot:
        # A line score,general may come after score.W; the word is the name of the score.
        is_name = head in values and isinstance(inside, dict) and isinstance(raw, str)
        values[key] = {"name": raw} | inside if is_name else raw
        return
    if isinstance(inside, str):
        inside = {"name": inside}
    if isinstance(inside, list) and any(isinstance(row, dict) and tail in row for row in inside):
        values[head] = [r | {tail: raw} if isinstance(r, dict) and tail in r else r for r in inside]
        return
    if isinstance(inside, list) and tail.partition(".")[0].isdecimal():  # layers.2.W_q
        inside = {str(number): row for number, row in enumerate(inside, 1)}
    if not isinstance(inside, dict):
        raise fail(f"{key} cannot be set, as {head} is a matrix", head)
    values[head] = inside = inside if in_place else {**inside}
    if "." in tail:
        assign(inside, tail, raw, in_place=in_place)
    else:
        inside[tail] = raw


ANSWERS_HINT = "write such as weights: [[0.5, 0.5]]"

STUDENT_KEYS = ("student", "name", "from")
"""Keys for the student's name, the last in a mail; the first that a submission has counts."""

TITLE = "title"
"""Key of the problem's title; it names a submission without any name, as on standard input."""

NOTES = "notes"
"""Key of remarks: the student's, or in a copy of a problem those of the problem."""

COMMENTS = ("comment", "comments", "remark", "remarks", "note", NOTES)
"""Keys of remarks, of the student or of the person who typed the submission."""

PROBLEM = "problem"
"""Key of the problem that was worked, where there are several."""

KEYS_BESIDE_STEPS = tuple(dict.fromkeys((*STUDENT_KEYS, *COMMENTS, *TEXT_KEYS, "")))
"""Keys of a submission that are not names of steps. A new key has a place here."""


class Submission(Record, eq=False):
    """One student's answers, as they were read: raw matrices by words for the steps.

    It is pickled without the places in its file.

    Attributes:
        locate: gives the place of a step, a row or a cell.
        labels: the words beside each matrix of a table, (None, None) for none, by its key, such as
            `weights[2]` for the second of a stack. Tables drop empty cells at the ends of rows.
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
    labels: Mapping[str, Labels] = EMPTY
    comment: str = ""
    heading: Locate = nowhere
    problem: str = ""
    variant: str = ""
    is_named: bool = False
    read_as: Mapping[str, str] = EMPTY

    def __getstate__(self) -> dict[str, Any]:
        locate = nowhere if self.locate is nowhere else partial(_in_file, self.name)
        return self.__dict__ | {"locate": locate, "heading": locate}

    @property
    def answers(self) -> dict[str, Any]:
        """The matrices without remarks and names, by the names of steps that letters mean."""
        named = ((key, self.read_as.get(key, key)) for key in self.matrices)
        return {name: self.matrices[k] for k, name in named if name not in KEYS_BESIDE_STEPS}

    @property
    def is_row(self) -> bool:
        """True for a row of a table of many students, whose headings are names of cells."""
        return self.heading is not nowhere

    @property
    def contents(self) -> str:
        """A key that is equal for submissions with equal answers; "" if there is none."""
        answers = self.answers
        try:
            numbers = json.dumps([answers, self.labels])
        except (TypeError, ValueError, RecursionError):  # a list that contains itself, for example
            return ""
        types = " ".join(number_type(raw) for raw in answers.values())
        return numbers + types  # json writes np.float64 as it does floats

    @staticmethod
    def inside(problem: Problem) -> Submission:
        """Return the answers that are written in a problem itself.

        Raises:
            InputError: if there are none.
        """
        if problem.answers is None:
            hint = "name a file of answers, or put the matrices under the key answers"
            raise problem.error("the problem has no answers to check", "answers", hint=hint)
        values = {"student": problem.student, "answers": problem.answers}
        return submission_of(values, problem.title or "answers", problem.source)

    def part(self, keys: Mapping[str, str]) -> Submission:
        """Return the answers of some keys; they are by the names that these have here."""

        def in_whole(path: KeyPath) -> KeyPath:
            return (keys.get(str(path[0]), path[0]), *path[1:]) if path else path

        return replace(
            self,
            matrices={name: self.matrices[key] for name, key in keys.items()},
            locate=lambda path: self.locate(in_whole(path)),
            heading=lambda path: self.heading(in_whole(path)),
        )

    def joined(self, other: Submission) -> Submission:
        """Return the answers of both; those of the other one count where both have a key."""

        def locate(path: KeyPath) -> Place:
            is_others = path and str(path[0]) in other.matrices
            return other.locate(path) if is_others else self.locate(path)

        return replace(
            self,
            matrices={**self.matrices, **other.matrices},
            labels={**self.labels, **other.labels},
            comment="\n".join(filter(None, (self.comment, other.comment))),
            locate=locate,
        )


def _in_file(file: str, _: KeyPath) -> Place:
    return Place(file)


class Unread(Record):
    """A submission that could not be read, and why; `title` is the problem's, if it is known."""

    name: str
    error: InputError
    title: str = ""


def number_type(raw: Any) -> str:
    """Return the type of the first number of a matrix; "" for a plain number or text."""
    while isinstance(raw, list | tuple) and raw:
        raw = raw[0]
    dtype = getattr(raw, "dtype", "")
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]  # torch.float32


def submission_of(
    values: Mapping[str, Any],
    name: str,
    locate: Locate = nowhere,
    labels: Mapping[str, Labels] = EMPTY,
    heading: Locate = nowhere,
    is_file: bool = False,
) -> Submission:
    """Return the submission in plain values: answers, a file with the key `answers`, or results.

    `locate` gives the place of a key path of the values, `heading` that of a key which heads a
    column. If `is_file`, `name` is that of a file with this submission, which no title replaces.
    """
    from attncli.core.numbers.matrices import with_zeros  # NumPy, which not all documents need

    part, matrices = _part_and_matrices(values)
    in_lower_case = {key: str(key).lower() for key in values}  # Name: Eva
    beside = {key: word for key, word in in_lower_case.items() if word in KEYS_BESIDE_STEPS}
    values = {beside.get(key, key): raw for key, raw in values.items()}
    matrices = matrices if part else values
    items = matrices.items()
    recorded = {key for key, raw in items if isinstance(raw, Mapping) and "value" in raw}
    as_written = {k: with_zeros(raw["value"]) if k in recorded else raw for k, raw in items}

    def place(path: KeyPath) -> Place:
        key, rest = path[:1], path[1:]
        raw = matrices.get(str(key[0])) if rest else None
        if key and key[0] in recorded:
            rest = ("value", *rest)
        elif isinstance(raw, Mapping) and isinstance(rest[0], int):  # rows under their labels
            rest = ([*raw][rest[0]], *rest[1:])
        return locate((*filter(None, (part,)), *key, *rest))

    start = f"{part}." if part else ""
    inner = {key.removeprefix(start): w for key, w in labels.items() if key.startswith(start)}
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
        labels=inner,
        comment="\n".join(filter(None, (_said(about.get(key)) for key in COMMENTS))),
        heading=heading,
        problem=_said(values.get(PROBLEM)),
        variant=_said(values.get("variant")),
        is_named=bool(student),
    )


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
