"""Mistakes in Q, K, V and in the scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.attention.heads import SplitHeads
from attncli.attention.scores import ConcatenatePairs, Cosine, GaussianExponent
from attncli.checking.mistakes.mistake import (
    NO_WORDS,
    Words,
    is_input,
    is_projection,
    is_w_o,
    made_of,
    mistake,
    step_mistake,
)
from attncli.checking.mistakes.wrong_operations import (
    divided_by_lengths,
    negative,
    other_half_first,
    unsquared_distance,
    wrong,
)
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Add, Concatenate, MatMul, Scale, SoftCap, Tanh, Transposed
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Operation, Step
from attncli.tape.walk import transform

PROJECTED = ("Q", "K", "V")


@step_mistake(
    "The scores stand transposed: queries and keys have changed places.",
    "Keep the order of {formula}.",
)
def scores_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    if step.name.startswith("scores") and len(step.trailing) == 2:
        yield {step.name: Transposed(made_of(step))}, NO_WORDS


@mistake("The keys were not transposed.", "Take the dot product of every query with every key.")
def key_not_transposed(node: Expression) -> Iterator[Expression]:
    if isinstance(node, MatMul) and isinstance(node.right, Transposed):
        inner = node.right.operand
        if not is_projection(inner):
            yield replace(node, right=inner)


@mistake("The weight matrix was transposed.", "Multiply by the matrix as it is written.")
def weights_matrix_transposed(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Transposed) and is_projection(node.operand):
        yield node.operand
    elif isinstance(node, MatMul) and is_projection(node.right):
        yield replace(node, right=Transposed(node.right))


@mistake(
    "The factors of the product have changed places.",
    "Keep the order of {formula}: A B is not B A.",
)
def factors_exchanged(node: Expression) -> Iterator[Expression]:
    """W X for X W."""
    if isinstance(node, MatMul):
        yield replace(node, left=node.right, right=node.left)


@mistake("The matrices were multiplied number by number.", "Multiply rows by columns and add up.")
def elementwise_product(node: Expression) -> Iterator[Expression]:
    if isinstance(node, MatMul):
        right = node.right.operand if isinstance(node.right, Transposed) else node.right
        for factor in dict.fromkeys((right, node.right)):
            yield wrong(np.multiply, node.left, factor)


@mistake("The product with the weight matrix was left out.", "Calculate {formula}.")
def projection_missing(node: Expression) -> Iterator[Expression]:
    if isinstance(node, MatMul) and is_projection(node.right) and not is_w_o(node.right):
        yield node.left


@step_mistake(
    "{step} was made with {used}, not with {right}.",
    "Queries come from W_q, keys from W_k, values from W_v.",
)
def wrong_weight_matrix(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """X W_q for K."""
    if step.name not in PROJECTED:
        return
    right = f"W_{step.name.lower()}"
    for other in PROJECTED:
        used = f"W_{other.lower()}"
        if used != right and used in trace.inputs and right in trace.inputs:
            made = _with_input(step, right, trace.inputs[used])
            yield {step.name: made}, {"used": used, "right": right}


@step_mistake("Q and K have changed places.", "Queries come from W_q, keys from W_k.")
def swapped_q_k(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    return _swapped(step, trace, "Q", "K")


@step_mistake("K and V have changed places.", "Keys come from W_k, values from W_v.")
def swapped_k_v(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    return _swapped(step, trace, "K", "V")


@step_mistake("Q and V have changed places.", "Queries come from W_q, values from W_v.")
def swapped_q_v(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    return _swapped(step, trace, "Q", "V")


def _swapped(step: Step, trace: Trace, one: str, other: str) -> Iterator[tuple[Change, Words]]:
    """Yield the changes of two of Q, K and V taken for each other."""
    if one not in trace or other not in trace:
        return
    if step.name in (one, other):
        yield {one: made_of(trace[other]), other: made_of(trace[one])}, NO_WORDS
    elif step.name.startswith("scores"):
        exchange = {one: trace[other], other: trace[one]}
        made = transform(made_of(step), lambda part: exchange.get(part.name, part))
        if made is not step.operation:
            yield {step.name: made}, NO_WORDS


@step_mistake(
    "{step} was made from {used}, not from {right}.",
    "Queries come from X, keys and values from memory.",
)
def wrong_source(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    if step.name in PROJECTED and "memory" in trace.inputs and "X" in trace.inputs:
        for right, used in (("X", "memory"), ("memory", "X")):
            made = _with_input(step, right, trace.inputs[used])
            if made is not step.operation:
                yield {step.name: made}, {"used": used, "right": right}


def _with_input(step: Step, name: str, other: Step) -> Expression:
    """Return how a step is made, with another input in the place of that of a name."""
    return transform(made_of(step), lambda part: other if part.name == name else part)


@mistake("The bias was not added.", "Add the bias.")
def bias_missing(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Add) and is_input(_uncut(node.right)):
        yield node.left


@mistake("The bias was subtracted.", "Add the bias.")
def bias_subtracted(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Add) and is_input(_uncut(node.right)):
        yield replace(node, right=wrong(negative, node.right))


def _uncut(expression: Expression) -> Expression:
    return expression.operand if isinstance(expression, SplitHeads) else expression


@mistake("The tanh was left out.", "Take the tanh of every number.")
def tanh_missing(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Tanh | SoftCap):
        yield node.operand


@mistake(
    "The two parts were put together in the wrong order.",
    "Keep the order of the formula: [a; b] is not [b; a].",
)
def joined_in_wrong_order(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Concatenate):
        yield replace(node, left=node.right, right=node.left)
    elif isinstance(node, ConcatenatePairs):
        yield wrong(lambda q, k: other_half_first(node.apply(q, k), q.shape[-1]), *node.operands)
    elif isinstance(node, Operation) and "parts" in node.fields and "joined" in node.trailing:
        yield replace(node, parts=tuple(reversed(node.operands)))


@mistake(
    "The dot products were not divided by the lengths of the vectors.", "Divide q·k by ‖q‖ ‖k‖."
)
def lengths_forgotten(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Cosine):
        yield MatMul(node.q, Transposed(node.k))


@mistake(
    "The dot products were divided by one of the two lengths.", "Divide q·k by ‖q‖ and by ‖k‖."
)
def one_length_forgotten(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Cosine):
        yield wrong(lambda q, k: divided_by_lengths(q, k, 1, 0), node.q, node.k)
        yield wrong(lambda q, k: divided_by_lengths(q, k, 0, 1), node.q, node.k)


@mistake(
    "The dot products were divided by the squared lengths.",
    "A length is the root of the sum of squares.",
)
def root_forgotten(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Cosine):
        yield wrong(lambda q, k: divided_by_lengths(q, k, 2, 2), node.q, node.k)


@mistake(
    "The minus before the squared distance is missing.",
    "The farther a key, the lower its score: −‖q − k‖².",
)
def sign_of_distance(node: Expression) -> Iterator[Expression]:
    if isinstance(node, GaussianExponent):
        yield Scale(node, times=-1.0)


@mistake("The squared distance was not divided by 2·width².", "Divide by 2·width².")
def half_forgotten(node: Expression) -> Iterator[Expression]:
    """The squared distance divided by width², or by nothing."""
    if isinstance(node, GaussianExponent):
        yield Scale(node, times=2.0)
        if node.width != 1:
            yield Scale(node, times=2.0 * node.width**2)


@mistake("The distance was not squared.", "Leave the root out: ‖q − k‖² is the sum of squares.")
def distance_not_squared(node: Expression) -> Iterator[Expression]:
    if isinstance(node, GaussianExponent):
        yield wrong(lambda exponent: unsquared_distance(exponent, node.width), node)


@mistake(
    "The tanh was not multiplied by the cap.", "Multiply by the cap after the tanh: c·tanh(s / c)."
)
def cap_not_restored(node: Expression) -> Iterator[Expression]:
    if isinstance(node, SoftCap):
        yield Scale(node, over=node.cap)
