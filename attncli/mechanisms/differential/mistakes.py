"""Mistakes in the difference of two attentions, in λ, and in the norm of what a head found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from attncli.core.attention.norms_and_activations import MeanSquare
from attncli.core.attention.scores import SideBySide
from attncli.core.attention.softmax import Exp, Shares, Sum
from attncli.core.calculation.mistake import (
    Changes,
    Nodes,
    divides_by_root,
    made_by,
    made_of,
    mistake,
    put,
    wrong,
)
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Negative, OneMinus, Subtract
from attncli.core.tape.evaluation import walk
from attncli.core.tape.operations import Add, Divide, Scale
from attncli.core.tape.step import Step
from attncli.mechanisms.differential.steps import DotProduct, Half, Multiple

FIRST = "Calculate {formula}: λ is a factor of the second weights alone."


@mistake("The second weights were added, not subtracted.", "Calculate {formula}.")
def second_weights_added(node: Subtract) -> Nodes:
    if isinstance(node.right, Multiple):
        yield Add(node.left, node.right)


@mistake("λ was left out: the second weights were subtracted as they are.", "Calculate {formula}.")
def lambda_left_out(node: Subtract) -> Nodes:
    if isinstance(node.right, Multiple):
        yield Subtract(node.left, node.right.left)


@mistake("The second weights were left out.", "Calculate {formula}.")
def second_weights_left_out(node: Subtract) -> Nodes:
    if isinstance(node.right, Multiple):
        yield node.left


@mistake("The halves were exchanged: the first weights were subtracted.", "Calculate {formula}.")
def halves_exchanged(node: Subtract) -> Nodes:
    if isinstance(node.right, Multiple):
        yield Subtract(node.right.left, replace(node.right, left=node.left))


@mistake("The whole difference was multiplied by λ.", FIRST)
def lambda_on_the_difference(node: Subtract) -> Nodes:
    if isinstance(node.right, Multiple):
        yield replace(node.right, left=Subtract(node.left, node.right.left))


@mistake("The first weights were multiplied by λ, not the second.", FIRST)
def lambda_on_the_first_weights(node: Subtract) -> Nodes:
    if isinstance(node.right, Multiple):
        yield Subtract(replace(node.right, left=node.left), node.right.left)


@mistake(
    "The softmax was taken of the difference of the scores.",
    "Take the softmax of the scores of each half, then the difference: {formula}.",
)
def softmax_of_the_difference(node: Subtract) -> Nodes:
    if isinstance(node.right, Multiple):
        both = [made_by(Shares, side) for side in (node.left, node.right.left)]
        powers = [made_by(Exp, one.dividend) for one in both if one]
        if len(powers) == 2 and (first := powers[0]) and (second := powers[1]):
            scores = wrong(_unblocked, first.operand, second.operand, node.right.right)
            power = replace(first, operand=scores)
            yield Divide(power, Sum(power, -1))


def _unblocked(first: Any, second: Any, factor: Any) -> Any:
    blocked = first == -np.inf
    return np.where(blocked, first, first - factor * np.where(blocked, 0, second))


@mistake(
    "The weights were divided by their sum after the subtraction.",
    "Leave them as they are: each row sums to 1 − λ.",
)
def difference_normalized(node: Subtract) -> Nodes:
    if isinstance(node.right, Multiple):
        yield Divide(node, Sum(node, -1))


@mistake(
    "The scores were divided by √{by}, from the whole head, not by √d_k.",
    "d_k is how many numbers half a key of a head has: {formula}.",
)
def scaled_by_whole_head(step: Step, trace: Trace) -> Changes:
    scale = made_by(Scale, step)
    if scale and trace.problem.differential and divides_by_root(scale):
        size = 2 * trace.problem.sizes["d_k"]
        yield {step.name: replace(scale, over=sqrt(size))}, {"by": str(size)}


@mistake("Every other feature was taken, not one half.", "Take neighbouring features: {formula}.")
def halves_interleaved(node: Half) -> Nodes:
    yield wrong(partial(_columns, slice(node.start > 0, None, 2)), node.operand)


@mistake("The other half was taken.", "Take {formula}.")
def other_half_taken(node: Half) -> Nodes:
    size = node.stop - node.start
    yield replace(node, start=size - node.start, stop=2 * size - node.start)


def _columns(features: slice, array: Any) -> Any:
    return array[..., features]


@mistake("λ_init was left out.", "Calculate {formula}.")
def lambda_init_left_out(step: Step, trace: Trace) -> Changes:
    for node, _ in _of_lambda(step):
        yield {step.name: node.left}, {}


@mistake("The powers were added, not subtracted.", "Calculate {formula}.")
def powers_of_lambda_added(step: Step, trace: Trace) -> Changes:
    for node, difference in _of_lambda(step):
        yield {step.name: replace(node, left=Add(*difference.operands))}, {}


@mistake("The powers have changed places.", "Calculate {formula}.")
def powers_of_lambda_exchanged(step: Step, trace: Trace) -> Changes:
    for node, difference in _of_lambda(step):
        yield {step.name: replace(node, left=Subtract(*difference.operands[::-1]))}, {}


@mistake("e^ was left out.", "Calculate {formula}.")
def lambda_without_powers(step: Step, trace: Trace) -> Changes:
    for node, difference in _of_lambda(step):
        products = [part for part in walk(difference) if isinstance(part, DotProduct)]
        yield {step.name: replace(node, left=Subtract(*products))}, {}


def _of_lambda(step: Step) -> Iterator[tuple[Add, Subtract]]:
    node = step.operation
    if isinstance(node, Add) and step.stem == "lambda":
        assert isinstance(node.left, Subtract)
        yield node, node.left


@mistake("λ_init was taken, not 1 − λ_init.", "Calculate {formula}.")
def lambda_init_not_its_rest(node: Multiple) -> Nodes:
    if isinstance(node.right, OneMinus):
        yield replace(node, right=node.right.operand)


@mistake("1 − λ_init was left out.", "Calculate {formula}.")
def rest_of_lambda_left_out(node: Multiple) -> Nodes:
    if isinstance(node.right, OneMinus):
        yield node.left


@mistake("1 − λ was taken, not 1 − λ_init.", "Calculate {formula}.")
def rest_of_lambda_itself(step: Step, trace: Trace) -> Changes:
    node = made_of(step)
    for part in walk(node) if isinstance(node, Multiple) else ():
        for weights in trace if isinstance(part, OneMinus) else ():
            other = getattr(weights.operation, "right", None)
            if isinstance(other, Multiple) and not weights.backward:
                yield {step.name: put(node, part, OneMinus(other.right))}, {}


@mistake(
    "The mean was taken over all heads together.",
    "Take it over the features of each head by itself: {formula}.",
)
def norm_of_all_heads(node: MeanSquare) -> Nodes:
    if "head" in node.operand.leading:
        yield MeanSquare(SideBySide(node.operand))


@mistake("The minus before λ was lost.", "Calculate {formula}.", backward=True)
def minus_of_lambda_lost(step: Step, trace: Trace) -> Changes:
    node = made_of(step)
    for part in walk(node) if step.stem in ("d_weights", "d_lambda") else ():
        if isinstance(part, Negative):
            yield {step.name: put(node, part, part.operand)}, {}
