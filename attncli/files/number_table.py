"""Large tables of plain numbers, read by NumPy: an object per cell takes more time and memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attncli.notation.written import vanishes
from attncli.problem.problem import MAX_KEPT_AS_WRITTEN

if TYPE_CHECKING:
    from attncli.arithmetic.elements import Array

MIN_CHARACTERS = 20_000
"""Shorter texts are read cell by cell, which takes little time and keeps the written digits."""

ONLY_NUMBERS = re.compile(r"[0-9.eE+\-, ;\t\r\n]*")


def array_of(text: str) -> Array | None:
    """Return the numbers of a large matrix of CSV as an array that cannot be changed.

    None is returned for any other text: for a small matrix, whose digits are kept as written, and
    for one with labels, blank lines, rows of several lengths, decimal commas, or cells other than
    finite numbers. The reader of cells understands these, or says what is wrong.
    """
    if len(text) < MIN_CHARACTERS or not ONLY_NUMBERS.fullmatch(text):
        return None
    import numpy as np

    lines = text.strip("\r\n").splitlines()
    separator = next((sign for sign in "\t;," if sign in lines[0]), None)
    may_be_decimal = separator in ("\t", ";") and "," in text
    if may_be_decimal or not all(map(str.strip, lines)):
        return None
    try:
        array = np.loadtxt(lines, delimiter=separator, comments=None, ndmin=2)
    except ValueError:
        return None
    is_lost = not array.all() and any(map(vanishes, lines))  # 1e-400 is too small for a float
    if is_lost or array.size <= MAX_KEPT_AS_WRITTEN or not np.isfinite(array).all():
        return None
    array.flags.writeable = False
    return array


def block_of(text: str) -> Array | None:
    """Return the same for a text block, in which a comma without a blank may be a decimal one."""
    return array_of(text) if text.count(",") == text.count(", ") else None
