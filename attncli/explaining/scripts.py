"""Worked formulas as text: with the names of cells, or with their numbers put in.

A `Script` walks a tree of terms and writes it; what a leaf looks like is the caller's to say.
`Latex` writes the same for a page that is set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from attncli.explaining.terms import Binary, Chosen, Constant, Function, Leaf, Named, Term, summands
from attncli.notation import written as expressions
from attncli.text.numbers import every_digit

SUM, SIGNED, PRODUCT, POWER, ATOM = range(1, 6)
"""How tightly a piece of text binds; a looser one is put in parentheses."""

Piece = tuple[str, int]


class Script:
    """Writes terms as text.

    Args:
        leaf: the text of a leaf, and of a term that is called by a letter.
        most: how many terms of a sum are written; the middle of a longer one is left out.
        ends: how many terms are left at either end then.
        whole: a shorter text of a sum as a whole, such as q_am · k_I, or nothing.
        turned: whether the factors of a product change places, as where a token is a column.
        numbers: the operation's own numbers that were written as expressions.
    """

    times = "·"
    also = "; "

    def __init__(
        self,
        leaf: Callable[[Leaf | Named], str],
        most: float = math.inf,
        ends: int = 3,
        whole: Callable[[Sequence[tuple[bool, Term]]], Piece | None] | None = None,
        turned: bool = False,
        numbers: Mapping[float, expressions.Expression] = MappingProxyType({}),
    ) -> None:
        self.leaf = leaf
        self.most = most
        self.ends = ends
        self.whole = whole
        self.turned = turned
        self.numbers = numbers

    def __call__(self, term: Term) -> str:
        """Return the text of a term."""
        return self.piece(term, first=True)[0]

    def piece(self, term: Term, first: bool = False) -> Piece:
        """Return the text of a term and how tightly it binds.

        What comes `first`, in a formula or after a parenthesis, may begin with a sign.
        """
        if isinstance(term, Chosen):
            return self.piece(term.operand, first)
        if isinstance(term, Leaf | Named):
            return self.bound(self.leaf(term))
        if isinstance(term, Constant):
            return self.constant(term.number)
        if isinstance(term, Function):
            return self.function(term)
        assert isinstance(term, Binary)  # there is no other kind
        if term.op in "+-":
            return self.sum(summands(term))
        if term.op == "*":
            left, right = self.factors(term)
            return f"{self.factor(left, first)}{self.times}{self.factor(right)}", PRODUCT
        if term.op == "/":
            return self.quotient(term, first)
        return self.power(term)

    def inside(self, term: Term, binds: int, first: bool = False) -> str:
        """Return the text of an operand, in parentheses where it binds less tightly.

        A number with a sign needs none where it comes `first`.
        """
        text, own = self.piece(term, first)
        return text if own >= binds or (first and own == SIGNED) else self.group(self(term))

    def factors(self, product: Binary) -> tuple[Term, Term]:
        """Return the factors of a product in the order of the convention."""
        left, right = product.left, product.right
        plain = isinstance(left, Constant) or isinstance(right, Constant)
        return (right, left) if self.turned and not plain else (left, right)

    def factor(self, term: Term, first: bool = False) -> str:
        """Return the text of a factor; a quotient stands in parentheses."""
        inner = bare(term)
        if isinstance(inner, Binary) and inner.op == "/":
            return self.group(self(term))
        return self.inside(term, PRODUCT, first)

    def sum(self, parts: Sequence[tuple[bool, Term]]) -> Piece:
        """Return a sum, with the middle left out where it is long."""
        if self.whole is not None and (piece := self.whole(parts)):
            return piece
        shown: list[int | None] = list(range(len(parts)))
        if len(parts) > self.most:
            shown = [*shown[: self.ends], None, *shown[-self.ends :]]
        text = ""
        for index in shown:
            if index is None:
                text += self.left_out(len(parts) - 2 * self.ends)
                continue
            minus, part = parts[index]
            sign = (" − " if minus else " + ") if text else "−" if minus else ""
            text += sign + self.inside(part, PRODUCT, first=not sign)
        return text, SUM

    def function(self, term: Function) -> Piece:
        """Return a function of one term."""
        if term.name == "negative":
            return f"−{self.inside(term.operand, PRODUCT)}", SIGNED
        if term.name == "square":
            return f"{self.inside(term.operand, ATOM)}²", POWER
        if term.name == "at_least_zero":
            return f"max({self(term.operand)}, 0)", ATOM
        if term.name == "exp":
            return self.raised("e", term.operand)
        if term.name == "sqrt":
            if self.whole and (piece := self.whole([(False, term)])):
                return piece
            return f"√{self.inside(term.operand, ATOM)}", POWER
        return f"{term.name}({self(term.operand)})", ATOM

    def quotient(self, term: Binary, first: bool) -> Piece:
        """Return a quotient."""
        top = self.inside(term.left, PRODUCT, first)
        bottom = self.inside(term.right, POWER)
        return f"{top} / {bottom}", PRODUCT

    def power(self, term: Binary) -> Piece:
        """Return a power."""
        return self.raised(self.inside(term.left, ATOM), term.right)

    def raised(self, base: str, exponent: Term) -> Piece:
        """Return a base to the power of a term."""
        return f"{base}^{self.inside(exponent, ATOM)}", POWER

    @staticmethod
    def number(text: str) -> str:
        """Return a number as it is written in tables."""
        return text

    @staticmethod
    def words(text: str) -> str:
        """Return a sentence with places for numbers."""
        return text

    @staticmethod
    def phrase(text: str) -> str:
        """Return some words."""
        return text

    def group(self, text: str) -> str:
        """Return a text in parentheses."""
        return f"({text})"

    def left_out(self, count: int) -> str:
        """Return what stands for terms that are left out."""
        return f" + … {count} more terms …"

    def constant(self, number: float) -> Piece:
        """Return a number of the operation itself, as it was written."""
        tree = self.numbers.get(float(number))
        if isinstance(tree, expressions.Binary | expressions.Negative):
            return self.written(str(tree)), SUM
        if isinstance(tree, expressions.Call | expressions.Name):
            return self.written(str(tree)), ATOM
        if number == math.e:
            return "e", ATOM
        return self.bound(self.number(every_digit(float(number)).replace("Infinity", "∞")))

    def written(self, text: str) -> str:
        """Return a number of the operation as the problem has it."""
        return text

    def bound(self, text: str) -> Piece:
        """Return the text of a number or a name and how tightly it binds."""
        return text, SIGNED if text.startswith("-") else ATOM


def bare(term: Term) -> Term:
    """Return a term without what it was chosen by."""
    while isinstance(term, Chosen):
        term = term.operand
    return term
