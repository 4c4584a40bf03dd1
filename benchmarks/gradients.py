"""Measure gradients, and variants of a problem with them, in this checkout and in others.

Run `python -m benchmarks.gradients [--rounds 3] CHECKOUT…`, where a checkout is the folder of
another version of the project. Whole processes run in turn: streams of small problems, larger ones,
and `attn vary` of two layers of a transformer. A version that knows no transformer is left out
there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.in_turn import ATTN, ROOT, Command, in_turn, print_ratios

SMALL, STATES = 500, 50
DRAW = np.random.default_rng(1)


def whole(*shape: int) -> Any:
    """Return random whole numbers from −2 to 2, in lists."""
    return DRAW.integers(-2, 3, shape).tolist()


def real(*shape: int) -> Any:
    """Return random numbers that keep the size of what they are multiplied by, in lists."""
    return (DRAW.normal(size=shape) / np.sqrt(shape[0])).round(4).tolist()


def attention(draw: Any, n: int, width: int, heads: int = 1, d: int = 2) -> dict[str, Any]:
    """Return X and the weights of a problem of n tokens; with heads, also W_o."""
    keys = {name: draw(width, heads * d) for name in ("W_q", "W_k", "W_v")}
    more = {"heads": heads, "W_o": draw(heads * d, width)} if heads > 1 else {}
    return {"X": draw(n, width), **keys, **more, "gradient": "sum"}


def layer(d: int = 3) -> dict[str, Any]:
    """Return a layer of d features, with 2 in each head and in its hidden layer."""
    wide = {name: DRAW.integers(0, 2, (d, 2)).tolist() for name in ("W_q", "W_k", "W_v", "W_1")}
    return wide | {name: DRAW.integers(0, 2, (2, d)).tolist() for name in ("W_o", "W_2")}


def problems() -> dict[str, list[dict[str, Any]]]:
    """Return the problems of each workload."""
    loss = {"loss": "half_squared_error"}
    plain = [attention(whole, 3, 3) for _ in range(SMALL)]
    recurrent = {"kind": "recurrent", "X": real(STATES, 3), "A": real(4, 7), "gradient": "sum"}
    layers = {"kind": "transformer", "X": whole(3, 3), "layers": [layer(), layer()]}
    return {
        f"{SMALL} of 3 × 3, sum": plain,
        f"{SMALL} of 3 × 3, a loss": [
            one | {"gradient": loss | {"target": whole(3, 2)}} for one in plain
        ],
        "64 × 64": [attention(real, 64, 64, d=64)],
        "512 × 64, 8 heads": [attention(real, 512, 64, 8, 64)],
        f"recurrent, {STATES} states": [recurrent],
        "two layers": [layers | {"gradient": loss | {"target": whole(3, 3)}}],
    }


def main() -> None:
    """Print the time of each workload and checkout."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variants", type=int, default=4, help="how many are drawn; 0 for none")
    asked = parser.parse_args()
    checkouts = [*map(Path.resolve, asked.checkouts), ROOT]
    with tempfile.TemporaryDirectory() as name:
        for number, (title, several) in enumerate(problems().items()):
            path = Path(name) / f"{number}.jsonl"
            path.write_text("".join(f"{json.dumps(one)}\n" for one in several))
            words = {title: ["compute", path.name, "-f", "json"]}
            if "layers" in several[0] and asked.variants:
                count = str(asked.variants)
                words[f"{count} variants"] = ["vary", path.name, "-n", count]
            for what, rest in words.items():
                commands = {
                    f"{what}, {checkout.name}": Command([*ATTN, *rest], checkout)
                    for checkout in checkouts
                    if "layers" not in several[0] or (checkout / "attncli" / "core").exists()
                }
                print_ratios(in_turn(commands, asked.rounds, name))


if __name__ == "__main__":
    main()
