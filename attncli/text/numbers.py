"""Numbers as text: of one width and style in a table, with every digit in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isinf
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array

TOO_LONG = 1e9
"""From here on a table writes 1.2346e+09, as the digits before the point stop being readable."""

DEFAULT_DECIMALS = 4

PART = 2**16
"""So many numbers of a large matrix are looked at at a time, to take no memory of its size."""


def style_of(values: Array, decimals: int = DEFAULT_DECIMALS) -> Callable[[float], str]:
    """Return how to write the numbers of one table so that they line up when set flush right.

    Whole numbers stay whole; others get as many decimals as they need, at most `decimals`.
    """
    largest = max((float(np.abs(part).max(initial=0.0)) for part in _finite(values)), default=0.0)
    if largest >= TOO_LONG or 0 < largest < 0.5 * 10.0**-decimals:
        return _with(f".{decimals}e")

    def suffice(digits: int) -> bool:
        return all(np.array_equal(np.round(part, digits), part) for part in _finite(values))

    return _with(f".{next(filter(suffice, range(decimals)), decimals)}f")


def _finite(values: Array) -> Iterator[Array]:
    """Yield the numbers of an array that are finite, some at a time."""
    for part in np.nditer(values, ["external_loop", "buffered", "zerosize_ok"], buffersize=PART):
        yield part[np.isfinite(part)]


def _with(style: str) -> Callable[[float], str]:
    zero = format(0.0, style)

    def write(value: float) -> str:
        if np.isinf(value):
            return "-∞" if value < 0 else "∞"
        if value == 0:
            return "0"  # exactly, as a mask or sparsemax gives; 0.0000 is a small number
        text = format(value, style)
        return zero if text == f"-{zero}" else text

    return write


def every_digit(value: float) -> str:
    """Return the shortest decimal number that reads back as the same float.

    >>> every_digit(14.0), every_digit(0.1), every_digit(float("-inf"))
    ('14', '0.1', '-Infinity')
    """
    if isinf(value):
        return "-Infinity" if value < 0 else "Infinity"
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def floats(array: Array) -> Any:
    """Return an array as nested lists of floats that are written with the digits of its kind.

    The float64 of the float32 0.1 is 0.10000000149011612; with so many digits as tell it from
    other float32 numbers, as NumPy prints it, it is 0.1.

    >>> floats(np.array([[0.1, 2]])), floats(np.array([[0.1, 2]], np.float32))
    ([[0.1, 2.0]], [[0.1, 2.0]])
    """
    if array.dtype.kind != "f" or array.dtype.itemsize >= 8:
        return array.tolist()
    if array.ndim > 1:  # some at a time, as the texts take more memory than the numbers
        return list(map(floats, array))
    return array.astype(str).astype(np.float64).tolist()


def joined(values: list[float], decimals: int | None, sign: str = ",") -> str:
    """Return numbers as a file writes them, with a sign between: every digit, or so many decimals.

    It is what `every_digit` gives for each, in a third of the time for many.

    >>> joined([14.0, 0.1, float("-inf")], None), joined([0.125, float("inf")], 2, ";")
    ('14,0.1,-Infinity', '0.12;Infinity')
    """
    if decimals is None:
        text = sign.join([*map(repr, values), ""]).replace(f".0{sign}", sign)
    else:
        text = f"%.{decimals}f{sign}" * len(values) % tuple(values)
    return text[:-1].replace("inf", "Infinity")


def texts(values: list[float], decimals: int | None) -> list[str]:
    """Return the numbers that `joined` joins."""
    return joined(values, decimals).split(",") if values else []
