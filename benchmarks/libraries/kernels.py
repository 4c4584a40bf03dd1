"""FlashAttention and FlexAttention of PyTorch in float64, which the tests compare with `attn`.

It needs torch, and nothing of the package. FlashAttention, which is compared with `online`, is the
kernel of the processor, `SDPBackend.FLASH_ATTENTION`, and the derivatives those of its backward
pass. The functions that FlexAttention is given count from 0, as those of its documentation (Dong et
al. 2024, section 4) do, and the expressions from 1.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

CASES = (
    *((4, 4, 1, 1, 2, "causal"), (4, 4, 1, 1, 2, ""), (3, 7, 1, 1, 3, "")),
    *((5, 5, 2, 2, 2, "causal"), (4, 6, 4, 2, 2, ""), (2, 9, 2, 1, 4, "matrix")),
)
"""Queries, keys, heads, those of keys and values, the size of one, and the mask."""


def flash_case(seed: int, n: int, m: int, heads: int, kv_heads: int, size: int, mask: str) -> Any:
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


TOKENS, HEADS, SIZE = 7, 4, 3
DOCUMENT = [0, 0, 0, 1, 1, 2, 2]
OF_TOKENS = torch.tensor(DOCUMENT)

MASKS: dict[str, Any] = {
    "j <= i": lambda b, h, q, k: q >= k,
    "0 <= i - j <= 2": lambda b, h, q, k: (q >= k) & (q - k <= 2),
    "j <= 3 or j <= i": lambda b, h, q, k: (k < 3) | (q >= k),
    "document[i] == document[j]": lambda b, h, q, k: OF_TOKENS[q] == OF_TOKENS[k],
    "j <= i and document[i] == document[j]": (
        lambda b, h, q, k: (q >= k) & (OF_TOKENS[q] == OF_TOKENS[k])
    ),
    "(i - 1) // 3 == (j - 1) // 3": lambda b, h, q, k: q // 3 == k // 3,
    "(i - j) % 2 == 0": lambda b, h, q, k: (q - k) % 2 == 0,
    "abs(i - j) < 3 and not (i == j and i > 1)": (
        lambda b, h, q, k: ((q - k).abs() < 3) & ~((q == k) & (q > 0))
    ),
}
BIASES: dict[str, Any] = {
    "j - i": lambda s, b, h, q, k: s + (k - q),
    "-2^(-2*h)*(i - j)": lambda s, b, h, q, k: s - torch.exp2(-2.0 * (h + 1)) * (q - k),
    "-0.5*abs(i - j) + 0.25*h": lambda s, b, h, q, k: s - 0.5 * (q - k).abs() + 0.25 * (h + 1),
    "-3*(document[i] != document[j])": (
        lambda s, b, h, q, k: s - 3.0 * (OF_TOKENS[q] != OF_TOKENS[k])
    ),
}


def flex_cases() -> list[dict[str, Any]]:
    """Return problems of each mask and bias, and the output of each head side by side."""
    warnings.simplefilter("ignore")  # it works without torch.compile, if slower
    found = []
    for seed, (written, function) in enumerate((MASKS | BIASES).items()):
        torch.manual_seed(seed)
        q, k, v = torch.randn(3, 1, HEADS, TOKENS, SIZE, dtype=torch.float64)
        keys: dict[str, Any] = {"Q": q[0], "K": k[0], "V": v[0], "heads": HEADS}
        keys |= {"document": DOCUMENT} if "document" in written else {}
        if written in MASKS:
            mask = create_block_mask(function, 1, HEADS, TOKENS, TOKENS, device="cpu")
            output, keys["mask"] = flex_attention(q, k, v, block_mask=mask), {"when": written}
        else:
            output, keys["bias"] = flex_attention(q, k, v, score_mod=function), written
        rows = output[0].transpose(0, 1).reshape(TOKENS, -1)
        found.append({"problem": keys, "output": rows})
    return found


RECORDED = {
    "recorded/flash_attention.jsonl": lambda: [
        flash_case(seed, *about) for seed, about in enumerate(CASES)
    ],
    "recorded/flex_attention.jsonl": flex_cases,
}
