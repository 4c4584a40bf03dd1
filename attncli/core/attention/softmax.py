"""The steps of softmax: the powers of the scores, their sums, the shares; and a sink's part."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from attncli.core.arithmetic import floats as precision
from attncli.core.arithmetic.elements import Array
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import replace
from attncli.core.tape.derivatives import Hadamard, Spread, Subtract, plural
from attncli.core.tape.operations import Add, Divide, Scale, constant
from attncli.core.tape.step import ALL, Derivatives, Expression, Operation, Part, Step, notation_of
from attncli.core.tape.walk import array_of

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
            product = Hadamard(result, upstream)
            yield total.right.sink, self._of_sink(total.right, total.left, product)
            total = total.left
        assert isinstance(total, Sum)  # see `softmax` and `divide_by_sum`
        centred = Subtract(upstream, Delta(Hadamard(result, upstream), total.along))
        power = self.dividend.operation if isinstance(self.dividend, Step) else None
        if isinstance(power, Exp):
            yield power.operand, power.slope(Hadamard(result, centred))
        else:
            yield self.dividend, Divide(centred, self.divisor)

    def _of_sink(self, power: SinkPower, total: Sum, product: Expression) -> Expression:
        """Return −δ times the share of the sink, e^sink / sum."""
        share = Divide(power, self.divisor)
        return Scale(Hadamard(replace(total, operand=product), share), times=-1.0)


class Exp(Operation):
    """base^(s / temperature), softmax's first step.

    The scores are shifted first only where floats cannot hold base^s.
    """

    operand: Expression
    base: float = np.e
    temperature: float = 1.0
    shift_along: int | tuple[int, ...] | None = None  # axes whose largest score is subtracted
    sink: Expression | None = None  # what the largest score is compared with
    unfolds = True
    why = "Every score becomes positive, and a larger score stays larger."

    @property
    def operands(self) -> tuple[Expression, ...]:
        if self.shift_along is None or self.sink is None:
            return (self.operand,)
        return self.operand, self.sink

    def needs(self, part: Part) -> tuple[Part, ...] | None:
        return (part,) if self.shift_along is None else None

    def shift(self, scores: Array, *sinks: Array) -> Array:
        """Return the largest of each line, among them the score of a sink; 0 if all are blocked."""
        largest = scores.max(axis=self.shift_along, keepdims=True)
        for sink in sinks:
            is_plain = self.base == np.e and self.temperature == 1
            of_sink = sink if is_plain else sink * self.temperature / np.log(self.base)
            largest = np.maximum(largest, of_sink)
        return np.where(largest == -np.inf, 0.0, largest).astype(scores.dtype)

    def apply(self, scores: Array, *sinks: Array) -> Array:
        shift: Array | float = 0.0
        if self.shift_along is not None:
            shift = self.shift(scores, *sinks)
        if scores.dtype.kind != "f":
            exponent = scores if self.shift_along is None else scores - shift
            exponent = exponent / self.temperature if self.temperature != 1 else exponent
            return np.exp(exponent) if self.base == np.e else np.power(self.base, exponent)
        return precision.power(self.base, scores, shift, self.temperature)

    def bounds(self, scores: Any, *sinks: Any) -> Any:
        """As `apply`; beyond `LARGE_EXPONENT` the largest score is subtracted first."""
        along = -1 if self.shift_along is None else self.shift_along
        shift = replace(self, shift_along=along).shift
        least = shift(scores.low, *(sink.low for sink in sinks))
        most = shift(scores.high, *(sink.high for sink in sinks))
        if self.shift_along is not None:
            # The largest may be as little as the largest low end, and no number is above it.
            scores = type(scores)(scores.low - most, np.minimum(scores.high - least, 0.0))
        elif np.abs(most).max(initial=0.0) > LARGE_EXPONENT:
            scores = scores - most
        return replace(self, shift_along=None).apply(scores)

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
        exponent = notation_of(self.operand, columns)
        if self.shift_along is not None:
            exponent = tree.minus(exponent, tree.Words("largest"))
        if self.temperature != 1:
            exponent = tree.Fraction(exponent, constant(self.temperature))
        return tree.Power(tree.Name("e") if self.base == np.e else constant(self.base), exponent)


class Sum(Operation):
    """The sum along the keys (or the queries) of each row (or column)."""

    operand: Expression
    along: int
    unfolds = True
    why = "The numbers are divided by this sum, so that they become shares of 1."

    def needs(self, part: Part) -> tuple[Part, ...]:
        rows, columns = part
        return ((rows, ALL),) if self.along == ALONG_KEYS else ((ALL, columns),)

    @property
    def trailing(self) -> tuple[str, ...]:
        *rows, column = self.operand.trailing
        return (*rows, "sum") if self.along == ALONG_KEYS else ("sum", column)

    def apply(self, array: Array) -> Array:
        """(…, n, m) gives (…, n, 1), or (…, 1, m) along the queries."""
        if array.dtype.kind == "f":
            return precision.total(array, self.along)
        return array.sum(axis=self.along, keepdims=True)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Spread(upstream, array_of(self.operand).shape)

    def notation(self, columns: bool) -> tree.Formula:
        axis = self.operand.trailing[self.along]
        return tree.Phrase((*self.notations(columns), tree.Words(f"summed over {plural(axis)}")))


class SinkPower(Operation):
    """e^sink; where the largest score was subtracted from the others, it is from the sink, too."""

    sink: Expression
    powers: Expression

    @property
    def power(self) -> Exp | None:
        """The power of the scores, if the largest is subtracted from them."""
        made = self.powers.operation if isinstance(self.powers, Step) else None
        return made if isinstance(made, Exp) and made.shift_along is not None else None

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.sink,) if self.power is None else (self.sink, self.power.operand)

    def apply(self, sink: Array, *scores: Array) -> Array:
        """(…, 1, 1), and perhaps (…, n, m), give (…, 1, 1), (…, n, 1) or (…, 1, m)."""
        if self.power is None:
            return np.exp(sink)
        return np.exp(sink - self._exponent(self.power.shift(*scores, sink)))

    def bounds(self, sink: Any, *scores: Any) -> Any:
        if self.power is None:
            return np.exp(sink)
        (s,) = scores
        ends = (self.power.shift(s.low, sink.low), self.power.shift(s.high, sink.high))
        return np.exp(sink - self._exponent(type(s)(*ends)))

    def _exponent(self, shift: Any) -> Any:
        """Return x so that e^x = base^(shift / temperature)."""
        power = self.power
        if power is None or (power.base == np.e and power.temperature == 1):
            return shift
        return shift * float(log(power.base)) / float(power.temperature)

    def notation(self, columns: bool) -> tree.Formula:
        exponent = notation_of(self.sink, columns)
        if self.power is not None:
            exponent = tree.minus(exponent, tree.Words("largest"))
        return tree.Power(tree.Name("e"), exponent)


class WithSink(Add):
    """The sum of a line, and the power of the sink."""

    left: Sum
    right: SinkPower
    unfolds = True
    why = "The sink takes a share, too, so that the weights may sum to less than 1."

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.left, self.right

    def notation(self, columns: bool) -> tree.Formula:
        return tree.plus(*self.notations(columns)[::-1])


class Delta(Sum):
    """δ, the part that the derivatives of a line of weights share: their weighted mean."""

    unfolds = False
    line = "delta"
    why = "Weights that sum to 1 cannot all grow: what they have in common has no effect."
