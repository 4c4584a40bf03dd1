"""Mistakes in Q, K, V and in the scores."""

from __future__ import annotations

import numpy as np

from attncli.attention.heads import RepeatHeads, SplitHeads
from attncli.checking.mistakes.mistake import Changes, Nodes, mistake, negative, step_mistake, wrong
from attncli.checking.mistakes.nodes import is_input, is_named, is_projection, is_w_o, made_of
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Add, MatMul, Transposed
from attncli.tape.step import Expression, Step
from attncli.tape.walk import rewritten, transform

PROJECTED = ("Q", "K", "V")


@step_mistake(
    "The scores are transposed: queries and keys have changed places.",
    "Keep the order of {formula}.",
)
def scores_transposed(step: Step, trace: Trace) -> Changes:
    if step.name.startswith("scores") and len(step.trailing) == 2:
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
    """Yield the changes in which two of Q, K and V are exchanged."""
    if one not in trace or other not in trace:
        return
    if step.name in (one, other):
        yield {one: made_of(trace[other]), other: made_of(trace[one])}, {}
    elif step.name.startswith("scores"):
        exchange = {one: trace[other], other: trace[one]}
        made = transform(made_of(step), lambda part: exchange.get(part.name, part))
        if made is not step.operation:
            yield {step.name: _shared_again(made, trace)}, {}


def _shared_again(made: Expression, trace: Trace) -> Expression:
    """Return scores in which each of the fewer heads is shared, on either side."""
    times = trace.problem.heads // trace.problem.kv_heads
    if times == 1:
        return made

    def shared(part: Step) -> Expression:
        return RepeatHeads(part, times) if part.name in ("K", "V") else part

    return transform(_unshared(made), shared)


def _unshared(made: Expression) -> Expression:
    for other in rewritten(made, lambda n: (n.operand,) if isinstance(n, RepeatHeads) else ()):
        return _unshared(other)
    return made


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
    """Return how a step is made, with another input in the place of one with a name."""
    return transform(made_of(step), lambda part: other if part.name == name else part)


@mistake("The bias was not added.", "Calculate {formula}.")
def bias_missing(node: Add) -> Nodes:
    if is_input(_uncut(node.right)):
        yield node.left


@mistake("The bias was subtracted.", "Add it: {formula}.")
def bias_subtracted(node: Add) -> Nodes:
    if is_input(_uncut(node.right)):
        yield replace(node, right=negative(node.right))


@mistake("The bias was multiplied, not added.", "Add the bias.")
def bias_multiplied(node: Add) -> Nodes:
    if is_input(_uncut(node.right)):
        yield wrong(np.multiply, node.left, node.right)


@mistake("The bias is transposed.", "Look up for each query the bias of each key.")
def bias_transposed(node: Add) -> Nodes:
    if is_named(node.right, "bias") and node.right.array.shape[-2] == node.right.array.shape[-1]:
        yield replace(node, right=Transposed(node.right))


def _uncut(expression: Expression) -> Expression:
    return expression.operand if isinstance(expression, SplitHeads) else expression
