"""The mask applied earlier than the problem has it, which changes no weight.

A blocked score is −∞, and stays −∞ when it is scaled or a bias is added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

import numpy as np

from attncli.attention.masks import Masked
from attncli.checking.right import Right
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.step import Expression, Step
from attncli.tape.walk import array_of, sources, transform

KINDS = ("scores", "scaled", "capped", "biased")
"""How the names of the steps begin that may come before the mask."""

MASKED = "masked"

CAPPED = "capped"
"""How that of the step begins which makes a number of −∞."""


def masked_early(right: Right, given: Collection[str]) -> Iterator[tuple[Right, str]]:
    """Yield right calculations in which the mask comes earlier, each with a sentence that tells it.

    A step that was given has the −∞ itself, or `masked`, which was given, comes right after it.
    """
    begin = {kind for kind in (*KINDS, MASKED) for name in given if name.startswith(kind)}
    for in_place in (True, False):
        for kind in KINDS:
            if (kind if in_place else MASKED) not in begin:
                continue
            changed = right.changed(partial(_masked_from, kind=kind, in_place=in_place))
            if changed.trace is not right.trace:
                after = f"The mask was applied right after {kind}."
                yield changed, f"{kind} has −∞ where the mask blocks." if in_place else after


def _masked_from(trace: Trace, kind: str, in_place: bool) -> Trace:
    """Return a calculation in which the mask blocks from a step on.

    Args:
        trace: where scores are masked last.
        kind: how the name of the step begins.
        in_place: whether the step itself has the −∞; else the step `masked` comes after it.

    Returns:
        The same calculation where that makes no sense: without a mask or such a step, where −∞
        would not stay −∞, or where a backward pass has a derivative for each step.
    """
    lines = {step.name: line for step in trace if len(line := _line(step, kind)) > (not in_place)}
    if not lines or any(step.backward for step in trace):
        return trace
    masks = {step.name: trace[name] for name, line in lines.items() for step in line}
    first = {line[0].name for line in lines.values()}
    made: dict[str, Step] = {}
    read: dict[str, Step] = {}  # by the name of a step: which one later steps are made of

    def rule(step: Step) -> Expression:
        return step if step.operation is None else read.get(step.name, step)

    for step in trace:
        assert step.operation is not None  # as of every step
        if step.name in lines and not in_place:
            read[step.name] = read[lines[step.name][-1].name]
            continue
        new, masked = replace(step, operation=transform(step.operation, rule)), masks.get(step.name)
        begins = masked is not None and step.name in first
        if masked is not None and not begins:
            new = _blocked(new, masked)
        elif masked is not None and in_place:
            new = _blocked(new, masked, new.operation)
        made[step.name] = read[step.name] = new
        if masked is not None and begins and not in_place:
            after = replace(masked, array=new.array)
            made[masked.name] = read[step.name] = _blocked(after, masked, new)
    return replace(trace, steps=made)


def _line(masked: Step, kind: str) -> list[Step]:
    """Return the steps from one that begins so on to the last before a masked one, if −∞ stays."""
    line: list[Step] = []
    part = masked.operation.operand if isinstance(masked.operation, Masked) else None
    while isinstance(part, Step) and part.name.startswith(KINDS) and part.operation is not None:
        line.insert(0, part)
        if part.name.startswith(kind):
            return line
        part = None if part.name.startswith(CAPPED) else sources(part)[0]
    return []


def _blocked(step: Step, masked: Step, operand: Expression | None = None) -> Step:
    """Return a step with −∞ where another is masked; made by that mask of an operand, if any."""
    mask = masked.operation
    assert isinstance(mask, Masked)  # as `_line` found
    array = np.where(array_of(mask.mask) != 0, step.array, -np.inf).astype(step.array.dtype)
    made = step.operation if operand is None else replace(mask, operand=operand)
    return replace(step, operation=made, array=array)
