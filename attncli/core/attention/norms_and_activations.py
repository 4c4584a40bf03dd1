"""Norms and activations, which change the features of each token by itself.

Norms of queries and keys keep scores from growing with their lengths. To add a norm of layers:
write a function that records its steps, below its row in `LAYER_NORMS`.

Every activation but ReLU multiplies a number by its gate. To add one: write its gate with a
derivative, and a function below its row in `ACTIVATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np

from attncli.core.arithmetic import floats
from attncli.core.arithmetic.elements import Array, are_floats, at_least_zero, erf
from attncli.core.attention.normalizers import Sigmoid, sigmoid_of
from attncli.core.attention.parameters import Parameter, Rules, Table
from attncli.core.attention.scores import refuse_zero_rows
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import Record
from attncli.core.tape.backward_operations import Hadamard, Passed, Pointwise, Spread, Subtract
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, Divide, Scale, constant
from attncli.core.tape.step import Derivatives, Expression, Operation, Step
from attncli.core.tape.tape import Tape


class QkNorm(Record):
    """One row of the table."""

    formula: str  # of a query or key x
    why: str
    parameters: tuple[Parameter, ...] = ()  # the keys that it takes in the `qk_norm` mapping


def normed(tape: Tape, q: Step, k: Step, rules: Rules) -> tuple[Step, Step]:
    """Record `Q_normed` and `K_normed` by the norm of the rules."""
    settings = rules.qk_norm

    def of_side(side: Step, gain: str) -> Step:
        if settings["name"] == "l2":
            refuse_zero_rows(tape, side, "qk_norm", "it cannot be divided by its length")
        ratio: Operation = Divide(side, Length(side, settings.get("eps")))
        if (numbers := settings.get(gain)) is not None:
            ratio = Hadamard(ratio, tape.put(gain, numbers, ("feature",), key=f"qk_norm.{gain}"))
        why = NORMS[settings["name"]].why
        return tape.record(f"{side.stem}_normed", ratio, side.trailing, why=why)

    return of_side(q, "g_q"), of_side(k, "g_k")


class Length(Operation):
    """The length of each vector; with eps, the root of the mean of its squares and eps."""

    operand: Expression
    eps: float | None = None
    shape = "n d -> n length"

    def apply(self, x: Array) -> Array:
        if self.eps is not None:
            return np.sqrt((x * x).sum(axis=-1, keepdims=True) / x.shape[-1] + self.eps)
        x, exponent = floats.of_ordinary_size(x)
        length = np.sqrt((x * x).sum(axis=-1, keepdims=True))
        return length if exponent is None else np.ldexp(length, exponent)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        slope = Hadamard(upstream, Divide(self.operand, result))
        count = 1.0 if self.eps is None else float(array_of(self.operand).shape[-1])
        yield self.operand, slope if count == 1 else Scale(slope, over=count)

    def notation(self, columns: bool) -> tree.Formula:
        if self.eps is None:
            return tree.Norm(*self.notations(columns))
        squares = tree.Phrase((tree.Words("mean"), tree.Squared(*self.notations(columns))))
        return tree.Root(tree.plus(squares, constant(self.eps)))


NORMS: dict[str, QkNorm] = {
    "l2": QkNorm("x / ‖x‖", "All vectors get one length: scores depend on their directions alone."),
    "rms": QkNorm(
        "x / √(mean of x² + eps) · g",
        "All vectors get about one length, so that scores stay small.",
        (Parameter("eps", default=1e-6), Parameter("g_q", ("d_q",)), Parameter("g_k", ("d_k",))),
    ),
}


class LayerNorm(Record):
    """One row of the table; `build` records what comes before the result, and returns that."""

    build: Callable[[Tape, Step, float], Operation]
    eps: float  # the default
    formula: str  # of the features x of a token
    why: str
    source: str


class Mean(Operation):
    """The mean of the features of each token."""

    operand: Expression
    shape = "n d -> n mean"
    why = "The mean is taken over the features of one token, not over the tokens."

    def apply(self, x: Array) -> Array:
        return x.sum(axis=-1, keepdims=True) / x.shape[-1]

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        shape = array_of(self.operand).shape
        yield self.operand, Scale(Spread(upstream, shape), over=float(shape[-1]))

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Phrase((tree.Words("mean over features of"), *self.notations(columns)))


class MeanSquare(Mean):
    """The mean of the squares of the features of each token."""

    why = "The root of the mean of the squares is the size of a typical feature."

    def apply(self, x: Array) -> Array:
        return super().apply(x * x)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        size = float(array_of(self.operand).shape[-1])
        yield self.operand, Hadamard(upstream, _doubled(self.operand, size))

    def notation(self, columns: bool) -> tree.Formula:
        squares = tree.Squared(*self.notations(columns))
        return tree.Phrase((tree.Words("mean over features of"), squares))


class Variance(Operation):
    """The mean of the squares of the distances of features from their mean."""

    operand: Expression
    mean: Expression
    shape = "n d, n u -> n mean"
    why = "The variance is divided by the number of features, not by one less."

    def apply(self, x: Array, mean: Array) -> Array:
        distance = x - mean
        return (distance * distance).sum(axis=-1, keepdims=True) / x.shape[-1]

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Dx = dv · 2 (x − mean) / d; the mean gets nothing, as distances from it sum to 0."""
        distance = Subtract(self.operand, self.mean)
        size = float(array_of(self.operand).shape[-1])
        yield self.operand, Hadamard(upstream, _doubled(distance, size))

    def notation(self, columns: bool) -> tree.Formula:
        squares = tree.Squared(tree.minus(*self.notations(columns)))
        return tree.Phrase((tree.Words("mean over features of"), squares))


