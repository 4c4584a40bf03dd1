"""What every printer of formulas shares: a method a node, and parentheses where they are needed."""

from __future__ import annotations

from attncli.notation.tree import Formula, Fraction, Minus, Number, Times, Value

LOOSE, SUM, SIGNED, PRODUCT, POWER, ATOM = range(6)
"""How tightly a node binds; where a tighter one must stand, it is put in parentheses."""

BINDS = {
    "Relation": LOOSE,
    "Listed": LOOSE,
    "Phrase": LOOSE,
    "Plus": SUM,
    "Minus": SIGNED,
    "Times": PRODUCT,
    "Fraction": PRODUCT,
    "Power": POWER,
    "Squared": POWER,
    "Transpose": POWER,
    "Root": POWER,
}
"""By the name of the node; all others are atoms."""


class Printer:
    """Prints formulas in one format: a subclass has a method for each kind of node.

    A method takes the node and whether it comes `first`, in the whole or after a parenthesis: a
    number with a sign needs no parentheses there.
    """

    def __call__(self, formula: Formula, first: bool = True) -> str:
        """Return a formula as text of the format."""
        text: str = getattr(self, type(formula).__name__.lower())(formula, first)
        return text

    def inside(self, formula: Formula, binds: int, first: bool = False) -> str:
        """Return an operand, in parentheses where it binds less tightly than `binds`."""
        own = level(formula)
        if own >= binds or (first and own == SIGNED):
            return self(formula, first)
        return self.group(self(formula))

    def factor(self, formula: Formula, sign: str, first: bool, leads: bool) -> str:
        """Return a factor of a product; among numbers, a·(b·c) and (a/b)·c keep parentheses."""
        inner = formula.operand if isinstance(formula, Minus) else formula
        if isinstance(inner, Fraction) and not self.fraction_is_atom:
            loose = sign == "·" or not (leads or inner.tight)
        else:
            loose = isinstance(inner, Times) and inner.sign == sign == "·" and not leads
        return self.group(self(formula)) if loose else self.inside(formula, PRODUCT, first)

    fraction_is_atom = False
    """Whether a fraction has a line of its own, and so needs no parentheses in a product."""

    def group(self, text: str) -> str:
        """Return a text in parentheses."""
        raise NotImplementedError


def level(formula: Formula) -> int:
    """Return how tightly a formula binds."""
    if isinstance(formula, Value):
        return level(formula.inner)
    if isinstance(formula, Number) and formula.text.startswith("-"):
        return SIGNED
    return BINDS.get(type(formula).__name__, ATOM)
