"""The base class of the printers of formulas: one method per node, and where parentheses go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attncli.notation import tree
from attncli.notation.tree import Formula, Minus, Number

LOOSE, SUM, SIGNED, PRODUCT, POWER, ATOM = range(6)
"""How tightly a node binds; in the place of a tighter one it gets parentheses."""

BINDS = {
    **dict.fromkeys(("Relation", "Listed", "Phrase"), LOOSE),
    "Plus": SUM,
    "Minus": SIGNED,
    **dict.fromkeys(("Times", "Fraction"), PRODUCT),
    **dict.fromkeys(("Power", "Squared", "Transpose", "Root"), POWER),
}
"""Levels by the names of node classes; all others are atoms."""


class Printer:
    """Prints formulas in one format, with one method per class of nodes.

    A method takes the node, and whether it is `first` in the formula or after a parenthesis: a
    number with a sign needs no parentheses there. A subclass defines the signs of its format and
    the methods of the nodes that differ in it.
    """

    fraction_is_atom = False
    """True if a fraction is drawn with a line, and so needs no parentheses in a product."""

    derivative_is_atom = True
    """True if a derivative is written as a name, d_Q, and not as a fraction."""

    def __call__(self, formula: Formula, first: bool = True) -> str:
        text: str = getattr(self, type(formula).__name__.lower())(formula, first)
        return text

    def sign(self, sign: str, prefix: bool = False) -> str:
        """Return a sign between two texts, or before one."""
        raise NotImplementedError

    def pause(self, sign: str) -> str:
        """Return the separator of a list: a comma, a semicolon, or "" for only a blank."""
        raise NotImplementedError

    def fenced(self, pair: str, text: str) -> str:
        """Return a text between a pair of signs: (), [] or ‖‖."""
        raise NotImplementedError

    def joined(self, parts: Iterable[str], between: str = "") -> str:
        return between.join(parts)

    def group(self, text: str) -> str:
        return self.fenced("()", text)

    def inside(self, formula: Formula, binds: int, first: bool = False) -> str:
        """Return an operand, in parentheses where it binds less tightly than `binds`."""
        is_fraction = isinstance(formula, tree.Name) and tree.derived(formula) is not None
        is_loose = binds == ATOM and is_fraction and not self.derivative_is_atom
        if binds_enough(formula, binds, first) and not is_loose:
            return self(formula, first)
        return self.group(self(formula))

    def factors(self, node: tree.Times, first: bool) -> list[str]:
        return [
            self._factor(f, node.sign, first and not i, not i) for i, f in enumerate(node.factors)
        ]

    def _factor(self, formula: Formula, sign: str, first: bool, leads: bool) -> str:
        """Return a factor of a product; among numbers, a·(b·c) and (a/b)·c keep parentheses."""
        inner = formula.operand if isinstance(formula, Minus) else formula
        if isinstance(inner, tree.Fraction) and not self.fraction_is_atom:
            loose = sign == "·" or not (leads or inner.tight)
        else:
            own = inner.sign if isinstance(inner, tree.Times) else ""
            loose = sign == "·" and (own == " · " or (own == sign and not leads))
        return self.group(self(formula)) if loose else self.inside(formula, PRODUCT, first)

    def place(self, word: str) -> str:
        return self(Number(word) if word.isdecimal() else tree.Words(word))

    # Nodes that all formats compose in the same way.

    def omitted(self, node: tree.Omitted, first: bool) -> str:
        return self(tree.Words(f"… {node.words} …"))

    def vector(self, node: tree.Vector, first: bool) -> str:
        return self(tree.Cell(node.name, (), node.places))

    def minus(self, node: Minus, first: bool) -> str:
        return self(tree.Plus((node,)))

    def plus(self, node: tree.Plus, first: bool) -> str:
        return self.joined(part for pair in self.signed(node) for part in pair if part)

    def signed(self, node: tree.Plus) -> Iterator[tuple[str, str]]:
        """Yield the sign before each term of a sum, or "", and the term."""
        for place, term in enumerate(node.terms):
            sign, inner = ("−", term.operand) if isinstance(term, Minus) else ("+", term)
            shown = self.sign(sign, prefix=not place) if place or sign == "−" else ""
            yield shown, self.inside(inner, PRODUCT, first=not (place or shown))

    def squared(self, node: tree.Squared, first: bool) -> str:
        return self(tree.Power(node.operand, Number("2")))

    def call(self, node: tree.Call, first: bool) -> str:
        arguments = self(tree.Listed(node.arguments))
        return self.joined([self(tree.Name(node.function)), self.group(arguments)])

    def norm(self, node: tree.Norm, first: bool) -> str:
        return self.fenced("‖‖", self(node.operand))

    def stack(self, node: tree.Stack, first: bool) -> str:
        return self.fenced("[]", self(tree.Listed(node.parts, ";")))

    def value(self, node: tree.Value, first: bool) -> str:
        return self(node.inner, first)

    def slot(self, node: tree.Slot, first: bool) -> str:
        return self(tree.Dots())

    def filled(self, node: tree.Filled, first: bool) -> str:
        return self(node.formula, first)

    def fence(self, node: tree.Fence, first: bool) -> str:
        return self.group(self(node.inner))

    def relation(self, node: tree.Relation, first: bool) -> str:
        before, *rest = map(self, node.parts)
        parts = [before]
        for place, part in enumerate(rest, 1):
            parts += [self.sign("=" if place < len(rest) else node.last), part]
        return self.joined(parts)

    def listed(self, node: tree.Listed, first: bool) -> str:
        return self.joined(map(self, node.parts), self.pause(node.sign))

    def phrase(self, node: tree.Phrase, first: bool) -> str:
        return self(tree.Listed(node.parts, ""))


def binds_enough(formula: Formula, binds: int, first: bool) -> bool:
    """Return True if an operand needs no parentheses where it must bind as tightly as `binds`."""
    own = level(formula)
    return own >= binds or (first and own == SIGNED)


def level(formula: Formula) -> int:
    """Return how tightly a formula binds."""
    if isinstance(formula, tree.Value):
        return level(formula.inner)
    if isinstance(formula, Number) and formula.text.startswith("-"):
        return SIGNED
    return BINDS.get(type(formula).__name__, ATOM)
