"""What anybody writes with json and NumPy in place of `attn`: the same numbers, and nothing else.

    python plain.py stream problems.jsonl [STEP]      every step of every line, or one, as JSON
    python plain.py check problem.json folder         verdict and first wrong step of every file

No labels, formulas, rules or causes; the benchmarks run it beside `attn`, which does more.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def attention(problem: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return every step of a problem with heads or without, as a hand calculates it."""
    x, heads = np.array(problem["X"], float), problem.get("heads", 1)
    q, k, v = (
        np.stack(np.split(x @ np.array(problem[name], float), heads, axis=1))
        for name in ("W_q", "W_k", "W_v")
    )
    scores = q @ k.transpose(0, 2, 1)
    scaled = scores * problem.get("scale", q.shape[-1] ** -0.5)
    exp = np.exp(scaled)
    total = exp.sum(axis=-1, keepdims=True)
    weights = exp / total
    context = weights @ v
    steps = {"Q": q, "K": k, "V": v, "scores": scores, "scaled": scaled}
    steps |= {"exp": exp, "sum": total, "weights": weights}
    if heads == 1:
        return {name: value[0] for name, value in steps.items()} | {"output": context[0]}
    concat = np.concatenate(list(context), axis=1)
    output = concat @ np.array(problem["W_o"], float)
    return steps | {"context": context, "concat": concat, "output": output}


def stream(path: str, only: str = "") -> None:
    with Path(path).open() as file:
        for line in file:
            steps = attention(json.loads(line))
            wanted = {only: steps[only]} if only else steps
            print(json.dumps({name: value.tolist() for name, value in wanted.items()}))


def check(problem: str, folder: str) -> None:
    right = attention(json.loads(Path(problem).read_text()))
    for path in sorted(Path(folder).iterdir()):
        first = ""
        for line in path.read_text().splitlines():
            step, _, text = line.partition(": ")
            given = np.array(json.loads(text))
            if not first and np.abs(given - right[step]).max() > 0.005 + 1e-9:
                first = step
        print(path.stem, "wrong" if first else "correct", first, sep=",")


if __name__ == "__main__":
    if sys.argv[1] == "stream":
        stream(*sys.argv[2:])
    else:
        check(*sys.argv[2:])