def _doubled(x: Expression, size: float) -> Scale:
    symbol = tree.Fraction(tree.Number("2"), constant(size), tight=True)
    return Scale(x, 2.0, size, symbol)


class Deviation(Pointwise):
    """√(v + eps); `is_plain`, it is √v, so that a formula does not add 0."""

    eps: float
    is_plain: bool = False  # whether eps is 0

    def apply(self, v: Array) -> Array:
        return np.sqrt(v if self.is_plain else v + self.eps)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Dv = dy / (2 y)."""
        yield self.operand, Scale(Divide(upstream, self), over=2.0)

    def notation(self, columns: bool) -> tree.Formula:
        (v,) = self.notations(columns)
        return tree.Root(v if self.is_plain else tree.plus(v, constant(self.eps)))


class Normed(Divide):
    """Features divided by their deviation; of one that is 0, `normalized` warns."""


LAYER_NORMS = Table(LayerNorm)


@LAYER_NORMS.row(
    "layer",
    NumberAsWritten(1e-5, tree.Number("1e-5")),
    "(x − mean) / √(variance + eps) ⊙ gain + shift",
    "Each token's features get the mean 0 and the variance 1, then a gain and a shift.",
    "Ba et al. 2016",
)
def layer_norm(tape: Tape, x: Step, eps: float) -> Operation:
    mean = tape.record("mean", Mean(x))
    variance = tape.record("variance", Variance(x, mean))
    return Normed(Subtract(x, mean), Deviation(variance, eps, not eps))


@LAYER_NORMS.row(
    "rms",
    NumberAsWritten(1e-6, tree.Number("1e-6")),
    "x / √(mean of x² + eps) ⊙ gain",
    "Each token's features get the mean square 1, then a gain.",
    "Zhang, Sennrich 2019",
)
def rms_norm(tape: Tape, x: Step, eps: float) -> Operation:
    square = tape.record("mean_square", MeanSquare(x))
    return Normed(x, Deviation(square, eps, not eps))


def normalized(
    tape: Tape, x: Step, norm: str, eps: float, gain: Step | None, shift: Step | None, name: str
) -> Step:
    """Record the norm of x as the step `name`, with its mean and variance before it.

    These end as all steps of the scope do, such as with `_1`, or with the name. With the norm
    `none`, x itself is returned.
    """
    if norm == "none":
        return x
    row = LAYER_NORMS[norm]
    with tape.within(suffix=tape.scope.suffix or f"_{name}"):
        operation = row.build(tape, x, eps)
    if not all(array_of(operand).all() for operand in operation.operands[1:]):
        where = f"{name}{tape.scope.suffix} has the variance 0"
        tape.warn(f"a token in {where}, and becomes 0; an eps above 0 avoids that")
    operation = Hadamard(operation, gain) if gain is not None else operation
    operation = Add(operation, shift) if shift is not None else operation
    return tape.record(name, operation, x.trailing, why=row.why)


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
class Relu(Pointwise):
    """max(x, 0)."""

    def apply(self, x: Array) -> Array:
        return at_least_zero(x)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Dx = dy where y > 0; it is 0 at x = 0, too, as programs have it."""
        yield self.operand, Passed(upstream, result)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call("max", (*self.notations(columns), tree.Number("0")))


