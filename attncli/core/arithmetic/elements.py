"""Elements of arrays that are not floats, such as terms, which remember their calculation.

The functions let such elements remember why a value was chosen; floats pass through as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import getitem
from typing import Any, TypeAlias

import numpy as np

# As `numpy.typing` defines `NDArray[Any]`, whose import would be felt at every start.
Array: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]


JOINS = (np.concatenate, np.stack)
MOVES = {
    *JOINS, getitem, np.broadcast_to, np.diagonal, np.expand_dims, np.flip, np.moveaxis, np.ravel,
    np.repeat, np.reshape, np.roll, np.squeeze, np.swapaxes, np.take, np.tile, np.transpose,
}  # fmt: skip
"""Functions that put numbers in other places, and calculate nothing."""

REDUCTIONS = {
    np.sum: "sum", np.max: "max", np.min: "min", np.any: "max", np.all: "min", np.mean: "",
}  # fmt: skip
"""Functions that make one number of all along an axis, with what they are on truths 0 and 1."""


def _operators(op: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods of a binary operator: of its left operand, and of its right one."""

    def from_left(self: Element, other: object) -> Any:
        # NumPy then applies the operator to each element of an array.
        return NotImplemented if isinstance(other, np.ndarray) else self.combined(op, self, other)

    def from_right(self: Element, other: object) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self.combined(op, other, self)

    return from_left, from_right


class Element:
    """A number that NumPy's functions can be applied to; `combined` applies an operator to two."""

    __slots__ = ()

    @staticmethod
    def combined(op: str, left: Any, right: Any) -> Any:
        """Return left op right, where one is such an element and op one of + - * / ^."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        """Return what says so where NumPy looks for a function that these elements do not have."""
        if not isinstance(getattr(np, name, None), np.ufunc):
            raise AttributeError(name)

        def missing(*_: object) -> None:
            raise NotImplementedError(f"elements have no np.{name}")

        return missing

    __add__, __radd__ = _operators("+")
    __sub__, __rsub__ = _operators("-")
    __mul__, __rmul__ = _operators("*")
    __truediv__, __rtruediv__ = _operators("/")
    __pow__, __rpow__ = _operators("^")


Words: TypeAlias = str | Callable[[Any], str]
"""Why a value was chosen; or a function that says so for a deciding value."""


def because(
    result: Array, seen: Array, words: Words, where: Array | None = None, along: int | None = None
) -> Array:
    """Return the result, whose elements remember the values that decided them.

    Args:
        result: any shape.
        seen: the deciding values; broadcasts to the result.
        words: the reason, with `{seen}` for the deciding value ("mask[am, I] = 0"), or `{all}`
            for all the numbers of a line, `{largest}` for the largest of them and `{which}` for
            "the largest", or "the first largest" where there are several. Or a function that
            returns them for a deciding value.
        where: which elements have a reason; all by default. It broadcasts.
        along: an axis, if a whole line of `seen` decided.
    """
    if not are_elements(result) and not are_elements(seen):
        return result
    shape = np.broadcast_shapes(result.shape, seen.shape)
    all_where = np.broadcast_to(True if where is None else where, shape)
    results, values = np.broadcast_to(result, shape), np.broadcast_to(seen, shape)

    def decided(place: tuple[int, ...]) -> Any:
        line: list[Any] = [values[place]]
        if along is not None:
            index: tuple[Any, ...] = (*place[:along], slice(None), *place[along:][1:])
            line = list(values[index])
        return line[0].decides(results[place], line, words if all_where[place] else "")

    return filled(shape, decided)


def are_floats(array: Any) -> bool:
    """Return whether an array holds floats, not elements, intervals or the names of calls."""
    return bool(array.dtype.kind == "f")


def are_elements(array: Any) -> bool:
    """Return whether an array holds elements, or other objects of Python."""
    return bool(array.dtype.kind == "O")


def filled(shape: tuple[int, ...], element: Callable[[tuple[int, ...]], Any]) -> Array:
    """Return an array of objects: what a function gives for each place."""
    array = np.empty(shape, object)
    for place in np.ndindex(shape):
        array[place] = element(place)
    return array


def named(array: Array, symbol: str) -> Array:
    """Return an array whose elements are called by a letter in formulas, such as τ."""
    if not are_elements(array):
        return array
    return _each(array, lambda x: x.called(symbol) if hasattr(x, "called") else x)


def at_least_zero(array: Array) -> Array:
    """Return max(x, 0) of every number."""
    if not are_elements(array):
        return np.maximum(array, 0.0)
    return _each(array, lambda x: x.at_least_zero() if hasattr(x, "called") else max(x, 0.0))


ERF = np.frompyfunc(math.erf, 1, 1)


def erf(array: Any) -> Any:
    """Return the error function of every number, also of intervals."""
    if not are_elements(array):
        return ERF(array).astype(array.dtype)
    return _each(array, lambda x: x.erf() if hasattr(x, "called") else math.erf(x))


def _each(array: Array, function: Callable[[Any], Any]) -> Array:
    results: Array = np.frompyfunc(function, 1, 1)(array)  # also of plain numbers among elements
    return results
