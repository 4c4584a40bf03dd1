"""The cells of a student's matrix as numbers: their values, the units of their last digits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import isfinite, log2
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.digits import decimal_of, significant
from attncli.errors import Fault, InputError
from attncli.forms.matrices import cell_words
from attncli.notation.blocks import whole_number
from attncli.notation.parser import NumberError
from attncli.notation.tree import Formula, Number, parts, substituted
from attncli.notation.written import NumberAsWritten, evaluate, normalized, number
from attncli.text.escapes import visible

MISSING = frozenset(("", "~", "_", "?", "null", "None"))
"""How a cell is left out."""

NO_NUMBER = (np.nan, 0.0)
"""The number and the unit of a cell that was left out, or is yet to be read."""

INSTEAD = {
    **dict.fromkeys(("true", "false"), "a number, such as 1 or 0"),
    **dict.fromkeys(("-", "−", "–", "—"), "-inf, or ~ for a cell that is left out"),
}
"""What to write for what is no number; a dash may be a blocked cell, or one that is left out."""

ROUGHLY = re.compile(r"(?:about|approx(?:\.|imately)?|ca\.?|circa|around|roughly)\s*(?=\S)", re.I)
"""Words before a number that was rounded, as ≈ is."""

FLOATS = ("float16", "float32", "float64")
"""What numbers may be that a computer worked out, the coarsest first."""

HAND_DIGITS = {"float16": 3, "float32": 5}
"""With no more significant digits, the floats of an array were rounded by whoever wrote them."""

LONG = 7
"""Numbers with as many significant digits may be those that a program prints."""

ENOUGH = 4
"""So many long numbers are needed, as one or two may be floats of a kind by chance."""

BITS = {"float16": 11, "float32": 24}
"""So many bits of a number such a float holds."""

SURE = 15.0
"""With so many bits more in all long numbers, hardly ever are all of them floats by chance."""

SURELY_PRINTED = {"float16": 7, "float32": 8}
"""With as many digits a number is hardly one of these floats by chance; one at least must be."""


def numbers_of(texts: Array, word: str, most: int = 0) -> tuple[Array, Array, Array]:
    """Return numbers, nan for those left out or unreadable, units of last digits, and texts.

    A text is what was written with the signs of a plain decimal: 0.1361 for 13.61 %, 0.14 for
    ≈0,14. One that is unreadable stays as it is.

    Raises:
        InputError: for the first unreadable cell of the key `word`, where more than `most` are.
    """
    read = [decimal_of(text) for text in texts.ravel().tolist()]
    if all(read):  # as nearly all are
        return *_arrays(read, texts.shape), texts
    numbers, units = _arrays([pair or NO_NUMBER for pair in read], texts.shape)
    texts, faults = texts.copy(), list[Fault]()
    for index in (index for index, pair in enumerate(read) if pair is None):
        place = tuple(map(int, np.unravel_index(index, texts.shape)))
        if texts[place] in MISSING:
            continue
        try:
            texts[place], numbers[place], units[place] = number_of(texts[place])
        except NumberError as error:
            message = f"{cell_words((word,), place)}: {error}"
            faults.append(Fault(message, (word, *place)))
    if len(faults) > most:
        raise InputError(faults[0])
    return numbers, units, texts


def _arrays(pairs: Sequence[Any], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the numbers and the units of pairs of both."""
    flat = np.fromiter(chain.from_iterable(pairs), float, 2 * len(pairs))
    return flat[::2].reshape(shape), flat[1::2].reshape(shape)


def number_of(text: str) -> tuple[str, float, float]:
    """Return a cell in the signs of a plain number, its value, and the unit of its last digit.

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
    return plain, value, _unit_implied(value)


def _unit_implied(number: float) -> float:
    """Return how far an expression of rounded decimals reaches: of 16/1.73, from 1.725 to 1.735.

    A decimal number is good to half a unit of its last digit. What is written without a point, as
    in 1/3 and 2·sqrt(2), is exact.
    """
    if not isinstance(number, NumberAsWritten):
        return 0.0
    reach = 0.0
    for part in _leaves(number.formula):
        decimal = decimal_of(part.text) if "." in part.text else None
        if decimal is None:
            continue
        ends = [_with_part(number, part, decimal[0] + half * decimal[1]) for half in (-0.5, 0.5)]
        reach += abs(ends[1] - ends[0])
    return reach if isfinite(reach) else 0.0


def _with_part(number: NumberAsWritten, part: Number, value: float) -> float:
    """Return what an expression gives with another value in the place of one of its numbers."""

    def rule(node: Formula) -> Formula | None:
        return Number(repr(value)) if node is part else None

    try:
        return evaluate(substituted(number.formula, rule))
    except NumberError:  # 1/0.0, or the root of a number below 0
        return float(number)


def _leaves(formula: Formula) -> Iterator[Number]:
    """Yield the numbers that an expression is made of."""
    if isinstance(formula, Number):
        yield formula
    for part in parts(formula):
        yield from _leaves(part)


def dtype_of(raw: Any) -> str:
    """Return the kind of the numbers of an array, or of lists of arrays; "" for other values."""
    while isinstance(raw, list | tuple) and raw:
        raw = raw[0]
    return str(getattr(raw, "dtype", "")).rpartition(".")[2]  # torch.float32


def is_rounded(texts: Iterable[str], dtype: str) -> bool:
    """Whether numbers were rounded in an array: decimals that have fewer digits than its type has.

    >>> is_rounded(["0.84", "1"], "float32"), is_rounded(["0.8437951"], "float32")
    (True, False)
    """
    if dtype not in HAND_DIGITS:
        return False
    decimals = [text for text in texts if "." in text]
    most = max(map(_digits_of, decimals), default=0)
    return 0 < most <= HAND_DIGITS[dtype]


def dtype_of_texts(texts: Iterable[str], enough: int = ENOUGH) -> str:
    """Return float16 or float32 where every long number is one of these that a program printed.

    >>> dtype_of_texts(["0.18634205", "0.5", "0.09003057", "0.24472848", "0.66524094"])
    'float32'
    >>> dtype_of_texts(["1020.6584", "31.9477", "1052.6061"])
    ''
    """
    texts = list(texts)
    if max(map(len, texts), default=0) <= LONG:
        return ""
    decimals = [text for text in texts if "." in text]
    counted = [(text, _digits_of(text)) for text in decimals if len(text) > LONG]
    long = [(text, count) for text, count in counted if count >= LONG]
    most = max((count for _, count in long), default=0)
    if 2 * len(long) < len(decimals):
        return ""  # large numbers with as many decimals as small ones have many digits, too
    for dtype, least in SURELY_PRINTED.items():
        beyond = sum(count * log2(10) - BITS[dtype] for _, count in long)
        is_sure = most >= least and (len(long) >= enough or beyond >= SURE)
        if is_sure and all(_is_printed(text, count, dtype) for text, count in long):
            return dtype
    return ""


def _digits_of(text: str) -> int:
    return significant([_without_zeros(text)]) if decimal_of(text) else 0


def _without_zeros(text: str) -> str:
    mantissa, e, power = text.replace("−", "-").lower().partition("e")
    return (mantissa.rstrip("0") if "." in mantissa else mantissa) + e + power


def _is_printed(text: str, digits: int, dtype: str) -> bool:
    """Whether a number is a float of a kind, with so many significant digits or in fewest."""
    number = float(text.replace("−", "-"))
    with np.errstate(over="ignore"):
        single = np.dtype(dtype).type(number)
    return number in (float(str(single)), float(f"{float(single):.{digits}g}"))
