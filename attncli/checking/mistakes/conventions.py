"""The conventions in which programs differ: other ways of calculating a whole problem.

To add one: write a function that returns what it makes of one operation, and give it a row in
`CONVENTIONS`. Unlike a mistake, a convention changes every step alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import sqrt
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.mistakes.mistake import wrong
from attncli.checking.mistakes.nodes import is_named
from attncli.checking.mistakes.of_masks import with_mask
from attncli.checking.mistakes.of_weights import (
    merged_by_lines,
    merged_in_turns,
    split_by_lines,
    split_in_turns,
)
from attncli.core.attention.heads import MergeHeads, RepeatHeads, SplitHeads
from attncli.core.attention.masks import Masked, kept
from attncli.core.attention.softmax import Sum
from attncli.core.mechanisms.trace import Trace
from attncli.core.problem.kinds import PROJECTIONS
from attncli.core.records import Record, replace
from attncli.core.tape.operations import MatMul, Scale, Transposed
from attncli.core.tape.replay import Change
from attncli.core.tape.step import Expression, Operation, Step
from attncli.core.tape.walk import mapped, transform

Rule: TypeAlias = Callable[[Operation, Step, Trace], Expression | None]
"""A function that returns what stands in the place of an operation of a step; None for itself."""


class Convention(Record):
    """One row of the table."""

    message: str
    advice: str
    rules: tuple[Rule, ...]  # other forms of the convention, the likeliest first
    out_in: tuple[str, str] | None = None  # message and advice where weights are (out, in)


def changes(trace: Trace) -> Iterator[tuple[str, Change]]:
    """Yield the other ways of calculating a problem, each with the id of its convention."""
    for id_, convention in CONVENTIONS.items():
        for rule in convention.rules:
            found: dict[str, Expression] = {}
            for step in trace:
                if step.operation is not None and not step.backward:
                    made = mapped(step.operation, partial(_by_rule, rule, step, trace))
                    if made is not step.operation:
                        found[step.name] = made
            if found:
                yield id_, found


def _by_rule(rule: Rule, step: Step, trace: Trace, node: Operation) -> Expression:
    made = rule(node, step, trace)
    return node if made is None else made


def _weights_transposed(names: tuple[str, ...], node: Operation, *_: object) -> Expression | None:
    if isinstance(node, MatMul) and is_named(node.right, names) and node.right.operation is None:
        return replace(node, right=Transposed(node.right))
    return None


def _heads(
    split: Callable[..., Any] | None, merged: Callable[..., Any] | None, node: Operation, *_: object
) -> Expression | None:
    if split and isinstance(node, SplitHeads):
        return wrong(partial(split, heads=node.heads), node.operand)
    if merged and isinstance(node, MergeHeads):
        return wrong(merged, node.operand)
    return None


def _shared_in_turns(node: Operation, *_: object) -> Expression | None:
    if isinstance(node, RepeatHeads):
        return wrong(lambda array: np.concatenate([array] * node.times, axis=1), node.operand)
    return None


def _inverted(node: Operation, *_: object) -> Expression | None:
    if isinstance(node, Masked):
        return replace(node, mask=wrong(lambda mask: 1 - mask, node.mask))
    return None


def _causal(other: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Rule:
    """Return the rule of another causal mask."""

    def rule(node: Operation, step: Step, trace: Trace) -> Expression | None:
        mask = trace.problem.rules.mask
        if not isinstance(node, Masked) or not mask.get("causal"):
            return None
        n, m = step.array.shape[-2:]
        keep = kept(other(mask), n, m)
        return with_mask(node, np.ones((1, 1, n, m)) if keep is None else keep.astype(float))

    return rule


def _summed_over_queries(node: Operation, step: Step, _: Trace) -> Expression | None:
    if isinstance(node, Sum) and step.plain.startswith("sum"):
        return replace(node, along=-3 - node.along)  # the axes are −1 and −2
    return None


def _scale(over: Callable[[Mapping[str, int]], float] | None) -> Rule:
    """Return the rule of scores that are divided by another number; None for not at all."""

    def rule(node: Operation, step: Step, trace: Trace) -> Expression | None:
        if not isinstance(node, Scale) or not step.plain.startswith("scaled"):
            return None
        if over is None:
            return node.operand
        sizes = trace.problem.sizes
        return Scale(node.operand, over=over({x: sizes.size(x) or 1 for x in ("d_k", "d_model")}))

    return rule


def _keys_by_queries(node: Operation, step: Step, trace: Trace) -> Expression | None:
    if isinstance(node, MatMul) and step.plain.startswith("scores"):
        other = {"Q": "K", "K": "Q"}

        def exchanged(part: Step) -> Expression:
            name = other.get(part.name[0], "") + part.name[1:]
            return trace.steps.get(name, part) if part.name[0] in other else part

        return transform(node, exchanged)
    return None


def _projections_exchanged(node: Operation, step: Step, trace: Trace) -> Expression | None:
    other = {"Q": "K", "K": "Q"}.get(step.name)
    is_whole = node is step.operation and other in trace
    return trace[other].operation if other and is_whole else None


def _batch_second(node: Operation, step: Step, trace: Trace) -> Expression | None:
    """Take the first axis of X for the tokens and the second for the batch, also in the output."""

    def swapped(array: Any) -> Any:
        return np.swapaxes(array, 0, 2)

    x = trace.inputs.get("X")
    if x is None or "batch" not in x.leading:
        return None
    own = zip(node.operand_fields, node.operands, strict=False)
    exchanged = {name: wrong(swapped, part) for name, part in own if part is x}
    inside = replace(node, **exchanged) if exchanged else node
    if step is trace.last and node is step.operation:
        return wrong(swapped, inside)
    return None if inside is node else inside


CONVENTIONS: dict[str, Convention] = {
    "weights_out_in": Convention(
        "The weight matrices were stored as (out, in), as programs do: their transposes were used.",
        "Write weights_as: out_in, or transpose them.",
        (partial(_weights_transposed, PROJECTIONS), partial(_weights_transposed, PROJECTIONS[:3])),
        (
            "The weight matrices were used as they are stored, (out, in), without a transpose.",
            "Transpose them, as nn.Linear does, or leave out weights_as.",
        ),
    ),
    "w_o_transposed": Convention(
        "The transpose of W_o was used.",
        "Transpose W_o, or use it as concat W_o.",
        (partial(_weights_transposed, ("W_o",)),),
        ("W_o was used as it is stored, (out, in), without a transpose.", "Transpose W_o."),
    ),
    "heads_interleaved": Convention(
        "Neighbouring features went to different heads.",
        "Cut the features into contiguous pieces: reshape to (n, heads, d), not (n, d, heads).",
        (
            partial(_heads, split_in_turns, merged_in_turns),
            partial(_heads, split_in_turns, None),
            partial(_heads, None, merged_in_turns),
        ),
    ),
    "heads_reshaped": Convention(
        "The features were cut into heads without a transpose.",
        "Reshape to (n, heads, d), then exchange the first two axes.",
        (partial(_heads, split_by_lines, None), partial(_heads, split_by_lines, merged_by_lines)),
    ),
    "heads_joined": Convention(
        "The heads were joined without a transpose.",
        "Exchange the axes of heads and tokens before the reshape to (n, heads · d).",
        (partial(_heads, None, merged_by_lines),),
    ),
    "kv_repeated": Convention(
        "The heads of keys and values were repeated as a whole, so query heads take them in turns.",
        "Repeat each head for its neighbours: repeat_interleave, not repeat.",
        (_shared_in_turns,),
    ),
    "mask_inverted": Convention(
        "The mask was read the other way: where it lets a key through, the key was blocked.",
        "Write mask: {block: …}, or exchange 0 and 1.",
        (_inverted,),
    ),
    "causal_strict": Convention(
        "The causal mask blocks a token's own key, too.",
        "Keep the diagonal: a token sees itself.",
        (_causal(lambda mask: {**mask, "offset": mask.get("offset", 0) - 1}),),
    ),
    "causal_bottom_right": Convention(
        "The causal mask is aligned at the bottom right: the last query sees every key.",
        "Write mask: {causal: true, align: bottom-right}.",
        (_causal(lambda mask: {**mask, "align": "bottom-right"}),),
    ),
    "softmax_over_queries": Convention(
        "The softmax was taken over the queries.",
        "Take it over the keys, the last axis: each row sums to 1.",
        (_summed_over_queries,),
    ),
    "not_scaled": Convention(
        "The scores were not scaled.", "Divide them by √d_k, or write scale: 1.", (_scale(None),)
    ),
    "scaled_by_d_k": Convention(
        "The scores were divided by d_k, not by √d_k.",
        "Divide them by √d_k, or write scale: 1/d_k.",
        (_scale(lambda sizes: float(sizes["d_k"])),),
    ),
    "scaled_by_sqrt_d_model": Convention(
        "The scores were divided by √d_model, not by √d_k.",
        "Take the size of one head, or write scale: 1/sqrt(d_model).",
        (_scale(lambda sizes: sqrt(sizes["d_model"])),),
    ),
    "swapped_q_k": Convention(
        "Q and K have changed places.",
        "Queries come from W_q, keys from W_k.",
        (_keys_by_queries, _projections_exchanged),
    ),
    "batch_second": Convention(
        "The first axis of X was taken for the tokens, the second for the batch.",
        "Exchange the first two axes of X, or set batch_first.",
        (_batch_second,),
    ),
}
