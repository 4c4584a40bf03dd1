"""A few times of a long recurrence, those about the first wrong one: a small place to search in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from attncli.checking.answers.written_cells import Matrices, Written
from attncli.checking.comparison import Comparison
from attncli.checking.judging.judged_steps import WRONG, Difference, Finding
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.checking.mistakes.conventions import CONVENTIONS, by_conventions
from attncli.checking.naming.catalogued import mistakes_in
from attncli.checking.two_causes import ChangedSteps
from attncli.core.calculation.trace import Trace
from attncli.core.problem.problem import Problem
from attncli.core.records import EMPTY, replace
from attncli.core.tape.evaluation import evaluate, with_operands
from attncli.core.tape.operations import Below
from attncli.core.tape.step import Expression, ShapeError, Step

TIMES_BEFORE, TIMES_AFTER = 2, 8
"""Number of times before the first wrong one, and after it, in which a cause is sought. Chosen."""

MAX_DIFFERENCE = 1e-9
"""Maximum difference of a product of fewer rows, relative to the largest number. Chosen."""


def time_of(step: Step) -> int:
    """Return the number of the time, from 1, of which a step is; 0 for others."""
    number = step.suffix.removeprefix("_")
    return int(number) if number.isdecimal() else 0


def some_times(comparison: Comparison) -> Comparison | None:
    """Return arrays compared at a few times, those about the first wrong number.

    Steps of earlier times are inputs there, and those of later times left out. None is returned if
    there are not many more times, or if something else depends on the later ones.
    """
    trace, first = comparison.trace, comparison.steps[comparison.wrong[0]]
    assert isinstance(first, Difference)  # as the others hold nothing wrong
    is_wrong = (first.codes == WRONG).any(axis=(0, 1, 3))
    time = time_of(first.step) or int(np.argmax(is_wrong)) + 1
    last = time + TIMES_AFTER
    if first.fault or max(map(time_of, trace)) <= 2 * (TIMES_BEFORE + TIMES_AFTER):
        return None
    inputs = {name: _first_rows(one, last) for name, one in trace.inputs.items()}
    steps, read = dict[str, Step](), dict[str, Step]()
    for step in trace:
        if 0 < time_of(step) < time - TIMES_BEFORE:
            read[step.name] = inputs[step.name] = replace(step, operation=None)
        elif time_of(step) <= last and step.operation is not None:
            operation = _without_later(step.operation, read, inputs)
            if operation is None:
                continue
            try:
                array = evaluate(operation, lambda part: part.array)
            except ShapeError:
                return None
            right = step.array[tuple(map(slice, array.shape))]
            if not np.allclose(array, right, 0, MAX_DIFFERENCE * np.abs(right).max(initial=0)):
                return None
            read[step.name] = steps[step.name] = replace(step, operation=operation, array=right)
    few = replace(trace, inputs=inputs, steps=steps)
    arrays: Matrices = {
        name: _cut(one, steps[name].array.shape)
        for name, one in comparison.matrices.items()
        if name in steps and isinstance(one, Written)
    }
    again = Comparison(few, arrays, comparison.marking, comparison.dtype)
    return again if again.wrong else None


def _first_rows(one: Step, count: int) -> Step:
    is_of_times = one.trailing[:1] == ("query",)
    return replace(one, array=one.array[:, :, :count]) if is_of_times else one


def _without_later(
    part: Expression, read: Mapping[str, Step], inputs: Mapping[str, Step]
) -> Expression | None:
    """Return an expression without rows of steps that are not read; None if it needs one."""
    if isinstance(part, Step):
        return (inputs if part.operation is None else read).get(part.name)
    operands = [_without_later(operand, read, inputs) for operand in part.operands]
    held = [operand for operand in operands if operand is not None]
    if isinstance(part, Below):
        return Below((*held,)) if held else None
    others = iter(held)
    return with_operands(part, lambda _: next(others)) if len(held) == len(operands) else None


def _cut(one: Written, shape: tuple[int, ...]) -> Written:
    at = tuple(map(slice, shape))
    unreadable = None if one.unreadable is None else one.unreadable[at]
    return Written(one.values[at], one.unit[at], one.texts[at], one.dtype, unreadable)


def of_all_times(trace: Trace, step: Step, found: Finding) -> Iterator[ChangedSteps]:
    """Yield the cause of wrong numbers of a step that was found in a few times, made in all.

    Also that in the one step in which it was found.
    """
    for finding, change in by_conventions(trace, EMPTY, {found.id} & CONVENTIONS.keys()):
        if not isinstance(change, Problem):
            yield finding, change
    row = {found.id: MISTAKES[found.id]} if found.id in MISTAKES else EMPTY
    stems = {trace[name].stem for name in found.change}
    last = {one.stem: one.name for one in trace if one.stem in stems}
    alone = found.change if len(found.change) == 1 else ()
    for name in row and dict.fromkeys((*last.values(), *alone)):
        for one in mistakes_in(trace, trace[name], row):
            yield one.finding(step), one.change
