"""Measure how a large matrix is read and written in every format, beside NumPy, yaml and json.

Run `python benchmarks/files.py` in an environment where attncli is installed; `--quick` measures a
small matrix once, and a number is that of the rounds. A matrix of 4,096 × 512 numbers with all
their digits is read

- as CSV, as a text block, as nested lists and as items in YAML, and as JSON on one line, beside
  `numpy.loadtxt`, to which all ratios are, and beside yaml.CSafeLoader and json.load with np.array;
- as NPY and NPZ, beside `numpy.load`,

and written as CSV, YAML, JSON and NPZ, beside `numpy.savetxt`, yaml.CSafeDumper, json.dump and
`numpy.savez`. Each is done in a process of its own, all in turn, round after round; the seconds
are those of the processor, once the modules are imported. Memory is what the process takes at most
beyond that, as a multiple of the array's.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 5
SHAPE, SMALL = (4096, 512), (256, 128)

READ = {
    "x.csv": "numpy.loadtxt",
    "block.yaml": "yaml.CSafeLoader",
    "lists.yaml": "yaml.CSafeLoader",
    "items.yaml": "yaml.CSafeLoader",
    "x.json": "json.load",
    "x.npy": "numpy.load",
    "x.npz": "numpy.load",
}
WRITTEN = {
    "csv": "numpy.savetxt",
    "yaml": "yaml.CSafeDumper",
    "json": "json.dump",
    "npz": "numpy.savez",
}
BASES = {"read": ("x.csv", "numpy.loadtxt"), "write": ("csv", "numpy.savetxt")}


def write_files(folder: Path, shape: tuple[int, int]) -> None:
    """Write the same matrix in every format, and scores with one value per key, as a problem."""
    matrix = np.random.default_rng(1).standard_normal(shape)
    rows = [[repr(x) for x in row] for row in matrix.tolist()]
    lists = [f"[{', '.join(row)}]" for row in rows]
    texts = {
        "x.csv": "".join(f"{','.join(row)}\n" for row in rows),
        "block.yaml": "X: |\n" + "".join(f"  {' '.join(row)}\n" for row in rows),
        "lists.yaml": "X: [" + ",\n    ".join(lists) + "]\n",
        "items.yaml": "X:\n" + "".join(f"- {row}\n" for row in lists),
        "x.json": f'{{"X": [{", ".join(lists)}]}}\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    np.save(folder / "x.npy", matrix)
    np.savez(folder / "x.npz", X=matrix)
    np.savez(folder / "problem.npz", scores=matrix, V=np.ones((shape[1], 1)))


def read_by(who: str, file: str) -> Callable[[], Any]:
    """Return what reads a file to an array, with its modules imported."""
    if who == "attn":
        from attncli.reading.load import load

        return lambda: load(file).X
    if who == "numpy.loadtxt":
        return lambda: np.loadtxt(file, delimiter=",")
    if who == "numpy.load":
        loaded = np.load
        return lambda: loaded(file)["X"] if file.endswith("z") else loaded(file)
    if who == "json.load":
        return lambda: np.array(json.loads(Path(file).read_text())["X"])
    import yaml

    def by_yaml() -> Any:
        found = yaml.load(Path(file).read_text(), yaml.CSafeLoader)["X"]
        rows = found.splitlines() if isinstance(found, str) else found
        return np.array([row.split() if isinstance(row, str) else row for row in rows], float)

    return by_yaml


def written_by(who: str, form: str) -> Callable[[], Any]:
    """Return what writes the weights of the problem to a file, with its modules imported."""
    from attncli.core.mechanisms.compute import compute
    from attncli.reading.load import load

    trace = compute(load("problem.npz"))
    weights, out = trace["weights"].value, Path("out")
    if who == "attn":
        from attncli.printing.formats import FORMATS, Selection

        def by_attn() -> None:
            with out.open("wb") as file:
                file.writelines(FORMATS[form].traces([trace], Selection(only=("weights",))))

        return by_attn
    if who == "numpy.savetxt":
        return lambda: np.savetxt(out, weights, "%.17g", ",")
    if who == "numpy.savez":
        return lambda: np.savez("out.npz", weights=weights)
    if who == "json.dump":
        return lambda: out.write_text(json.dumps({"weights": weights.tolist()}))
    import yaml

    return lambda: out.write_text(
        yaml.dump({"weights": weights.tolist()}, Dumper=yaml.CSafeDumper, default_flow_style=None)
    )


def status(field: str) -> int:
    """Return how many bytes the process has now, or had at most, as Linux tells."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measure(what: str, who: str, name: str) -> None:
    """Print the seconds of the processor and the memory that some work takes in this process."""
    work = read_by(who, name) if what == "read" else written_by(who, name)
    Path("/proc/self/clear_refs").write_text("5")  # the most so far is what it has now
    before, start = status("VmRSS"), time.process_time()
    found = work()
    seconds, most = time.process_time() - start, status("VmHWM")
    if what == "read":
        np.testing.assert_array_equal(found, np.load("x.npy"))
    print(seconds, most - before)


def once(folder: Path, *arguments: str) -> tuple[float, float]:
    """Measure in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    seconds, size = done.stdout.split()
    return float(seconds), float(size)


def works() -> Iterable[tuple[str, str, str]]:
    """Yield what is done: read or write, by whom, and which file or format."""
    for what, table in (("read", READ), ("write", WRITTEN)):
        for name, other in table.items():
            yield what, "attn", name
            yield what, other, name


def main(rounds: int, shape: tuple[int, int]) -> None:
    """Print a line for each format, and each of both."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, shape)
        found: dict[tuple[str, str, str], list[tuple[float, float]]] = {w: [] for w in works()}
        for _ in range(rounds):
            for work, runs in found.items():
                runs.append(once(folder, *work))
    medians = {
        work: [statistics.median(values) for values in zip(*runs, strict=True)]
        for work, runs in found.items()
    }
    size = shape[0] * shape[1] * 8
    print(f"medians of {rounds} interleaved rounds, {shape[0]} × {shape[1]} numbers")
    print(f"{'':36}{'s':>8}{'ratio':>8}{'memory':>8}")
    for (what, who, name), (seconds, memory) in medians.items():
        form, by = BASES[what]
        base = medians[what, by, form][0]
        told = f"{what} {name}, {who}"
        print(f"{told:36}{seconds:8.3f}{seconds / base:8.2f}{memory / size:7.1f}×")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [("read" | "write") as what, who, name]:
            measure(what, who, name)
        case ["--quick"]:
            main(1, SMALL)
        case []:
            main(ROUNDS, SHAPE)
        case [rounds]:
            main(int(rounds), SHAPE)
