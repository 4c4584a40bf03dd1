"""Tables of numbers with labels: which cells are labels, and which row or column a label means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from attncli.notation.blocks import Words
from attncli.notation.parser import NumberError
from attncli.notation.written import BLANK_CELLS, number
from attncli.records import Record
from attncli.text.escapes import label_text, visible
from attncli.text.suggestions import near_words

Labels: TypeAlias = tuple[list[str] | None, list[str] | None]
"""The labels of a matrix's rows and of its columns."""

LIKE_NUMBER = re.compile(r"[-+−±][lIOo.,\d]+|[-+−]?[\d½¼¾⅓⅔][\dOolI|x.,/:²³¹½¼¾⅓⅔]*|[OolI]?[.,]\d+")
"""What is meant as a number, such as 1O, 1:2 and 1.5.2, though it is none."""
CORNERS = ("", "token", "tokens", "word", "row", "query", "index", "position", "no", "nr", "#")
"""Heads of a column of labels, which may be numbers that count."""
LIKE_DIGITS = set("lIOo")
"""Words that may be meant as a 1 or a 0; a row or column of them alone is no labels."""
NO_LABELS = ("true", "false", "nan", "null", "n/a", "idk")
"""What programs and people write in the place of a number."""
HEADING = re.compile(
    r"[#*`$\s]*(?:(?:step|part)\s*\d{1,2}\s*[.:)]\s*)?(.*?)(?:\s+\([^()]*\))?[\s:=*`$]*",
    re.IGNORECASE,
)
"""A name with the signs of a heading around it, its number before it or a remark behind it."""


MOST_LISTED = 12
"""Maximum number of labels that a message lists."""


class LabelledGrid(Record):
    """A text as rows of numbers.

    Attributes:
        rows: the numbers of each row, with where in the text each starts.
        labels: the labels beside the rows and above the columns.
    """

    rows: list[Words]
    labels: Labels = (None, None)


class LabelError(Exception):
    """Raised for labels that do not tell which row or column is which.

    Attributes:
        index: which of the labels is at fault.
        hint: what to do.
    """

    def __init__(self, message: str, index: int, hint: str = "") -> None:
        super().__init__(message)
        self.index, self.hint = index, hint


def is_word(cell: str) -> bool:
    """Return True if a cell cannot be meant as a number; 1..2 is a slip, not a word."""
    if cell.lower() in NO_LABELS or LIKE_NUMBER.fullmatch(cell) or "\\" in cell:
        return False
    if re.search(r"\d[.,]\d", cell) and not re.search(r"\s", cell):
        return False
    if cell in BLANK_CELLS or not any(c not in "0123456789.,+-eE_ " for c in cell):
        return len(cell) > 1 and cell.isalpha()
    try:
        number(cell)
    except NumberError:
        return True
    return False


def are_labels(cells: Sequence[str]) -> bool:
    """Return True if one cell at least cannot be a number, and none must be one."""
    return any(is_word(cell) for cell in cells) and all(
        is_word(cell) or cell.isalpha() or (cell and not any(map(str.isalnum, cell)))
        for cell in cells
    )


def sides(rows: Sequence[Sequence[str]], is_parted: bool = False) -> tuple[bool, bool]:
    """Return whether the first row, and the first column, of a table are labels.

    `is_parted` tells that a sign parts the cells, so that I is a label, and no slip for a 1.
    """
    are_told = are_labels if is_parted else are_words
    if not rows or not all(rows):
        return False, False
    head, rest = rows[0], rows[1:]
    has_corner = len(head) > 1 and head[0].casefold() in CORNERS
    names = head[1:] if has_corner else head
    firsts = [row[0] for row in rest]
    is_table = has_corner and rest and (are_labels(names) or _count(names))
    if is_table and (are_labels(firsts) or (_count(firsts) and len(rest[0]) == len(head))):
        return True, True
    top = bool(rest) and are_told(names)
    firsts = firsts if top else [head[0], *firsts]
    return top, are_told(firsts) and all(len(row) > 1 for row in rows[top:])


