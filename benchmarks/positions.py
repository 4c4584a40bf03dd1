"""Measure 4,096 tokens × 8 heads with RoPE and ALiBi, a dump of 512 tokens that is checked, rows.

The rows are weights as CSV: the time to the first number of those of 500,000 tokens, and all of
1,024 tokens and 4 heads, which should take no longer with `-f csv` than with `-o`.

Run `python -m benchmarks.positions` where attncli is installed; with `--rows` only these are
measured, and beside this checkout the others that are named. The first are ratios to the same
problem without positions, in one process, round after round; the others are whole processes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from benchmarks.in_turn import ATTN, ROOT, Command, in_turn, print_ratios

ROUNDS = 15
FIRST_NUMBER = 2.0
"""The most seconds until the first number of 500,000 tokens should be there."""

TOKENS, HEADS, D = 4096, 8, 64
POSITIONS: dict[str, Any] = {"RoPE": "rope", "ALiBi": "alibi", "both": ["rope", "alibi"]}


def layer(n: int) -> dict[str, Any]:
    """Return X and the weights of a random layer."""
    random, width = np.random.default_rng(0), HEADS * D
    shapes = {"X": (n, width), **dict.fromkeys(("W_q", "W_k", "W_v"), (width, width))}
    keys = {key: random.normal(size=shape) for key, shape in shapes.items()}
    return {key: x if key == "X" else x / width**0.5 for key, x in keys.items()}


def seconds(problem: attncli.Problem) -> float:
    start = time.perf_counter()
    attncli.compute(problem, only="output")
    return time.perf_counter() - start


def with_positions() -> None:
    keys = layer(TOKENS)
    plain = attncli.Problem(**keys, heads=HEADS)
    others = {
        name: attncli.Problem(**keys, heads=HEADS, positions=p) for name, p in POSITIONS.items()
    }
    ratios: dict[str, list[float]] = {name: [] for name in others}
    for _ in range(ROUNDS + 1):
        without = seconds(plain)
        for name, problem in others.items():
            ratios[name].append(seconds(problem) / without)
    for name, found in ratios.items():
        print(f"{name:6} {statistics.median(found[1:]):.2f} of the time without")


def of_dumps() -> None:
    keys = {key: array.astype("f4") for key, array in layer(512).items()}
    trace = attncli.compute(
        attncli.Problem(**{k: a.astype(float) for k, a in keys.items()}, heads=8)
    )
    steps: dict[str, Any] = {step.name: step.value.astype("f4") for step in trace}
    weights = steps["weights"].copy()
    weights[2, 16, 199] += 0.01
    cases = {"right": steps, "one wrong weight": steps | {"weights": weights}}
    with tempfile.TemporaryDirectory() as folder:
        problem, dump = Path(folder) / "problem.npz", Path(folder) / "dump.npz"
        given: dict[str, Any] = {**keys, "heads": 8}
        np.savez(problem, **given)
        for name, arrays in cases.items():
            np.savez(dump, **arrays)
            command = [sys.executable, "-m", "attncli", "check", str(problem), str(dump), "-q"]
            start = time.perf_counter()
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
                usage = os.wait4(process.pid, 0)[2]
            taken = time.perf_counter() - start
            print(f"{name}: {taken:.1f} s, {usage.ru_maxrss / 1024:.0f} MB")


def rows(checkouts: list[str]) -> None:
    """Print the time to the first weight of 500,000 tokens of a CSV file, and of whole files."""
    draw, numbers = np.random.default_rng(0), "numbers.csv"
    attn = f"{' '.join(ATTN)} compute {numbers} --only weights -f csv"
    every = {"-f csv": (*ATTN, "compute", "heads.npz", "--only", "weights", "-f", "csv")}
    every["-o file.csv"] = (*every["-f csv"][:-2], "-o", "file.csv")
    first = {f"first number, at most {FIRST_NUMBER} s": ("sh", "-c", f"{attn} | head -c 1")}
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / numbers, draw.normal(size=(500_000, 8)), "%.6f", ",")
        q, k, v = draw.normal(size=(3, 4, 1024, D))
        np.savez(Path(folder) / "heads.npz", Q=q, K=k, V=v, heads=4)
        for lines in (first, dict(reversed(every.items()))):
            places = ["", *checkouts]
            commands = {
                f"{name} {place}": Command(words, place or ROOT)
                for name, words in lines.items()
                for place in places
            }
            print_ratios(in_turn(commands, 3, folder))


if __name__ == "__main__":
    if "--rows" not in sys.argv:
        with_positions()
        of_dumps()
    rows([word for word in sys.argv[1:] if word != "--rows"])
