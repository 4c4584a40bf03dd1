"""The normalisers: how a row of scores becomes weights.

To add one: write a function that takes the tape, the scores and the settings and returns the
operation whose result is the step `weights`, below the row that it has in `NORMALIZERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any, ClassVar

import numpy as np

from attncli.core.arithmetic import floats
from attncli.core.arithmetic.elements import Array, are_floats, at_least_zero, because, named
from attncli.core.attention.parameters import Normalize, Parameter, Table
from attncli.core.attention.scores import SplitHeads
from attncli.core.attention.softmax import (
    ALONG_KEYS,
    Delta,
    Exp,
    Shares,
    SinkPower,
    Sum,
    WithSink,
    shifted,
)
from attncli.core.errors import fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text
from attncli.core.numbers.forms import vector
from attncli.core.records import Record, replace
from attncli.core.tape.backward_operations import Hadamard, Passed, Pointwise, Subtract
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Scale, constant
from attncli.core.tape.step import Derivatives, Expression, Operation, notation_of
from attncli.core.tape.tape import Tape


class Normalizer(Record):
    """One row of the table; `build` records what comes before the result, and returns that."""

    build: Callable[[Tape, Expression, Normalize], Expression]
    formula: str  # the weight of a score s
    summary: str  # one line for `attn scores`
    parameters: tuple[Parameter, ...] = ()  # the keys that it takes beside `SETTINGS`


SINK = Parameter("sink", ("heads",), vector=vector(broadcasts=True, infinite=True))
"""z of e^z, which joins the sum; one for all heads, or one per head."""

NORMALIZERS = Table(Normalizer)


@NORMALIZERS.row("softmax", "e^s / Σ e^s", "all positive, sum 1", (SINK,))
def softmax(tape: Tape, scores: Expression, settings: Normalize) -> Expression:
    sinks = settings.parameters.get("sink")
    sink: Expression | None = None
    is_beyond = are_out_of_range(array_of(scores), settings)
    if sinks is not None:
        is_beyond |= bool(sinks.max() > floats.largest_exponent(sinks.dtype))
        every = tape.put("sink", sinks, ("sink",), key="normalize.sink")
        sink = SplitHeads(every, sinks.size) if sinks.size > 1 else every
    power = Exp(scores, settings.base, settings.temperature)
    of_sink = None if sink is None else SinkPower(sink)
    if is_beyond:
        power, of_sink = shifted(power, settings.along, sink)
        tell_of_shift(tape, text(notation_of(scores, tape.columns)), settings)
    exponentials = tape.record("exp", power)
    total = Sum(exponentials, settings.along)
    whole = total if of_sink is None else WithSink(total, of_sink)
    return Shares(exponentials, tape.record("sum", whole))


@NORMALIZERS.row("hardmax", "1 at the largest s, else 0", "ties: the first, and a warning")
def hardmax(tape: Tape, scores: Expression, settings: Normalize) -> Expression:
    array = array_of(scores)
    largest = array.max(axis=settings.along, keepdims=True)
    tied = ((array == largest) & (largest > -np.inf)).sum(axis=settings.along) > 1
    if tied.any():
        tape.warn(
            f"several scores of a {_line(settings, tape)} are largest: hardmax took the first"
        )
    return Hardmax(scores, settings.along)


@NORMALIZERS.row("sparsemax", "max(s − τ, 0), Σ = 1", "small weights become exactly 0")
def sparsemax(tape: Tape, scores: Expression, settings: Normalize) -> Expression:
    return Sparsemax(scores, settings.along, settings.temperature)


@NORMALIZERS.row("sum", "s / Σ s", "scores that are already positive")
def divide_by_sum(tape: Tape, scores: Expression, settings: Normalize) -> Expression:
    unblocked = _unblocked(scores)
    total = tape.record("sum", Sum(unblocked, settings.along))
    blocked = (array_of(scores) == -np.inf).all(axis=settings.along, keepdims=True)
    zero = np.argwhere((total.array == 0) & ~blocked)
    if len(zero):
        place = tape.first + int(zero[0][-2 if settings.along == ALONG_KEYS else -1])
        message = f"the scores of {_line(settings, tape)} {place + 1} sum to 0"
        hint = "use softmax, or change the scores"
        raise fail(f"{message}, so they cannot be divided by their sum", "normalize", hint=hint)
    return Shares(unblocked, total)


@NORMALIZERS.row("sigmoid", "1 / (1 + e^−s)", "each by itself, of any sum")
def sigmoid(tape: Tape, scores: Expression, settings: Normalize) -> Expression:
    is_plain = settings.temperature == 1
    return Sigmoid(scores if is_plain else Scale(scores, over=settings.temperature))


@NORMALIZERS.row("none", "s", "the scores are the weights")
def nothing(tape: Tape, scores: Expression, settings: Normalize) -> Expression:
    unblocked = _unblocked(scores)
    return unblocked if settings.temperature == 1 else Scale(unblocked, over=settings.temperature)


def _line(settings: Normalize, tape: Tape) -> str:
    return "row" if (settings.along == ALONG_KEYS) != tape.columns else "column"


def tell_of_shift(tape: Tape, name: str, settings: Normalize) -> None:
    """Warn that the largest score was subtracted from the others; `name` is that of the scores."""
    line = f"the largest score of each {_line(settings, tape)}"
    done = f"{line} was subtracted first, which leaves the weights as they are"
    tape.warn(f"some e^{name} are beyond what a float can hold: {done}")


def are_out_of_range(scores: Array, settings: Normalize) -> bool:
    """Return whether base^(s / temperature) of a score may be beyond a float."""
    if not are_floats(scores):
        return False
    size = np.abs(scores)
    largest = float(size.max(initial=0.0))
    if largest == np.inf:  # a blocked cell is no exponent
        largest = float(size.max(initial=0.0, where=size < np.inf))
    return is_out_of_range(largest, scores.dtype, settings)


def is_out_of_range(largest: float, dtype: np.dtype[Any], settings: Normalize) -> bool:
    """Return whether base^(s / temperature) may be beyond a float, for |s| up to the largest."""
    return largest / settings.temperature * log(settings.base) > floats.largest_exponent(dtype)


def _unblocked(scores: Expression) -> Expression:
    return Unblocked(scores) if (array_of(scores) == -np.inf).any() else scores


class Sigmoid(Pointwise):
    """1 / (1 + e^−s), the share of e^s beside 1."""

    why = "Each key gets a weight between 0 and 1, whatever the others get."
    through: ClassVar[type[Hadamard]] = Hadamard  # of which the derivative is made

    def apply(self, scores: Array) -> Array:
        if not are_floats(scores):
            return 1 / (1 + np.exp(-scores))
        power = np.exp(-np.abs(scores))  # which cannot overflow
        return np.where(scores < 0, power, 1) / (1 + power)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Ds = dw ⊙ w ⊙ (1 − w)."""
        slope = Subtract(upstream, Hadamard(upstream, result))
        yield self.operand, self.through(result, slope)

    def notation(self, columns: bool) -> tree.Formula:
        return sigmoid_of(*self.notations(columns))


