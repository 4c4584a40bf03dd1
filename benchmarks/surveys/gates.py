"""Every step of random problems with gates beside 50 digits.

`python -m benchmarks.surveys.gates 200` tries so many, and prints how many there were; with
`--record` it writes those of the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.surveys.recorded_problems import main
from tests.mechanisms.table import RECORDED, Keys


def draw(rng: np.random.Generator) -> Keys:
    """Return a random problem with a gate, per head or per feature."""
    heads = int(rng.choice([1, 2, 4]))
    kv_heads = heads if rng.random() < 0.6 else max(heads // 2, 1)
    n, is_cross = int(rng.integers(1, 5)), rng.random() < 0.3
    m, width, d, d_v = (int(rng.integers(1, 5)) for _ in range(4))

    def matrix(*shape: int) -> Any:
        return np.round(rng.uniform(-3, 3, shape), 2).tolist()

    keys: Keys = {"X": matrix(n, width), "heads": heads, "kv_heads": kv_heads}
    keys |= {"kind": "cross", "memory": matrix(m, 3)} if is_cross else {}
    of_keys = 3 if is_cross else width
    keys |= {"W_q": matrix(width, heads * d), "W_k": matrix(of_keys, kv_heads * d)}
    keys["W_v"] = matrix(of_keys, kv_heads * d_v)
    columns = heads if rng.random() < 0.5 else heads * d_v
    keys["gate"] = {"W": matrix(width, columns)}
    if rng.random() < 0.6:
        keys["gate"]["b"] = matrix(columns)
    if rng.random() < 0.6:
        keys["W_o"] = matrix(heads * d_v, int(rng.integers(1, 4)))
    if rng.random() < 0.4 and not is_cross:
        keys["mask"] = "causal"
    if rng.random() < 0.3:
        keys["qk_norm"] = {"name": "rms", "eps": 0.5}
    return keys


if __name__ == "__main__":
    main(draw, RECORDED / "gate_problems.jsonl")
