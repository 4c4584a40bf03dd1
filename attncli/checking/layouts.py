"""How a matrix may stand on paper: heads in a list, side by side or one above the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.tape.step import Step

SMALL = 1e-9
"""By less a number is not off."""

Shape: TypeAlias = Sequence[int]

Layout: TypeAlias = Callable[[Array], Array]
"""From a matrix as it was written to the axes of a step on paper."""


def layouts(step: Step, shape: Shape, wanted: Shape) -> list[Layout]:
    """Return the ways in which a matrix may hold every cell of a step, the usual first.

    Axes of size 1 may be left out, or stand elsewhere: one row may be a column. A matrix that has
    every axis of the step is not in doubt.

    Args:
        step: what was written.
        shape: of the matrix.
        wanted: the shape of the step's value, or of the head, row or cell of it that was written.
    """
    is_plain = shape == wanted or wanted != step.value.shape
    known = [_in_a_list(wanted)] if is_plain else _known(step)
    return [layout for size, layout in known if same_but_ones(shape, size)]


def same_but_ones(shape: Shape, other: Shape) -> bool:
    """Return whether two shapes differ in axes of size 1 alone."""
    return [n for n in shape if n != 1] == [n for n in other if n != 1]


def nearness(step: Step, values: Array, unit: Array) -> float:
    """Return how near numbers, in the layout of the step on paper, are to the right ones.

    Each counts by which part of itself it is off, at most 1; so what was rounded early counts
    nearly as much as what is right.
    """
    right = step.value
    known = np.isfinite(values) & np.isfinite(right)
    size = np.where(known, np.abs(right), 0.0) + unit + SMALL
    off = np.abs(np.where(known, values, 0.0) - np.where(known, right, 0.0)) / size
    return -float(np.where(known, np.minimum(off, 1.0), 0.0).sum())


def _known(step: Step) -> Iterator[tuple[Shape, Layout]]:
    """Yield the shape of each way to write a step, and how its cells are put in place."""
    own = step.value.shape
    yield _in_a_list(own)
    if "head" not in step.leading or len(step.trailing) != 2:
        return
    *lead, heads, rows, columns = own

    def side_by_side(array: Array) -> Array:
        return np.moveaxis(array.reshape(*lead, rows, heads, columns), -2, -3)

    side: tuple[Shape, Layout] = (*lead, rows, heads * columns), side_by_side
    above = (*lead, heads * rows, columns), _in_a_list(own)[1]
    yield from (above, side) if step.columns else (side, above)


def _in_a_list(shape: Shape) -> tuple[Shape, Layout]:
    return shape, lambda array: array.reshape(shape)
