"""Every step of random encoders and decoders beside 50 digits.

`python -m benchmarks.surveys.networks 200` tries so many, and prints how many there were; with
`--record` it writes those of the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.surveys.recorded_problems import main
from tests.mechanisms.table import RECORDED, Keys, check

GATES = {"lstm": ("_i", "_f", "_g", "_o"), "gru": ("_z", "_r", "_n"), "rnn": ("",)}


def draw(rng: np.random.Generator) -> Keys:
    """Return a random problem of kind encoder_decoder."""
    cell, attends = str(rng.choice([*GATES])), str(rng.choice(["after", "before"]))
    reset = str(rng.choice(["after", "before"]))
    n, m, d_x, d_y, d_h = (int(rng.integers(1, 4)) for _ in range(5))
    d_s = int(rng.integers(1, 4)) if rng.random() < 0.4 else d_h

    def matrix(*shape: int) -> Any:
        return np.round(rng.uniform(-2, 2, shape), 2).tolist()

    keys: Keys = {"kind": "encoder_decoder", "cell": cell, "attends": attends}
    keys |= {"reset": reset} if cell == "gru" else {}
    keys |= {"X": matrix(n, d_y), "memory": matrix(m, d_x)}
    for name, size, width in (("encoder", d_h, d_x), ("decoder", d_s, d_y)):
        parts = keys[name] = {}
        for gate in GATES[cell]:
            parts |= {f"W{gate}": matrix(size, width), f"U{gate}": matrix(size, size)}
            if name == "decoder" and attends == "before":
                parts[f"C{gate}"] = matrix(size, d_h)
            if rng.random() < 0.6:
                parts[f"b{gate}"] = matrix(size)
        if cell == "gru" and reset == "after" and rng.random() < 0.6:
            parts["b_hn"] = matrix(size)
        if rng.random() < 0.3 or (name, d_s) not in (("encoder", d_s), ("decoder", d_h)):
            parts |= {"h_0": matrix(size)} | ({"c_0": matrix(size)} if cell == "lstm" else {})
    keys |= attention(rng, matrix, m, d_h, d_s)
    if rng.random() < 0.4:
        keys["W_c"] = matrix(int(rng.integers(1, 4)), d_h + d_s)
    return keys


def attention(rng: np.random.Generator, matrix: Any, m: int, d_h: int, d_s: int) -> Keys:
    """Return the keys of the attention, of any sizes."""
    keys: Keys = {}
    q, k = d_s, d_h
    if rng.random() < 0.3:
        q = k = int(rng.integers(1, 4))
        keys |= {"W_q": matrix(q, d_s), "W_k": matrix(k, d_h)}
    scores: list[Any] = [{"name": "general", "W": matrix(q, k)}]
    scores += [{"name": "additive", "W": matrix(2, q), "U": matrix(2, k), "v": matrix(2)}]
    scores += [{"name": "concat", "W": matrix(2, q + k), "v": matrix(2)}]
    scores += ["dot", "scaled_dot", "dot", "distance"] if q == k else []
    keys["score"] = scores[int(rng.integers(len(scores)))]
    if rng.random() < 0.2:
        keys["scale"] = "1/2"
    if rng.random() < 0.2:
        keys["softcap"] = 1.5
    if rng.random() < 0.3:
        keys["mask"] = {"lengths": int(rng.integers(1, m + 1))}
    if rng.random() < 0.3:
        keys["normalize"] = {"name": "softmax", "temperature": 2}
    return keys


if __name__ == "__main__":
    main(draw, RECORDED / "network_problems.jsonl", check)
