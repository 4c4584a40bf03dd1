"""Mistakes in a recurrent network that attends to its own states."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, takewhile
from typing import Any

import numpy as np

from attncli.checking.mistakes.mistake import (
    Changes,
    Nodes,
    made_by,
    made_of,
    mistake,
    rewritten_steps,
    wrong,
)
from attncli.core.attention.softmax import Sum
from attncli.core.mechanisms.trace import Trace
from attncli.core.tape.evaluation import rewritten, transform
from attncli.core.tape.operations import AsRow, Below, Divide, Stacked
from attncli.core.tape.step import Expression, Step


@mistake(
    "{previous} was used instead of {context}.",
    "The new state is made from the context {context}, not from the state before alone.",
)
def state_instead_of_context(step: Step, trace: Trace) -> Changes:
    """[x_t; h_{t−1}] for [x_t; c_{t−1}]."""

    def change(time: int) -> dict[str, Expression]:
        name, context, state = f"h_{time}", f"c_{time - 1}", trace[f"h_{time - 1}"]

        def rule(node: Expression) -> Nodes:
            if isinstance(node, Stacked):
                yield transform(node, lambda part: state if part.plain == context else part)

        return {name: next(rewritten(made_of(trace[name]), rule))}

    for changed, time in _at_times(step, trace, "h_", change):
        yield changed, {"previous": _at("h", time, 1), "context": _at("c", time, 1)}


@mistake(
    "The query is {previous}, not {state}.", "The newest state, {state}, attends to all states."
)
def previous_state_as_query(step: Step, trace: Trace) -> Changes:
    """h_{t−1} attends to h_0 … h_t, for h_t."""

    def change(time: int) -> dict[str, Expression]:
        state, previous = f"h_{time}", trace[f"h_{time - 1}"]

        def rule(node: Expression) -> Nodes:
            if isinstance(node, AsRow):
                yield transform(node, lambda part: previous if part.name == state else part)

        return rewritten_steps(trace, (f"hidden_{time}", f"scores_{time}"), rule)

    for prefix in ("hidden_", "scores_"):
        for changed, time in _at_times(step, trace, prefix, change):
            yield changed, {"previous": _at("h", time, 1), "state": _at("h", time)}


@mistake("The state h_0 was left out.", "A state attends to all states so far: h_0 is the first.")
def start_state_left_out(step: Step, trace: Trace) -> Changes:
    """No score of h_0 at all, or no weight for it."""

    def shorter(time: int) -> dict[str, Expression]:
        def rule(node: Expression) -> Nodes:
            if isinstance(node, Below):
                yield Below(node.parts[1:])

        return rewritten_steps(trace, (f"hidden_{time}", f"scores_{time}"), rule)

    def weightless(time: int) -> dict[str, Expression]:
        division = made_by(Divide, trace[f"weights_{time}"])
        if not division or not made_by(Sum, division.divisor):
            return {}
        return {f"weights_{time}": wrong(_shares, division.dividend, ranges=_ranges_of_shares)}

    for prefix, change in (("hidden_", shorter), ("scores_", shorter), ("weights_", weightless)):
        for changed, _ in _at_times(step, trace, prefix, change):
            yield changed, {}


def _shares(powers: Any) -> Any:
    others = powers * (np.arange(powers.shape[-1]) > 0)
    return others / others.sum(axis=-1, keepdims=True)


def _ranges_of_shares(powers: Any) -> Any:
    """A share is least where its number is least and the others are largest."""
    low, high = (end * (np.arange(end.shape[-1]) > 0) for end in (powers.low, powers.high))
    others = [end.sum(axis=-1, keepdims=True) - end for end in (high, low)]
    return type(powers)(*(a / (a + b) for a, b in zip((low, high), others, strict=True)))


def _at(name: str, time: int | None, before: int = 0) -> str:
    """Return the name of a vector some times before another; t is all times at once.

    >>> _at("h", 3, 1), _at("h", None, 1), _at("h", None)
    ('h_2', 'h_{t−1}', 'h_t')
    """
    if time is not None:
        return f"{name}_{time - before}"
    return f"{name}_{{t−{before}}}" if before else f"{name}_t"


def _at_times(
    step: Step, trace: Trace, prefix: str, change: Callable[[int], dict[str, Expression]]
) -> list[tuple[dict[str, Expression], int | None]]:
    if trace.problem.kind != "recurrent" or not step.plain.startswith(prefix):
        return []
    time = int(step.name.removeprefix(prefix))
    if time == 0 or f"weights_{time}" not in trace:
        return []
    scopes: list[tuple[dict[str, Expression], int | None]] = [(change(time), time)]
    if time == 1:
        every: dict[str, Expression] = {}
        for last in takewhile(lambda last: f"h_{last}" in trace, count(1)):
            every |= change(last)
        scopes.append((every, None))
    return [(changed, when) for changed, when in scopes if changed]
