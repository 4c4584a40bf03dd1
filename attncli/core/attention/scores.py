"""Heads, and the score functions: how alike a query and a key are, before any scaling.

To add a score function: write one that takes the tape, q (…, n, d_q), k (…, m, d_k) and its
parameters and returns the operation whose result (…, n, m) is the step `scores`, below the row
that it has in `SCORES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from attncli.core.arithmetic import floats
from attncli.core.arithmetic.elements import Array, are_elements
from attncli.core.attention.parameters import Parameter, Table
from attncli.core.errors import fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Formula, Number, Phrase, Words
from attncli.core.records import Record, replace
from attncli.core.tape import backward_operations
from attncli.core.tape.backward_operations import Hadamard, Pointwise, Rearranged, plural
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, MatMul, Tanh, Transposed, constant, dot
from attncli.core.tape.step import Derivatives, Expression, Operation, notation_of
from attncli.core.tape.tape import Tape
from attncli.core.text.strings import visible


class SplitHeads(Rearranged):
    """The features cut into contiguous pieces, one for each head."""

    heads: int
    shape = "n d' -> n d"
    why = "Each head gets features of its own, so that it can look for something else."

    @property
    def leading(self) -> tuple[str, ...]:
        return (*self.operand.leading, "head")

    @property
    def note(self) -> Formula:
        return Phrase((Words("cut into"), Number(str(self.heads)), Words("heads")))

    def apply(self, features: Array) -> Array:
        """(batch, 1, n, heads · d) gives (batch, heads, n, d)."""
        batch, _, n, width = features.shape
        pieces = features.reshape(batch, n, self.heads, width // self.heads)
        return np.swapaxes(pieces, -3, -2)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, SideBySide(upstream)

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return self.operand.layout(columns) if isinstance(self.operand, Operation) else ()


class RepeatHeads(Rearranged):
    """Each key/value head repeated for the query heads that read it (grouped-query attention)."""

    times: int
    shape = "n d -> n d"

    def apply(self, heads: Array) -> Array:
        """(batch, kv_heads, n, d) gives (batch, kv_heads · times, n, d)."""
        return np.repeat(heads, self.times, axis=-3)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Yield the sum over the query heads that read a head."""
        yield self.operand, SumSharedHeads(upstream, self.times)


class SideBySide(Rearranged):
    """The heads' features side by side, the inverse of `SplitHeads`."""

    shape = "n d' -> n d"

    @property
    def leading(self) -> tuple[str, ...]:
        return tuple(name for name in self.operand.leading if name != "head")

    def apply(self, heads: Array) -> Array:
        """(batch, heads, n, d) gives (batch, 1, n, heads · d)."""
        batch, count, n, width = heads.shape
        return np.swapaxes(heads, -3, -2).reshape(batch, 1, n, count * width)


class MergeHeads(SideBySide):
    """`SideBySide` in the forward pass: its formula is in words, and says how heads are joined."""

    why = "The results of the heads are put side by side: again one row per token."
    transposed_notation = Operation.transposed_notation

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, SplitHeads(upstream, array_of(self.operand).shape[1])

    def notation(self, columns: bool) -> Formula:
        where = Words("one above the other" if columns else "side by side")
        return Phrase((Words("the heads of"), *self.notations(columns), where))


