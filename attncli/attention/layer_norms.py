"""The norms of layers, which give the features of each token one size.

To add one: write a function that records its steps, and give it a row in `LAYER_NORMS`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.notation import tree
from attncli.notation.written import NumberAsWritten
from attncli.records import Record
from attncli.tape.derivatives import Hadamard, Spread, Subtract
from attncli.tape.operations import Add, Divide, Scale, constant
from attncli.tape.step import ALL, Derivatives, Expression, Operation, Part, Step
from attncli.tape.tape import Tape
from attncli.tape.walk import array_of


class LayerNorm(Record):
    """One row of the table; `build` records what comes before the result, and returns that."""

    build: Callable[[Tape, Step, float, str], Operation]
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


def _layer(tape: Tape, x: Step, eps: float, suffix: str) -> Operation:
    mean = tape.record(f"mean{suffix}", Mean(x))
    variance = tape.record(f"variance{suffix}", Variance(x, mean))
    return Divide(Subtract(x, mean), Deviation(variance, eps, not eps))


def _rms(tape: Tape, x: Step, eps: float, suffix: str) -> Operation:
    square = tape.record(f"mean_square{suffix}", MeanSquare(x))
    return Divide(x, Deviation(square, eps, not eps))


LAYER_NORMS: dict[str, LayerNorm] = {
    "layer": LayerNorm(
        _layer,
        NumberAsWritten(1e-5, tree.Number("1e-5")),
        "(x − mean) / √(variance + eps) ⊙ gain + shift",
        "Each token's features get the mean 0 and the variance 1, then a gain and a shift.",
        "Ba et al. 2016",
    ),
    "rms": LayerNorm(
        _rms,
        NumberAsWritten(1e-6, tree.Number("1e-6")),
        "x / √(mean of x² + eps) ⊙ gain",
        "Each token's features get the mean square 1, then a gain.",
        "Zhang, Sennrich 2019",
    ),
}


def normalized(
    tape: Tape, x: Step, norm: str, eps: float, gain: Step | None, shift: Step | None, name: str
) -> Step:
    """Record the norm of x as the step `name`, with its mean and variance before it.

    These have the same ending, such as `_1`. With the norm `none`, x itself is returned.
    """
    if norm == "none":
        return x
    row = LAYER_NORMS[norm]
    made = row.build(tape, x, eps, "".join(name.partition("_")[1:]) or f"_{name}")
    if not all(array_of(operand).all() for operand in made.operands[1:]):
        tape.warn(
            f"a token in {name} has the variance 0, and becomes 0; an eps above 0 avoids that"
        )
    made = Hadamard(made, gain) if gain is not None else made
    made = Add(made, shift) if shift is not None else made
    return tape.record(name, made, x.trailing, why=row.why)
