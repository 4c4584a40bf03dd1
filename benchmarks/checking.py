"""Measure how long it takes to check 300 answer files of one problem, and single submissions.

Run `python benchmarks/checking.py` in an environment where attncli is installed. The problem has
6 tokens and 2 heads. Every student gives every step in two decimals, and every second one makes a
mistake: the scale is left out, a projection is transposed, or a number is off. The bound is three
times `python -c "import numpy"` plus 5 ms per file, measured in alternation with the command. With
the path of another checkout as an argument, both checkouts are measured in alternation, and the
ratio is printed. Then single submissions follow, correct and wrong ones, with every step and with
only the output.

At last, classes of 200 with every step in two decimals, of which a third is wrong in one of
`KINDS`, no two alike: attention with 2 heads of 4 tokens, and two blocks of a transformer. Beside
them a submission to the two blocks in which every number is made up. Any number of other checkouts
may be named; ratios are those to the first.
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
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import in_turn

if TYPE_CHECKING:
    from attncli.core.mechanisms.trace import Trace

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


KINDS = ("mistake", "one number", "three numbers", "row", "two mistakes", "all from a step on")
"""What is wrong in the work of a student: three numbers are not carried on, all others are."""

STUDENTS, CLASS_ROUNDS = 200, 3


def wrong_work(trace: Trace, draw: np.random.Generator, kind: str) -> dict[str, np.ndarray]:
    """Return the steps of a student with something wrong that shows."""
    from attncli.checking.judging.equivalent_forms import operation_or_input, with_change
    from attncli.checking.mistakes.mistake import wrong
    from attncli.checking.naming.catalogued import mistakes_in

    steps = [step for step in trace if step.array.size > 1]
    while True:
        step = steps[draw.integers(len(steps))]
        if kind == "all from a step on":
            place = list(trace).index(step)
            made_up = {one.name: draw.normal(size=one.value.shape) for one in list(trace)[place:]}
            return {one.name: one.value for one in trace} | made_up
        if "mistake" in kind:
            every = [one for some in mistakes_in(trace, step).values() for one in some]
            change = every[draw.integers(len(every))].change if every else {}
        else:
            count, off = 3 if kind == "three numbers" else 1, np.zeros(step.array.shape)
            if kind == "row":
                *lines, width = step.array.shape
                off[tuple(draw.integers(lines))] = draw.normal(size=width)
            else:
                places = draw.choice(off.size, count, replace=False)
                off.flat[places] = draw.choice([-1, -0.5, 0.2, 1, 2], count)
            change = {step.name: wrong(off.__add__, operation_or_input(step))}
        try:
            other = with_change(trace, change)
        except ValueError:  # numbers of another shape
            continue
        with np.errstate(invalid="ignore"):
            off_by = [np.abs(one.array - trace[one.name].array) for one in other]
        if any((np.nan_to_num(by) > 0.05).any() for by in off_by):
            if kind == "two mistakes":
                return wrong_work(other, draw, "mistake")
            kept = trace if kind == "three numbers" else other
            return {one.name: (other if one is step else kept)[one.name].value for one in trace}


def sheet(steps: dict[str, np.ndarray]) -> str:
    """Return a submission in YAML; nan is a cell that was left out."""
    texts = {
        name: np.vectorize(lambda number: "_" if np.isnan(number) else f"{number:.2f}")(value)
        for name, value in steps.items()
    }
    lines = (f"{name}: {json.dumps(text.tolist())}\n" for name, text in texts.items())
    return "".join(lines).replace('"', "")


def write_class(folder: Path, problem: dict[str, object]) -> None:
    """Write a problem, a folder of submissions, and one that is made up."""
    from attncli import load
    from attncli.checking.check import AnswerKey

    draw = np.random.default_rng(1)
    (folder / "students").mkdir(parents=True)
    (folder / "problem.json").write_text(json.dumps(problem))
    trace = AnswerKey(load(str(folder / "problem.json"))).trace
    cells = [(step, place) for step in trace for place in np.ndindex(step.value.shape)]
    for number, at in enumerate(draw.choice(len(cells), STUDENTS, replace=False)):
        steps = {step.name: step.value.copy() for step in trace}
        if number % 3:  # one cell is left out, for no two to be alike
            steps[cells[at][0].name][cells[at][1]] = np.nan
        else:
            with np.errstate(all="ignore"):
                steps = wrong_work(trace, draw, KINDS[number // 3 % len(KINDS)])
        (folder / "students" / f"{number:03}.yaml").write_text(sheet(steps))
    made_up = {step.name: draw.normal(size=step.value.shape) for step in trace}
    (folder / "made_up.yaml").write_text(sheet(made_up))


def classes(checkouts: Sequence[str]) -> None:
    """Print what classes take in some checkouts, all in turn."""
    draw = np.random.default_rng(5)

    def matrices(**shapes: tuple[int, ...]) -> dict[str, object]:
        return {name: (draw.integers(-4, 5, shape) / 4).tolist() for name, shape in shapes.items()}

    four = dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), (4, 4))
    layers = [matrices(**four, W_1=(4, 8), b_1=(8,), W_2=(8, 4), b_2=(4,)) for _ in range(2)]
    blocks = {"kind": "transformer", "norm": "layer", "place": "pre", "layers": layers}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_class(folder / "attention", {**matrices(X=(4, 4), **four), "heads": 2})
        write_class(folder / "blocks", {**matrices(X=(4, 4)), **blocks, "heads": 2})
        for what, work, answers in (
            (f"{STUDENTS} students, attention", "attention", "students"),
            (f"{STUDENTS} students, two blocks", "blocks", "students"),
            ("two blocks made up", "blocks", "made_up.yaml"),
        ):
            words = (*in_turn.ATTN, "check", "problem.json", answers, "-f", "csv")
            commands = {
                f"{what}, {Path(one).name}": in_turn.Command(words, one, (0, 1))
                for one in checkouts
            }
            in_turn.print_ratios(in_turn.in_turn(commands, CLASS_ROUNDS, folder / work))


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
    classes([*sys.argv[1:], str(ROOT)])


if __name__ == "__main__":
    main()
