"""Mistakes in the normaliser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attncli.checking.mistakes.of_scores import sigmoid
from attncli.checking.mistakes.of_weights import DIVIDE_BY_SUM, tempered
from attncli.core.attention.normalizers import NORMALIZERS, Hardmax, Sigmoid, Sparsemax, Unblocked
from attncli.core.attention.parameters import Normalize
from attncli.core.attention.softmax import Exp, ShiftedExp, Sum, WithSink, shifted
from attncli.core.calculation.mistake import (
    Changes,
    Nodes,
    made_by,
    made_of,
    mistake,
    rising,
    wrong,
)
from attncli.core.calculation.mutations import passed_over
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Divide, Scale
from attncli.core.tape.step import Expression, Step


@mistake("{used} was taken, not {right}.", "Take {right}: {rule}.")
def other_normalizer(step: Step, trace: Trace) -> Changes:
    """Weights by another row of the table; softmax without e^ is `not_exponentiated`."""
    if not step.is_weights:
        return
    settings = trace.problem.rules.normalize
    scores = _scores_of(made_of(step))
    for name, (build, used) in BUILT.items() if scores is not None else ():
        if name != settings.name and (settings.name, name) != ("softmax", "sum"):
            rule = NORMALIZERS[settings.name].formula
            yield build(scores, settings), {"used": used, "right": settings.name, "rule": rule}


def _scores_of(weights: Expression) -> Expression | None:
    if isinstance(weights, Divide):
        power = made_by(Exp, weights.dividend)
        weights = power or weights.dividend
    elif isinstance(weights, Scale):
        weights = weights.operand
    if isinstance(weights, Exp | Hardmax | Sigmoid | Sparsemax | Unblocked):
        return weights.operand
    return weights if isinstance(weights, Step) else None


def _softmax(scores: Expression, settings: Normalize) -> Expression:
    along = settings.along
    power = Exp(scores, settings.base, settings.temperature)
    power, _ = shifted(power, along, None)  # nothing overflows
    return Divide(power, Sum(power, along))


def _hardmax(scores: Expression, settings: Normalize) -> Expression:
    node = Hardmax(scores, settings.along)

    def ranges(numbers: Any) -> Any:
        """As of the operation; of several that read the same, a student takes the first."""
        ends, kind, along = node.bounds(numbers), type(numbers), settings.along
        least = numbers.low.max(axis=along, keepdims=True)
        most = numbers.high.max(axis=along, keepdims=True)
        is_open = ends.low != ends.high
        reads_the_same = (numbers.low == least) & (numbers.high == most)
        is_first = (~is_open | reads_the_same).all(axis=along, keepdims=True)
        first = node.apply(numbers.high)
        return kind(*(np.where(is_first, first, end) for end in (ends.low, ends.high)))

    return wrong(node.apply, scores, ranges=ranges)


def _by_sum(scores: Expression, settings: Normalize) -> Expression:
    return Divide(Unblocked(scores), Sum(Unblocked(scores), settings.along))


BUILT: dict[str, tuple[Callable[[Any, Normalize], Expression], str]] = {
    "softmax": (_softmax, "The softmax"),
    "hardmax": (_hardmax, "1 for the largest score and 0 for the others (hardmax)"),
    "sparsemax": (lambda s, rule: Sparsemax(s, rule.along, rule.temperature), "The sparsemax"),
    "sum": (_by_sum, "Each score divided by the sum of its line"),
    "none": (lambda scores, _: Unblocked(scores), "The score itself, without any normaliser,"),
}
"""The weights of each normaliser, and what a sentence calls them."""


sink_missing = passed_over(WithSink, "The sink was left out of the sum.")


@mistake("The sigmoid 1 / (1 + e^−s) of each score was taken.", DIVIDE_BY_SUM)
def sigmoid_for_softmax(node: Divide) -> Nodes:
    if (power := made_by(Exp, node.dividend)) and made_by(Sum, node.divisor):
        is_plain = (power.base, power.temperature) == (np.e, 1)
        times = float(np.log(power.base))
        scores = power.operand
        yield wrong(sigmoid, scores if is_plain else Scale(scores, times, power.temperature))


@mistake("The largest number of each {line} was taken, not its sum.", DIVIDE_BY_SUM)
def divided_by_largest(node: Sum | Divide) -> Nodes:
    return _with_divisor(
        node, lambda powers, along: rising(lambda a: a.max(axis=along, keepdims=True), powers)
    )


def _with_divisor(node: Sum | Divide, instead: Callable[[Expression, int], Expression]) -> Nodes:
    if isinstance(node, Divide):
        for total in _sums(node):
            yield replace(node, divisor=instead(node.dividend, total.along))
    elif made_by(Exp, node.operand):
        yield instead(node.operand, node.along)


def _sums(node: Divide) -> Iterator[Sum]:
    total = made_by(Sum, node.divisor)
    if total and made_by(Exp, node.dividend):
        yield total


@mistake(
    "Each number was divided by the sum of the others.",
    "Its own number counts: divide by the sum of the whole {line}.",
)
def divided_by_others(node: Divide) -> Nodes:
    def sum_of_others(numbers: Any) -> Any:
        others = numbers.sum(axis=along, keepdims=True) - numbers
        return np.where((numbers > 0).sum(axis=along, keepdims=True) > 1, others, 0.0)

    for along in (total.along for total in _sums(node)):
        if array_of(node.dividend).shape[along] > 1:
            yield replace(node, divisor=rising(sum_of_others, node.dividend))


@mistake("The root of the sum of squares of each {line} was taken, not its sum.", DIVIDE_BY_SUM)
def divided_by_length(node: Sum | Divide) -> Nodes:
    """The powers divided by their length, or the scores by theirs."""
    yield from _with_divisor(node, _length)
    if isinstance(node, Divide) and (power := made_by(Exp, node.dividend)):
        for total in _sums(node):
            yield Divide(tempered(power), _length(tempered(power), total.along))


def _length(numbers: Expression, along: int) -> Expression:
    return wrong(lambda a: np.sqrt((a * a).sum(axis=along, keepdims=True)), numbers)


@mistake(
    "The scores were added up before e^ was taken: this is e^(the sum), not the sum of e^.",
    "Take e^ of every score first, then add up the {line}.",
)
def sum_in_the_exponent(node: Sum | Divide) -> Nodes:
    def power_of_sum(powers: Expression, along: int) -> Expression:
        power = made_by(Exp, powers)
        assert power is not None  # by `_with_divisor`
        total = Sum(Unblocked(power.operand), along)
        return Exp(total, power.base, power.temperature)

    return _with_divisor(node, power_of_sum)


@mistake("e^0 was taken as 0.", "e^0 = 1, as of every number to the power of 0.")
def e_to_zero_is_zero(node: Exp) -> Nodes:
    """The mistake is seen only where a score is 0."""
    scores = node.operand
    if not isinstance(node, ShiftedExp) and isinstance(scores, Step) and (scores.array == 0).any():

        def ranges(written: Any) -> Any:
            power = node.bounds(written)
            is_zero = (written.low <= 0) & (written.high >= 0)
            return type(power)(*(np.where(is_zero, 0.0, end) for end in (power.low, power.high)))

        yield wrong(lambda s: np.where(s == 0, 0.0, node.apply(s)), scores, ranges=ranges)
