"""Conventions of programs: what modules do and return, along which axis they sum, how they mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from attncli.checking.mistakes import of_masks
from attncli.checking.mistakes.convention import Arrays, Convention, Search
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import Masked
from attncli.core.attention.softmax import Exp
from attncli.core.calculation.mistake import Ways, made_by, made_of, wrong
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.evaluation import Change, Replay, sources, transform
from attncli.core.tape.operations import Divide
from attncli.core.tape.step import Expression, Step

MIN_FACTOR = 1.01
"""Minimum 1/(1 − p) that is dropout, and no error of floats. Chosen."""

MIN_DROPPED = 0.01
"""Minimum size of a dropped number, in the largest: short floats make 0 of small ones. Chosen."""

NORM_EPSILONS = (1e-5, 1e-12, 1e-6)
"""Numbers that LayerNorm adds to the variance: in PyTorch, in BERT, and in others."""

MIN_ROWS = 4
"""Minimum number of rows that show the gain and the shift of each column. Chosen."""

HEAD, TOKEN = 1, 2
"""Axes of an array of the tape, (batch, head, row, column)."""


def stored(trace: Trace, others: Mapping[str, Callable[[Array], Array]]) -> Change:
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
        right: Array = Replay(trace, instead=change)(step) if change else step.array
        left, dropped = np.isfinite(array) & (array != 0), (array == 0) & (right != 0)
        factor = np.vdot(array[left], right[left]) / (np.vdot(right[left], right[left]) or 1.0)
        lost = np.abs(right).max(where=dropped, initial=0.0)
        if lost > MIN_DROPPED * np.abs(right).max(initial=0.0) and factor > MIN_FACTOR:
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
        yield stored(trace, dict.fromkeys(every, lambda a: a.mean(axis=HEAD, keepdims=True))), {}


def _logarithms(trace: Trace, _: Arrays) -> Ways:
    """Take logarithms as the weights; or store them, and go on with the weights."""
    every = [step for step in trace if step.is_weights]
    if every:
        yield {step.name: wrong(np.log, made_of(step)) for step in every}, {}
        yield stored(trace, {step.name: np.log for step in every}), {}


def _normed(trace: Trace, arrays: Arrays) -> Ways:
    """Add the input and norm each row, in the output, with the gain and shift that it shows."""
    output, x = trace.steps.get("output"), trace.inputs.get("X")
    written = arrays.get("output")
    if output is None or x is None or written is None or output.array.shape != x.array.shape:
        return
    if np.allclose(written, written[..., :1, :], rtol=1e-2):  # which any shift gives
        return
    centred = output.array + x.array
    centred = centred - centred.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    every = [centred / np.sqrt(variance + eps) for eps in NORM_EPSILONS]
    if written.size // written.shape[-1] >= MIN_ROWS:
        every = [_fitted(normed, written) for normed in every]
    nearest = min(every, key=lambda normed: float(np.abs(normed - written).sum()))
    yield {"output": wrong(lambda _: nearest, x)}, {}


def _fitted(normed: Array, written: Array) -> Array:
    """Return γ ⊙ x + β of normed rows x, as near as each column comes to what is written."""
    axes = tuple(range(normed.ndim - 1))
    middle, wanted = (a.mean(axis=axes, keepdims=True) for a in (normed, written))
    off = normed - middle
    gain = (off * written).sum(axis=axes, keepdims=True) / (off**2).sum(axis=axes, keepdims=True)
    fitted: Array = gain * off + wanted
    return fitted


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


MAX_EXPONENT = 40.0
"""Maximum difference of two scores of which floats show the weights: e^−40 is 4 × 10⁻¹⁸."""

FILLS = (
    ("Blocked scores were set to −10", -10.0, True),
    ("Blocked scores were set to −100", -100.0, True),
    ("−10 was added to blocked scores", -10.0, False),
    # Where a query sees no key, no weight tells how large it is; e^−1000 would be 0.
    ("A large negative number was added to blocked scores", -100.0, False),
)
"""Numbers that programs take for −∞, and whether scores are set to them.

That −1 was set or added hands do, too: see `of_masks`.
"""


def _filled(trace: Trace, _: Arrays) -> Ways:
    every = [(step, masked) for step in trace if (masked := made_by(Masked, step))]
    least = min((_least_seen(step.array) for step, _ in every), default=np.inf)
    for done, fill, is_set in (one for one in FILLS if one[1] > least):

        def put(scores: Array, keep: Array, fill: float = fill, is_set: bool = is_set) -> Array:
            return np.where(keep != 0, scores, fill if is_set else scores + fill)

        change = {step.name: wrong(put, one.operand, one.mask) for step, one in every}
        yield change, {"done": done}


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
    mask = dict(trace.problem.rules.mask)
    left, right = mask.get("window", (0, 0))
    right = 0 if right < 0 and mask.get("causal") else right
    if left != right and min(left, right) >= 0:
        mask["window"] = max(left, right), max(left, right)
        mask.pop("causal", None)
        for masked in of_masks.masked_by(mask, step):
            yield {step.name: masked}, {}


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
}
"""Conventions of what modules do and return, and of how programs mask."""
