"""Mistakes in cutting features into heads and in putting them together again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from attncli.attention.heads import MergeHeads, RepeatHeads, SplitHeads
from attncli.checking.mistakes.mistake import Changes, Nodes, mistake, step_mistake, wrong
from attncli.checking.mistakes.nodes import is_w_o, made_of
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Add, MatMul
from attncli.tape.step import Expression, Step
from attncli.tape.walk import rewritten

PIECES = "A head is a contiguous piece of every row: the first d_k features are head 1."


@step_mistake("Neighbouring features went to different heads.", PIECES)
def heads_interleaved(step: Step, trace: Trace) -> Changes:
    return _cut_otherwise(step, trace, _split_in_turns, _merged_in_turns)


@step_mistake("The numbers were filled into the heads line by line, as reshape does.", PIECES)
def heads_reshaped(step: Step, trace: Trace) -> Changes:
    """The axes of heads and tokens were not exchanged, as is needed before or after a reshape."""
    return _cut_otherwise(step, trace, _split_by_lines, _merged_by_lines)


def _cut_otherwise(
    step: Step, trace: Trace, split: Callable[..., Any], merged: Callable[[Any], Any]
) -> Changes:
    """Yield a step cut into heads or merged otherwise; then Q, K and V; then all that is."""

    def rule(node: Expression) -> Nodes:
        if isinstance(node, SplitHeads):
            yield wrong(partial(split, heads=node.heads), node.operand)
        elif isinstance(node, MergeHeads):
            yield wrong(merged, node.operand)

    for made in rewritten(made_of(step), rule):
        yield {step.name: made}, {}
    steps = [trace[name] for name in ("Q", "K", "V", "concat", "output") if name in trace]
    change = {other.name: made for other in steps for made in rewritten(made_of(other), rule)}
    cut = {name: made for name, made in change.items() if name in ("Q", "K", "V")}
    if len(cut) > 1 and step.name == next(iter(cut)):  # or it would be tried three times
        yield cut, {}
        yield change, {}


def _split_by_lines(array: Any, heads: int) -> Any:
    """(batch, 1, n, h·d) → (batch, h, n, d), every number in its order."""
    batch, _, n, width = array.shape
    return array.reshape(batch, heads, n, width // heads)


def _merged_by_lines(array: Any) -> Any:
    """(batch, h, n, d) → (batch, 1, n, h·d), every number in its order."""
    batch, heads, n, width = array.shape
    return array.reshape(batch, 1, n, heads * width)


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


@mistake("The heads are in the wrong order.", "Head 1 comes first.")
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
