"""Which mistakes a problem's numbers cannot show: a homework that hides them teaches less."""

from __future__ import annotations

from attncli.arithmetic.elements import Array
from attncli.attention.masks import Masked
from attncli.checking.agreement import agrees
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.mechanisms.trace import Trace
from attncli.tape.replay import Change, Replay, fitted
from attncli.tape.step import Step

MOST_NAMES = 4

OF_SCALE = ("not_scaled", "scaled_by_d_k", "scaled_twice", "scale_inverted")
OF_MASK = ("mask_missing", "mask_inverted", "mask_as_zero", "mask_transposed", "mask_after_softmax")


def unseen(trace: Trace, decimals: int) -> dict[str, str]:
    """Return the mistakes that the right numbers of a problem do not show, and why.

    These can be made in the problem, and leave every number of every step as it is, in answers of
    so many decimals.
    """
    hidden = without_effect(trace)
    replay = Replay(trace, worked={step.name: step.array for step in trace})
    for id_, row in MISTAKES.items():
        shown = [
            (step.name, _shows(replay, step, change, decimals))
            for step in trace
            for change, _ in row.changes(step, trace)
        ]
        names = list(dict.fromkeys(name for name, is_seen in shown if is_seen is False))
        if names and not any(is_seen for _, is_seen in shown):
            more = ", …" if len(names) > MOST_NAMES else ""
            hidden[id_] = f"no difference in {', '.join(names[:MOST_NAMES])}{more}"
    return {id_: hidden[id_] for id_ in MISTAKES if id_ in hidden}


def without_effect(trace: Trace) -> dict[str, str]:
    """Return the mistakes in a step that is left out, as it changes nothing here, and why."""
    problem, hidden = trace.problem, dict[str, str]()
    scales = problem.score["name"] == "scaled_dot" and "scores" not in problem.given
    if scales and problem.rules.scale is None and "d_k" in problem.sizes:
        reason = f"d_k = {problem.sizes['d_k']}, so the scale is 1"
        hidden.update(dict.fromkeys(OF_SCALE, reason))
    if problem.mask and not any(isinstance(step.operation, Masked) for step in trace):
        hidden.update(dict.fromkeys(OF_MASK, "the mask blocks nothing"))
    return hidden


def _shows(replay: Replay[Array], step: Step, change: Change, decimals: int) -> bool | None:
    """Whether a change is seen in a step; None where it cannot be made."""
    found = fitted(replay.changed(step, change), step)
    return None if found is None else not agrees(found, 10.0**-decimals, step.array).all()
