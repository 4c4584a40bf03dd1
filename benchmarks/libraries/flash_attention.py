"""FlashAttention of PyTorch in float64, which the tests compare with `online`.

It needs torch, and nothing of the package. The kernel is that of the processor,
`SDPBackend.FLASH_ATTENTION`; the derivatives are those of its backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

CASES = (
    *((4, 4, 1, 1, 2, "causal"), (4, 4, 1, 1, 2, ""), (3, 7, 1, 1, 3, "")),
    *((5, 5, 2, 2, 2, "causal"), (4, 6, 4, 2, 2, ""), (2, 9, 2, 1, 4, "matrix")),
)
"""Queries, keys, heads, those of keys and values, the size of one, and the mask."""


def case(seed: int, n: int, m: int, heads: int, kv_heads: int, size: int, mask: str) -> Any:
    """Return the keys of a problem, the output (head, row, column), and derivatives of its sum."""
    torch.manual_seed(seed)
    shapes = {"Q": (heads, n), "K": (kv_heads, m), "V": (kv_heads, m)}
    parts = {
        name: (torch.randn(1, *shape, size, dtype=torch.float64) * 1.5).requires_grad_()
        for name, shape in shapes.items()
    }
    upstream = torch.randn(1, heads, n, size, dtype=torch.float64)
    keep = (torch.rand(n, m) < 0.7) | (torch.arange(m) == 0) if mask == "matrix" else None
    repeated = [parts[name].repeat_interleave(heads // kv_heads, 1) for name in "KV"]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        output = scaled_dot_product_attention(
            parts["Q"], *repeated, attn_mask=keep, is_causal=mask == "causal"
        )
        output.backward(upstream)
    keys: dict[str, Any] = {x: part[0] if heads > 1 else part[0, 0] for x, part in parts.items()}
    keys |= {"heads": heads, "kv_heads": kv_heads} if heads > 1 else {}
    if mask:
        keys["mask"] = "causal" if keep is None else keep.int()
    gradient = upstream[0].transpose(0, 1).reshape(n, -1)  # heads side by side
    derivatives = {f"d_{name}": part.grad[0] for name, part in parts.items()}
    return {"problem": keys, "output": output[0], "gradient": gradient, **derivatives}


def cases() -> list[Any]:
    return [case(seed, *about) for seed, about in enumerate(CASES)]


RECORDED = {"recorded/flash_attention.jsonl": cases}
