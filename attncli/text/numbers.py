"""Numbers as text: of one width and style in a table, with every digit in a file."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attncli.arithmetic.elements import Array

TOO_LONG = 1e9
"""From here on a table writes 1.2346e+09, as the digits before the point stop being readable."""

DEFAULT_DECIMALS = 4


def style_of(values: Array, decimals: int = DEFAULT_DECIMALS) -> Callable[[float], str]:
    """Return how to write the numbers of one table so that they line up when set flush right.

    Whole numbers stay whole; others get as many decimals as they need, at most `decimals`.
    """
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max(initial=0.0))
    if largest >= TOO_LONG or 0 < largest < 0.5 * 10.0**-decimals:
        return _with(f".{decimals}e")
    enough = (n for n in range(decimals) if np.array_equal(np.round(finite, n), finite))
    return _with(f".{next(enough, decimals)}f")


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
    if np.isinf(value):
        return "-Infinity" if value < 0 else "Infinity"
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def rounded(decimals: int | None) -> Callable[[float], str]:
    """Return how a file writes a number: every digit, or so many decimals."""
    if decimals is None:
        return every_digit

    def write(value: float) -> str:
        return every_digit(value) if np.isinf(value) else f"{value:.{decimals}f}"

    return write
