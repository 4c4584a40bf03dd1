"""A matrix in any of its forms as an array of texts: what was written, cell by cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.errors import KeyPath, fail
from attncli.forms.matrices import as_block, block_rows, plain
from attncli.text.escapes import visible

MOST_AXES = 8
"""A matrix of so many axes is only of the wrong shape; NumPy itself stops at 32, or 64."""
EXAMPLE = "write it as [[0.5, 0.5]]"

DECIMALS = re.compile(r"-?\d+\.(\d+)")

MOST_DECIMALS = 12
"""With more of them, floats have all their digits; with as many, they were rounded."""


def texts_of(raw: Any, path: KeyPath, ragged: bool) -> Array:
    """Return the cells of a matrix as an array of texts; a single number has the shape (1, 1).

    Args:
        raw: nested lists, an array, a text block with a row a line, or a number.
        path: the key under which it stands, for messages.
        ragged: whether a row may be shorter than others.

    Raises:
        InputError: for what is no matrix, or has rows of several lengths.
    """
    if (block := as_block(raw)) is None and type(raw) is list and (found := _even(raw)) is not None:
        return found
    raw, name = plain(raw, path), visible(str(path[0]))
    if hasattr(raw, "dtype"):
        array = np.asarray(raw)
        _refuse_depth(array.ndim, path)
        if array.dtype.kind not in "fiuOU":
            what = "true and false, not numbers" if array.dtype.kind == "b" else "no numbers"
            raise fail(f"{name} holds {what}", *path, hint=EXAMPLE)
        is_short = array.dtype.kind == "f" and array.dtype.itemsize < 8
        flat = array.ravel()
        return np.atleast_1d(_array(list(flat) if is_short else flat.tolist(), array.shape))
    if block is not None:
        raw = block_rows(block, path)
    elif isinstance(raw, int | float):
        raw = [[raw]]
    if not isinstance(raw, list | tuple):
        raise fail(f"{name} must be a matrix", *path, hint=EXAMPLE)
    first = next((row for row in raw if isinstance(row, list) and row), None)
    if first and not isinstance(first[0], list):  # a row that was left out is empty
        raw = [[""] * len(first) if row in ([], None, "", "~") else row for row in raw]
    if ragged and all(isinstance(row, list) for row in raw):
        raw = _padded(list(raw))
    shape, cells = _shape(raw, path)
    _refuse_depth(len(shape), path)
    return _array(cells, shape)


def _even(raw: list[Any]) -> Array | None:
    """Return the cells of lists of text whose rows are equally long; None for any others.

    Nearly all answers are such lists, and nothing is to be told of them.
    """
    shape, cells = [len(raw)], raw
    while (kinds := set(map(type, cells))) == {list} and len(shape) < MOST_AXES:
        lengths = set(map(len, cells))
        if len(lengths) > 1:
            return None
        shape += lengths
        cells = list(chain.from_iterable(cells))
    return _filled(list(map(str.strip, cells)), tuple(shape)) if kinds == {str} else None


def with_zeros(raw: Any) -> Any:
    """Return nested lists with the zeros that a program does not write at the end of a float.

    3.7 beside 0.68 was rounded to two decimals, as 3.70 was.
    """
    decimals = (DECIMALS.fullmatch(cell) for cell in _leaves(raw))
    most = max((len(match[1]) for match in decimals if match), default=0)
    return _with_decimals(raw, most) if 0 < most <= MOST_DECIMALS else raw


def _leaves(raw: Any) -> Iterator[str]:
    """Yield the numbers of nested lists, as they are written."""
    if isinstance(raw, list):
        for item in raw:
            yield from _leaves(item)
    elif type(raw) in (str, float):
        yield str(raw)


def _with_decimals(raw: Any, most: int) -> Any:
    if isinstance(raw, list):
        return [_with_decimals(item, most) for item in raw]
    match = DECIMALS.fullmatch(str(raw)) if type(raw) in (str, float) else None
    return match[0] + "0" * (most - len(match[1])) if match else raw


def _refuse_depth(axes: int, path: KeyPath) -> None:
    if axes > MOST_AXES:
        raise fail(f"{visible(str(path[0]))} has {axes} axes, which no step has", *path)


def _array(cells: list[Any], shape: tuple[int, ...]) -> Array:
    return _filled([cell.strip() if type(cell) is str else _text(cell) for cell in cells], shape)


def _filled(cells: list[str], shape: tuple[int, ...]) -> Array:
    texts = np.empty(shape, object)
    texts.ravel()[:] = cells
    return texts


def _text(cell: object) -> str:
    """Return a cell as text; of a float that is whole, the whole number.

    Of a shorter float it is the shortest number that is this float: 0.84, not 0.8399999737739563.
    """
    if isinstance(cell, np.floating) and not isinstance(cell, float):
        return "" if np.isnan(cell) else str(cell).removesuffix(".0")
    if isinstance(cell, float):
        return "" if np.isnan(cell) else repr(float(cell)).removesuffix(".0")
    return "" if cell is None else str(cell).strip()


def _padded(raw: list[Any]) -> list[Any]:
    if raw and all(isinstance(cell, str) for row in raw for cell in row):
        width = max(len(row) for row in raw)
        return [[*row, *[""] * (width - len(row))] for row in raw]
    return [_padded(part) if isinstance(part, list) else part for part in raw]


def _shape(raw: Any, path: KeyPath) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape of nested lists, and their cells.

    Raises:
        InputError: where lists that stand side by side have different lengths.
    """
    if not any(isinstance(item, list | tuple) for item in raw):
        return (len(raw),), list(raw)
    shape: tuple[int, ...] = ()
    cells: list[Any] = []
    name = visible(str(path[0]))
    for index, item in enumerate(raw):
        inside = (*path, index)
        if not isinstance(item, list | tuple):
            message = f"{name} mixes rows and numbers: place {index + 1} is no row"
            raise fail(message, *inside, hint="put each row into [ ]")
        inner, found = _shape(item, inside)
        if index and inner != shape:
            noun = "row" if len(inner) == 1 else "matrix"
            has = f"has {_many(inner)}, but {noun} 1 has {_many(shape)}"
            message = f"{noun} {index + 1} of {name} {has}"
            raise fail(message, *inside, hint="a cell that is left out is written ~")
        shape = inner
        cells += found
    return (len(raw), *shape), cells


def sizes(shape: Sequence[int]) -> str:
    """Return a shape as messages show it, such as (2, 3)."""
    return f"({', '.join(map(str, shape))})"


def _many(shape: tuple[int, ...]) -> str:
    if len(shape) > 1:
        return f"the shape {sizes(shape)}"
    return f"{shape[0]} number" + ("s" if shape[0] != 1 else "")
