"""The attention of transformers' Qwen3-Next in float64, which the tests compare with `attn`.

It needs torch and transformers, and nothing of the package. The second half of each head's
columns of `q_proj` is the gate's. The norms of queries and keys, which the library works in
float32, are replaced by the same formula in float64; sdpa works in the type of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from transformers.models.qwen3_next import Qwen3NextConfig
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

SIZES = ((1, 1, 2), (2, 2, 3), (4, 2, 2), (4, 1, 1), (3, 3, 2), (2, 1, 4))
"""The heads of queries, those of keys and values, and the features of one."""

EPS = 1e-6


class Norm(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
    """Qwen3NextRMSNorm without its float32."""

    def __init__(self, weight: Any) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: Any) -> Any:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * (1.0 + self.weight)


def rows_of_heads(matrix: Any, heads: int) -> tuple[Any, Any]:
    """Return the rows of queries and those of the gate, of a weight (out, in) or a bias."""
    parts = matrix.reshape(heads, 2, -1, *matrix.shape[1:])
    return tuple(parts[:, half].reshape(-1, *matrix.shape[1:]).tolist() for half in (0, 1))


def case(seed: int, heads: int, kv_heads: int, size: int, bias: bool) -> dict[str, Any]:
    """Return the keys of a problem, and the output of the module."""
    torch.manual_seed(seed)
    n, width = 4, 5
    config = Qwen3NextConfig(
        hidden_size=width,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=size,
        attention_bias=bias,
        rms_norm_eps=EPS,
        attn_implementation="sdpa",
    )
    module = Qwen3NextAttention(config, 0).double().eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    module.q_norm, module.k_norm = Norm(module.q_norm.weight), Norm(module.k_norm.weight)
    x = torch.randn(1, n, width, dtype=torch.float64)
    angles = torch.zeros(n, size, dtype=torch.float64)
    positions = None
    if size % 2 == 0:
        waves = 100.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        angles = torch.outer(torch.arange(n, dtype=torch.float64), waves).repeat(1, 2)
        positions = {"name": "rope", "base": 100, "start": 0, "pairs": "halves"}
    mask = torch.full((n, n), -torch.inf, dtype=torch.float64).triu(1)[None, None]
    with torch.no_grad():
        output, _ = module(x, (angles.cos()[None], angles.sin()[None]), mask)
    parameters = {name: part.detach() for name, part in module.named_parameters()}
    w_q, w_gate = rows_of_heads(parameters["q_proj.weight"], heads)
    keys: dict[str, Any] = {"X": x[0].tolist(), "W_q": w_q, "gate": {"W": w_gate}}
    keys |= {f"W_{letter}": parameters[f"{letter}_proj.weight"].tolist() for letter in "kvo"}
    if bias:
        keys["b_q"], keys["gate"]["b"] = rows_of_heads(parameters["q_proj.bias"], heads)
        keys |= {f"b_{letter}": parameters[f"{letter}_proj.bias"].tolist() for letter in "kvo"}
    gains = {f"g_{side}": (1 + parameters[f"{side}_norm.weight"]).tolist() for side in "qk"}
    keys |= {"heads": heads, "kv_heads": kv_heads, "weights_as": "out_in", "mask": "causal"}
    keys |= {"qk_norm": {"name": "rms", "eps": EPS, **gains}}
    keys |= {} if positions is None else {"positions": positions}
    return {"problem": keys, "output": output[0].tolist()}


def cases() -> Iterator[Any]:
    several = (size for size in SIZES for _ in range(2))
    return (case(number, *one, bias=bool(number % 2)) for number, one in enumerate(several))


RECORDED = {"qwen3_next": cases}
