"""A matrix in any of its forms as an array of texts: what was written, cell by cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.errors import KeyPath, fail
from attncli.forms.matrices import as_block, flattened, grid_in, plain
from attncli.forms.scalars import name_of

if TYPE_CHECKING:
    from attncli.notation.grid import Labels

MAX_TEXT_AXES = 8
"""Maximum number of axes of a matrix that is only of the wrong shape; NumPy has a limit, too."""

EXAMPLE = "write it as [[0.5, 0.5]]"

DECIMALS = re.compile(r"-?\d+\.(\d+)")

MOST_DECIMALS = 12
"""Maximum number of decimals of floats that were rounded: with more they have all their digits."""


def labelled_texts(raw: Any, path: KeyPath, ragged: bool) -> tuple[Array, Labels]:
    """Return the cells of a matrix as an array of texts, and the labels in a text block.

    A single number has the shape (1, 1).

    Args:
        raw: nested lists, an array, a text block with a row a line, or a number.
        path: the key under which it stands, for messages.
        ragged: whether a row may be shorter than others.

    Raises:
        InputError: for what is no matrix, or has rows of several lengths.
    """
    block = as_block(raw)
    labels: Labels = (None, None)
    if block is None:
        raw = plain(raw, path)
    else:
        grid = grid_in(block, path)
        raw, labels = [[word for _, word in row] for row in grid.rows], grid.labels
    if hasattr(raw, "dtype"):
        raw = np.atleast_1d(raw)
        if raw.dtype.kind not in "fiuOU":
            what = "true and false, not numbers" if raw.dtype.kind == "b" else "no numbers"
            raise fail(f"{name_of(path)} holds {what}", *path, hint=EXAMPLE)
        is_short = raw.dtype.kind == "f" and raw.dtype.itemsize < 8
        shape, cells = raw.shape, _texts(list(raw.flat) if is_short else raw.ravel().tolist())
    elif isinstance(raw, bool):
        shape, cells = (1, 1), [str(raw)]
    elif isinstance(raw, list | tuple):
        rows = _whole_rows(raw, ragged)
        shape, cells = flattened(rows, path, _texts, "a cell that is left out is written ~")
    else:
        raise fail(f"{name_of(path)} must be a matrix", *path, hint=EXAMPLE)
    if len(shape) > MAX_TEXT_AXES:
        raise fail(f"{name_of(path)} has {len(shape)} axes, which no step has", *path)
    texts = np.empty(shape, object)
    texts.ravel()[:] = cells
    return texts, labels


def _whole_rows(raw: Any, ragged: bool) -> Any:
    """Return nested lists with blank cells for the rows, or ends of rows, that are left out."""
    first = next((row for row in raw if isinstance(row, list) and row), None)
    if first and not isinstance(first[0], list):
        raw = [[""] * len(first) if row in ([], None, "", "~") else row for row in raw]
    return _padded(raw) if ragged else raw


def _padded(raw: Any) -> Any:
    if not all(isinstance(row, list) for row in raw):
        return raw
    if any(isinstance(cell, list) for row in raw for cell in row):
        return [_padded(row) for row in raw]
    width = max(map(len, raw), default=0)
    return [[*row, *[""] * (width - len(row))] for row in raw]


def _texts(cells: Iterable[Any], *_: Any) -> list[str]:
    return [cell.strip() if type(cell) is str else _text(cell) for cell in cells]


def _text(cell: object) -> str:
    """Return a cell as text; of a float that is whole, the whole number.

    Of a shorter float it is the shortest number that is this float: 0.84, not 0.8399999737739563.
    """
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else str(cell).removesuffix(".0")
    return "" if cell is None else str(cell).strip()


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
