"""Matrices as people write them, turned into arrays.

A matrix may be nested lists, a text block with one row a line, or an array of any library; a
number may be an expression. Faults name the key, the row and the column.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import isfinite
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.floats import all_finite
from attncli.errors import KeyPath, fail, needing
from attncli.notation.parser import NumberError
from attncli.notation.written import BLANK_CELLS, SEVERAL, number, vanishes
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.notation.grid import LabelledGrid

PLAIN_NUMBERS = re.compile(r"[0-9.eE+\- ]*")
"""Text of which `float` takes nothing but plain decimal numbers: no nan, inf or 1_000."""

TRUTHS = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0}
"""Words that a mask may be made of, too, and nothing else; arrays of booleans are 0 and 1."""

MATRIX_SUFFIXES = (".csv", ".tsv", ".txt", ".npy")
"""How the name of a file ends that holds a matrix."""

SHORT = (np.dtype(np.float16), np.dtype(np.float32))
"""The types of floats that a matrix keeps; whatever else holds numbers becomes float64."""

T = TypeVar("T")

Reader: TypeAlias = Callable[[Sequence[Any], tuple[int, ...], KeyPath], list[T]]

LISTS, TEXTS = {list}, {str}
"""The types of the rows of a matrix as readers of files give it, and of its numbers."""

MAX_AXES = 4
MAX_DEPTH = 64
LARGEST_COUNT = 2**31
EXCERPT = 40


def plain(raw: Any, path: KeyPath, copy: bool = False, depth: int = 0) -> Any:
    """Return a raw value whose arrays are read-only ones of NumPy, copied if asked.

    What has `__array__` is an array: a tensor, a table of pandas, a `Step`. Arrays of text or of
    objects become nested lists, a Fraction or a Decimal its text. An InputError tells of an array
    that NumPy cannot read, and of lists that contain themselves.
    """
    if depth > MAX_DEPTH:
        message = f"{dotted(path[:1])} has more than {MAX_DEPTH} lists inside each other"
        raise fail(message, *path[:1], hint="a list may not contain itself")
    if hasattr(raw, "__array__") and not isinstance(raw, np.generic):
        _refuse_masked(raw, path)
        try:
            array = np.array(raw) if copy else np.asarray(raw).view()
            array.flags.writeable = False
        except Exception as error:  # whatever the library raises, such as for a GPU's tensor
            message = f"{dotted(path)} cannot be read as an array: {error}"
            raise fail(message, *path) from None
        is_listed = array.dtype.kind in "OU"
        return plain(array.tolist(), path, copy, depth + 1) if is_listed else array
    if isinstance(raw, Mapping):
        return {key: plain(part, (*path, key), copy, depth + 1) for key, part in raw.items()}
    kinds = {*map(type, raw)} if isinstance(raw, list | tuple) else set()
    if not all(issubclass(kind, str | int | float) for kind in kinds):
        is_of_rows = not copy and kinds == LISTS
        if is_of_rows and all(row and type(row[0]) is str for row in raw):
            return raw  # rows of a file, which hold no arrays
        parts = [plain(part, path, copy, depth + 1) for part in raw]
        return [_listed(part) if isinstance(part, np.ndarray) else part for part in parts]
    if isinstance(raw, Number) and not isinstance(raw, int | float | complex | np.number):
        return str(raw)
    return raw


def _refuse_masked(raw: Any, path: KeyPath) -> None:
    """Raise an InputError for an array of numpy.ma in which a cell is masked."""
    ma = sys.modules.get("numpy.ma")  # whoever made such an array has imported it, which takes time
    if ma is not None and ma.is_masked(raw):
        raise fail(f"{name_of(path)} has masked cells", *path, hint="fill them, as by X.filled(0)")


def _listed(array: Array) -> list[Any]:
    """Return an array as lists; a number that is shorter than Python's own floats stays one."""
    if array.ndim == 0 or array.dtype.kind != "f" or array.dtype.itemsize >= 8:
        return array.tolist()  # type: ignore[no-any-return]
    return list(map(_listed, array)) if array.ndim > 1 else list(array)


