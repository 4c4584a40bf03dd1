"""The scaled frequencies of rope, and rotations in three directions, of transformers in float64.

    python -m benchmarks.libraries.rope_scaling

It needs torch and transformers (`pip install 'attncli[peers]'`), which name float32 themselves;
here the names mean float64. What they give is written to tests/data/dumps/rope_scaling.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[2] / "tests" / "data" / "dumps" / "rope_scaling.json"

LENGTH = "original_max_position_embeddings"
MODELS: dict[str, tuple[int, float, dict[str, Any]]] = {
    "Vicuna-7B-16k": (128, 1e4, {"rope_type": "linear", "factor": 4.0}),
    "Llama-3.1-8B": (
        128,
        5e5,
        {
            **{"rope_type": "llama3", "factor": 8.0, LENGTH: 8192},
            **{"low_freq_factor": 1.0, "high_freq_factor": 4.0},
        },
    ),
    "DeepSeek-V3": (
        64,
        1e4,
        {
            **{"rope_type": "yarn", "factor": 40.0, LENGTH: 4096, "beta_fast": 32},
            **{"beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0},
        },
    ),
    "Qwen2.5-7B": (128, 1e6, {"rope_type": "yarn", "factor": 4.0, LENGTH: 32768}),
    "gpt-oss-20b": (
        64,
        15e4,
        {
            **{"rope_type": "yarn", "factor": 32.0, LENGTH: 4096, "beta_fast": 32.0},
            **{"beta_slow": 1.0, "truncate": False},
        },
    ),
    "two mscales": (
        32,
        1e4,
        {
            **{"rope_type": "yarn", "factor": 16.0, LENGTH: 2048},
            **{"mscale": 1.0, "mscale_all_dim": 0.5},
        },
    ),
    "an attention factor": (
        32,
        1e4,
        {"rope_type": "yarn", "factor": 16.0, LENGTH: 2048, "attention_factor": 1.5},
    ),
}
"""The size of a head, the base and the scaling of each; the last two are of no model."""

SECTIONS = [2, 3, 3]
IDS = [[0, 1, 2, 2, 2, 5], [0, 1, 2, 2, 3, 5], [0, 1, 2, 3, 2, 5]]
"""Time, height and width of two words, three patches of a picture, and a word."""


def frequencies() -> dict[str, Any]:
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    result = {}
    for name, (size, base, scaling) in MODELS.items():
        config = LlamaConfig(
            hidden_size=size,
            num_attention_heads=1,
            head_dim=size,
            max_position_embeddings=131072,
            rope_parameters={"rope_theta": base, **scaling},
        )
        inverse, factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, None)
        rope = {"size": size, "base": base, "scaling": scaling}
        result[name] = rope | {"frequencies": inverse.tolist(), "attention_factor": factor}
    return result


def in_three_directions(torch: Any) -> dict[str, Any]:
    from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig

    config = Qwen2VLTextConfig(
        hidden_size=16,
        num_attention_heads=1,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": SECTIONS},
    )
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 1, len(IDS[0]), 16)
    embedding = qwen.Qwen2VLRotaryEmbedding(config)
    cos, sin = embedding(q, torch.tensor(IDS)[:, None])
    turned = qwen.apply_rotary_pos_emb(q, k, cos, sin)
    names = ("Q", "K", "Q_rotated", "K_rotated")
    arrays = {n: x[0, 0].tolist() for n, x in zip(names, (q, k, *turned), strict=True)}
    return {"ids": IDS, "sections": SECTIONS, "base": 1e4, **arrays}


def main() -> None:
    import torch

    torch.set_default_dtype(torch.float64)
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    dumps = {"frequencies": frequencies(), "Qwen2-VL": in_three_directions(torch)}
    OUT.write_text(json.dumps(dumps, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
