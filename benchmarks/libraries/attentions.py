"""Modules of attention of transformers in float64: Qwen3-Next, DiffLlama and DeepSeek-V3.

- Qwen3-Next: the second half of each head's columns of `q_proj` is the gate's.
- DiffLlama calls each half a head: the first halves of all heads come first, then the second ones,
  and a value is of two of its heads.
- DeepSeek-V3: the rows of `kv_a_proj_with_mqa` are those of c_kv, then of the rotary part; those of
  `q_b_proj` (or `q_proj`) and `kv_b_proj` are, of each head, those of its content part, then of the
  rotary part or the values. With yarn the library also multiplies the scores by mscale², which is
  in `scale`.
"""

from __future__ import annotations

from itertools import product
from math import log
from typing import Any

import torch
from transformers import DeepseekV3Config, DiffLlamaConfig, Qwen3NextConfig
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
from transformers.models.diffllama.modeling_diffllama import DiffLlamaAttention
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

from benchmarks.libraries.modules import angles, causal, drawn, of_heads, tokens, wide

Keys = dict[str, Any]
Weights = dict[str, Any]

N, WIDTH, EPS = 4, 5, {"qwen3_next": 1e-6, "diffllama": 1e-5}
SIZES = {
    "qwen3_next": ((1, 1, 2), (2, 2, 3), (4, 2, 2), (4, 1, 1), (3, 3, 2), (2, 1, 4)),
    "diffllama": ((1, 1, 2), (2, 2, 2), (2, 1, 4), (4, 2, 2), (3, 3, 1), (4, 1, 3)),
}
"""The heads of queries, those of keys and values, and the features of one, or of half a head."""


def case(name: str, number: int, heads: int, kv_heads: int, size: int) -> Keys:
    """Return the keys of a problem, and the output of a module; every second one has biases."""
    torch.manual_seed(number)
    halves = 2 if name == "diffllama" else 1
    about = {
        "hidden_size": WIDTH,
        "num_attention_heads": halves * heads,
        "num_key_value_heads": halves * kv_heads,
        "head_dim": size,
        "attention_bias": bool(number % 2),
        "rms_norm_eps": EPS[name],
        "attn_implementation": "sdpa",
    }
    if name == "diffllama":
        module = drawn(DiffLlamaAttention(DiffLlamaConfig(**about), number))
    else:
        module = drawn(Qwen3NextAttention(Qwen3NextConfig(**about), 0))
    x, is_turned = tokens(N, WIDTH), size % 2 == 0
    unturned = torch.ones(1, N, size, dtype=torch.float64), torch.zeros(1, N, size)
    with torch.no_grad(), wide():
        output, _ = module(x, angles(N, size, 100.0) if is_turned else unturned, causal(N))
    keys: Keys = {"X": x[0], "heads": heads, "kv_heads": kv_heads}
    keys |= {"weights_as": "out_in", "mask": "causal"}
    if is_turned:
        keys["positions"] = {"name": "rope", "base": 100, "start": 0, "pairs": "halves"}
    read = of_diffllama if name == "diffllama" else of_qwen
    return {"problem": keys | read(module, heads, kv_heads, size), "output": output[0]}


def of_projections(module: Any) -> Weights:
    """Return the weights and biases of the projections as the keys of a problem."""
    found = {}
    for letter in "qkvo":
        projection = getattr(module, f"{letter}_proj")
        found[f"W_{letter}"] = projection.weight
        if projection.bias is not None:
            found[f"b_{letter}"] = projection.bias
    return found


def of_qwen(module: Any, heads: int, kv_heads: int, size: int) -> Keys:
    keys: Keys = of_projections(module)
    keys["W_q"], gate = of_heads(keys["W_q"], heads, size)
    keys["gate"] = {"W": gate}
    if "b_q" in keys:
        keys["b_q"], keys["gate"]["b"] = of_heads(keys["b_q"], heads, size)
    gains = {"g_q": 1 + module.q_norm.weight, "g_k": 1 + module.k_norm.weight}
    return keys | {"qk_norm": {"name": "rms", "eps": EPS["qwen3_next"], **gains}}


