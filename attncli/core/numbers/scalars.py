"""Single numbers as people write them, and how messages name a key, a row or a cell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import isfinite
from numbers import Real
from typing import Any

from attncli.core.errors import KeyPath, fail
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.written import BLANK_CELLS, number
from attncli.core.text.escapes import visible

TRUTHS = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0}
"""Words for 1 and 0 in masks; elsewhere they are not numbers."""

MAX_DIGITS_OF_FLOATS = 17
"""Number of significant digits that determine a 64-bit float. Derived."""

LARGEST_COUNT = 2**31
"""Maximum absolute value of a whole number in a problem. Chosen."""


def is_number(raw: object) -> bool:
    """Return True for a number of Python or NumPy; a bool does not count."""
    return isinstance(raw, int | float | Real) and not isinstance(raw, bool)


def to_number(raw: Any, path: KeyPath) -> float:
    if getattr(raw, "ndim", None) == 0 and not is_number(raw):  # an array of one number
        raw = raw.item()
    is_truth = isinstance(raw, str) and raw.strip() in TRUTHS
    if is_truth or not (isinstance(raw, str) or is_number(raw)):
        raise fail(f"{name_of(path)} must be a number", *path)
    value = cell_value(raw, path)
    if not isfinite(value):
        raise fail(f"{name_of(path)} must be a finite number", *path, needs="values")
    return value


def to_count(raw: object, path: KeyPath, least: int | None = 1, most: int = LARGEST_COUNT) -> int:
    value = to_number(raw, path)
    kind = "a whole number" if least is None else f"a whole number of at least {least}"
    if abs(value) > most:
        kind = f"a whole number from {-most if least is None else least:,} to {most:,}"
    elif value == int(value) and (least is None or value >= least):
        return int(value)
    message = f"{name_of(path)} must be {kind}, not {visible(str(raw))[:40]}"
    raise fail(message, *path, needs="values")


def cell_value(item: Any, path: KeyPath) -> float:
    """Return the number in one cell, a text or a number; refuse a blank and anything else."""
    if isinstance(item, str):
        try:
            return number(item)
        except NumberError as error:
            if is_open(item):
                hint = "write a number there"
                raise fail(f"{_cell(path)} is blank", *path, hint=hint) from None
            raise fail(f"{_cell(path)}: {error}", *path, needs=error.needs) from None
    if not isinstance(item, bool):
        if getattr(item, "ndim", None) == 0 and hasattr(item, "item"):  # a tensor of one number
            refuse_masked(item, path)
            item = item.item()
        if isinstance(item, int | float | Real):
            try:
                return float(item)
            except OverflowError:
                pass
    raise fail(f"{_cell(path)} is not a number", *path)


def is_open(text: str) -> bool:
    """Return True for a blank cell, in which a number is still to be written."""
    return text.strip() in BLANK_CELLS


def refuse_masked(raw: Any, path: KeyPath) -> None:
    """Raise an InputError for an array of numpy.ma in which a cell is masked."""
    ma = sys.modules.get("numpy.ma")  # imported by the code that made such an array
    if ma is not None and ma.is_masked(raw):
        raise fail(f"{name_of(path)} has masked cells", *path, hint="fill them, as by X.filled(0)")


def shape_words(shape: Sequence[int]) -> str:
    """Return a shape as messages show it, such as (2, 3)."""
    return f"({', '.join(map(str, shape))})"


def dotted(path: KeyPath) -> str:
    """Return the name of a key in messages: `mask.keep`."""
    return ".".join(part for part in path if isinstance(part, str))


def name_of(path: KeyPath) -> str:
    """Return the name of a key, or a row or a cell of it, in messages: `W_q[1, 2]`."""
    places = [part for part in path if isinstance(part, int)]
    name = dotted(path)
    return f"{name}[{', '.join(str(p + 1) for p in places)}]" if places else name


def cell_words(path: KeyPath, place: Sequence[int]) -> str:
    """Return the words for a cell of a matrix in messages: `row 1, column 2 of W_k`."""
    *stack, row, column = place if len(place) > 1 else (0, *place)
    return f"row {row + 1}, column {column + 1} of {name_of((*path, *stack))}"


def _cell(path: KeyPath) -> str:
    """Return the words for a cell of a matrix, or for a key of one number."""
    place = [part for part in path if isinstance(part, int)]
    return cell_words(path[: -len(place)], place) if place else dotted(path)
