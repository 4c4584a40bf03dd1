"""The steps of softmax: the powers of the scores, their sums, the shares; and a sink's part."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from attncli.core.arithmetic import floats
from attncli.core.arithmetic.elements import Array, are_floats
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Hadamard, Pointwise, Spread, Subtract, plural
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, Divide, Scale, constant
from attncli.core.tape.step import Derivatives, Expression, Operation, Step, notation_of

ALONG_KEYS = -1
"""The axis of the keys in a score matrix; that of the queries is -2."""

LARGE_EXPONENT = 300.0
"""Largest |s| for which an interval of e^s surely stays within floats, whatever the base."""


class Shares(Divide):
    """Numbers divided by the sum of their line."""

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """For w = s / Σ s, ds = (dw − δ) / Σ s; for w = e^s / Σ e^s, ds = w ⊙ (dw − δ).

        In both δ = Σ w ⊙ dw along the line; the Jacobian of softmax is diag(w) − w wᵀ.
        """
        total = self.divisor.operation if isinstance(self.divisor, Step) else None
        if isinstance(total, WithSink):
            of_sink, total = total.right, total.left
            assert isinstance(of_sink, SinkPower)  # see `softmax`
            assert isinstance(total, Sum)
            product = replace(total, operand=Hadamard(result, upstream))
            slope = Hadamard(product, Divide(of_sink, self.divisor))
            yield of_sink.sink, Scale(slope, times=-1.0)
        assert isinstance(total, Sum)  # see `softmax` and `divide_by_sum`
        centred = Subtract(upstream, Delta(Hadamard(result, upstream), total.along))
        power = self.dividend.operation if isinstance(self.dividend, Step) else None
        if isinstance(power, Exp):
            yield power.operand, power.slope(Hadamard(result, centred))
        else:
            yield self.dividend, Divide(centred, self.divisor)


class Exp(Pointwise):
    """base^(s / temperature), softmax's first step."""

    base: float = np.e
    temperature: float = 1.0
    unfolds = True
    why = "Every score becomes positive, and a larger score stays larger."

    def apply(self, scores: Array) -> Array:
        if are_floats(scores):
            return floats.power(self.base, scores, 0.0, self.temperature)
        exponent = scores / self.temperature if self.temperature != 1 else scores
        return np.exp(exponent) if self.base == np.e else np.power(self.base, exponent)

    def bounds(self, scores: Any) -> Any:
        """As `apply`; beyond `LARGE_EXPONENT` the largest score is subtracted first."""
        most = Largest(self.operand, -1).apply(scores.high)
        is_large = np.abs(most).max(initial=0.0, keepdims=True) > LARGE_EXPONENT
        return self.apply(scores - np.where(is_large, most, 0.0))

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Ds = dy ⊙ y · ln(base) / temperature, for y = base^(s / temperature)."""
        yield self.operand, self.slope(Hadamard(upstream, result))

    def slope(self, product: Expression) -> Expression:
        """Return a product times the derivative of the exponent, ln(base) / temperature."""
        if self.base == np.e:
            is_plain = self.temperature == 1
            return product if is_plain else Scale(product, over=self.temperature)
        name: tree.Formula = tree.Call("ln", (constant(self.base),))
        factor = NumberAsWritten(log(self.base), name)
        if self.temperature != 1:
            name = tree.Fraction(name, constant(self.temperature))
        return Scale(product, factor, self.temperature, name)

    def notation(self, columns: bool) -> tree.Formula:
        exponent = self.exponent(columns)
        if self.temperature != 1:
            exponent = tree.Fraction(exponent, constant(self.temperature))
        return tree.Power(tree.Name("e") if self.base == np.e else constant(self.base), exponent)

    def exponent(self, columns: bool) -> tree.Formula:
        """Return the formula of the scores."""
        return notation_of(self.operand, columns)


class ShiftedExp(Exp):
    """base^((s − largest) / temperature), where floats cannot hold base^s."""

    shift: Expression  # type: ignore[misc]  # behind defaults, as it is made with all fields

    def apply(self, scores: Array, shift: Array) -> Array:  # type: ignore[override]
        if are_floats(scores):
            return floats.power(self.base, scores, shift, self.temperature)
        return super().apply(scores - shift)

    def bounds(self, scores: Any, shift: Any) -> Any:  # type: ignore[override]
        """The largest may be as little as the largest low end, and no number is above it."""
        ends = scores.low - shift.high, np.minimum(scores.high - shift.low, 0.0)
        return super().apply(type(scores)(*ends))

    def exponent(self, columns: bool) -> tree.Formula:
        return tree.minus(super().exponent(columns), notation_of(self.shift, columns))


class Largest(Operation):
    """The largest score of each line, among them those of sinks; 0 if all are blocked."""

    operand: Expression
    along: int | tuple[int, ...]
    sinks: tuple[Expression, ...] = ()
    base: float = np.e  # e^sink is base^(s / temperature) of another s
    temperature: float = 1.0

    @property
    def shape(self) -> str:
        along = self.along if isinstance(self.along, tuple) else (self.along,)
        n, m = ("n'" if ALONG_KEYS - 1 in along else "n"), ("m'" if ALONG_KEYS in along else "m")
        return f"{n} {m} -> n m"

    def apply(self, scores: Array, *sinks: Array) -> Array:
        largest = scores.max(axis=self.along, keepdims=True)
        for sink in sinks:
            is_plain = self.base == np.e and self.temperature == 1
            of_sink = sink if is_plain else sink * self.temperature / np.log(self.base)
            largest = np.maximum(largest, of_sink)
        return np.where(largest == -np.inf, 0.0, largest).astype(scores.dtype)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Words("largest")


class Sum(Operation):
    """The sum along the keys (or the queries) of each row (or column)."""

    operand: Expression
    along: int
    unfolds = True
    why = "The numbers are divided by this sum, so that they become shares of 1."

    @property
    def shape(self) -> str:
        return "n m -> n sum" if self.along == ALONG_KEYS else "n m -> sum m"

    def apply(self, array: Array) -> Array:
        if are_floats(array):
            return floats.total(array, self.along)
        return array.sum(axis=self.along, keepdims=True)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Spread(upstream, array_of(self.operand).shape)

    def notation(self, columns: bool) -> tree.Formula:
        axis = self.operand.trailing[self.along]
        return tree.Phrase((*self.notations(columns), tree.Words(f"summed over {plural(axis)}")))


class SinkPower(Operation):
    """e^sink."""

    sink: Expression

    def apply(self, sink: Array) -> Array:
        return np.exp(sink)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Power(tree.Name("e"), notation_of(self.sink, columns))


class ShiftedSinkPower(SinkPower):
    """e^(sink − largest), if the largest score is subtracted from the others, too."""

    shift: Expression
    of_scores: tuple[float, float]  # the base and the temperature of their powers

    def apply(self, sink: Array, shift: Array) -> Array:  # type: ignore[override]
        """(…, 1, 1) and (…, n, 1) give (…, n, 1), or (…, 1, m) along the queries."""
        base, temperature = self.of_scores
        if base != np.e or temperature != 1:  # e^x = base^(shift / temperature)
            shift = shift * log(base) / (1.0 * temperature)  # a plain float
        return np.exp(sink - shift)

    def notation(self, columns: bool) -> tree.Formula:
        names = (notation_of(part, columns) for part in self.operands)
        return tree.Power(tree.Name("e"), tree.minus(*names))


def shifted(
    power: Exp, along: int | tuple[int, ...], sink: Expression | None
) -> tuple[ShiftedExp, ShiftedSinkPower | None]:
    """Return a power, and that of a sink, with the largest score of each line subtracted."""
    numbers, sinks = (power.base, power.temperature), () if sink is None else (sink,)
    largest = Largest(power.operand, along, sinks, *numbers)
    of_sink = None if sink is None else ShiftedSinkPower(sink, largest, numbers)
    return ShiftedExp(power.operand, *numbers, largest), of_sink


class WithSink(Add):
    """The sum of a line, and the power of the sink."""

    unfolds = True
    why = "The sink takes a share, too, so that the weights may sum to less than 1."

    def notation(self, columns: bool) -> tree.Formula:
        return tree.plus(*self.notations(columns)[::-1])


class Delta(Sum):
    """δ, the part that the derivatives of a line of weights share: their weighted mean."""

    unfolds = False
    line = "delta"
    why = "Weights that sum to 1 cannot all grow: what they have in common has no effect."
