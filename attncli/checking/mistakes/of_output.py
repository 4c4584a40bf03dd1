"""Mistakes in what the weights mix, in the heads and in the output."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeGuard

import numpy as np

from attncli.attention.heads import MergeHeads, RepeatHeads, SplitHeads
from attncli.checking.mistakes.mistake import Changes, Nodes, mistake, step_mistake, wrong
from attncli.checking.mistakes.nodes import is_named, is_w_o, made_of
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Add, MatMul, Transposed
from attncli.tape.step import Expression, Step
from attncli.tape.walk import rewritten, walk


@step_mistake(
    "The weights stand transposed: rows and columns have changed places.",
    "Let every query mix the values by its own weights.",
)
def attention_transposed(step: Step, trace: Trace) -> Changes:
    """Aᵀ for A, as it is given or as it is used."""
    if step.name.startswith("weights") and len(step.trailing) == 2:
        yield {step.name: Transposed(made_of(step))}, {}

    def rule(node: Expression) -> Nodes:
        if _is_mixture(node):
            yield replace(node, left=Transposed(node.left))

    for other in rewritten(made_of(step), rule):
        yield {step.name: other}, {}


def _is_mixture(node: Expression) -> TypeGuard[MatMul]:
    return isinstance(node, MatMul) and is_named(node.left, "weights")


@step_mistake("The weights were multiplied by {used}, not by the values.", "Calculate {formula}.")
def input_instead_of_values(step: Step, trace: Trace) -> Changes:
    """Weights · X for weights · V; the input cut into heads where there are several."""
    node = made_of(step)
    if not _is_mixture(node):
        return
    for name in ("X", "memory"):
        # In pooling, and between two sentences, an input itself is what is mixed.
        other = trace.inputs.get(name, node.right)
        if other is not node.right:
            if "head" in step.leading:
                cut = SplitHeads(other, trace.problem.heads)
                yield {step.name: replace(node, right=cut)}, {"used": name}
            yield {step.name: replace(node, right=other)}, {"used": name}


@step_mistake("The weights were multiplied by {used}, not by the values.", "Calculate {formula}.")
def keys_instead_of_values(step: Step, trace: Trace) -> Changes:
    """Weights · K for weights · V; of a pooling, weights · hidden."""
    return _other_values(step, "K", "hidden")


@step_mistake("The weights were multiplied by {used}, not by the values.", "Calculate {formula}.")
def queries_instead_of_values(step: Step, trace: Trace) -> Changes:
    return _other_values(step, "Q")


def _other_values(step: Step, *names: str) -> Changes:
    """Yield the changes in which the weights mix something else than the values."""
    node = made_of(step)
    if not _is_mixture(node):
        return
    for name in names:
        for other in walk(node.left, into_steps=True):
            if isinstance(other, Step) and other.name == name:
                shared = node.right if isinstance(node.right, RepeatHeads) else None
                right = replace(shared, operand=other) if shared else other
                yield {step.name: replace(node, right=right)}, {"used": name}


@mistake("This is the mean of the values: every key got the same weight.", "Calculate {formula}.")
def equal_weights(node: MatMul) -> Nodes:
    if _is_mixture(node):
        yield replace(node, left=wrong(lambda a: np.full(a.shape, 1 / a.shape[-1]), node.left))


@step_mistake("The input was added, as in a transformer block.", "Attention ends with {formula}.")
def input_added(step: Step, trace: Trace) -> Changes:
    if step.name == "output" and "X" in trace.inputs:
        yield {step.name: Add(made_of(step), trace.inputs["X"])}, {}


@mistake(
    "Neighbouring features went to different heads.",
    "A head is one piece of neighbours: the first d_k features are head 1.",
)
def heads_interleaved(node: SplitHeads | MergeHeads) -> Nodes:
    if isinstance(node, SplitHeads):
        yield wrong(partial(_split_in_turns, heads=node.heads), node.operand)
    else:
        yield wrong(_merged_in_turns, node.operand)


def _split_in_turns(array: Any, heads: int) -> Any:
    """Feature i to head i modulo the number of heads: (batch, 1, n, h·d) → (batch, h, n, d)."""
    batch, _, n, width = array.shape
    return np.moveaxis(array.reshape(batch, n, width // heads, heads), 3, 1)


def _merged_in_turns(array: Any) -> Any:
    """The first feature of every head, then the second: (batch, h, n, d) → (batch, 1, n, h·d)."""
    batch, heads, n, width = array.shape
    return np.moveaxis(array, 1, 3).reshape(batch, 1, n, heads * width)


@mistake(
    "The query heads take the key/value heads in turns.",
    "Neighbouring query heads share a key/value head.",
)
def shared_heads_alternate(node: RepeatHeads) -> Nodes:
    yield wrong(lambda array: np.concatenate([array] * node.times, axis=1), node.operand)


@mistake("The heads stand in the wrong order.", "Head 1 comes first.")
def heads_in_wrong_order(node: MergeHeads) -> Nodes:
    yield MergeHeads(wrong(lambda array: np.flip(array, axis=1), node.operand))


@step_mistake("Head {head} was left out.", "Put all heads side by side.")
def head_missing(step: Step, trace: Trace) -> Changes:
    heads = trace.problem.heads
    for head in range(heads if heads > 1 else 0):
        for made in rewritten(made_of(step), partial(_without_head, head=head, heads=heads)):
            yield {step.name: made}, {"head": str(head + 1)}


def _without_head(node: Expression, head: int, heads: int) -> Nodes:
    """Yield 0 for the features of one head where all stand side by side, (…, n, h·d)."""

    def dropped(array: Any) -> Any:
        width = array.shape[-1]
        return array * np.where(np.arange(width) // (width // heads) == head, 0.0, 1.0)

    if isinstance(node, MergeHeads):
        yield wrong(dropped, node)
    elif isinstance(node, MatMul) and is_w_o(node.right):
        yield replace(node, left=wrong(dropped, node.left))


@mistake("The heads were added up.", "Put them side by side: their features stay apart.")
def heads_summed(node: MergeHeads) -> Nodes:
    yield wrong(lambda array: array.sum(axis=1, keepdims=True), node.operand)


@mistake("This is the mean of the heads.", "Put them side by side: their features stay apart.")
def heads_averaged(node: MergeHeads) -> Nodes:
    yield wrong(lambda array: array.sum(axis=1, keepdims=True) / array.shape[1], node.operand)


@mistake("The product with W_o was left out.", "Calculate {formula}.")
def w_o_missing(node: Add | MatMul) -> Nodes:
    product = node.left if isinstance(node, Add) else node
    if isinstance(product, MatMul) and is_w_o(product.right):
        yield product.left


@step_mistake(
    "{step} stands transposed: rows and columns have changed places.",
    "A token keeps its place through every step.",
)
def step_transposed(step: Step, trace: Trace) -> Changes:
    is_matrix = len(step.trailing) == 2 and max(step.array.shape[-2:]) > 1
    if is_matrix and not step.name.startswith(("scores", "weights")):
        yield {step.name: Transposed(made_of(step))}, {}