class Phi(Pointwise):
    """Φ(x), the share of a normal distribution that is less than x."""

    function = "Φ"
    root: float = ROOT_OF_2

    def apply(self, x: Array) -> Array:
        return (1 + erf(x / self.root)) / 2

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Hadamard(upstream, Density(self.operand))


class Density(Pointwise):
    """φ(x) = e^(−x²/2) / √(2π), the derivative of Φ."""

    function = "φ"
    root: float = ROOT_OF_2_PI

    def apply(self, x: Array) -> Array:
        return np.exp(-(x * x) / 2) / self.root


class TanhGate(Pointwise):
    """(1 + tanh(√(2/π)·(x + 0.044715·x³))) / 2, which is nearly Φ(x)."""

    function = "gate"
    factor: float = OF_TANH
    cubic: float = CUBIC

    def apply(self, x: Array) -> Array:
        argument = self.factor * (x + self.cubic * (x * x * x))
        if are_floats(x):  # which keeps the digits that 1 − 0.99999 loses
            return 1 / (1 + np.exp(-2 * argument))
        return (1 + np.tanh(argument)) / 2

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Hadamard(upstream, TanhGateSlope(self.operand))


class TanhGateSlope(Pointwise):
    """(1 − t²)/2 · √(2/π)·(1 + 3·0.044715·x²), where the gate is (1 + t)/2."""

    function = "gate′"
    factor: float = OF_TANH
    cubic: float = CUBIC

    def apply(self, x: Array) -> Array:
        square = x * x
        argument = self.factor * (x + self.cubic * (square * x))
        t = np.tanh(argument)
        change = 1 / np.cosh(argument) ** 2 if are_floats(x) else 1 - t * t
        return change / 2 * self.factor * (1 + 3 * self.cubic * square)


LEAST: dict[type[Operation], float] = {
    Sigmoid: -1.2784645427610738,
    Phi: -0.7517915246935645,
    TanhGate: -0.7524614220710162,
}
"""The x at which x times a gate is least, where its derivative is 0; found with mpmath."""


class Gated(Hadamard):
    """x times a gate of x, which falls up to one x, and rises after it."""

    def bounds(self, x: Any, gate: Any) -> Any:
        gate_of = self.right
        if not isinstance(gate_of, Phi | Sigmoid | TanhGate) or gate_of.operand is not self.left:
            return x * gate  # as where something else was put into one of them
        least = LEAST[type(gate_of)]
        ends = [end * gate_of.apply(end) for end in (x.low, x.high)]
        lowest = least * float(gate_of.apply(np.array([least]))[0])
        low = np.where((x.low < least) & (least < x.high), lowest, np.minimum(*ends))
        return type(x)(low, np.maximum(*ends))

    @property
    def note(self) -> tree.Formula | None:
        """The formula of the gate, but for 1 / (1 + e^−x), which the step's own formula has."""
        if not isinstance(self.right, Phi | TanhGate):
            return None
        x = tree.Name("x")
        function = tree.Call("erf", (tree.Fraction(x, ROOT_OF_2.formula, tight=True),))
        if isinstance(self.right, TanhGate):
            cubic = tree.Times((tree.Number(str(CUBIC)), tree.Power(x, tree.Number("3"))))
            function = tree.Call("tanh", (tree.Times((OF_TANH.formula, tree.plus(x, cubic))),))
        half = tree.Fraction(tree.plus(tree.Number("1"), function), tree.Number("2"))
        return tree.Relation((tree.Call(self.right.function, (x,)), half))


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


class ThroughGate(Hadamard):
    """The derivative with regard to what goes into a gate."""

    line = "d_net_"
    why = "Where a gate is nearly open or shut, it hardly moves: its slope is gate ⊙ (1 − gate)."


class Gate(Sigmoid):
    """σ(x), the gate of what attention found (Qiu et al. 2025, Gated Attention for LLMs)."""

    function = "σ"
    through = ThroughGate
    why = "Each token says by its own features how much passes: all at 1, nothing at 0."
    notation = Pointwise.notation

    @property
    def note(self) -> tree.Formula:
        x = tree.Name("x")
        meaning = tree.Relation((tree.Call(self.function, (x,)), sigmoid_of(x)))
        cut = self.operand.note if isinstance(self.operand, Operation) else None
        return tree.Listed((meaning, cut)) if cut else meaning


def eps_of(norm: str, eps: float | None) -> float:
    """Return what a norm adds to the variance: a number, or by default that of the norm."""
    return LAYER_NORMS[norm].eps if eps is None and norm in LAYER_NORMS else eps or 0.0
