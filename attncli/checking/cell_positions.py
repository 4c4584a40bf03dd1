"""The cell of a step that each written number is, by its key, its shape and its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.names import At
from attncli.checking.thresholds import FLOAT_ERROR
from attncli.errors import InputError, fail
from attncli.notation.grid import LabelError, Labels, order_of, places_of
from attncli.notation.last_place import numbers_of
from attncli.notation.written import BLANK_CELLS
from attncli.records import Record
from attncli.tape.step import Step
from attncli.text.escapes import visible

NEAR = 0.02
"""Maximum relative error of a number that still shows its row of the step."""


class KeyedMatrix(Record, eq=False):
    """The matrix that is written under one key of a submission.

    Attributes:
        word: the key.
        at: the cells of the step that the key means, an index of its value; () for all.
        texts: the cells in the shape in which they were written.
        labels: the label of the row, and that of the column, of each cell: an array of shape
            (2, *texts.shape) with None where there is none; None without any label.
        dtype: that of the array from which the cells come; "" for texts and rounded numbers.
        is_transposed: True if the key means the transposed step, such as K^T.
    """

    word: str
    at: At
    texts: Array
    labels: Array | None = None
    dtype: str = ""
    is_transposed: bool = False

    @property
    def is_exact(self) -> bool:
        """True for whole numbers of a program, which are not rounded."""
        return self.dtype.startswith(("int", "uint"))


def labels_of_cells(
    shape: tuple[int, ...], labels: Mapping[tuple[int, ...], Labels]
) -> Array | None:
    """Return the labels beside each cell of a matrix, as `KeyedMatrix.labels` has them.

    Args:
        shape: the shape of what was written.
        labels: the labels of each matrix of a stack by its index; those at () are for all others.
    """
    if not labels or len(shape) < 2:
        return None
    found = np.full((2, *shape), None, object)
    for lead in np.ndindex(shape[:-2]):
        rows, columns = labels.get(lead) or labels.get((), (None, None))
        if rows and len(rows) >= shape[-2]:
            found[0][lead] = np.array(rows[: shape[-2]], object)[:, None]
        if columns and len(columns) >= shape[-1]:
            found[1][lead] = np.array(columns[: shape[-1]], object)
    return found if (found != None).any() else None  # noqa: E711 - cell by cell


def texts_in_place(step: Step, matrix: KeyedMatrix, wanted: tuple[int, ...]) -> Array | None:
    """Return the written cells in their places in the step's value; None for a wrong shape.

    Axes of size 1 may be left out or moved; heads may be side by side or one above the other.
    Labels give the order of rows and columns, and which of them are left out.

    Args:
        step: the step.
        matrix: what is written under one key.
        wanted: the shape of the cells that the key means.

    Raises:
        InputError: for a label that the step does not have, or that is written twice.
    """
    texts, labels = matrix.texts, matrix.labels if len(wanted) > 1 else None
    is_one = texts.size == 1 == prod(wanted)
    if labels is None and (texts.shape == wanted or is_one) and not matrix.is_transposed:
        return texts.reshape(wanted)  # as nearly all are
    if BLANK_CELLS.issuperset(texts.flat):  # a worksheet may have any shape
        return np.full(wanted, "", object)
    cells = np.arange(texts.size).reshape(texts.shape)
    if matrix.is_transposed or (labels is not None and _are_transposed(step, labels)):
        cells = cells.swapaxes(-1, -2) if cells.ndim > 1 else cells
        labels = None if labels is None else labels[::-1]
    layouts = _layouts(step, cells, wanted)
    found = [texts.ravel()[layout] for layout in layouts]
    if labels is not None:
        if not layouts and cells.ndim == len(wanted) and cells.shape[:-2] == wanted[:-2]:
            layouts = [cells]  # some of the rows and columns
        found = _ordered(step, matrix, labels, layouts, wanted)
    elif not layouts:
        return _with_a_blank_row(step, matrix, wanted)
    if len(found) < 2:
        return found[0] if found else None
    return max(found, key=partial(_nearness, step))


def _layouts(step: Step, cells: Array, wanted: tuple[int, ...]) -> list[Array]:
    """Return a matrix in each shape in which a step may have been written, the usual first."""
    own = step.value.shape
    as_is = [cells.reshape(wanted)] if _same_but_ones(cells.shape, wanted) else []
    has_heads = "head" in step.leading and len(step.trailing) == 2
    if cells.shape == wanted or wanted != own or not has_heads:
        return as_is
    *lead, heads, rows, columns = own
    above, beside = [], []
    if _same_but_ones(cells.shape, (*lead, heads * rows, columns)):
        above = [cells.reshape(own)]
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
    size = np.where(known, np.abs(right), 0.0) + unit + FLOAT_ERROR
    off = np.abs(np.where(known, values, 0.0) - np.where(known, right, 0.0)) / size
    return -float(np.where(known, np.minimum(off, 1.0), 0.0).sum())


def _with_a_blank_row(step: Step, matrix: KeyedMatrix, wanted: tuple[int, ...]) -> Array | None:
    """Return a matrix with a blank row for a missing one, if its numbers show which."""
    shape = (wanted[0] - 1, *wanted[1:])
    if len(wanted) != 2 or not _same_but_ones(matrix.texts.shape, shape) or matrix.is_transposed:
        return None
    texts = matrix.texts.reshape(shape)
    values, unit, _ = numbers_of(texts)
    slack = 0.0 if matrix.is_exact else 0.5 * unit
    fitting = []
    for row in range(wanted[0]):
        right = np.delete(step.value[matrix.at], row, axis=0)
        near = np.isclose(values, right, NEAR, slack)
        if (2 * near.sum(axis=1) > wanted[1]).all():
            fitting.append(row)
    return np.insert(texts, fitting[0], "", axis=0) if len(fitting) == 1 else None


def _are_transposed(step: Step, labels: Array) -> bool:
    """Return True if the labels show that rows and columns are exchanged."""
    if len(step.trailing) != 2:
        return False
    (row, column), lead = step.axes[-2:], (0,) * (labels.ndim - 3)
    rows, columns = labels[0][lead][:, 0], labels[1][lead][0]
    as_is = [_fit(step, row, rows), _fit(step, column, columns)]
    transposed = [_fit(step, column, rows), _fit(step, row, columns)]
    return -1 not in transposed and (-1 in as_is or sum(transposed) > sum(as_is))


def _fit(step: Step, axis: str, words: Sequence[str | None]) -> int:
    """Return 1 for labels of an axis, −1 for words that are none of it, 0 if nothing is known."""
    own = step.labels.get(axis, ())
    if not own or words[0] is None or all(str(word).isdecimal() for word in words):
        return 0
    return 1 if all(places_of(str(word), own) for word in words) else -1


def _ordered(
    step: Step,
    matrix: KeyedMatrix,
    labels: Array,
    layouts: Sequence[Array],
    wanted: tuple[int, ...],
) -> list[Array]:
    """Return the cells in each layout, in the order of their labels.

    Raises:
        InputError: if the labels fit no layout.
    """
    found, errors = [], list[InputError]()
    for cells in layouts:
        texts = matrix.texts.ravel()[cells]
        try:
            places = _places(step, labels.reshape(2, -1)[:, cells], wanted, matrix.word)
        except InputError as error:
            errors.append(error)
            continue
        if places is not None:
            found.append(np.full(wanted, "", object))
            found[-1].put(places, texts)
        elif texts.shape == wanted:
            found.append(texts)
    if errors and len(errors) == len(layouts):
        raise errors[0]
    return found


def _places(step: Step, labels: Array, wanted: tuple[int, ...], key: str) -> Array | None:
    """Return the place of each cell among all cells of the step; None where no label gives it."""
    name = step.name if visible(key) == step.name else f"{visible(key)}: {step.name}"
    found = np.empty(labels.shape[1:], int)
    every = np.arange(prod(wanted)).reshape(wanted)
    for lead in np.ndindex(wanted[:-2]):
        orders = []
        for axis, size in zip((-2, -1), wanted[-2:], strict=True):
            words = _labels_along(axis, *(side[lead] for side in labels))
            own = step.labels.get(step.axes[axis], ())
            try:
                orders.append(order_of(words, own, size, step.axes[axis], name))
            except LabelError as error:
                inside = (error.index,) if axis == -2 else ()
                raise fail(str(error), key, *lead, *inside, hint=error.hint) from None
        rows, columns = orders
        if rows is None or columns is None:
            return None
        found[lead] = every[lead][np.ix_(rows, columns)]
    return found


def _labels_along(axis: int, rows: Array, columns: Array) -> list[str | None]:
    """Return the labels along an axis of a matrix, −2 or −1.

    Where one row was written as a column, its labels are those of the rows.
    """
    lines = [rows[:, 0], columns[:, 0]] if axis == -2 else [columns[0], rows[0]]
    for line in lines:
        if len(set(line)) > 1:
            return list(line)
    # A label that is the same all along is not of this axis, unless the axis has one place.
    return list(lines[0]) if len(lines[0]) == 1 else [None] * len(lines[0])
