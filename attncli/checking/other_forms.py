"""Correct calculations in another form: the mask, a factor or a shift in another step, logarithms.

A form is a sentence and other operations for some steps, after which later steps are unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import log2
from typing import Any, TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.masks import Masked
from attncli.attention.normalizers import Exp, Sum
from attncli.mechanisms.trace import Trace
from attncli.notation.tree import Call, Formula, Words, minus
from attncli.records import replace
from attncli.tape.derivatives import Subtract
from attncli.tape.operations import Divide, MatMul, Scale
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Operation, Step, notation_of
from attncli.tape.walk import sources, transform

Forms: TypeAlias = Iterator[tuple[str, Change]]
"""The sentence for each form, and its operations."""

BEFORE_MASK = ("scores", "scaled", "capped", "biased")
"""First parts of the names of steps that may come before the mask."""


class Shifted(Operation):
    """The scores of each line minus their largest; −∞ stays."""

    operand: Expression
    along: int

    def apply(self, *arrays: Array) -> Array:
        """Any shape; a line that is wholly blocked stays."""
        largest = arrays[0].max(axis=self.along, keepdims=True)
        shifted: Array = arrays[0] - np.where(largest == -np.inf, 0.0, largest)
        return shifted

    def bounds(self, *operands: Any) -> Any:
        """The largest is at least the largest low end, and no number is above it."""
        (scores,) = operands
        ends = (end.max(axis=self.along, keepdims=True) for end in (scores.low, scores.high))
        least, most = (np.where(np.isfinite(end), end, 0.0) for end in ends)
        return type(scores)(scores.low - most, np.minimum(scores.high - least, 0.0))

    def notation(self, columns: bool) -> Formula:
        """`Q Kᵀ − largest`."""
        return minus(notation_of(self.operand, columns), Words("largest"))


class Log(Operation):
    """The natural logarithm of each number."""

    operand: Expression
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Any shape."""
        logarithm: Array = np.log(arrays[0])
        return logarithm

    def bounds(self, *operands: Any) -> Any:
        """It only rises."""
        (numbers,) = operands
        return type(numbers)(np.log(numbers.low), np.log(numbers.high))

    def notation(self, columns: bool) -> Formula:
        """`ln(Σ exp)`."""
        return Call("ln", (notation_of(self.operand, columns),))


def masked_early(trace: Trace, given: Collection[str]) -> Forms:
    """Yield the mask applied to earlier scores: in that step itself, or in `masked`, if given.

    A blocked score is −∞, and stays −∞ when it is scaled or a bias is added.
    """
    if any(step.backward for step in trace):
        return
    masks = [
        (step, mask, _before(mask)) for step in trace if isinstance(mask := step.operation, Masked)
    ]
    for kind in BEFORE_MASK:
        blocked: dict[str, Expression] = {
            scores.name: replace(mask, operand=made_by(scores))
            for _, mask, line in masks
            for scores in line
            if scores.name.startswith(kind)
        }
        if blocked:
            yield f"{kind} has −∞ where the mask blocks.", blocked
    for kind in BEFORE_MASK:
        moved: dict[str, Expression] = {}
        read: dict[str, Step] = {}
        for masked, mask, line in masks:
            for scores in line[1:]:
                if scores.name.startswith(kind) and masked.name in given:
                    moved[masked.name] = replace(mask, operand=scores)
                    read |= {scores.name: masked, masked.name: line[0]}
        if moved:
            made = ((step, with_steps(made_by(step), read)) for step in trace)
            linked = {step.name: new for step, new in made if new is not step.operation}
            yield f"The mask was applied right after {kind}.", linked | moved


def _before(mask: Masked) -> list[Step]:
    """Return the scores that lead to a mask, the last first; −∞ stays −∞ in them."""
    line: list[Step] = []
    part: Expression | None = mask.operand
    while isinstance(part, Step) and part.operation and part.name.startswith(BEFORE_MASK):
        line.append(part)
        part = None if part.name.startswith("capped") else sources(part)[0]
    return line


