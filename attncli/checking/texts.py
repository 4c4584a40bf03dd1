"""A matrix in any of its forms as an array of texts: what was written, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.errors import Fault, InputError, KeyPath
from attncli.forms.matrices import plain
from attncli.notation.written import words_of
from attncli.text.escapes import visible

EXAMPLE = "write it as [[0.5, 0.5]]"


def texts_of(raw: Any, path: KeyPath, ragged: bool) -> Array:
    """Return the cells of a matrix as an array of texts; a single number has the shape (1, 1).

    Args:
        raw: nested lists, an array, a text block with a row a line, or a number.
        path: the key under which it stands, for messages.
        ragged: whether a row may be shorter than others.

    Raises:
        InputError: for what is no matrix, or has rows of several lengths.
    """
    raw = plain(raw, path)
    if hasattr(raw, "dtype"):
        return _of_array(np.asarray(raw), path)
    if isinstance(raw, str):
        raw = [[word for _, word in words_of(line)] for line in raw.splitlines() if line.strip()]
    elif isinstance(raw, int | float):
        raw = [[raw]]
    if not isinstance(raw, list | tuple):
        raise InputError(Fault(f"{visible(str(path[0]))} must be a matrix", path, EXAMPLE))
    if ragged and raw and all(isinstance(row, list) for row in raw):
        raw = _padded(list(raw))
    shape, rows = _shape(raw, path)
    texts = np.empty(shape, object)
    texts.ravel()[:] = list(chain.from_iterable(rows)) if rows else []
    return texts


def _of_array(array: Array, path: KeyPath) -> Array:
    if array.dtype.kind not in "fiubOU":
        raise InputError(Fault(f"{visible(str(path[0]))} holds no numbers", path, EXAMPLE))
    texts = np.empty(array.shape, object)
    texts.ravel()[:] = [_text(cell) for cell in array.ravel().tolist()]
    return np.atleast_1d(texts)


def _text(cell: object) -> str:
    """Return a cell as text; of a float that is whole, the whole number."""
    if isinstance(cell, float):
        return repr(cell).removesuffix(".0") if not np.isnan(cell) else ""
    return "" if cell is None else str(cell).strip()


def _padded(raw: list[Any]) -> list[Any]:
    if raw and all(isinstance(cell, str) for row in raw for cell in row):
        width = max(len(row) for row in raw)
        return [[*row, *[""] * (width - len(row))] for row in raw]
    return [_padded(part) if isinstance(part, list) else part for part in raw]


def _shape(raw: Any, path: KeyPath) -> tuple[tuple[int, ...], list[list[str]]]:
    """Return the shape of nested lists, and their innermost rows.

    Raises:
        InputError: where lists that stand side by side have different lengths.
    """
    if not any(isinstance(item, list | tuple) for item in raw):
        return (len(raw),), [[_text(item) for item in raw]]
    shape: tuple[int, ...] = ()
    rows: list[list[str]] = []
    for index, item in enumerate(raw):
        inside = (*path, index)
        if not isinstance(item, list | tuple):
            message = f"{visible(str(path[0]))} mixes rows and numbers: place {index + 1} is no row"
            raise InputError(Fault(message, inside, "put each row into [ ]"))
        inner, found = _shape(item, inside)
        if index and inner != shape:
            sizes = f"{_many(inner)}, but {'row' if len(inner) == 1 else 'matrix'} 1 has"
            name = visible(str(path[0]))
            which = "row" if len(inner) == 1 else "matrix"
            message = f"{which} {index + 1} of {name} has {sizes} {_many(shape)}"
            raise InputError(Fault(message, inside, "a cell that is left out is written ~"))
        shape = inner
        rows += found
    return (len(raw), *shape), rows


def sizes(shape: Sequence[int]) -> str:
    """Return a shape as messages show it, such as (2, 3)."""
    return f"({', '.join(map(str, shape))})"


def _many(shape: tuple[int, ...]) -> str:
    if len(shape) > 1:
        return f"the shape {sizes(shape)}"
    return f"{shape[0]} number" + ("s" if shape[0] != 1 else "")
