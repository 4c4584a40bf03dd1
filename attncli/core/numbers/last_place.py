"""The digits of written numbers: their units in the last place, and floats that programs printed.

A unit in the last place (ulp): 0.50 is 0.5, its unit is 0.01.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from math import isfinite, log2
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.formulas.tree import Formula, Number, nodes, substituted
from attncli.core.numbers import written
from attncli.core.numbers.grid import whole_number
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.written import decimal_of
from attncli.core.text.strings import regex, visible

NO_NUMBER = (np.nan, 0.0)
"""The value and the unit of a cell that is blank or cannot be read."""
INSTEAD = {
    **dict.fromkeys(("true", "false"), "a number, such as 1 or 0"),
    **dict.fromkeys(("-", "−", "–", "—"), "-inf, or ~ for a cell that is left out"),
}
"""Hints for texts that are not numbers; a dash may mean a blocked cell or a blank one."""
ROUGHLY = regex(r"\A(?:about|approx(?:\.|imately)?|ca\.?|circa|around|roughly)\s*(?=\S)", re.I)
"""Words with the meaning of ≈ before a number."""


def significant(texts: Iterable[str]) -> int:
    """Return the maximum number of significant digits of some decimal numbers.

    Zeros at the end of a whole number are not counted: 1200 may be written for 1202.
    """
    most = 0
    for text in texts:
        mantissa = text.lstrip("+-").lower().partition("e")[0].removesuffix(".0")
        digits = mantissa.replace(".", "").lstrip("0")
        most = max(most, len(digits if "." in mantissa else digits.rstrip("0")))
    return most


def numbers_of(texts: Array) -> tuple[Array, Array, Array]:
    """Return the values of written numbers, their units in the last place, and their texts.

    Cells that are blank or cannot be read are nan. The texts are those of plain decimals: 0.1361
    for 13.61 %, 0.14 for ≈0,14. One that cannot be read is returned unchanged. The numbers of a
    program are values without a unit.
    """
    if texts.dtype.kind != "O":
        return texts, np.zeros(texts.shape), texts
    cells = texts.ravel().tolist()
    pairs: list[Any] = [decimal_of(x) if type(x) is str else (x, 0.0) for x in cells]
    if not all(pairs):
        texts = texts.copy()
        for place in [place for place, pair in enumerate(pairs) if pair is None]:
            pairs[place] = NO_NUMBER
            if (text := texts.flat[place]) not in written.BLANK_CELLS:
                with suppress(NumberError):
                    plain, value, unit = number_of(text)
                    texts.flat[place], pairs[place] = plain, (value, unit)
    flat: Array = np.fromiter(chain.from_iterable(pairs), float, 2 * len(pairs))
    return flat[::2].reshape(texts.shape), flat[1::2].reshape(texts.shape), texts


def number_of(text: str) -> tuple[str, float, float]:
    """Return a written number as a plain one, its value, and its unit in the last place.

    >>> number_of("ca. 0,5"), number_of("=1*1+3*1")
    (('0.5', 0.5, 0.1), ('1*1+3*1', 4.0, 0.0))
    """
    if instead := INSTEAD.get(text.casefold()):
        raise NumberError(f"{visible(text)} is not a number; write {instead}")
    is_formula = text.startswith("=")
    try:
        cell = text[1:].strip().lower() if is_formula else ROUGHLY.sub("", text)
        plain = written.normalized(whole_number(cell))
        if decimal := decimal_of(plain):
            return plain, *decimal
        value = written.value_of(plain)
    except NumberError:
        if not is_formula:
            raise
        message = f"{visible(text)} is a formula of a spreadsheet; paste as values"
        raise NumberError(message) from None
    if value == np.inf:
        raise NumberError(f"{visible(text)} is infinite; only −inf is a number, in a blocked cell")
    return plain, value, _implied_unit(value)


def _implied_unit(value: float) -> float:
    """Return the width of the uncertainty interval of an expression of rounded decimals.

    The 1.73 in 16/1.73 may be from 1.725 to 1.735. Numbers without a point, as in 1/3 and
    2·sqrt(2), are exact.
    """
    if not isinstance(value, written.NumberAsWritten):
        return 0.0
    width = 0.0
    numbers = [node for node in nodes(value.formula) if isinstance(node, Number)]
    for decimal in (number for number in numbers if "." in number.text):
        middle, unit = decimal_of(decimal.text) or NO_NUMBER
        ends = [_with_part(value, decimal, middle + half * unit) for half in (-0.5, 0.5)]
        width += abs(ends[1] - ends[0])
    return width if isfinite(width) else 0.0


def _with_part(whole: written.NumberAsWritten, part: Number, value: float) -> float:
    """Return the value of an expression with another number in the place of one of its own."""

    def rule(node: Formula) -> Formula | None:
        return Number(repr(value)) if node is part else None

    try:
        return written.evaluate(substituted(whole.formula, rule))
    except NumberError:  # 1/0.0, or the root of a number below 0
        return float(whole)


# --- floats of 16 or 32 bits that a program printed, recognised by their digits ---------------

TYPED_DIGITS = {"float16": 3, "float32": 5, "float64": 8}
"""Maximum number of significant digits, by type, of numbers that people type into an array."""
LONG_NUMBER = 7
"""Minimum number of significant digits of a number that counts as long."""
MIN_LONG_NUMBERS = 4
"""Minimum count of long numbers: one or two may agree with floats of a type by chance."""
PRECISIONS = {"float16": 11, "float32": 24}
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
    most = max((_digits_of(text) for text in texts if "." in text), default=0)
    return dtype in PRECISIONS and 0 < most <= TYPED_DIGITS[dtype]


def dtype_of_texts(texts: Iterable[str], enough: int = MIN_LONG_NUMBERS) -> str:
    """Return float16 or float32 if every long number is a printed float of that type, else "".

    >>> dtype_of_texts(["0.18634205", "0.5", "0.09003057", "0.24472848", "0.66524094"])
    'float32'
    >>> dtype_of_texts(["1020.6584", "31.9477", "1052.6061"])
    ''
    """
    decimals = [text for text in texts if "." in text]
    counted = [(text, _digits_of(text)) for text in decimals if len(text) > LONG_NUMBER]
    long = [(text, count) for text, count in counted if count >= LONG_NUMBER]
    if not long or 2 * len(long) < len(decimals):
        return ""  # large numbers with a fixed number of decimals have many digits, too
    most = max(count for _, count in long)
    for dtype, least in SURELY_PRINTED.items():
        beyond = sum(count * log2(10) - PRECISIONS[dtype] for _, count in long)
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
