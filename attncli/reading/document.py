"""What a reader returns: plain values, and the place of each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from attncli.core.errors import Fault, InputError, KeyPath, Place, fail
from attncli.core.records import EMPTY, Record
from attncli.core.text import escapes

if TYPE_CHECKING:
    from attncli.core.numbers.grid import Labels

# Text, a list or mapping of these, or an array; NumPy takes longer to import than files to read.
Raw: TypeAlias = Any

FileName: TypeAlias = str | os.PathLike[str]
"""A file; "-" is standard input."""

Options: TypeAlias = Mapping[str, bool]
"""Words that begin a line of CSV with an option, each with whether its value is a list."""

Headings: TypeAlias = Mapping[str, str]
"""Meanings of the columns of a class table: {"Question 1": "weights[1,1]"}."""


class StudentNames(Protocol):
    """The students of a class, found by their names, as by `Roster` in `classroom/name_index`."""

    def find(self, text: str) -> Any: ...


class KnownClass(Record):
    """A class, as the reader of its table needs it.

    `headings` tell what columns hold, `roster` who is in the class; `which` returns the index of
    the problem that a text names, and is None if there is only one problem.
    """

    headings: Headings = EMPTY
    roster: StudentNames | None = None
    which: Callable[[str], int | None] | None = None

    def student(self, text: str) -> str:
        """Return the name of the student whom a text names; the text, if it names none."""
        person = self.roster.find(text) if self.roster and text else None
        return str(person.name) if person else text


DECIMAL_PAIR = r"[-+]?\d+,\d+"
DECIMAL_ROW = rf"\[\s*{DECIMAL_PAIR}(?:,\s+{DECIMAL_PAIR})+\s*\]"
DECIMAL_PAIRS = re.compile(DECIMAL_ROW)
"""A row such as [0,5, 1,25], with a blank after every second comma only."""
ONLY_DECIMAL_PAIRS = rf"{DECIMAL_ROW}|\[\s*{DECIMAL_ROW}(?:\s*,\s*{DECIMAL_ROW})*\s*\]"
"""A list of such rows alone."""

NULL_WORDS = ("~", "null", "Null", "NULL")


class Blank(str):
    """The text of a key's value where nothing is written, not even null: an error in a problem."""

    __slots__ = ()


BLANK = Blank()


class Chunk(Record):
    """A part of a text that is read by itself; `before` counts the lines above it.

    `original` is the text as it is in the file, if `text` is a version with the same lines that
    YAML can read.
    """

    name: str
    text: str
    before: int = 0
    original: str = ""


class Document(Record):
    """One problem, or one set of answers, as it was read, or why it could not be read.

    Every scalar of a text format is text with its digits as written. `labels` are the words beside
    a matrix in CSV, by key; `W_q[2]` is the second of a stack.
    """

    name: str  # of the file, as the user wrote it
    folder: Path  # to which the names of files in it are relative
    values: dict[str, Raw]
    locate: Callable[[KeyPath], Place]  # of a key, of an item, or of the nearest thing around it
    labels: Mapping[str, Labels] = EMPTY
    bare: bool = False  # a single matrix or list without a key, which gets the key X
    heading: Callable[[KeyPath], Place] | None = None  # of a column, if keys are headings
    error: InputError | None = None


def unread(error: InputError, name: str, folder: Path) -> Document:
    """Return a document that holds nothing but why it could not be read."""
    return Document(name, folder, {}, lambda _: Place(name), error=error)


def error_at(place: Place, message: str, hint: str = "") -> InputError:
    """Return an `InputError` of one fault whose place is known, to be raised by the caller."""
    return InputError(Fault(message, hint=hint, place=place))


def twice(word: str, line: int) -> str:
    """Return the message for a key that is in a line of the file already."""
    return f"{escapes.visible(word)} is written twice, first in line {line}"


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


def yaml_lines(text: str) -> list[str]:
    """Return the lines of a text as YAML counts them, with more line ends than in editors."""
    if text.isascii():
        return escapes.lines_of(text)
    return re.split("\r\n|[\r\n\x85\u2028\u2029]", text)
