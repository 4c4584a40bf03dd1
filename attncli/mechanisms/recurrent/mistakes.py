"""Mistakes in a recurrent network that attends to its own states."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from attncli.core.attention.softmax import Sum
from attncli.core.calculation.mistake import Changes, Nodes, made_by, made_of, mistake, wrong
from attncli.core.calculation.mutations import in_steps
from attncli.core.calculation.trace import Trace
from attncli.core.tape.evaluation import rewritten, sources, transform
from attncli.core.tape.operations import AsRow, Below, Divide
from attncli.core.tape.step import Expression, Step


@mistake(
    "{previous} was used instead of {context}.",
    "The new state is made from the context {context}, not from the state before alone.",
)
def _state_instead_of_context(step: Step, trace: Trace) -> Changes:
    """[x_t; h_{t−1}] for [x_t; c_{t−1}]."""
    context, previous = (f"{letter}_{_time_of(step) - 1}" for letter in "ch")
    if any(part.plain == context for part in sources(step)):
        other = transform(made_of(step), lambda x: trace[previous] if x.plain == context else x)
        yield other, {"previous": previous, "context": context}


@mistake(
    "The query is {previous}, not {state}.", "The newest state, {state}, attends to all states."
)
def _previous_state_as_query(step: Step, trace: Trace) -> Changes:
    """h_{t−1} attends to h_0 … h_t, for h_t."""
    previous, state = (f"h_{time}" for time in (_time_of(step) - 1, _time_of(step)))

    def rule(node: Expression) -> Nodes:
        if isinstance(node, AsRow):
            yield transform(node, lambda part: trace[previous] if part.name == state else part)

    for other in rewritten(made_of(step), rule):
        yield other, {"previous": previous, "state": state}


@mistake("The state h_0 was left out.", "A state attends to all states so far: h_0 is the first.")
def _start_state_left_out(step: Step, trace: Trace) -> Changes:
    """No score of h_0 at all, or no weight for it."""

    def shorter(node: Expression) -> Nodes:
        if isinstance(node, Below):
            yield Below(node.parts[1:])

    yield from rewritten(made_of(step), shorter)
    division = made_by(Divide, step)
    if division and made_by(Sum, division.divisor):
        shares = wrong(_shares, division.dividend, ranges=_ranges_of_shares)
        yield shares


def _time_of(step: Step) -> int:
    return int(step.suffix.removeprefix("_"))


def _shares(powers: Any) -> Any:
    others = powers * (np.arange(powers.shape[-1]) > 0)
    return others / others.sum(axis=-1, keepdims=True)


def _ranges_of_shares(powers: Any) -> Any:
    """A share is least where its number is least and the others are largest."""
    low, high = (end * (np.arange(end.shape[-1]) > 0) for end in (powers.low, powers.high))
    others = [end.sum(axis=-1, keepdims=True) - end for end in (high, low)]
    return type(powers)(*(a / (a + b) for a, b in zip((low, high), others, strict=True)))


_in_steps = partial(in_steps, "recurrent")

state_instead_of_context = _in_steps(("h",), _state_instead_of_context)
previous_state_as_query = _in_steps(("hidden", "scores"), _previous_state_as_query)
start_state_left_out = _in_steps(("hidden", "scores", "weights"), _start_state_left_out)
