"""Elements of arrays that remember how they were made, and hooks that tell them why.

An operation on floats returns a 0 and forgets why. Given an array of objects (worked formulas),
these functions let each element remember what decided it; floats pass through as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

# As `numpy.typing` defines `NDArray[Any]`, whose import would be felt at every start.
Array: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]


def _operators(op: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods of a binary operator: of its left operand, and of its right one."""

    def from_left(self: Element, other: object) -> Any:
        # An array beside an element asks each of its own elements.
        return NotImplemented if isinstance(other, np.ndarray) else self.combined(op, self, other)

    def from_right(self: Element, other: object) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self.combined(op, other, self)

    return from_left, from_right


class Element:
    """A number that NumPy's functions can be applied to; `combined` says what comes of two."""

    __slots__ = ()

    @staticmethod
    def combined(op: str, left: Any, right: Any) -> Any:
        """Return left op right, where one is such an element and op one of + - * / ^."""
        raise NotImplementedError

    __add__, __radd__ = _operators("+")
    __sub__, __rsub__ = _operators("-")
    __mul__, __rmul__ = _operators("*")
    __truediv__, __rtruediv__ = _operators("/")
    __pow__, __rpow__ = _operators("^")


def because(
    result: Array, seen: Array, words: str, where: Array | None = None, along: int | None = None
) -> Array:
    """Return the result, whose elements remember what they were decided by.

    Args:
        result: any shape.
        seen: broadcasts to the result: what was looked at.
        words: the reason, with `{seen}` for what was looked at ("mask[am, I] = 0"), or `{all}`
            for all the numbers of a line, `{largest}` for the largest of them and `{which}` for
            "the largest", or "the first largest" where there are several.
        where: for which elements there is something to say; all by default. It broadcasts.
        along: an axis, where a whole line of `seen` was looked at.
    """
    if result.dtype.kind != "O" and seen.dtype.kind != "O":
        return result
    decided = np.empty(np.broadcast_shapes(result.shape, seen.shape), object)
    told = np.broadcast_to(True if where is None else where, decided.shape)
    results, looks = np.broadcast_to(result, decided.shape), np.broadcast_to(seen, decided.shape)
    for place in np.ndindex(decided.shape):
        line: list[Any] = [looks[place]]
        if along is not None:
            cut: list[Any] = list(place)
            cut[along] = slice(None)
            line = list(looks[tuple(cut)])
        decided[place] = line[0].decides(results[place], line, words if told[place] else "")
    return decided


def filled(shape: tuple[int, ...], element: Callable[[tuple[int, ...]], Any]) -> Array:
    """Return an array of objects: what a function gives for each place."""
    array = np.empty(shape, object)
    for place in np.ndindex(shape):
        array[place] = element(place)
    return array


def named(array: Array, symbol: str) -> Array:
    """Return an array whose elements are called by a letter in formulas, such as τ."""
    if array.dtype.kind != "O":
        return array
    return _each(array, lambda element: element.called(symbol) if _is_one(element) else element)


def at_least_zero(array: Array) -> Array:
    """Return max(x, 0) of every number."""
    if array.dtype.kind != "O":
        return np.maximum(array, 0.0)
    return _each(array, lambda x: x.at_least_zero() if _is_one(x) else max(x, 0.0))


def _each(array: Array, function: Callable[[Any], Any]) -> Array:
    result: Array = np.frompyfunc(function, 1, 1)(array)
    return result


def _is_one(element: object) -> bool:
    """Whether it is an element that explains itself; an operation's own 0 is a plain number."""
    return hasattr(element, "called")
