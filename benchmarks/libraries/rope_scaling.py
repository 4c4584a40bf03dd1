"""The scaled frequencies of rope, and rotations in three directions, of transformers in float64."""

from __future__ import annotations

from typing import Any

import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig

from benchmarks.libraries.modules import wide

LENGTH = "original_max_position_embeddings"
YARN = {"rope_type": "yarn"}
LLAMA = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
OF_DEEPSEEK = {"beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}
OF_GPT_OSS = {"beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}
OF_TEST = {**YARN, "factor": 16.0, LENGTH: 2048}
MODELS: dict[str, tuple[int, float, dict[str, Any]]] = {
    "Vicuna-7B-16k": (128, 1e4, {"rope_type": "linear", "factor": 4.0}),
    "Llama-3.1-8B": (128, 5e5, {**LLAMA, "factor": 8.0, LENGTH: 8192}),
    "DeepSeek-V3": (64, 1e4, {**YARN, "factor": 40.0, LENGTH: 4096, **OF_DEEPSEEK}),
    "Qwen2.5-7B": (128, 1e6, {**YARN, "factor": 4.0, LENGTH: 32768}),
    "gpt-oss-20b": (64, 15e4, {**YARN, "factor": 32.0, LENGTH: 4096, **OF_GPT_OSS}),
    "two mscales": (32, 1e4, {**OF_TEST, "mscale": 1.0, "mscale_all_dim": 0.5}),
    "an attention factor": (32, 1e4, {**OF_TEST, "attention_factor": 1.5}),
}
"""The size of a head, the base and the scaling of each; the last two are of no model."""

SECTIONS = [2, 3, 3]
IDS = [[0, 1, 2, 2, 2, 5], [0, 1, 2, 2, 3, 5], [0, 1, 2, 3, 2, 5]]
"""Time, height and width of two words, three patches of a picture, and a word."""


def frequencies(size: int, base: float, scaling: dict[str, Any]) -> dict[str, Any]:
    config = LlamaConfig(
        hidden_size=size,
        num_attention_heads=1,
        head_dim=size,
        max_position_embeddings=131072,
        rope_parameters={"rope_theta": base, **scaling},
    )
    inverse, factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, None)
    rope = {"size": size, "base": base, "scaling": scaling}
    return rope | {"frequencies": inverse, "attention_factor": factor}


def in_three_directions() -> dict[str, Any]:
    config = Qwen2VLTextConfig(
        hidden_size=16,
        num_attention_heads=1,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": SECTIONS},
    )
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 1, len(IDS[0]), 16, dtype=torch.float64)
    cos, sin = qwen.Qwen2VLRotaryEmbedding(config)(q, torch.tensor(IDS)[:, None])
    turned = qwen.apply_rotary_pos_emb(q, k, cos, sin)
    names = ("Q", "K", "Q_rotated", "K_rotated")
    arrays = {n: x[0, 0] for n, x in zip(names, (q, k, *turned), strict=True)}
    return {"ids": IDS, "sections": SECTIONS, "base": 1e4, **arrays}


def dumps() -> dict[str, Any]:
    with wide():
        found = {name: frequencies(*model) for name, model in MODELS.items()}
        return {"frequencies": found, "Qwen2-VL": in_three_directions()}


RECORDED = {"dumps/rope_scaling.json": dumps}
