"""Conventions of layouts: in which order arrays have their axes, and how projections are fused."""

from __future__ import annotations

from functools import partial

import numpy as np

from attncli.checking.mistakes import lines_of_numpy
from attncli.checking.mistakes.convention import Arrays, Convention, Whole
from attncli.checking.mistakes.conventions_of_programs import HEAD, TOKEN, stored
from attncli.checking.mistakes.of_weights import merged_by_lines
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.scores import MergeHeads, SideBySide, SplitHeads
from attncli.core.calculation.mistake import (
    Nodes,
    Ways,
    is_mixture,
    is_weight,
    made_of,
    rewritten_steps,
    wrong,
)
from attncli.core.calculation.trace import Trace
from attncli.core.tape.evaluation import transform, walk
from attncli.core.tape.step import Expression, Step


def _heads_exchanged(array: Array) -> Array:
    return array.swapaxes(HEAD, TOKEN)


def _stored_after_tokens(trace: Trace, _: Arrays) -> Ways:
    """Store features as (batch, n, heads, d): all of them, those before the weights, or after."""
    every = [
        step.name
        for step in trace
        if "head" in step.leading and step.trailing[-1] == "feature" and not step.backward
        if step.array.shape[HEAD] == step.array.shape[TOKEN]  # or they are read so
    ]
    after = [name for name in every if name.endswith("context")]
    before = [name for name in every if name not in after]
    for names in dict.fromkeys(map(tuple, (every, before, after))):
        if names:
            yield stored(trace, dict.fromkeys(names, _heads_exchanged)), {}


def _attention_over_heads(trace: Trace, _: Arrays) -> Ways:
    """Let the heads of a token attend to each other, as of (batch, n, heads, d)."""

    def exchanged(part: Step) -> Expression:
        is_of_heads = "head" in part.leading and part.trailing[-1] == "feature"
        return wrong(_heads_exchanged, part) if is_of_heads else part

    def by_lines(node: Expression) -> Nodes:
        if isinstance(node, MergeHeads):
            yield wrong(merged_by_lines, node.operand)

    change: dict[str, Expression] = {}
    for step in trace if trace.problem.heads == trace.problem.kv_heads > 1 else ():
        if step.plain == "scores":
            change[step.name] = transform(made_of(step), exchanged)
        elif is_mixture(made_of(step)):
            change[step.name] = wrong(_heads_exchanged, transform(made_of(step), exchanged))
    if change:
        yield change, {}
        yield change | rewritten_steps(trace, [step.name for step in trace], by_lines), {}


def _cut_otherwise(is_cut_per_head: bool, at: int, groups: int, *features: Array) -> Array:
    """Return the `at`-th of Q, K and V, which are fused and cut in another order.

    They are cut per head, each into its q, k and v, though they lie there in three; or in three,
    though they lie there head by head. K and V have `groups` heads, and Q a multiple of them.
    """
    sizes = [part.shape[-1] for part in features]
    fused = np.concatenate(features, axis=-1)
    of_heads = np.arange(fused.shape[-1]).reshape(groups, -1)
    ends = np.cumsum(sizes)[:2]
    parts = np.split(of_heads, ends // groups, axis=1)
    per_head = np.concatenate([part.ravel() for part in parts])
    order = per_head if is_cut_per_head else np.argsort(per_head)
    return np.split(fused[..., order], ends, axis=-1)[at]


def _fused(is_cut_per_head: bool) -> Whole:
    def search(trace: Trace, _: Arrays) -> Ways:
        change: dict[str, Expression] = {}
        made = {s.name: made_of(s) for s in trace if s.plain in ("Q", "K", "V")}
        projected = [name for name, one in made.items() if any(map(is_weight, walk(one)))]
        for query in projected if trace.problem.heads > 1 else ():
            names = [query[:-1] + letter for letter in "QKV"]
            if query == names[0] and {*names} <= {*projected}:
                heads = [trace[name].array.shape[HEAD] for name in names]
                for at, name in enumerate(names):
                    cut = partial(_cut_otherwise, is_cut_per_head, at, heads[1])
                    whole = wrong(cut, *(SideBySide(made[name]) for name in names))
                    change[name] = SplitHeads(whole, heads[at])
        if change:
            yield change, {}

    return search


OF_LAYOUTS: dict[str, Convention] = {
    "attention_over_heads": Convention(
        "Each token's heads attended to each other: the arrays were (batch, n, heads, d).",
        "Exchange heads and tokens first, as Q.transpose(1, 2): (batch, heads, n, d).",
        whole=_attention_over_heads,
    ),
    "heads_after_tokens": Convention(
        "Features of heads were stored as (batch, n, heads, d), not as (batch, heads, n, d).",
        "Exchange the two axes before you store them.",
        whole=_stored_after_tokens,
        line=lines_of_numpy.heads_first,
    ),
    "fused_per_head": Convention(
        "The fused Q, K and V were cut into heads first, and each head into its q, k and v.",
        "Cut them in three, Q, K and V of all heads, and each of these into heads.",
        whole=_fused(is_cut_per_head=True),
        line=lines_of_numpy.cut_per_head,
    ),
    "fused_in_three": Convention(
        "The fused Q, K and V were cut in three, but they hold q, k and v head by head.",
        "Cut them into heads first, then each head into q, k and v, as NeoX and BLOOM do.",
        whole=_fused(is_cut_per_head=False),
        line=lines_of_numpy.cut_in_three,
    ),
}
"""Conventions of how arrays lie in memory."""