def to_array(raw: object, path: KeyPath, infinite: bool = False, truths: bool = False) -> Array:
    """Return the array of a matrix or a stack of matrices; one flat list is one row.

    Args:
        raw: nested lists of numbers or of written numbers, a text block, or an array.
        path: the key, for messages.
        infinite: whether −∞ is allowed.
        truths: whether true and false are allowed, for 1 and 0.

    Returns:
        A read-only array of 2 to 4 axes, float16 or float32 if such an array was given, else
        float64; it is no copy of what is an array of these already.

    Raises:
        InputError: for a ragged matrix, a word, an empty matrix, a number that is not finite.
    """
    block = as_block(raw)
    if block is None:
        return _to_array(raw, path, infinite, truths)
    with needing("text"):
        return _to_array(block_rows(block, path), path, infinite, truths)


def as_block(raw: object) -> str | None:
    """Return a text block, a number as one, or a list of rows that are texts; None for the rest."""
    if not isinstance(raw, list | tuple):
        is_number = isinstance(raw, int | float) and not isinstance(raw, bool)
        return str(raw) if is_number or isinstance(raw, str) else None
    rows = [row[0] if isinstance(row, list) and len(row) == 1 else row for row in raw]
    if not all(isinstance(row, str) and re.search(r"\S\s+\S", row) for row in rows):
        return None
    numbers = rf"(?!\D?\d{{1,3}}(?:\s\d{{3}})+$){SEVERAL}"  # 1 202 may be one number
    has_numbers = any(re.fullmatch(numbers, row.strip("() ")) for row in rows)
    return "\n".join(rows) if has_numbers else None


def _to_array(raw: Any, path: KeyPath, infinite: bool, truths: bool) -> Array:
    if truths:
        raw = _without_truths(raw)
    if (axes := _axes(raw)) > MAX_AXES:
        message = f"{name_of(path)} has {'more' if axes > MAX_DEPTH else axes} axes"
        raise fail(f"{message}; {MAX_AXES} is the most", *path)
    may_be_true = truths or not infinite  # among numbers that are added, it is a slip for a mask
    array = _from_numpy(raw, path, may_be_true) if hasattr(raw, "dtype") else _from_lists(raw, path)
    if array.size == 0:
        raise fail(f"{name_of(path)} is empty", *path, hint="write at least one number")
    if not all_finite(array):
        _refuse_infinite(array, path, infinite)
    array.flags.writeable = False  # an array that was given is so already, by `plain`
    return array if array.ndim > 1 else array.reshape(1, -1)


def _refuse_infinite(array: Array, path: KeyPath, infinite: bool) -> None:
    """Raise an InputError for a number that is nan or infinite; with `infinite`, −∞ is allowed."""
    bad = np.isnan(array) | (np.isposinf(array) if infinite else np.isinf(array))
    if bad.any():
        place = [int(i) for i in np.argwhere(bad)[0]]
        what = "nan" if np.isnan(array[tuple(place)]) else "infinite"
        only = "; only −inf, which blocks a cell, is allowed" if infinite else ""
        raise fail(f"{cell_words(path, place)} is {what}{only}", *path, *place, needs="values")


def _without_truths(raw: Any) -> Any:
    """Return a matrix with 1 and 0 for true and false."""
    if isinstance(raw, list | tuple):
        return [_without_truths(item) for item in raw]
    return TRUTHS.get(str(raw), raw) if isinstance(raw, bool | str) else raw


def block_rows(text: str, path: KeyPath) -> list[list[str]]:
    """Return the numbers of a text block, row by row; an InputError tells of a doubtful comma."""
    return [[word for _, word in row] for row in grid_in(text, path).rows]


def grid_in(text: str, path: KeyPath) -> LabelledGrid:
    """Return the numbers and the labels of a text block, as `block_rows` does."""
    from attncli.notation.pasted import grid_of  # lists, which most matrices are, need none of it

    try:
        return grid_of(text)
    except NumberError as error:
        raise fail(f"{name_of(path)}: {error}", *path) from None


