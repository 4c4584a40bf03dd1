"""Exact numbers as people write them: e^10/(e^6 + e^10 + e^11), 4√3/3, tanh(1/2).

Only for when sympy is there and exact numbers are wanted: importing it takes long.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import sympy
from sympy.printing.str import StrPrinter


def written(number: Any) -> str:
    """Return the text of an exact number of sympy.

    >>> written(4 / sympy.sqrt(3)), written(1 / (1 + sympy.E)), written(-sympy.oo)
    ('4√3/3', '1/(1 + e)', '-∞')
    """
    text: str = Printer({"order": "lex"}).doprint(number)
    return text


def in_latex(number: Any) -> str:
    """Return an exact number of sympy in LaTeX."""
    text: str = sympy.latex(number)
    return text


class Printer(StrPrinter):  # type: ignore[misc]  # sympy carries no types
    """Writes with √, ^ and ·, as the rest of the program does."""

    def _print_Pow(self, power: Any, rational: bool = False) -> str:  # noqa: N802
        del rational
        if power.exp == sympy.Rational(1, 2):
            return f"√{self._tight(power.base)}"
        if power.base == sympy.E:
            return self._print_exp(power)
        if power.exp.is_number and power.exp.is_negative:
            return f"1/{self._below(1 / power)}"
        return f"{self._tight(power.base)}^{self._tight(power.exp)}"

    def _print_exp(self, power: Any) -> str:
        return f"e^{self._tight(power.exp if power.is_Pow else power.args[0])}"

    def _print_Exp1(self, number: Any) -> str:  # noqa: N802
        return "e"

    def _print_Infinity(self, number: Any) -> str:  # noqa: N802
        return "∞"

    def _print_NegativeInfinity(self, number: Any) -> str:  # noqa: N802
        return "-∞"

    def _print_Pi(self, number: Any) -> str:  # noqa: N802
        return "π"

    def _print_Mul(self, product: Any) -> str:  # noqa: N802
        sign, product = ("-", -product) if product.could_extract_minus_sign() else ("", product)
        top, bottom = sympy.fraction(product)
        above = self._factors(top)
        return f"{sign}{above}" if bottom == 1 else f"{sign}{above}/{self._below(bottom)}"

    def _factors(self, product: Any) -> str:
        factors = product.as_ordered_factors() if product.is_Mul else [product]
        texts = [self._tight(f) if f.is_Add else self._print(f) for f in factors]
        text: str = texts[0]
        for before, part in pairwise(texts):
            text += part if part[0] == "√" and before.isdecimal() else f"·{part}"
        return text

    def _below(self, bottom: Any) -> str:
        text: str = self._print(bottom)
        return f"({text})" if bottom.is_Mul or bottom.is_Add else text

    def _tight(self, number: Any) -> str:
        text: str = self._print(number)
        plain = (number.is_Integer and number >= 0) or number in (sympy.E, sympy.pi)
        return text if plain or number.func == sympy.tanh else f"({text})"
