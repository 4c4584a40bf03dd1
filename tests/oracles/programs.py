"""Attention as programs write it, in short floats, with one small deviation from the formulas.

No line of the package is imported: what a dump holds is what these lines calculate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Steps = dict[str, Array]
Cast = Callable[[Array], Array]

MASKED = -1e9
"""What these programs take for −∞."""


class Layer(NamedTuple):
    """One layer and what it is applied to: tokens (batch, n, d), matrices (in, out)."""

    x: Array
    matrices: Steps  # W_q, W_k, W_v, b_q, b_k, b_v, and perhaps W_o
    heads: int
    groups: int  # how many heads keys and values have
    mask: Array | None = None  # True where a query may attend: (batch or 1, 1, n, n)
    lengths: Array | None = None  # how many tokens of each element are real, if not all

    @property
    def real(self) -> Array:
        """Which tokens are no padding, (batch, n, 1)."""
        assert self.lengths is not None
        return np.asarray(np.arange(self.x.shape[1])[:, None] < self.lengths[:, None, None])


def rounded(dtype: str) -> Cast:
    """Return the function that rounds to a type of floats, and gives them as NumPy holds them."""

    def to_bfloat16(numbers: Array) -> Array:
        bits = np.asarray(numbers, "f4").view("u4")
        return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype("u4").view("f4")

    return to_bfloat16 if dtype == "bfloat16" else lambda numbers: np.asarray(numbers, dtype)


def softmax(scores: Array, axis: int = -1) -> Array:
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def dropped(numbers: Array, rng: np.random.Generator) -> Array:
    """Return numbers after dropout, the largest of which is 0."""
    p = rng.choice([0.1, 0.2, 0.5])
    kept = (rng.random(numbers.shape) >= p) & (numbers < numbers.max())
    return np.where(kept, numbers / (1 - p), 0)


def steps_of(layer: Layer, deviation: str, dtype: str, rng: np.random.Generator) -> Steps:
    """Return Q, K, V, weights, context and output of a layer with one deviation, or with none."""
    cast = rounded(dtype)
    q, k, v = features(layer, deviation, cast)
    keys, values = (np.repeat(one, q.shape[1] // k.shape[1], axis=1) for one in (k, v))
    scores = cast(cast(q @ keys.swapaxes(-1, -2)) / np.sqrt(size_in_scale(q, v, deviation)))
    unmasked = scores
    if layer.mask is not None:
        scores = masked(scores, layer.mask, layer, deviation, rng)
    axis = {"softmax_over_heads": 1, "softmax_over_batch": 0}.get(deviation, -1)
    weights = cast(softmax(scores, axis))
    if deviation.startswith("padded_queries"):  # what softmax gives of a fill, of −∞, or 0
        others = [0.0] if deviation == "padded_queries_zeroed" else [1 / len(layer.x[0]), np.nan]
        weights = cast(np.where(layer.real[:, None], weights, rng.choice(others)))
    if deviation == "dropout_left_on":
        weights = cast(dropped(weights, rng))
    if deviation == "log_softmax" and layer.mask is None:
        weights = cast(np.log(weights))
    mixing = cast(softmax(unmasked)) if deviation == "output_before_mask" else weights
    context = cast(mixing @ values)
    output = output_of(context, layer, deviation, cast, rng)
    steps = {"Q": q, "K": k, "V": v, "weights": weights, "context": context, "output": output}
    return steps | stored(steps, layer, deviation, cast)


def features(layer: Layer, deviation: str, cast: Cast) -> list[Array]:
    """Return Q, K and V of (batch, heads, n, features of a head), from one fused matrix."""
    heads, groups = (1, 1) if deviation == "heads_ignored" else (layer.heads, layer.groups)
    w, times = layer.matrices, heads // groups
    fused, bias = (np.concatenate([w[f"{x}_{a}"] for a in "qkv"], axis=-1) for x in "Wb")
    width = w["W_q"].shape[1]
    ends = width, width + w["W_k"].shape[1]
    if deviation == "fused_in_three":  # the columns are those of q, k and v of a group together
        columns = np.split(np.arange(fused.shape[1]), ends)
        order = np.concatenate([part.reshape(groups, -1) for part in columns], axis=1).ravel()
        fused, bias = fused[:, order], bias[order]
    every = cast(cast(layer.x @ fused) + bias)
    rows = every.shape[:2]
    if deviation == "fused_per_head":  # as Falcon's: the queries of a group, its key, its value
        pieces = every.reshape(*rows, groups, times + 2, -1)
        parts = list(np.split(pieces, [times, times + 1], axis=3))
    else:
        parts = np.split(every, ends, axis=-1)
    counts = heads, groups, groups
    cut = [part.reshape(*rows, n, -1) for part, n in zip(parts, counts, strict=True)]
    if deviation == "attention_over_heads":
        return cut
    return [part.transpose(0, 2, 1, 3) for part in cut]


def size_in_scale(q: Array, v: Array, deviation: str) -> int:
    return int(v.shape[-1] if deviation == "scaled_by_sqrt_d_v" else q.shape[-1])


def masked(
    scores: Array, mask: Array, layer: Layer, deviation: str, rng: np.random.Generator
) -> Array:
    """Return scores with the layer's mask applied to them."""
    b, heads, n, _ = scores.shape
    if deviation == "mask_heads_and_batch":  # nn.MultiheadAttention takes (batch · heads, n, n)
        mask = np.tile(np.broadcast_to(mask[:, 0], (b, n, n)), (heads, 1, 1))
        mask = mask.reshape(b, heads, n, n)
    if deviation == "window_both_sides":
        i, j = np.nonzero(mask[0, 0])
        mask = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= (i - j).max()
    if deviation == "finite_fill":
        is_set = rng.random() < 0.5
        return np.where(mask, scores, -10) if is_set else scores + np.where(mask, 0, -10)
    return np.where(mask, scores, MASKED)


def output_of(
    context: Array, layer: Layer, deviation: str, cast: Cast, rng: np.random.Generator
) -> Array:
    """Return the output of a layer, (batch, n, features)."""
    joined = context if deviation == "attention_over_heads" else context.transpose(0, 2, 1, 3)
    output: Array = joined.reshape(*layer.x.shape[:2], -1)
    if "W_o" in layer.matrices:
        output = cast(output @ layer.matrices["W_o"])
    if deviation == "dropout_of_output":
        output = cast(dropped(output, rng))
    if deviation in ("input_added", "residual_and_norm"):
        output = cast(output + layer.x)
    if deviation == "residual_and_norm":
        centred = output - output.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        normed = cast(centred / np.sqrt(variance + rng.choice([1e-5, 1e-12])))
        gain, shift = cast(1 + 0.3 * rng.normal(size=(2, normed.shape[-1])))
        output = cast(cast(normed * gain) + shift)
    return np.where(layer.real, output, 0) if deviation == "padding_zeroed" else output


def stored(steps: Steps, layer: Layer, deviation: str, cast: Cast) -> Steps:
    """Return the steps that a program stores otherwise than it uses them."""
    weights = steps["weights"]
    if deviation == "weights_averaged":
        return {"weights": cast(weights.mean(axis=1))}
    if deviation == "log_softmax" and layer.mask is not None:
        logarithms = np.log(np.maximum(weights, np.finfo("f4").tiny))
        return {"weights": np.where(layer.mask, logarithms, MASKED)}
    if deviation == "heads_after_tokens":
        return {letter: steps[letter].transpose(0, 2, 1, 3) for letter in "QKV"}
    return {}
