"""Whole processes run in turn, round after round, in this checkout and in others, side by side.

A machine whose speed drifts slows all that runs in turn alike, so that ratios hold. Time of the
processor tells more than time of the wall where others use the machine, too; the time of the wall
is what counts if several processes share the work.
"""

from __future__ import annotations

import ctypes
import io
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from timeit import repeat
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
ATTN = (sys.executable, "-P", "-m", "attncli")

# A small process starts the other, since Linux counts the memory of whoever started it, too.
# It also waits for processes that outlive the one that started them, as those of a pool do.
WATCH = """
import ctypes, os, resource, subprocess, sys, time
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
seconds = time.perf_counter() - start
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def has(python: str, modules: str) -> bool:
    """Return whether an interpreter can import modules."""
    command = [python, "-c", f"import {modules}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


PEERS = (
    ("PyTorch", "import torch as x; print(x.__version__, x.backends.cpu.get_cpu_capability())"),
    ("ONNX Runtime", "import onnxruntime as x; print(x.__version__)"),
)


def machine(peers: str = sys.executable) -> str:
    """Return what times depend on: the processor, its SIMD, versions, and what they dispatch to.

    The name of the code that NumPy dispatches e^x to does not tell whether it is vectorised: the
    time of a number does.
    """
    from attncli.core.arithmetic.machine import OPENBLAS  # which peers have not

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    facts = {name.strip(): text.strip() for name, _, text in (x.partition(":") for x in lines)}
    about = f"{facts['model name']}, family {facts['cpu family']}, model {facts['model']}"
    with redirect_stdout(io.StringIO()) as text:
        np.show_runtime()
    found = re.findall(r"\w+", text.getvalue().partition("'found': [")[2].partition("]")[0])
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    library, core = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__), ""
    for name in (one.format("get").replace("num_threads", "corename") for one in OPENBLAS):
        if hasattr(library, name):
            getattr(library, name).restype = ctypes.c_char_p
            core = f" for {getattr(library, name)().decode()}"
    exps = np.lib.introspect.opt_func_info(func_name="^exp$")["exp"]
    told = []
    for kind, key in (("float64", "dd"), ("float32", "ff")):
        x = -np.arange(4096, dtype=kind) / 512
        seconds = min(repeat(partial(np.exp, x, out=np.empty_like(x)), number=10, repeat=50))
        told.append(f"{kind} {seconds / 10 / x.size * 1e9:.2f} ns ({exps[key]['current']})")
    parts = [
        f"{about}; {len(os.sched_getaffinity(0))} threads",
        f"Python {sys.version.split()[0]}, NumPy {np.__version__} with {' '.join(found)}",
        f"{blas['name']} {blas['version']}{core}; e^x of NumPy: {', '.join(told)}",
    ]
    for name, code in PEERS:
        done = subprocess.run([peers, "-c", code], capture_output=True, text=True, check=False)
        parts += [f"{name} {done.stdout.strip()}"] if done.stdout else []
    return "\n".join(parts)


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


def print_gains(costs: Mapping[str, Cost], words: str, processors: int) -> None:
    """Print how many times as fast commands are with some words, by the wall and at best.

    At best all of these processors are free: the processes share what they take together.
    """
    for name, cost in costs.items():
        if name.endswith(words):
            one = costs[name.removesuffix(words)]
            wall, best = one.seconds / cost.seconds, processors * one.busy / cost.busy
            print(f"{name}: {wall:.2f} times as fast, {best:.2f} with free processors")
