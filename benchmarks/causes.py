"""Measure how long `attn check` looks for the cause of wrong arrays, beside right ones.

Run `python -m benchmarks.causes`. It prints the processor time of a right dump, that of a wrong one
and their ratio, and the cause that is named; the smallest of some rounds, in turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import attncli

Keys = dict[str, Any]
ROUNDS = 3
SIZES: dict[str, tuple[tuple[int, int, int], int, Keys]] = {
    "8 heads, causal, RoPE": ((1, 128, 256), 8, {"mask": "causal", "positions": "rope"}),
    "12 heads": ((1, 128, 768), 12, {}),
    "ALiBi": ((1, 128, 256), 8, {"mask": "causal", "positions": "alibi"}),
    "a batch, grouped": ((4, 128, 256), 8, {"kv_heads": 2}),
    "long": ((1, 384, 64), 4, {"mask": "causal"}),
    "small": ((1, 16, 64), 4, {"mask": "causal"}),
}


def dumps() -> Iterator[tuple[str, Keys, Keys, Keys]]:
    """Yield a name, the keys of a problem, a right dump and a wrong one."""
    random = np.random.default_rng(1)
    for name, (shape, heads, more) in SIZES.items():
        width, narrow = shape[2], shape[2] // heads * more.get("kv_heads", heads)
        widths = {"W_q": width, "W_k": narrow, "W_v": narrow, "W_o": width}
        keys: Keys = {key: random.normal(size=(width, n)) for key, n in widths.items()}
        keys = {key: w.astype("f4") / width**0.5 for key, w in keys.items()}
        keys |= {"X": random.normal(size=shape).astype("f4"), "heads": heads, **more}
        trace = attncli.compute(attncli.Problem(**keys))
        weights, output = (trace[step].value.astype("f4") for step in ("weights", "output"))
        yield f"{name}: unexplained output", keys, {"output": output}, {"output": output[:, ::-1]}
        dropped = weights * (random.random(weights.shape) > 0.1) / np.float32(0.9)
        yield f"{name}: dropout", keys, {"weights": weights}, {"weights": dropped}
        both = {"weights": weights, "output": output}
        yield f"{name}: mean over heads", keys, both, both | {"weights": weights.mean(axis=1)}


def main() -> None:
    """Print a line for each pair of dumps."""
    for name, keys, *pair in dumps():
        problem, spent = attncli.Problem(**keys), list[float]()
        for dump in ROUNDS * pair:
            before = time.process_time()
            report = attncli.check(problem, dump)
            spent.append(time.process_time() - before)
        right, wrong = min(spent[::2]), min(spent[1::2])
        found = next((one.id for one in report.findings.values()), "none")
        print(f"{name:45}{right * 1e3:7.0f} ms {wrong * 1e3:7.0f} ms {wrong / right:6.1f}  {found}")


if __name__ == "__main__":
    main()
