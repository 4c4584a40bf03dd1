"""The base class of the printers of formulas, and the one of plain text: `scores = Q Kᵀ`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attncli.core.formulas import tree
from attncli.core.formulas.tree import Formula, Minus, Number
from attncli.core.text.strings import label_text

LOOSE, SUM, SIGNED, PRODUCT, POWER, ATOM = range(6)
"""Levels of precedence; a node gets parentheses where a higher level is needed."""

BINDS = {
    **dict.fromkeys(("Relation", "Listed", "Phrase", "Infix"), LOOSE),
    "Plus": SUM,
    "Minus": SIGNED,
    **dict.fromkeys(("Times", "Fraction"), PRODUCT),
    **dict.fromkeys(("Power", "Squared", "Transpose", "Root"), POWER),
}
"""Levels by the names of node classes; all others are atoms."""


COMPARISON = 1
INFIX = {"or": 0, "and": 0, "mod": 2}
"""Levels of precedence of words between operands, and of comparisons."""


class Printer:
    """Prints formulas in one format, with one method per class of nodes.

    A method takes the node, and whether it is `first` in the formula or after a parenthesis: a
    number with a sign needs no parentheses there.
    """

    fraction_is_atom = False  # True if a fraction is drawn with a line: a product needs no ()
    derivative_is_atom = True  # True if a derivative is written as a name, d_Q, not as a fraction

    def __call__(self, formula: Formula, first: bool = True) -> str:
        text: str = getattr(self, type(formula).__name__.lower())(formula, first)
        return text

    def sign(self, sign: str, prefix: bool = False) -> str:
        """Return a sign between two texts, or before one."""
        raise NotImplementedError

    def pause(self, sign: str) -> str:
        """Return the separator of a list for a comma, a semicolon, or "" for only a blank."""
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

    def factors(self, node: tree.Times, first: bool) -> Iterator[str]:
        """Yield factors; parentheses stay in U (r ⊙ h), and among numbers in a·(b·c), (a/b)·c."""
        sign = node.sign
        for place, factor in enumerate(node.factors):
            inner = factor.operand if isinstance(factor, Minus) else factor
            if isinstance(inner, tree.Fraction) and not self.fraction_is_atom:
                loose = sign == "·" or (place > 0 and not inner.tight)
            else:
                inner_sign = inner.sign if isinstance(inner, tree.Times) else ""
                loose = sign == "·" and (inner_sign == " · " or (inner_sign == sign and place > 0))
                loose = loose or (sign, inner_sign) == (" ", " ⊙ ")
            is_first = first and not place
            yield self.group(self(factor)) if loose else self.inside(factor, PRODUCT, is_first)

    def place(self, word: str) -> str:
        return self(Number(word) if word.isdecimal() else tree.Words(word))

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
        if node.function in ("cos", "sin") and isinstance(node.arguments[0], Number):
            return self(tree.Phrase((tree.Name(node.function), *node.arguments)))  # cos 1
        if node.function == "//":
            over, under = node.arguments
            return self.fenced("⌊⌋", self(tree.Fraction(over, under, tight=True)))
        arguments = self(tree.Listed(node.arguments))
        if node.function == "abs":
            return self.fenced("||", arguments)
        return self.joined([self(tree.Name(node.function)), self.group(arguments)])

    def infix(self, node: tree.Infix, first: bool) -> str:
        level = INFIX.get(node.word, COMPARISON)
        parts = (
            self.inside(part, PRODUCT if level > COMPARISON else LOOSE)
            if not isinstance(part, tree.Infix) or INFIX.get(part.word, COMPARISON) > level
            else self.group(self(part))
            for part in node.parts
        )
        return self.joined(parts, self.sign(node.word))

    def norm(self, node: tree.Norm, first: bool) -> str:
        return self.fenced("‖‖", self(node.operand))

    def stack(self, node: tree.Stack, first: bool) -> str:
        return self.fenced("[]", self(tree.Listed(node.parts, ";")))

    def value(self, node: tree.Value, first: bool) -> str:
        return self(node.inner, first)

    def own(self, node: tree.Own, first: bool) -> str:
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
    level = _level(formula)
    return level >= binds or (first and level == SIGNED)


def _level(formula: Formula) -> int:
    if isinstance(formula, tree.Value | tree.Own):
        return _level(formula.inner)
    if isinstance(formula, Number) and formula.text.startswith("-"):
        return SIGNED
    return BINDS.get(type(formula).__name__, ATOM)


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
        return sign if prefix else f"\n{sign} "


def text(formula: tree.Formula) -> str:
    """Return a formula as one line of text.

    >>> text(tree.Times((tree.named("Q"), tree.Transpose(tree.named("K"))), " "))
    'Q Kᵀ'
    """
    return _Text()(formula)


def pieces(formula: tree.Formula) -> list[str]:
    """Return a formula as text in pieces, split before each =, + and −, where a line may break.

    >>> pieces(tree.Relation((tree.Name("z"), tree.Plus((tree.Number("1"), tree.Number("-2"))))))
    ['z', '= 1', '+ (-2)']
    """
    return _Broken()(formula).split("\n")
