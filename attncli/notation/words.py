"""Words beside numbers: which cells of what people write are labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attncli.notation.parser import NumberError
from attncli.notation.written import number

BLANK = ("", "~", "_", "?")
"""How a cell that is left out is written."""
LIKE_NUMBER = re.compile(r"[-+−±][lIOo.,\d]+|[-+−]?[\d½¼¾⅓⅔][\dOolI|x.,/:²³¹½¼¾⅓⅔]*|[OolI]?[.,]\d+")
"""What is meant as a number, such as 1O, 1:2 and 1.5.2, though it is none."""
NO_LABELS = ("true", "false", "nan", "null", "n/a", "idk")
"""What programs and people write in the place of a number."""
HEADING = re.compile(
    r"[#*`$\s]*(?:(?:step|part)\s*\d{1,2}\s*[.:)]\s*)?(.*?)(?:\s+\([^()]*\))?[\s:=*`$]*",
    re.IGNORECASE,
)
"""A name with the signs of a heading around it, its number before it or a remark behind it."""


def is_word(cell: str) -> bool:
    """Whether a cell cannot be meant as a number; 1..2 is a slip, not a word."""
    if cell.lower() in NO_LABELS or LIKE_NUMBER.fullmatch(cell) or "\\" in cell:
        return False
    if re.search(r"\d[.,]\d", cell) and not re.search(r"\s", cell):
        return False
    if cell in BLANK or not any(c not in "0123456789.,+-eE_ " for c in cell):
        return len(cell) > 1 and cell.isalpha()
    try:
        number(cell)
    except NumberError:
        return True
    return False


def are_labels(cells: Sequence[str]) -> bool:
    """Whether cells are words: one at least that cannot be a number, and none that must be."""
    return any(is_word(cell) for cell in cells) and all(
        is_word(cell) or cell.isalpha() or (cell and not any(map(str.isalnum, cell)))
        for cell in cells
    )


def undecorated(heading: str) -> str:
    """Return the name in a heading.

    >>> [undecorated(line) for line in ("## Weights:", "step 3: weights", "weights (softmax) =")]
    ['Weights', 'weights', 'weights']
    """
    match = HEADING.fullmatch(re.sub(r"\((head \d+)\)", r"\1", heading))
    return match[1] if match else heading
