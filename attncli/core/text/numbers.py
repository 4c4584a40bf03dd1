"""Numbers as text: of one width and style in a table, with every digit in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, isinf
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.records import Record

TOO_LONG = 1e9
"""Minimum size of a number that a table writes as 1.2346e+09; long whole parts are hard to read."""

DEFAULT_DECIMALS = 4

BUFFER = 2**16
"""Maximum count of numbers of a large matrix that are examined at a time, to save memory."""


def fixed(value: float, decimals: int, form: str = "f") -> str:
    """Return a number with `decimals`, rounded as people do: exact ties away from zero.

    The formats of Python round such ties to even. The form is f for 1.5, or e for 1.5e+09.

    >>> fixed(1.25, 1), fixed(-2.5, 0), fixed(1.35, 1), fixed(-0.3, 0), fixed(2.5e9, 0, "e")
    ('1.3', '-3', '1.4', '0', '3e+09')
    """
    unit = 2.0**-decimals
    if form == "f" and abs(value) % unit != unit / 2:
        return f"{value:z.{decimals}f}"  # only an odd multiple of half a unit is a tie
    from decimal import ROUND_HALF_UP, Decimal, localcontext

    with localcontext(rounding=ROUND_HALF_UP):
        text = format(Decimal(value), f".{decimals}{form}")
    return text if form == "f" else f"{float(text):.{decimals}e}"


def rounded(array: Array, decimals: int) -> Array:
    texts = (fixed(value, decimals) for value in array.ravel().tolist())
    return np.fromiter(map(float, texts), np.float64, array.size).reshape(array.shape)


class NumberStyle(Record):
    """The style of a table's numbers: the count of decimals, and whether as 1.5 or as 1.5e+00."""

    decimals: int = DEFAULT_DECIMALS
    form: str = "f"

    def __call__(self, value: float) -> str:
        """Return a number; exactly 0, as a mask or sparsemax gives, without decimals."""
        if isinf(value):
            return "-∞" if value < 0 else "∞"
        return "0" if value == 0 else fixed(value, self.decimals, self.form)

    def texts(self, values: Sequence[float]) -> list[str]:
        return list(map(self, values))

    def widths(self, columns: Array) -> list[int]:
        """Return the length of the longest number in each column of an array (rows, columns)."""
        if self.form != "f":
            return [max(map(len, self.texts(column))) for column in columns.T.tolist()]
        # The longest number is the largest, the smallest, −∞, or nan.
        finite = np.where(np.isfinite(columns), columns, 0.0)
        ends = [self.texts(end.tolist()) for end in (finite.max(axis=0), finite.min(axis=0))]
        others = np.select([np.isnan(columns), columns == -np.inf], [3, 2], 1).max(axis=0).tolist()
        return [max(len(a), len(b), size) for a, b, size in zip(*ends, others, strict=True)]


def style_of(values: Array, decimals: int = DEFAULT_DECIMALS) -> NumberStyle:
    """Return how to write the numbers of one table so that they line up when set flush right.

    Whole numbers stay whole; others get as many decimals as they need, at most `decimals`.
    """
    largest = max((float(np.abs(chunk).max(initial=0.0)) for chunk in _finite(values)), default=0.0)
    if _needs_exponent(largest, decimals):
        return NumberStyle(decimals, "e")

    def suffice(digits: int) -> bool:
        return all(np.array_equal(np.round(chunk, digits), chunk) for chunk in _finite(values))

    return NumberStyle(next(filter(suffice, range(decimals)), decimals))


def number_text(value: float, decimals: int) -> str:
    """Return a number as `style_of` writes it in a table with no other number."""
    if value == 0 or not isfinite(value):
        return NumberStyle(decimals)(value)
    if _needs_exponent(abs(value), decimals):
        return fixed(value, decimals, "e")
    text = fixed(value, decimals)
    for digits in range(decimals) if float(text) == value else ():
        if round(value * 10.0**digits) / 10.0**digits == value:
            return fixed(value, digits)
    return text


def _needs_exponent(largest: float, decimals: int) -> bool:
    return largest >= TOO_LONG or 0 < largest < 0.5 * 10.0**-decimals


def _finite(values: Array) -> Iterator[Array]:
    for chunk in np.nditer(values, ["external_loop", "buffered", "zerosize_ok"], buffersize=BUFFER):
        yield chunk[np.isfinite(chunk)]


def every_digit(value: float) -> str:
    """Return the shortest decimal number that reads back as the same float."""
    if isinf(value):
        return "-Infinity" if value < 0 else "Infinity"
    return repr(value + 0.0).removesuffix(".0")  # the sum makes 0 of -0


def floats(array: Array) -> Any:
    """Return an array as nested lists of floats, with the digits that its dtype holds.

    The float64 of the float32 0.1 is 0.10000000149011612; with the digits that tell it from other
    float32 numbers, as NumPy prints it, it is 0.1. No number is -0.
    """
    if array.dtype.kind != "f" or array.dtype.itemsize >= 8:
        return (array + 0.0).tolist()  # the sum makes 0 of -0
    if array.ndim > 1:  # some at a time, as the texts take more memory than the numbers
        return list(map(floats, array))
    return (array + 0.0).astype(str).astype(np.float64).tolist()


def joined(values: list[float], decimals: int | None, sign: str = ",") -> str:
    """Return numbers as a file writes them, with `sign` between: every digit, or some `decimals`.

    >>> joined([14.0, 0.1, float("-inf")], None), joined([0.125, float("inf")], 2, ";")
    ('14,0.1,-Infinity', '0.13;Infinity')
    """
    if decimals is None:
        text = sign.join([*map(repr, values), ""]).replace(f".0{sign}", sign)
    else:
        text = sign.join([*(fixed(value, decimals) for value in values), ""])
    return text[:-1].replace("inf", "Infinity")


def texts(values: list[float], decimals: int | None) -> list[str]:
    return joined(values, decimals).split(",") if values else []
