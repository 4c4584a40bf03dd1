"""Mistakes in Q, K, V, in the score functions, the scores, their scale and cap."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from attncli.core.attention.scores import (
    ConcatenatePairs,
    Cosine,
    EachPair,
    GaussianExponent,
    PairDot,
    RepeatHeads,
)
from attncli.core.attention.softmax import Exp
from attncli.core.calculation.mistake import (
    ROOT_OF_D_K,
    Changes,
    Nodes,
    divides_by_root,
    is_bias,
    is_named,
    is_projection,
    made_by,
    made_of,
    mistake,
    negative,
    rising,
    wrong,
)
from attncli.core.calculation.mutations import (
    instead,
    inverted,
    left_out,
    other_factor,
    passed_over,
    turned,
)
from attncli.core.calculation.trace import Trace
from attncli.core.formulas.text import text
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Hadamard
from attncli.core.tape.evaluation import everywhere, rewritten, sources, transform
from attncli.core.tape.operations import Add, Concatenate, MatMul, Scale, SoftCap, Tanh, Transposed
from attncli.core.tape.step import Expression, Operation, ShapeError, Step

OTHER_DIVISOR = "The scores were divided by {by}, not by {right}."


not_scaled = passed_over(Scale, "The scores were not scaled.")


@mistake(OTHER_DIVISOR, "Divide by the root of d_k, not by d_k itself.")
def scaled_by_d_k(step: Step, trace: Trace) -> Changes:
    return _scaled_by(step, trace, "d_k")


@mistake(OTHER_DIVISOR, "d_k is how many numbers one head's key has, not the width of the input.")
def scaled_by_sqrt_d_model(step: Step, trace: Trace) -> Changes:
    return _scaled_by(step, trace, "√d_model")


@mistake(OTHER_DIVISOR, "d_k is how many numbers a key has, not how many tokens there are.")
def scaled_by_sqrt_n(step: Step, trace: Trace) -> Changes:
    return _scaled_by(step, trace, "√m", "√n")


def _scaled_by(step: Step, trace: Trace, *letters: str) -> Changes:
    """Yield divisions by a size of the problem, or its root: `√d_model`."""
    scale = made_by(Scale, step)
    if scale is None or not divides_by_root(scale):
        return
    for letter in letters:
        for size in _sizes(letter.removeprefix("√"), trace):
            by = sqrt(size) if letter.startswith("√") else float(size)
            other = replace(scale, times=1.0, over=by)
            shown = f"{letter} = √{size} = {by:.4g}" if letter[0] == "√" else f"{letter} = {by:g}"
            symbol = scale.symbol or ROOT_OF_D_K
            right = text(symbol), text(scale.value or symbol)
            yield {step.name: other}, {"by": (letter, shown), "right": right}


def _sizes(letter: str, trace: Trace) -> list[int]:
    sizes = trace.problem.sizes
    every = [sizes[letter]] if letter in sizes else []
    if letter == "d_model" and "d_k" in sizes:
        every.append(sizes["d_k"] * trace.problem.heads)
    return [size for size in dict.fromkeys(every) if size > 1]  # division by 1 changes nothing


@mistake("The scores were scaled twice.", "Scale them once: {formula}.")
def scaled_twice(node: Scale) -> Nodes:
    """Apply the factor twice; not for √d_k, as dividing by d_k is another mistake."""
    if not divides_by_root(node):
        yield replace(node, operand=node)


scale_inverted = instead(Scale, inverted)


@mistake("The scores were divided by √d_k, {when}.", "Leave the scores as they are in this step.")
def scaled_needlessly(step: Step, trace: Trace) -> Changes:
    """Divide by √d_k where the problem does not ask for it, or one step too early."""
    if "d_k" not in trace.problem.sizes:
        return
    node, root = made_of(step), sqrt(trace.problem.sizes["d_k"])
    is_scaled = any(other.stem == "scaled" for other in trace)
    when = "which comes one step later" if is_scaled else "which is not asked for"
    if step.plain.startswith("scores"):
        yield {step.name: Scale(node, over=root, symbol=ROOT_OF_D_K)}, {"when": when}
    elif isinstance(node, Exp) and not is_scaled:
        scaled = Scale(node.operand, over=root, symbol=ROOT_OF_D_K)
        yield {step.name: replace(node, operand=scaled)}, {"when": when}


@mistake("The root of every score was taken.", "Calculate {formula}: the root is of d_k alone.")
def root_of_each_score(node: Scale) -> Nodes:
    """√s or √(s / d_k) for s / √d_k, of scores that are not negative."""
    if divides_by_root(node):
        for inside in (node.operand, replace(node, over=node.over**2)):
            yield wrong(_root, inside, ranges=_roots)


def _root(numbers: Any) -> Any:
    if (numbers < 0).any():
        raise ShapeError
    return np.sqrt(numbers)


def _roots(scores: Any) -> Any:
    return type(scores)(np.sqrt(np.maximum(scores.low, 0.0)), _root(scores.high))


PROJECTED = ("Q", "K", "V")


@mistake(
    "The scores are transposed: queries and keys have changed places.",
    "Keep the order of {formula}.",
)
def scores_transposed(step: Step, trace: Trace) -> Changes:
    if step.plain.startswith("scores") and len(step.trailing) == 2:
        yield {step.name: Transposed(made_of(step))}, {}


@mistake("{matrix} was not transposed.", "Calculate {formula}: every query times every key.")
def key_not_transposed(node: MatMul) -> Nodes:
    if isinstance(node.right, Transposed) and not is_projection(node.right.operand):
        yield replace(node, right=node.right.operand)


@mistake(
    "The weight matrix {matrix} was {how}.",
    "Keep to {formula}: transpose only what is transposed there.",
)
def weights_matrix_transposed(node: Transposed | MatMul) -> Nodes:
    if isinstance(node, Transposed) and is_projection(node.operand):
        yield node.operand
    elif isinstance(node, MatMul) and is_projection(node.right):
        yield replace(node, right=Transposed(node.right))


factors_exchanged = instead(MatMul, turned)


@mistake(
    "The matrices were multiplied number by number.", "Multiply each row by each column and add up."
)
def elementwise_product(node: MatMul) -> Nodes:
    right = node.right.operand if isinstance(node.right, Transposed) else node.right
    for factor in dict.fromkeys((right, node.right)):
        yield wrong(np.multiply, node.left, factor)


@mistake("The product with the weight matrix was left out.")
def projection_missing(node: MatMul) -> Nodes:
    if is_projection(node.right) and not is_named(node.right, "W_o"):
        yield node.left


def _is_projection(one: Step) -> bool:
    return one.plain in ("W_q", "W_k", "W_v")


wrong_weight_matrix = other_factor(
    _is_projection, advice="Queries come from W_q, keys from W_k, values from W_v.", steps=PROJECTED
)


@mistake("Q and K have changed places.", "Queries come from W_q, keys from W_k.")
def swapped_q_k(step: Step, trace: Trace) -> Changes:
    return _swapped(step, trace, "Q", "K")


@mistake("K and V have changed places.", "Keys come from W_k, values from W_v.")
def swapped_k_v(step: Step, trace: Trace) -> Changes:
    return _swapped(step, trace, "K", "V")


@mistake("Q and V have changed places.", "Queries come from W_q, values from W_v.")
def swapped_q_v(step: Step, trace: Trace) -> Changes:
    return _swapped(step, trace, "Q", "V")


def _swapped(step: Step, trace: Trace, one: str, other: str) -> Changes:
    if one not in trace or other not in trace:
        return
    if step.plain in (one, other):
        yield {trace[a].name: made_of(trace[b]) for a, b in ((one, other), (other, one))}, {}
    elif step.plain.startswith("scores"):
        exchange = {one: trace[other], other: trace[one]}
        scores = transform(made_of(step), lambda part: exchange.get(part.plain, part))
        if scores is not step.operation:
            yield {step.name: _shared_again(scores, trace)}, {}


def _shared_again(scores: Expression, trace: Trace) -> Expression:
    """Return scores with the key/value heads repeated, after K changed places."""
    times = trace.problem.heads // trace.problem.kv_heads
    if times == 1:
        return scores

    def shared(part: Step) -> Expression:
        return RepeatHeads(part, times) if part.plain in ("K", "V") else part

    return transform(_unshared(scores), shared)


def _unshared(scores: Expression) -> Expression:
    for other in rewritten(scores, lambda n: (n.operand,) if isinstance(n, RepeatHeads) else ()):
        return _unshared(other)
    return scores


@mistake(
    "{step} was made from {used}, not from {right}.",
    "Queries come from X, keys and values from memory.",
    steps=PROJECTED,
)
def wrong_source(step: Step, trace: Trace) -> Changes:
    inputs = trace.inputs
    for right, used in (("X", "memory"), ("memory", "X")):
        if used in inputs and any(part is inputs.get(right) for part in sources(step)):
            other = everywhere(made_of(step), {inputs[right]: inputs[used]})
            yield {step.name: other}, {"used": used, "right": right}


def _adds_a_bias(node: Expression) -> bool:
    return isinstance(node, Add) and is_bias(node.right)


def _subtracted(node: Add) -> Add:
    """Return a sum with the other sign before its bias; a blocked cell stays blocked."""
    return Add(node.left, negative(node.right))


bias_missing = left_out(is_bias, "{operand} was not added.", within=_adds_a_bias)
bias_subtracted = instead(_adds_a_bias, _subtracted, "{other} was subtracted, not added.")
bias_multiplied = instead(_adds_a_bias, Hadamard, "{other} was multiplied, not added.")


@mistake("The bias is transposed.", "Look up for each query the bias of each key.")
def bias_transposed(node: Add) -> Nodes:
    if is_named(node.right, "bias") and node.right.array.shape[-2] == node.right.array.shape[-1]:
        yield replace(node, right=Transposed(node.right))


tanh_missing = passed_over(Tanh | SoftCap, "The tanh was left out.")


@mistake("The sigmoid 1 / (1 + e^−x) was taken, not the tanh.", "Take the tanh of every number.")
def sigmoid_for_tanh(node: Tanh | SoftCap) -> Nodes:
    if isinstance(node, Tanh):
        yield wrong(sigmoid, node.operand)
    else:
        yield Scale(wrong(sigmoid, Scale(node.operand, over=node.cap)), times=node.cap)


def sigmoid(numbers: Any) -> Any:
    """1 / (1 + e^−x) of every number."""
    return 1 / (1 + np.exp(-numbers))


@mistake("The numbers of the hidden layer were added up without v.")
def v_forgotten(node: PairDot) -> Nodes:
    yield wrong(lambda pairs: pairs.sum(axis=-1), node.pairs)


@mistake("W and U have changed places.", "Multiply the query by W and the key by U.")
def w_and_u_exchanged(node: EachPair) -> Nodes:
    q, k = node.q, node.k
    if isinstance(q, MatMul) and isinstance(k, MatMul):
        yield replace(node, q=replace(q, right=k.right), k=replace(k, right=q.right))


@mistake(
    "The two parts were put together in the wrong order.",
    "Keep the order of the formula: [a; b] is not [b; a].",
)
def joined_in_wrong_order(node: Operation) -> Nodes:
    if isinstance(node, Concatenate):
        yield replace(node, left=node.right, right=node.left)
    elif isinstance(node, ConcatenatePairs):
        yield wrong(lambda q, k: _other_half_first(node.apply(q, k), q.shape[-1]), *node.operands)
    elif "parts" in node.fields and "joined" in node.trailing:
        yield replace(node, parts=tuple(reversed(node.operands)))


def _other_half_first(joined: Any, size: int) -> Any:
    """[k; q] for [q; k] along the last axis, in which q has a size."""
    return np.concatenate([joined[..., size:], joined[..., :size]], axis=-1)


@mistake(
    "The dot products were not divided by the lengths of the vectors.", "Divide q·k by ‖q‖ ‖k‖."
)
def lengths_forgotten(node: Cosine) -> Nodes:
    yield MatMul(node.q, Transposed(node.k))


@mistake(
    "The dot products were divided by one of the two lengths.", "Divide q·k by ‖q‖ and by ‖k‖."
)
def one_length_forgotten(node: Cosine) -> Nodes:
    yield _divided_by_lengths(node, 1, 0)
    yield _divided_by_lengths(node, 0, 1)


@mistake(
    "The dot products were divided by the squared lengths.",
    "A length is the root of the sum of squares.",
)
def root_forgotten(node: Cosine) -> Nodes:
    yield _divided_by_lengths(node, 2, 2)


def _divided_by_lengths(node: Cosine, times_q: int, times_k: int) -> Expression:
    """q·k / (‖q‖^a ‖k‖^b), for a and b of 0 to 2: (…, n, d), (…, m, d) → (…, n, m)."""

    def divided(q: Any, k: Any) -> Any:
        quotients = q @ np.swapaxes(k, -1, -2)
        lengths_q = np.sqrt((q * q).sum(axis=-1, keepdims=True))
        lengths_k = np.swapaxes(np.sqrt((k * k).sum(axis=-1, keepdims=True)), -1, -2)
        for lengths in (*[lengths_q] * times_q, *[lengths_k] * times_k):
            quotients = quotients / lengths
        return quotients

    return wrong(divided, node.q, node.k)


@mistake(
    "The minus before the squared distance is missing.",
    "The farther a key, the lower its score: −‖q − k‖².",
)
def sign_of_distance(node: GaussianExponent) -> Nodes:
    yield Scale(node, times=-1.0)


@mistake("The squared distance was not divided by 2·width².", "Divide by 2·width².")
def half_forgotten(node: GaussianExponent) -> Nodes:
    yield Scale(node, times=2.0)
    if node.width != 1:
        yield Scale(node, times=2.0 * node.width * node.width)


@mistake("The squared distance was divided by 2·width.", "Square the width: divide by 2·width².")
def width_not_squared(node: GaussianExponent) -> Nodes:
    if node.width != 1:
        yield Scale(node, times=node.width)


@mistake("The distance was not squared.", "Leave the root out: ‖q − k‖² is the sum of squares.")
def distance_not_squared(node: GaussianExponent) -> Nodes:
    over = 2 * node.width * node.width
    yield wrong(lambda exponent: np.sqrt(-exponent * over) / -over, node)


@mistake(
    "The tanh was not multiplied by the cap.", "Multiply by the cap after the tanh: c·tanh(s / c)."
)
def cap_not_restored(node: SoftCap) -> Nodes:
    yield Scale(node, over=node.cap)


@mistake("The scores were cut off at the cap.", "Calculate {formula}: the tanh bends every score.")
def cap_clipped(node: SoftCap) -> Nodes:
    """min(max(s, −c), c) for c·tanh(s / c)."""
    yield rising(lambda scores: np.clip(scores, -node.cap, node.cap), node.operand)
