"""Whole processes run in turn, round after round, in this checkout and in others, side by side.

A machine whose speed drifts slows all that runs in turn alike, so that ratios hold. Time of the
processor tells more than time of the wall where others use the machine, too; the time of the wall
is what counts if several processes share the work.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ATTN = (sys.executable, "-P", "-m", "attncli")

# A small process starts the other, since Linux counts the memory of whoever started it, too.
WATCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def has(python: str, modules: str) -> bool:
    """Return whether an interpreter can import modules."""
    command = [python, "-c", f"import {modules}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Cost(NamedTuple):
    """What a process took: seconds on the wall, seconds of the processors, peak of memory in MB."""

    seconds: float
    busy: float
    megabytes: float


class Command(NamedTuple):
    """A command line, and the checkout whose package it runs.

    `allowed` are the exit statuses that do not end the benchmark.
    """

    words: Sequence[str]
    checkout: Path | str = ROOT
    allowed: tuple[int, ...] = (0,)


def once(command: Command, folder: str) -> Cost:
    """Run a command in a folder; its output is thrown away.

    Raises:
        SystemExit: with what it wrote to standard error, if it failed.
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(command.checkout).resolve())}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    watch = [sys.executable, "-S", "-c", WATCH, *command.words]
    done = subprocess.run(
        watch, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    status, *numbers = map(float, done.stdout.split())
    if status not in command.allowed:
        raise SystemExit(done.stderr)
    return Cost(*numbers)


def in_turn(commands: Mapping[str, Command], rounds: int, folder: str) -> dict[str, Cost]:
    """Return the medians of each command, all run in turn; a first round is not counted."""
    runs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            cost = once(command, folder)
            if number:
                runs[name].append(cost)
    return {
        name: Cost(*map(statistics.median, zip(*costs, strict=True)))
        for name, costs in runs.items()
    }


def print_ratios(costs: Mapping[str, Cost], bounds: Mapping[str, float]) -> None:
    """Print a line for each command: what it took, and its share of what the first took.

    `bounds` are the largest shares of time on the wall that commands should have.
    """
    first = next(iter(costs.values()))
    print(f"{'':72}{'seconds':>9}{'ratio':>7}{'busy':>9}{'ratio':>7}{'MB':>7}")
    for name, cost in costs.items():
        times = zip(cost[:2], first[:2], strict=True)
        texts = "".join(f"{own:9.3f}{own / base:7.2f}" for own, base in times)
        bound = f"   at most {bounds[name]}" if name in bounds else ""
        print(f"{name:72}{texts}{cost.megabytes:7.0f}{bound}", flush=True)
