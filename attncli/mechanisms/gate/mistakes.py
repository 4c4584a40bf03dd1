"""Mistakes in the gate that what each head found passes through, before W_o."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from attncli.core.attention.norms_and_activations import Gate, ThroughGate
from attncli.core.attention.scores import MergeHeads, SplitHeads
from attncli.core.calculation.mistake import Changes, Nodes, is_named, made_of, mistake, put, wrong
from attncli.core.calculation.mutations import instead, left_out, passed_over, with_part
from attncli.core.calculation.trace import Trace
from attncli.core.problem.keys import KINDS
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Hadamard, Subtract
from attncli.core.tape.evaluation import array_of, walk
from attncli.core.tape.operations import Add, MatMul, Tanh
from attncli.core.tape.step import Expression, Step

BETWEEN_0_AND_1 = "Calculate {formula}, which is between 0 and 1."
_instead = partial(instead, with_part("gate"), of=Hadamard)

gate_forgotten = left_out("gate", "The gate was left out.", of=Hadamard)
gate_added = _instead(Add, "The gate was added, not multiplied.")
gate_inverted = _instead(
    lambda node: Subtract(node.left, node),
    "1 − gate was taken, not the gate.",
    advice="Calculate {formula}: where the gate is 1, all passes.",
)


@mistake(
    "The output was multiplied by the gate, after W_o.", "The gate comes before W_o: {formula}."
)
def gate_after_w_o(step: Step, trace: Trace) -> Changes:
    """In a gate of as many features as the output has."""
    for node in _gated(step):
        name = KINDS[trace.problem.kind].last or "output"
        last = next((one for one in trace if one.plain == name), step)
        gate = _side_by_side(node.right)
        if last.operation is not None and array_of(gate).shape == last.array.shape:
            yield {step.name: node.left, last.name: Hadamard(made_of(last), gate)}


@mistake("The values were multiplied by the gate, before the weights mix them.", of=MatMul)
def gate_on_values(step: Step, trace: Trace) -> Changes:
    """In `context`, where each key has a gate."""
    mixed = made_of(step)
    if not isinstance(mixed, MatMul) or not is_named(mixed.left, "weights"):
        return
    for gated in trace:
        for node in _gated(gated):
            gate = node.right
            is_alike = array_of(mixed.right).shape[:-1] == array_of(gate).shape[:-1]
            if node.left is step and is_alike and isinstance(gate, Step):
                products = Hadamard(mixed.right, made_of(gate))  # the step comes later
                yield {step.name: replace(mixed, right=products), gated.name: step}


gate_without_sigmoid = passed_over(Gate, "The sigmoid was left out.", advice=BETWEEN_0_AND_1)
gate_by_tanh = instead(Gate, Tanh, "tanh was taken, not the sigmoid σ.", advice=BETWEEN_0_AND_1)


@mistake("The gate was made from {used}, not from X.", of=Gate)
def gate_from_context(step: Step, trace: Trace) -> Changes:
    """From what the heads found, where that has as many features as X."""
    node, context = made_of(step), trace.steps.get("context")
    if not isinstance(node, Gate) or context is None:
        return
    for product in walk(node):
        other = _side_by_side(context)
        if isinstance(product, MatMul) and array_of(other).shape == array_of(product.left).shape:
            yield put(node, product, replace(product, left=other)), {"used": "context"}


@mistake("The heads took each other's gates.", "Head 1 has the first columns of the gate.")
def gate_heads_exchanged(node: Gate) -> Nodes:
    if isinstance(node.operand, SplitHeads):
        yield replace(node, operand=wrong(lambda net: np.flip(net, axis=1), node.operand))


@mistake("The slope of the sigmoid was left out.", backward=True)
def gate_slope_forgotten(node: ThroughGate) -> Nodes:
    if isinstance(node.right, Subtract):
        yield node.right.left


def _gated(step: Step) -> Iterator[Hadamard]:
    node = step.operation
    if isinstance(node, Hadamard) and is_named(node.right, "gate") and not step.backward:
        yield node


def _side_by_side(heads: Expression) -> Expression:
    return MergeHeads(heads) if "head" in heads.leading else heads
