"""Formulas as plain text: `scores = Q Kᵀ`, `1·1 + 1·3 + 3·2`."""

from __future__ import annotations

from attncli.notation import tree
from attncli.notation.printer import ATOM, POWER, PRODUCT, Printer
from attncli.text.escapes import label_text


class _Text(Printer):
    """One line of text."""

    def name(self, node: tree.Name, first: bool) -> str:
        return f"{node.base}_{node.below}" if node.below else node.base

    def number(self, node: tree.Number, first: bool) -> str:
        return node.text

    def words(self, node: tree.Words, first: bool) -> str:
        return node.text

    def dots(self, node: tree.Dots, first: bool) -> str:
        return "…"

    def omitted(self, node: tree.Omitted, first: bool) -> str:
        return f"… {node.count} more terms …"

    def cell(self, node: tree.Cell, first: bool) -> str:
        lead = "".join(f"[{axis} {number}]" for axis, number in node.lead)
        places = ", ".join(map(label_text, node.places))
        return f"{node.name}{lead}[{places}]" if places else f"{node.name}{lead}"

    def vector(self, node: tree.Vector, first: bool) -> str:
        places = [label_text(place) for place in node.places]
        if len(places) > 1:
            return f"{node.name}[{', '.join(places)}]"
        return "_".join((node.name, *places))

    def minus(self, node: tree.Minus, first: bool) -> str:
        return f"−{self.inside(node.operand, PRODUCT)}"

    def plus(self, node: tree.Plus, first: bool) -> str:
        text = ""
        for term in node.terms:
            minus = isinstance(term, tree.Minus)
            sign = (" − " if minus else " + ") if text else "−" if minus else ""
            inner = term.operand if isinstance(term, tree.Minus) else term
            text += sign + self.inside(inner, PRODUCT, first=not sign)
        return text

    def times(self, node: tree.Times, first: bool) -> str:
        return node.sign.join(
            self.factor(factor, node.sign, first and not place, not place)
            for place, factor in enumerate(node.factors)
        )

    def fraction(self, node: tree.Fraction, first: bool) -> str:
        sign = "/" if node.tight else " / "
        return f"{self.inside(node.over, PRODUCT, first)}{sign}{self.inside(node.under, POWER)}"

    def power(self, node: tree.Power, first: bool) -> str:
        # A tower of plain numbers, 2^3^4, is 2^(3^4) in every convention.
        tower = isinstance(node.base, tree.Number) and isinstance(node.exponent, tree.Power)
        binds = POWER if tower else ATOM
        return f"{self.inside(node.base, ATOM)}^{self.inside(node.exponent, binds)}"

    def squared(self, node: tree.Squared, first: bool) -> str:
        return f"{self.inside(node.operand, ATOM)}²"

    def transpose(self, node: tree.Transpose, first: bool) -> str:
        return f"{self.inside(node.operand, ATOM)}ᵀ"

    def root(self, node: tree.Root, first: bool) -> str:
        return f"√{self.inside(node.operand, ATOM)}"

    def call(self, node: tree.Call, first: bool) -> str:
        return f"{node.function}({', '.join(map(self, node.arguments))})"

    def norm(self, node: tree.Norm, first: bool) -> str:
        return f"‖{self(node.operand)}‖"

    def stack(self, node: tree.Stack, first: bool) -> str:
        return f"[{'; '.join(map(self, node.parts))}]"

    def value(self, node: tree.Value, first: bool) -> str:
        return self(node.inner, first).replace("−", "-")

    def fence(self, node: tree.Fence, first: bool) -> str:
        return self.group(self(node.inner))

    def relation(self, node: tree.Relation, first: bool) -> str:
        *before, last = map(self, node.parts)
        return f"{' = '.join(before)} {node.last} {last}" if before else last

    def listed(self, node: tree.Listed, first: bool) -> str:
        return f"{node.sign} ".join(map(self, node.parts))

    def phrase(self, node: tree.Phrase, first: bool) -> str:
        return " ".join(map(self, node.parts))

    def group(self, text: str) -> str:
        return f"({text})"


_PRINTER = _Text()


def text(formula: tree.Formula) -> str:
    """Return a formula as one line of text.

    >>> text(tree.Times((tree.named("Q"), tree.Transpose(tree.named("K"))), " "))
    'Q Kᵀ'
    """
    return _PRINTER(formula)
