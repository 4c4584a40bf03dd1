"""Mistakes between the scores and the weights."""

from __future__ import annotations

import numpy as np

from attncli.attention.normalizers import Exp, Sum, Unblocked
from attncli.checking.mistakes.mistake import Changes, Nodes, mistake, negative, step_mistake
from attncli.checking.mistakes.nodes import is_named, made_by, made_of
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Divide, MatMul, Scale, Transposed
from attncli.tape.step import Expression, Operation, Step

CHAIN = ("scaled", "capped", "biased", "masked")
"""Steps that the scores pass through, one after the other."""


@step_mistake("{step} was calculated from {used}, not from {right}.", "Calculate {formula}.")
def earlier_step_used(step: Step, trace: Trace) -> Changes:
    if not step.name.startswith((*CHAIN, "exp")):
        return
    made = made_of(step)
    for name in made.fields if isinstance(made, Operation) else ():
        right = getattr(made, name)
        used = right
        while is_named(used, CHAIN) and isinstance(used.operation, Operation):
            used = used.operation.operands[0]
            if isinstance(used, Step):
                words = {"used": used.name, "right": right.name}
                yield {step.name: replace(made, **{name: used})}, words


@step_mistake(
    "The weights were scaled, not the scores.", "Divide the scores by √d_k before the softmax."
)
def scaled_after_softmax(step: Step, trace: Trace) -> Changes:
    for scaled in trace if step.name.startswith("weights") else ():
        scale = made_by(Scale, scaled)
        if scale and scaled.name.startswith("scaled"):
            yield {scaled.name: scale.operand, step.name: replace(scale, operand=made_of(step))}, {}


@mistake(
    "The softmax was taken over the wrong axis: the weights of each {other} sum to 1.",
    "Divide by the sum of each {line}: the weights of each {one} sum to 1.",
)
def softmax_over_queries(node: Sum | Divide) -> Nodes:
    if isinstance(node, Sum):
        yield Transposed(replace(node, along=_other_way(node.along)))
    elif total := made_by(Sum, node.divisor):
        yield replace(node, divisor=replace(total, along=_other_way(total.along)))


@mistake(
    "The softmax was taken over the whole matrix at once.", "Divide each {line} by its own sum."
)
def softmax_over_all(node: Sum | Divide) -> Nodes:
    if isinstance(node, Sum):
        yield Sum(node, _other_way(node.along))
    elif total := made_by(Sum, node.divisor):
        yield replace(node, divisor=Sum(total, _other_way(total.along)))


def _other_way(along: int) -> int:
    return -3 - along  # the axes are −1 and −2


@mistake(
    "The numbers were not divided by the sum of their {line}.",
    "Divide each number by the sum of its {line}.",
)
def not_normalized(node: Divide | MatMul) -> Nodes:
    made = node if isinstance(node, Divide) else made_by(Divide, node.left)
    if made and made_by(Sum, made.divisor):
        yield made.dividend if made is node else replace(node, left=made.dividend)


@mistake(
    "The scores were taken as they are: no e^ was calculated.",
    "Take e^ of every score, then divide by the sum of the {line}.",
)
def not_exponentiated(node: Exp | Divide) -> Nodes:
    if isinstance(node, Exp):
        yield tempered(node)
    elif (power := made_by(Exp, node.dividend)) and (total := made_by(Sum, node.divisor)):
        yield Divide(tempered(power), Sum(tempered(power), total.along))


def tempered(power: Exp) -> Expression:
    """Return scores divided by the temperature, 0 where they are blocked."""
    scores = Unblocked(power.operand)
    return Scale(scores, over=power.temperature) if power.temperature != 1 else scores


@mistake("The values were mixed by the scores: there was no softmax.", "Calculate {formula}.")
def scores_as_weights(node: MatMul) -> Nodes:
    made = made_by(Divide, node.left)
    if made and (power := made_by(Exp, made.dividend)):
        yield replace(node, left=tempered(power))


@mistake("The softmax was taken twice.", "Take it once: after it every {line} sums to 1.")
def softmax_twice(node: Divide) -> Nodes:
    if total := made_by(Sum, node.divisor):
        powers = [Exp(node)]
        if (first := made_by(Exp, node.dividend)) and (first.base, first.temperature) != (np.e, 1):
            powers.append(replace(first, operand=node, shift_along=None))
        for again in powers:
            yield Divide(again, Sum(again, total.along))


@mistake("The temperature was left out.", "Calculate {formula}.")
def temperature_missing(node: Exp) -> Nodes:
    if node.temperature != 1:
        yield replace(node, temperature=1.0)


@mistake("The scores were multiplied by the temperature.", "Divide by it: {formula}.")
def temperature_inverted(node: Exp) -> Nodes:
    if node.temperature != 1:
        yield replace(node, temperature=1 / node.temperature)


@step_mistake(
    "The weights were divided by the temperature, not the scores.",
    "Divide the scores by the temperature, before the softmax.",
)
def temperature_on_weights(step: Step, trace: Trace) -> Changes:
    made = made_by(Divide, step)
    power = made and made_by(Exp, made.dividend)
    if made and isinstance(made.dividend, Step) and power and power.temperature != 1:
        weights = Scale(made, over=power.temperature)
        yield {made.dividend.name: replace(power, temperature=1.0), step.name: weights}, {}


@step_mistake("Powers of {used} were taken, not of {right}.", "Calculate {formula}.")
def wrong_base(step: Step, trace: Trace) -> Changes:
    power = made_by(Exp, step)
    for base in (2.0, 10.0, np.e):
        if power and base != power.base:
            used, right = ("e" if b == np.e else f"{b:g}" for b in (base, power.base))
            yield {step.name: replace(power, base=base)}, {"used": used, "right": right}


@mistake(
    "The exponents have the wrong sign: −s was taken, not s.",
    "Calculate {formula}: the largest score gets the largest weight.",
)
def exponent_sign(node: Exp) -> Nodes:
    yield replace(node, operand=negative(node.operand))
