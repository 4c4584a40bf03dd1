"""Mistakes in the output: in what the weights mix, and after that."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from attncli.attention.heads import RepeatHeads, SplitHeads
from attncli.checking.mistakes.mistake import Changes, Nodes, mistake, step_mistake, wrong
from attncli.checking.mistakes.nodes import is_named, made_of
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Add, MatMul, Transposed
from attncli.tape.step import Expression, Step
from attncli.tape.walk import array_of, rewritten, transform, walk


@step_mistake(
    "The weights are transposed: rows and columns have changed places.",
    "Let every query mix the values by its own weights.",
)
def attention_transposed(step: Step, trace: Trace) -> Changes:
    """Aᵀ for A, in the step itself or where it is used."""
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
                is_whole = shared and other.array.shape[1] == array_of(shared).shape[1]
                right = replace(shared, operand=other) if shared and not is_whole else other
                yield {step.name: replace(node, right=right)}, {"used": name}


@step_mistake("The values were mixed by {used}, not by {right}.", "Calculate {formula}.")
def weights_of_other_side(step: Step, trace: Trace) -> Changes:
    """The weights of the other sentence, transposed or not, in co-attention."""
    node = made_of(step)
    if trace.problem.kind != "co_attention" or not _is_mixture(node):
        return
    right = node.left.name if isinstance(node.left, Step) else ""
    used = {"weights_x": "weights_memory", "weights_memory": "weights_x"}.get(right, "")
    if used not in trace:  # scores that are the weights need no step of their own
        return
    # Weights that come later are not yet judged: they are made anew from what comes before.
    other = _worked_out(trace[used]) if used == "weights_memory" else trace[used]
    n, m = trace[used].array.shape[-2:]
    for weights in (Transposed(other), *([other] if n == m else ())):
        yield {step.name: replace(node, left=weights)}, {"used": used, "right": right}


def _worked_out(step: Step) -> Expression:
    """Return how a step of memory's side is made from steps of both sides."""
    return transform(
        made_of(step), lambda part: _worked_out(part) if part.name.endswith("_memory") else part
    )


@mistake("This is the mean of the values: every key got the same weight.", "Calculate {formula}.")
def equal_weights(node: MatMul) -> Nodes:
    if _is_mixture(node):
        yield replace(node, left=wrong(lambda a: np.full(a.shape, 1 / a.shape[-1]), node.left))


@step_mistake("The input was added, as in a transformer block.", "Attention ends with {formula}.")
def input_added(step: Step, trace: Trace) -> Changes:
    if step.name == "output" and "X" in trace.inputs:
        yield {step.name: Add(made_of(step), trace.inputs["X"])}, {}


@step_mistake(
    "{step} is transposed: rows and columns have changed places.",
    "A token keeps its place through every step.",
)
def step_transposed(step: Step, trace: Trace) -> Changes:
    # A vector may stand as a row or a column; but each row is divided by its own sum.
    least = 1 if step.name.startswith("sum") else 2
    is_matrix = len(step.trailing) == 2 and min(step.array.shape[-2:]) >= least
    if is_matrix and not step.name.startswith(("scores", "weights")):
        yield {step.name: Transposed(made_of(step))}, {}
