"""Formulas as plain text: `scores = Q Kᵀ`, `1·1 + 1·3 + 3·2`."""

from __future__ import annotations

from attncli.notation.printer import ATOM, POWER, PRODUCT, Printer
from attncli.notation.tree import (
    Call,
    Cell,
    Dots,
    Fence,
    Formula,
    Fraction,
    Listed,
    Minus,
    Name,
    Norm,
    Number,
    Omitted,
    Phrase,
    Plus,
    Power,
    Relation,
    Root,
    Squared,
    Stack,
    Times,
    Transpose,
    Value,
    Vector,
    Words,
)
from attncli.text.escapes import label_text


class _Text(Printer):
    """One line of text."""

    def name(self, node: Name, first: bool) -> str:
        return f"{node.base}_{node.below}" if node.below else node.base

    def number(self, node: Number, first: bool) -> str:
        return node.text

    def words(self, node: Words, first: bool) -> str:
        return node.text

    def dots(self, node: Dots, first: bool) -> str:
        return "…"

    def omitted(self, node: Omitted, first: bool) -> str:
        return f"… {node.count} more terms …"

    def cell(self, node: Cell, first: bool) -> str:
        lead = "".join(f"[{axis} {number}]" for axis, number in node.lead)
        places = ", ".join(map(label_text, node.places))
        return f"{node.name}{lead}[{places}]" if places else f"{node.name}{lead}"

    def vector(self, node: Vector, first: bool) -> str:
        places = [label_text(place) for place in node.places]
        if len(places) > 1:
            return f"{node.name}[{', '.join(places)}]"
        return "_".join((node.name, *places))

    def minus(self, node: Minus, first: bool) -> str:
        return f"−{self.inside(node.operand, PRODUCT)}"

    def plus(self, node: Plus, first: bool) -> str:
        text = ""
        for term in node.terms:
            minus = isinstance(term, Minus)
            sign = (" − " if minus else " + ") if text else "−" if minus else ""
            inner = term.operand if isinstance(term, Minus) else term
            text += sign + self.inside(inner, PRODUCT, first=not sign)
        return text

    def times(self, node: Times, first: bool) -> str:
        return node.sign.join(
            self.factor(factor, node.sign, first and not place, not place)
            for place, factor in enumerate(node.factors)
        )

    def fraction(self, node: Fraction, first: bool) -> str:
        sign = "/" if node.tight else " / "
        return f"{self.inside(node.over, PRODUCT, first)}{sign}{self.inside(node.under, POWER)}"

    def power(self, node: Power, first: bool) -> str:
        # A tower of plain numbers, 2^3^4, is 2^(3^4) in every convention.
        tower = isinstance(node.base, Number) and isinstance(node.exponent, Power)
        binds = POWER if tower else ATOM
        return f"{self.inside(node.base, ATOM)}^{self.inside(node.exponent, binds)}"

    def squared(self, node: Squared, first: bool) -> str:
        return f"{self.inside(node.operand, ATOM)}²"

    def transpose(self, node: Transpose, first: bool) -> str:
        return f"{self.inside(node.operand, ATOM)}ᵀ"

    def root(self, node: Root, first: bool) -> str:
        return f"√{self.inside(node.operand, ATOM)}"

    def call(self, node: Call, first: bool) -> str:
        return f"{node.function}({', '.join(map(self, node.arguments))})"

    def norm(self, node: Norm, first: bool) -> str:
        return f"‖{self(node.operand)}‖"

    def stack(self, node: Stack, first: bool) -> str:
        return f"[{'; '.join(map(self, node.parts))}]"

    def value(self, node: Value, first: bool) -> str:
        return self(node.inner, first).replace("−", "-")

    def fence(self, node: Fence, first: bool) -> str:
        return self.group(self(node.inner))

    def relation(self, node: Relation, first: bool) -> str:
        *before, last = map(self, node.parts)
        return f"{' = '.join(before)} {node.last} {last}" if before else last

    def listed(self, node: Listed, first: bool) -> str:
        return f"{node.sign} ".join(map(self, node.parts))

    def phrase(self, node: Phrase, first: bool) -> str:
        return " ".join(map(self, node.parts))

    def group(self, text: str) -> str:
        return f"({text})"


_PRINTER = _Text()


def text(formula: Formula) -> str:
    """Return a formula as one line of text.

    >>> from attncli.notation.tree import named
    >>> text(Times((named("Q"), Transpose(named("K"))), " "))
    'Q Kᵀ'
    """
    return _PRINTER(formula)
