"""Formulas as plain text: `scores = Q Kᵀ`, `1·1 + 1·3 + 3·2`."""

from __future__ import annotations

from attncli.notation import tree
from attncli.notation.printer import ATOM, POWER, PRODUCT, Printer
from attncli.text.escapes import label_text


class _Text(Printer):
    def sign(self, sign: str, prefix: bool = False) -> str:
        return sign if prefix else f" {sign} "

    def pause(self, sign: str) -> str:
        return f"{sign} "

    def fenced(self, pair: str, text: str) -> str:
        return f"{pair[0]}{text}{pair[1]}"

    def name(self, node: tree.Name, first: bool) -> str:
        return f"{node.base}_{node.below}" if node.below else node.base

    def number(self, node: tree.Number, first: bool) -> str:
        return node.text

    def words(self, node: tree.Words, first: bool) -> str:
        return node.text

    def dots(self, node: tree.Dots, first: bool) -> str:
        return "…"

    def cell(self, node: tree.Cell, first: bool) -> str:
        lead = "".join(f"[{axis} {number}]" for axis, number in node.lead)
        places = ", ".join(map(label_text, node.places))
        return f"{node.name}{lead}[{places}]" if places else f"{node.name}{lead}"

    def vector(self, node: tree.Vector, first: bool) -> str:
        places = [label_text(place) for place in node.places]
        if len(places) > 1:
            return f"{node.name}[{', '.join(places)}]"
        return "_".join((node.name, *places))

    def times(self, node: tree.Times, first: bool) -> str:
        return node.sign.join(self.factors(node, first))

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

    def value(self, node: tree.Value, first: bool) -> str:
        return self(node.inner, first).replace("−", "-")


class _Broken(_Text):
    """Text with a newline before each sign where a line may break; names and labels have none."""

    def sign(self, sign: str, prefix: bool = False) -> str:
        return sign if prefix else f"{BREAK}{sign} "


BREAK = "\n"

_PRINTER, _BROKEN = _Text(), _Broken()


def text(formula: tree.Formula) -> str:
    """Return a formula as one line of text.

    >>> text(tree.Times((tree.named("Q"), tree.Transpose(tree.named("K"))), " "))
    'Q Kᵀ'
    """
    return _PRINTER(formula)


def pieces(formula: tree.Formula) -> list[str]:
    """Return a formula as text in pieces, split before each =, + and −, where a line may break.

    >>> pieces(tree.Relation((tree.Name("z"), tree.Plus((tree.Number("1"), tree.Number("-2"))))))
    ['z', '= 1', '+ (-2)']
    """
    return _BROKEN(formula).split(BREAK)
