"""Words beside numbers: which cells of what people write are labels."""

from __future__ import annotations

from collections.abc import Sequence

from attncli.notation.parser import NumberError
from attncli.notation.written import number

BLANK = ("", "~", "_", "?")
"""How a cell that is left out is written."""
NO_LABELS = ("true", "false", "nan", "null")
"""What programs print in the place of a number."""


def is_word(cell: str) -> bool:
    """Whether a cell cannot be meant as a number; 1..2 is a slip, not a word."""
    if cell.lower() in NO_LABELS:
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
