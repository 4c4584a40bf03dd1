"""Find the cell of a step for each written number, by its key, its shape and its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from attncli.checking.answers.step_names import At
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.scores import MergeHeads
from attncli.core.errors import Fault, KeyPath, collected, fail, refuse
from attncli.core.numbers.last_place import numbers_of
from attncli.core.numbers.written import BLANK_CELLS
from attncli.core.records import Record
from attncli.core.tape.cell_names import MOST_LISTED
from attncli.core.tape.step import Step
from attncli.core.text.strings import count_in, near_words, visible

if TYPE_CHECKING:
    from attncli.core.numbers.grid import Labels

MAX_OFF = 0.02
"""Maximum relative error of a number that still shows to which row of its step it belongs."""


Shape: TypeAlias = tuple[int, ...]


class KeyedMatrix(Record, eq=False):
    """The matrix that is written under one key of a submission."""

    word: str
    at: At  # the cells of the step that the key means; () for all
    texts: Array  # or the numbers of a program
    labels: Array | None = None  # of the row and the column of each cell, (2, …), or None
    dtype: str = ""  # of the array which the cells came as; "" for texts
    is_transposed: bool = False  # True if the key is that of the step transposed, such as K^T

    @property
    def is_exact(self) -> bool:
        """True if the numbers are a program's whole numbers, which are not rounded."""
        return self.dtype.startswith(("int", "uint"))


def labels_of_cells(shape: Shape, word: str, labels: Mapping[str, Labels]) -> Array | None:
    """Return `KeyedMatrix.labels` by those of a key, or of each matrix of a stack: A[1], A[2]."""
    if not labels or len(shape) < 2:
        return None
    pairs = np.full((2, *shape), None, object)
    for lead in np.ndindex(shape[:-2]):
        key = word + "".join(f"[{index + 1}]" for index in lead)
        rows, columns = labels.get(key) or labels.get(word, (None, None))
        if rows and len(rows) >= shape[-2]:
            pairs[0][lead] = np.array(rows[: shape[-2]], object)[:, None]
        if columns and len(columns) >= shape[-1]:
            pairs[1][lead] = np.array(columns[: shape[-1]], object)
    return pairs if (pairs != None).any() else None  # noqa: E711 - cell by cell


def texts_in_place(step: Step, matrix: KeyedMatrix, wanted: Shape) -> Array | None:
    """Return the written cells in the layout of `Step.value`; None if their shape does not fit.

    Axes of size 1 may be left out or be in another place; heads may be side by side or one above
    the other, or come after the tokens. Labels give the order of rows and columns, and show which
    of them are left out.
    """
    texts, labels = matrix.texts, matrix.labels if len(wanted) > 1 else None
    is_one = texts.size == 1 == prod(wanted)
    if labels is None and (texts.shape == wanted or is_one) and not matrix.is_transposed:
        return texts.reshape(wanted)  # the usual case
    if texts.dtype.kind == "O" and BLANK_CELLS.issuperset(texts.flat):  # of any shape
        return np.full(wanted, "", object)
    cells = np.arange(texts.size).reshape(texts.shape)
    if matrix.is_transposed or (labels is not None and _are_transposed(step, labels)):
        cells = cells.swapaxes(-1, -2) if cells.ndim > 1 else cells
        labels = None if labels is None else labels[::-1]
    layouts = _layouts(step, cells, wanted)
    placed = [texts.ravel()[layout] for layout in layouts]
    if labels is not None:
        if not layouts and cells.ndim == len(wanted) and cells.shape[:-2] == wanted[:-2]:
            layouts = [cells]  # some of the rows and columns
        placed = _ordered(step, matrix, labels, layouts, wanted)
    elif not layouts:
        return _with_a_blank_row(step, matrix, wanted)
    if len(placed) < 2:
        return placed[0] if placed else None
    return max(placed, key=partial(_nearness, step))


