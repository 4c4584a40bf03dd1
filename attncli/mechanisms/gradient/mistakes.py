"""Mistakes in the loss, in the backward pass, and in the step of gradient descent after it."""

from __future__ import annotations

from functools import partial

from attncli.core.attention.masks import Masked
from attncli.core.attention.softmax import Delta, Exp, Shares, Sum
from attncli.core.calculation.mistake import Changes, Nodes, made_by, mistake
from attncli.core.calculation.mutations import instead, inverted, passed_over, turned
from attncli.core.calculation.trace import Trace
from attncli.core.formulas.text import text
from attncli.core.records import replace
from attncli.core.tape.backward_operations import (
    Hadamard,
    OneMinus,
    OneMinusSquare,
    Passed,
    Subtract,
    ThroughTanh,
)
from attncli.core.tape.operations import Add, MatMul, Scale, Transposed, added, transposed
from attncli.core.tape.step import Expression, Step, notation_of
from attncli.mechanisms.gradient.steps import Descent, SquaredError

JACOBIAN = "With delta, the sum of weights ⊙ d_weights along each {line}: {formula}."

backward = partial(mistake, backward=True)


@mistake("The {factor} of the loss was left out: the squares were only added up.")
def loss_factor_missing(step: Step, trace: Trace) -> Changes:
    loss = step.operation
    if isinstance(loss, SquaredError) and loss.over != 1:
        factor = "½" if loss.over == 2 else f"1/{loss.over:.0f}"
        yield replace(loss, over=1.0), {"factor": factor}


def through_softmax(node: Hadamard) -> tuple[Expression, Subtract] | None:
    """Return the weights and d_weights − delta of a node that goes back through a softmax."""
    centred = node.right
    if isinstance(centred, Subtract) and made_by(Delta, centred.right) is not None:
        return node.left, centred
    return None


@backward(
    "The Jacobian of the softmax was left out: weights ⊙ d_weights alone was calculated.", JACOBIAN
)
def jacobian_left_out(node: Hadamard) -> Nodes:
    if parts := through_softmax(node):
        yield Hadamard(parts[0], parts[1].left)


@backward(
    "Only the diagonal of the softmax's Jacobian was used: weights ⊙ (1 − weights) ⊙ d_weights.",
    f"Each weight depends on every score of its {{line}}. {JACOBIAN}",
)
def diagonal_alone(node: Hadamard) -> Nodes:
    if parts := through_softmax(node):
        weights, centred = parts
        slopes = Subtract(weights, Hadamard(weights, weights))
        yield Hadamard(slopes, centred.left)


@backward("The softmax was passed over: d_weights was handed on as it is.", JACOBIAN)
def softmax_passed_over(node: Hadamard) -> Nodes:
    if parts := through_softmax(node):
        yield parts[1].left


@backward("The weights were left out: d_weights − delta alone was calculated.", JACOBIAN)
def weights_left_out_backward(node: Hadamard) -> Nodes:
    if parts := through_softmax(node):
        yield parts[1]


@backward(
    "Delta was summed over the wrong axis.",
    "Sum weights ⊙ d_weights along each {line}, as the weights do.",
)
def delta_over_wrong_axis(node: Delta | Subtract) -> Nodes:
    if isinstance(node, Delta):
        yield Transposed(replace(node, along=-3 - node.along))
    elif delta := made_by(Delta, node.right):
        yield replace(node, right=replace(delta, along=-3 - delta.along))


@backward(
    "The mask was forgotten on the way back: blocked cells are not 0.",
    "A blocked score has no effect on the loss, so its derivative is 0.",
)
def mask_forgotten_backward(node: Passed | Hadamard) -> Nodes:
    if isinstance(node, Passed):
        yield node.upstream
        return
    parts = through_softmax(node)
    shares = made_by(Shares, parts[0]) if parts else None
    power = made_by(Exp, shares.dividend) if shares else None
    masked = made_by(Masked, power.operand) if power else None
    total = made_by(Sum, shares.divisor) if shares else None
    if parts and power and masked and total:
        all_powers = replace(power, operand=masked.operand)
        weights = Shares(all_powers, Sum(all_powers, total.along))
        common = Sum(Hadamard(weights, parts[1].left), total.along)
        yield Hadamard(weights, Subtract(parts[1].left, common))


@backward(
    "A factor was forgotten on the way back: the derivative was handed on as it is.",
    "Whatever a number is multiplied by on the way there, its derivative is on the way back: "
    "{formula}.",
)
def factor_forgotten_backward(node: Scale) -> Nodes:
    yield node.operand


factor_inverted_backward = instead(Scale, inverted, backward=True)


@backward(
    "The factor {matrix} was {how}.", "For C = A B it is dA = dC Bᵀ and dB = Aᵀ dC: {formula}."
)
def factor_not_transposed(node: MatMul) -> Nodes:
    yield replace(node, left=transposed(node.left))
    yield replace(node, right=transposed(node.right))


difference_turned_round = instead(Subtract, turned, backward=True)
tanh_slope_missing = passed_over(ThroughTanh, backward=True)
tanh_slope_not_squared = instead(OneMinusSquare, OneMinus, backward=True)


@backward(
    "A path was forgotten: {part} is missing from the sum.",
    "What was used in several places gets a part from each: {formula}.",
)
def path_forgotten(step: Step, trace: Trace) -> Changes:
    parts = summands(step.operation)
    for place, part in enumerate(parts if 1 < len(parts) <= MOST_PATHS else ()):
        others = [*parts[:place], *parts[place + 1 :]]
        yield added(others), {"part": text(notation_of(part, step.columns))}


MOST_PATHS = 12
"""Maximum number of terms of a sum for which a missing one is looked for. Chosen."""


def summands(expression: Expression | None) -> list[Expression]:
    if isinstance(expression, Add):
        return [*summands(expression.left), *summands(expression.right)]
    return [] if expression is None else [expression]


@backward(
    "The step went up the loss: the derivative was added.",
    "Subtract it, so that the loss grows smaller: {formula}.",
)
def update_sign(node: Descent) -> Nodes:
    yield replace(node, rate=-node.rate)


@backward("The learning rate was left out: the whole derivative was subtracted.")
def learning_rate_missing(node: Descent) -> Nodes:
    if node.rate != 1:
        yield replace(node, rate=1.0)
