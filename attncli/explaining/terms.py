"""Elements that remember how they came about: put into arrays, they make operations explain.

A `Term` behaves as a number (it adds, multiplies, has a tanh, is larger than another) and keeps
what was done as a small tree. Formulas, digits and exact numbers are made by walking it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attncli.arithmetic.elements import Element
from attncli.arithmetic.operators import OPERATORS
from attncli.tape.cells import Index, place_of
from attncli.tape.step import Step


class Term(Element):
    """A number with its history. Compared by value, as operations compare numbers."""

    __slots__ = ("value",)
    value: float
    operands: tuple[Term, ...] = ()

    @staticmethod
    def combined(op: str, left: Any, right: Any) -> Term:
        """Return left op right; a square where both are the same or the exponent is 2."""
        to_two = op == "^" and isinstance(right, int) and right == 2
        if to_two or (op == "*" and left is right):
            return Made("square", left)
        return Made(op, term_of(left), term_of(right))

    def __neg__(self) -> Term:
        return Made("negative", self)

    # What NumPy calls for each element of np.exp(array) and the like.

    def exp(self) -> Term:
        """e^x."""
        return Made("exp", self)

    def log(self) -> Term:
        """The natural logarithm."""
        return Made("ln", self)

    def tanh(self) -> Term:
        """The hyperbolic tangent."""
        return Made("tanh", self)

    def sqrt(self) -> Term:
        """The square root."""
        return Made("sqrt", self)

    # What `elements` calls.

    def at_least_zero(self) -> Term:
        """max(x, 0)."""
        return Made("at_least_zero", self)

    def called(self, symbol: str) -> Term:
        """Return the number with a letter that formulas show for it."""
        return Named(self, symbol)

    def decides(self, result: object, seen: Sequence[Term], words: str) -> Term:
        """Return a number that was chosen because of this one and others."""
        return Chosen(term_of(result), tuple(seen), words)

    def __lt__(self, other: Any) -> bool:
        return self.value < _value(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= _value(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > _value(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= _value(other)

    def __eq__(self, other: object) -> bool:
        return self.value == _value(other)

    def __ne__(self, other: object) -> bool:
        return self.value != _value(other)

    __hash__ = object.__hash__


class Leaf(Term):
    """A cell of a step or of an input: `at` is its place in the step's array."""

    __slots__ = ("at", "known", "step")

    def __init__(self, step: Step, at: tuple[int, ...], value: float) -> None:
        self.step = step
        self.at = at
        self.value = value
        self.known: tuple[str, Index] | None = None

    @property
    def cell(self) -> tuple[str, Index]:
        """The name of the step and the place on paper; it is part of many terms, and kept."""
        if self.known is None:
            self.known = self.step.name, place_of(self.step, self.at)
        return self.known


class Constant(Term):
    """A number that belongs to the operation itself."""

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number
        self.value = float(number)


class Made(Term):
    """What one of + - * / ^ makes of two terms, or a function of one."""

    __slots__ = ("op", "operands")

    def __init__(self, op: str, *operands: Term) -> None:
        self.op = op
        self.operands = operands
        self.value = worked_out(op, [operand.value for operand in operands])


class Named(Term):
    """A term that formulas call by a letter."""

    __slots__ = ("operands", "symbol")

    def __init__(self, operand: Term, symbol: str) -> None:
        self.operands = (operand,)
        self.symbol = symbol
        self.value = operand.value


class Chosen(Term):
    """A term that stands here because of others, which were `seen`."""

    __slots__ = ("operands", "seen", "words")

    def __init__(self, operand: Term, seen: tuple[Term, ...], words: str) -> None:
        self.operands = (operand,)
        self.seen = seen
        self.words = words
        self.value = operand.value


def worked_out(op: str, numbers: Sequence[float]) -> float:
    """Return what an operation makes of numbers; ∞ or nan where it fails."""
    try:
        return WORK[op](*numbers)
    except OverflowError:
        return math.inf
    except (ZeroDivisionError, ValueError):
        return math.nan


def term_of(value: Any) -> Term:
    """Return a term, of a plain number too."""
    return value if isinstance(value, Term) else Constant(value)


def is_sum(term: Term) -> bool:
    """Return whether a term is a sum, or a difference."""
    return isinstance(term, Made) and term.op in ("+", "-")


def summands(term: Term) -> list[tuple[bool, Term]]:
    """Return the parts of a sum in order, each with whether it is subtracted."""
    parts: list[tuple[bool, Term]] = []
    stack: list[tuple[bool, Term]] = [(False, term)]
    while stack:  # sums of thousands of terms are chains too deep to recurse into
        minus, node = stack.pop()
        if isinstance(node, Made) and is_sum(node) and not minus:
            left, right = node.operands
            stack += [(node.op == "-", right), (False, left)]
        else:
            parts.append((minus, node))
    return parts


def found(
    term: Term, kind: type[Term] | tuple[type[Term], ...], reasons: bool = False
) -> Iterator[Any]:
    """Yield the nodes of a kind, from left to right; with `reasons` also what choices saw."""
    stack = [term]
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            yield node
        if reasons and isinstance(node, Chosen):
            stack += reversed(node.seen)
        stack += reversed(node.operands)


def replaced(term: Term, rule: Callable[[Term], Term]) -> Term:
    """Return a term with other terms for its leaves and for what has a letter.

    A choice gives way to what was chosen. Where the rule changes nothing, the term itself is
    returned.
    """
    if isinstance(term, Leaf | Named):
        return rule(term)
    signed = summands(term) if is_sum(term) else []
    before = [part for _, part in signed] or term.operands
    after = [replaced(part, rule) for part in before]
    if all(map(operator.is_, after, before)):
        return term
    if not isinstance(term, Made):
        return after[0]
    if not signed:
        return Made(term.op, *after)
    total, *rest = after
    for (minus, _), part in zip(signed[1:], rest, strict=True):
        total = Made("-" if minus else "+", total, part)
    return total


def structure(term: Term, leaves: list[Term]) -> object:
    """Return what is alike in terms that differ in their leaves alone, which are added to a list.

    What has a letter is a leaf, too, and a choice gives way to what was chosen.
    """
    if isinstance(term, Made):
        if is_sum(term):
            return "+", *[(minus, structure(part, leaves)) for minus, part in summands(term)]
        return term.op, *[structure(operand, leaves) for operand in term.operands]
    if isinstance(term, Chosen):
        return structure(term.operands[0], leaves)
    if isinstance(term, Constant):
        return getattr(term.number, "formula", term.number)
    leaves.append(term)
    return None


def evaluated(term: Term, numbers: Iterator[float]) -> float:
    """Return the value of a term with other numbers for its leaves, as `structure` finds them."""
    if isinstance(term, Made):
        if not is_sum(term):
            return worked_out(term.op, [evaluated(part, numbers) for part in term.operands])
        (_, first), *others = summands(term)
        total = evaluated(first, numbers)
        for minus, part in others:
            number = evaluated(part, numbers)
            total = total - number if minus else total + number
        return total
    if isinstance(term, Chosen):
        return evaluated(term.operands[0], numbers)
    return term.value if isinstance(term, Constant) else next(numbers)


def _value(other: Any) -> float:
    return other.value if isinstance(other, Term) else float(other)


WORK: dict[str, Callable[..., float]] = OPERATORS | {
    "^": lambda base, exponent: float(base**exponent),
    "negative": operator.neg,
    "square": lambda x: x * x,
    "at_least_zero": lambda x: max(x, 0.0),
    "exp": math.exp,
    "ln": math.log,
    "tanh": math.tanh,
    "sqrt": math.sqrt,
}
