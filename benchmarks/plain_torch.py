"""What anybody writes with PyTorch in place of `attn compute`, from NPZ to NPZ.

    python plain_torch.py problem.npz output.npz

The problem is Q, K and V, with heads or without, or layers of GPT-2 with 12 heads. The benchmarks
run it beside `attn`.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import Any

import numpy as np
import torch
from torch.nn import functional


def layer(x: Any, weights: dict[str, Any]) -> Any:
    """Return what a layer of GPT-2 makes of tokens (n, d)."""
    y = functional.layer_norm(x, x.shape[-1:], weights["gain_1"], weights["shift_1"])
    q, k, v = (
        (y @ weights[f"W_{side}"] + weights[f"b_{side}"]).view(len(x), 12, -1).transpose(0, 1)[None]
        for side in "qkv"
    )
    z = functional.scaled_dot_product_attention(q, k, v, is_causal=True)[0]
    x = x + z.transpose(0, 1).reshape(len(x), -1) @ weights["W_o"] + weights["b_o"]
    y = functional.layer_norm(x, x.shape[-1:], weights["gain_2"], weights["shift_2"])
    hidden = functional.gelu(y @ weights["W_1"] + weights["b_1"], approximate="tanh")
    return x + hidden @ weights["W_2"] + weights["b_2"]


def output(arrays: Any) -> Any:
    if "Q" in arrays:
        sides = (np.atleast_3d(arrays[name]) for name in "QKV")
        q, k, v = (torch.from_numpy(x.reshape(-1, *x.shape[-2:]))[None] for x in sides)
        found = functional.scaled_dot_product_attention(q, k, v)[0]
        return found.transpose(0, 1).reshape(found.shape[1], -1)
    x = torch.from_numpy(arrays["X"])
    for number in count(1):
        start = f"layers.{number}."
        keys = [key for key in arrays if key.startswith(start)]
        if not keys:
            return x
        x = layer(x, {key.removeprefix(start): torch.from_numpy(arrays[key]) for key in keys})
    return x


if __name__ == "__main__":
    with torch.no_grad():
        np.savez(sys.argv[2], output=output(np.load(sys.argv[1])).numpy())
