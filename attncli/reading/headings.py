"""Headings of a table of a class: which cell of a step one names, and which the students."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attncli.core.tape.step_words import ALIASES, may_mean_step
from attncli.core.text.strings import near_words, regex
from attncli.reading.document import STUDENT_KEYS

NAMES = (
    STUDENT_KEYS,
    ("first name", "firstname", "first", "given name", "vorname"),
    ("last name", "lastname", "last", "surname", "family name", "nachname"),
    ("full name", "student name", "your name", "username", "email address", "email", "e-mail"),
)
"""Headings of whole names, of their parts, and of what is used where there are neither."""
NO_STUDENTS = ("points possible", "average", "overall average", "mean", "median", "sum", "total")
"""First cells of rows, in lower case, that are of no student."""
IN_BRACKETS = regex(
    r"(?<!\s)\s*+((?:\[\s*+(?:(?:head|batch)\s*+)?\d++\s*+\]\s*+){0,9}"
    r'\[(?!(?:score|points|feedback|comment)\])(?:"[^"]{0,200}"|[^\[\]"]){1,400}\])',
    re.IGNORECASE,
)
"""The places in brackets behind the name of a step; not `[Score]`, which forms add."""

AXIS_WORD = regex(r"(?<=[\[,])\s*(?:row|column|col)\s+(?=\d)", re.IGNORECASE)
"""A word before the number of a place, as in the grids of forms."""

WHOLE_STEPS = ALIASES.keys() - {"sum"}
"""Steps that a heading may name without places; a column `sum` may hold points."""

NEARLY = regex(
    r"([^\W\d]{3,40}?)([\s_({]{0,9})(?:\[([^\[\]\d]{0,40}\d[^\[\]]*)|(\d{1,9})[\s_,;]{1,9}(\d{1,9}))"
)
"""A word, what is between, and places in brackets or two numbers: perhaps a cell."""


def name_columns(words: Sequence[str]) -> list[int]:
    """Return the columns with the name of a student, or with its parts; headings are lower case."""
    columns = [[words.index(word) for word in group if word in words][:1] for group in NAMES]
    whole, first, last, other = columns
    return whole or [*first, *last] or other


def folded_heading(heading: str) -> str:
    """Return a heading in lower case and with single blanks, as headings are compared."""
    return " ".join(heading.casefold().split())


def named_cell(heading: str) -> tuple[str, str] | None:
    """Return the text before the cell, or the step, that a heading names, and its name.

    A heading that names several cells names none of them.

    >>> named_cell("Problem 2: what is weights [row 1]? (2 points)"), named_cell("Response 1")
    (('Problem 2: what is', 'weights[1]'), None)
    """
    names = list(_cells(heading))
    if len({cell for _, cell in names}) == 1:
        return names[0]
    before, _, name = heading.rpartition(":")
    return (before, name.strip()) if not names and name.strip() in WHOLE_STEPS else None


def _cells(heading: str) -> Iterator[tuple[str, str]]:
    for places in IN_BRACKETS.finditer(heading):
        before = heading[: places.start()].rstrip(" ?:")
        starts = [word.start() for word in re.finditer(r"(?<![^\s:;,])[\w√∂(][^\s:;,]*", before)]
        for start in starts:  # of several words, the longest name counts
            if _may_be_cell(before[start:], places[0]):
                yield before[:start].strip(), before[start:] + AXIS_WORD.sub("", places[1])
                break


def _may_be_cell(name: str, places: str) -> bool:
    row, line, _ = name.partition("_")  # z_love is a row of z
    is_step = may_mean_step(name, ()) or (line != "" and len(row) <= 3)
    if len(name) == 2 and name.isalpha():  # "in [1-5]"
        is_step = any(name.casefold() in words for words in ALIASES.values())
    are_places = not places.startswith(" ") or re.search(r"[\d,]", places) is not None
    return is_step and (are_places or name in ALIASES)


def likely_cell(heading: str) -> str:
    """Return the cell that a heading may mean which names no single one; "" if it may mean none.

    >>> likely_cell("weigths[1,1]"), likely_cell("weights_1_2"), likely_cell("Group [A]")
    ('weights[1,1]', 'weights[1,2]', '')
    """
    cells = [cell for _, cell in _cells(heading)]
    for name, between, places, row, column in NEARLY.findall(heading):
        near = near_words(name, ALIASES) or ([] if between else ["weights"])
        is_pair = re.fullmatch(r"\d+\s*,\s*\d+", places)
        if row and may_mean_step(name, ()):
            cells.append(f"{name}[{row},{column}]")
        elif places and near and (is_pair or not between):
            cells.append(f"{near[0]}[{places}]")
    return cells[0] if cells else ""
