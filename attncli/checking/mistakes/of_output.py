"""Mistakes in what the weights mix, in the heads and in the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from attncli.attention.heads import MergeHeads, RepeatHeads, SplitHeads
from attncli.checking.mistakes.mistake import (
    NO_WORDS,
    Words,
    is_named,
    is_w_o,
    made_of,
    mistake,
    step_mistake,
)
from attncli.checking.mistakes.wrong_operations import (
    heads_added,
    interleaved,
    merged_in_turns,
    without_head,
    wrong,
)
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Add, MatMul, Transposed
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Step
from attncli.tape.walk import rewritten, walk


@step_mistake("The weights stand transposed.", "Let every query mix the values by its own weights.")
def attention_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Aᵀ for A, as it is given or as it is used."""
    if step.name.startswith("weights") and len(step.trailing) == 2:
        yield {step.name: Transposed(made_of(step))}, NO_WORDS

    def rule(node: Expression) -> Iterator[Expression]:
        if isinstance(node, MatMul) and is_named(node.left, "weights"):
            yield replace(node, left=Transposed(node.left))

    for other in rewritten(made_of(step), rule):
        yield {step.name: other}, NO_WORDS


@step_mistake("The weights were multiplied by {used}, not by the values.", "Calculate {formula}.")
def input_instead_of_values(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Weights · X for weights · V; the input cut into heads where there are several."""
    node = made_of(step)
    if not (isinstance(node, MatMul) and is_named(node.left, "weights")):
        return
    for name in ("X", "memory"):
        # In pooling, and between two sentences, an input itself is what is mixed.
        if name in trace.inputs and trace.inputs[name] is not node.right:
            other: Expression = trace.inputs[name]
            if "head" in step.leading:
                cut = SplitHeads(other, trace.problem.heads)
                yield {step.name: replace(node, right=cut)}, {"used": name}
            yield {step.name: replace(node, right=other)}, {"used": name}


@step_mistake("The weights were multiplied by {used}, not by the values.", "Calculate {formula}.")
def keys_instead_of_values(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    """Weights · K for weights · V; of a pooling, weights · hidden."""
    return _other_values(step, "K", "hidden")


@step_mistake("The weights were multiplied by {used}, not by the values.", "Calculate {formula}.")
def queries_instead_of_values(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    return _other_values(step, "Q")


def _other_values(step: Step, *names: str) -> Iterator[tuple[Change, Words]]:
    """Yield the changes in which the weights mix something else than the values."""
    node = made_of(step)
    if not (isinstance(node, MatMul) and is_named(node.left, "weights")):
        return
    parts = [part for part in walk(node.left, into_steps=True) if isinstance(part, Step)]
    for name in names:
        for other in parts:
            if other.name == name:
                made = replace(node, right=_as_shared(node.right, other))
                yield {step.name: made}, {"used": name}


def _as_shared(values: Expression, other: Step) -> Expression:
    return RepeatHeads(other, values.times) if isinstance(values, RepeatHeads) else other


@mistake("This is the mean of the values: every key got the same weight.", "Calculate {formula}.")
def equal_weights(node: Expression) -> Iterator[Expression]:
    if isinstance(node, MatMul) and is_named(node.left, "weights"):
        yield replace(node, left=wrong(lambda a: np.full(a.shape, 1 / a.shape[-1]), node.left))


@step_mistake(
    "The input was added, as in a transformer block.", "Attention alone ends with the mixed values."
)
def input_added(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    if step.name == "output" and "X" in trace.inputs:
        yield {step.name: Add(made_of(step), trace.inputs["X"])}, NO_WORDS


@mistake(
    "Neighbouring features went to different heads.",
    "A head is a contiguous piece: the first d_k features are head 1.",
)
def heads_interleaved(node: Expression) -> Iterator[Expression]:
    if isinstance(node, SplitHeads):
        yield wrong(lambda array: interleaved(array, node.heads), node.operand)
    elif isinstance(node, MergeHeads):
        yield wrong(merged_in_turns, node.operand)


@mistake(
    "The query heads take the key/value heads in turns.",
    "Neighbouring query heads share a key/value head.",
)
def shared_heads_alternate(node: Expression) -> Iterator[Expression]:
    if isinstance(node, RepeatHeads):
        yield wrong(lambda array: np.concatenate([array] * node.times, axis=1), node.operand)


@mistake("The heads stand in the wrong order.", "Head 1 comes first.")
def heads_in_wrong_order(node: Expression) -> Iterator[Expression]:
    if isinstance(node, MergeHeads):
        yield MergeHeads(wrong(lambda array: np.flip(array, axis=1), node.operand))


@step_mistake("Head {head} was left out.", "Put all heads side by side.")
def head_missing(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    for head in range(trace.problem.heads if trace.problem.heads > 1 else 0):
        dropped = partial(without_head, head=head, heads=trace.problem.heads)

        def rule(node: Expression, dropped: Callable[..., Any] = dropped) -> Iterator[Expression]:
            if isinstance(node, MergeHeads):
                yield wrong(dropped, node)
            elif isinstance(node, MatMul) and is_w_o(node.right):
                yield replace(node, left=wrong(dropped, node.left))

        for made in rewritten(made_of(step), rule):
            yield {step.name: made}, {"head": str(head + 1)}


@mistake("The heads were added up.", "Put them side by side: their features stay apart.")
def heads_summed(node: Expression) -> Iterator[Expression]:
    if isinstance(node, MergeHeads):
        yield wrong(heads_added, node.operand)


@mistake("This is the mean of the heads.", "Put them side by side: their features stay apart.")
def heads_averaged(node: Expression) -> Iterator[Expression]:
    if isinstance(node, MergeHeads):
        yield wrong(lambda array: heads_added(array) / array.shape[1], node.operand)


@mistake("The heads were not multiplied by W_o.", "Multiply the heads side by side by W_o.")
def w_o_missing(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Add) and isinstance(node.left, MatMul) and is_w_o(node.left.right):
        yield node.left.left
    if isinstance(node, MatMul) and is_w_o(node.right):
        yield node.left


@step_mistake("{step} stands transposed.", "A token keeps its place through every step.")
def step_transposed(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
    is_matrix = len(step.trailing) == 2 and max(step.array.shape[-2:]) > 1
    if is_matrix and not step.name.startswith(("scores", "weights")):
        yield {step.name: Transposed(made_of(step))}, NO_WORDS
