"""The attention of transformers' DiffLlama in float64, which the tests compare with `attn`.

It needs torch and transformers, and nothing of the package. The library calls each half a head:
the first halves of all heads come first, then the second ones, and a value is of two of its heads.
What it adds up in float32, the products of the vectors of λ, is added up in float64 here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from transformers.models.diffllama import DiffLlamaConfig
from transformers.models.diffllama.modeling_diffllama import DiffLlamaAttention

SIZES = ((1, 1, 2), (2, 2, 2), (2, 1, 4), (4, 2, 2), (3, 3, 1), (4, 1, 3))
"""The heads of queries, those of keys and values, and the features of half a head."""

EPS = 1e-5
SUM = torch.sum


def in_float64(numbers: Any, dim: int, dtype: Any = None) -> Any:
    """Return `torch.sum` in the type of its numbers."""
    del dtype
    return SUM(numbers, dim=dim)


def in_pairs(matrix: Any, heads: int) -> Any:
    """Return the rows of a weight (out, in), or of a bias, with both halves of a head together."""
    parts = matrix.reshape(2, heads, -1, *matrix.shape[1:])
    return parts.transpose(0, 1).reshape(matrix.shape).tolist()


def case(number: int, heads: int, kv_heads: int, size: int, bias: bool) -> dict[str, Any]:
    """Return the keys of a problem, and the output of the module."""
    torch.manual_seed(number)
    n, width = 4, 5
    config = DiffLlamaConfig(
        hidden_size=width,
        num_attention_heads=2 * heads,
        num_key_value_heads=2 * kv_heads,
        head_dim=size,
        attention_bias=bias,
        rms_norm_eps=EPS,
        attn_implementation="sdpa",
    )
    module = DiffLlamaAttention(config, number).double().eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    x = torch.randn(1, n, width, dtype=torch.float64)
    angles = torch.zeros(n, size, dtype=torch.float64)
    positions = {}
    if size % 2 == 0:
        waves = 100.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        angles = torch.outer(torch.arange(n, dtype=torch.float64), waves).repeat(1, 2)
        positions = {"positions": {"name": "rope", "base": 100, "start": 0, "pairs": "halves"}}
    mask = torch.full((n, n), -torch.inf, dtype=torch.float64).triu(1)[None, None]
    torch.sum = in_float64
    with torch.no_grad():
        output, _ = module(x, (angles.cos()[None], angles.sin()[None]), mask)
    torch.sum = SUM
    parameters = {name: part.detach() for name, part in module.named_parameters()}
    keys: dict[str, Any] = {"X": x[0].tolist(), "heads": heads, "kv_heads": kv_heads}
    for letter in "qkv":
        for key, name in ((f"W_{letter}", "weight"), (f"b_{letter}", "bias")):
            if (part := parameters.get(f"{letter}_proj.{name}")) is not None:
                keys[key] = in_pairs(part, heads if letter == "q" else kv_heads)
    keys["W_o"] = parameters["o_proj.weight"].tolist()
    keys |= {"b_o": parameters["o_proj.bias"].tolist()} if bias else {}
    keys |= {"weights_as": "out_in", "mask": "causal"} | positions
    keys["differential"] = {
        **{x: p.tolist() for x, p in parameters.items() if x.startswith("lambda")},
        **{"lambda_init": module.lambda_init, "norm": "rms", "eps": EPS},
    }
    return {"problem": keys, "output": output[0].tolist()}


def cases() -> Iterator[Any]:
    several = (size for size in SIZES for _ in range(2))
    return (case(number, *one, bias=bool(number % 2)) for number, one in enumerate(several))


RECORDED = {"diffllama": cases}
