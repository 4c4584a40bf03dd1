"""Layers with a convention, which PyTorch calculates and `attn check` names in the tests.

Each of the conventions is made in plain PyTorch, in a random layer, in float32 and bfloat16. The
tests have the layer whole, or as the weights and the output alone.
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.random import Generator

NAMES = (
    *("weights_out_in", "w_o_transposed", "heads_interleaved", "heads_reshaped", "heads_joined"),
    *("kv_repeated", "mask_inverted", "causal_strict", "causal_bottom_right"),
    *("softmax_over_queries", "not_scaled", "scaled_by_d_k", "scaled_by_sqrt_d_model"),
    *("swapped_q_k", "batch_second"),
)

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

SEED = 1
"""Of the layers that are stored; the tests judge those of any other as well."""

Arrays = dict[str, Any]


def problem(random: Generator, name: str) -> dict[str, Any]:
    """Return a random layer in which a convention shows."""
    heads = int(random.choice([2, 4])) if name != "kv_repeated" else 4
    shared = name == "kv_repeated"
    d_head, n = int(random.choice([3, 5, 8])), int(random.integers(3, 9))
    width, kv = heads * d_head, 2 if shared else heads
    m = n + int(random.integers(1, 4)) if name == "causal_bottom_right" else n
    keys: dict[str, Any] = {"heads": heads, "kv_heads": kv}
    lead = (int(random.integers(2, 4)),) if name == "batch_second" else ()
    keys["X"] = random.normal(size=(*lead, n, width))
    if m != n:
        keys |= {"kind": "cross", "memory": random.normal(size=(m, width))}
    for key, out in (("W_q", width), ("W_k", kv * d_head), ("W_v", kv * d_head), ("W_o", width)):
        keys[key] = random.normal(size=(width, out)) / width**0.5
    if name.startswith("causal"):
        keys["mask"] = {"causal": True, "align": "top-left"}
    elif name == "mask_inverted":
        keys["mask"] = {"keep": random.integers(0, 2, (n, n))}
    return keys


def layer(keys: dict[str, Any], name: str, dtype: torch.dtype) -> dict[str, Any]:
    """Return the steps of a layer, calculated by PyTorch with a convention, as arrays."""
    given = {k: torch.tensor(x).to(dtype) for k, x in keys.items() if isinstance(x, np.ndarray)}
    heads, kv = keys["heads"], keys["kv_heads"]
    x, memory = given["X"], given.get("memory", given["X"])
    if name == "batch_second":
        x = memory = x.transpose(0, 1)
    weights = {k: w.T if name == "weights_out_in" else w for k, w in given.items() if k[0] == "W"}
    if name == "w_o_transposed":
        weights["W_o"] = weights["W_o"].T

    def cut(rows: Any, count: int) -> Any:
        *lead, n, width = rows.shape
        if name == "heads_interleaved":
            return rows.reshape(*lead, n, width // count, count).movedim(-1, -3)
        if name == "heads_reshaped":
            return rows.reshape(*lead, count, n, width // count)
        return rows.reshape(*lead, n, count, width // count).transpose(-2, -3)

    sources = {"Q": (x, heads), "K": (memory, kv), "V": (memory, kv)}
    q, k, v = (cut(s @ weights[f"W_{a.lower()}"], c) for a, (s, c) in sources.items())
    steps = {"Q": q, "K": k, "V": v}
    shared = heads // kv
    if shared > 1:
        k, v = (
            part.repeat(shared, 1, 1)
            if name == "kv_repeated"
            else part.repeat_interleave(shared, dim=-3)
            for part in (k, v)
        )
    scores = k @ q.transpose(-1, -2) if name == "swapped_q_k" else q @ k.transpose(-1, -2)
    d_k = q.shape[-1]
    over = {"not_scaled": 1.0, "scaled_by_d_k": d_k, "scaled_by_sqrt_d_model": x.shape[-1] ** 0.5}
    scaled = scores / over.get(name, d_k**0.5)
    steps |= {"scores": scores, "scaled": scaled}
    keep = mask(keys, name, *scores.shape[-2:])
    if keep is not None:
        scaled = steps["masked"] = scaled.masked_fill(~keep, float("-inf"))
    along = -2 if name == "softmax_over_queries" else -1
    steps["weights"] = torch.softmax(scaled, dim=along)
    steps["context"] = steps["weights"] @ v
    joined = together(steps["context"], name)
    out = joined @ weights["W_o"]
    steps["output"] = out.transpose(0, 1) if name == "batch_second" else out
    return {k: part.float().numpy() for k, part in steps.items()}


def mask(keys: dict[str, Any], name: str, n: int, m: int) -> Any:
    """Return which keys each query sees, (n, m); None for all."""
    if "causal" in keys.get("mask", {}):
        shift = {"causal_strict": -1, "causal_bottom_right": m - n}.get(name, 0)
        return torch.arange(m)[None] - torch.arange(n)[:, None] <= shift
    if "mask" not in keys:
        return None
    keep = torch.tensor(keys["mask"]["keep"]) != 0
    return ~keep if name == "mask_inverted" else keep


def together(heads: Any, name: str) -> Any:
    """Return the heads (…, heads, n, d) side by side."""
    *lead, count, n, d = heads.shape
    if name == "heads_interleaved":
        heads = heads.movedim(-3, -1)
    elif name != "heads_joined":
        heads = heads.transpose(-2, -3)
    return heads.reshape(*lead, n, count * d)


def first_of(steps: Arrays, right: Arrays, dtype: str) -> str:
    """Return the first step whose arrays differ by more than rounding explains."""
    most = 1e-5 if dtype == "float32" else 0.05
    for name, array in steps.items():
        if array.shape != right[name].shape or not np.allclose(array, right[name], 0, most):
            return name
    return ""


def stored() -> Arrays:
    """Return a layer for each convention and type: all numbers in a row, and what they are."""
    index, numbers = [], []
    for (dtype, short), (place, name) in product(DTYPES.items(), enumerate(NAMES)):
        keys = {
            key: torch.tensor(x).to(short).float().numpy() if isinstance(x, np.ndarray) else x
            for key, x in problem(np.random.default_rng([place, SEED]), name).items()
        }
        steps, right = layer(keys, name, short), layer(keys, "", short)
        matrices = {key: x for key, x in keys.items() if isinstance(x, np.ndarray)}
        options = {key: x for key, x in keys.items() if key not in matrices}
        shapes = [{key: x.shape for key, x in some.items()} for some in (matrices, steps)]
        alone = {key: steps[key] for key in ("weights", "output")}
        first = [first_of(shown, right, dtype) for shown in (steps, alone)]
        about = {"dtype": dtype, "convention": name, "options": options, "first": first}
        index.append(about | {"shapes": shapes})
        numbers += [x.astype("f4").ravel() for x in (*matrices.values(), *steps.values())]
    text = json.dumps(index, default=lambda array: array.tolist())
    return {"index": np.array(text), "numbers": np.concatenate(numbers)}


RECORDED = {"layers/conventions.npz": stored}
