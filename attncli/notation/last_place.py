"""Written numbers as values and units in the last place (ulp): 0.50 is 0.5, its ulp 0.01."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.notation.commas import whole_number
from attncli.notation.parser import NumberError
from attncli.notation.tree import Formula, Number, parts, substituted
from attncli.notation.written import (
    BLANK_CELLS,
    NumberAsWritten,
    decimal_of,
    evaluate,
    normalized,
    number,
)
from attncli.text.escapes import visible

NO_NUMBER = (np.nan, 0.0)
"""The value and the unit of a cell that is blank or cannot be read."""

INSTEAD = {
    **dict.fromkeys(("true", "false"), "a number, such as 1 or 0"),
    **dict.fromkeys(("-", "−", "–", "—"), "-inf, or ~ for a cell that is left out"),
}
"""What to write in place of texts that are no numbers; a dash may be a blocked or a blank cell."""

ROUGHLY = re.compile(r"\A(?:about|approx(?:\.|imately)?|ca\.?|circa|around|roughly)\s*(?=\S)", re.I)
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
    for 13.61 %, 0.14 for ≈0,14. One that cannot be read is returned unchanged.
    """
    pairs: list[Any] = [decimal_of(text) for text in texts.ravel().tolist()]
    if not all(pairs):
        texts = texts.copy()
        for place in [place for place, pair in enumerate(pairs) if pair is None]:
            pairs[place] = NO_NUMBER
            if (text := texts.flat[place]) not in BLANK_CELLS:
                with suppress(NumberError):
                    plain, value, unit = number_of(text)
                    texts.flat[place], pairs[place] = plain, (value, unit)
    flat: Array = np.fromiter(chain.from_iterable(pairs), float, 2 * len(pairs))
    return flat[::2].reshape(texts.shape), flat[1::2].reshape(texts.shape), texts


def number_of(text: str) -> tuple[str, float, float]:
    """Return a written number as a plain one, its value, and its unit in the last place.

    Raises:
        NumberError: for what is no number; the message says why, and what to write.

    >>> number_of("ca. 0,5"), number_of("=1*1+3*1")
    (('0.5', 0.5, 0.1), ('1*1+3*1', 4.0, 0.0))
    """
    if instead := INSTEAD.get(text.casefold()):
        raise NumberError(f"{visible(text)} is not a number; write {instead}")
    is_formula = text.startswith("=")
    try:
        cell = text[1:].strip().lower() if is_formula else ROUGHLY.sub("", text)
        plain = normalized(whole_number(cell))
        if decimal := decimal_of(plain):
            return plain, *decimal
        value = number(plain)
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
    if not isinstance(value, NumberAsWritten):
        return 0.0
    width = 0.0
    for decimal in _decimals(value.formula):
        middle, unit = decimal_of(decimal.text) or NO_NUMBER
        ends = [_with_part(value, decimal, middle + half * unit) for half in (-0.5, 0.5)]
        width += abs(ends[1] - ends[0])
    return width if isfinite(width) else 0.0


def _with_part(whole: NumberAsWritten, part: Number, value: float) -> float:
    """Return the value of an expression with another number in the place of one of its own."""

    def rule(node: Formula) -> Formula | None:
        return Number(repr(value)) if node is part else None

    try:
        return evaluate(substituted(whole.formula, rule))
    except NumberError:  # 1/0.0, or the root of a number below 0
        return float(whole)


def _decimals(formula: Formula) -> list[Number]:
    """Return the numbers with a point in an expression."""
    if isinstance(formula, Number):
        return [formula] if "." in formula.text and decimal_of(formula.text) else []
    return [number for part in parts(formula) for number in _decimals(part)]
