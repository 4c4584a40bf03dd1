"""Every step with positions beside 50 digits, in random problems.

`python -m benchmarks.surveys.positions 300` tries so many, and prints the worst error as a share of
the largest term that was added; with `--record` it writes the problems of
tests/mechanisms/test_positions.py.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from tests.mechanisms.table import EXPRESSIONS, RECORDED, Keys
from tests.mechanisms.test_positions import worst


def draw(rng: np.random.Generator, share_of_cross: float = 0.3) -> Keys:
    """Return a random problem with one or two kinds of positions."""
    heads, d = int(rng.choice([1, 2, 4])), int(rng.choice([2, 4, 6]))
    kv_heads = heads if rng.random() < 0.6 else max(heads // 2, 1)
    n, cross = int(rng.integers(1, 5)), rng.random() < share_of_cross
    m, width = (int(rng.integers(1, 5)) if cross else n), int(rng.integers(2, 6))

    def matrix(*shape: int) -> Any:
        return np.round(rng.uniform(-2, 2, shape), 2).tolist()

    keys: Keys = {"X": matrix(n, width), "heads": heads, "kv_heads": kv_heads}
    keys |= {"kind": "cross", "memory": matrix(m, 3)} if cross else {}
    of_keys = 3 if cross else width
    keys |= {"W_q": matrix(width, heads * d), "W_k": matrix(of_keys, kv_heads * d)}
    keys["W_v"] = matrix(of_keys, kv_heads * 2)
    base, start = int(rng.choice([10, 100, 500, 10000])), int(rng.integers(0, 40))
    pairs = str(rng.choice(["neighbours", "halves"]))
    rope = {"name": "rope", "base": base, "pairs": pairs, "start": start}
    if d > 2 and rng.random() < 0.4:
        rope["features"] = d - 2
    if rng.random() < 0.3:
        rope["start"] = [start, int(rng.integers(0, 9))]
    k = int(rng.integers(1, 4))
    table = matrix(heads, 2 * k + 1) if rng.random() < 0.5 else matrix(2 * k + 1)
    choices = [
        [{"name": "sinusoidal", "base": base, "pairs": pairs, "start": start}],
        [rope],
        [{"name": "learned", "P": matrix(n, width)}],
        *of_scores(table, matrix(heads)),
    ]
    picked = rng.permutation(len(choices))[: int(rng.integers(1, 3))]
    named = {p["name"]: p for place in picked for p in choices[place]}
    if {"learned", "sinusoidal"} <= named.keys():
        del named["learned"]
    keys["positions"] = list(named.values())
    if rng.random() < 0.3 and not cross:
        keys["mask"] = "causal"
    if rng.random() < 0.3:
        keys["bias"] = str(rng.choice(list(EXPRESSIONS)))
    return keys


def draw_scaled(rng: np.random.Generator) -> Keys:
    """Return a random problem with rope of which the angles are scaled, or the positions listed."""
    keys = draw(rng)
    n, m = len(keys["X"]), len(keys["memory"] if "memory" in keys else keys["X"])
    d = len(keys["W_q"][0]) // keys["heads"]
    base, pairs = int(rng.choice([10, 100, 10000])), str(rng.choice(["neighbours", "halves"]))
    rope: Keys = {"name": "rope", "base": base, "pairs": pairs}
    kind = str(rng.choice(["linear", "llama3", "yarn", "none"]))
    scaling: Keys = {"kind": kind, "factor": float(rng.choice([1, 1.5, 4, 40]))}
    if kind != "linear":
        scaling["original_max_position_embeddings"] = int(rng.choice([8, 30, 500]))
    if kind == "llama3" and rng.random() < 0.5:
        scaling |= {"low_freq_factor": 0.5, "high_freq_factor": 8}
    if kind == "yarn":
        more: list[Keys] = [{}, {"truncate": False}, {"attention_factor": 1.25}]
        more += [{"mscale": 1, "mscale_all_dim": 0.5}, {"beta_fast": 4, "beta_slow": 0.5}]
        scaling |= more[int(rng.integers(len(more)))]
    rope |= {} if kind == "none" else {"scaling": scaling}
    rows = 2 if d > 2 and rng.random() < 0.4 else 1
    ids = {
        side: rng.integers(0, 50, (rows, count)).tolist()
        for side, count in (("queries", n), ("keys", m))
    }
    ids = ids if rows > 1 else {side: row[0] for side, row in ids.items()}
    if kind == "none" or rng.random() < 0.7:
        rope["ids"] = ids if n != m or rng.random() < 0.5 else ids["queries"]
        rope |= {"sections": [1, d // 2 - 1]} if rows > 1 else {}
    return keys | {"positions": [rope]}


def of_scores(table: Any, slopes: Any) -> list[Any]:
    """Return the positions that are added to scores."""
    alibi = {"name": "alibi", "slopes": np.abs(slopes).ravel().tolist()}
    return [[{"name": "alibi"}], [alibi], [{"name": "relative", "table": table}]]


if __name__ == "__main__":
    generator = np.random.default_rng(0)
    if sys.argv[1:] == ["--record"]:
        of_kinds = (draw, draw_scaled)
        lines = [json.dumps(f(np.random.default_rng(seed))) for f in of_kinds for seed in range(24)]
        (RECORDED / "position_problems.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        count = int(sys.argv[1])
        for one in (draw, draw_scaled):
            largest = max(worst(one(generator)) for _ in range(count))
            print(f"{one.__name__}: worst of {count}: {largest:.2g}")
