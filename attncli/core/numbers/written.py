"""Numbers as people write them: 0.5, 1e3, 1/3, 4/sqrt(3); how messages name a key or a cell."""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from numbers import Real
from typing import Any

from attncli.core.errors import KeyPath, fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text as as_text
from attncli.core.numbers.parser import DIGITS, FUNCTIONS, INFINITE, NumberError, parse
from attncli.core.records import EMPTY
from attncli.core.text.strings import regex, visible

# Only what is used often is compiled here: every pattern takes 0.2 ms of each start.
DECIMAL = regex(r"[+-]?\d*(?:\.(\d*))?(?:[eE]([+-]?\d+))?")
"""A decimal number; its groups are the decimals and the power of ten."""
NOT_ZERO = r"(?<![\d.])[\d.]*[1-9][\d.]*(?:[eE][+-]?\d+)?"
SMALL_POWER, MANY_ZEROS = r"-(?<=[eE]-)\d{3}", "0" * 200
"""Parts of every decimal number that is too small for a float (the smallest is 5e-324)."""
ABOUT = "≈≃≅∼~"
"""Signs before a rounded number; they are ignored."""
DASHES = "−–‒‐‑－"
BLANK_CELLS = frozenset(("", "~", "_", "?", "null", "Null", "NULL", "None"))
MONTH = r"(jan|feb|mar|mär|apr|mai|may|jun|jul|aug|sep|okt|oct|nov|dez|dec)\w*"
DAY = r"(?:19|20)\d\d-\d{1,2}-\d{1,2}(?:[T ].*)?|\d{1,2}[./]\d{1,2}[./](?:19|20)\d\d"  # in digits
DATE = rf"{DAY}|\d{{1,2}}[-. ]{{0,2}}{MONTH}|{MONTH}[-. ]{{0,2}}\d{{1,4}}"
"""Dates, which spreadsheets make of 1/2 and 1-2."""
CURRENCY, UNIT = "[$€£¥₹]", "[kcm]?m|[km]?g|m?s"
WITH_UNIT = rf"{CURRENCY}\s*([-+]?\d[\d.,]*)|([-+]?\d[\d.,]*)\s*(?:{CURRENCY}|{UNIT})"
"""A number with the sign of a currency or a unit, such as $5 and 5 kg."""
CELL = rf"(?:[-+{DASHES}≈~]?\.?\d(?:[^\s,;()\[\]]*[\w.%])?|[~?_])"
SEVERAL = rf"{CELL}(?:[\s,;]+{CELL})+"
"""The pattern of several numbers or blank cells, without operators between them."""


class NumberAsWritten(float):
    """A float with the formula as which it was written, such as 1/3 or √3."""

    formula: tree.Formula

    def __new__(cls, value: float, formula: tree.Formula) -> NumberAsWritten:
        number = super().__new__(cls, value)
        number.formula = formula
        return number

    def __getnewargs__(self) -> tuple[float, tree.Formula]:  # type: ignore[override]
        return float(self), self.formula


def value_of(text: str) -> float:
    """Return the value of a written number; an expression is returned with its formula.

    >>> value_of("1/4"), value_of("012"), value_of("-2^2"), value_of("sqrt(16)")
    (0.25, 12.0, -4.0, 4.0)
    """
    plain = text.strip()
    decimal = decimal_of(plain) or decimal_of(plain := normalized(text))
    if decimal:
        return decimal[0]
    formula = parse(plain)
    return NumberAsWritten(evaluate(formula), formula)


