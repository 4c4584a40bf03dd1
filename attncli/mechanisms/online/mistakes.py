"""Mistakes in softmax by tiles of keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attncli.core.attention.softmax import Exp, ShiftedExp, Sum
from attncli.core.calculation.mistake import Changes, Nodes, made_by, made_of, mistake, put, wrong
from attncli.core.calculation.mutations import left_out, passed_over
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Subtract
from attncli.core.tape.evaluation import walk
from attncli.core.tape.operations import Add, Divide, MatMul, Scale, added
from attncli.core.tape.step import Expression, Step
from attncli.mechanisms.online.steps import Averaged, Finite, Rescaled, RunningMax

tile_sum_not_rescaled = left_out("rescale", "The sum so far was not rescaled.", steps=("l",))
tile_output_not_rescaled = left_out("rescale", "The output so far was not rescaled.", steps=("O",))


@mistake("Nothing was rescaled for the new maximum.", of=ShiftedExp)
def tile_not_rescaled(step: Step, trace: Trace) -> Changes:
    """The factor is 1, for the sum and the output."""
    for factor in _powers(step, "rescale"):
        yield wrong(lambda x: x * 0 + 1, factor)


def _powers(step: Step, stem: str) -> Iterator[ShiftedExp]:
    if (power := made_by(ShiftedExp, step)) and step.stem == stem:
        yield power


@mistake(
    "The factor is upside down: e^(new m − old m) was taken, not e^(old m − new m).",
    "Earlier powers shrink: calculate {formula}.",
)
def tile_rescaled_by_inverse(step: Step, trace: Trace) -> Changes:
    """In the factor, or only where it is used, as the paper of FlashAttention-2 prints it."""
    for factor in _powers(step, "rescale"):
        yield wrong(_inverse, factor, ranges=lambda x: type(x)(_inverse(x.high), _inverse(x.low)))
    for part in walk(made_of(step)):
        if isinstance(part, Rescaled):
            yield put(made_of(step), part, Divide(*part.operands))


def _inverse(x: Any) -> Any:
    return np.where(x > 0, 1 / np.where(x > 0, x, 1), 0.0)  # of 0, where all keys were blocked


@mistake(
    "The largest score of this tile alone was taken.", "An earlier one may be larger: {formula}."
)
def tile_maximum_alone(node: RunningMax) -> Nodes:
    if node.parts[1:]:
        yield replace(node, parts=node.parts[:1])


@mistake(
    "The factor was made with the largest score of this tile alone, not with the largest so far."
)
def tile_rescaled_to_own_maximum(step: Step, trace: Trace) -> Changes:
    for factor in _powers(step, "rescale"):
        largest = _largest(factor)
        own = replace(largest, parts=largest.parts[:1])
        # Nothing changes if a tile is blocked.
        unblocked = wrong(lambda own, running: np.where(own == -np.inf, running, own), own, largest)
        yield _less(factor, unblocked)


def _largest(power: ShiftedExp) -> RunningMax:
    """Return the largest score so far, which is subtracted in a power."""
    assert isinstance(power.shift, Finite)
    largest = made_by(RunningMax, power.shift.operand)
    assert largest is not None
    return largest


def _less(power: ShiftedExp, largest: Expression) -> Exp:
    return Exp(Subtract(power.operand, Finite(largest)), power.base, power.temperature)


@mistake("The largest score was not subtracted.", of=ShiftedExp)
def tile_maximum_not_subtracted(step: Step, trace: Trace) -> Changes:
    for power in _powers(step, "P"):
        yield Exp(power.operand, power.base, power.temperature)


@mistake("The largest score of the earlier tiles was subtracted, not the new one.", of=ShiftedExp)
def tile_earlier_maximum(step: Step, trace: Trace) -> Changes:
    for power in _powers(step, "P"):
        before = _largest(power).parts[1:]  # in the first tile there is none, and nothing changes
        yield _less(power, before[0]) if before else power


@mistake("What the earlier tiles gave was left out.", of=Add)
def tile_earlier_left_out(step: Step, trace: Trace) -> Changes:
    """In the sum, in the output, or in both."""
    both = [one for one in (trace.steps.get(f"l{step.suffix}"), step) if one]
    new = {one.name: one.operation.right for one in both if isinstance(one.operation, Add)}
    if step.stem in ("l", "O") and step.suffix and step.name in new:
        yield new[step.name]
        yield new


@mistake("The output was divided by the sum of the last tile.")
def tile_divided_by_last_sum(node: Averaged) -> Nodes:
    if (total := made_by(Add, node.divisor)) and isinstance(node.divisor, Step):
        yield replace(node, divisor=total.right)


tile_not_divided = passed_over(Averaged, "The output was not divided by the sum of all powers.")


@mistake(
    "O was divided by the sum so far already in this tile.", "Divide once, after the last tile."
)
def tile_divided_each(step: Step, trace: Trace) -> Changes:
    """In a tile, and perhaps in all; in all before the last; or in all, and then not again."""

    def divided(output: Step) -> Divide:
        return Divide(made_of(output), trace.steps[f"l{output.suffix}"])

    if step.stem == "O" and f"l{step.suffix}" in trace.steps:
        yield divided(step)
    if isinstance(step.operation, Averaged):
        *earlier, last = (one for one in trace if one.stem == "O" and one.suffix)
        if earlier:
            changes: dict[str, Expression] = {one.name: divided(one) for one in earlier}
            yield changes
            yield {**changes, last.name: divided(last), step.name: last}


@mistake(
    "Each tile had a softmax of its own, and the results were added.",
    "The sum of all tiles divides: {formula}.",
)
def tile_softmax_of_its_own(step: Step, trace: Trace) -> Changes:
    """The results of the tiles added, or their mean."""
    if not isinstance(step.operation, Averaged):
        return
    powers = [one for one in trace if one.stem == "P" and one.suffix]
    outputs = [trace.steps[f"O{one.suffix}"] for one in powers]
    products = [next(n for n in walk(made_of(o)) if isinstance(n, MatMul)) for o in outputs]
    results = [Divide(n, Sum(p, -1)) for n, p in zip(products, powers, strict=True)]
    if results[1:]:
        yield added(results)
        yield Scale(added(results), over=float(len(results)))


tile_derivative_not_rescaled = left_out(
    "rescale", "The derivative was not rescaled.", backward=True
)
