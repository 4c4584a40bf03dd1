"""What stands under one key of a sheet, put where it belongs in its step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.labels import Beside, is_turned, targets
from attncli.checking.layouts import Layout, layouts, nearness, same_but_ones
from attncli.checking.names import At
from attncli.checking.numerals import MISSING, numbers_of
from attncli.errors import InputError, KeyPath
from attncli.records import Record
from attncli.tape.step import Step

NEAR = 0.02
"""Relative error up to which a number tells in which row of its step it stands."""


class Piece(Record, eq=False):
    """What stands under one key, a word: the cells of a whole step, or those at an index of it.

    The words beside the cells stand in `beside`, where there are any; `dtype` is that of the array
    which they came as. With `is_turned`, the key is that of the step transposed, such as K^T.
    """

    word: str
    at: At
    texts: Array
    beside: Beside | None = None
    dtype: str = ""
    is_turned: bool = False


class Cells(Record, eq=False):
    """The numbers of a piece with their units and texts, in the shape that it takes in its step."""

    values: Array
    unit: Array
    texts: Array

    def changed(self, layout: Layout) -> Cells:
        """Return the cells in another layout."""
        return Cells(layout(self.values), layout(self.unit), layout(self.texts))

    def scattered(self, at: Array, shape: tuple[int, ...]) -> Cells:
        """Return cells of a shape with these at their places, and all others left out."""
        found = Cells.blank(shape)
        found.changed(np.ravel).put(at, self)  # a view
        return found

    @classmethod
    def blank(cls, shape: tuple[int, ...]) -> Cells:
        """Return cells of a shape that are all left out."""
        return cls(np.full(shape, np.nan), np.zeros(shape), np.full(shape, "", object))

    def put(self, at: Any, cells: Cells) -> None:
        """Put other cells at an index into these."""
        self.values[at], self.unit[at], self.texts[at] = cells.values, cells.unit, cells.texts


def cells_of(step: Step, piece: Piece, wanted: tuple[int, ...]) -> Cells | None:
    """Return the cells of a piece as they stand in the step; None where the shape is another.

    The shape that is wanted is that of the step on paper, or of the part of it that the piece is.
    """
    if all(text in MISSING for text in piece.texts.flat):
        # a sheet to fill in may have any shape
        return Cells.blank(wanted)
    words = piece.beside if len(wanted) > 1 else None
    if words is None and piece.texts.shape == wanted and not piece.is_turned:  # as nearly all are
        return _read(piece)
    is_swapped = piece.is_turned or (words is not None and is_turned(step, words))

    def turned(array: Array) -> Array:
        return np.swapaxes(array, -1, -2) if is_swapped else array

    shape = turned(piece.texts).shape
    found = layouts(step, shape, wanted)
    is_part = words is not None and len(shape) == len(wanted) and shape[:-2] == wanted[:-2]
    if not found and not is_part:
        return _without_a_row(step, piece, wanted) if words is None else None
    cells = _read(piece).changed(turned)
    if words is None:
        laid = [cells.changed(layout) for layout in found]
    else:
        sides = (words.columns, words.rows) if is_swapped else (words.rows, words.columns)
        beside = Beside(turned(sides[0]), turned(sides[1]))
        laid = list(_in_order(step, cells, beside, found, wanted, (piece.word,)))
    if len(laid) < 2:
        return laid[0] if laid else None
    return max(laid, key=lambda one: nearness(step, one.values, one.unit))


def _without_a_row(step: Step, piece: Piece, wanted: tuple[int, ...]) -> Cells | None:
    """Return the cells of a matrix that lacks one row, where its numbers tell which; else None."""
    shape = (wanted[0] - 1, *wanted[1:])
    if len(wanted) != 2 or not same_but_ones(piece.texts.shape, shape) or piece.is_turned:
        return None
    cells = _read(piece).changed(lambda array: array.reshape(shape))
    fitting = []
    for row in range(wanted[0]):
        right = np.delete(step.value[piece.at], row, axis=0)
        near = np.isclose(cells.values, right, NEAR, 0.5 * cells.unit)
        if (2 * near.sum(axis=1) > wanted[1]).all():
            fitting.append(row)
    if len(fitting) != 1:
        return None
    places = np.delete(np.arange(wanted[0] * wanted[1]).reshape(wanted), fitting[0], axis=0)
    return cells.scattered(places, wanted)


def _read(piece: Piece) -> Cells:
    """Return the cells of a piece as they were written."""
    values, unit, texts = numbers_of(piece.texts, piece.word, piece.texts.size)
    if np.dtype(piece.dtype or "f").kind in "iu":  # a program's whole numbers stand for no others
        unit = np.zeros_like(unit)
    return Cells(values, unit, texts)


def _in_order(
    step: Step,
    cells: Cells,
    beside: Beside,
    found: Sequence[Layout],
    wanted: tuple[int, ...],
    path: KeyPath,
) -> Iterator[Cells]:
    """Yield cells in each layout, or as they are without any, at the places that words tell.

    Raises:
        InputError: if the words beside them tell none in any layout.
    """
    errors = []
    for layout in found or (None,):
        laid, words = cells, beside
        if layout is not None:
            laid, words = laid.changed(layout), beside.changed(layout)
        try:
            at = targets(step, words, wanted, path)
        except InputError as error:
            errors.append(error)
            continue
        if at is not None:
            yield laid.scattered(at, wanted)
        elif layout is not None:
            yield laid
    if len(errors) == max(len(found), 1):
        raise errors[0]
