"""The normalisers: how a row of scores becomes weights.

To add one: write a function that takes the tape, the scores and the settings and returns the
operation whose result is the step `weights`, and give it a row in `NORMALIZERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np

from attncli.arithmetic import floats as precision
from attncli.arithmetic.elements import Array, at_least_zero, because, named
from attncli.attention.heads import SplitHeads
from attncli.attention.parameters import Normalize, Parameter
from attncli.errors import fail
from attncli.forms.form import vector
from attncli.notation import tree
from attncli.notation.text import text
from attncli.notation.written import NumberAsWritten
from attncli.records import Record, replace
from attncli.tape.derivatives import Hadamard, Passed, Spread, Subtract, passed, plural
from attncli.tape.operations import Add, Divide, Scale, constant
from attncli.tape.step import ALL, Derivatives, Expression, Operation, Part, Step, notation_of
from attncli.tape.tape import Tape
from attncli.tape.walk import array_of

LARGE_EXPONENT = 300.0
"""Largest |s| for which an interval of e^s surely stays within floats, whatever the base."""

ALONG_KEYS = -1
"""The axis of the keys in a score matrix; that of the queries is -2."""


class Normalizer(Record):
    """One row of the table; `build` records what comes before the result, and returns that."""

    build: Callable[[Tape, Expression, Normalize, str], Expression]
    formula: str  # the weight of a score s
    summary: str  # one line for `attn scores`
    parameters: tuple[Parameter, ...] = ()  # the keys that it takes beside `SETTINGS`


def softmax(tape: Tape, scores: Expression, settings: Normalize, suffix: str) -> Expression:
    """e^s divided by the row's sum of e^s, in two steps."""
    shift = None
    if _out_of_range(array_of(scores), settings) or _is_large(settings.parameters.get("sink")):
        shift = settings.along
        tell_of_shift(tape, text(notation_of(scores, tape.columns)), settings)
    sink = _sink(tape, settings)
    power = Exp(scores, settings.base, settings.temperature, shift, sink)
    exponentials = tape.record(f"exp{suffix}", power)
    total = Sum(exponentials, settings.along)
    whole = total if sink is None else WithSink(total, SinkPower(sink, exponentials))
    return Shares(exponentials, tape.record(f"sum{suffix}", whole))


def _sink(tape: Tape, settings: Normalize) -> Expression | None:
    """Return the sink of each head, or of all, on the tape once; None if there is none."""
    key, sinks = "normalize.sink", settings.parameters.get("sink")
    if sinks is None:
        return None
    sink = tape.input_of(key) or tape.given("sink", sinks, ("sink",), key=key)
    return SplitHeads(sink, sinks.size) if sinks.size > 1 else sink


def hardmax(tape: Tape, scores: Expression, settings: Normalize, suffix: str) -> Expression:
    """All weight on the largest score; on the first of several, with a warning."""
    array = array_of(scores)
    largest = array.max(axis=settings.along, keepdims=True)
    tied = ((array == largest) & (largest > -np.inf)).sum(axis=settings.along) > 1
    if tied.any():
        line = _line(settings, tape)
        tape.warn(f"several scores of a {line} are largest: hardmax took the first")
    return Hardmax(scores, settings.along)


def sparsemax(tape: Tape, scores: Expression, settings: Normalize, suffix: str) -> Expression:
    """The nearest point of the probability simplex."""
    return Sparsemax(scores, settings.along, settings.temperature)


def divide_by_sum(tape: Tape, scores: Expression, settings: Normalize, suffix: str) -> Expression:
    """Each score divided by the sum of its row."""
    unblocked = _unblocked(scores)
    total = tape.record(f"sum{suffix}", Sum(unblocked, settings.along))
    blocked = (array_of(scores) == -np.inf).all(axis=settings.along, keepdims=True)
    zero = np.argwhere((total.array == 0) & ~blocked)
    if len(zero):
        place = tape.first + int(zero[0][-2 if settings.along == ALONG_KEYS else -1])
        message = f"the scores of {_line(settings, tape)} {place + 1} sum to 0"
        hint = "use softmax, or change the scores"
        raise fail(f"{message}, so they cannot be divided by their sum", "normalize", hint=hint)
    return Shares(unblocked, total)


def sigmoid(tape: Tape, scores: Expression, settings: Normalize, suffix: str) -> Expression:
    """1 / (1 + e^−s), each score by itself."""
    is_plain = settings.temperature == 1
    return Sigmoid(scores if is_plain else Scale(scores, over=settings.temperature))


def nothing(tape: Tape, scores: Expression, settings: Normalize, suffix: str) -> Expression:
    """The scores themselves."""
    unblocked = _unblocked(scores)
    return unblocked if settings.temperature == 1 else Scale(unblocked, over=settings.temperature)


SINK = Parameter("sink", ("heads",), vector=vector(broadcasts=True, infinite=True))
"""z of e^z, which joins the sum; one for all heads, or one per head."""

