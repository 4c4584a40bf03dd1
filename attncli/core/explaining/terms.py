"""Elements that remember how they came about: put into arrays, they make operations explain.

A `Term` behaves as a number (it adds, multiplies, has a tanh, is larger than another) and keeps
what was done as a small tree. Digits, exact numbers and formulas are made by walking it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, Element, Words
from attncli.core.numbers.written import OPERATORS
from attncli.core.tape.cell_names import Index, place_of
from attncli.core.tape.evaluation import ALL, Region, apply_to, cut, evaluate
from attncli.core.tape.step import Expression, Operation, Step, axes_of

LARGE = 2_000
"""Number of cells from which working single cells is faster than working the whole step."""


def _function(op: str) -> Callable[[Term], Term]:
    return lambda term: Made(op, term)


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

    __neg__ = _function("negative")
    __abs__ = _function("abs")
    at_least_zero = _function("at_least_zero")
    # NumPy calls these for each element of np.exp(array) and the like.
    exp = _function("exp")
    log = _function("ln")
    tanh = _function("tanh")
    sqrt = _function("sqrt")
    erf = _function("erf")

    def largest(self, line: Sequence[Term]) -> Term:
        """Return the largest of a line, of which it is the first."""
        return Made("max", *line) if len(line) > 1 else self

    def called(self, symbol: str) -> Term:
        return Named(self, symbol)

    def decides(self, result: object, seen: Sequence[Term], words: Words) -> Term:
        said = words if isinstance(words, str) else words(self)
        return Chosen(term_of(result), tuple(seen), said)

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

    __hash__ = object.__hash__


class Leaf(Term):
    """A cell of a step or of an input, by its place in the step's array."""

    __slots__ = ("at", "step")

    def __init__(self, step: Step, at: tuple[int, ...], value: float) -> None:
        self.step = step
        self.at = at
        self.value = value

    @property
    def cell(self) -> tuple[str, Index]:
        """The name of the step, and the place on paper."""
        return self.step.name, place_of(self.step, self.at)


class Constant(Term):
    """A number that belongs to the operation itself."""

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number
        self.value = float(number)


class Made(Term):
    """One of + - * / ^ of two terms, or a function of one or more."""

    __slots__ = ("op", "operands")

    def __init__(self, op: str, *operands: Term) -> None:
        self.op = op
        self.operands = operands
        self.value = calculated(op, *[operand.value for operand in operands])


class Named(Term):
    """A term that formulas call by a letter."""

    __slots__ = ("operands", "symbol")

    def __init__(self, operand: Term, symbol: str) -> None:
        self.operands = (operand,)
        self.symbol = symbol
        self.value = operand.value


class Chosen(Term):
    """A term that was chosen because of others, which were `seen`."""

    __slots__ = ("operands", "seen", "words")

    def __init__(self, operand: Term, seen: tuple[Term, ...], words: str) -> None:
        self.operands = (operand,)
        self.seen = seen
        self.words = words
        self.value = operand.value


def calculated(op: str, *values: float) -> float:
    """Return the result of an operation; ∞ or nan where Python has none."""
    try:
        return TERM_OPERATIONS[op](*values)
    except OverflowError:
        return math.inf
    except (ZeroDivisionError, ValueError):
        return math.nan


def term_of(value: Any) -> Term:
    return value if isinstance(value, Term) else Constant(value)


def is_sum(term: Term) -> bool:
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


