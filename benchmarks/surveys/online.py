"""Every step of random problems with softmax by tiles beside 50 digits.

`python -m benchmarks.surveys.online 200` tries so many, and prints the largest distance of the
output from the untiled one in units of its bound; with `--record` it writes those of the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import attncli
from benchmarks.surveys.recorded_problems import main
from tests.mechanisms.table import RECORDED, Keys
from tests.mechanisms.test_laws_of_mechanisms import off_by
from tests.oracles import reference, tiles


def draw(rng: np.random.Generator) -> Keys:
    """Return a random problem with softmax by tiles."""
    heads = int(rng.choice([1, 1, 2, 4]))
    kv_heads = heads if rng.random() < 0.6 else max(heads // 2, 1)
    n, m, width, d, d_v = (int(rng.integers(1, most)) for most in (5, 8, 5, 5, 4))
    is_cross = rng.random() < 0.5
    keys_at = m if is_cross else n

    def matrix(*shape: int, most: float = 3) -> Any:
        return np.round(rng.uniform(-most, most, shape), 2).tolist()

    keys: Keys = {"X": matrix(n, width), "heads": heads, "kv_heads": kv_heads}
    keys |= {"kind": "cross", "memory": matrix(m, 3)} if is_cross else {}
    of_keys = 3 if is_cross else width
    keys |= {"W_q": matrix(width, heads * d), "W_k": matrix(of_keys, kv_heads * d)}
    keys["W_v"] = matrix(of_keys, kv_heads * d_v)
    if rng.random() < 0.5:
        keys["W_o"] = matrix(heads * d_v, 2)
    if rng.random() < 0.6:
        keys["mask"] = {"keep": rng.integers(0, 2, (n, keys_at)).tolist()}
    elif rng.random() < 0.5:
        keys["mask"] = {"causal": True, "align": "bottom-right"}
    if rng.random() < 0.3:
        keys["bias"] = matrix(n, keys_at)
    if rng.random() < 0.3:
        keys["softcap"] = 2.5
    if rng.random() < 0.3:
        keys["normalize"] = {"name": "softmax", "temperature": 0.5, "base": 3}
    elif rng.random() < 0.3:
        keys["X"] = matrix(n, width, most=300)  # no float holds e^ of its scores
    return keys | {"online": {"tile": int(rng.integers(1, keys_at + 2))}}


furthest = [0.0]


def check(trace: attncli.Trace, keys: Keys) -> None:
    """Compare every step with 50 digits, and keep how far the output is from the untiled one."""
    reference.check(trace, tiles.solve(**keys))
    furthest.append(off_by(keys))


if __name__ == "__main__":
    main(draw, RECORDED / "online_problems.jsonl", check)
    if max(furthest):
        print(f"from the untiled output at most {max(furthest):.2f} of the bound")