def _layouts(step: Step, cells: Array, wanted: Shape) -> list[Array]:
    """Return a matrix in each layout of the step that has its shape, the usual one first."""
    shape = step.value.shape
    as_is = [cells.reshape(wanted)] if _same_but_ones(cells.shape, wanted) else []
    if isinstance(step.operation, MergeHeads) and cells.ndim == len(wanted) + 1 > 2:
        alike = [one for one in (cells, cells.swapaxes(-2, -3)) if one.shape[-3] == wanted[-2]]
        return [one.reshape(wanted) for one in alike if one.size == prod(wanted)]
    has_heads = "head" in step.leading and len(step.trailing) == 2
    if cells.shape == wanted or wanted != shape or not has_heads:
        return as_is
    if cells.ndim > 2 and _same_but_ones((after := cells.swapaxes(-2, -3)).shape, wanted):
        as_is = as_is or [after.reshape(wanted)]  # heads after tokens
    *lead, heads, rows, columns = shape
    above, beside = [], []
    if _same_but_ones(cells.shape, (*lead, heads * rows, columns)):
        above = [cells.reshape(shape)]
    if _same_but_ones(cells.shape, (*lead, rows, heads * columns)):
        beside = [np.moveaxis(cells.reshape(*lead, rows, heads, columns), -2, -3)]
    return [*as_is, *above, *beside] if step.columns else [*as_is, *beside, *above]


def _same_but_ones(shape: Sequence[int], other: Sequence[int]) -> bool:
    return [n for n in shape if n != 1] == [n for n in other if n != 1]


def _nearness(step: Step, texts: Array) -> float:
    """Return minus the sum of the relative errors of the numbers of a step, each at most 1."""
    values, unit, _ = numbers_of(texts)
    right = step.value
    known = np.isfinite(values) & np.isfinite(right)
    size = np.abs(right[known]) + unit[known] + 1e-9  # no 0 is a divisor
    off = np.abs(values[known] - right[known]) / size
    return -float(np.minimum(off, 1.0).sum())


def _with_a_blank_row(step: Step, matrix: KeyedMatrix, wanted: Shape) -> Array | None:
    """Return a matrix with a blank row for a missing one, if its numbers show which; else None."""
    shape = (wanted[0] - 1, *wanted[1:])
    is_written = matrix.texts.dtype.kind == "O"
    is_like = len(wanted) == 2 and is_written and not matrix.is_transposed
    if not is_like or not _same_but_ones(matrix.texts.shape, shape):
        return None
    texts = matrix.texts.reshape(shape)
    values, unit, _ = numbers_of(texts)
    slack = 0.0 if matrix.is_exact else 0.5 * unit
    fitting = []
    for row in range(wanted[0]):
        right = np.delete(step.value[matrix.at], row, axis=0)
        near = np.isclose(values, right, MAX_OFF, slack)
        if (2 * near.sum(axis=1) > wanted[1]).all():
            fitting.append(row)
    return np.insert(texts, fitting[0], "", axis=0) if len(fitting) == 1 else None


def _are_transposed(step: Step, labels: Array) -> bool:
    if len(step.trailing) != 2:
        return False
    (row, column), lead = step.axes[-2:], (0,) * (labels.ndim - 3)
    rows, columns = labels[0][lead][:, 0], labels[1][lead][0]
    as_is = [_fit(step, row, rows), _fit(step, column, columns)]
    transposed = [_fit(step, column, rows), _fit(step, row, columns)]
    return -1 not in transposed and (-1 in as_is or sum(transposed) > sum(as_is))


def _fit(step: Step, axis: str, words: Sequence[str | None]) -> int:
    """Return 1 if words are labels of an axis, −1 if they are not, 0 if they may be numbers."""
    if not step.labels.get(axis) or words[0] is None or all(str(x).isdecimal() for x in words):
        return 0
    return 1 if all(_labelled(step, axis, str(word)) for word in words) else -1


