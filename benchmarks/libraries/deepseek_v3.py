"""The attention of transformers' DeepSeek-V3 in float64, which the tests compare with `attn`.

It needs torch and transformers, which name float32 themselves; here the names mean float64. The
rows of `kv_a_proj_with_mqa` are those of c_kv, then of the rotary part; those of `q_b_proj` (or
`q_proj`) and `kv_b_proj` are, of each head, those of its content part, then of the rotary part or
the values. With yarn the library also multiplies the scores by mscale², which is in `scale`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import log
from typing import Any

SIZES = ((1, 2, 2, 2), (2, 2, 4, 1), (3, 1, 2, 3), (2, 3, 6, 2))
"""The heads, d_h, d_r and d_v of a problem."""

WIDTH, TOKENS, OF_QUERIES, OF_KEYS = 5, 4, 3, 4
"""d_model, n, and the sizes of c_q and c_kv."""

YARN = {
    "factor": 40.0,
    "original_max_position_embeddings": 64,
    "mscale": 1.0,
    "mscale_all_dim": 0.707,
}


def of_heads(matrix: Any, heads: int, first: int) -> tuple[Any, Any]:
    """Return the first rows of each head, and the others, of a weight (out, in)."""
    parts = matrix.reshape(heads, -1, matrix.shape[-1])
    return parts[:, :first].flatten(0, 1).tolist(), parts[:, first:].flatten(0, 1).tolist()


def case(torch: Any, seed: int, sizes: tuple[int, ...], compresses: bool, yarn: bool) -> Any:
    """Return the keys of a problem, and the output of the module."""
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
    from transformers.models.deepseek_v3.configuration_deepseek_v3 import DeepseekV3Config

    heads, d_h, d_r, d_v = sizes
    torch.manual_seed(seed)
    rope = {"rope_type": "yarn", **YARN} if yarn else {"rope_type": "default"}
    pairs = "neighbours" if seed % 3 else "halves"
    config = DeepseekV3Config(
        hidden_size=WIDTH,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        q_lora_rank=OF_QUERIES if compresses else None,
        kv_lora_rank=OF_KEYS,
        qk_nope_head_dim=d_h,
        qk_rope_head_dim=d_r,
        v_head_dim=d_v,
        rope_interleave=pairs == "neighbours",
        rope_parameters={"rope_theta": 100.0, **rope},
        attn_implementation="eager",
    )
    module = deepseek.DeepseekV3Attention(config, 0).double().eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    x = torch.randn(1, TOKENS, WIDTH, dtype=torch.float64)
    turns = deepseek.DeepseekV3RotaryEmbedding(config)(x, torch.arange(TOKENS)[None])
    mask = torch.full((TOKENS, TOKENS), -torch.inf, dtype=torch.float64).triu(1)[None, None]
    with torch.no_grad():
        output, _ = module(x, turns, mask)
    weights = {name: part.detach() for name, part in module.named_parameters()}
    keys: dict[str, Any] = {"kind": "latent", "X": x[0].tolist(), "heads": heads}
    keys |= {"mask": "causal", "weights_as": "out_in", "latent_norm": "rms"}
    whole = weights["kv_a_proj_with_mqa.weight"]
    keys["W_dkv"], keys["W_kr"] = whole[:OF_KEYS].tolist(), whole[OF_KEYS:].tolist()
    keys["W_uk"], keys["W_uv"] = of_heads(weights["kv_b_proj.weight"], heads, d_h)
    keys["gain_kv"] = weights["kv_a_layernorm.weight"].tolist()
    name, key = ("q_b_proj", "W_uq") if compresses else ("q_proj", "W_q")
    keys[key], keys["W_qr"] = of_heads(weights[f"{name}.weight"], heads, d_h)
    if compresses:
        keys["W_dq"] = weights["q_a_proj.weight"].tolist()
        keys["gain_q"] = weights["q_a_layernorm.weight"].tolist()
    keys["W_o"] = weights["o_proj.weight"].tolist()
    keys["positions"] = {"name": "rope", "base": 100, "pairs": pairs}
    if yarn:
        keys["positions"]["scaling"] = {"kind": "yarn", **YARN}
        mscale = 0.1 * YARN["mscale_all_dim"] * log(YARN["factor"]) + 1
        keys["scale"] = f"{mscale**2!r}/sqrt(d_k)"
    return {"problem": keys, "output": output[0].tolist()}


def cases() -> Iterator[Any]:
    import torch

    torch.float32 = torch.float = torch.float64
    ways = product(SIZES, (True, False), (False, True))
    return (case(torch, seed, *way) for seed, way in enumerate(ways))


RECORDED = {"deepseek_v3": cases}