def are_words(cells: Sequence[str]) -> bool:
    """Return True if cells are labels, and not all of them a slip for a 1 or a 0."""
    return are_labels(cells) and not set(cells) <= LIKE_DIGITS


def _count(words: Sequence[str]) -> bool:
    """Return True if words are 1, 2, … or 0, 1, …."""
    return len(words) > 1 and any(
        [*words] == [str(i) for i in range(n, n + len(words))] for n in (0, 1)
    )


def undecorated(heading: str) -> str:
    """Return the name in a heading.

    >>> [undecorated(line) for line in ("## Weights:", "step 3: weights", "weights (softmax) =")]
    ['Weights', 'weights', 'weights']
    """
    match = HEADING.fullmatch(re.sub(r"\((head \d+)\)", r"\1", heading))
    return match[1] if match else heading


def is_counted(words: Sequence[str | None], size: int) -> bool:
    """Return True if all words are numbers of places from 1 to a size."""
    return all(word is not None and word.isdecimal() and 1 <= int(word) <= size for word in words)


def places_of(word: str, labels: Sequence[str]) -> list[int]:
    """Return the places of a label: of the same word, or of one in other letters or blanks."""
    exact = [i for i, own in enumerate(labels) if word in (own, visible(own), label_text(own))]
    return exact or [i for i, own in enumerate(labels) if _folded(own) == _folded(word)]


def _folded(label: str) -> str:
    return " ".join(visible(label).casefold().split())


def order_of(
    words: Sequence[str | None], labels: Sequence[str], size: int, axis: str, name: str
) -> list[int] | None:
    """Return the place along an axis of each row, or column, that words are written beside.

    Args:
        words: the labels that are written; None where none is.
        labels: those of the axis; none where it has no labels.
        size: the number of places of the axis.
        axis: its name, for messages.
        name: of the matrix, for messages.

    Returns:
        The places, in the order that the words tell; as they come where words tell none, or None
        where there are more or fewer of them then.

    Raises:
        LabelError: for a word that is no label of the axis, or that is written twice.
    """
    in_order = list(range(size)) if len(words) == size else None
    told = [word for word in words if word is not None]
    if len(told) < len(words) or told == [*labels]:
        return in_order
    if labels and [*map(_folded, told)] == [*map(_folded, labels)]:
        return in_order
    are_own = labels and all(places_of(word, labels) for word in told)
    if not are_own and is_counted(told, size):
        found = [int(word) - 1 for word in told]
    elif not labels:
        return in_order
    else:
        found = [_place(index, word, labels, axis, name) for index, word in enumerate(told)]
    place, count = Counter(found).most_common(1)[0]
    if count > 1:
        index = len(found) - 1 - found[::-1].index(place)
        raise LabelError(f"the {axis} {visible(told[index])} stands twice", index)
    return found


def _place(index: int, word: str, labels: Sequence[str], axis: str, name: str) -> int:
    """Return the place of one label; see `order_of`."""
    places = places_of(word, labels)
    more = ", …" if len(labels) > MOST_LISTED else ""
    listed = ", ".join(map(visible, labels[:MOST_LISTED])) + more
    if len(places) > 1:
        at = " and ".join(str(place + 1) for place in places)
        message = f"{visible(word)} is the {axis} at {at}, so it does not tell which"
        hint = f"label the rows 1 to {len(labels)}, or keep the order {listed}"
        raise LabelError(message, index, hint)
    if not places:
        near = near_words(word, labels)
        hint = f"did you mean {visible(near[0])}? " if near else ""
        hint += f"there are {listed}, or the numbers 1 to {len(labels)}"
        message = f"{name} has no {axis} {visible(word) or 'without a word'}"
        raise LabelError(message, index, hint)
    return places[0]
