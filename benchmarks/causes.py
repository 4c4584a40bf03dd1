"""Measure how long `attn check` looks for the cause of wrong arrays, beside right ones.

Run `OPENBLAS_NUM_THREADS=1 python -m benchmarks.causes`, as a second thread that spins takes time,
too. For each pair of dumps it prints the processor time of the right one, that of the wrong one
and their ratio, in this process and as whole commands, and the cause that is named; the smallest
of some rounds, in turn.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from benchmarks.in_turn import ATTN, Command, once

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


def measured(*checks: Callable[[], float]) -> str:
    """Return the smallest times of two checks, made in turn, in ms, and their ratio."""
    rounds = [[check() for check in checks] for _ in range(ROUNDS)]
    right, wrong = map(min, zip(*rounds, strict=True))
    return f"{right * 1e3:6.0f} ms {wrong * 1e3:6.0f} ms {wrong / right:5.1f}"


def checked(problem: attncli.Problem, dump: Keys) -> float:
    before = time.process_time()
    attncli.check(problem, dump)
    return time.process_time() - before


def commands(folder: Path, problem: attncli.Problem, **dumps: Keys) -> Iterator[Command]:
    """Yield commands that check dumps in files."""
    arrays: Keys = problem.matrices()
    about = {"options": problem.options(), "inputs": [*arrays]}
    np.savez(folder / "problem.npz", **arrays, options=json.dumps(about))
    for name, dump in dumps.items():
        np.savez(folder / f"{name}.npz", **dump)
        yield Command((*ATTN, "check", "problem.npz", f"{name}.npz"), allowed=(0, 1))


def main() -> None:
    """Print a line for each pair of dumps."""
    print(f"{'':40}{'in this process':>25}{'whole commands':>27}")
    with tempfile.TemporaryDirectory() as folder:
        for name, keys, right, wrong in dumps():
            problem = attncli.Problem(**keys)
            here = measured(*(partial(checked, problem, dump) for dump in (right, wrong)))
            each = commands(Path(folder), problem, right=right, wrong=wrong)
            whole = measured(*(lambda one=one: once(one, folder).busy for one in each))
            found = attncli.check(problem, wrong).findings.values()
            named = next((one.id for one in found), "none")
            print(f"{name:40}{here}  {whole}  {named}", flush=True)


if __name__ == "__main__":
    main()
