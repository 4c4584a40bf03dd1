"""Mistakes in the difference of two attentions, in λ, and in the norm of what a head found."""

from __future__ import annotations

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
from attncli.core.calculation.mutations import instead, left_out, passed_over, turned, with_part
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Negative, OneMinus, Subtract
from attncli.core.tape.evaluation import walk
from attncli.core.tape.operations import Add, Divide, Scale
from attncli.core.tape.step import Step
from attncli.mechanisms.differential.steps import DotProduct, Half, Multiple

FIRST = "Calculate {formula}: λ is a factor of the second weights alone."


_instead = partial(instead, with_part(Multiple), of=Multiple)

second_weights_added = _instead(Add, "The second weights were added, not subtracted.")
lambda_left_out = passed_over(
    Multiple, "λ was left out: the second weights were subtracted as they are.", steps=("weights",)
)
second_weights_left_out = left_out(Multiple, "The second weights were left out.", of=Multiple)
halves_exchanged = _instead(
    lambda d: Subtract(d.right.left, replace(d.right, left=d.left)),
    "The halves were exchanged: the first weights were subtracted.",
)
lambda_on_the_difference = _instead(
    lambda d: replace(d.right, left=Subtract(d.left, d.right.left)),
    "The whole difference was multiplied by λ.",
    advice=FIRST,
)
lambda_on_the_first_weights = _instead(
    lambda d: Subtract(replace(d.right, left=d.left), d.right.left),
    "The first weights were multiplied by λ, not the second.",
    advice=FIRST,
)


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


difference_normalized = _instead(
    lambda difference: Divide(difference, Sum(difference, -1)),
    "The weights were divided by their sum after the subtraction.",
    advice="Leave them as they are: each row sums to 1 − λ.",
)


@mistake(
    "The scores were divided by √{by}, from the whole head, not by √d_k.",
    "d_k is how many numbers half a key of a head has: {formula}.",
)
def scaled_by_whole_head(step: Step, trace: Trace) -> Changes:
    scale = made_by(Scale, step)
    if scale and trace.problem.differential and divides_by_root(scale):
        size = 2 * trace.problem.sizes["d_k"]
        yield replace(scale, over=sqrt(size)), {"by": str(size)}


@mistake("Every other feature was taken, not one half.", "Take neighbouring features: {formula}.")
def halves_interleaved(node: Half) -> Nodes:
    yield wrong(partial(_columns, slice(node.start > 0, None, 2)), node.operand)


@mistake("The other half was taken.", "Take {formula}.")
def other_half_taken(node: Half) -> Nodes:
    size = node.stop - node.start
    yield replace(node, start=size - node.start, stop=2 * size - node.start)


def _columns(features: slice, array: Any) -> Any:
    return array[..., features]


LAMBDA = ("lambda",)

lambda_init_left_out = passed_over(Add, "λ_init was left out.", steps=LAMBDA)
powers_of_lambda_added = instead(
    Subtract, Add, "The powers were added, not subtracted.", steps=LAMBDA
)
powers_of_lambda_exchanged = instead(
    Subtract, turned, "The powers have changed places.", steps=LAMBDA
)


@mistake("e^ was left out.", steps=LAMBDA)
def lambda_without_powers(node: Subtract) -> Nodes:
    yield Subtract(*(part for part in walk(node) if isinstance(part, DotProduct)))


lambda_init_not_its_rest = passed_over(
    OneMinus, "λ_init was taken, not 1 − λ_init.", steps=("rescaled",)
)
rest_of_lambda_left_out = left_out(OneMinus, "1 − λ_init was left out.", steps=("rescaled",))


@mistake("1 − λ was taken, not 1 − λ_init.")
def rest_of_lambda_itself(step: Step, trace: Trace) -> Changes:
    node = made_of(step)
    for part in walk(node) if isinstance(node, Multiple) else ():
        for weights in trace if isinstance(part, OneMinus) else ():
            other = getattr(weights.operation, "right", None)
            if isinstance(other, Multiple) and not weights.backward:
                yield put(node, part, OneMinus(other.right))


@mistake(
    "The mean was taken over all heads together.",
    "Take it over the features of each head by itself: {formula}.",
)
def norm_of_all_heads(node: MeanSquare) -> Nodes:
    if "head" in node.operand.leading:
        yield MeanSquare(SideBySide(node.operand))


minus_of_lambda_lost = passed_over(
    Negative, "The minus before λ was lost.", steps=("d_weights", "d_lambda"), backward=True
)