def to_vector(raw: object, path: KeyPath) -> Array:
    """Return an array of one axis, as `to_array` does; a matrix has one row or one column then."""
    array = to_array(raw, path)
    if array.ndim == 2 and 1 in array.shape:
        return array.reshape(-1)
    message = f"{name_of(path)} is a vector, but has the shape {array.shape}"
    needs = "text" if isinstance(raw, str) else ""
    raise fail(message, *path, hint="write one flat list of numbers", needs=needs)


def to_number(raw: object, path: KeyPath) -> float:
    """Return one number, written or given; raise an InputError where it is none, or not finite."""
    if isinstance(raw, np.ndarray) and raw.ndim == 0:
        raw = raw.item()
    is_truth = isinstance(raw, bool) or (isinstance(raw, str) and raw.strip() in TRUTHS)
    if is_truth or not isinstance(raw, str | int | float | np.number):
        raise fail(f"{name_of(path)} must be a number", *path)
    value = _element(raw, path)
    if not np.isfinite(value):
        raise fail(f"{name_of(path)} must be a finite number", *path, needs="values")
    return value


def to_count(raw: object, path: KeyPath, least: int | None = 1) -> int:
    """Return a whole number of at least `least`; raise an InputError where it is none."""
    value = to_number(raw, path)
    kind = "a whole number" if least is None else f"a whole number of at least {least}"
    if abs(value) > LARGEST_COUNT:
        first = -LARGEST_COUNT if least is None else least
        kind = f"a whole number from {first:,} to {LARGEST_COUNT:,}"
    elif value == int(value) and (least is None or value >= least):
        return int(value)
    message = f"{name_of(path)} must be {kind}, not {visible(str(raw))[:EXCERPT]}"
    raise fail(message, *path, needs="values")


def _from_numpy(raw: Any, path: KeyPath, may_be_true: bool) -> Array:
    array = np.atleast_1d(np.asarray(raw))
    if array.dtype.kind not in ("fiub" if may_be_true else "fiu"):
        kinds = {"c": "complex numbers", "b": "true and false, which are no numbers"}
        raise fail(f"{name_of(path)} holds {kinds.get(array.dtype.kind, 'no numbers')}", *path)
    dtype = array.dtype if array.dtype in SHORT else np.dtype(np.float64)
    with np.errstate(over="ignore"):
        return array.astype(dtype, copy=False)


def _from_lists(raw: Any, path: KeyPath) -> Array:
    if not _is_list(raw):
        raise fail(f"{name_of(path)} must be a matrix", *path, hint="write it as [[1, 0], [0, 1]]")
    shape, numbers = flattened(raw, path, _numbers)
    return np.array(numbers).reshape(shape)


def _numbers(cells: Sequence[object], shape: tuple[int, ...], path: KeyPath) -> list[float]:
    numbers = _plain_numbers(cells)
    if numbers is None:
        places = zip(np.ndindex(shape), cells, strict=True)
        numbers = [_element(cell, (*path, *place)) for place, cell in places]
    return numbers


def flattened(
    raw: Sequence[Any], path: KeyPath, read: Reader[T], hint: str = ""
) -> tuple[tuple[int, ...], list[T]]:
    """Return the shape of nested lists, and what is read of their cells, one after the other.

    Args:
        raw: nested lists.
        path: the key, for messages.
        read: what reads the cells of a matrix, or of one row of what is none, given their shape
            and the key.
        hint: what to do about rows of several lengths.

    Raises:
        InputError: for a list of both lists and other items, or of lists of different shapes.
    """
    shape, items = [len(raw)], raw
    while (kinds := {*map(type, items)}) == LISTS and len({*map(len, items)}) == 1:
        shape.append(len(items[0]))
        items = [*chain.from_iterable(items)]
    if kinds == TEXTS or not any(map(_is_list, items)):
        return tuple(shape), read(items, tuple(shape), path)
    parts = []
    for index, item in enumerate(raw):
        inside = (*path, index)
        if not _is_list(item):
            message = f"{name_of(path)} mixes rows and numbers: place {index + 1} is no row"
            raise fail(message, *inside, hint="put each row into [ ]")
        parts.append(flattened(item, inside, read, hint))
    first, _ = parts[0]
    for index, (own, _) in enumerate(parts):
        if own != first:
            is_row = len(own) == len(first) == 1
            noun = "row" if is_row else "matrix"
            has = f"{own[0]} number{'s'[: own[0] != 1]}" if is_row else f"the shape {sizes(own)}"
            has += f", but {noun} 1 has {first[0] if is_row else sizes(first)}"
            message = f"{noun} {index + 1} of {name_of(path)} has {has}"
            raise fail(message, *path, index, hint=hint, needs="sizes")
    return (len(raw), *first), [*chain.from_iterable(cells for _, cells in parts)]