NORMALIZERS: dict[str, Normalizer] = {
    "softmax": Normalizer(softmax, "e^s / Σ e^s", "all positive, sum 1", (SINK,)),
    "hardmax": Normalizer(hardmax, "1 at the largest s, else 0", "ties: the first, and a warning"),
    "sparsemax": Normalizer(sparsemax, "max(s − τ, 0), Σ = 1", "small weights become exactly 0"),
    "sum": Normalizer(divide_by_sum, "s / Σ s", "scores that are already positive"),
    "sigmoid": Normalizer(sigmoid, "1 / (1 + e^−s)", "each by itself, of any sum"),
    "none": Normalizer(nothing, "s", "the scores are the weights"),
}


def _line(settings: Normalize, tape: Tape) -> str:
    return "row" if (settings.along == ALONG_KEYS) != tape.columns else "column"


def tell_of_shift(tape: Tape, name: str, settings: Normalize) -> None:
    """Warn that the largest score was subtracted from the others; `name` is the scores' own."""
    line = f"the largest score of each {_line(settings, tape)}"
    done = f"{line} was subtracted first, which leaves the weights as they are"
    tape.warn(f"some e^{name} are beyond what a float can hold: {done}")


def _out_of_range(scores: Array, settings: Normalize) -> bool:
    if scores.dtype.kind != "f":
        return False
    size = np.abs(scores)
    largest = float(size.max(initial=0.0))
    if largest == np.inf:  # a blocked cell is no exponent
        largest = float(size.max(initial=0.0, where=size < np.inf))
    return is_out_of_range(largest, scores.dtype, settings)


def _is_large(sinks: Array | None) -> bool:
    return sinks is not None and bool(sinks.max() > precision.largest_exponent(sinks.dtype))


def is_out_of_range(largest: float, dtype: np.dtype[Any], settings: Normalize) -> bool:
    """Return whether base^(s / temperature) may be beyond a float, for |s| up to the largest."""
    return largest / settings.temperature * log(settings.base) > precision.largest_exponent(dtype)


def _unblocked(scores: Expression) -> Expression:
    return Unblocked(scores) if (array_of(scores) == -np.inf).any() else scores


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
        is_alone = self.shift_along is None or self.sink is None
        return (self.operand,) if is_alone or self.sink is None else (self.operand, self.sink)

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
    why = "What the numbers are divided by, so that they become shares of 1."

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
    line = "delta{suffix}"
    why = "Weights that sum to 1 cannot all grow: what they have in common has no effect."


class Sigmoid(Operation):
    """1 / (1 + e^−s), the share of e^s beside 1."""

    operand: Expression
    pointwise = True
    why = "Each key gets a weight between 0 and 1, whatever the others get."

    def apply(self, scores: Array) -> Array:
        if scores.dtype.kind != "f":
            return 1 / (1 + np.exp(-scores))
        power = np.exp(-np.abs(scores))  # which cannot overflow
        return np.where(scores < 0, power, 1) / (1 + power)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Ds = dw ⊙ w ⊙ (1 − w)."""
        yield self.operand, Hadamard(result, Subtract(upstream, Hadamard(upstream, result)))

    def notation(self, columns: bool) -> tree.Formula:
        power = tree.Power(tree.Name("e"), tree.Minus(*self.notations(columns)))
        return tree.Fraction(tree.Number("1"), tree.plus(tree.Number("1"), power))


class Unblocked(Operation):
    """0 in place of −∞, for normalisers that do not exponentiate."""

    operand: Expression
    pointwise = True
    why = "A blocked key gets no weight."

    def apply(self, scores: Array) -> Array:
        blocked = scores == -np.inf
        unblocked = np.where(blocked, 0.0, scores).astype(scores.dtype)
        return because(unblocked, scores, "{seen}", blocked)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, passed(upstream, self.operand, infinite=True)

    def notation(self, columns: bool) -> tree.Formula:
        blocked = tree.Phrase((tree.Number("0"), tree.Words("where blocked")))
        return tree.Listed((*self.notations(columns), blocked))


class Hardmax(Operation):
    """1 at the largest number of each row, else 0; the first of several largest."""

    operand: Expression
    along: int
    why = "All weight goes to the key with the largest score."

    def apply(self, scores: Array) -> Array:
        result = np.zeros_like(scores)
        where = scores.argmax(axis=self.along, keepdims=True)
        largest = np.take_along_axis(scores, where, self.along)
        np.put_along_axis(result, where, np.where(largest == -np.inf, 0, 1), self.along)
        return because(result, scores, "{largest} is {which} of {all}", None, self.along)

    def bounds(self, scores: Any) -> Any:
        """1 for a score that is surely the largest, 0 for one that surely is not; else 0 to 1."""
        middle = (scores.low + scores.high) / 2
        first = self.apply(np.where(np.isinf(scores.low), scores.low, middle))
        reach = scores.high >= scores.low.max(axis=self.along, keepdims=True)
        several = reach.sum(axis=self.along, keepdims=True) > 1
        may_be = several & reach & (scores.high > -np.inf)
        return type(scores)(np.where(may_be, 0.0, first), np.where(may_be, 1.0, first))

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Raise an InputError: hardmax jumps, and does not move between the jumps."""
        why = "its weights jump from one key to another, and do not change between the jumps"
        hint = "use softmax or sparsemax, or leave out gradient"
        raise fail(f"hardmax has no derivative: {why}", "normalize", hint=hint)

    def notation(self, columns: bool) -> tree.Formula:
        largest = tree.Number("1"), tree.Words("at the largest of"), *self.notations(columns)
        others = tree.Words("else"), tree.Number("0")
        return tree.Listed((tree.Phrase(largest), tree.Phrase(others)))