@lru_cache(maxsize=16384)  # a class writes the same numbers: a quarter of benchmarks/commands.py
def decimal_of(text: str) -> tuple[float, float] | None:
    """Return the value of a decimal number and one unit in its last place; None for other texts.

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
    except (ValueError, OverflowError):  # a lone sign is not a number, 1e400 is too large for one
        return None
    return (value, unit) if math.isfinite(value) and (value or not vanishes(text)) else None


def vanishes(text: str) -> bool:
    """Return True if one of the decimal numbers in a text is not 0 but becomes 0 as a float.

    >>> vanishes("1 -2e-400"), vanishes("0e-400 1e-300")
    (True, False)
    """
    is_possible = re.search(SMALL_POWER, text) is not None or MANY_ZEROS in text
    return is_possible and not all(map(float, re.findall(NOT_ZERO, text, re.ASCII)))


def normalized(text: str) -> str:
    """Return a written number with its digits, in the characters of the parser.

    >>> normalized("≈ 13.61%"), normalized("–0.50"), normalized("-oo"), normalized("1½")
    ('0.1361', '-0.50', '-inf', '(1+1/2)')
    """
    plain = text.strip()
    if re.fullmatch(DATE, plain, re.IGNORECASE):
        way_out = "if it was 1/2, have the spreadsheet keep the cell as text"
        raise NumberError(f"{visible(plain)} is a date, not a number; {way_out}")
    if len(plain) > 1 and plain[0] in ABOUT:
        plain = plain[1:].lstrip()
    plain = re.sub(f"[{DASHES}]", "-", plain)
    if not plain.isascii():
        plain = re.sub(r"(?<!\d)(\d*+)([½⅓⅔¼¾])", _with_fraction, plain)
        plain = re.sub(r"(?<=[·×*]10)⁻?[⁰¹²³⁴-⁹]+", lambda up: "^" + up[0].translate(RAISED), plain)
    if match := re.fullmatch(WITH_UNIT, plain):
        raise NumberError(f"{visible(plain)} is not a number; write {match[1] or match[2]}")
    if re.fullmatch(r"[-+]?(\d*\.){2,}\d*", plain, re.ASCII) and any(map(str.isdigit, plain)):
        raise NumberError(f"{visible(plain[:40])} is not a number; it has more than one point")
    if percent := re.fullmatch(r"([^%]*[^%\s])\s*%", plain):
        plain = _hundredth(percent[1])
    return re.sub(r"\A([-+]?)oo\Z", r"\1inf", plain)


FRACTIONS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4"}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def _with_fraction(found: re.Match[str]) -> str:
    whole, sign = found.groups()
    return f"({whole}+{FRACTIONS[sign]})" if whole else FRACTIONS[sign]


def _hundredth(text: str) -> str:
    """Return a hundredth of a written number; a decimal keeps all its digits."""
    if not re.fullmatch(r"[-+]?(\d++(?:\.\d*+)?|\.\d++)", text, re.ASCII):
        return f"({text})/100"
    sign = text[0] if text[0] in "+-" else ""
    whole, _, decimals = text.removeprefix(sign).partition(".")
    whole = whole.zfill(3)
    return f"{sign}{whole[:-2]}.{whole[-2:]}{decimals}"


def evaluate(formula: tree.Formula, names: Mapping[str, float] = EMPTY) -> float:
    """Return the value of an expression; refuse one without a value that a float can hold."""
    try:
        value = _value(formula, names)
        reason = "has no value" if math.isnan(value) else ""
    except NumberError:
        raise
    except ZeroDivisionError:
        reason = "divides by 0"
    except ArithmeticError:
        reason = "is too large"
    except ValueError:
        reason = "has no real value"
    if reason:
        raise NumberError(f"{as_text(tree.Value(formula))} {reason}", "values")
    return value


def in_any_case(word: str) -> str:
    """Return the pattern of a word in small or capital letters.

    >>> in_any_case("pi")
    '[pP][iI]'
    """
    return "".join(f"[{c}{c.upper()}]" if c != c.upper() else c for c in word)


def _expression(names: Collection[str] = (), minus: str = "−") -> str:
    """Return the pattern of an expression; `minus` has the signs that are read as a hyphen.

    It checks which signs may follow each other, not whether parentheses match or a value exists, as
    for 1/0. Python and the JavaScript of editors read it alike.
    """
    functions = "|".join(FUNCTIONS)
    constants = "|".join(["e", "π", *map(in_any_case, ("pi", *INFINITE)), *names])
    before = rf"[-+{minus}(]|√(?!\s*[-+{minus}])|(?:{functions})\s*\(|(?:{DIGITS})\s*(?=√)"
    operand = rf"(?:(?:{before})\s*)*(?:{DIGITS}|{constants})\s*(?:\)\s*)*"
    return rf"{operand}(?:(?:\*\*|[-+{minus}*/^·×])\s*{operand})*"


def of_expression(names: Collection[str] = ()) -> str:
    """Return the pattern of a whole text that `parse` reads."""
    return rf"^\s*(?:{_expression(names)}|{_infinite()})\s*$"


def of_number() -> str:
    """Return the pattern of a whole text that `value_of` reads."""
    whole = rf"{_expression(minus=DASHES)}%?|[-+{DASHES}]?oo|{_infinite(DASHES)}"
    return rf"^(?!\s*(?:{DAY})\s*$)\s*(?:[{ABOUT}]\s*)?(?:{whole})\s*$"


def _infinite(minus: str = "") -> str:
    return rf"[-+{minus}]*\.{in_any_case('inf')}"


def operation_of(formula: tree.Formula) -> str:
    """Return the operation of a node of an expression: + * / ^, a function's name or a word."""
    if isinstance(formula, tree.Infix):
        return formula.word
    return formula.function if isinstance(formula, tree.Call) else OPERATIONS[type(formula)]


def _value(formula: tree.Formula, names: Mapping[str, float]) -> float:
    if isinstance(formula, tree.Number):
        return _of_digits(formula.text)
    if isinstance(formula, tree.Name):
        word = as_text(formula)
        known = {"e": math.e, "π": math.pi, **names}
        if word not in known:
            raise NumberError(f"{word} has no value here")
        return known[word]
    work = WORK[operation_of(formula)]
    result, *others = (_value(part, names) for part in tree.parts(formula))
    if not others:
        return work(result)
    for value in others:  # from left to right
        before = result
        result = work(before, value)
        if math.isinf(result) and not (math.isinf(before) or math.isinf(value)):
            raise OverflowError  # only infinite operands give an infinite result
    return result


