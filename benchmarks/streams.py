"""Measure streams of small problems and a course of answer files beside plain loops.

Run `python benchmarks/streams.py` in an environment where attncli is installed; the numbers of
rounds, problems and answer files may follow (5 2000 3000). Three workloads:

- YAML documents, every step written as JSON;
- JSON Lines, only the output written as JSON;
- answer files of a problem of 6 tokens and 2 heads, nine steps in two decimals, one wrong in three
  by one of three mistakes, as in `checking.py`.

Beside each runs a loop of json and NumPy in a process of its own that writes the same numbers, or
the same verdicts, and nothing else: no labels, no formulas, no rules, no mistakes, and JSON where
attn reads YAML. Both are run in turn, round after round; the ratio is that of the medians. Memory
is the peak of the whole process, once for ten problems and once for all, and should not differ.

With folders of other checkouts, as in `python benchmarks/streams.py ../before`, it runs 3,000
problems of 3 tokens and 3 features with each of them and with this one; ratios are to the first.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS, PROBLEMS, FILES = 5, 2000, 3000
FEW = 10
TOKENS, WIDTH, D_K = 3, 4, 2
MISTAKES = (0, 0, 1, 0, 0, 2, 0, 0, 3)
ATTN = str(Path(sys.executable).parent / "attn")

# A small process starts the other, since Linux counts the memory of whoever started it, too.
WATCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=open("out", "w")).returncode
seconds = time.perf_counter() - start
print(status, seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@dataclass(frozen=True)
class Work:
    """What attn does, and the plain loop that does the same, with few and with many problems."""

    name: str
    number: int
    attn: list[list[str]]
    plain: list[list[str]]


@dataclass(frozen=True)
class Run:
    """One process: how long it took, the most memory that it had, and what it wrote."""

    seconds: float
    megabytes: float
    out: str


def attention(problem: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return every step of a problem with heads or without, as a hand calculates it."""
    x, heads = np.array(problem["X"], float), problem.get("heads", 1)
    q, k, v = (
        np.stack(np.split(x @ np.array(problem[n], float), heads, axis=1))
        for n in ("W_q", "W_k", "W_v")
    )
    scores = q @ k.transpose(0, 2, 1)
    scaled = scores / np.sqrt(q.shape[-1])
    exp = np.exp(scaled)
    total = exp.sum(-1, keepdims=True)
    weights = exp / total
    context = weights @ v
    steps = {
        **{"Q": q, "K": k, "V": v, "scores": scores, "scaled": scaled},
        **{"exp": exp, "sum": total, "weights": weights},
    }
    if heads == 1:
        return {name: value[0] for name, value in steps.items()} | {"output": context[0]}
    concat = np.concatenate(list(context), axis=1)
    output = concat @ np.array(problem["W_o"], float)
    return steps | {"context": context, "concat": concat, "output": output}


def plain_stream(path: str, only: str) -> None:
    """Write the steps of every line of a file, or only one of them."""
    with Path(path).open() as file:
        for line in file:
            steps = attention(json.loads(line))
            wanted = {only: steps[only]} if only else steps
            print(json.dumps({name: value.tolist() for name, value in wanted.items()}))


def plain_check(problem: str, answers: str) -> None:
    """Write a verdict and the first wrong step of every file that is named in `answers`."""
    right = attention(json.loads(Path(problem).read_text()))
    for name in Path(answers).read_text().splitlines():
        first = ""
        for line in Path(name).read_text().splitlines():
            step, _, text = line.partition(": ")
            given = np.array(json.loads(text))
            if not first and np.abs(given - right[step]).max() > 0.005 + 1e-9:
                first = step
        print("wrong" if first else "correct", first, sep=",")


def write_problems(folder: Path, number: int, width: int = WIDTH) -> None:
    """Write problems as YAML documents and as JSON Lines."""
    draw = np.random.default_rng(1)
    shapes = {"X": (TOKENS, width)} | dict.fromkeys(("W_q", "W_k", "W_v"), (width, D_K))
    with (
        (folder / f"{number}.yaml").open("w") as documents,
        (folder / f"{number}.jsonl").open("w") as lines,
    ):
        for _ in range(number):
            problem = {key: draw.integers(-2, 3, shape).tolist() for key, shape in shapes.items()}
            lines.write(json.dumps(problem) + "\n")
            documents.write("---\n" + "".join(f"{key}: {m}\n" for key, m in problem.items()))


