"""Kinds of numbers, and the hand that works with them.

The loops of the oracle work with 50 digits, with floats, with floats that carry a bound on their
rounding errors (`rounded`), and with floats that count what is done to them (`counted`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import mpmath
import numpy as np

from tests.oracles.lists import beside, depth, each, plus, transposed

Number = Any  # of one arithmetic; mpmath carries no types
Vector = list[Number]
Matrix = list[Vector]
Heads = list[Matrix]
Keys = dict[str, Any]
T = TypeVar("T")

BLOCKED = -math.inf
"""A score that the mask blocks: equal to the least number of each arithmetic."""

mp = mpmath.MPContext()
mp.dps = 50


class Arithmetic:
    """The functions of one kind of numbers.

    Args:
        functions: a module with exp, log, …
        number: makes such a number of one of the problem.
        total: returns the sum of several.
    """

    def __init__(self, functions: Any, number: Callable[[Any], Number], total: Any) -> None:
        self.number, self.total = number, total
        self.exp, self.log, self.sqrt = functions.exp, functions.log, functions.sqrt
        self.tanh, self.erf, self.pi = functions.tanh, functions.erf, functions.pi
        self.cos, self.sin = functions.cos, functions.sin

    def dot(self, a: Vector, b: Vector) -> Number:
        """Σ a_i b_i."""
        return self.total([x * y for x, y in zip(a, b, strict=True)])

    def sigmoid(self, x: Number) -> Number:
        return 1 / (1 + self.exp(-x))


def of_50_digits(given: Any) -> Number:
    return mp.mpf(given.item() if isinstance(given, np.generic) else given)


FLOATS = Arithmetic(math, float, math.fsum)
EXACT = Arithmetic(mp, of_50_digits, mp.fsum)


STEP = mp.mpf(10) ** -15


def slope_of(function: Callable[[Number], Number]) -> Number:
    """Return the derivative at 0 by a difference in 50 digits: right to about 28 of them."""
    return (function(STEP) - function(-STEP)) / (2 * STEP)


class Hand:
    """Works with one arithmetic, writes every step down, and goes on from what it wrote.

    A step is a list of matrices, one per head; what all heads share is one matrix, and a vector is
    a matrix of one row. A student is a hand that does something else at some lines, or goes on
    from rounded numbers.

    Attributes:
        steps: what was written so far, by name.
        here: where the hand is: a time, a layer with its half, or a step.
        prefix, suffix: what the names of steps begin and end with.
        names: other names of some steps.
        first: the tokens that go into the first layer of a transformer.
    """

    def __init__(self, own: Arithmetic = EXACT) -> None:
        self.own = own
        self.steps: dict[str, Any] = {}
        self.here: Any = None
        self.prefix = self.suffix = ""
        self.names: dict[str, str] = {}
        self.first: Matrix = []

    def does(self, wrong: str, way: int | None = None) -> bool:
        """Return True if this hand makes a mistake here, in one of several ways."""
        del wrong, way
        return False

    def either(self, right: T, **wrong: Callable[[], T]) -> T:
        """Return what is right, or what the mistake of this hand makes of it."""
        return next((instead() for name, instead in wrong.items() if self.does(name)), right)

    def write(self, name: str, heads: T) -> T:
        """Write a step, and return what is used of it."""
        self.steps[f"{self.prefix}{self.names.get(name, name)}{self.suffix}"] = heads
        return heads

    def numbers(self, given: Any) -> Any:
        """Return nested lists in this arithmetic."""
        return each(self.own.number, given)

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        """Rows of a times columns of b."""
        columns = transposed(b)
        return [[self.own.dot(row, column) for column in columns] for row in a]

    def applied(self, matrix: Matrix, vector: Vector) -> Vector:
        """A matrix times a column vector."""
        return [self.own.dot(row, vector) for row in matrix]

    def linear(self, x: Matrix, keys: Keys, name: str) -> Matrix:
        """X W + b, by what the names of W and b end with; without W, X."""
        weight, bias = (self.numbers(keys.get(f"{letter}_{name}", [])) for letter in "Wb")
        if weight:
            x = self.product(x, beside(weight) if depth(weight) == 3 else weight)
        if depth(bias) == 2:  # a part per head
            bias = [number for part in bias for number in part]
        return [plus(row, bias) for row in x] if bias else x
