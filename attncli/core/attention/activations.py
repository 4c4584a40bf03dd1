"""The activations of feed-forward layers, which are all but ReLU a number times a gate of it.

To add one: write its gate with a derivative, and a function below its row in `ACTIVATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, at_least_zero, erf
from attncli.core.attention.normalizers import Sigmoid
from attncli.core.attention.parameters import Table
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import Record
from attncli.core.tape.derivatives import Hadamard, Passed
from attncli.core.tape.step import Derivatives, Expression, Operation

ROOT_OF_2 = NumberAsWritten(sqrt(2), tree.Root(tree.Number("2")))
TWO_PI = tree.Times((tree.Number("2"), tree.Name("π")), "")
ROOT_OF_2_PI = NumberAsWritten(sqrt(2 * pi), tree.Root(TWO_PI))
OF_TANH = NumberAsWritten(
    sqrt(2 / pi), tree.Root(tree.Fraction(tree.Number("2"), tree.Name("π"), tight=True))
)
CUBIC = 0.044715


class Activation(Record):
    """One row of the table."""

    build: Callable[[Expression], Operation]
    formula: str  # of a number x
    why: str
    source: str


ACTIVATIONS = Table(Activation)


@ACTIVATIONS.row(
    "relu",
    "max(x, 0)",
    "Without it, two layers would be one matrix; negative numbers become 0.",
    "Nair and Hinton 2010",
)
class Relu(Operation):
    """max(x, 0)."""

    operand: Expression
    pointwise = True

    def apply(self, x: Array) -> Array:
        return at_least_zero(x)

    def bounds(self, x: Any) -> Any:
        return type(x)(np.maximum(x.low, 0.0), np.maximum(x.high, 0.0))

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Dx = dy where y > 0; it is 0 at x = 0, too, as programs have it."""
        yield self.operand, Passed(upstream, result)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call("max", (*self.notations(columns), tree.Number("0")))


class Phi(Operation):
    """Φ(x), the share of a normal distribution that is less than x."""

    operand: Expression
    root: float = ROOT_OF_2
    pointwise = True

    def apply(self, x: Array) -> Array:
        return (1 + erf(x / self.root)) / 2

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Hadamard(upstream, Density(self.operand))

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call("Φ", self.notations(columns))


class Density(Operation):
    """φ(x) = e^(−x²/2) / √(2π), the derivative of Φ."""

    operand: Expression
    root: float = ROOT_OF_2_PI
    pointwise = True

    def apply(self, x: Array) -> Array:
        return np.exp(-(x * x) / 2) / self.root

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call("φ", self.notations(columns))


class TanhGate(Operation):
    """(1 + tanh(√(2/π)·(x + 0.044715·x³))) / 2, which is nearly Φ(x)."""

    operand: Expression
    factor: float = OF_TANH
    cubic: float = CUBIC
    pointwise = True

    def apply(self, x: Array) -> Array:
        argument = self.factor * (x + self.cubic * (x * x * x))
        if x.dtype.kind == "f":  # which keeps the digits that 1 − 0.99999 loses
            return 1 / (1 + np.exp(-2 * argument))
        return (1 + np.tanh(argument)) / 2

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Hadamard(upstream, TanhGateSlope(self.operand))

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call("gate", self.notations(columns))


class TanhGateSlope(Operation):
    """(1 − t²)/2 · √(2/π)·(1 + 3·0.044715·x²), where the gate is (1 + t)/2."""

    operand: Expression
    factor: float = OF_TANH
    cubic: float = CUBIC
    pointwise = True

    def apply(self, x: Array) -> Array:
        square = x * x
        argument = self.factor * (x + self.cubic * (square * x))
        t = np.tanh(argument)
        change = 1 / np.cosh(argument) ** 2 if x.dtype.kind == "f" else 1 - t * t
        return change / 2 * self.factor * (1 + 3 * self.cubic * square)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call("gate′", self.notations(columns))


LEAST: dict[type[Operation], float] = {
    Sigmoid: -1.2784645427610738,
    Phi: -0.7517915246935645,
    TanhGate: -0.7524614220710162,
}
"""The x at which x times a gate is least, where its derivative is 0; found with mpmath."""


class Gated(Hadamard):
    """x times a gate of x, which falls up to one x, and rises after it."""

    def bounds(self, x: Any, gate: Any) -> Any:
        made = self.right
        assert isinstance(made, Operation)
        least = LEAST[type(made)]
        ends = [end * made.apply(end) for end in (x.low, x.high)]
        lowest = least * float(made.apply(np.array([least]))[0])
        low = np.where((x.low < least) & (least < x.high), lowest, np.minimum(*ends))
        return type(x)(low, np.maximum(*ends))

    @property
    def note(self) -> tree.Formula | None:
        """The formula of the gate, but for 1 / (1 + e^−x), which the step's own formula has."""
        x = tree.Name("x")
        made = {
            Sigmoid: None,
            Phi: (("Φ", tree.Call("erf", (tree.Fraction(x, ROOT_OF_2.formula, tight=True),)))),
            TanhGate: ("gate", tree.Call("tanh", (_argument(x),))),
        }[type(self.right)]
        if made is None:
            return None
        name, function = made
        half = tree.Fraction(tree.plus(tree.Number("1"), function), tree.Number("2"))
        return tree.Relation((tree.Call(name, (x,)), half))


def _argument(x: tree.Formula) -> tree.Formula:
    cubic = tree.Times((tree.Number(str(CUBIC)), tree.Power(x, tree.Number("3"))))
    return tree.Times((OF_TANH.formula, tree.plus(x, cubic)))


SMOOTH = "It is near 0 for negative numbers, and near the number itself for positive ones."


@ACTIVATIONS.row("gelu", "x·Φ(x)", SMOOTH, "Hendrycks, Gimpel 2016")
def gelu(x: Expression) -> Operation:
    return Gated(x, Phi(x))


@ACTIVATIONS.row(
    "gelu_tanh", "x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2", SMOOTH, "Hendrycks, Gimpel 2016"
)
def gelu_tanh(x: Expression) -> Operation:
    return Gated(x, TanhGate(x))


@ACTIVATIONS.row("silu", "x / (1 + e^−x)", SMOOTH, "Ramachandran et al. 2017")
def silu(x: Expression) -> Operation:
    return Gated(x, Sigmoid(x))


WITH_GATE = {"swiglu": "silu", "geglu": "gelu"}
"""Names of activations of gated layers (Shazeer 2020), with the activation of each."""