class Sparsemax(Operation):
    """max(s − τ, 0) with τ such that each row sums to 1 (Martins and Astudillo 2016)."""

    operand: Expression
    along: int
    temperature: float = 1.0
    why = "The nearest shares of 1 to the scores: small ones become exactly 0."

    def apply(self, scores: Array) -> Array:
        dtype, scores = scores.dtype, np.moveaxis(scores, self.along, -1)
        largest = scores.max(axis=-1, keepdims=True)
        blocked = largest == -np.inf
        shifted = scores
        if scores.dtype.kind == "f":
            # Only differences matter; from the largest down they lose no digits.
            shifted = scores - np.where(blocked, 0.0, largest)
        if self.temperature != 1:
            shifted = shifted / self.temperature
        ordered = np.sort(shifted, axis=-1)[..., ::-1]
        count = np.arange(1, ordered.shape[-1] + 1, dtype=ordered.dtype)
        sums = np.cumsum(np.where(ordered == -np.inf, 0.0, ordered), axis=-1)
        support = np.maximum((1 + count * ordered > sums).sum(axis=-1, keepdims=True), 1)
        threshold = (np.take_along_axis(sums, support - 1, axis=-1) - 1) / support
        weights = at_least_zero(shifted - named(threshold, "τ"))
        result = np.where(blocked, 0.0, weights).astype(dtype)
        result = because(result, scores, "{largest} is {which} of {all}", blocked, -1)
        return np.moveaxis(result, -1, self.along)

    def bounds(self, scores: Any) -> Any:
        """A weight is least where its own score is least and all others of its row are largest."""
        low, high = (np.moveaxis(end, self.along, -1) for end in (scores.low, scores.high))
        own = np.eye(low.shape[-1], dtype=bool)
        line = replace(self, along=-1)
        ends = []
        for mine, other in ((low, high), (high, low)):
            weights = line.apply(np.where(own, mine[..., None, :], other[..., None, :]))
            ends.append(np.moveaxis(np.diagonal(weights, 0, -2, -1), -1, self.along))
        return type(scores)(*ends)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Ds = dw − δ where the weight is above 0, with δ = the mean of dw there, and else 0.

        Martins and Astudillo 2016, section 2.5 ("Jacobian of sparsemax"). At a kink, where a score
        is just τ, its weight is 0, and so is its derivative.
        """
        centred = Subtract(upstream, SupportMean(upstream, result, self.along))
        derivative = Passed(centred, result)
        is_plain = self.temperature == 1
        yield self.operand, derivative if is_plain else Scale(derivative, over=self.temperature)

    def notation(self, columns: bool) -> tree.Formula:
        (scores,) = self.notations(columns)
        if self.temperature != 1:
            scores = tree.Fraction(scores, constant(self.temperature))
        weights = tree.Call("max", (tree.minus(scores, tree.Name("τ")), tree.Number("0")))
        threshold = tree.Name("τ"), tree.Words("so that each sums to"), tree.Number("1")
        return tree.Listed((weights, tree.Phrase(threshold)))


class SupportMean(Operation):
    """The mean along each line of the numbers whose weight is above 0; 0 where none is."""

    upstream: Expression
    weights: Expression
    along: int
    line = "delta{suffix}"
    why = Delta.why

    @property
    def trailing(self) -> tuple[str, ...]:
        return Sum(self.upstream, self.along).trailing

    def apply(self, upstream: Array, weights: Array) -> Array:
        """(…, n, m) and (…, n, m) give (…, n, 1), or (…, 1, m) along the queries."""
        return self._mean(upstream, weights > 0)

    def bounds(self, upstream: Any, weights: Any) -> Any:
        """A weight that is written as 0 may be above it."""
        from attncli.arithmetic.intervals import hull

        return hull(*(self._mean(upstream, end > 0) for end in (weights.low, weights.high)))

    def _mean(self, numbers: Any, where: Array) -> Any:
        count = np.maximum(where.sum(axis=self.along, keepdims=True), 1)
        mean = np.where(where, numbers, 0.0).sum(axis=self.along, keepdims=True) / count
        return mean.astype(numbers.dtype)  # NumPy divides float32 by integers in float64

    def notation(self, columns: bool) -> tree.Formula:
        upstream, weights = self.notations(columns)
        where = tree.Words("where"), tree.Phrase((weights, tree.Words("> 0")))
        return tree.Phrase((tree.Words("mean of"), upstream, *where))
