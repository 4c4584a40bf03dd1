"""Measure how long it takes to check 300 answer files of one problem, and single submissions.

Run `python benchmarks/checking.py` in an environment where attncli is installed. The problem has
6 tokens and 2 heads. Every student gives every step in two decimals, and every second one makes a
mistake: the scale is left out, a projection is transposed, or a number is off. The bound is three
times `python -c "import numpy"` plus 5 ms per file, measured in alternation with the command. With
the path of another checkout as an argument, both checkouts are measured in alternation, and the
ratio is printed. Then single submissions follow, correct and wrong ones, with every step and with
only the output.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

ROUNDS = 9
FILES = 300
SUBMISSIONS, CASE_ROUNDS = 20, 3
ROOT = Path(__file__).parent.parent
TOKENS, WIDTH, HEADS = 6, 8, 2
ATTN = str(Path(sys.executable).parent / "attn")


def work(x: np.ndarray, w: dict[str, np.ndarray], mistake: int) -> dict[str, np.ndarray]:
    """Return the steps of a student, with one of the mistakes."""
    w_k = w["W_k"].T if mistake == 1 else w["W_k"]
    q, k, v = (np.stack(np.split(x @ m, HEADS, axis=1)) for m in (w["W_q"], w_k, w["W_v"]))
    scores = q @ k.transpose(0, 2, 1)
    if mistake == 2:
        scores[1, 3, 2] += 1
    scaled = scores if mistake == 3 else scores / np.sqrt(WIDTH / HEADS)
    exp = np.exp(scaled)
    weights = exp / exp.sum(-1, keepdims=True)
    context = weights @ v
    concat = np.concatenate(list(context), axis=1)
    return {
        **{"Q": q, "K": k, "V": v, "scores": scores, "scaled": scaled, "weights": weights},
        **{"context": context, "concat": concat, "output": concat @ w["W_o"]},
    }


def write(
    folder: Path, files: int = FILES, mistakes: Sequence[int] = range(6)
) -> tuple[str, list[str]]:
    """Write the problem and answers with each mistake in turn; return the names of the files."""
    draw = np.random.default_rng(1)
    x = draw.integers(-2, 3, (TOKENS, WIDTH)) / 2
    w = {n: draw.integers(-2, 3, (WIDTH, WIDTH)) / 4 for n in ("W_q", "W_k", "W_v", "W_o")}
    matrices = {"X": x, **w}
    problem = {key: m.tolist() for key, m in matrices.items()} | {"heads": HEADS}
    (folder / "problem.json").write_text(json.dumps(problem))
    names = []
    for number in range(files):
        steps = work(x, w, mistakes[number % len(mistakes)])
        lines = []
        for name, value in steps.items():
            rows = [
                [f"{number:.2f}" for number in row] for row in value.reshape(-1, value.shape[-1])
            ]
            if value.ndim == 3:
                cut = [rows[i : i + TOKENS] for i in range(0, len(rows), TOKENS)]
                text = ", ".join(
                    "[" + ", ".join(f"[{', '.join(r)}]" for r in part) + "]" for part in cut
                )
            else:
                text = ", ".join(f"[{', '.join(row)}]" for row in rows)
            lines.append(f"{name}: [{text}]\n")
        path = folder / f"student_{number:03}.yaml"
        path.write_text("".join(lines))
        names.append(str(path))
    return str(folder / "problem.json"), names


def once(command: list[str], checkout: str = "") -> float:
    """Return the duration of one process in seconds, with the package of a checkout if given."""
    environment = {**os.environ, "PYTHONPATH": checkout} if checkout else None
    start = time.perf_counter()
    found = subprocess.run(command, check=False, capture_output=True, env=environment)
    if found.returncode not in (0, 1):
        raise SystemExit(found.stderr.decode())
    return time.perf_counter() - start


def cases(problem: str) -> dict[str, float]:
    """Return the milliseconds per submission, by its kind; all submissions differ."""
    from attncli import load
    from attncli.checking.check import AnswerKey

    draw = np.random.default_rng(2)
    key = AnswerKey(load(problem))
    numbers = {step.name: step.value for step in key.trace}

    def texts(value: np.ndarray) -> list[object]:
        if value.ndim > 1:
            return [texts(part) for part in value]
        return [f"{x:.3f}" if np.isfinite(x) else "_" for x in value]

    def changed(name: str, by: float) -> np.ndarray:
        value = numbers[name].copy()
        value.flat[draw.integers(value.size)] += by
        return value

    makers: dict[str, Callable[[], dict[str, np.ndarray]]] = {
        "right, every step": lambda: numbers | {"output": changed("output", np.nan)},
        "right, only the output": lambda: {"output": changed("output", np.nan)},
        "one wrong number, only the output": lambda: {"output": changed("output", draw.random())},
        "one wrong score, every step": lambda: (
            numbers | {"scores": changed("scores", draw.random())}
        ),
        "random numbers, only the output": lambda: {
            "output": draw.normal(size=numbers["output"].shape)
        },
        "random numbers, every step": lambda: {
            name: draw.normal(size=value.shape) for name, value in numbers.items()
        },
    }
    found = {}
    for kind, make in makers.items():
        times = []
        for _ in range(SUBMISSIONS):
            answers = {name: texts(value) for name, value in make().items()}
            start = time.perf_counter()
            key.check(answers)
            times.append(1000 * (time.perf_counter() - start))
        found[kind] = statistics.median(times)
    return found


def cases_in_turn(problem: str, other: str) -> dict[str, list[float]]:
    """Return the median of this checkout, and the ratio to the other one, by kind of submission."""
    command = [sys.executable, __file__, "--cases", problem]
    rounds: list[tuple[dict[str, float], dict[str, float]]] = []
    for _ in range(CASE_ROUNDS):
        each = []
        for checkout in (str(ROOT), other):
            environment = {**os.environ, "PYTHONPATH": checkout}
            done = subprocess.run(command, check=True, capture_output=True, env=environment)
            each.append(json.loads(done.stdout))
        rounds.append((each[0], each[1]))
    return {
        kind: [
            statistics.median(own[kind] for own, _ in rounds),
            statistics.median(own[kind] / before[kind] for own, before in rounds),
        ]
        for kind in rounds[0][0]
    }


def main() -> None:
    """Print the medians and the bound."""
    if sys.argv[1:2] == ["--cases"]:
        print(json.dumps(cases(sys.argv[2])))
        return
    other = sys.argv[1] if len(sys.argv) > 1 else str(ROOT)
    with tempfile.TemporaryDirectory() as name:
        problem, answers = write(Path(name))
        numpy = [sys.executable, "-c", "import numpy"]
        check = [ATTN, "check", problem, *answers]
        once(check)
        base, whole, before = [], [], []
        for _ in range(ROUNDS):
            base.append(once(numpy))
            whole.append(once(check))
            before.append(once(check, other))
        kinds = cases_in_turn(problem, other)
    start, seconds = statistics.median(base), statistics.median(whole)
    bound = 3 * start + 0.005 * FILES
    print(f"medians of {ROUNDS} interleaved runs")
    print(f'python -c "import numpy"   {start * 1000:7.1f} ms')
    print(f"attn check, {FILES} files     {seconds * 1000:7.1f} ms")
    print(f"bound                      {bound * 1000:7.1f} ms   ratio {seconds / bound:.2f}")
    ratio = statistics.median(a / b for a, b in zip(whole, before, strict=True))
    print(f"the other checkout         {statistics.median(before) * 1000:7.1f} ms   {ratio:.2f}")
    for kind, (median, to_other) in kinds.items():
        print(f"{kind:35} {median:6.1f} ms   of the other checkout {to_other:.2f}")


if __name__ == "__main__":
    main()
