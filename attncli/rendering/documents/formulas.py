"""The notation of operations, such as `scores / √d_k`, as a tree that every format writes anew.

    line    = relation {"," relation}
    relation = sum {("=" | "≤" | …) sum}
    sum     = product {("+" | "−") product}
    product = factor {("·" | "×" | "⊙" | "/" | nothing) factor}
    factor  = ["−" | "√"] atom {"ᵀ" | "²" | "^" factor}
    atom    = name ["(" line ")"] | number | "(" line ")" | "[" line {";" line} "]" | "‖" line "‖"

A word of several letters that names no value of the calculation, as in `exp summed over keys`, is
a word of English and stands as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from attncli.records import Record


class Name(Record):
    """A value: `W_q` has the base W and the subscript q."""

    base: str
    below: str = ""


class Number(Record):
    """A number as it is written."""

    text: str


class Words(Record):
    """English between the mathematics."""

    text: str


class Sign(Record):
    """An operator, a relation or a mark of punctuation; `prefix` for the minus of −∞."""

    text: str
    prefix: bool = False


class Gap(Record):
    """What stands between factors that no sign parts; as wide as a blank beside words."""

    wide: bool = False


class Row(Record):
    """Parts one after the other."""

    parts: tuple[Formula, ...]


class Fence(Record):
    """Something in brackets."""

    opening: str
    inner: Formula
    closing: str


class Fraction(Record):
    """One over the other."""

    over: Formula
    under: Formula


class Power(Record):
    """A base with an exponent; a transposed matrix has the exponent ᵀ."""

    base: Formula
    exponent: Formula


class Root(Record):
    """A square root."""

    inner: Formula


Formula: TypeAlias = Name | Number | Words | Sign | Gap | Row | Fence | Fraction | Power | Root

TRANSPOSED = Sign("ᵀ", prefix=True)

RELATIONS = ("=", "≤", "≥", "<", ">", "≈")
SUMS = ("+", "−")
PRODUCTS = ("·", "×", "⊙", "/")
CLOSING = {"(": ")", "[": "]", "‖": "‖"}
AFTER: dict[str, Formula] = {"ᵀ": TRANSPOSED, "²": Number("2"), "³": Number("3")}

# A number may hold a point and an exponent; "score.W" is one name.
LETTER = "(?:(?![ᵀ²³])[^\\W\\d_])"
TOKEN = re.compile(
    rf"(\s*)(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|({LETTER}(?:(?![ᵀ²³])\w)*(?:\.\w+)?)|([^\w\s]|[²³ᵀ]))"
)


def formula(text: str, names: Collection[str] = ()) -> Formula:
    """Return the tree of a formula; of one that is not in this notation, its text.

    Args:
        text: as `Step.formula` and `Operation.notation` have it.
        names: what the steps and inputs of the calculation are called.

    >>> formula("W_q X").parts[0]
    Name(base='W', below='q')
    """
    try:
        return _Reader(text, names).whole()
    except _NotationError:
        return Words(text)


def bare(node: Formula) -> Formula:
    """Return a formula without the parentheses around it, which a bar or a raised line replaces."""
    return node.inner if isinstance(node, Fence) and node.opening == "(" else node


class Writing:
    """Writes formulas in one format: a base with a method to write for each kind of node."""

    def __call__(self, node: Formula, small: bool = False) -> str:
        """Return a formula as text; `small` where a fraction has no room, as in an exponent."""
        write: Callable[[Formula, bool], str] = getattr(self, type(node).__name__.lower())
        return write(node, small)


class _NotationError(Exception):
    """The text is not in the notation."""


class _Token(Record):
    text: str
    kind: str
    spaced: bool


class _Reader:
    """Reads one formula from left to right."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.names = names
        self.tokens = list(_tokens(text))
        self.place = 0

    def whole(self) -> Formula:
        found = self.line()
        if self.place < len(self.tokens):
            raise _NotationError
        return found

    def line(self) -> Formula:
        return self._chain((",", ";"), self.relation)

    def relation(self) -> Formula:
        return self._chain(RELATIONS, self.sum)

    def sum(self) -> Formula:
        return self._chain(SUMS, self.product)

    def product(self) -> Formula:
        parts: list[Formula] = [self.factor()]
        while self._goes_on():
            if not self._sees(*PRODUCTS):
                _append(parts, self.factor())
                continue
            sign = self._next()
            following = self.factor()
            if sign.text != "/":
                parts += [Sign(sign.text), following]
            elif sign.spaced:
                parts = [Fraction(_row(parts), following)]
            else:  # 1/2 without blanks is a number of its own in a longer product
                parts[-1] = Fraction(parts[-1], following)
        return _row(parts)

    def factor(self) -> Formula:
        if self._sees("−", "-"):
            self._next()
            return Row((Sign("−", prefix=True), self.factor()))
        if self._sees("√"):
            self._next()
            return self._raised(Root(bare(self._atom())))
        return self._raised(self._atom())

    def _raised(self, base: Formula) -> Formula:
        while self._sees("^", *AFTER):
            sign = self._next().text
            base = Power(base, bare(self.factor()) if sign == "^" else AFTER[sign])
        return base

    def _atom(self) -> Formula:
        token = self._next()
        if token.kind == "number":
            return Number(token.text)
        if token.kind == "name":
            return self._named(token)
        if token.text in ("∞", "…"):
            return Sign(token.text, prefix=True)
        if token.text in CLOSING:
            return self._fenced(token.text)
        raise _NotationError

    def _named(self, token: _Token) -> Formula:
        base, _, below = token.text.partition("_")
        if self._sees("(") and not self.tokens[self.place].spaced:
            self._next()
            return Row((Name(base, below), self._fenced("(")))
        if len(base) > 1 and not below and token.text not in self.names:
            return Words(token.text)
        return Name(base, below)

    def _fenced(self, opening: str) -> Formula:
        inner = self.line()
        if not self._sees(CLOSING[opening]):
            raise _NotationError
        return Fence(opening, inner, self._next().text)

    def _chain(self, signs: Sequence[str], part: Callable[[], Formula]) -> Formula:
        parts: list[Formula] = [part()]
        while self._sees(*signs):
            sign = self._next().text
            parts += [Sign(sign), part()]
        return _row(parts)

    def _goes_on(self) -> bool:
        """Whether a factor or its sign follows, rather than the end of the product."""
        if self.place == len(self.tokens):
            return False
        token = self.tokens[self.place]
        if token.text == "‖":  # a bar with a blank before it opens
            return token.spaced
        return token.kind != "sign" or token.text in (*PRODUCTS, "(", "[", "√", "∞", "…")

    def _sees(self, *texts: str) -> bool:
        return self.place < len(self.tokens) and self.tokens[self.place].text in texts

    def _next(self) -> _Token:
        if self.place == len(self.tokens):
            raise _NotationError
        self.place += 1
        return self.tokens[self.place - 1]


def _tokens(text: str) -> Sequence[_Token]:
    found = []
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise _NotationError
        blanks, number, name, sign = match.groups()
        kind = "number" if number else "name" if name else "sign"
        found.append(_Token(number or name or sign, kind, bool(blanks)))
        place = match.end()
    return found


def _row(parts: Sequence[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else Row(tuple(parts))


def _append(parts: list[Formula], following: Formula) -> None:
    """Put a factor, or another word of a sentence, after what no sign parts from it."""
    before = parts[-1]
    if isinstance(before, Words) and isinstance(following, Words):
        parts[-1] = Words(f"{before.text} {following.text}")
    else:
        parts += [Gap(_is_wide(before) or _is_wide(following)), following]


def _is_wide(node: Formula) -> bool:
    return isinstance(bare(node), Words)
