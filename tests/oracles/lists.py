"""Nested lists: vectors, matrices as lists of rows, and matrices of several heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def is_list(given: Any) -> bool:
    return isinstance(given, list | tuple | np.ndarray)


def each(function: Callable[..., Any], *nested: Any) -> Any:
    """Apply a function number by number to nested lists of one shape."""
    if is_list(nested[0]):
        return [each(function, *parts) for parts in zip(*nested, strict=True)]
    return function(*nested)


def by_rows(function: Callable[..., Any], *heads: list[Any]) -> list[Any]:
    """Apply a function row by row to matrices of several heads."""
    several = [zip(*matrices, strict=True) for matrices in zip(*heads, strict=True)]
    return [[function(*rows) for rows in matrices] for matrices in several]


def depth(nested: Any) -> int:
    """Return how many axes nested lists have."""
    return 1 + (depth(nested[0]) if len(nested) else 0) if is_list(nested) else 0


def every(nested: Any) -> list[Any]:
    """Return all numbers of nested lists."""
    return [x for part in nested for x in every(part)] if is_list(nested) else [nested]


def plus(a: Any, b: Any) -> Any:
    return each(lambda x, y: x + y, a, b)


def times(a: Any, b: Any) -> Any:
    """Number by number."""
    return each(lambda x, y: x * y, a, b)


def transposed(matrix: list[list[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*matrix, strict=True)]


def cut(matrix: list[list[Any]], count: int) -> list[Any]:
    """Return the features cut into contiguous pieces, one per head."""
    size = len(matrix[0]) // count
    assert size * count == len(matrix[0])
    return [[list(row[h * size : (h + 1) * size]) for row in matrix] for h in range(count)]


def beside(heads: list[Any]) -> list[list[Any]]:
    """Return the features of several heads side by side."""
    return [[x for part in rows for x in part] for rows in zip(*heads, strict=True)]


def shared(heads: list[T], count: int) -> list[T]:
    """Return what each of `count` heads reads, where several read the same."""
    return [heads[h * len(heads) // count] for h in range(count)]
