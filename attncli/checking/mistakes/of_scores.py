"""Mistakes in Q, K, V, in what scores compare and how, in their scale and cap."""

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
from attncli.core.attention.weights import ADJUSTED
from attncli.core.calculation.mistake import (
    ROOT_OF_D_K,
    Changes,
    Mistake,
    Nodes,
    divides_by_root,
    is_input,
    is_named,
    is_projection,
    made_of,
    mistake,
    negative,
    put,
    rising,
    uncut,
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
from attncli.core.tape.evaluation import everywhere, mapped, sources, transform, walk
from attncli.core.tape.operations import Add, Concatenate, MatMul, Scale, SoftCap, Tanh, Transposed
from attncli.core.tape.step import Expression, Operation, ShapeError, Step

# ---- the scale


def _divided_by(advice: str, *letters: str) -> Mistake:
    """Return the mistake of a division by a size of the problem, or by its root: `√d_model`."""

    @mistake("The scores were divided by {by}, not by {right}.", advice, of=Scale)
    def changes(step: Step, trace: Trace) -> Changes:
        scale, sizes = _scale_in(step), trace.problem.sizes
        if scale is None or not divides_by_root(scale):
            return
        right = text(ROOT_OF_D_K), text(scale.value or ROOT_OF_D_K)
        for letter in letters:
            every = [sizes.size(letter.removeprefix("√"))]
            if letter == "√d_model":
                every.append((sizes.size("d_k") or 0) * trace.problem.heads)
            for size in dict.fromkeys(size for size in every if size and size > 1):
                by = sqrt(size) if letter[0] == "√" else float(size)
                root = f" = √{size}" if letter[0] == "√" else ""
                words = {"by": (letter, f"{letter}{root} = {by:.4g}"), "right": right}
                yield put(made_of(step), scale, replace(scale, times=1.0, over=by)), words

    return changes


def _scale_in(step: Step) -> Scale | None:
    """Return the factor of a step, also where its result is masked at once."""
    return next((node for node in walk(made_of(step)) if isinstance(node, Scale)), None)


not_scaled = passed_over(Scale, "The scores were not scaled.")
scaled_by_d_k = _divided_by("Divide by the root of d_k, not by d_k itself.", "d_k")
scaled_by_sqrt_d_model = _divided_by(
    "d_k is how many numbers one head's key has, not the width of the input.", "√d_model"
)
scaled_by_sqrt_n = _divided_by(
    "d_k is how many numbers a key has, not how many tokens there are.", "√m", "√n"
)


@mistake("The scores were scaled twice.", "Scale them once: {formula}.")
def scaled_twice(node: Scale) -> Nodes:
    if not divides_by_root(node):  # to divide by d_k is another mistake
        yield replace(node, operand=node)


scale_inverted = instead(Scale, inverted)


@mistake("The scores were divided by √d_k, {when}.", "Leave the scores as they are in this step.")
def scaled_needlessly(step: Step, trace: Trace) -> Changes:
    """Divide by √d_k where the problem does not ask for it, or one step too early."""
    node, size = made_of(step), trace.problem.sizes.size("d_k")
    is_scaled = any(map(_scale_in, (other for other in trace if other.stem == "scaled")))
    when = "which comes one step later" if is_scaled else "which is not asked for"
    scores: Expression | None = node.operand if isinstance(node, Exp) else node
    if step.stem in ADJUSTED:
        scores = next((one for one in sources(step) if one.stem == "scores"), None)
    is_after = isinstance(node, Exp) or step.stem in ADJUSTED
    if size and scores and (step.plain.startswith("scores") or (is_after and not is_scaled)):
        yield put(node, scores, Scale(scores, over=sqrt(size), symbol=ROOT_OF_D_K)), {"when": when}


@mistake("The root of every score was taken.", "Calculate {formula}: the root is of d_k alone.")
def root_of_each_score(node: Scale) -> Nodes:
    """√s or √(s / d_k) for s / √d_k, of scores that are not negative."""

    def root(numbers: Any) -> Any:
        if (numbers < 0).any():
            raise ShapeError
        return np.sqrt(numbers)

    def roots(scores: Any) -> Any:
        return type(scores)(np.sqrt(np.maximum(scores.low, 0.0)), root(scores.high))

    if divides_by_root(node):
        for inside in (node.operand, replace(node, over=node.over**2)):
            yield wrong(root, inside, ranges=roots)


# ---- products with matrices

PROJECTED = ("Q", "K", "V")


@mistake(
    "The scores are transposed: queries and keys have changed places.",
    "Keep the order of {formula}.",
)
def scores_transposed(step: Step, trace: Trace) -> Changes:
    if step.plain.startswith("scores") and len(step.trailing) == 2:
        yield Transposed(made_of(step))


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


wrong_weight_matrix = other_factor(
    lambda one: one.plain in ("W_q", "W_k", "W_v"),
    advice="Queries come from W_q, keys from W_k, values from W_v.",
    steps=PROJECTED,
)


def _swapped(one: str, other: str, advice: str) -> Mistake:
    @mistake(f"{one} and {other} have changed places.", advice)
    def changes(step: Step, trace: Trace) -> Changes:
        if one not in trace or other not in trace:
            return
        if step.plain in (one, other):
            yield {trace[a].name: made_of(trace[b]) for a, b in ((one, other), (other, one))}
        elif step.plain.startswith("scores"):
            exchange = {one: trace[other], other: trace[one]}
            scores = transform(made_of(step), lambda part: exchange.get(part.plain, part))
            if scores is not step.operation:
                yield _shared_again(scores, trace)

    return changes


def _shared_again(scores: Expression, trace: Trace) -> Expression:
    """Return scores with the key/value heads repeated, after K changed places."""
    times = trace.problem.heads // trace.problem.kv_heads
    if times == 1:
        return scores

    def shared(part: Step) -> Expression:
        return RepeatHeads(part, times) if part.plain in ("K", "V") else part

    once = mapped(scores, lambda part: part.operand if isinstance(part, RepeatHeads) else part)
    return transform(once, shared)


swapped_q_k = _swapped("Q", "K", "Queries come from W_q, keys from W_k.")
swapped_k_v = _swapped("K", "V", "Keys come from W_k, values from W_v.")
swapped_q_v = _swapped("Q", "V", "Queries come from W_q, values from W_v.")


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
            yield other, {"used": used, "right": right}


def _adds_a_bias(node: Expression) -> bool:
    return isinstance(node, Add) and is_input(uncut(node.right))


bias_missing = left_out(
    lambda node: is_input(uncut(node)), "{operand} was not added.", within=_adds_a_bias, of=Add
)
bias_subtracted = instead(
    _adds_a_bias,
    lambda node: Add(node.left, negative(node.right)),  # a blocked cell stays blocked
    "{other} was subtracted, not added.",
    of=Add,
)
bias_multiplied = instead(_adds_a_bias, Hadamard, "{other} was multiplied, not added.", of=Add)


@mistake("The bias is transposed.", "Look up for each query the bias of each key.")
def bias_transposed(node: Add) -> Nodes:
    if is_named(node.right, "bias") and node.right.array.shape[-2] == node.right.array.shape[-1]:
        yield replace(node, right=Transposed(node.right))


# ---- score functions, and the cap

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
    def other_half_first(q: Any, k: Any) -> Any:
        joined, size = node.apply(q, k), q.shape[-1]
        return np.concatenate([joined[..., size:], joined[..., :size]], axis=-1)

    if isinstance(node, Concatenate):
        yield turned(node)
    elif isinstance(node, ConcatenatePairs):
        yield wrong(other_half_first, *node.operands)
    elif "parts" in node.fields and "joined" in node.trailing:
        yield replace(node, parts=tuple(reversed(node.operands)))


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
    for by in dict.fromkeys((2.0, 2.0 * node.width * node.width)):
        yield Scale(node, times=by)


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
    yield rising(lambda scores: np.clip(scores, -node.cap, node.cap), node.operand)
