"""FlashAttention of PyTorch in float64, which the tests compare with `online`.

It needs torch, and nothing of the package. The kernel is that of the processor,
`SDPBackend.FLASH_ATTENTION`; the derivatives are those of its backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    shapes = ((heads, n), (kv_heads, m), (kv_heads, m))
    parts = [torch.randn(1, *one, size, dtype=torch.float64) * 1.5 for one in shapes]
    q, k, v = (one.requires_grad_() for one in parts)
    upstream = torch.randn(1, heads, n, size, dtype=torch.float64)
    keep = (torch.rand(n, m) < 0.7) | (torch.arange(m) == 0) if mask == "matrix" else None
    repeated = [one.repeat_interleave(heads // kv_heads, 1) for one in (k, v)]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        output = scaled_dot_product_attention(
            q, *repeated, attn_mask=keep, is_causal=mask == "causal"
        )
        output.backward(upstream)
    keys: dict[str, Any] = {
        name: one[0].tolist() if heads > 1 else one[0, 0].tolist()
        for name, one in zip("QKV", (q.detach(), k.detach(), v.detach()), strict=True)
    }
    keys |= {"heads": heads, "kv_heads": kv_heads} if heads > 1 else {}
    keys |= {"mask": "causal"} if mask == "causal" else {}
    keys |= {"mask": keep.int().tolist()} if keep is not None else {}
    derivatives = {f"d_{n}": one.grad[0].tolist() for n, one in zip("QKV", (q, k, v), strict=True)}
    upstream = upstream[0].transpose(0, 1).reshape(n, -1)  # heads side by side
    found = output.detach()[0].tolist()
    return {"problem": keys, "output": found, "gradient": upstream.tolist(), **derivatives}


def cases() -> Iterator[Any]:
    return (case(seed, *about) for seed, about in enumerate(CASES))


RECORDED = {"flash_attention": cases}
