"""Every step of random problems of kind latent beside 50 digits.

`python -m benchmarks.surveys.latent 200` tries so many, and prints how many there were; with
`--record` it writes those of the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.surveys.recorded_problems import main
from tests.mechanisms.table import RECORDED, Keys, check


def draw(rng: np.random.Generator) -> Keys:
    """Return a random problem, with or without compressed queries, a rotary part and norms."""
    heads, n = int(rng.choice([1, 2, 3])), int(rng.integers(1, 5))
    width, d_h, d_v, d_c, d_cq = (int(rng.integers(1, 5)) for _ in range(5))
    d_r = 2 * int(rng.integers(1, 3))
    compresses, is_rotary, has_norm = (bool(rng.random() < 0.6) for _ in range(3))

    def matrix(*shape: int) -> Any:
        return np.round(rng.uniform(-2, 2, shape), 2).tolist()

    keys: Keys = {"kind": "latent", "X": matrix(n, width), "heads": heads}
    keys |= {"form": "absorbed"} if rng.random() < 0.5 else {}
    below = width
    if compresses:
        keys |= {"W_dq": matrix(width, d_cq), "W_uq": matrix(d_cq, heads * d_h)}
        below = d_cq
    else:
        keys["W_q"] = matrix(width, heads * d_h)
    keys |= {"W_dkv": matrix(width, d_c), "W_uk": matrix(d_c, heads * d_h)}
    by_head = heads > 1 and rng.random() < 0.3
    keys["W_uv"] = matrix(heads, d_c, d_v) if by_head else matrix(d_c, heads * d_v)
    if is_rotary:
        keys |= {"W_qr": matrix(below, heads * d_r), "W_kr": matrix(width, d_r)}
        pairs = str(rng.choice(["neighbours", "halves"]))
        keys["positions"] = {"name": "rope", "base": 100, "start": 1, "pairs": pairs}
    if has_norm:
        keys |= {"latent_norm": "rms", "eps": 0.5, "gain_kv": matrix(d_c)}
        keys |= {"gain_q": matrix(d_cq)} if compresses else {}
    if rng.random() < 0.6:
        keys["W_o"] = matrix(heads * d_v, int(rng.integers(1, 4)))
    return keys | ({"mask": "causal"} if rng.random() < 0.5 else {})


if __name__ == "__main__":
    main(draw, RECORDED / "latent_problems.jsonl", check)
