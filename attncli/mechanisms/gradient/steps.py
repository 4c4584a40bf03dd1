"""The loss, the backward pass (by `core/tape/backward`), and a step of gradient descent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attncli.core.arithmetic.elements import Array, are_elements
from attncli.core.formulas import tree
from attncli.core.problem.problem import Problem
from attncli.core.problem.shapes import is_learned
from attncli.core.tape.backward import FORWARD, backward
from attncli.core.tape.backward_operations import Loss, Subtract
from attncli.core.tape.operations import Scale, constant
from attncli.core.tape.step import Derivatives, Expression, Operation, Step, prefix_of
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import put
from attncli.mechanisms.gradient import OF_LABELS


def steps(method: Callable[[Tape, Problem], object], tape: Tape, problem: Problem) -> None:
    """Record the steps of a method, the loss of the last one, the backward pass, and a descent."""
    tape.group = FORWARD
    method(tape, problem)
    rules = problem.gradient
    last = list(tape.steps.values())[-1]
    start: Derivatives
    if rules.get("loss") == OF_LABELS:
        assert isinstance(last.operation, Loss)  # as the method has recorded it
        start = last.operation.slopes()
    elif "upstream" in rules:
        upstream = put(tape, problem, "gradient.upstream", last.trailing)
        start = iter([(last, upstream)])
    else:
        tape.group = ""
        loss = _loss(tape, problem, last)
        tape.record("loss", loss, symbol="L")
        start = loss.slopes()
    tape.backward = True
    gradients = backward(tape, start)
    if problem.learning_rate is not None:
        tape.group = "update"
        for name in (name for name in tape.inputs if name in gradients):
            weight = tape.inputs[name]
            if is_learned(weight.key):
                step = Descent(weight, gradients[name], problem.learning_rate)
                with tape.within(before="new_", layer=weight.layer):
                    key = weight.key.removeprefix(prefix_of(weight.layer))
                    tape.record(key, step, why=DESCENT, like=weight)


DESCENT = "A small step against the derivative makes the loss smaller."


def _loss(tape: Tape, problem: Problem, last: Step) -> Loss:
    name = problem.gradient["loss"]
    if name == "sum":
        return Total(last)
    target = put(tape, problem, "gradient.target", last.trailing)
    all_of_one = last.array.size // (1 if "batch" in problem.sizes else len(last.array))
    count = {"squared_error": 1, "half_squared_error": 2}.get(name, all_of_one)
    return SquaredError(last, target, float(count))


class Total(Loss):
    """The sum of all numbers, the simplest loss: its derivative is 1 everywhere."""

    operand: Step
    why = "One number for the whole result."

    def total(self, array: Array) -> Array:
        return array.sum(keepdims=True)

    def slopes(self) -> Derivatives:
        yield self.operand, Ones(self.operand)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Phrase((*self.notations(columns), tree.Words("summed over all numbers")))


class Ones(Operation):
    """1 for every number of a matrix."""

    operand: Expression

    def apply(self, array: Array) -> Array:
        return np.ones(array.shape, float if are_elements(array) else array.dtype)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Phrase((tree.Number("1"), tree.Words("everywhere")))


class SquaredError(Loss):
    """‖output − target‖², divided by 1, by 2, or by how many numbers there are."""

    operand: Step
    target: Step
    over: float
    why = "How far the result is from what it should be."

    def total(self, output: Array, target: Array) -> Array:
        difference = output - target
        total = (difference * difference).sum(keepdims=True)
        return total / self.over if self.over != 1 else total

    def slopes(self) -> Derivatives:
        """d‖z − t‖² = 2 (z − t)."""
        difference = Subtract(self.operand, self.target)
        factor = Scale(difference, times=2.0, over=self.over)
        yield self.operand, difference if self.over == 2 else factor

    def notation(self, columns: bool) -> tree.Formula:
        squares = tree.Squared(tree.Norm(tree.minus(*self.notations(columns))))
        return squares if self.over == 1 else tree.Fraction(squares, constant(self.over))


class Descent(Operation):
    """A weight after one step of gradient descent."""

    weight: Step
    derivative_: Step
    rate: float
    pointwise = True

    def apply(self, weight: Array, derivative: Array) -> Array:
        return weight - derivative * self.rate

    def notation(self, columns: bool) -> tree.Formula:
        weight, derivative = self.notations(columns)
        return tree.minus(weight, tree.Times((constant(self.rate), derivative)))

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return (self.weight, "−", Scale(self.derivative_, times=self.rate))
