"""The norms: of queries and keys, so that scores do not grow with their lengths, and of layers.

To add one of layers: write a function that records its steps, below its row in `LAYER_NORMS`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attncli.core.arithmetic import floats as precision
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.parameters import Parameter, Table
from attncli.core.attention.scores import refuse_zero_rows
from attncli.core.attention.weights import Rules
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import Record
from attncli.core.tape.derivatives import Hadamard, Spread, Subtract
from attncli.core.tape.operations import Add, Divide, Scale, constant
from attncli.core.tape.step import ALL, Derivatives, Expression, Operation, Part, Step
from attncli.core.tape.tape import Tape
from attncli.core.tape.walk import array_of


class QkNorm(Record):
    """One row of the table."""

    formula: str  # of a query or key x
    why: str
    parameters: tuple[Parameter, ...] = ()  # the keys that it takes in the `qk_norm` mapping


def normed(tape: Tape, q: Step, k: Step, rules: Rules) -> tuple[Step, Step]:
    """Record `Q_normed` and `K_normed` if there is a norm; return the queries and keys to use."""
    if not rules.qk_norm:
        return q, k
    own = dict(rules.qk_norm)
    name, gains = own.pop("name"), {"q": own.pop("g_q", None), "k": own.pop("g_k", None)}
    sides = []
    for side, (letter, gain) in zip((q, k), gains.items(), strict=True):
        if name == "l2":
            refuse_zero_rows(tape, side, "qk_norm", "it cannot be divided by its length")
        made: Operation = Divide(side, Length(side, **own))
        if gain is not None:
            key = f"qk_norm.g_{letter}"
            known = tape.input_of(key)
            made = Hadamard(made, known or tape.given(f"g_{letter}", gain, ("feature",), key=key))
        step = f"{side.stem}_normed"
        sides.append(tape.record(step, made, side.trailing, why=NORMS[name].why))
    return sides[0], sides[1]


class Length(Operation):
    """The length of each vector; with eps, the root of the mean of its squares and eps."""

    operand: Expression
    eps: float | None = None

    @property
    def trailing(self) -> tuple[str, ...]:
        return (*self.operand.trailing[:-1], "length")

    def apply(self, x: Array) -> Array:
        """(…, n, d) gives (…, n, 1)."""
        if self.eps is not None:
            return np.sqrt((x * x).sum(axis=-1, keepdims=True) / x.shape[-1] + self.eps)
        x, exponent = precision.of_ordinary_size(x)
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
    why = "The mean is taken over the features of one token, not over the tokens."

    @property
    def trailing(self) -> tuple[str, ...]:
        return (*self.operand.trailing[:-1], "mean")

    def needs(self, part: Part) -> tuple[Part, ...]:
        return ((part[0], ALL),)

    def apply(self, x: Array) -> Array:
        """(…, n, d) gives (…, n, 1)."""
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
        """(…, n, d) gives (…, n, 1)."""
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
    why = "The variance is divided by the number of features, not by one less."

    @property
    def trailing(self) -> tuple[str, ...]:
        return self.mean.trailing

    def needs(self, part: Part) -> tuple[Part, ...]:
        return (part[0], ALL), part

    def apply(self, x: Array, mean: Array) -> Array:
        """(…, n, d) and (…, n, 1) give (…, n, 1)."""
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


class Deviation(Operation):
    """√(v + eps); `is_plain`, it is √v, so that a formula does not add 0."""

    operand: Expression
    eps: float
    is_plain: bool = False  # whether eps is 0
    pointwise = True

    def apply(self, v: Array) -> Array:
        return np.sqrt(v if self.is_plain else v + self.eps)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Dv = dy / (2 y)."""
        yield self.operand, Scale(Divide(upstream, self), over=2.0)

    def notation(self, columns: bool) -> tree.Formula:
        (v,) = self.notations(columns)
        return tree.Root(v if self.is_plain else tree.plus(v, constant(self.eps)))


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
    return Divide(Subtract(x, mean), Deviation(variance, eps, not eps))


@LAYER_NORMS.row(
    "rms",
    NumberAsWritten(1e-6, tree.Number("1e-6")),
    "x / √(mean of x² + eps) ⊙ gain",
    "Each token's features get the mean square 1, then a gain.",
    "Zhang, Sennrich 2019",
)
def rms_norm(tape: Tape, x: Step, eps: float) -> Operation:
    square = tape.record("mean_square", MeanSquare(x))
    return Divide(x, Deviation(square, eps, not eps))


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
        made = row.build(tape, x, eps)
    if not all(array_of(operand).all() for operand in made.operands[1:]):
        way_out = "an eps above 0 avoids that"
        tape.warn(
            f"a token in {name}{tape.scope.suffix} has the variance 0, and becomes 0; {way_out}"
        )
    made = Hadamard(made, gain) if gain is not None else made
    made = Add(made, shift) if shift is not None else made
    return tape.record(name, made, x.trailing, why=row.why)
