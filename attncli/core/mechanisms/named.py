"""Steps that change nothing, put back if they are named, as by a textbook or a student.

A trace leaves out `scaled` where the scale is 1, `masked` where nothing is masked, `context` and
`concat` where they are the output.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from attncli.core.attention.weights import ADJUSTED
from attncli.core.errors import InputError, fail
from attncli.core.mechanisms.trace import Trace
from attncli.core.problem.key_names import with_key
from attncli.core.records import replace
from attncli.core.tape.find import Cells, find_cells, find_steps
from attncli.core.tape.step import Expression, Step, prefix_of
from attncli.core.tape.walk import transform
from attncli.core.text.escapes import visible
from attncli.core.text.sentences import called_by, did_you_mean

LAST = {**dict.fromkeys(("self", "cross", "pooling"), "output"), "transformer": "attended"}
"""The last step of attention in some kinds, which the values of the heads may be."""


def with_meant_steps(trace: Trace, words: Collection[str]) -> Trace:
    """Return a trace with every step that words mean, also those that change nothing here.

    Raises:
        InputError: for a word that means no step of this calculation.
    """
    wide = with_named_steps(trace)
    names: set[str] = set()
    for word in words:
        found = find_steps(word, trace.steps, trace.inputs, trace.added)
        found = found or find_steps(word, wide.steps, wide.inputs, wide.added)
        if not found:
            message = f"there is no step {visible(word)} in this calculation"
            raise fail(message, hint=did_you_mean(word, trace.steps))
        names.update(step.name for step in found)
    return with_named_steps(trace, names)


def with_named_steps(trace: Trace, names: Collection[str] | None = None) -> Trace:
    """Return a trace with those of the named steps that change nothing here, by default with all.

    Each is in its usual place, made by the step that it equals, and later steps are made of it.
    `added` has their names.

    >>> from attncli import Problem, compute
    >>> trace = with_named_steps(compute(Problem(X=[[1, 0]], score="dot")), ("scaled", "context"))
    >>> [trace[name].formula for name in ("scaled", "exp", "context", "output")]
    ['scaled = scores', 'exp = e^scaled', 'context = weights V', 'output = context']
    """
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for name, known, is_before in _equal_steps(trace):
        if names is None or name in names:
            (before if is_before else after).setdefault(known, []).append(name)
    if not before and not after:
        return trace
    steps: dict[str, Step] = {}
    read: dict[str, Step] = {}  # by the name of a step: which one later steps are made of

    def rule(step: Step) -> Expression:
        return step if step.operation is None else read.get(step.name, step)

    def named(step: Step, name: str, **changes: Any) -> Step:
        word = called_by(name, trace.problem.called)
        steps[name] = replace(step, name=name, called=word, **changes)
        return steps[name]

    for step in trace:
        made = None if step.operation is None else transform(step.operation, rule)
        for name in before.get(step.name, ()):
            made = named(step, name, operation=made)
        last = steps[step.name] = step if made is step.operation else replace(step, operation=made)
        for name in after.get(step.name, ()):
            symbol = "A" if name.startswith("weights") else name
            last = named(last, name, symbol=symbol, operation=last)
        read[step.name] = last
    return replace(trace, steps=steps, added=tuple(n for n in steps if n not in trace.steps))


def find(name: str, trace: Trace) -> tuple[Trace, Cells]:
    """Return the cells that a name means, and the trace, with a step of that name put back.

    Raises:
        InputError: for a name that means nothing in this calculation.
    """
    name = with_key(name, trace.called)
    try:
        return trace, find_cells(name, trace.steps, trace.inputs, trace.added)
    except InputError:
        wide = with_named_steps(trace)
        with suppress(InputError):
            step = find_cells(name, wide.steps, wide.inputs, wide.added).step
            if step.name in wide.added:
                trace = with_named_steps(trace, (step.name,))
                return trace, find_cells(name, trace.steps, trace.inputs)
        raise


def equal_steps(trace: Trace) -> dict[str, str]:
    """Return the names of all steps that change nothing here, with the step that each equals.

    >>> from attncli import Problem, compute
    >>> equal_steps(compute(Problem(X=[[1, 0]], score="dot")))["concat"]
    'output'
    """
    return {name: known for name, known, _ in _equal_steps(trace)}


def _equal_steps(trace: Trace) -> Iterator[tuple[str, str, bool]]:
    """Yield a name that is left out, the step that it equals, and whether it comes before that."""
    for name, known, is_before in _equal_values(trace):
        yield name, known, is_before
        if f"d_{known}" in trace:  # the backward pass has them in the other order
            yield f"d_{name}", f"d_{known}", not is_before


def _equal_values(trace: Trace) -> Iterator[tuple[str, str, bool]]:
    """Yield the same for the steps of the forward pass."""
    for scores in [step for step in trace if step.stem == "scores"]:
        problem, suffix = trace.around(scores).problem, scores.suffix
        layer, before = prefix_of(scores.layer), scores.name
        for name in (f"{layer}{one}{suffix}" for one in ADJUSTED):
            if name in trace:
                before = name
            else:
                yield name, before, False
        is_normalized = problem.normalize["name"] != "none"
        weights = f"{layer}weights{suffix}"
        if weights not in trace and not is_normalized and problem.kind != "co_attention":
            yield weights, before, False
        last = f"{layer}{LAST.get(problem.kind)}"
        if problem.kind in LAST and last in trace:
            context, concat = f"{layer}context", f"{layer}concat"
            if context not in trace:
                yield context, last, True
            if concat not in trace and problem.kind != "pooling":
                # With one head and W_o it is the context; else it is the last step.
                is_projected = context in trace and problem.heads == 1
                yield concat, context if is_projected else last, not is_projected
