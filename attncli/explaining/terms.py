"""Elements that remember how they came about: put into arrays, they make operations explain.

A `Term` behaves as a number (it adds, multiplies, has a tanh, is larger than another) and keeps
what was done as a small tree. `fold` walks a tree; text, digits and exact numbers are all ways
to walk it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attncli.arithmetic.elements import Element
from attncli.tape.step import Step


class Term(Element):
    """A number with its history. Compared by value, as operations compare numbers."""

    __slots__ = ("value",)
    value: float

    @staticmethod
    def combined(op: str, left: Any, right: Any) -> Term:
        """Return left op right; a square where both are the same or the exponent is 2."""
        if (op == "*" and left is right) or (op == "^" and _is_two(right)):
            return Function("square", left)
        return Binary(op, term_of(left), term_of(right))

    def __neg__(self) -> Term:
        return Function("negative", self)

    # What NumPy calls for each element of np.exp(array) and the like.

    def exp(self) -> Term:
        """e^x."""
        return Function("exp", self)

    def tanh(self) -> Term:
        """The hyperbolic tangent."""
        return Function("tanh", self)

    def sqrt(self) -> Term:
        """The square root."""
        return Function("sqrt", self)

    # What `elements` calls.

    def at_least_zero(self) -> Term:
        """max(x, 0)."""
        return Function("at_least_zero", self)

    def called(self, symbol: str) -> Term:
        """The same number, called by a letter in formulas."""
        return Named(self, symbol)

    def decides(self, result: object, seen: Sequence[Term], words: str) -> Term:
        """A number that was chosen because of this one and others."""
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

    __slots__ = ("at", "step")

    def __init__(self, step: Step, at: tuple[int, ...], value: float) -> None:
        self.step = step
        self.at = at
        self.value = value


class Constant(Term):
    """A number that belongs to the operation itself."""

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number
        self.value = float(number)


class Binary(Term):
    """Two terms and one of + - * / ^."""

    __slots__ = ("left", "op", "right")

    def __init__(self, op: str, left: Term, right: Term) -> None:
        self.op = op
        self.left = left
        self.right = right
        self.value = calculate(op, left.value, right.value)


class Function(Term):
    """A function of one term."""

    __slots__ = ("name", "operand")

    def __init__(self, name: str, operand: Term) -> None:
        self.name = name
        self.operand = operand
        self.value = FUNCTIONS[name](operand.value)


class Named(Term):
    """A term that formulas call by a letter."""

    __slots__ = ("operand", "symbol")

    def __init__(self, operand: Term, symbol: str) -> None:
        self.operand = operand
        self.symbol = symbol
        self.value = operand.value


class Chosen(Term):
    """A term that stands here because of others."""

    __slots__ = ("operand", "seen", "words")

    def __init__(self, operand: Term, seen: tuple[Term, ...], words: str) -> None:
        self.operand = operand
        self.seen = seen
        self.words = words
        self.value = operand.value


def term_of(value: Any) -> Term:
    """Return a term, of a plain number too."""
    return value if isinstance(value, Term) else Constant(value)


def calculate(op: str, left: float, right: float) -> float:
    """Return the float of a binary operation; ∞ or nan where there is none."""
    try:
        if op == "+":
            return left + right
        if op == "-":
            return left - right
        if op == "*":
            return left * right
        if op == "/":
            return left / right
        return float(left**right)
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.nan


def summands(term: Term) -> list[tuple[bool, Term]]:
    """Return the parts of a sum in order, each with whether it is subtracted."""
    parts: list[tuple[bool, Term]] = []
    stack: list[tuple[bool, Term]] = [(False, term)]
    while stack:  # sums of thousands of terms are chains too deep to recurse into
        minus, node = stack.pop()
        if isinstance(node, Binary) and not minus and node.op in "+-":
            stack += [(node.op == "-", node.right), (False, node.left)]
        else:
            parts.append((minus, node))
    return parts


def parts_of(term: Term) -> tuple[Term, ...]:
    """Return what a term is made of, what it was chosen by last."""
    if isinstance(term, Binary):
        return (term.left, term.right)
    if isinstance(term, Chosen):
        return (term.operand, *term.seen)
    if isinstance(term, Function | Named):
        return (term.operand,)
    return ()


def leaves(term: Term) -> Iterator[Leaf]:
    """Yield every leaf, from left to right, as often as it stands there."""
    stack = [term]
    while stack:
        node = stack.pop()
        if isinstance(node, Leaf):
            yield node
        stack += reversed(parts_of(node))


def found(term: Term, kind: type[Term]) -> Iterator[Any]:
    """Yield the nodes of a kind, from left to right, but for those inside reasons."""
    stack = [term]
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            yield node
        stack += [node.operand] if isinstance(node, Chosen) else reversed(parts_of(node))


def _is_two(number: object) -> bool:
    return isinstance(number, int) and number == 2


def _value(other: Any) -> float:
    return other.value if isinstance(other, Term) else float(other)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "negative": lambda x: -x,
    "square": lambda x: x * x,
    "at_least_zero": lambda x: max(x, 0.0),
    "exp": _exp,
    "tanh": math.tanh,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
}
