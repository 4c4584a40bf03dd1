"""Conventions of layouts: in which order arrays have their axes, and how projections are fused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from attncli.checking.mistakes import lines_of_numpy
from attncli.checking.mistakes.convention import Arrays, Convention, Whole
from attncli.checking.mistakes.conventions_of_programs import HEAD, TOKEN, stored
from attncli.checking.mistakes.of_weights import merged_by_lines
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.scores import MergeHeads
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


def _side_by_side(heads: Array) -> Array:
    """(batch, heads, n, d) → (batch, 1, n, heads·d)."""
    batch, count, n, width = heads.shape
    return heads.swapaxes(HEAD, TOKEN).reshape(batch, 1, n, count * width)


def _cut(features: Array, heads: int) -> Array:
    """(batch, 1, n, heads·d) → (batch, heads, n, d)."""
    batch, _, n, width = features.shape
    return features.reshape(batch, n, heads, width // heads).swapaxes(HEAD, TOKEN)


def _cut_per_head(q: Array, k: Array, v: Array) -> list[Array]:
    """Cut features that are Q, K and V of all heads, as if they were q, k and v of head 1, 2, …."""
    heads, groups = q.shape[HEAD], k.shape[HEAD]
    fused = _cut(np.concatenate([*map(_side_by_side, (q, k, v))], axis=-1), groups)
    width = k.shape[-1]
    ends = heads // groups * width, (heads // groups + 1) * width
    pieces = map(_side_by_side, np.split(fused, ends, axis=-1))
    return [*map(_cut, pieces, (heads, groups, groups))]


def _cut_in_three(q: Array, k: Array, v: Array) -> list[Array]:
    """Cut features that are q, k and v of head 1, 2, …, as if they were Q, K and V of all heads."""
    heads, groups, width = q.shape[HEAD], k.shape[HEAD], k.shape[-1]
    fused = _side_by_side(np.concatenate([_cut(_side_by_side(q), groups), k, v], axis=-1))
    pieces = np.split(fused, (heads * width, (heads + groups) * width), axis=-1)
    return [*map(_cut, pieces, (heads, groups, groups))]


def _fused(cut: Callable[[Array, Array, Array], list[Array]]) -> Whole:
    def search(trace: Trace, _: Arrays) -> Ways:
        change: dict[str, Expression] = {}
        made = {s.name: made_of(s) for s in trace if s.plain in ("Q", "K", "V")}
        projected = [name for name, one in made.items() if any(map(is_weight, walk(one)))]
        for query in projected if trace.problem.heads > 1 else ():
            names = [query[:-1] + letter for letter in "QKV"]
            if query == names[0] and {*names} <= {*projected}:
                for place, name in enumerate(names):
                    taken = partial(lambda place, *qkv: cut(*qkv)[place], place)
                    change[name] = wrong(taken, *map(made.__getitem__, names))
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
        whole=_fused(_cut_per_head),
        line=lines_of_numpy.cut_per_head,
    ),
    "fused_in_three": Convention(
        "The fused Q, K and V were cut in three, but they hold q, k and v head by head.",
        "Cut them into heads first, then each head into q, k and v, as NeoX and BLOOM do.",
        whole=_fused(_cut_in_three),
        line=lines_of_numpy.cut_in_three,
    ),
}
"""Conventions of how arrays lie in memory."""
