"""Every step of random problems of differential attention beside 50 digits.

`python -m benchmarks.surveys.differential 200` tries so many, and prints how many there were; with
`--record` it writes those of the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.surveys.recorded_problems import main
from tests.mechanisms.table import RECORDED, Keys

LAMBDAS = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")


def draw(rng: np.random.Generator) -> Keys:
    """Return a random problem, with λ given or learned, for all heads or each."""
    heads = int(rng.choice([1, 2, 4]))
    kv_heads = heads if rng.random() < 0.6 else max(heads // 2, 1)
    n, is_cross = int(rng.integers(1, 5)), rng.random() < 0.3
    m, width, d, d_v = (int(rng.integers(1, 5)) for _ in range(4))

    def matrix(*shape: int) -> Any:
        return np.round(rng.uniform(-2, 2, shape), 2).tolist()

    keys: Keys = {"X": matrix(n, width), "heads": heads, "kv_heads": kv_heads}
    keys |= {"kind": "cross", "memory": matrix(m, 3)} if is_cross else {}
    of_keys = 3 if is_cross else width
    keys |= {"W_q": matrix(width, 2 * heads * d), "W_k": matrix(of_keys, 2 * kv_heads * d)}
    keys["W_v"] = matrix(of_keys, kv_heads * d_v)
    factor = matrix(heads) if rng.random() < 0.3 else round(float(rng.uniform(-1, 1)), 2)
    is_learned, has_norm = rng.random() < 0.5, rng.random() < 0.5
    p: Keys = {name: matrix(d) for name in LAMBDAS} if is_learned else {"lambda": factor}
    if is_learned or has_norm:
        p["lambda_init"] = factor
    if has_norm:
        p |= {"norm": "rms"} | ({"eps": 0.25} if rng.random() < 0.5 else {})
        p |= {"gain": matrix(d_v)} if rng.random() < 0.5 else {}
    keys["differential"] = p
    if rng.random() < 0.5:
        keys["W_o"] = matrix(heads * d_v, int(rng.integers(1, 4)))
    if rng.random() < 0.4 and not is_cross:
        keys["mask"] = "causal"
    if rng.random() < 0.3:
        keys["qk_norm"] = {"name": "rms", "eps": 0.5}
    if rng.random() < 0.2:
        keys["gate"] = {"W": matrix(width, heads)}
    return keys


if __name__ == "__main__":
    main(draw, RECORDED / "differential_problems.jsonl")
