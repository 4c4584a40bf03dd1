"""Mistakes in the layers of a transformer, and in the loss after them."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np

from attncli.core.attention.norms_and_activations import (
    ACTIVATIONS,
    Deviation,
    Gated,
    Mean,
    MeanSquare,
    Relu,
    Variance,
)
from attncli.core.calculation.mistake import Changes, Nodes, made_of, mistake, wrong
from attncli.core.calculation.mutations import left_out, passed_over
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Hadamard, Subtract
from attncli.core.tape.evaluation import array_of, transform, walk
from attncli.core.tape.operations import Add, Divide, Scale
from attncli.core.tape.step import Expression, Operation, Step
from attncli.mechanisms.transformer.steps import CrossEntropy, places_of

ALONG_TOKENS = -2
"""The axis of the tokens."""


@mistake(
    "The variance was divided by one less than the number of features.",
    "Divide by the number of features: {formula}.",
)
def variance_of_a_sample(node: Variance) -> Nodes:
    """One less than n, as for a sample."""
    size = array_of(node.operand).shape[-1]
    if size > 1:
        yield Scale(node, float(size), float(size - 1))


@mistake("The mean was not subtracted before squaring.")
def squares_not_centred(node: Variance) -> Nodes:
    yield MeanSquare(node.operand)


@mistake(
    "The root was taken, one step too early.", "Calculate {formula}, and take the root afterwards."
)
def deviation_for_variance(node: Variance | MeanSquare) -> Nodes:
    yield wrong(np.sqrt, node)


@mistake("The root of the variance was not taken.", "Divide by the root: {formula}.")
def root_of_variance_forgotten(node: Deviation) -> Nodes:
    yield wrong(lambda v: v + node.eps, node.operand)


@mistake("eps was added after the root.", "Add eps to the variance, under the root: {formula}.")
def eps_outside_the_root(node: Deviation) -> Nodes:
    yield wrong(lambda v: np.sqrt(v) + node.eps, node.operand)


@mistake("eps was left out.", "Add eps to the variance, under the root: {formula}.")
def eps_forgotten(node: Deviation) -> Nodes:
    if node.eps:
        yield replace(node, eps=0.0, is_plain=True)


mean_not_subtracted = left_out("mean", "The mean was not subtracted.", steps=("normed", "final"))


@mistake(
    "The norm was taken over the tokens, not over the features of each token.",
    "Take the mean and the variance of each token's own features.",
)
def norm_over_tokens(step: Step, trace: Trace) -> Changes:
    node = step.operation
    if isinstance(node, MeanSquare):
        yield _over_tokens(lambda x: x * x, node.operand)
    elif isinstance(node, Mean):
        change: dict[str, Expression] = {step.name: _over_tokens(lambda x: x, node.operand)}
        for other in trace:
            if isinstance(other.operation, Variance) and other.operation.mean is step:
                centred = Subtract(node.operand, step)
                change[other.name] = _over_tokens(lambda x: x * x, centred)
        yield change


def _over_tokens(function: Any, operand: Expression) -> Expression:
    size = array_of(operand).shape[ALONG_TOKENS]
    return wrong(lambda x: function(x).sum(axis=ALONG_TOKENS, keepdims=True) / size, operand)


@mistake("The numbers before the norm were used.")
def norm_skipped(step: Step, trace: Trace) -> Changes:
    """In one step, or at once in all that become queries, keys and values."""
    is_of_attention = step.plain[0] in "QKV"
    alike = [one for one in trace if one.plain[0] in "QKV"] if is_of_attention else [step]
    every = {one.name: transform(made_of(one), _before_norm) for one in alike}
    change = {one.name: every[one.name] for one in alike if every[one.name] is not one.operation}
    if step.name in change:
        yield change[step.name]
        if len(change) > 1:
            yield change


def _before_norm(part: Step) -> Expression:
    norm = part.operation if part.plain.startswith(("normed", "final")) else None
    nodes = walk(norm) if isinstance(norm, Operation) else ()
    quotient = next((node for node in nodes if _is_quotient(node)), None)
    if not isinstance(quotient, Divide):
        return part
    x = quotient.dividend
    return x.left if isinstance(x, Subtract) else x


@mistake("The gain was left out.", "Multiply by the gain: {formula}.")
def gain_forgotten(node: Hadamard) -> Nodes:
    if _is_quotient(node.left):
        yield node.left


@mistake("The gain and the shift were left out.")
def gain_and_shift_forgotten(node: Add) -> Nodes:
    if isinstance(node.left, Hadamard) and _is_quotient(node.left.left):
        yield node.left.left


def _is_quotient(node: Expression) -> bool:
    return isinstance(node, Divide) and isinstance(node.divisor, Deviation)


@mistake("What goes into the half of the layer was not added.", of=Add)
def residual_forgotten(step: Step, trace: Trace) -> Changes:
    for addition in _residual(step):
        yield addition.right


@mistake("The normalised numbers were added, not the numbers before the norm.", of=Add)
def residual_of_normed(step: Step, trace: Trace) -> Changes:
    for addition in _residual(step):
        normed = trace.steps.get(step.plain.replace("residual", "normed"))
        if normed is not None and trace.problem.place == "pre":
            yield replace(addition, left=normed)


@mistake("{used} was added, not what went into this half of the layer.", of=Add)
def residual_of_another_step(step: Step, trace: Trace) -> Changes:
    """What went into the layer, or an earlier one, was added."""
    used: Expression = trace.steps.get("residual_1", step)
    for addition in _residual(step):
        while isinstance(used, Step) and isinstance(used.operation, Add):
            used = used.operation.left
            if isinstance(used, Step) and used is not addition.left:
                yield replace(addition, left=used), {"used": used.name}


def _residual(step: Step) -> Iterator[Add]:
    if step.plain.startswith("residual") and isinstance(step.operation, Add):
        yield step.operation


activation_forgotten = passed_over(Relu | Gated, "The activation was left out.")


@mistake("The activation was {used}, not {right}.", of=Relu | Gated)
def other_activation(step: Step, trace: Trace) -> Changes:
    """Another row of the table."""
    for operand in _activated(step):
        right = next(n for n, row in ACTIVATIONS.items() if _is_like(row.build(operand), step))
        for name, row in ACTIVATIONS.items():
            if name != right:
                yield row.build(operand), {"used": name, "right": right}


@mistake(
    "The activation was applied after the second matrix, not before it.",
    "Calculate {formula}, then multiply by W_2.",
)
def activation_after_the_product(step: Step, trace: Trace) -> Changes:
    last = trace.steps.get("feed_forward")
    for operand in _activated(step):
        if last is not None:
            yield {step.name: operand, last.name: _again(step, made_of(last))}


@mistake("The gate and the value were exchanged.", "Activate x W_1; x W_3 is left as it is.")
def gate_and_value_exchanged(step: Step, trace: Trace) -> Changes:
    """In `gated` alone, already in `activated`, or from the start, by W_1 and W_3."""
    gated = trace.steps.get("gated")
    if gated is None or "value" not in trace.steps:  # as of attention's gate
        return
    hidden, activated, value = (trace.steps[name] for name in ("hidden", "activated", "value"))
    other = _again(activated, value)
    if step is gated:
        yield {gated.name: Hadamard(hidden, other)}
    elif step is activated:
        yield {activated.name: other, gated.name: Hadamard(hidden, activated)}
    elif step in (hidden, value):
        yield {hidden.name: made_of(value), value.name: made_of(hidden)}


def _activated(step: Expression) -> Iterator[Expression]:
    node = step.operation if isinstance(step, Step) else None
    if isinstance(node, Relu | Gated):
        yield node.operands[0]


def _is_like(expression: Expression, step: Expression) -> bool:
    other = getattr(step, "operation", None)
    parts = [getattr(one, "right", None) for one in (expression, other)]
    return type(expression) is type(other) and type(parts[0]) is type(parts[1])


def _again(step: Expression, operand: Expression) -> Expression:
    every = (row.build(operand) for row in ACTIVATIONS.values())
    return next(other for other in every if _is_like(other, step))


@mistake("The logarithm was that to the base 10.", "Take the natural logarithm, ln: {formula}.")
def logarithm_to_base_10(node: CrossEntropy) -> Nodes:
    yield Scale(node, over=log(10))


@mistake("The logarithms were added up, and not averaged.", "Divide by the number of targets.")
def loss_not_averaged(node: CrossEntropy) -> Nodes:
    if len(node.places) > 1:
        yield Scale(node, times=float(len(node.places)))


@mistake(
    "The targets were the tokens themselves, not those that follow.",
    "Compare each token's probabilities with the next token.",
)
def target_not_shifted(step: Step, trace: Trace) -> Changes:
    node, problem = step.operation, trace.problem
    if isinstance(node, CrossEntropy) and problem.tokens and problem.embedding:
        tokens = places_of(problem, "tokens")
        if tokens != node.places:
            yield replace(node, places=tokens)
