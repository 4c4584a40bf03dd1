"""Measure how long whole pages of one problem take, beside the JSON of the same problem.

Run `python benchmarks/pages.py [CHECKOUT...]`, by default for this checkout. The numbers are
random, with two decimals, and every step is shown. All commands of a problem run in turn; the
ratios are to its JSON in the first checkout. A bound is the largest ratio of time that a page
should have. Scores that floats cannot exponentiate are those of numbers up to 20.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it runs as a script

from attncli.core.records import Record
from benchmarks.in_turn import ATTN, ROOT, Command, in_turn, print_ratios

ROUNDS = 3


class Case(Record):
    """A problem, and the flags of its pages, each with the largest ratio to its JSON."""

    name: str
    tokens: int
    width: int
    heads: int
    pages: dict[str, float]
    has_gradient: bool = False
    largest: float = 2.0


CASES = (
    Case("12 × 8, 2 heads", 12, 8, 2, {"-f html": 3.0, "-f html --live": 8.0}),
    Case("24 × 16, 4 heads", 24, 16, 4, {"-f html": 7.0}),
    Case("8 × 8, gradients", 8, 8, 1, {"-f html": 4.0}, has_gradient=True),
    Case("12 × 8, 2 heads, large scores", 12, 8, 2, {"-f html --live": 10.0}, largest=20.0),
    Case("128 × 64, 8 heads", 128, 64, 8, {"-f html --full": 12.0, "--full": 8.0}),
)


def problem(case: Case) -> str:
    """Return the problem of a case as JSON."""
    draw = np.random.default_rng(1)

    def matrix(rows: int, columns: int) -> object:
        return np.round(draw.uniform(-case.largest, case.largest, (rows, columns)), 2).tolist()

    keys: dict[str, object] = {"X": matrix(case.tokens, case.width)}
    keys |= {key: matrix(case.width, case.width) for key in ("W_q", "W_k", "W_v")}
    if case.heads > 1:
        keys |= {"heads": case.heads, "W_o": matrix(case.width, case.width)}
    if case.has_gradient:
        target = matrix(case.tokens, case.width)
        keys["gradient"] = {"loss": "half_squared_error", "target": target}
    return json.dumps(keys)


def main(*checkouts: str) -> None:
    """Print a line for each page of each case, with its bound, and one for its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            (Path(folder) / "problem.json").write_text(problem(case))
            commands: dict[str, Command] = {}
            bounds: dict[str, float] = {}
            for place in checkouts or (ROOT,):
                for flags, bound in {"-f json": 1.0, **case.pages}.items():
                    name = f"{flags}  {place if checkouts else ''}"
                    words = (*ATTN, "compute", "problem.json", *flags.split())
                    commands[name] = Command(words, place)
                    bounds |= {name: bound} if flags in case.pages else {}
            print(f"\n{case.name}: medians of {ROUNDS} runs in turn")
            print_ratios(in_turn(commands, ROUNDS, folder), bounds)


if __name__ == "__main__":
    main(*sys.argv[1:])
