"""The loss, the backward pass, and a step of gradient descent.

The derivatives are those of the operations (`Operation.derivative`); `tape/backward.py` reads them
off the tape. This module has where they begin, and what is done with them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.mechanisms.inputs import given
from attncli.notation.tree import (
    Formula,
    Fraction,
    Norm,
    Number,
    Phrase,
    Squared,
    Times,
    Words,
    minus,
)
from attncli.problem.problem import Problem
from attncli.tape.backward import FORWARD, backward
from attncli.tape.derivatives import Subtract
from attncli.tape.operations import Scale, constant
from attncli.tape.step import Derivatives, Expression, Operation, Step, notation_of
from attncli.tape.tape import Tape

FIXED = ("X", "memory", "Q", "K", "V", "scores", "bias", "h_0", "c_0")
"""The inputs that are no weights, and so are not learned."""


def gradient(tape: Tape, problem: Problem, method: Callable[[Tape, Problem], None]) -> None:
    """Record what a method does, the loss, the backward pass, and one step of descent.

    The loss is one of the last step of the calculation: of `attentional` where there is W_c, else
    of `output`.
    """
    tape.group = FORWARD
    method(tape, problem)
    rules = problem.gradient
    last = list(tape.steps.values())[-1]
    if "upstream" in rules:
        upstream = given(tape, problem, "gradient.upstream", last.trailing)
        start: Derivatives = iter([(last, upstream)])
    else:
        tape.group = ""
        made = _loss(tape, problem, last)
        loss = tape.record("loss", made, ("sum",), symbol="L")
        start = made.derivative(loss, loss)
    tape.backward = True
    found = backward(tape, start)
    if problem.learning_rate is not None:
        tape.group = "update"
        for name in (name for name in tape.inputs if name in found):
            weight = tape.inputs[name]
            if weight.key not in FIXED:
                step = Descent(weight, found[name], problem.learning_rate)
                tape.record(f"new_{weight.key}", step, why=DESCENT, like=weight)


DESCENT = "A small step against the derivative makes the loss smaller."


def _loss(tape: Tape, problem: Problem, last: Step) -> Operation:
    name = problem.gradient["loss"]
    if name == "sum":
        return Total(last)
    target = given(tape, problem, "gradient.target", last.trailing)
    count = {"squared_error": 1, "half_squared_error": 2}.get(name, last.array.size)
    return SquaredError(last, target, float(count))


class Total(Operation):
    """The sum of all numbers, the simplest loss: its derivative is 1 everywhere."""

    operand: Step
    why = "One number for the whole result."
    leading = ()

    def apply(self, *arrays: Array) -> Array:
        """Any shape gives (1, 1, 1, 1)."""
        return _sum_of_all(arrays[0])

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Ones(self.operand)

    def notation(self, columns: bool) -> Formula:
        return Phrase((notation_of(self.operand, columns), Words("summed over all numbers")))


class Ones(Operation):
    """1 for every number of a matrix."""

    operand: Expression

    def apply(self, *arrays: Array) -> Array:
        return np.ones(arrays[0].shape, float if arrays[0].dtype == object else arrays[0].dtype)

    def bounds(self, *operands: Array) -> Array:
        return operands[0] * 0 + 1

    def notation(self, columns: bool) -> Formula:
        return Phrase((Number("1"), Words("everywhere")))


class SquaredError(Operation):
    """‖output − target‖², divided by 1, by 2, or by how many numbers there are."""

    operand: Step
    target: Step
    over: float
    why = "How far the result is from what it should be."
    leading = ()

    def apply(self, *arrays: Array) -> Array:
        """(…, n, d) twice give (1, 1, 1, 1)."""
        difference = arrays[0] - arrays[1]
        total = _sum_of_all(difference * difference)
        return total / self.over if self.over != 1 else total

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """d‖z − t‖² = 2 (z − t)."""
        difference = Subtract(self.operand, self.target)
        is_half = self.over == 2
        factor = Scale(difference, times=2.0, over=self.over)
        yield self.operand, difference if is_half else factor

    def notation(self, columns: bool) -> Formula:
        sides = notation_of(self.operand, columns), notation_of(self.target, columns)
        squares = Squared(Norm(minus(*sides)))
        return squares if self.over == 1 else Fraction(squares, constant(self.over))


def _sum_of_all(array: Array) -> Array:
    total: Array = array.sum(axis=tuple(range(array.ndim)), keepdims=True)
    return total


class Descent(Operation):
    """A weight after one step of gradient descent."""

    weight: Step
    derivative_: Step
    rate: float
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        weight, derivative = arrays
        updated: Array = weight - derivative * self.rate
        return updated

    def notation(self, columns: bool) -> Formula:
        down = Times((constant(self.rate), notation_of(self.derivative_, columns)))
        return minus(notation_of(self.weight, columns), down)

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return (self.weight, "−", Scale(self.derivative_, times=self.rate))