def shifts(trace: Trace, given: Collection[str] = ()) -> Forms:
    """Yield the largest score, of each row or of all, subtracted before the e^."""
    del given
    along = trace.problem.rules.normalize.along
    for axis, whose in ((along, "each row"), ((-2, -1), "the whole matrix")):
        change: dict[str, Expression] = {
            step.name: replace(step.operation, shift_along=axis)
            for step in trace
            if isinstance(step.operation, Exp) and step.operation.shift_along is None
        }
        if change:
            yield f"The largest score of {whose} was subtracted before the e^.", change


def other_forms(trace: Trace, given: Collection[str] = ()) -> Forms:
    """Yield the forms whose own numbers might as well be mistakes."""
    del given
    if any(step.backward for step in trace):
        return
    yield from _factor_before(trace)
    yield from _shift_before(trace)
    yield from _powers_of_2(trace)
    yield from _logarithms(trace)


def _factor_before(trace: Trace) -> Forms:
    """Yield Q, K or both scaled instead of their products."""
    scale = trace.steps.get("scaled")
    made = scale.operation if scale is not None else None
    if not isinstance(made, Scale) or "Q" not in trace or "K" not in trace:
        return
    scores, factor = made.operand, float(made.times) / float(made.over)
    if not isinstance(scores, Step) or not isinstance(scores.operation, MatMul) or factor <= 0:
        return
    for names, part in ((("Q",), factor), (("K",), factor), (("Q", "K"), factor**0.5)):
        scaled = {name: Scale(made_by(trace[name]), times=part) for name in names}
        what = "Q and K were" if len(names) > 1 else f"{names[0]} was"
        yield f"{what} scaled before the product.", {**scaled, "scaled": scores}


def _shift_before(trace: Trace) -> Forms:
    """Yield the largest of each row subtracted in the scores themselves."""
    along = trace.problem.rules.normalize.along
    for stem in ("scores", "scaled", "masked"):
        steps = [step for step in trace if step.name.partition("_")[0] == stem]
        change = {step.name: Shifted(made_by(step), along) for step in steps}
        if change and any(isinstance(step.operation, Exp) for step in trace):
            yield f"The largest of each row was subtracted already in {stem}.", change


def _powers_of_2(trace: Trace) -> Forms:
    """Yield scores times log₂ e, whose powers of 2 are the powers of e of the scores."""
    change: dict[str, Expression] = {}
    for step, made, scores in _exponentials(trace):
        factor = log2(made.base) / made.temperature
        change[scores.name] = Scale(made_by(scores), times=factor)
        change[step.name] = replace(made, base=2.0, temperature=1.0)
    if change:
        yield "The scores were multiplied by log₂ e, for powers of 2.", change


def _logarithms(trace: Trace) -> Forms:
    """Yield the logarithm of each sum, subtracted from the scores."""
    change: dict[str, Expression] = {}
    for step, made, scores in _exponentials(trace):
        if made.base != np.e or made.temperature != 1 or made.shift_along is not None:
            return
        for total in trace:
            if isinstance(total.operation, Sum) and total.operation.operand is step:
                change[total.name] = Log(total.operation)
                for weights in trace:
                    node = weights.operation
                    if isinstance(node, Divide) and node.divisor is total:
                        change[weights.name] = Exp(Subtract(scores, total))
    if change:
        yield "sum holds the logarithm of the sum, for softmax in logarithms.", change


def _exponentials(trace: Trace) -> Iterator[tuple[Step, Exp, Step]]:
    """Yield each step of powers, its operation, and the step of the scores."""
    for step in trace:
        made = step.operation
        if isinstance(made, Exp) and isinstance(made.operand, Step):
            yield step, made, made.operand


def with_steps(made: Expression, read: Mapping[str, Step]) -> Expression:
    """Return an expression with other steps in the place of those with some names."""

    def rule(part: Step) -> Expression:  # an input may have the name of a step
        return part if part.operation is None else read.get(part.name, part)

    return transform(made, rule)


def made_by(step: Step) -> Expression:
    """Return the operation of a step; for an input, the input itself."""
    return step if step.operation is None else step.operation
