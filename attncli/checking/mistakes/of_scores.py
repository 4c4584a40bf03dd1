"""Mistakes in Q, K, V and in the scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from attncli.attention.heads import SplitHeads
from attncli.attention.scores import ConcatenatePairs, Cosine, GaussianExponent
from attncli.checking.mistakes.mistake import Changes, Nodes, mistake, negative, step_mistake, wrong
from attncli.checking.mistakes.nodes import is_input, is_projection, is_w_o, made_of
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Add, Concatenate, MatMul, Scale, SoftCap, Tanh, Transposed
from attncli.tape.step import Expression, Operation, Step
from attncli.tape.walk import transform

PROJECTED = ("Q", "K", "V")


@step_mistake(
    "The scores stand transposed: queries and keys have changed places.",
    "Keep the order of {formula}.",
)
def scores_transposed(step: Step, trace: Trace) -> Changes:
    if step.name.startswith("scores") and len(step.trailing) == 2:
        yield {step.name: Transposed(made_of(step))}, {}


@mistake("The keys were not transposed.", "Calculate {formula}: every query times every key.")
def key_not_transposed(node: MatMul) -> Nodes:
    if isinstance(node.right, Transposed) and not is_projection(node.right.operand):
        yield replace(node, right=node.right.operand)


@mistake(
    "The weight matrix was transposed.",
    "Keep to {formula}: transpose only what is transposed there.",
)
def weights_matrix_transposed(node: Transposed | MatMul) -> Nodes:
    if isinstance(node, Transposed) and is_projection(node.operand):
        yield node.operand
    elif isinstance(node, MatMul) and is_projection(node.right):
        yield replace(node, right=Transposed(node.right))


@mistake(
    "The factors of the product have changed places.",
    "Keep the order of {formula}: A B is not B A.",
)
def factors_exchanged(node: MatMul) -> Nodes:
    yield replace(node, left=node.right, right=node.left)


@mistake(
    "The matrices were multiplied number by number.", "Multiply each row by each column and add up."
)
def elementwise_product(node: MatMul) -> Nodes:
    right = node.right.operand if isinstance(node.right, Transposed) else node.right
    for factor in dict.fromkeys((right, node.right)):
        yield wrong(np.multiply, node.left, factor)


@mistake("The product with the weight matrix was left out.", "Calculate {formula}.")
def projection_missing(node: MatMul) -> Nodes:
    if is_projection(node.right) and not is_w_o(node.right):
        yield node.left


@step_mistake(
    "{step} was made with {used}, not with {right}.",
    "Queries come from W_q, keys from W_k, values from W_v.",
)
def wrong_weight_matrix(step: Step, trace: Trace) -> Changes:
    right = f"W_{step.name.lower()}"
    for used in ("W_q", "W_k", "W_v") if step.name in PROJECTED and right in trace.inputs else ():
        if used != right and used in trace.inputs:
            made = _with_input(step, right, trace.inputs[used])
            yield {step.name: made}, {"used": used, "right": right}


@step_mistake("Q and K have changed places.", "Queries come from W_q, keys from W_k.")
def swapped_q_k(step: Step, trace: Trace) -> Changes:
    return _swapped(step, trace, "Q", "K")


@step_mistake("K and V have changed places.", "Keys come from W_k, values from W_v.")
def swapped_k_v(step: Step, trace: Trace) -> Changes:
    return _swapped(step, trace, "K", "V")


@step_mistake("Q and V have changed places.", "Queries come from W_q, values from W_v.")
def swapped_q_v(step: Step, trace: Trace) -> Changes:
    return _swapped(step, trace, "Q", "V")


def _swapped(step: Step, trace: Trace, one: str, other: str) -> Changes:
    """Yield the changes of two of Q, K and V taken for each other."""
    if one not in trace or other not in trace:
        return
    if step.name in (one, other):
        yield {one: made_of(trace[other]), other: made_of(trace[one])}, {}
    elif step.name.startswith("scores"):
        exchange = {one: trace[other], other: trace[one]}
        made = transform(made_of(step), lambda part: exchange.get(part.name, part))
        if made is not step.operation:
            yield {step.name: made}, {}


@step_mistake(
    "{step} was made from {used}, not from {right}.",
    "Queries come from X, keys and values from memory.",
)
def wrong_source(step: Step, trace: Trace) -> Changes:
    if step.name in PROJECTED and "memory" in trace.inputs and "X" in trace.inputs:
        for right, used in (("X", "memory"), ("memory", "X")):
            made = _with_input(step, right, trace.inputs[used])
            if made is not step.operation:
                yield {step.name: made}, {"used": used, "right": right}


def _with_input(step: Step, name: str, other: Step) -> Expression:
    """Return how a step is made, with another input in the place of that of a name."""
    return transform(made_of(step), lambda part: other if part.name == name else part)


@mistake("The bias was not added.", "Calculate {formula}.")
def bias_missing(node: Add) -> Nodes:
    if is_input(_uncut(node.right)):
        yield node.left


@mistake("The bias was subtracted.", "Add it: {formula}.")
def bias_subtracted(node: Add) -> Nodes:
    if is_input(_uncut(node.right)):
        yield replace(node, right=negative(node.right))


def _uncut(expression: Expression) -> Expression:
    return expression.operand if isinstance(expression, SplitHeads) else expression


@mistake("The tanh was left out.", "Take the tanh of every number: {formula}.")
def tanh_missing(node: Tanh | SoftCap) -> Nodes:
    yield node.operand


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
    """[k; q] for the last axis [q; k], in which q has a size."""
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
        found = q @ np.swapaxes(k, -1, -2)
        lengths_q = np.sqrt((q * q).sum(axis=-1, keepdims=True))
        lengths_k = np.swapaxes(np.sqrt((k * k).sum(axis=-1, keepdims=True)), -1, -2)
        for lengths in (*[lengths_q] * times_q, *[lengths_k] * times_k):
            found = found / lengths
        return found

    return wrong(divided, node.q, node.k)


@mistake(
    "The minus before the squared distance is missing.",
    "The farther a key, the lower its score: −‖q − k‖².",
)
def sign_of_distance(node: GaussianExponent) -> Nodes:
    yield Scale(node, times=-1.0)


@mistake("The squared distance was not divided by 2·width².", "Divide by 2·width².")
def half_forgotten(node: GaussianExponent) -> Nodes:
    """The squared distance divided by width², or by nothing."""
    yield Scale(node, times=2.0)
    if node.width != 1:
        yield Scale(node, times=2.0 * node.width**2)


@mistake("The distance was not squared.", "Leave the root out: ‖q − k‖² is the sum of squares.")
def distance_not_squared(node: GaussianExponent) -> Nodes:
    over = 2 * node.width**2
    yield wrong(lambda exponent: np.sqrt(-exponent * over) / -over, node)


@mistake(
    "The tanh was not multiplied by the cap.", "Multiply by the cap after the tanh: c·tanh(s / c)."
)
def cap_not_restored(node: SoftCap) -> Nodes:
    yield Scale(node, over=node.cap)
