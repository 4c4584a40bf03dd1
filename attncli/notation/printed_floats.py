"""Recognise floats of 16 or 32 bits that a program printed, by their digits."""

from __future__ import annotations

from collections.abc import Iterable
from math import log2

import numpy as np

from attncli.notation.written import decimal_of

HAND_DIGITS = {"float16": 3, "float32": 5}
"""Maximum number of significant digits, by type, of floats that were rounded before they were
stored in an array."""

LONG = 7
"""Minimum number of significant digits of a number that counts as long."""

ENOUGH = 4
"""Minimum count of long numbers: one or two may agree with floats of a type by chance."""

BITS = {"float16": 11, "float32": 24}
"""Bits of precision of a type."""

SURE = 15.0
"""Number of bits by which the long numbers together exceed the precision of a type that makes it
unlikely, however few they are, that all of them are floats of that type by chance."""

SURELY_PRINTED = {"float16": 7, "float32": 8}
"""Minimum number of digits, by type, of the longest number: with these it is unlikely that a number
is a float of that type by chance."""


def is_rounded(texts: Iterable[str], dtype: str) -> bool:
    """Return True if decimals in an array have fewer digits than its type holds.

    >>> is_rounded(["0.84", "1"], "float32"), is_rounded(["0.8437951"], "float32")
    (True, False)
    """
    if dtype not in HAND_DIGITS:
        return False
    most = max((_digits_of(text) for text in texts if "." in text), default=0)
    return 0 < most <= HAND_DIGITS[dtype]


def dtype_of_texts(texts: Iterable[str], enough: int = ENOUGH) -> str:
    """Return float16 or float32 if every long number is a printed float of that type, else "".

    >>> dtype_of_texts(["0.18634205", "0.5", "0.09003057", "0.24472848", "0.66524094"])
    'float32'
    >>> dtype_of_texts(["1020.6584", "31.9477", "1052.6061"])
    ''
    """
    texts = list(texts)
    if max(map(len, texts), default=0) < LONG:
        return ""  # as nearly always, so it is asked first
    if max(len(text.lstrip("+-−0.")) for text in texts) < LONG:
        return ""
    decimals = [text for text in texts if "." in text]
    counted = [(text, _digits_of(text)) for text in decimals if len(text) > LONG]
    long = [(text, count) for text, count in counted if count >= LONG]
    most = max((count for _, count in long), default=0)
    if 2 * len(long) < len(decimals):
        return ""  # large numbers with a fixed number of decimals have many digits, too
    for dtype, least in SURELY_PRINTED.items():
        beyond = sum(count * log2(10) - BITS[dtype] for _, count in long)
        is_sure = most >= least and (len(long) >= enough or beyond >= SURE)
        if is_sure and all(_is_printed(text, count, dtype) for text, count in long):
            return dtype
    return ""


def _digits_of(text: str) -> int:
    """Return the number of significant digits of a decimal without its trailing zeros."""
    if not decimal_of(text):
        return 0
    mantissa = text.lower().partition("e")[0]
    return len(mantissa.rstrip("0").replace(".", "").lstrip("+-−0"))


def _is_printed(text: str, digits: int, dtype: str) -> bool:
    """Return True if a number is a float of a type, rounded to its digits or printed in full."""
    number = float(text.replace("−", "-"))
    with np.errstate(over="ignore"):
        single = np.dtype(dtype).type(number)
    shortest = str(single)
    # 0.66000000000000003 is a 64-bit float, although its value is that of 0.66, a short one.
    is_shortest = number == float(shortest) and digits == _digits_of(shortest)
    return is_shortest or number == float(f"{float(single):.{digits}g}")