def terms_in(
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
        stack += node.operands[::-1]


def replaced(term: Term, rule: Callable[[Term], Term]) -> Term:
    """Return a term with other terms for its leaves and for what has a letter.

    A choice gives way to what was chosen. If the rule changes nothing, that is the term itself.
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


def worker(term: Term) -> Callable[[Iterator[float]], float]:
    """Return a function that works a term with other numbers for what `replaced` replaces.

    It takes the numbers in the order in which `structure` adds what they replace.
    """
    if isinstance(term, Chosen):
        return worker(term.operands[0])
    if not isinstance(term, Made):
        return (lambda _: term.value) if isinstance(term, Constant) else next
    if not is_sum(term):
        op, parts = term.op, list(map(worker, term.operands))
        return lambda numbers: calculated(op, *[part(numbers) for part in parts])
    (_, first), *rest = ((minus, worker(part)) for minus, part in summands(term))
    addends = [("-" if minus else "+", part) for minus, part in rest]

    def total(numbers: Iterator[float]) -> float:
        result = first(numbers)
        for sign, addend in addends:
            result = calculated(sign, result, addend(numbers))
        return result

    return total


def structure(term: Term, leaves: list[Term], others: list[Term]) -> object:
    """Return a key that is equal for terms that differ only in what `replaced` replaces.

    What it replaces is added to a list, in the same order; choices and what has a letter to others.
    """
    if isinstance(term, Leaf):
        leaves.append(term)
        return None
    if isinstance(term, Made):
        if term.op in ("+", "-"):
            parts = summands(term)
            return "+", *[(minus, structure(part, leaves, others)) for minus, part in parts]
        return term.op, *[structure(operand, leaves, others) for operand in term.operands]
    if isinstance(term, Constant):
        return getattr(term.number, "formula", None), term.value
    others.append(term)
    if isinstance(term, Chosen):
        return structure(term.operands[0], leaves, others)
    leaves.append(term)
    return None


class StepTerms:
    """The terms of the steps of one trace, or of other numbers; each operation is worked once."""

    def __init__(self, numbers: Callable[[Step], Array] | None = None) -> None:
        self.numbers = numbers or (lambda step: step.array)
        self.inputs: dict[Step, Array] = {}
        self.whole: set[Step] = set()  # those of `inputs` whose leaves are all there
        self.done: dict[Step, Array] = {}

    def term(self, step: Step, at: Index) -> Term:
        """Return how a cell of a step's array was made."""
        if step.operation is None:
            return term_of(self.leaves(step)[at])
        if step.array.ndim == 4 and step.array.size > LARGE:
            batch, head, row, column = at  # worked alone
            region = (slice(row, row + 1), slice(column, column + 1))
            worked = evaluate_region(step.operation, region, self.leaves, Constant)
            batches, heads = worked.shape[:2]
            return term_of(worked[min(batch, batches - 1), min(head, heads - 1), 0, 0])
        if step not in self.done:
            terms = evaluate(step.operation, self.leaves, Constant)
            self.done[step] = np.broadcast_to(terms, step.array.shape)
        return term_of(self.done[step][at])

    def leaves(self, step: Step, region: Region = (ALL, ALL)) -> Array:
        """Return the array of a step, or a region of it, with a leaf for each number."""
        if step in self.whole:
            return cut(self.inputs[step], region)
        if step not in self.inputs:
            self.inputs[step] = np.empty(step.array.shape, object)
        if region == (ALL, ALL):
            self.whole.add(step)
        array = cut(self.inputs[step], region)
        numbers = np.broadcast_to(self.numbers(step), step.array.shape)
        ends = zip(region, step.array.shape[2:4], strict=True)
        row, column = ((part.start or 0) if size > 1 else 0 for part, size in ends)
        for at in np.ndindex(array.shape):
            if array[at] is None:
                whole = (*at[:2], at[2] + row, at[3] + column, *at[4:])
                array[at] = Leaf(step, whole, shortest(numbers[whole]))
        return array


def evaluate_region(
    expression: Expression,
    region: Region,
    value_of: Callable[[Step, Region], Array],
    constant: Callable[[float], Any] | None = None,
) -> Array:
    """Return some rows and columns of an expression's array; the arguments are as for `evaluate`.

    An axis of size 1 stays, as it broadcasts.
    """
    if isinstance(expression, Step):
        return value_of(expression, region)
    regions, rest = regions_of(expression, region)
    pairs = zip(expression.operands, regions, strict=True)
    arrays = [evaluate_region(operand, inner, value_of, constant) for operand, inner in pairs]
    return cut(apply_to(expression, arrays, constant), rest)


def regions_of(operation: Operation, region: Region) -> tuple[list[Region], Region]:
    """Return the regions of the operands that a region of the result needs.

    The second value is the region of their result that is still to be cut out.
    """
    count = len(operation.operands)
    if operation.pointwise:
        return [region] * count, (ALL, ALL)
    sides, words = axes_of(operation.shape)
    of_word = dict(zip(reversed(words[:2]), reversed(region), strict=False))
    needed = [(ALL, ALL, *(of_word.get(word, ALL) for word in side[:2])) for side in sides]
    regions = [(slices[-2], slices[-1]) for slices in needed]
    cut_words = {word for side in sides for word in side[:2]}
    pairs = zip(["", "", *words[:2]][-2:], region, strict=True)
    rows, columns = (ALL if word in cut_words else part for word, part in pairs)
    return [*regions, *[(ALL, ALL)] * (count - len(sides))], (rows, columns)


def shortest(number: Any) -> float:
    """Return the float of a number; of a shorter one, that of the digits that it has."""
    return float(str(number)) if isinstance(number, np.float16 | np.float32) else float(number)


def _value(other: Any) -> float:
    return other.value if isinstance(other, Term) else float(other)


TERM_OPERATIONS: dict[str, Callable[..., float]] = OPERATORS | {
    "^": lambda base, exponent: float(base**exponent),
    "negative": operator.neg,
    "square": lambda x: x * x,
    "at_least_zero": lambda x: max(x, 0.0),
    "max": max,
    "exp": math.exp,
    "ln": lambda x: math.log(x) if x else -math.inf,
    "tanh": math.tanh,
    "sqrt": math.sqrt,
    "erf": math.erf,
}
