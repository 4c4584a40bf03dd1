"""Right calculations in another form: a factor or a shift in another step, powers of 2, logarithms.

Each gives other operations for some steps, after which every later step comes out as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.normalizers import Exp, Sum
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.derivatives import Subtract
from attncli.tape.operations import Divide, MatMul, Scale
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Operation, Step


class Shifted(Operation):
    """The largest number of each line subtracted; −∞ stays."""

    operand: Expression
    along: int

    def apply(self, *arrays: Array) -> Array:
        """Any shape; a line that is wholly blocked stays."""
        largest = arrays[0].max(axis=self.along, keepdims=True)
        shifted: Array = arrays[0] - np.where(np.isfinite(largest), largest, 0.0)
        return shifted

    def bounds(self, *operands: Any) -> Any:
        """The largest is at least the largest low end, and no number is above it."""
        (scores,) = operands
        ends = (end.max(axis=self.along, keepdims=True) for end in (scores.low, scores.high))
        least, most = (np.where(np.isfinite(end), end, 0.0) for end in ends)
        return type(scores)(scores.low - most, np.minimum(scores.high - least, 0.0))


class Log(Operation):
    """The natural logarithm of every number."""

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


def other_forms(trace: Trace) -> Iterator[tuple[str, Change]]:
    """Yield what is said of a form, and the operations that it has instead."""
    if any(step.backward for step in trace):
        return
    yield from _factor_before(trace)
    yield from _shift_before(trace)
    yield from _powers_of_2(trace)
    yield from _logarithms(trace)


def _factor_before(trace: Trace) -> Iterator[tuple[str, Change]]:
    """Yield Q, K or both scaled instead of their products."""
    scale = trace.steps.get("scaled")
    made = scale.operation if scale is not None else None
    if not isinstance(made, Scale) or "Q" not in trace or "K" not in trace:
        return
    scores, factor = made.operand, float(made.times) / float(made.over)
    if not isinstance(scores, Step) or not isinstance(scores.operation, MatMul) or factor <= 0:
        return
    for names, part in ((("Q",), factor), (("K",), factor), (("Q", "K"), factor**0.5)):
        scaled = {name: Scale(_made(trace[name]), times=part) for name in names}
        what = "Q and K were" if len(names) > 1 else f"{names[0]} was"
        yield f"{what} scaled before the product.", {**scaled, "scaled": scores}


def _shift_before(trace: Trace) -> Iterator[tuple[str, Change]]:
    """Yield the largest of each row subtracted in the scores themselves."""
    along = trace.problem.rules.normalize.along
    for stem in ("scores", "scaled", "masked"):
        steps = [step for step in trace if step.name.partition("_")[0] == stem]
        change = {step.name: Shifted(_made(step), along) for step in steps}
        if change and any(isinstance(step.operation, Exp) for step in trace):
            yield f"The largest of each row was subtracted already in {stem}.", change


def _powers_of_2(trace: Trace) -> Iterator[tuple[str, Change]]:
    """Yield scores times log₂ e, of which powers of 2 are what powers of e are of the scores."""
    change: dict[str, Expression] = {}
    for step, made, scores in _exponentials(trace):
        factor = log2(made.base) / made.temperature
        change[scores.name] = Scale(_made(scores), times=factor)
        change[step.name] = replace(made, base=2.0, temperature=1.0)
    if change:
        yield "The scores were multiplied by log₂ e, for powers of 2.", change


def _logarithms(trace: Trace) -> Iterator[tuple[str, Change]]:
    """Yield the logarithm of each sum, which is subtracted from the scores."""
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


def _made(step: Step) -> Expression:
    return step if step.operation is None else step.operation
