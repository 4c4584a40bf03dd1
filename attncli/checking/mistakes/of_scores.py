"""Mistakes in Q, K, V and in the scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attncli.attention.heads import SplitHeads
from attncli.attention.scores import ConcatenatePairs, Cosine, GaussianExponent
from attncli.checking.mistakes.changes import (
    NO_WORDS,
    Change,
    Changes,
    Words,
    is_input,
    is_projection,
    is_w_o,
    made_of,
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
from attncli.tape.step import Expression, Operation, Step


def key_not_transposed(node: Expression) -> Iterator[Expression]:
    """Q K."""
    if isinstance(node, MatMul) and isinstance(node.right, Transposed):
        inner = node.right.operand
        if not is_projection(inner):
            yield replace(node, right=inner)


def weights_matrix_transposed(node: Expression) -> Iterator[Expression]:
    """X Wᵀ for X W, and the other way round."""
    if isinstance(node, Transposed) and is_projection(node.operand):
        yield node.operand
    elif isinstance(node, MatMul) and is_projection(node.right):
        yield replace(node, right=Transposed(node.right))


def factors_exchanged(node: Expression) -> Iterator[Expression]:
    """W X for X W."""
    if isinstance(node, MatMul):
        yield replace(node, left=node.right, right=node.left)


def elementwise_product(node: Expression) -> Iterator[Expression]:
    """Each number times the one at its own place."""
    if isinstance(node, MatMul):
        right = node.right.operand if isinstance(node.right, Transposed) else node.right
        yield Product(node.left, right)
        if right is not node.right:
            yield Product(node.left, node.right)


def projection_missing(node: Expression) -> Iterator[Expression]:
    """X for X W."""
    if isinstance(node, MatMul) and is_projection(node.right) and not is_w_o(node.right):
        yield node.left


def swapped(one: str, other: str) -> Changes:
    """Return the changes of two of Q, K and V taken for each other."""

    def changes(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
        if one not in trace or other not in trace:
            return
        if step.name == one:
            yield {one: made_of(trace[other]), other: made_of(trace[one])}, NO_WORDS
        elif step.name == other:
            yield {other: made_of(trace[one]), one: made_of(trace[other])}, NO_WORDS
        elif step.name.startswith("scores"):
            exchange = {one: trace[other], other: trace[one]}
            made = _with_steps(made_of(step), exchange)
            if made is not step.operation:
                yield {step.name: made}, NO_WORDS

    return changes


def _with_steps(expression: Expression, others: Mapping[str, Step]) -> Expression:
    """Return an expression with some steps in the place of others."""
    if isinstance(expression, Step):
        return others.get(expression.name, expression)
    changed = {}
    for name in expression.fields:
        part = getattr(expression, name)
        if isinstance(part, Step | Operation):
            found = _with_steps(part, others)
            if found is not part:
                changed[name] = found
    return replace(expression, **changed) if changed else expression


def wrong_weight_matrix(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """X W_q for K."""
    if step.name not in PROJECTED:
        return
    right = f"W_{step.name.lower()}"
    for other in PROJECTED:
        used = f"W_{other.lower()}"
        if used != right and used in trace.inputs and right in trace.inputs:
            made = _with_steps(made_of(step), {right: trace.inputs[used]})
            yield {step.name: made}, {"step": step.name, "used": used, "right": right}


def wrong_source(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Keys and values made from X where they come from memory, or queries from memory."""
    if step.name in PROJECTED and "memory" in trace.inputs and "X" in trace.inputs:
        for right, used in (("X", "memory"), ("memory", "X")):
            made = _with_steps(made_of(step), {right: trace.inputs[used]})
            if made is not step.operation:
                yield {step.name: made}, {"step": step.name, "used": used, "right": right}


PROJECTED = ("Q", "K", "V")


def lengths_forgotten(node: Expression) -> Iterator[Expression]:
    """q·k for the cosine."""
    if isinstance(node, Cosine):
        yield MatMul(node.q, Transposed(node.k))


def one_length_forgotten(node: Expression) -> Iterator[Expression]:
    """q·k divided by one of the two lengths."""
    if isinstance(node, Cosine):
        yield DividedByLengths(node.q, node.k, 1, 0)
        yield DividedByLengths(node.q, node.k, 0, 1)


def root_forgotten(node: Expression) -> Iterator[Expression]:
    """q·k divided by the squared lengths."""
    if isinstance(node, Cosine):
        yield DividedByLengths(node.q, node.k, 2, 2)


def distance_not_squared(node: Expression) -> Iterator[Expression]:
    """The distance for its square."""
    if isinstance(node, GaussianExponent):
        yield UnsquaredDistance(node, node.width)


def sign_of_distance(node: Expression) -> Iterator[Expression]:
    """The squared distance without its minus."""
    if isinstance(node, GaussianExponent):
        yield Scale(node, times=-1.0)


def half_forgotten(node: Expression) -> Iterator[Expression]:
    """The squared distance divided by width², or by nothing."""
    if isinstance(node, GaussianExponent):
        yield Scale(node, times=2.0)
        if node.width != 1:
            yield Scale(node, times=2.0 * node.width**2)


def tanh_missing(node: Expression) -> Iterator[Expression]:
    """The argument of the tanh for the tanh."""
    if isinstance(node, Tanh | SoftCap):
        yield node.operand


def joined_in_wrong_order(node: Expression) -> Iterator[Expression]:
    """[k; q] for [q; k]."""
    if isinstance(node, Concatenate):
        yield replace(node, left=node.right, right=node.left)
    elif isinstance(node, ConcatenatePairs):
        yield Reversed(node)
    elif isinstance(node, Operation) and "parts" in node.fields and "joined" in node.trailing:
        yield replace(node, parts=tuple(reversed(node.operands)))


def bias_missing(node: Expression) -> Iterator[Expression]:
    """The sum without the bias."""
    if isinstance(node, Add) and is_input(_uncut(node.right)):
        yield node.left


def bias_subtracted(node: Expression) -> Iterator[Expression]:
    """The bias taken away."""
    if isinstance(node, Add) and is_input(_uncut(node.right)):
        yield replace(node, right=Negative(node.right))


def _uncut(expression: Expression) -> Expression:
    return expression.operand if isinstance(expression, SplitHeads) else expression


def scores_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """K Qᵀ."""
    del trace
    if step.name.startswith("scores") and len(step.trailing) == 2:
        yield {step.name: Transposed(made_of(step))}, NO_WORDS