def sigmoid_of(x: tree.Formula) -> tree.Formula:
    """Return the formula 1 / (1 + e^−x)."""
    power = tree.Power(tree.Name("e"), tree.Minus(x))
    return tree.Fraction(tree.Number("1"), tree.plus(tree.Number("1"), power))


class Unblocked(Pointwise):
    """0 in place of −∞, for normalisers that do not exponentiate."""

    why = "A blocked key gets no weight."

    def apply(self, scores: Array) -> Array:
        blocked = scores == -np.inf
        unblocked = np.where(blocked, 0.0, scores).astype(scores.dtype)
        return because(unblocked, scores, "{seen}", blocked)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Passed(upstream, self.operand, infinite=True)

    def notation(self, columns: bool) -> tree.Formula:
        blocked = tree.Phrase((tree.Number("0"), tree.Words("where blocked")))
        return tree.Listed((*self.notations(columns), blocked))


class Hardmax(Operation):
    """1 at the largest number of each row, else 0; the first of several largest."""

    operand: Expression
    along: int
    why = "All weight goes to the key with the largest score."

    def apply(self, scores: Array) -> Array:
        largest = scores.max(axis=self.along, keepdims=True)
        is_largest = (scores == largest) & (scores != -np.inf)
        is_first = is_largest & (is_largest.cumsum(axis=self.along) == 1)
        result = np.where(is_first, 1.0, 0.0).astype(scores.dtype)
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
        if are_floats(scores):
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
        is_mine = np.eye(low.shape[-1], dtype=bool)
        line = replace(self, along=-1)
        ends = []
        for mine, other in ((low, high), (high, low)):
            weights = line.apply(np.where(is_mine, mine[..., None, :], other[..., None, :]))
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
    line = "delta"
    why = Delta.why

    @property
    def shape(self) -> str:
        return "n m, n m -> n sum" if self.along == ALONG_KEYS else "n m, n m -> sum m"

    def apply(self, upstream: Array, weights: Array) -> Array:
        return self._mean(upstream, weights > 0)

    def bounds(self, upstream: Any, weights: Any) -> Any:
        """A weight that is written as 0 may be above it: the mean is then one of any of them."""
        surely, maybe = weights.low > 0, weights.high > 0
        along: dict[str, Any] = {"axis": self.along, "keepdims": True}
        least = np.where(maybe, upstream.low, np.inf).min(**along)
        most = np.where(maybe, upstream.high, -np.inf).max(**along)
        is_open, kind = (surely != maybe).any(**along), type(weights)
        mean = np.where(is_open, kind(least, most), self._mean(upstream, maybe))
        none = kind(np.zeros_like(is_open), is_open & ~surely.any(**along))
        return np.where(none, 0.0, mean)

    def _mean(self, numbers: Any, where: Array) -> Any:
        count = np.maximum(where.sum(axis=self.along, keepdims=True), 1)
        mean = np.where(where, numbers, 0.0).sum(axis=self.along, keepdims=True) / count
        return mean.astype(numbers.dtype)  # NumPy divides float32 by integers in float64

    def notation(self, columns: bool) -> tree.Formula:
        upstream, weights = self.notations(columns)
        where = tree.Words("where"), tree.Phrase((weights, tree.Words("> 0")))
        return tree.Phrase((tree.Words("mean of"), upstream, *where))