class SumSharedHeads(Operation):
    """For each key/value head the sum of the query heads that read it."""

    operand: Expression
    times: int

    def apply(self, heads: Array) -> Array:
        """(batch, kv_heads · times, n, d) gives (batch, kv_heads, n, d)."""
        batch, count, n, width = heads.shape
        return heads.reshape(batch, count // self.times, self.times, n, width).sum(axis=-3)

    def notation(self, columns: bool) -> Formula:
        where = Words("summed over the heads that read it")
        return Phrase((*self.notations(columns), where))


Parameters = Mapping[str, Any]
"""A score function's parameters: those with a shape as steps, numbers as such."""


class ScoreFunction(Record):
    """One row of the table; `build` records what comes before the result, and returns that."""

    build: Callable[[Tape, Expression, Expression, Parameters], Operation]
    formula: str  # α(q, k)
    source: str  # where the formula is from
    parameters: tuple[Parameter, ...] = ()  # the keys that it takes in the `score` mapping
    same_size: bool = True  # whether queries and keys must have the same number of features
    scale: str = "1"  # the default of the key `scale`
    normalize: str = "softmax"  # the default of the key `normalize`
    by_feature: bool = False  # whether it takes a number for each query, key and feature


SCORES = Table(ScoreFunction)


@SCORES.row("scaled_dot", "q·k / √d_k", "Vaswani et al. 2017, eq. 1", scale="1/sqrt(d_k)")
@SCORES.row("dot", "q·k", "Luong et al. 2015, eq. 8")
def dot_product(tape: Tape, q: Expression, k: Expression, p: Parameters) -> Operation:
    return dot(q, k)


@SCORES.row("cosine", "q·k / (‖q‖ ‖k‖)", "Graves et al. 2014, eq. 6")
def cosine(tape: Tape, q: Expression, k: Expression, p: Parameters) -> Operation:
    """A vector of zeros has no direction and is an error that names its row."""
    for side in (q, k):
        why = "it has no direction, so its cosine with another vector does not exist"
        refuse_zero_rows(tape, side, "score", why, "use another score function, such as dot")
    return Cosine(q, k)


@SCORES.row(
    "general",
    "qᵀ W k",
    "Luong et al. 2015, eq. 8",
    (Parameter("W", ("d_q", "d_k"), required=True),),
    same_size=False,
)
def general(tape: Tape, q: Expression, k: Expression, p: Parameters) -> Operation:
    return dot(MatMul(q, p["W"]), k)


@SCORES.row(
    "additive",
    "vᵀ tanh(W q + U k + b)",
    "Bahdanau et al. 2015, appendix A.1.2",
    (
        Parameter("W", ("hidden", "d_q"), required=True),
        Parameter("U", ("hidden", "d_k"), required=True),
        Parameter("v", ("hidden",), required=True),
        Parameter("b", ("hidden",)),
    ),
    same_size=False,
)
def additive(tape: Tape, q: Expression, k: Expression, p: Parameters) -> Operation:
    return _through_hidden(tape, EachPair(dot(q, p["W"]), dot(k, p["U"])), p)


@SCORES.row(
    "concat",
    "vᵀ tanh(W [q; k] + b)",
    "Luong et al. 2015, eq. 8",
    (
        Parameter("W", ("hidden", "d_q + d_k"), required=True),
        Parameter("v", ("hidden",), required=True),
        Parameter("b", ("hidden",)),
    ),
    same_size=False,
)
def concat(tape: Tape, q: Expression, k: Expression, p: Parameters) -> Operation:
    return _through_hidden(tape, dot(ConcatenatePairs(q, k), p["W"]), p)


@SCORES.row(
    "linear", "φ(q)·φ(k), φ(x) = elu(x) + 1", "Katharopoulos et al. 2020, eq. 7", normalize="sum"
)
def linear(tape: Tape, q: Expression, k: Expression, p: Parameters) -> Operation:
    phi_q = tape.record("phi_q", EluPlusOne(q))
    if isinstance(k, RepeatHeads):  # φ is worked once for each head of the keys
        phi_k = tape.record("phi_k", EluPlusOne(k.operand))
        return dot(phi_q, RepeatHeads(phi_k, k.times))
    return dot(phi_q, tape.record("phi_k", EluPlusOne(k)))


@SCORES.row(
    "distance",
    "−‖q − k‖² / (2·width²)",
    "Nadaraya 1964, Watson 1964",
    (Parameter("width", meaning="of the Gaussian", default=1.0),),
    by_feature=True,
)
def distance(tape: Tape, q: Expression, k: Expression, p: Parameters) -> Operation:
    return GaussianExponent(q, k, p["width"])


def refuse_zero_rows(tape: Tape, side: Expression, key: str, why: str, hint: str = "") -> None:
    """Raise an InputError that names the first row of zeros, if there is one."""
    zero_rows = np.argwhere(~array_of(side).any(axis=-1))
    if len(zero_rows):
        row = int(zero_rows[0][-1])
        labels = tape.labels.get(side.trailing[0], ())
        name = f" ({visible(labels[row])})" if row < len(labels) else ""
        message = f"row {row + 1}{name} of {text(notation_of(side))} is all zeros"
        raise fail(f"{message}: {why}", key, hint=hint)


def _through_hidden(tape: Tape, pairs: Operation, p: Parameters) -> Operation:
    """Return vᵀ tanh(pairs + b), with the tanh as a step."""
    hidden = Tanh(Add(pairs, p["b"]) if "b" in p else pairs)
    name = "hidden_2" if tape.known("hidden") else "hidden"  # pooling has a hidden layer, too
    return PairDot(tape.record(name, hidden), p["v"])


class Pairs(Operation):
    """A number, or a vector, for every query with every key."""

    q: Expression
    k: Expression
    shape = "n d, m d -> n m"


class Cosine(Pairs):
    """The dot product of every query and key, divided by their lengths."""

    why = "The cosine compares directions; how long the vectors are does not count."

    def apply(self, q: Array, k: Array) -> Array:
        (q, _), (k, _) = map(floats.of_ordinary_size, (q, k))
        of_q, of_k = (np.sqrt((side * side).sum(axis=-1, keepdims=True)) for side in (q, k))
        return (q @ np.swapaxes(k, -1, -2)) / (of_q * np.swapaxes(of_k, -1, -2))

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Only the part at right angles to a vector turns it, the less the longer it is."""
        yield self.q, ThroughCosine(upstream, result, self.q, self.k)
        back, cosines = Transposed(upstream), Transposed(result)
        yield self.k, ThroughCosine(back, cosines, self.k, self.q)

    def notation(self, columns: bool) -> tree.Formula:
        lengths = tree.Times(tuple(map(tree.Norm, self.notations(columns))), " ")
        return tree.Fraction(dot(self.q, self.k).notation(columns), lengths)


class GaussianExponent(Pairs):
    """−‖q − k‖² / (2·width²) for every query and key, the exponent of a Gaussian kernel."""

    width: float
    why = "The nearer a query and a key are, the nearer the score is to 0, its largest value."

    def apply(self, q: Array, k: Array) -> Array:
        difference, width = q[..., :, None, :] - k[..., None, :, :], self.width
        if not are_elements(difference):  # so that the square of the width cannot overflow
            difference, width = difference / width, 1
        squares = (difference * difference).sum(axis=-1)
        return -squares / (2 * (width * width))

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """dq_i = Σ_j ds_ij (k_j − q_i) / width², and the same for k with q and k exchanged."""
        yield self.q, ThroughDistance(upstream, self.q, self.k, self.width)
        yield self.k, ThroughDistance(Transposed(upstream), self.k, self.q, self.width)

    def notation(self, columns: bool) -> tree.Formula:
        squares = tree.Squared(tree.Norm(tree.minus(tree.named("q"), tree.named("k"))))
        under = tree.Times((tree.Number("2"), tree.Squared(constant(self.width))))
        return tree.Fraction(tree.Minus(squares), under)


class EluPlusOne(Pointwise):
    """φ(x) = elu(x) + 1: x + 1 where x is positive, else e^x; or its slope, 1 or e^x."""

    is_slope: bool = False
    why = "φ makes every number positive, so that scores are, too, and need no e^."

    def apply(self, x: Array) -> Array:
        return np.where(x > 0, 1 if self.is_slope else x + 1, np.exp(x)).astype(x.dtype)

    def bounds(self, x: Any) -> Any:
        return type(x)(self.apply(x.low), self.apply(x.high))

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Hadamard(upstream, replace(self, is_slope=True))

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call("φ′" if self.is_slope else "φ", self.notations(columns))


class EachPair(Pairs):
    """q_i + k_j for every query and key."""

    shape = "n h, m h -> n m hidden"

    def apply(self, q: Array, k: Array) -> Array:
        return q[..., :, None, :] + k[..., None, :, :]

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.q, SumPairs(upstream, -2)
        yield self.k, SumPairs(upstream, -3)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.plus(*self.notations(columns))

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """The sums themselves."""
        return (self,)


class ConcatenatePairs(Pairs):
    """[q_i; k_j] for every query and key."""

    shape = "n a, m b -> n m feature"

    def apply(self, q: Array, k: Array) -> Array:
        n, m = q.shape[-2], k.shape[-2]
        lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
        q = np.broadcast_to(q[..., :, None, :], (*lead, n, m, q.shape[-1]))
        k = np.broadcast_to(k[..., None, :, :], (*lead, n, m, k.shape[-1]))
        return np.concatenate([q, k], axis=-1)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """The columns of each, summed over its pairs."""
        parts = backward_operations.columns_of_operands(upstream, self.q, self.k)
        for along, (side, part) in zip((-2, -3), parts, strict=True):
            yield side, SumPairs(part, along)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Stack((tree.named("q"), tree.named("k")))


class PairDot(Operation):
    """The dot product of one vector with the vector of every pair."""

    pairs: Expression
    vector: Expression
    shape = "n m h, h -> n m"
    why = "v is learned: it weighs the hidden numbers of a pair into one score."

    def apply(self, pairs: Array, vector: Array) -> Array:
        return (pairs * vector).sum(axis=-1)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """ds_ij v for the vector of a pair; Σ_ij ds_ij hidden_ij for v."""
        yield self.pairs, OfEachPair(upstream, self.vector)
        yield self.vector, OfEachPair(upstream, self.pairs)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Times(self.notations(columns), " · ")


class OfEachPair(Operation):
    """The number of each pair times a vector, or times the vector of that pair."""

    numbers: Expression
    vectors: Expression
    shape = "n m, h -> n m h"

    def apply(self, numbers: Array, vectors: Array) -> Array:
        return numbers[..., None] * vectors

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Times(self.notations(columns), " · ")


class SumPairs(Operation):
    """For each query, or each key, the sum of the vectors of the pairs that it is in."""

    pairs: Expression
    along: int

    @property
    def shape(self) -> str:
        return "n m h -> n h" if self.along == -2 else "n m h -> m h"

    def apply(self, pairs: Array) -> Array:
        return pairs.sum(axis=self.along)

    def notation(self, columns: bool) -> tree.Formula:
        over = self.pairs.trailing[self.along]
        return tree.Phrase((*self.notations(columns), tree.Words(f"summed over {plural(over)}")))


class ThroughCosine(Operation):
    """(Σ_j ds_ij k_j/‖k_j‖ − (Σ_j ds_ij s_ij) q_i/‖q_i‖) / ‖q_i‖, for each query or key."""

    upstream: Expression
    cosines: Expression
    side: Expression
    other: Expression
    shape = "n m, n m, n d', m d' -> n d"

    def apply(self, upstream: Array, cosines: Array, side: Array, other: Array) -> Array:
        (side, exponent), (other, _) = map(floats.of_ordinary_size, (side, other))
        length, others = (np.sqrt((x * x).sum(axis=-1, keepdims=True)) for x in (side, other))
        shared = (upstream * cosines).sum(axis=-1, keepdims=True)
        turning = (upstream @ (other / others) - shared * (side / length)) / length
        return turning if exponent is None else np.ldexp(turning, -exponent)

    def notation(self, columns: bool) -> tree.Formula:
        upstream, cosines, side, other = self.notations(columns)
        unit, units = (tree.Fraction(side, tree.Norm(side)) for side in (side, other))
        shared = tree.Call("sum", (tree.Times((upstream, cosines), " ⊙ "),))
        product = (units, upstream) if columns else (upstream, units)
        turning = tree.minus(tree.Times(product, " "), tree.Times((shared, unit), " "))
        return tree.Fraction(turning, tree.Norm(side))


class ThroughDistance(Operation):
    """Σ_j ds_ij (k_j − q_i) / width², for each query or key."""

    upstream: Expression
    side: Expression
    other: Expression
    width: float
    shape = "n m, n d, m d -> n d"

    def apply(self, upstream: Array, side: Array, other: Array) -> Array:
        difference = other[..., None, :, :] - side[..., :, None, :]
        total = (upstream[..., None] * difference).sum(axis=-2)
        width = self.width
        if not are_elements(total):  # so that the square of the width cannot overflow
            total, width = total / width, 1
        return total / (self.width * width)

    def notation(self, columns: bool) -> tree.Formula:
        upstream, side, other = self.notations(columns)
        over = self.other.trailing[-2]
        product = tree.Times((upstream, tree.minus(other, side)), " ")
        total = tree.Phrase((product, tree.Words(f"summed over {plural(over)}")))
        return tree.Fraction(tree.Fence(total), tree.Squared(constant(self.width)))