def _plain_numbers(texts: Sequence[object]) -> list[float] | None:
    """Return numbers that are written as plain decimals; None where one of them is not."""
    if {*map(type, texts)} != TEXTS or not PLAIN_NUMBERS.fullmatch(text := " ".join(texts)):  # type: ignore[arg-type]
        return None
    try:
        numbers = [*map(float, texts)]  # type: ignore[arg-type]
    except ValueError:
        return None
    # 1e400 is a slip, not infinity; so is 1e-400, which is not 0.
    is_right = all(map(isfinite, numbers)) and (all(numbers) or not vanishes(text))
    return numbers if is_right else None


def _is_list(item: object) -> bool:
    if isinstance(item, list | str):  # nearly all there is
        return not isinstance(item, str)
    if isinstance(item, np.ndarray):
        return item.ndim > 0
    return isinstance(item, Sequence) and not isinstance(item, str | bytes)


def _axes(raw: Any) -> int:
    """Return how many axes the first number of a matrix has around it, at most MAX_DEPTH + 1."""
    if isinstance(raw, np.ndarray):
        return raw.ndim
    count = 0
    while _is_list(raw) and len(raw) and count <= MAX_DEPTH:
        raw = raw[0]
        count += 1
    return count


def _element(item: object, path: KeyPath) -> float:
    if isinstance(item, str):
        return _written(item, path)
    is_truth = isinstance(item, bool)
    if getattr(item, "ndim", None) == 0 and hasattr(item, "item"):  # a tensor of one number
        _refuse_masked(item, path)
        item = item.item()
    if isinstance(item, int | float | np.number | np.bool_) and not is_truth:
        try:
            return float(item)
        except OverflowError:
            pass
    raise fail(f"{_cell(path)} is no number", *path)


def _written(text: str, path: KeyPath) -> float:
    try:
        return number(text)
    except NumberError as error:
        if is_open(text):
            raise fail(f"{_cell(path)} is blank", *path, hint="write a number there") from None
        raise fail(f"{_cell(path)}: {error}", *path, needs=error.needs) from None


def is_open(text: str) -> bool:
    """Return whether a cell is left open, for a number that is still to be written."""
    return text.strip() in BLANK_CELLS


def sizes(shape: Sequence[int]) -> str:
    """Return a shape as messages show it, such as (2, 3)."""
    return f"({', '.join(map(str, shape))})"


def name_of(path: KeyPath) -> str:
    """Return how messages name a key, a row or a cell of it: `W_q[1, 2]`."""
    places = [part for part in path if isinstance(part, int)]
    name = dotted(path)
    return f"{name}[{', '.join(str(p + 1) for p in places)}]" if places else name


def cell_words(path: KeyPath, place: Sequence[int]) -> str:
    """Return how messages name a cell of a matrix: `row 1, column 2 of W_k`."""
    *stack, row, column = place if len(place) > 1 else (0, *place)
    return f"row {row + 1}, column {column + 1} of {name_of((*path, *stack))}"


def _cell(path: KeyPath) -> str:
    """Return how messages name what may be a cell, or a key of one number."""
    place = [part for part in path if isinstance(part, int)]
    return cell_words(path[: -len(place)], place) if place else dotted(path)


def dotted(path: KeyPath) -> str:
    """Return the name of a key in messages: `mask.keep`."""
    return ".".join(part for part in path if isinstance(part, str))