def _ordered(
    step: Step, matrix: KeyedMatrix, labels: Array, layouts: Sequence[Array], wanted: Shape
) -> list[Array]:
    ordered, faults = [], list[Fault]()
    for cells in layouts:
        texts = matrix.texts.ravel()[cells]
        with collected(faults):
            places = _places(step, labels.reshape(2, -1)[:, cells], wanted, matrix.word)
            if places is not None:
                ordered.append(np.full(wanted, "", object))
                ordered[-1].put(places, texts)
            elif texts.shape == wanted:
                ordered.append(texts)
    if not ordered:
        refuse(faults[:1])
    return ordered


def _places(step: Step, labels: Array, wanted: Shape, key: str) -> Array | None:
    """Return the place of each cell among all cells of the step; None without labels."""
    places = np.empty(labels.shape[1:], int)
    every = np.arange(prod(wanted)).reshape(wanted)
    for lead in np.ndindex(wanted[:-2]):
        sides = [side[lead] for side in labels]
        rows = _order(step, -2, wanted[-2], _labels_along(-2, *sides), (key, *lead))
        columns = _order(step, -1, wanted[-1], _labels_along(-1, *sides), (key, *lead))
        if rows is None or columns is None:
            return None
        places[lead] = every[lead][np.ix_(rows, columns)]
    return places


def _order(
    step: Step, axis: int, size: int, words: Sequence[str | None], path: KeyPath
) -> list[int] | None:
    """Return the place along an axis (−2 or −1) of each row or column; None if it is unknown."""
    noun, labels = step.axes[axis], step.labels.get(step.axes[axis], ())
    known = [word for word in words if word is not None]
    is_usual = [*map(_folded, known)] == [*map(_folded, labels)]
    is_counted = all(1 <= count_in(word) <= size for word in known)
    if len(known) < len(words) or is_usual or not (labels or is_counted):
        return list(range(size)) if len(words) == size else None
    paths = [(*path, index) if axis == -2 else path for index in range(len(known))]
    if is_counted and not (labels and all(_labelled(step, noun, word) for word in known)):
        places = [int(word) - 1 for word in known]
    else:
        places = [_place(step, noun, word, at) for word, at in zip(known, paths, strict=True)]
    place, count = Counter(places).most_common(1)[0]
    if count > 1:
        last = len(places) - 1 - places[::-1].index(place)
        raise fail(f"the {noun} {visible(known[last])} is there twice", *paths[last])
    return places


def _place(step: Step, axis: str, word: str, path: KeyPath) -> int:
    labels = step.labels[axis]
    places = _labelled(step, axis, word)
    if len(places) == 1:
        return places[0]
    more = ", …" if len(labels) > MOST_LISTED else ""
    listed = ", ".join(map(visible, labels[:MOST_LISTED])) + more
    if places:
        at = " and ".join(str(place + 1) for place in places)
        message = f"{visible(word)} is the {axis} at {at}, so it does not tell which"
        hint = f"label the rows 1 to {len(labels)}, or keep the order {listed}"
    else:
        key = visible(str(path[0]))
        name = step.name if key == step.name else f"{key}: {step.name}"
        message = f"{name} has no {axis} {visible(word) or 'without a word'}"
        near = near_words(word, labels)
        hint = f"did you mean {visible(near[0])}? " if near else ""
        hint += f"there are {listed}, or the numbers 1 to {len(labels)}"
    raise fail(message, *path, hint=hint)


def _labelled(step: Step, axis: str, word: str) -> list[int]:
    """Return the places of a label: of the same word, or of one in other letters or blanks."""
    alike = (n for n, one in enumerate(step.labels[axis]) if _folded(one) == _folded(word))
    return step.labelled(axis, word) or [*alike]


def _folded(label: str) -> str:
    return " ".join(visible(label).casefold().split())


def _labels_along(axis: int, rows: Array, columns: Array) -> list[str | None]:
    """Return the labels along an axis; those of one row written as a column are of its rows."""
    lines = [rows[:, 0], columns[:, 0]] if axis == -2 else [columns[0], rows[0]]
    for line in lines:
        if len(set(line)) > 1:
            return list(line)
    # A label that is the same all along is not of this axis, unless the axis has one place.
    return list(lines[0]) if len(lines[0]) == 1 else [None] * len(lines[0])
