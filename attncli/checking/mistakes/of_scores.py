"""Mistakes in Q, K, V and in the scores."""

from __future__ import annotations

from collections.abc import Iterator

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
    mistake_in_step,
)
from attncli.checking.mistakes.wrong_operations import (
    DividedByLengths,
    Negative,
    Product,
    Reversed,
    UnsquaredDistance,
)
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Add, Concatenate, MatMul, Scale, SoftCap, Tanh, Transposed
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Operation, Step
from attncli.tape.walk import transform

PROJECTED = ("Q", "K", "V")


@mistake_in_step(
    "The scores stand transposed: queries and keys have changed places.",
    "Keep the order of {formula}.",
)
def scores_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """K Qᵀ."""
    del trace
    if step.name.startswith("scores") and len(step.trailing) == 2:
        yield {step.name: Transposed(made_of(step))}, NO_WORDS


@mistake("The keys were not transposed.", "Take the dot product of every query with every key.")
def key_not_transposed(node: Expression) -> Iterator[Expression]:
    """Q K."""
    if isinstance(node, MatMul) and isinstance(node.right, Transposed):
        inner = node.right.operand
        if not is_projection(inner):
            yield replace(node, right=inner)


@mistake("The weight matrix was transposed.", "Multiply by the matrix as it is written.")
def weights_matrix_transposed(node: Expression) -> Iterator[Expression]:
    """X Wᵀ for X W, and the other way round."""
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
    """Each number times the one at its own place."""
    if isinstance(node, MatMul):
        right = node.right.operand if isinstance(node.right, Transposed) else node.right
        yield Product(node.left, right)
        if right is not node.right:
            yield Product(node.left, node.right)


@mistake("The product with the weight matrix was left out.", "Calculate {formula}.")
def projection_missing(node: Expression) -> Iterator[Expression]:
    """X for X W."""
    if isinstance(node, MatMul) and is_projection(node.right) and not is_w_o(node.right):
        yield node.left


@mistake_in_step(
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
            yield {step.name: made}, {"step": step.name, "used": used, "right": right}


@mistake_in_step("Q and K have changed places.", "Queries come from W_q, keys from W_k.")
def swapped_q_k(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Q for K and K for Q."""
    return _swapped(step, trace, "Q", "K")


@mistake_in_step("K and V have changed places.", "Keys come from W_k, values from W_v.")
def swapped_k_v(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """K for V and V for K."""
    return _swapped(step, trace, "K", "V")


@mistake_in_step("Q and V have changed places.", "Queries come from W_q, values from W_v.")
def swapped_q_v(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Q for V and V for Q."""
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


@mistake_in_step(
    "{step} was made from {used}, not from {right}.",
    "Queries come from X, keys and values from memory.",
)
def wrong_source(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Keys and values made from X where they come from memory, or queries from memory."""
    if step.name in PROJECTED and "memory" in trace.inputs and "X" in trace.inputs:
        for right, used in (("X", "memory"), ("memory", "X")):
            made = _with_input(step, right, trace.inputs[used])
            if made is not step.operation:
                yield {step.name: made}, {"step": step.name, "used": used, "right": right}


def _with_input(step: Step, name: str, other: Step) -> Expression:
    """Return how a step is made, with another input in the place of that of a name."""
    return transform(made_of(step), lambda part: other if part.name == name else part)


@mistake("The bias was not added.", "Add the bias.")
def bias_missing(node: Expression) -> Iterator[Expression]:
    """The sum without the bias."""
    if isinstance(node, Add) and is_input(_uncut(node.right)):
        yield node.left


@mistake("The bias was subtracted.", "Add the bias.")
def bias_subtracted(node: Expression) -> Iterator[Expression]:
    """The bias taken away."""
    if isinstance(node, Add) and is_input(_uncut(node.right)):
        yield replace(node, right=Negative(node.right))


def _uncut(expression: Expression) -> Expression:
    return expression.operand if isinstance(expression, SplitHeads) else expression


@mistake("The tanh was left out.", "Take the tanh of every number.")
def tanh_missing(node: Expression) -> Iterator[Expression]:
    """The argument of the tanh for the tanh."""
    if isinstance(node, Tanh | SoftCap):
        yield node.operand


@mistake(
    "The two parts were put together in the wrong order.",
    "Keep the order of the formula: [a; b] is not [b; a].",
)
def joined_in_wrong_order(node: Expression) -> Iterator[Expression]:
    """[k; q] for [q; k]."""
    if isinstance(node, Concatenate):
        yield replace(node, left=node.right, right=node.left)
    elif isinstance(node, ConcatenatePairs):
        yield Reversed(node)
    elif isinstance(node, Operation) and "parts" in node.fields and "joined" in node.trailing:
        yield replace(node, parts=tuple(reversed(node.operands)))


@mistake(
    "The dot products were not divided by the lengths of the vectors.", "Divide q·k by ‖q‖ ‖k‖."
)
def lengths_forgotten(node: Expression) -> Iterator[Expression]:
    """q·k for the cosine."""
    if isinstance(node, Cosine):
        yield MatMul(node.q, Transposed(node.k))


@mistake(
    "The dot products were divided by one of the two lengths.", "Divide q·k by ‖q‖ and by ‖k‖."
)
def one_length_forgotten(node: Expression) -> Iterator[Expression]:
    """q·k divided by one of the two lengths."""
    if isinstance(node, Cosine):
        yield DividedByLengths(node.q, node.k, 1, 0)
        yield DividedByLengths(node.q, node.k, 0, 1)


@mistake(
    "The dot products were divided by the squared lengths.",
    "A length is the root of the sum of squares.",
)
def root_forgotten(node: Expression) -> Iterator[Expression]:
    """q·k divided by the squared lengths."""
    if isinstance(node, Cosine):
        yield DividedByLengths(node.q, node.k, 2, 2)


@mistake(
    "The minus before the squared distance is missing.",
    "The farther a key, the lower its score: −‖q − k‖².",
)
def sign_of_distance(node: Expression) -> Iterator[Expression]:
    """The squared distance without its minus."""
    if isinstance(node, GaussianExponent):
        yield Scale(node, -1.0, 1.0, "· -1")


@mistake("The squared distance was not divided by 2·width².", "Divide by 2·width².")
def half_forgotten(node: Expression) -> Iterator[Expression]:
    """The squared distance divided by width², or by nothing."""
    if isinstance(node, GaussianExponent):
        yield Scale(node, 2.0, 1.0, "· 2")
        if node.width != 1:
            yield Scale(node, 2.0 * node.width**2, 1.0, "· 2 width²")


@mistake("The distance was not squared.", "Leave the root out: ‖q − k‖² is the sum of squares.")
def distance_not_squared(node: Expression) -> Iterator[Expression]:
    """The distance for its square."""
    if isinstance(node, GaussianExponent):
        yield UnsquaredDistance(node, node.width)


@mistake(
    "The tanh was not multiplied by the cap.", "Multiply by the cap after the tanh: c·tanh(s / c)."
)
def cap_not_restored(node: Expression) -> Iterator[Expression]:
    """tanh(s / c) for c · tanh(s / c)."""
    if isinstance(node, SoftCap):
        yield Scale(node, 1.0, node.cap, "")
