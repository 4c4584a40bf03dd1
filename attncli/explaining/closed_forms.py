"""Exact numbers of sympy as formulas: e^10/(e^6 + e^10 + e^11), 4√3/3, tanh(1/2).

Only for when sympy is there and exact numbers are wanted: importing it takes long.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy.printing.printer import Printer

from attncli.notation import tree


def closed_form(number: Any) -> tree.Formula:
    """Return the formula of an exact number of sympy.

    >>> from attncli.notation.text import text
    >>> text(closed_form(4 / sympy.sqrt(3))), text(closed_form(1 / (1 + sympy.E)))
    ('4√3/3', '1/(1 + e)')
    """
    return tree.Value(_Formulas()._print(number))


class _Formulas(Printer):  # type: ignore[misc]  # sympy carries no types
    """Turns each kind of sympy's numbers into a node; sympy finds the method by its name."""

    def _print_Integer(self, number: Any) -> tree.Formula:  # noqa: N802 - sympy's names, here and below
        return tree.Number(str(number))

    def _print_Rational(self, number: Any) -> tree.Formula:  # noqa: N802
        return tree.Fraction(tree.Number(str(number.p)), tree.Number(str(number.q)), tight=True)

    def _print_Exp1(self, number: Any) -> tree.Formula:  # noqa: N802
        return tree.Name("e")

    def _print_Pi(self, number: Any) -> tree.Formula:  # noqa: N802
        return tree.Name("π")

    def _print_Infinity(self, number: Any) -> tree.Formula:  # noqa: N802
        return tree.Number("∞")

    def _print_NegativeInfinity(self, number: Any) -> tree.Formula:  # noqa: N802
        return tree.Number("-∞")

    def _print_tanh(self, call: Any) -> tree.Formula:
        return tree.Call("tanh", (self._print(call.args[0]),))

    def _print_exp(self, call: Any) -> tree.Formula:
        return tree.Power(tree.Name("e"), self._print(call.args[0]))

    def _print_Pow(self, power: Any) -> tree.Formula:  # noqa: N802
        if power.exp == sympy.Rational(1, 2):
            return tree.Root(self._print(power.base))
        if power.base != sympy.E and power.exp.is_number and power.exp.is_negative:
            return tree.Fraction(tree.Number("1"), self._print(1 / power), tight=True)
        return tree.Power(self._print(power.base), self._print(power.exp))

    def _print_Add(self, total: Any) -> tree.Formula:  # noqa: N802
        terms = total.as_ordered_terms(order="lex")
        return tree.Plus(tuple(map(self._signed, terms)))

    def _signed(self, term: Any) -> tree.Formula:
        minus = term.could_extract_minus_sign()
        return tree.Minus(self._print(-term)) if minus else self._print(term)

    def _print_Mul(self, product: Any) -> tree.Formula:  # noqa: N802
        if product.could_extract_minus_sign():
            return tree.Minus(self._print(-product))
        top, bottom = sympy.fraction(product)
        above = self._factors(top)
        return above if bottom == 1 else tree.Fraction(above, self._print(bottom), tight=True)

    def _factors(self, product: Any) -> tree.Formula:
        factors = product.as_ordered_factors() if product.is_Mul else [product]
        formulas: list[tree.Formula] = []
        for factor in map(self._print, factors):
            before = formulas[-1] if formulas else None
            if isinstance(factor, tree.Root) and isinstance(before, tree.Number):  # 4√3
                formulas[-1] = tree.Times((before, factor), "")
            else:
                formulas.append(factor)
        return formulas[0] if len(formulas) == 1 else tree.Times(tuple(formulas))

    def emptyPrinter(self, expr: Any) -> tree.Formula:  # noqa: N802
        """Print anything without a method of its own as sympy does."""
        return tree.Words(str(expr))
