"""Mistakes with caches."""

from __future__ import annotations

import numpy as np

from attncli.checking.mistakes.mistake import Changes, mistake, wrong
from attncli.checking.mistakes.nodes import made_by, made_of
from attncli.core.attention.masks import Masked
from attncli.core.mechanisms.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.operations import Below
from attncli.core.tape.step import Expression, Step


@mistake(
    "The new token was not in the cache: only earlier tokens were attended to.",
    "Append the new key and value to the cache first; a token attends to itself, too.",
)
def cache_without_new_token(step: Step, trace: Trace) -> Changes:
    """The scores of new keys blocked, if there are earlier ones; in `decode` those of each time."""
    if step.plain.startswith("scores") and trace.problem.rules.normalize.name == "softmax":
        change: dict[str, Expression] = {}
        for scores in (one for one in trace if one.plain.startswith("scores")):
            keys = scores.array.shape[-1]
            earlier = keys - 1 if trace.problem.kind == "decode" else trace.problem.sizes.size("p")
            if earlier:
                change[scores.name] = _first_alone(made_of(scores), earlier, keys)
        if step.name in change:
            yield change, {}


def _first_alone(scores: Expression, count: int, keys: int) -> Masked:
    keep = (np.arange(keys) < count).astype(float)[None, None, None]
    return Masked(scores, wrong(lambda _: keep, scores))


@mistake(
    "The new row was put above the cache, not below it.",
    "The cache is in the order of time: the new row is the last one.",
)
def cache_upside_down(step: Step, trace: Trace) -> Changes:
    """In `decode`, at every time."""
    if step.plain[0] in "KV" and made_by(Below, step):
        every = ((s, made_by(Below, s)) for s in trace if s.plain[0] == step.plain[0])
        yield {s.name: replace(made, parts=made.parts[::-1]) for s, made in every if made}, {}
