"""The scale of the scores: an expression such as 1/sqrt(d_k), with sizes put in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

from attncli.errors import KeyPath, fail
from attncli.forms.form import STRING, Form, as_text
from attncli.forms.scalars import is_number, to_number
from attncli.notation.parser import NumberError, parse
from attncli.notation.text import text as text_of
from attncli.notation.tree import Formula, Fraction, Number, Relation
from attncli.notation.written import NumberAsWritten, evaluate, of_expression, with_numbers
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.attention.weights import Factor

SCALE_NAMES = ("d_k", "d_v", "d_model", "n", "m")
"""The sizes that a scale expression may use."""


def _scale(raw: object, path: KeyPath) -> str:
    """Return the scale as text; it is calculated when the sizes are known."""
    if is_number(raw):
        return repr(to_number(raw, path)).removesuffix(".0")
    text = as_text(raw, path)
    if text.strip().lower() in ("none", "no", "false", "off"):
        raise fail(f"scale: {visible(text)} is not a number", *path, hint="write scale: 1")
    try:
        parse(text, SCALE_NAMES)
    except NumberError as error:
        hint = "write such as 1/sqrt(d_k)"
        raise fail(f"scale: {error}", *path, hint=hint, needs=error.needs) from None
    return text


SCALE = Form(_scale, ({"type": "number"}, STRING | {"pattern": of_expression(SCALE_NAMES)}))

RECIPROCALS: Mapping[str, str] = {
    "sqrt(d_k)": "1/sqrt(d_k)",
    "√d_k": "1/sqrt(d_k)",
    "√(d_k)": "1/sqrt(d_k)",
    "d_k^0.5": "1/sqrt(d_k)",
    "d_k^(1/2)": "1/sqrt(d_k)",
    "sqrt(d_model)": "1/sqrt(d_model)",
    "d_k": "1/d_k",
}
"""The divisors of scores in textbooks, with the scale that divides by them."""


def reciprocal(text: str) -> str:
    """Return the scale that divides by what a scale multiplies by; "" for any other scale.

    >>> reciprocal("sqrt(d_k)"), reciprocal("1/sqrt(d_k)")
    ('1/sqrt(d_k)', '')
    """
    return RECIPROCALS.get(text.replace(" ", ""), "")


@lru_cache(maxsize=64)  # without it, a stream of small problems takes 1.2 times as long
def factor(text: str, **sizes: int) -> Factor | None:
    """Return a scale expression with sizes put in; None where it is 1.

    A quotient is kept as one, so that 1/sqrt(d_k) divides by √d_k with a single rounding.

    Raises:
        InputError: for what cannot be read or calculated.
    """
    from attncli.attention.weights import Factor

    names = {name: float(size) for name, size in sizes.items()}

    def number(formula: Formula) -> NumberAsWritten:
        return NumberAsWritten(evaluate(formula, names), with_numbers(formula, names))

    try:
        symbol = parse(text, SCALE_NAMES)
        times, over = number(symbol), NumberAsWritten(1.0, Number("1"))
        if isinstance(symbol, Fraction) and isfinite(under := number(symbol.under)):
            times, over = number(symbol.over), under
            symbol = symbol.under if float(times) == 1 else symbol
    except NumberError as error:
        raise fail(f"scale: {error}", "scale") from None
    if not isfinite(times / over):
        raise fail("scale must be finite", "scale")
    if times == over:
        return None
    return Factor(times, over, symbol, _substitution(symbol, names))


def _substitution(symbol: Formula, names: Mapping[str, float]) -> Formula | None:
    """Return √d_k = √3 = 1.7321: the names, the numbers, the value; None if all are the same."""
    value = evaluate(symbol, names)
    rounded = f"{value:.4f}".rstrip("0").rstrip(".") if 1e-4 < abs(value) < 1e9 else f"{value:.4g}"
    chain = (symbol, with_numbers(symbol, names), Number(rounded))
    parts = {text_of(formula): formula for formula in chain}
    return Relation(tuple(parts.values())) if len(parts) > 1 else None
