"""Measure a class marked: a folder of sheets, a table of a spreadsheet, pages, variants.

Run `python benchmarks/classes.py` in an environment where attncli is installed; the number of
students may follow (300). Each hands in three problems of 4 tokens and 2 heads, causal, with seven
steps in two or three decimals; every third sheet has one of three mistakes, as in `checking.py`, of
which one is a slip in a number that is drawn. The table has a row a student and a column for each
weight and output of every problem. Memory is the peak of the whole process, for a tenth of the
students and for all, and should not differ. The processor's time stands beside the seconds, as
others may share it.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

STUDENTS, PROBLEMS = 300, 3
TOKENS, WIDTH, HEADS = 4, 4, 2
MISTAKES = (0, 0, 1, 0, 0, 2, 0, 0, 3)
GIVEN = ("Q", "K", "V", "scores", "scaled", "weights", "output")
POINTS = "scores: 2, weights: 4, output: 4"
ATTN = (sys.executable, "-m", "attncli")

# A small process starts the other, since Linux counts the memory of whoever started it, too.
WATCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=open("out", "w"), stderr=open("err", "w")).returncode
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""

Steps = dict[str, np.ndarray]


def work(draw: np.random.Generator, x: np.ndarray, w: Steps, mistake: int) -> Steps:
    """Return the steps of a student, with one of the mistakes."""
    w_k = w["W_k"].T if mistake == 1 else w["W_k"]
    q, k, v = (np.stack(np.split(x @ m, HEADS, axis=1)) for m in (w["W_q"], w_k, w["W_v"]))
    scores = q @ k.transpose(0, 2, 1)
    if mistake == 2:
        scores[tuple(draw.integers(scores.shape))] += draw.choice([-10, -1, 1, 10])
    scaled = scores if mistake == 3 else scores / np.sqrt(WIDTH / HEADS)
    exp = np.exp(scaled) * np.tril(np.ones((TOKENS, TOKENS)))
    weights = exp / exp.sum(-1, keepdims=True)
    output = np.concatenate(list(weights @ v), axis=1)
    found = {"Q": q, "K": k, "V": v, "scores": scores, "scaled": scaled}
    return found | {"weights": weights, "output": output}


def problem(draw: np.random.Generator, number: int) -> tuple[np.ndarray, Steps, str]:
    """Return the input and the weights of a problem, and its file."""
    x = draw.integers(-2, 3, (TOKENS, WIDTH)) / 2
    w = {n: draw.integers(-2, 3, (WIDTH, WIDTH)) / 2 for n in ("W_q", "W_k", "W_v")}
    keys = {key: matrix.tolist() for key, matrix in {"X": x, **w}.items()}
    title = f"Problem number {number}"
    return x, w, json.dumps({"title": title, **keys, "heads": HEADS, "mask": "causal"})


def cells(place: int, steps: Steps, decimals: int) -> Iterator[tuple[str, str]]:
    """Yield the columns of a problem in the table, each with its number."""
    for name in ("weights", "output"):
        for at, number in np.ndenumerate(steps[name]):
            head = f"[head {at[0] + 1}]" if name == "weights" else ""
            row, column = at[-2:]
            yield f"{place}: {name}{head}[{row + 1},{column + 1}]", f"{number:.{decimals}f}"


def written(steps: Steps, decimals: int) -> str:
    """Return a sheet in YAML."""
    lines = []
    for name in GIVEN:
        texts = np.vectorize(f"{{:.{decimals}f}}".format)(steps[name]).tolist()
        lines.append(f"{name}: {json.dumps(texts)}".replace('"', ""))
    return "\n".join(lines) + "\n"


def write(folder: Path, students: int) -> None:
    """Write the problems, a folder of sheets for each student, the table, and variants."""
    draw = np.random.default_rng(1)
    problems = [problem(draw, number) for number in range(1, PROBLEMS + 1)]
    (folder / "hw.yaml").write_text("\n---\n".join(text for *_, text in problems) + "\n")
    rows = []
    (folder / "variants").mkdir()
    (folder / "own").mkdir()
    for student in range(students):
        own = folder / "sheets" / f"student {student:03}"
        own.mkdir(parents=True)
        row = {"Name": f"student {student:03}"}
        for place, (x, w, _) in enumerate(problems, 1):
            steps = work(draw, x, w, MISTAKES[(student + place) % len(MISTAKES)])
            decimals = int(draw.choice([2, 3]))
            (own / f"p{place}.yaml").write_text(written(steps, decimals))
            row |= dict(cells(place, steps, decimals))
        rows.append(row)
        x, w, text = problem(draw, 1)
        (folder / "variants" / f"student {student:03}.yaml").write_text(text)
        sheet = written(work(draw, x, w, MISTAKES[student % len(MISTAKES)]), 2)
        (folder / "own" / f"student {student:03}.yaml").write_text(sheet)
    with (folder / "table.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


RUNS = {
    "grade book of sheets in folders": ["hw.yaml", "sheets", "-f", "csv"],
    "grade book of a table": ["hw.yaml", "table.csv", "-f", "csv"],
    "a page each, and the class": ["hw.yaml", "sheets", "-f", "csv", "--feedback", "pages"],
    "a variant and a sheet each": ["variants", "own", "-f", "csv"],
}


def measured(folder: Path, arguments: list[str]) -> list[float]:
    """Return the seconds, those of the processor, and the megabytes of a whole process."""
    command = [*ATTN, "check", *arguments, "--points", POINTS]
    done = subprocess.run(
        [sys.executable, "-c", WATCH, *command],
        capture_output=True,
        cwd=folder,
        check=True,
        text=True,
    )
    status, *found = done.stdout.split()
    if status not in ("0", "1"):
        raise SystemExit((folder / "err").read_text())
    return [float(number) for number in found]


def main() -> None:
    """Print how long each takes, and its memory for few and for all."""
    students = int(sys.argv[1]) if len(sys.argv) > 1 else STUDENTS
    few = max(1, students // 10)
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / "few", Path(name) / "all"]
        for folder, count in zip(folders, (few, students), strict=True):
            folder.mkdir()
            write(folder, count)
        print(f"{students} students, {PROBLEMS} problems of {TOKENS} tokens and {HEADS} heads")
        heads = f"{'':34}{'seconds':>9}{'processor':>11}"
        print(f"{heads}{f'MB of {few}':>12}{f'MB of {students}':>12}")
        for what, arguments in RUNS.items():
            (*_, small), (seconds, used, memory) = (measured(one, arguments) for one in folders)
            print(f"{what:34}{seconds:9.2f}{used:11.2f}{small:12.1f}{memory:12.1f}", flush=True)


if __name__ == "__main__":
    main()
