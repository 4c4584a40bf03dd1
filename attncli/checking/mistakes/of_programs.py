"""Conventions and mistakes of programs: modules, layouts, masks, and what is stored of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from attncli.checking.mistakes import lines_of_numpy, of_places
from attncli.checking.mistakes.convention import Arrays, Convention, Search, Whole
from attncli.checking.mistakes.of_weights import merged_by_lines
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import Masked, kept
from attncli.core.attention.scores import MergeHeads
from attncli.core.attention.softmax import Exp
from attncli.core.calculation.mistake import (
    Nodes,
    Ways,
    is_mixture,
    is_weight,
    made_by,
    made_of,
    rewritten_steps,
    wrong,
)
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.evaluation import Change, Replay, sources, transform, walk
from attncli.core.tape.operations import Divide
from attncli.core.tape.step import Expression, Step

MIN_FACTOR = 1.01
"""Minimum 1/(1 − p) that is dropout, and no error of floats. Chosen."""

NORM_EPSILONS = (1e-5, 1e-12, 1e-6)
"""Numbers that LayerNorm adds to the variance: in PyTorch, in BERT, and in others."""

HEAD, TOKEN = 1, 2
"""Axes of an array of the tape, (batch, head, row, column)."""


def _stored(trace: Trace, others: Mapping[str, Callable[[Array], Array]]) -> Change:
    """Return the change in which some steps are stored otherwise, and later ones are right."""

    def as_it_is(part: Step) -> Expression:
        is_other = part.operation is not None and part.name in others
        return transform(made_of(part), as_it_is) if is_other else part

    right: dict[str, Expression] = {
        step.name: transform(step.operation, as_it_is) for step in trace if step.operation
    }
    later = {name: one for name, one in right.items() if one is not trace[name].operation}
    return later | {name: wrong(other, right[name]) for name, other in others.items()}


# ---- the module


def _dropped(trace: Trace, arrays: Arrays) -> Ways:
    """Take the numbers times 1/(1 − p), or 0 where the program has 0; in the output, too."""
    change, words = dict[str, Expression](), dict[str, str]()
    for step in trace:
        if step.name not in arrays or not (step.is_weights or step.plain == "output"):
            continue
        array = arrays[step.name]
        right: Array = Replay(trace, instead=change)(step)
        left, dropped = np.isfinite(array) & (array != 0), (array == 0) & (right != 0)
        factor = np.vdot(array[left], right[left]) / (np.vdot(right[left], right[left]) or 1.0)
        if dropped.any() and factor > MIN_FACTOR:
            change[step.name] = wrong(
                lambda numbers, dropped=dropped, factor=factor: np.where(
                    dropped, 0.0, factor * numbers
                ),
                made_of(step),
            )
            words.setdefault("p", f"{1 - 1 / factor:.2g}")
    if change:
        yield change, words


def _averaged(trace: Trace, _: Arrays) -> Ways:
    every = [step.name for step in trace if step.is_weights and "head" in step.leading]
    if every:
        yield _stored(trace, dict.fromkeys(every, lambda a: a.mean(axis=HEAD, keepdims=True))), {}


def _logarithms(trace: Trace, _: Arrays) -> Ways:
    """Take logarithms as the weights; or store them, and go on with the weights."""
    every = [step for step in trace if step.is_weights]
    if every:
        yield {step.name: wrong(np.log, made_of(step)) for step in every}, {}
        yield _stored(trace, {step.name: np.log for step in every}), {}


def _normed(trace: Trace, _: Arrays) -> Ways:
    """Add the input and norm each row, in the output."""
    for eps in NORM_EPSILONS if "X" in trace.inputs and "output" in trace else ():

        def norm(output: Array, x: Array, eps: float = eps) -> Array:
            centred = output + x - (output + x).mean(axis=-1, keepdims=True)
            normed: Array = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
            return normed

        yield {"output": wrong(norm, made_of(trace["output"]), trace.inputs["X"])}, {}


# ---- softmax


def _softmax_along(axis: int) -> Search:
    def softmax(scores: Array) -> Array:
        most = scores.max(axis=axis, keepdims=True)
        powers = np.exp(np.where(most == -np.inf, 0.0, scores - most))  # of a fill, all alike
        shares: Array = powers / powers.sum(axis=axis, keepdims=True)
        return shares

    def search(step: Step, trace: Trace) -> Ways:
        division = made_by(Divide, step) if step.is_weights else None
        power = made_by(Exp, division.dividend) if division else None
        if power and step.array.shape[axis] > 1:
            yield {step.name: wrong(softmax, power.operand)}, {}

    return search


# ---- the mask


def _mask_in_turns(step: Step, trace: Trace) -> Ways:
    """Take the masks of (heads, batch) as those of (batch, heads), which are as many."""

    def exchanged(mask: Array) -> Array:
        whole: Array = np.broadcast_to(mask, (*step.array.shape[:TOKEN], *mask.shape[TOKEN:]))
        return whole.swapaxes(0, HEAD).reshape(whole.shape)

    if (masked := made_by(Masked, step)) and min(step.array.shape[:TOKEN]) > 1:
        yield {step.name: replace(masked, mask=wrong(exchanged, masked.mask))}, {}


def _is_padding(mask: Array) -> Array:
    """Return which tokens no query may attend to, (batch, heads, n, 1)."""
    is_padding: Array = (mask == 0).all(axis=-2, keepdims=True)
    return is_padding.swapaxes(-1, -2)


def _padded_queries_blocked(step: Step, trace: Trace) -> Ways:
    masked, (n, m) = made_by(Masked, step), step.array.shape[-2:]
    if masked and n == m:
        both = wrong(lambda mask: np.where(_is_padding(mask), 0.0, mask), masked.mask)
        yield {step.name: replace(masked, mask=both)}, {}


def _padding_zeroed(step: Step, trace: Trace) -> Ways:
    mask = trace.inputs.get("mask")
    if mask is not None and step.plain == "output" and mask.array.shape[-2] == mask.array.shape[-1]:
        padding = _is_padding(mask.array).all(axis=HEAD, keepdims=True)
        yield {step.name: wrong(lambda x: np.where(padding, 0.0, x), made_of(step))}, {}


SET, ADDED = "Blocked scores were set to {}", "{} was added to blocked scores"

MAX_EXPONENT = 40.0
"""Maximum difference of two scores of which floats show the weights: e^−40 is 4 × 10⁻¹⁸."""

FILLS = (
    *((SET, fill) for fill in (-10.0, -100.0, -1e3, -1e4)),
    *((ADDED, fill) for fill in (-10.0, -100.0, -1e3, -1e4, -1e9)),
)
"""Numbers that programs take for −∞. That −1 was set or added hands do, too: see `of_places`."""


def _filled(trace: Trace, _: Arrays) -> Ways:
    every = [(step, masked) for step in trace if (masked := made_by(Masked, step))]
    least = min((_least_seen(step.array) for step, _ in every), default=np.inf)
    for done, fill in (one for one in FILLS if one[1] > least):

        def put(scores: Array, keep: Array, done: str = done, fill: float = fill) -> Array:
            return np.where(keep != 0, scores, fill if done == SET else scores + fill)

        change = {step.name: wrong(put, one.operand, one.mask) for step, one in every}
        yield change, {"done": done.format(f"−{-fill:g}")}


def _least_seen(masked: Array) -> float:
    """Return the number below which a fill gives no weight; where a query sees no key, any does."""
    if (masked == -np.inf).all(axis=-1).any():
        return -np.inf
    return float(masked.min(where=masked > -np.inf, initial=np.inf)) - MAX_EXPONENT


def _unmasked(part: Step) -> Expression:
    """Return a step of the weights as it is without a mask."""
    if masked := made_by(Masked, part):
        return masked.operand
    is_later = part.operation is not None and part.plain.startswith(("weights", "exp", "sum"))
    return transform(made_of(part), _unmasked) if is_later else part


def _mixed_before_mask(trace: Trace, arrays: Arrays) -> Ways:
    """Mix the values by weights without the mask, where those that are stored have it."""
    change: dict[str, Expression] = {}
    for step in trace if any(made_by(Masked, step) for step in trace) else ():
        if any(part.is_weights and part.name in arrays for part in sources(step)):
            change[step.name] = transform(
                made_of(step), lambda part: _unmasked(part) if part.is_weights else part
            )
    if change:
        yield change, {}


def _window_on_both_sides(step: Step, trace: Trace) -> Ways:
    masked, mask = made_by(Masked, step), dict(trace.problem.rules.mask)
    left, right = mask.get("window", (0, 0))
    if masked and left != right and min(left, right) >= 0:
        mask["window"] = max(left, right), max(left, right)
        mask.pop("causal", None)
        n, m = step.array.shape[-2:]
        keep = kept(mask, n, m)
        keep = np.ones((1, 1, n, m)) if keep is None else keep.astype(float)
        yield {step.name: of_places.with_mask(masked, keep)}, {}


# ---- the heads


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
            yield _stored(trace, dict.fromkeys(names, _heads_exchanged)), {}


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


OF_PROGRAMS: dict[str, Convention] = {
    "dropout_left_on": Convention(
        "Dropout was left on: some numbers are 0, the others 1/(1 − p) times too large, p = {p}.",
        "Call .eval() before you compare, or set dropout to 0.",
        whole=_dropped,
    ),
    "weights_averaged": Convention(
        "The weights that were stored are the mean over the {heads} heads.",
        "Ask for those of each head: average_attn_weights=False of nn.MultiheadAttention.",
        whole=_averaged,
    ),
    "log_softmax": Convention(
        "The logarithms of the weights were taken, as log_softmax gives them.",
        "Take softmax, or exp of them: the weights of a query sum to 1.",
        whole=_logarithms,
    ),
    "softmax_over_heads": Convention(
        "The softmax was taken over the heads.",
        "Take it over the keys, the last axis (dim=-1): each row sums to 1.",
        (_softmax_along(HEAD),),
    ),
    "softmax_over_batch": Convention(
        "The softmax was taken over the batch.",
        "Take it over the keys, the last axis (dim=-1): each row sums to 1.",
        (_softmax_along(0),),
    ),
    "mask_heads_and_batch": Convention(
        "The masks of batch × heads are in the other order: those of one head come together.",
        "Repeat the mask of each element for its heads: repeat_interleave(heads, dim=0).",
        (_mask_in_turns,),
    ),
    "padding_zeroed": Convention(
        "Only rows of padding differ: they were set to 0 in the output.",
        "Compare only the rows of real tokens, or leave those of padding as they are.",
        (_padding_zeroed,),
    ),
    "padded_queries_blocked": Convention(
        "Only rows of padding differ: the mask blocks queries that are padding, too.",
        "Block padded keys alone, with a mask of (batch, 1, 1, m), or leave those rows out.",
        (_padded_queries_blocked,),
    ),
    "finite_fill": Convention(
        "{done}, which leaves blocked keys some weight.",
        "Set them to −∞, or to torch.finfo(dtype).min: e^−∞ = 0.",
        whole=_filled,
    ),
    "output_before_mask": Convention(
        "The weights that mix the values have no mask, those that were stored have one.",
        "Mix the values by the masked weights.",
        whole=_mixed_before_mask,
    ),
    "window_both_sides": Convention(
        "The window is open on both sides of a query, also to what comes after it.",
        "Let it reach as far as window says on each side, and combine it with the causal mask.",
        (_window_on_both_sides,),
    ),
    "residual_and_norm": Convention(
        "The output has the input added and is normalised, as that of a whole BERT layer.",
        "Take the output before the residual and the LayerNorm.",
        whole=_normed,
    ),
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
"""Conventions of what modules do and return, and of how arrays lie in memory."""
