"""Formulas as trees, which operations, written numbers and explanations make and printers write.

Printers add the parentheses that the meaning requires; only a `Fence` is in the tree itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attncli.core.records import Record, replace


class Formula(Record):
    """The base class of all nodes."""


class Name(Formula):
    """A value by its name; `W_q` has the base W and the subscript q."""

    base: str
    below: str = ""


class Number(Formula):
    """A number with its digits as written, or ∞."""

    text: str


class Words(Formula):
    """English between the mathematics."""

    text: str


class Dots(Formula):
    """An ellipsis for values that are left out."""


class Omitted(Formula):
    """An ellipsis for terms of a sum that are left out."""

    count: int

    @property
    def words(self) -> str:
        return f"{self.count} more term{'' if self.count == 1 else 's'}"


class Cell(Formula):
    """One number of a step."""

    name: str  # of the step
    lead: tuple[tuple[str, int], ...]  # the names and numbers (from 1) of the batch and the head
    places: tuple[str, ...]  # the words or numbers of the other axes


class Vector(Formula):
    """One row of a step, such as q_am."""

    name: str
    places: tuple[str, ...]


class Minus(Formula):
    """Minus something; as a term of a sum it is subtracted."""

    operand: Formula


class Plus(Formula):
    """A sum."""

    terms: tuple[Formula, ...]


class Times(Formula):
    """Factors side by side.

    The sign is that of text: " " for matrices, "·" for numbers, " · " for vectors, " ⊙ " number by
    number, "" for a number before a root.
    """

    factors: tuple[Formula, ...]
    sign: str = "·"


class Fraction(Formula):
    """A quotient; a `tight` one is written without blanks, as in 1/3."""

    over: Formula
    under: Formula
    tight: bool = False


class Power(Formula):
    """A power."""

    base: Formula
    exponent: Formula


class Squared(Formula):
    """The square of something."""

    operand: Formula


class Transpose(Formula):
    """A transposed matrix."""

    operand: Formula


class Root(Formula):
    """A square root."""

    operand: Formula


class Call(Formula):
    """A function of arguments."""

    function: str
    arguments: tuple[Formula, ...]


class Infix(Formula):
    """Operands with a word between them, such as `a and b` or `a mod b`."""

    parts: tuple[Formula, ...]
    word: str


class Norm(Formula):
    """The length of a vector."""

    operand: Formula


class Stack(Formula):
    """Concatenated values, [a; b]."""

    parts: tuple[Formula, ...]


class Fence(Formula):
    """A formula in parentheses that are always written."""

    inner: Formula


class Value(Formula):
    """A formula of one number, such as a closed form; in text its minus is a hyphen."""

    inner: Formula


class Own(Formula):
    """A number that a key of the problem gives, such as `softcap`, by a formula."""

    key: str
    inner: Formula


class Slot(Formula):
    """A place in a pattern where the formulas of different cells differ."""

    index: int


class Filled(Formula):
    """A pattern with the numbers, or names, of one cell; `Slot(i)` is for the i-th."""

    pattern: Formula
    parts: tuple[Formula, ...]

    @property
    def formula(self) -> Formula:
        """The formula with the numbers put in."""
        return substituted(
            self.pattern, lambda part: self.parts[part.index] if isinstance(part, Slot) else None
        )


class Relation(Formula):
    """Parts with = between them, or another sign before the last."""

    parts: tuple[Formula, ...]
    last: str = "="


class Listed(Formula):
    """Parts with commas (or semicolons) between them."""

    parts: tuple[Formula, ...]
    sign: str = ","


class Phrase(Formula):
    """Mathematics and words, with blanks between them."""

    parts: tuple[Formula, ...]


def named(text: str) -> Name:
    """Return the name of a value; its subscript follows the first underscore.

    >>> named("W_q")
    Name(base='W', below='q')
    """
    base, _, below = text.partition("_")
    return Name(base, below)


def derived(name: Name) -> Name | None:
    """Return the name by which a loss is differentiated in d_W_q; None for others and for sizes.

    >>> derived(named("d_W_q")), derived(named("d_k"))
    (Name(base='W', below='q'), None)
    """
    is_size = name.below in ("", "k", "v", "q", "model")
    return None if name.base != "d" or is_size else named(name.below)


def plus(left: Formula, right: Formula) -> Plus:
    """Return left + right as one sum."""
    sides = (side.terms if isinstance(side, Plus) else (side,) for side in (left, right))
    return Plus(tuple(term for terms in sides for term in terms))


def minus(left: Formula, right: Formula) -> Plus:
    return plus(left, Minus(right))


def parts(formula: Formula) -> list[Formula]:
    """Return the children of a node, in order."""
    values = (getattr(formula, name) for name in formula.fields)
    listed = (value if isinstance(value, tuple) else (value,) for value in values)
    return [part for several in listed for part in several if isinstance(part, Formula)]


def nodes(formula: Formula) -> Iterator[Formula]:
    """Yield a formula and all in it."""
    yield formula
    for part in parts(formula):
        yield from nodes(part)


def substituted(formula: Formula, rule: Callable[[Formula], Formula | None]) -> Formula:
    """Return a formula in which the nodes are replaced for which a rule returns another one."""

    def changed(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        return substituted(value, rule) if isinstance(value, Formula) else value

    other = rule(formula)
    if other is not None:
        return other
    return replace(formula, **{n: changed(getattr(formula, n)) for n in formula.fields})
