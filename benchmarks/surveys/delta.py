"""Every step of random problems with a state beside 50 digits.

`python -m benchmarks.surveys.delta 200` tries so many, and prints how many there were; with
`--record` it writes those of the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.surveys.recorded_problems import main
from tests.mechanisms.table import RECORDED, Keys


def draw(rng: np.random.Generator) -> Keys:
    """Return a random problem of one of the four updates."""
    heads = int(rng.choice([1, 2, 4]))
    kv_heads = heads if rng.random() < 0.6 else max(heads // 2, 1)
    n, width, d_k, d_v = (int(rng.integers(1, 5)) for _ in range(4))

    def matrix(*shape: int, low: float = -3, high: float = 3) -> Any:
        return np.round(rng.uniform(low, high, shape), 2).tolist()

    keys: Keys = {"kind": "delta", "X": matrix(n, width), "heads": heads, "kv_heads": kv_heads}
    keys |= {"W_q": matrix(width, heads * d_k), "W_k": matrix(width, kv_heads * d_k)}
    keys["W_v"] = matrix(width, kv_heads * d_v)
    rule = str(rng.choice(["linear", "gated", "delta", "gated_delta"]))
    keys |= {"update": rule} if rng.random() < 0.5 or rule in ("linear", "gated") else {}
    columns = {"alpha": kv_heads * (d_k if rng.random() < 0.4 else 1), "beta": kv_heads}
    for name, is_used in (("alpha", "gated" in rule), ("beta", "delta" in rule)):
        if not is_used or (name == "beta" and rng.random() < 0.2):
            continue
        if rng.random() < 0.5:
            keys[name] = matrix(n, columns[name], low=0, high=1)
            continue
        keys[f"W_{name}"] = matrix(width, columns[name])
        keys |= {f"b_{name}": matrix(columns[name])} if rng.random() < 0.5 else {}
    if rng.random() < 0.4:
        by_head = (kv_heads, d_k, d_v) if heads > 1 else (d_k, d_v)
        keys["S_0"] = matrix(*by_head)
    keys |= {"W_o": matrix(heads * d_v, int(rng.integers(1, 4)))} if rng.random() < 0.5 else {}
    keys |= {"scale": "1/sqrt(d_k)"} if rng.random() < 0.4 else {}
    keys |= {"qk_norm": {"name": "rms", "eps": 0.5}} if rng.random() < 0.4 else {}
    return keys


if __name__ == "__main__":
    main(draw, RECORDED / "delta_problems.jsonl")