def of_diffllama(module: Any, heads: int, kv_heads: int, size: int) -> Keys:
    def paired(weight: Any, count: int) -> Any:
        """Return the rows of a weight (out, in), or of a bias, with both halves of a head."""
        parts = weight.reshape(2, count, size, *weight.shape[1:])
        return parts.transpose(0, 1).reshape(weight.shape)

    counts = {"q": heads, "k": kv_heads, "v": kv_heads}
    keys: Keys = {
        key: paired(weight, counts[key[-1]]) if key[-1] in counts else weight
        for key, weight in of_projections(module).items()
    }
    vectors = {name: x for name, x in module.named_parameters() if name.startswith("lambda")}
    about = {"lambda_init": module.lambda_init, "norm": "rms", "eps": EPS["diffllama"]}
    return keys | {"differential": vectors | about}


LATENT_SIZES = ((1, 2, 2, 2), (2, 2, 4, 1), (3, 1, 2, 3), (2, 3, 6, 2))
"""The heads, d_h, d_r and d_v of a problem."""

OF_QUERIES, OF_KEYS = 3, 4
"""The sizes of c_q and c_kv."""

YARN = {"factor": 40.0, "original_max_position_embeddings": 64}
YARN |= {"mscale": 1.0, "mscale_all_dim": 0.707}


def latent(seed: int, sizes: tuple[int, ...], compresses: bool, yarn: bool) -> Keys:
    """Return the keys of a problem, and the output of DeepSeek's module."""
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
    module = drawn(deepseek.DeepseekV3Attention(config, 0))
    x = tokens(N, WIDTH)
    with torch.no_grad(), wide():
        turns = deepseek.DeepseekV3RotaryEmbedding(config)(x, torch.arange(N)[None])
        output, _ = module(x, turns, causal(N))
    keys: Keys = {"kind": "latent", "X": x[0], "heads": heads, "W_o": module.o_proj.weight}
    keys |= {"mask": "causal", "weights_as": "out_in", "latent_norm": "rms"}
    keys["W_dkv"], keys["W_kr"] = module.kv_a_proj_with_mqa.weight.split((OF_KEYS, d_r))
    keys["W_uk"], keys["W_uv"] = of_heads(module.kv_b_proj.weight, heads, d_h)
    keys["gain_kv"] = module.kv_a_layernorm.weight
    if compresses:
        keys["W_uq"], keys["W_qr"] = of_heads(module.q_b_proj.weight, heads, d_h)
        keys |= {"W_dq": module.q_a_proj.weight, "gain_q": module.q_a_layernorm.weight}
    else:
        keys["W_q"], keys["W_qr"] = of_heads(module.q_proj.weight, heads, d_h)
    keys["positions"] = {"name": "rope", "base": 100, "pairs": pairs}
    if yarn:
        keys["positions"]["scaling"] = {"kind": "yarn", **YARN}
        mscale = 0.1 * YARN["mscale_all_dim"] * log(YARN["factor"]) + 1
        keys["scale"] = f"{mscale**2!r}/sqrt(d_k)"
    return {"problem": keys, "output": output[0]}


def like_llama(name: str) -> list[Keys]:
    several = [sizes for sizes in SIZES[name] for _ in range(2)]
    return [case(name, number, *sizes) for number, sizes in enumerate(several)]


def of_deepseek() -> list[Keys]:
    ways = product(LATENT_SIZES, (True, False), (False, True))
    return [latent(seed, *way) for seed, way in enumerate(ways)]


RECORDED = {
    "recorded/deepseek_v3.jsonl": of_deepseek,
    "recorded/diffllama.jsonl": lambda: like_llama("diffllama"),
    "recorded/qwen3_next.jsonl": lambda: like_llama("qwen3_next"),
}