def _of_digits(text: str) -> float:
    if text == "∞":
        return math.inf
    if text[:2].lower() in ("0x", "0o"):
        return float(int(text, 0))
    value = float(text)
    if math.isinf(value):
        raise OverflowError
    if not value and vanishes(text):
        raise NumberError(f"{text[:40]} is smaller than a float holds; write 0, which it becomes")
    return value


def _power(base: float, exponent: float) -> float:
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError
    return float(result)


OPERATIONS = {
    tree.Plus: "+",
    tree.Times: "*",
    tree.Fraction: "/",
    tree.Power: "^",
    tree.Minus: "negative",
    tree.Root: "sqrt",
}


def _of_angle(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(import_module("math" if isinstance(x, float) else "sympy"), name)(x)


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
    "abs": abs,
    "cos": _of_angle("cos"),
    "sin": _of_angle("sin"),
}
"""The arithmetic operators, and functions of angles, for any kind of number."""

WORK: dict[str, Callable[..., float]] = OPERATORS | {
    "^": _power,
    "negative": lambda x: -x,
    "sqrt": math.sqrt,
    "exp": math.exp,
}


TRUTHS = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0}
"""Words for 1 and 0 in masks; elsewhere they are not numbers."""

MAX_DIGITS_OF_FLOATS = 17
"""Number of significant digits that determine a 64-bit float. Derived."""

LARGEST_COUNT = 2**31
"""Maximum absolute value of a whole number in a problem. Chosen."""


def is_number(raw: object) -> bool:
    """Return True for a number of Python or NumPy; a bool does not count."""
    return isinstance(raw, int | float | Real) and not isinstance(raw, bool)


def to_number(raw: Any, path: KeyPath) -> float:
    if getattr(raw, "ndim", None) == 0 and not is_number(raw):  # an array of one number
        raw = raw.item()
    is_truth = isinstance(raw, str) and raw.strip() in TRUTHS
    if is_truth or not (isinstance(raw, str) or is_number(raw)):
        raise fail(f"{name_of(path)} must be a number", *path)
    value = cell_value(raw, path)
    if not math.isfinite(value):
        raise fail(f"{name_of(path)} must be a finite number", *path, needs="values")
    return value


def to_count(raw: object, path: KeyPath, least: int | None = 1, most: int = LARGEST_COUNT) -> int:
    value = to_number(raw, path)
    kind = "a whole number" if least is None else f"a whole number of at least {least}"
    if abs(value) > most:
        kind = f"a whole number from {-most if least is None else least:,} to {most:,}"
    elif value == int(value) and (least is None or value >= least):
        return int(value)
    message = f"{name_of(path)} must be {kind}, not {visible(str(raw))[:40]}"
    raise fail(message, *path, needs="values")


def cell_value(item: Any, path: KeyPath) -> float:
    """Return the number in one cell, a text or a number; refuse a blank and anything else."""
    if isinstance(item, str):
        try:
            return value_of(item)
        except NumberError as error:
            if is_open(item):
                hint = "write a number there"
                raise fail(f"{_cell(path)} is blank", *path, hint=hint) from None
            raise fail(f"{_cell(path)}: {error}", *path, needs=error.needs) from None
    if not isinstance(item, bool):
        if getattr(item, "ndim", None) == 0 and hasattr(item, "item"):  # a tensor of one number
            refuse_masked(item, path)
            item = item.item()
        if isinstance(item, int | float | Real):
            with suppress(OverflowError):
                return float(item)
    raise fail(f"{_cell(path)} is not a number", *path)


def is_open(text: str) -> bool:
    """Return True for a blank cell, in which a number is still to be written."""
    return text.strip() in BLANK_CELLS


def refuse_masked(raw: Any, path: KeyPath) -> None:
    """Raise an InputError for an array of numpy.ma in which a cell is masked."""
    ma = sys.modules.get("numpy.ma")  # imported by the code that made such an array
    if ma is not None and ma.is_masked(raw):
        raise fail(f"{name_of(path)} has masked cells", *path, hint="fill them, as by X.filled(0)")


def shape_words(shape: Sequence[int]) -> str:
    """Return a shape as messages show it, such as (2, 3)."""
    return f"({', '.join(map(str, shape))})"


def dotted(path: KeyPath) -> str:
    """Return the name of a key in messages: `mask.keep`."""
    return ".".join(part for part in path if isinstance(part, str))


def name_of(path: KeyPath) -> str:
    """Return the name of a key, or a row or a cell of it, in messages: `W_q[1, 2]`."""
    places = [part for part in path if isinstance(part, int)]
    name = dotted(path)
    return f"{name}[{', '.join(str(p + 1) for p in places)}]" if places else name


def cell_words(path: KeyPath, place: Sequence[int]) -> str:
    """Return the words for a cell of a matrix in messages: `row 1, column 2 of W_k`."""
    *stack, row, column = place if len(place) > 1 else (0, *place)
    return f"row {row + 1}, column {column + 1} of {name_of((*path, *stack))}"


def _cell(path: KeyPath) -> str:
    place = [part for part in path if isinstance(part, int)]
    return cell_words(path[: -len(place)], place) if place else dotted(path)
