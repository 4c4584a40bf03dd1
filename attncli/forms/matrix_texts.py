"""A matrix in any of its forms as an array of the texts of its cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
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

MAX_PADDED = 12
"""Maximum number of decimals of rounded floats; with more, floats have all their digits."""


def labelled_texts(raw: Any, path: KeyPath, ragged: bool) -> tuple[Array, Labels]:
    """Return the cells of a matrix as an array of texts, and the labels in a text block.

    A single number has the shape (1, 1).

    Args:
        raw: nested lists, an array, a text block with one row per line, or a number.
        path: its key, for messages.
        ragged: whether rows may be shorter than others.

    Raises:
        InputError: for any other value, and for rows of several lengths.
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
    """Return nested lists with blank cells for rows, or ends of rows, that are left out."""
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
    """Return a cell as text, without the .0 of a whole float.

    A float of 32 bits is written in its fewest digits: 0.84, not 0.8399999737739563.
    """
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else str(cell).removesuffix(".0")
    return "" if cell is None else str(cell).strip()


def with_zeros(raw: Any) -> Any:
    """Return nested lists with the trailing zeros that a program does not write.

    3.7 beside 0.68 becomes 3.70, as both were rounded to two decimals.
    """
    counts: list[int] = []
    _mapped(raw, lambda cell: counts.append(_decimals(cell)))
    most = max(counts, default=0)

    def padded(cell: Any) -> Any:
        return f"{cell}{'0' * (most - count)}" if (count := _decimals(cell)) else cell

    return _mapped(raw, padded) if 0 < most <= MAX_PADDED else raw


def _mapped(raw: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested lists with another value for each item."""
    return [_mapped(item, change) for item in raw] if isinstance(raw, list) else change(raw)


def _decimals(cell: Any) -> int:
    match = DECIMALS.fullmatch(str(cell)) if type(cell) in (str, float) else None
    return len(match[1]) if match else 0
