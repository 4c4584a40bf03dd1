"""Measure how long whole pages of one problem take: HTML and tables, and memory.

Run `python benchmarks/pages.py` in an environment where attncli is installed. The numbers are
random, with two decimals, and every step is shown. With the path of another checkout as an
argument, that one is measured in turn with this one. Each line gives the median seconds of a whole
process, its bound, the seconds of processor time, and the peak of memory with its bound; the same
follows for the other checkout. Processor time tells more where others use the machine, too.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from attncli.core.records import Record

ROUNDS = 3
ROOT = Path(__file__).resolve().parents[1]

# A small process starts the other, since Linux counts the memory of whoever started it, too.
WATCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


class Case(Record):
    """One page that is measured, with the most seconds and megabytes that it may take."""

    name: str
    tokens: int
    width: int
    heads: int
    flags: tuple[str, ...]
    seconds: float
    megabytes: int | None = None
    has_gradient: bool = False


HTML = ("-f", "html")
CASES = (
    Case("HTML, 12 × 8, 2 heads", 12, 8, 2, HTML, 0.7),
    Case("HTML, 24 × 16, 4 heads", 24, 16, 4, HTML, 1.5),
    Case("HTML, 8 × 8, gradients", 8, 8, 1, HTML, 0.8, has_gradient=True),
    Case("table, 128 × 64, 8 heads", 128, 64, 8, ("--full",), 4.0, 120),
    Case("HTML, 128 × 64, 8 heads", 128, 64, 8, (*HTML, "--full"), 6.0, 250),
)


def problem(case: Case) -> str:
    """Return the problem of a case as JSON."""
    draw = np.random.default_rng(1)

    def matrix(rows: int, columns: int) -> object:
        return np.round(draw.uniform(-2, 2, (rows, columns)), 2).tolist()

    keys: dict[str, object] = {"X": matrix(case.tokens, case.width)}
    keys |= {key: matrix(case.width, case.width) for key in ("W_q", "W_k", "W_v")}
    if case.heads > 1:
        keys |= {"heads": case.heads, "W_o": matrix(case.width, case.width)}
    if case.has_gradient:
        target = matrix(case.tokens, case.width)
        keys["gradient"] = {"loss": "half_squared_error", "target": target}
    return json.dumps(keys)


def once(command: list[str], checkout: str) -> tuple[float, float, float]:
    """Return the seconds, the processor's seconds and the megabytes of one whole process."""
    environment = {**os.environ, "PYTHONPATH": checkout}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    found = subprocess.run(
        [sys.executable, "-c", WATCH, *command],
        check=True, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    status, seconds, busy, megabytes = map(float, found.stdout.split())
    if status:
        raise SystemExit(found.stderr)
    return seconds, busy, megabytes


def main() -> None:
    """Print a line for each case."""
    checkouts = [str(ROOT), *sys.argv[1:2]]
    print(f"medians of {ROUNDS} interleaved runs: seconds, of the processor, MB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.json"
        path.write_text(problem(CASES[0]))
        for checkout in checkouts:  # a first time, which is not measured
            once([sys.executable, "-P", "-m", "attncli", "compute", str(path)], checkout)
        for case in CASES:
            path.write_text(problem(case))
            command = [sys.executable, "-P", "-m", "attncli", "compute", str(path), *case.flags]
            rounds = [[once(command, where) for where in checkouts] for _ in range(ROUNDS)]
            texts = []
            for runs in zip(*rounds, strict=True):
                seconds, busy, megabytes = map(statistics.median, zip(*runs, strict=True))
                texts.append(f"{seconds:6.2f} s {busy:6.2f} s {megabytes:5.0f} MB")
            bound = f"{case.seconds:.1f} s" + (f", {case.megabytes} MB" if case.megabytes else "")
            print(f"{case.name:26} {'   before '.join(texts)}   at most {bound}", flush=True)


if __name__ == "__main__":
    main()
