"""What a problem cannot show: mistakes that change no number, slips that look like rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attncli.checking.check import AnswerKey
from attncli.checking.judging.agreement import agrees
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import Masked
from attncli.core.calculation.trace import Trace
from attncli.core.problem.marking import Marking
from attncli.core.problem.problem import Problem
from attncli.core.tape.evaluation import Change, Replay, broadcast_to_step
from attncli.core.tape.step import Step

MAX_LISTED_NAMES = 4  # in one line, then how many others there are

OF_SCALE = ("not_scaled", "scaled_by_d_k", "scaled_twice", "scale_inverted")
OF_MASK = ("mask_missing", "mask_inverted", "mask_as_zero", "mask_transposed", "mask_after_softmax")


def unseen(trace: Trace, decimals: int) -> dict[str, str]:
    """Return the mistakes that change no number, in answers with some decimals, and why."""
    hidden = without_effect(trace)
    replay = Replay(trace, worked={step.name: step.array for step in trace})
    steps = [(step, trace.around(step)) for step in trace]
    for id_, row in MISTAKES.items():
        changes = [(step, one) for step, layer in steps for one, _ in row.changes(step, layer)]
        shown = [(step.name, _shows(replay, step, one, decimals)) for step, one in changes]
        names = list(dict.fromkeys(name for name, is_seen in shown if is_seen is False))
        if names and not any(is_seen for _, is_seen in shown):
            more = ", …" if len(names) > MAX_LISTED_NAMES else ""
            hidden[id_] = f"no difference in {', '.join(names[:MAX_LISTED_NAMES])}{more}"
    return {id_: hidden[id_] for id_ in MISTAKES if id_ in hidden}


def without_effect(trace: Trace) -> dict[str, str]:
    """Return the mistakes in a step that is left out because it changes nothing, and why."""
    problem, hidden = trace.problem, dict[str, str]()
    scales = problem.score["name"] == "scaled_dot" and "scores" not in problem.given
    if scales and problem.rules.scale is None and "d_k" in problem.sizes:
        reason = f"d_k = {problem.sizes['d_k']}, so the scale is 1"
        hidden.update(dict.fromkeys(OF_SCALE, reason))
    if problem.mask and not any(isinstance(step.operation, Masked) for step in trace):
        hidden.update(dict.fromkeys(OF_MASK, "the mask blocks nothing"))
    return hidden


def _shows(replay: Replay[Array], step: Step, change: Change, decimals: int) -> bool | None:
    changed = broadcast_to_step(replay.changed(step, change), step)
    return None if changed is None else not agrees(changed, 10.0**-decimals, step.array).all()


SLIPS = (100, 30, 10, 5, 3, 2)
"""Sizes of the slips that are tried, in units of the last decimal."""

MAX_CELLS = 4
"""Maximum number of cells of a step in which a slip is tried."""

MAX_SLIP_NUMBERS = 1_000
"""Maximum number of cells of a problem in which slips are tried; each takes a whole judgement."""


def largest_slips(
    problem: Problem, names: Sequence[str], decimals: int, sizes: Sequence[int] = SLIPS
) -> dict[str, int]:
    """Return the largest slip in one cell of each step that passes as rounding, in units.

    All steps with these names are handed in, correct but for the slip. The sizes that are tried, to
    either side, are the largest first; 1 is returned if none of them passes.
    """
    key = AnswerKey(problem.marked(Marking(tolerance=problem.marking.tolerance)))
    right = {name: _as_texts(key.trace[name].value, decimals) for name in names}

    def passes(name: str, place: int, slip: int) -> bool:
        changed = key.trace[name].value.copy()
        number = round(float(changed.flat[place]), decimals)
        changed.flat[place] = number + slip * 10.0**-decimals
        return key.check(right | {name: _as_texts(changed, decimals)}).verdict == "correct"

    largest = {}
    for name in names:
        finite = np.flatnonzero(np.isfinite(key.trace[name].value))
        places = finite[:: max(1, -(-len(finite) // MAX_CELLS))].tolist()
        tried = [(place, sign) for place in places for sign in (1, -1)]
        passed = (size for size in sizes if any(passes(name, at, n * size) for at, n in tried))
        largest[name] = next(passed, 1)
    return largest


def better_step(problem: Problem, names: Sequence[str], decimals: int, slips: int) -> str | None:
    """Return the step that, handed in too, lets only smaller slips pass; None if none does."""
    trace = AnswerKey(problem.marked(Marking())).trace
    last = max(list(trace.steps).index(name) for name in names)
    others = [step.name for step in list(trace)[:last][::-1] if step.name not in names]

    def is_better(name: str) -> bool:
        passing = largest_slips(problem, (*names, name), decimals, (slips,))
        return max(passing[one] for one in names) < slips

    return next(filter(is_better, others), None)


def _as_texts(value: Array, decimals: int) -> list[Any]:
    if value.ndim > 1:
        return [_as_texts(part, decimals) for part in value]
    return [f"{x:.{decimals}f}" if np.isfinite(x) else "-inf" for x in value.tolist()]
