"""Other right forms of a calculation: the mask applied earlier, scores shifted, powers of 2."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from itertools import chain
from math import log2
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.judging.agreement import agrees, is_same
from attncli.checking.judging.operands import Reference
from attncli.core.attention.masks import Masked
from attncli.core.attention.softmax import Exp, ShiftedExp, SinkPower, Sum, WithSink, shifted
from attncli.core.calculation.trace import Trace
from attncli.core.formulas.tree import Formula, Words, minus
from attncli.core.records import EMPTY, replace
from attncli.core.tape.backward_operations import Pointwise, Subtract
from attncli.core.tape.by_hand import Rounding
from attncli.core.tape.evaluation import Change, evaluate, sources, walk, with_steps
from attncli.core.tape.operations import Divide, MatMul, Scale
from attncli.core.tape.step import Expression, Operation, ShapeError, Step, notation_of

Forms: TypeAlias = Iterator[tuple[str, Change]]
"""The sentence for each form, and its operations."""

BEFORE_MASK = ("scores", "scaled", "capped", "biased")
"""First parts of the names of steps that may come before the mask."""


class Shifted(Operation):
    """The scores of each line minus their largest; −∞ stays."""

    operand: Expression
    along: int

    def apply(self, *arrays: Any) -> Any:
        largest = arrays[0].max(axis=self.along, keepdims=True)
        return arrays[0] - np.where(largest == -np.inf, 0.0, largest)

    def bounds(self, *operands: Any) -> Any:
        (scores,) = operands
        ends = (end.max(axis=self.along, keepdims=True) for end in (scores.low, scores.high))
        least, most = (np.where(np.isfinite(end), end, 0.0) for end in ends)
        return type(scores)(scores.low - most, np.minimum(scores.high - least, 0.0))

    def notation(self, columns: bool) -> Formula:
        return minus(notation_of(self.operand, columns), Words("largest"))


class Log(Pointwise):
    """The natural logarithm of each number."""

    function = "ln"

    def apply(self, *arrays: Any) -> Any:
        return np.log(arrays[0])


def masked_early(trace: Trace, shown: Collection[str]) -> Forms:
    """Yield the mask applied to earlier scores: in a shown step itself, or in `masked`."""
    if any(step.backward for step in trace):
        return
    masked = [(step, mask) for step in trace if isinstance(mask := step.operation, Masked)]
    masks = [(step, mask, before_mask(mask)) for step, mask in masked]
    for kind in BEFORE_MASK:
        scores = [(s, mask) for _, mask, line in masks for s in line if s.plain.startswith(kind)]
        blocked = {
            step.name: replace(mask, operand=operation_or_input(step))
            for step, mask in scores
            if step.name in shown
        }
        if blocked:
            yield f"{kind} has −∞ where the mask blocks.", blocked
    for kind in BEFORE_MASK:
        moved: dict[str, Expression] = {}
        read: dict[str, Step] = {}
        for after, mask, line in masks:
            for step in line[1:]:
                if step.plain.startswith(kind) and after.name in shown:
                    moved[after.name] = replace(mask, operand=step)
                    read |= {step.name: after, after.name: line[0]}
        if moved:
            others = ((step, with_steps(operation_or_input(step), read)) for step in trace)
            linked = {step.name: new for step, new in others if new is not step.operation}
            yield f"The mask was applied right after {kind}.", linked | moved


def before_mask(mask: Masked) -> list[Step]:
    """Return the scores that lead to a mask, the last first; −∞ stays −∞ in them.

    A mask that is made of scores comes after them in every form.
    """
    line: list[Step] = []
    part: Expression | None = mask.operand
    while isinstance(part, Step) and part.operation and part.plain.startswith(BEFORE_MASK):
        line.append(part)
        part = None if part.plain.startswith("capped") else sources(part)[0]
    return line if {*line}.isdisjoint(walk(mask.mask, into_steps=True)) else []


def shifts(trace: Trace, shown: Collection[str] = ()) -> Forms:
    """Yield the largest score, of each row or of all, subtracted before the e^."""
    along = trace.problem.rules.normalize.along
    powers = {
        step.name: power
        for step in trace
        if isinstance(power := step.operation, Exp) and not isinstance(power, ShiftedExp)
    }
    sinks = dict(_sinks(trace))
    for axis, whose in ((along, "each row"), ((-2, -1), "the whole matrix")):
        change: dict[str, Expression] = {}
        for name, power in powers.items():
            total, whole, sink = sinks.get(name, ("", None, None))
            change[name], of_sink = shifted(power, axis, sink)
            if whole is not None and of_sink is not None:
                change[total] = replace(whole, right=of_sink)
        if change:
            yield f"The largest score of {whose} was subtracted before the e^.", change


def _sinks(trace: Trace) -> Iterator[tuple[str, tuple[str, WithSink, Expression]]]:
    """Yield for powers that a sink is added to: their name, that of their sum, it, the sink."""
    for step in trace:
        whole = step.operation
        if isinstance(whole, WithSink) and isinstance(whole.right, SinkPower):
            yield sources(step)[0].name, (step.name, whole, whole.right.sink)


def other_forms(trace: Trace, shown: Collection[str] = ()) -> Forms:
    """Yield the forms whose own numbers might as well be mistakes."""
    if any(step.backward for step in trace):
        return
    yield from _factor_before(trace)
    yield from _shift_before(trace)
    yield from _powers_of_2(trace)
    yield from _logarithms(trace)


def _factor_before(trace: Trace) -> Forms:
    scale = trace.steps.get("scaled")
    division = scale.operation if scale is not None else None
    if not isinstance(division, Scale) or "Q" not in trace or "K" not in trace:
        return
    scores, factor = division.operand, float(division.times) / float(division.over)
    if not isinstance(scores, Step) or not isinstance(scores.operation, MatMul) or factor <= 0:
        return
    for names, part in ((("Q",), factor), (("K",), factor), (("Q", "K"), factor**0.5)):
        scaled = {name: Scale(operation_or_input(trace[name]), times=part) for name in names}
        what = "Q and K were" if len(names) > 1 else f"{names[0]} was"
        yield f"{what} scaled before the product.", {**scaled, "scaled": scores}


def _shift_before(trace: Trace) -> Forms:
    along = trace.problem.rules.normalize.along
    for stem in ("scores", "scaled", "masked"):
        steps = [step for step in trace if step.name.partition("_")[0] == stem]
        change = {step.name: Shifted(operation_or_input(step), along) for step in steps}
        if change and any(isinstance(step.operation, Exp) for step in trace):
            yield f"The largest of each row was subtracted already in {stem}.", change


def _powers_of_2(trace: Trace) -> Forms:
    change: dict[str, Expression] = {}
    for step, power, scores in _exponentials(trace):
        factor = log2(power.base) / power.temperature
        change[scores.name] = Scale(operation_or_input(scores), times=factor)
        change[step.name] = replace(power, base=2.0, temperature=1.0)
    if change:
        yield "The scores were multiplied by log₂ e, for powers of 2.", change


def _logarithms(trace: Trace) -> Forms:
    change: dict[str, Expression] = {}
    for step, power, scores in _exponentials(trace):
        if power.base != np.e or power.temperature != 1 or isinstance(power, ShiftedExp):
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
    for step in trace:
        power = step.operation
        if isinstance(power, Exp) and isinstance(power.operand, Step):
            yield step, power, power.operand


def operation_or_input(step: Step) -> Expression:
    """Return the operation of a step; for an input, the input itself."""
    return step if step.operation is None else step.operation


def with_same_result(right: Reference, forms: Forms) -> Iterator[tuple[str, Change, Reference]]:
    """Yield the forms that lead to the same result, each with its calculation.

    Scaling K before it is normed, say, scales nothing; and where steps are rounded, another form
    may lead to another result.
    """
    *_, result = right.trace
    for said, change in forms:
        remake = partial(right.changed, partial(with_change, change=change))
        other = right.kept((said, frozenset(change)), remake)
        if agrees(other.trace[result.name].array, 0.0, result.array).all():
            yield said, change, other


def other_readings(right: Reference, step: Step) -> Iterator[tuple[Step, Reference, str]]:
    """Yield right calculations in which a step that is shown alone has other numbers.

    Each comes with the step that has these numbers, and with the name of one, or "": if that is
    shown, too, the numbers are no longer right.
    """
    forms = chain(masked_early(right.trace, right.trace.steps), shifts(right.trace))
    for _, change, other in with_same_result(right, forms):
        if not is_same(other.trace[step.name].array, step.array).all():
            moved = (
                name for name in change if name != step.name and step.plain.startswith("masked")
            )
            yield step, other, next((name for name in moved if name.startswith(BEFORE_MASK)), "")
    for kind in ("scaled", "masked") if step.plain.startswith("scores") else ():
        if (name := step.name.replace("scores", kind)) in right.trace:
            yield right.trace[name], right, name


def with_change(trace: Trace, change: Change = EMPTY, other_convention: bool = False) -> Trace:
    """Return a calculation with other operations in some steps, or in the other convention.

    Raises:
        ShapeError: if a step has another shape then.
    """
    rounding = Rounding(**trace.problem.round) if trace.unrounded and trace.problem.round else None
    steps: dict[str, Step] = {}
    others: set[str] = set()  # the names of the steps with other numbers
    for step, operation in _in_order(trace, change):
        linked, array = with_steps(operation, steps), step.array
        if step.name in change or not others.isdisjoint(_names_in(operation)):
            numbers = evaluate(linked, lambda part: part.array)
            if numbers.shape != array.shape:
                raise ShapeError(f"{step.name} has another shape")
            numbers = rounding(step.name, numbers) if rounding else numbers
            if not is_same(numbers, array).all():
                array = numbers
                others.add(step.name)
        columns = step.columns is not other_convention
        steps[step.name] = replace(step, operation=linked, array=array, columns=columns)
    return replace(trace, steps=steps)


def _in_order(trace: Trace, change: Change) -> Iterator[tuple[Step, Expression]]:
    rest = {step.name: change.get(step.name, operation_or_input(step)) for step in trace}
    while rest:
        name = next(
            name
            for name, expression in rest.items()
            if rest.keys().isdisjoint(_names_in(expression))
        )
        yield trace[name], rest.pop(name)


def _names_in(expression: Expression) -> list[str]:
    parts = (part for part in walk(expression) if isinstance(part, Step))
    return [part.name for part in parts if part.operation is not None]
