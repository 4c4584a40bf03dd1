"""Tables of numbers with labels: which cells are labels, and which are numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from attncli.notation.commas import Words, words_of
from attncli.notation.parser import NumberError
from attncli.notation.written import BLANK_CELLS, number
from attncli.records import Record

Labels: TypeAlias = tuple[list[str] | None, list[str] | None]
"""The labels of a matrix's rows and of its columns."""

LIKE_NUMBER = re.compile(r"[-+−±][lIOo.,\d]+|[-+−]?[\d½¼¾⅓⅔][\dOolI|x.,/:²³¹½¼¾⅓⅔]*|[OolI]?[.,]\d+")
"""A misspelt number, such as 1O, 1:2 and 1.5.2; it is not a label."""
CORNERS = ("", "token", "tokens", "word", "row", "query", "index", "position", "no", "nr", "#")
"""Headings of a column of labels, which may then be numbers that count."""
LIKE_DIGITS = frozenset("lIOo")
"""Letters that may be misspelt digits; a row or column of nothing else is not labels."""
NO_LABELS = ("true", "false", "nan", "null", "n/a", "idk")
"""Words that programs and people write in the place of a number."""
HEADING = re.compile(
    r"[#*`$\s]*(?:(?:step|part)\s*\d{1,2}\s*[.:)]\s*)?(.*?)(?:\s+\([^()]*\))?[\s:=*`$]*",
    re.IGNORECASE,
)
"""A name with the signs of a heading around it, its number before it or a remark after it."""


class LabelledGrid(Record):
    """The numbers of a table, and the labels beside them."""

    rows: list[Words]
    labels: Labels = (None, None)


class Edges(Record):
    """Which edges of a table are labels."""

    top: bool  # whether the first row is labels
    left: bool  # whether the first column is
    labels: Labels
    corner: str = ""  # the word in the first row above the labels of the rows


def edges(rows: Sequence[Sequence[str]], is_csv: bool = False) -> Edges:
    """Return which cells of a table are labels.

    In CSV the cells are separated for certain: a blank corner is one of labels, and I is a label
    and not a misspelt 1.
    """
    top, left = _sides(rows, is_csv)
    firsts = [row[0] for row in rows[top:]] if left else None
    if not top:
        return Edges(top, left, (firsts, None))
    heads = list(rows[0])
    widths = [len(row) - left for row in rows[top:]]
    has_corner = left and (heads[0] == "" or len(heads) > max(widths))
    return Edges(top, left, (firsts, heads[has_corner:]), heads[0] if has_corner else "")


def _sides(rows: Sequence[Sequence[str]], is_csv: bool) -> tuple[bool, bool]:
    """Return whether the first row, and the first column, of a table are labels."""
    if not rows or not all(rows):
        return False, False
    head, rest = rows[0], rows[1:]
    if is_csv and len(head) > 1 and head[0] == "":
        return True, bool(rest)
    has_corner = len(head) > 1 and head[0].casefold() in CORNERS
    names = head[1:] if has_corner else head
    firsts = [row[0] for row in rest]
    is_table = has_corner and rest and (are_labels(names) or _count(names))
    if is_table and (are_labels(firsts) or (_count(firsts) and len(rest[0]) == len(head))):
        return True, True
    misspelt = frozenset() if is_csv else LIKE_DIGITS
    top = bool(rest) and are_labels(names, misspelt)
    firsts = firsts if top else [head[0], *firsts]
    return top, are_labels(firsts, misspelt) and all(len(row) > 1 for row in rows[top:])


def is_word(cell: str) -> bool:
    """Return True if a cell cannot be meant as a number; 1..2 is a misspelt one."""
    if cell.lower() in NO_LABELS or LIKE_NUMBER.fullmatch(cell) or "\\" in cell:
        return False
    if re.search(r"\d[.,]\d", cell) and not re.search(r"\s", cell):
        return False
    if cell in BLANK_CELLS or not any(c not in "0123456789.,+-eE_ " for c in cell):
        return len(cell) > 1 and cell.isalpha()
    return not _is_number(cell) and not all(_is_number(word) for _, word in words_of(cell))


def _is_number(text: str) -> bool:
    try:
        number(text)
    except NumberError:
        return False
    return True


def are_labels(cells: Sequence[str], misspelt: frozenset[str] = frozenset()) -> bool:
    """Return True if a cell cannot be a number, none has to be one, and not all are misspelt."""
    if not any(is_word(cell) for cell in cells) or misspelt.issuperset(cells):
        return False
    return all(
        is_word(cell) or cell.isalpha() or (cell and not any(map(str.isalnum, cell)))
        for cell in cells
    )


def _count(words: Sequence[str]) -> bool:
    """Return True if words are 1, 2, … or 0, 1, …."""
    numbers = [*map(str, range(len(words) + 1))]
    return len(words) > 1 and [*words] in (numbers[:-1], numbers[1:])


def undecorated(heading: str) -> str:
    """Return the name in a heading.

    >>> [undecorated(line) for line in ("## Weights:", "step 3: weights", "weights (softmax) =")]
    ['Weights', 'weights', 'weights']
    """
    match = HEADING.fullmatch(re.sub(r"\((head \d+)\)", r"\1", heading))
    return match[1] if match else heading
