"""A written number as its value and one unit in its last place: 0.50 is 0.5, to 0.01."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
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
    evaluate,
    normalized,
    number,
    vanishes,
)
from attncli.text.escapes import visible

DECIMAL = re.compile(r"[+-]?\d*(?:\.(\d*))?(?:[eE]([+-]?\d+))?")
"""A decimal number; its groups are the decimals and the power of ten."""

NO_NUMBER = (np.nan, 0.0)
"""The value and the unit of a cell that was left out, or that cannot be read."""

INSTEAD = {
    **dict.fromkeys(("true", "false"), "a number, such as 1 or 0"),
    **dict.fromkeys(("-", "−", "–", "—"), "-inf, or ~ for a cell that is left out"),
}
"""What to write for what is no number; a dash may be a blocked cell, or one that is left out."""

ROUGHLY = re.compile(r"\A(?:about|approx(?:\.|imately)?|ca\.?|circa|around|roughly)\s*(?=\S)", re.I)
"""Words before a number that was rounded, as ≈ is."""


@lru_cache(maxsize=16384)  # the submissions of a class are made of the same numbers
def decimal_of(text: str) -> tuple[float, float] | None:
    """Return a decimal number, and one unit in its last place; None for any other text.

    >>> decimal_of("0.50"), decimal_of("-1.5e3"), decimal_of("1/3"), decimal_of("-")
    ((0.5, 0.01), (-1500.0, 100.0), None, None)
    """
    text = text.replace("−", "-")
    match = DECIMAL.fullmatch(text)
    if match is None:
        return None
    decimals, power = match.groups()
    try:
        value, unit = float(text), 10.0 ** (int(power or 0) - len(decimals or ""))
    except (ValueError, OverflowError):  # a lone sign is no number, 1e400 is too large for one
        return None
    return (value, unit) if isfinite(value) and (value or not vanishes(text)) else None


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
    """Return the values of written numbers, one unit in the last place of each, and their texts.

    Cells that are left out or cannot be read are nan. A text is what was written with the signs of
    a plain decimal: 0.1361 for 13.61 %, 0.14 for ≈0,14. One that cannot be read stays as it is.
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
    """Return a written number in the signs of a plain one, its value, and its last unit.

    Raises:
        NumberError: for what is no number; it tells why, and what to do.

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
    """Return the width of an expression of rounded decimals: of 16/1.73, from 1.725 to 1.735.

    A decimal is good to half a unit in its last place. What is written without a point, as in 1/3
    and 2·sqrt(2), is exact.
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