def works(folder: Path, problems: int, files: int) -> list[Work]:
    """Write what is read, and return what is run."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from benchmarks.checking import write

    plain = [sys.executable, str(Path(__file__).resolve())]
    for number in (FEW, problems):
        write_problems(folder, number)
    problem, answers = write(folder, files, MISTAKES)
    for number in (FEW, files):
        (folder / f"{number}.txt").write_text("\n".join(answers[:number]))
    sizes, as_json = (FEW, problems), ["-f", "json"]
    return [
        Work(
            "YAML as JSON",
            problems,
            [[ATTN, "compute", f"{n}.yaml", *as_json] for n in sizes],
            [[*plain, "stream", f"{n}.jsonl", ""] for n in sizes],
        ),
        Work(
            "JSON Lines, --only output",
            problems,
            [[ATTN, "compute", f"{n}.jsonl", *as_json, "--only", "output"] for n in sizes],
            [[*plain, "stream", f"{n}.jsonl", "output"] for n in sizes],
        ),
        Work(
            "answer files, one wrong in 3",
            files,
            [[ATTN, "check", problem, *answers[:n], "-f", "csv"] for n in (FEW, files)],
            [[*plain, "check", problem, f"{n}.txt"] for n in (FEW, files)],
        ),
    ]


def once(command: list[str], folder: Path) -> Run:
    """Run a whole process."""
    watch = [sys.executable, "-S", "-c", WATCH, *command]
    done = subprocess.run(watch, cwd=folder, check=True, capture_output=True, text=True)
    status, seconds, kilobytes = done.stdout.split()
    if status not in ("0", "1"):
        raise SystemExit(done.stderr)
    return Run(float(seconds), int(kilobytes) / 1024, (folder / "out").read_text())


def compare(work: Work, ours: str, plain: str) -> None:
    """End the benchmark if both did not write the same."""
    lines = plain.splitlines()
    if work.attn[0][1] == "check":
        rows = csv.DictReader(ours.splitlines())
        same = [f"{row['verdict']},{row['first_wrong_step']}" for row in rows] == lines
    else:
        pairs = zip(ours.splitlines(), lines, strict=True)
        same = all(alike(json.loads(a)["steps"], json.loads(b)) for a, b in pairs)
    if not same:
        raise SystemExit(f"{work.name}: attn and the plain loop differ")


def alike(steps: dict[str, dict[str, Any]], plain: dict[str, Any]) -> bool:
    """Tell whether both have the same steps with the same numbers."""
    return list(steps) == list(plain) and all(
        np.allclose(step["value"], plain[name]) for name, step in steps.items()
    )


def compare_checkouts(*checkouts: str, rounds: int = ROUNDS, number: int = 3000) -> None:
    """Print what a stream of problems takes with other checkouts, and with this one."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from benchmarks import in_turn

    with tempfile.TemporaryDirectory() as name:
        write_problems(Path(name), number, width=3)
        for file in (f"{number}.jsonl", f"{number}.yaml"):
            words = (*in_turn.ATTN, "compute", file, "-f", "json")
            commands = {
                f"{file}, {path}": in_turn.Command(words, path)
                for path in (*checkouts, str(in_turn.ROOT))
            }
            in_turn.print_ratios(in_turn.in_turn(commands, rounds, name))


def main(rounds: int = ROUNDS, problems: int = PROBLEMS, files: int = FILES) -> None:
    """Print a line for each workload and each of both."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        todo = works(folder, problems, files)
        few = [[once(command[0], folder) for command in (w.attn, w.plain)] for w in todo]
        for work, (ours, plain) in zip(todo, few, strict=True):
            compare(work, ours.out, plain.out)
        runs: list[list[list[Run]]] = [[[], []] for _ in todo]
        for _ in range(rounds):
            for work, both in zip(todo, runs, strict=True):
                ours, plain = (once(command[1], folder) for command in (work.attn, work.plain))
                compare(work, ours.out, plain.out)
                for kept, run in zip(both, (ours, plain), strict=True):
                    kept.append(Run(run.seconds, run.megabytes, ""))
    print(f"medians of {rounds} interleaved rounds")
    print(f"{'':44}{'s':>8}{'a second':>10}{'ratio':>7}   MB of {FEW} and of all")
    for work, both, small in zip(todo, runs, few, strict=True):
        base = statistics.median(run.seconds for run in both[1])
        for who, kept, first in zip(("attn", "plain loop"), both, small, strict=True):
            seconds = statistics.median(run.seconds for run in kept)
            peak = statistics.median(run.megabytes for run in kept)
            told = f"{work.number} {work.name}, {who}"
            print(
                f"{told:44}{seconds:8.2f}{work.number / seconds:10.0f}{seconds / base:7.2f}"
                f"   {first.megabytes:8.0f}{peak:8.0f}"
            )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["stream", path, only]:
            plain_stream(path, only)
        case ["check", problem, answers]:
            plain_check(problem, answers)
        case [path, *others] if not path.isdecimal():
            compare_checkouts(path, *others)
        case numbers:
            main(*map(int, numbers))
