"""Matrices as people write them, turned into arrays of numbers or of texts.

A matrix may be nested lists, a text block with one row per line, or an array of any library; a
number may be an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import chain
from math import isfinite, prod
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import Outline, all_finite, outline
from attncli.core.errors import KeyPath, fail, needing
from attncli.core.numbers import written
from attncli.core.numbers.parser import MAX_LENGTH, NumberError
from attncli.core.numbers.written import SEVERAL, cell_words, dotted, name_of, shape_words, vanishes
from attncli.core.text.strings import count_of, regex

if TYPE_CHECKING:
    from attncli.core.numbers.grid import LabelledGrid, Labels

PLAIN_DECIMALS = regex(r"[0-9.eE+\- ]*")
"""Text of which `float` takes only plain decimal numbers: no nan, inf or 1_000."""

SHORT_FLOATS = (np.dtype(np.float16), np.dtype(np.float32))
"""The types of floats that a matrix keeps; all other numbers become float64."""

Cell = TypeVar("Cell")

CellsReader: TypeAlias = Callable[[Sequence[Any], tuple[int, ...], KeyPath], list[Cell]]

ONLY_LISTS, ONLY_TEXTS = {list}, {str}

MAX_AXES = 4
MAX_TEXT_AXES = 8
"""Maximum number of axes of a matrix that is only of the wrong shape; NumPy has a limit, too."""
LONGEST_DECIMAL = 24
"""Maximum number of characters of a float, such as -2.2250738585072014e-308."""
MAX_EXPRESSIONS = 200_000
"""Maximum number of characters of the expressions in a matrix; each takes up to 3 µs. Chosen."""
MAX_NESTED_LISTS = 64

OUTLINE = regex(r"\s*shape\s*\((.*)\)\s*", re.DOTALL)
"""A matrix of which only the work is counted: shape(8192, 4096)."""
MAX_OUTLINED = 10**15
SIZES = regex(r"(?:[1-9]\d{0,17},)*[1-9]\d{0,17}")

MAX_PADDED = 12
"""Maximum number of decimals of rounded floats; with more, floats have all their digits."""


def as_raw(raw: Any, path: KeyPath, copy: bool = False, depth: int = 0) -> Any:
    """Return a raw value whose arrays are read-only ones of NumPy.

    Anything with `__array__` is an array: a tensor, a table of pandas, a `Step`. Arrays of text or
    of objects become nested lists, a Fraction or a Decimal its text. With `copy`, arrays that the
    caller may change are copied.
    """
    if depth > MAX_NESTED_LISTS:
        message = f"{dotted(path[:1])} has more than {MAX_NESTED_LISTS} lists inside each other"
        raise fail(message, *path[:1], hint="a list may not contain itself")
    if isinstance(raw, Outline):
        return raw
    if hasattr(raw, "__array__") and not isinstance(raw, np.generic):
        written.refuse_masked(raw, path)
        try:
            array = np.array(readable(raw)) if copy else np.asarray(readable(raw)).view()
            if array.dtype.kind == "f" and array.dtype.itemsize > 8:  # longer than any reader knows
                with np.errstate(over="ignore"):  # an infinity is refused
                    array = array.astype(float)
            array.flags.writeable = False
        except Exception as error:  # whatever the library raises, such as for a GPU's tensor
            message = f"{dotted(path)} cannot be read as an array: {error}"
            raise fail(message, *path) from None
        return as_raw(array.tolist(), path, copy, depth + 1) if array.dtype.kind in "OU" else array
    if isinstance(raw, Mapping):
        return {key: as_raw(part, (*path, key), copy, depth + 1) for key, part in raw.items()}
    kinds = {*map(type, raw)} if isinstance(raw, list | tuple) else set()
    if not copy and kinds == ONLY_LISTS and {type(row[0]) for row in raw if row} == ONLY_TEXTS:
        return raw  # rows of a file, which hold no arrays
    if not all(issubclass(kind, str | int | float) for kind in kinds):
        parts = [as_raw(part, path, copy, depth + 1) for part in raw]
        return [_listed(part) if isinstance(part, np.ndarray) else part for part in parts]
    if isinstance(raw, Number) and not isinstance(raw, int | float | complex | np.number):
        return str(raw)
    return raw


def readable(raw: Any) -> Any:
    """Return a tensor as NumPy can read it: no gradient, on the CPU, bfloat16 as float32."""
    if not hasattr(raw, "detach"):
        return raw
    plain = raw.detach().cpu()
    return plain.float() if str(plain.dtype) == "torch.bfloat16" else plain


def _listed(array: Array) -> list[Any]:
    if array.ndim == 0 or array.dtype.kind != "f" or array.dtype.itemsize >= 8:
        return array.tolist()  # type: ignore[no-any-return]
    return list(map(_listed, array)) if array.ndim > 1 else list(array)


def to_array(raw: object, path: KeyPath, infinite: bool = False, truths: bool = False) -> Array:
    """Return a matrix or a stack of matrices as a read-only array of 2 to 4 axes.

    It is float16 or float32 if such an array was given, else float64; an array of these types is
    not copied. A flat list is one row. `infinite` allows −∞, `truths` true and false for 1 and 0.
    """
    block = as_block(raw)
    if block is not None and (call := OUTLINE.fullmatch(block)):
        if infinite or truths:
            hint = "its numbers say which cells are blocked; write them, or such as mask: causal"
            raise fail(f"{name_of(path)} cannot be a shape", *path, hint=hint, needs="text")
        raw, block = _outlined(call[1], path), None
    with nullcontext() if block is None else needing("text"):
        rows: Any = raw if block is None else grid_in(block, path).words()
        rows = _without_truths(rows) if truths else rows
        if (axes := _axes(rows)) > MAX_AXES:
            message = f"{name_of(path)} has {'more' if axes > MAX_NESTED_LISTS else axes} axes"
            raise fail(f"{message}; {MAX_AXES} is the most", *path)
        if isinstance(rows, Outline):
            array: Array = rows
        elif hasattr(rows, "dtype"):  # among numbers that are added, true is meant for a mask
            array = _from_numpy(rows, path, may_be_true=truths or not infinite)
        elif _is_list(rows):
            shape, numbers = flattened(rows, path, _numbers)
            array = np.array(numbers).reshape(shape)
        else:
            hint = "write it as [[1, 0], [0, 1]]"
            raise fail(f"{name_of(path)} must be a matrix", *path, hint=hint)
        if array.size == 0:
            raise fail(f"{name_of(path)} is empty", *path, hint="write at least one number")
        if not all_finite(array):
            _refuse_infinite(array, path, infinite)
        array.flags.writeable = False  # `as_raw` has done so for arrays of the user
        return array if array.ndim > 1 else array.reshape(1, -1)


def _outlined(sizes: str, path: KeyPath) -> Outline:
    sizes = "".join(sizes.split()).removesuffix(",")
    if not SIZES.fullmatch(sizes):
        message = f"the sizes of {name_of(path)} must be whole numbers of at least 1"
        raise fail(message, *path, hint="write such as shape(8192, 4096)", needs="text")
    shape = [*map(int, sizes.split(","))]
    if len(shape) > MAX_AXES:
        raise fail(f"{name_of(path)} has {len(shape)} axes; {MAX_AXES} is the most", *path)
    if prod(shape) > MAX_OUTLINED:
        message = f"{name_of(path)} has more than {MAX_OUTLINED:,} numbers"
        raise fail(message, *path, hint="take smaller sizes", needs="text")
    return outline(shape, np.float16)


def as_block(raw: object) -> str | None:
    """Return a text block, a number as one, or a list of rows that are texts; None for the rest."""
    if not isinstance(raw, list | tuple):
        is_text = isinstance(raw, str | int | float) and not isinstance(raw, bool)
        return str(raw) if is_text else None
    rows = [row[0] if isinstance(row, list) and len(row) == 1 else row for row in raw]
    if not all(isinstance(row, str) and re.search(r"\S\s+\S", row) for row in rows):
        return None
    numbers = rf"(?!\D?\d{{1,3}}(?:\s\d{{3}})+$){SEVERAL}"  # 1 202 may be one number
    has_numbers = any(re.fullmatch(numbers, row.strip("() ")) for row in rows)
    return "\n".join(rows) if has_numbers else None


def _refuse_infinite(array: Array, path: KeyPath, infinite: bool) -> None:
    bad = np.isnan(array) | (np.isposinf(array) if infinite else np.isinf(array))
    if bad.any():
        place = [int(i) for i in np.argwhere(bad)[0]]
        what = "nan" if np.isnan(array[tuple(place)]) else "infinite"
        only = "; only −inf, which blocks a cell, is allowed" if infinite else ""
        raise fail(f"{cell_words(path, place)} is {what}{only}", *path, *place, needs="values")


def _without_truths(raw: Any) -> Any:
    if isinstance(raw, list | tuple):
        return [_without_truths(item) for item in raw]
    return written.TRUTHS.get(str(raw), raw) if isinstance(raw, bool | str) else raw


def grid_in(text: str, path: KeyPath) -> LabelledGrid:
    from attncli.core.numbers.pasted import grid_of

    try:
        return grid_of(text)
    except NumberError as error:
        raise fail(f"{name_of(path)}: {error}", *path) from None


def to_vector(raw: object, path: KeyPath, infinite: bool = False, several: bool = False) -> Array:
    """Return an array of one axis, as `to_array` does, also of a matrix of one row or column.

    `several` allows a matrix of one vector per head.
    """
    array = to_array(raw, path, infinite)
    if several and 1 not in array.shape:
        return array
    if array.ndim == 2 and 1 in array.shape:
        return array.reshape(-1)
    message = f"{name_of(path)} is a vector, but has the shape {array.shape}"
    needs = "text" if isinstance(raw, str) else ""
    raise fail(message, *path, hint="write one flat list of numbers", needs=needs)


def _from_numpy(raw: Any, path: KeyPath, may_be_true: bool) -> Array:
    array = np.atleast_1d(np.asarray(raw))
    if array.dtype.kind not in ("fiub" if may_be_true else "fiu"):
        kinds = {"c": "complex numbers", "b": "true and false, which are no numbers"}
        raise fail(f"{name_of(path)} holds {kinds.get(array.dtype.kind, 'no numbers')}", *path)
    dtype = array.dtype if array.dtype in SHORT_FLOATS else np.dtype(np.float64)
    with np.errstate(over="ignore"):
        return array.astype(dtype, copy=False)


def _numbers(cells: Sequence[Any], shape: tuple[int, ...], path: KeyPath) -> list[float]:
    if {*map(type, cells)} == ONLY_TEXTS and PLAIN_DECIMALS.fullmatch(text := " ".join(cells)):
        with suppress(ValueError):
            numbers = [*map(float, cells)]
            # 1e400 is a slip, not infinity; 1e-400 is a slip, not 0.
            if all(map(isfinite, numbers)) and (all(numbers) or not vanishes(text)):
                return numbers
    places = zip(np.ndindex(shape), cells, strict=True)
    return [written.cell_value(cell, (*path, *place)) for place, cell in places]


def flattened(
    raw: Sequence[Any], path: KeyPath, read: CellsReader[Cell], hint: str = ""
) -> tuple[tuple[int, ...], list[Cell]]:
    """Return the shape of nested lists, and their cells, read one after the other.

    `read` takes the cells of a matrix, or of one row if the rows differ, their shape and the key;
    `hint` says what to do about rows of several lengths.
    """
    shape, items = [len(raw)], raw
    while (kinds := {*map(type, items)}) == ONLY_LISTS and len({*map(len, items)}) == 1:
        shape.append(len(items[0]))
        items = [*chain.from_iterable(items)]
    if kinds == ONLY_TEXTS:
        _refuse_long(items, path)
    if kinds == ONLY_TEXTS or not any(map(_is_list, items)):
        return tuple(shape), read(items, tuple(shape), path)
    parts = []
    for index, item in enumerate(raw):
        inside = (*path, index)
        if not _is_list(item):
            message = f"{name_of(path)} mixes rows and numbers: place {index + 1} is no row"
            raise fail(message, *inside, hint="put each row into [ ]")
        parts.append(flattened(item, inside, read, hint))
    first, _ = parts[0]
    for index, (sizes, _) in enumerate(parts):
        if sizes != first:
            noun, has, other = "matrix", f"the shape {shape_words(sizes)}", shape_words(first)
            if len(sizes) == len(first) == 1:
                noun, has, other = "row", count_of(sizes[0], "number"), str(first[0])
            message = f"{noun} {index + 1} of {name_of(path)} has {has}, but {noun} 1 has {other}"
            raise fail(message, *path, index, hint=hint, needs="sizes")
    return (len(raw), *first), [*chain.from_iterable(cells for _, cells in parts)]


def _refuse_long(texts: Sequence[str], path: KeyPath) -> None:
    if max(map(len, texts), default=0) > LONGEST_DECIMAL:
        length = sum(len(text) for text in texts if LONGEST_DECIMAL < len(text) <= MAX_LENGTH)
        if length > MAX_EXPRESSIONS:
            message = f"{name_of(path)} has expressions of {length:,} characters"
            raise fail(message, *path, hint=f"{MAX_EXPRESSIONS:,} is the most; write numbers")


def _is_list(item: object) -> bool:
    if isinstance(item, list | str):  # first, as most items are one of these
        return not isinstance(item, str)
    if isinstance(item, np.ndarray):
        return item.ndim > 0
    return isinstance(item, Sequence) and not isinstance(item, str | bytes)


def _axes(raw: Any) -> int:
    """Return how many lists or axes the first number is in, at most MAX_NESTED_LISTS + 1."""
    count = 0
    while _is_list(raw) and len(raw) and count <= MAX_NESTED_LISTS:
        raw = raw[0]
        count += 1
    return count


def labelled_texts(
    raw: Any, path: KeyPath, ragged: bool, blocked: Array | None = None
) -> tuple[Array, Labels]:
    """Return the cells of a matrix in any form as an array of texts, and the labels of a block.

    A single number has the shape (1, 1). If `ragged`, rows may be shorter than others. Rows may be
    without the cells that are `blocked`, which are then marked, by `-`.
    """
    hint = "write it as [[0.5, 0.5]]"
    labels: Labels = (None, None)
    if (block := as_block(raw)) is not None:
        grid = grid_in(block, path)
        raw, labels = grid.words(), grid.labels
    raw = as_raw(raw, path)
    if hasattr(raw, "dtype"):
        raw = np.atleast_1d(raw)
        if raw.dtype.kind not in "fiu":
            what = "true and false, not numbers" if raw.dtype.kind == "b" else "no numbers"
            raise fail(f"{name_of(path)} holds {what}", *path, hint=hint)
        shape, cells = raw.shape, _texts(raw.flat)
    elif isinstance(raw, bool):
        shape, cells = (1, 1), [str(raw)]
    elif isinstance(raw, list | tuple):
        rows = _whole_rows(raw if blocked is None else _with_marks(raw, blocked), ragged)
        shape, cells = flattened(rows, path, _texts, "a cell that is left out is written ~")
    else:
        raise fail(f"{name_of(path)} must be a matrix", *path, hint=hint)
    if len(shape) > MAX_TEXT_AXES:
        raise fail(f"{name_of(path)} has {len(shape)} axes, which no step has", *path)
    texts = np.empty(shape, object)
    texts.ravel()[:] = cells
    return texts, labels


def _with_marks(raw: Any, blocked: Array) -> Any:
    """Return nested lists with a mark for each blocked cell, where all of these are left out."""
    if blocked.ndim == 1:
        is_one = len(raw) == 1 and isinstance(raw[0], list)
        return _with_marks(raw if is_one else [raw], blocked[None])
    if len(raw) != len(blocked) or not all(isinstance(row, list) for row in raw):
        return raw
    if blocked.ndim > 2:
        return [_with_marks(*pair) for pair in zip(raw, blocked, strict=True)]
    if list(map(len, raw)) != np.sum(~blocked, axis=-1).tolist():
        return raw
    rows = map(iter, raw)
    return [
        ["-" if x else next(row) for x in line] for row, line in zip(rows, blocked, strict=True)
    ]


def _whole_rows(raw: Any, ragged: bool) -> Any:
    """Return nested lists with blank cells for rows, or ends of rows, that are left out."""
    first = next((row for row in raw if isinstance(row, list) and row), None)
    if first and not isinstance(first[0], list):
        raw = [[""] * len(first) if row in ([], None, "", "~") else row for row in raw]
    elif first:
        return [_whole_rows(one, ragged) if isinstance(one, list) else one for one in raw]
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
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else str(cell).removesuffix(".0")
    return "" if cell is None else str(cell).strip()


def with_zeros(raw: Any) -> Any:
    """Return nested lists with the zeros that a program leaves out: 3.7 beside 0.68 is 3.70."""
    counts: list[int] = []
    _mapped(raw, lambda cell: counts.append(_decimals(cell)))
    most = max(counts, default=0)

    def padded(cell: Any) -> Any:
        return f"{cell}{'0' * (most - count)}" if (count := _decimals(cell)) else cell

    return _mapped(raw, padded) if 0 < most <= MAX_PADDED else raw


def _mapped(raw: Any, change: Callable[[Any], Any]) -> Any:
    return [_mapped(item, change) for item in raw] if isinstance(raw, list) else change(raw)


def _decimals(cell: Any) -> int:
    match = re.fullmatch(r"-?\d+\.(\d+)", str(cell)) if type(cell) in (str, float) else None
    return len(match[1]) if match else 0
