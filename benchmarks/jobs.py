"""Measure work that several processes share: 20,000 problems, and a class of 2,000.

Run `python -m benchmarks.jobs [ROUNDS] [--cluster ADDRESS] [CHECKOUT…]`. Each workload runs with
one job and with two, in turn, in this checkout and in others that have `--jobs`. The ratio of the
seconds should be at most 1 / 1.8 on two cores that nothing else uses; the memory is that of the
largest process. With an address, a cluster does the same work.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.classes import GIVEN, MISTAKES, problem, work, written
from benchmarks.in_turn import ATTN, ROOT, Command, in_turn, print_ratios
from benchmarks.streams import write_problems

PROBLEMS, STUDENTS, ROUNDS = 20_000, 2_000, 3
BOUND = round(1 / 1.8, 2)


def write_class(folder: Path, students: int) -> None:
    """Write a problem, and a file for each student, who writes each step in two or three decimals.

    Every third has one of three mistakes, so that few hand in the same numbers.
    """
    draw = np.random.default_rng(5)
    x, w, text = problem(draw, 1)
    (folder / "hw.yaml").write_text(text)
    (folder / "answers").mkdir()
    for number in range(students):
        steps = work(draw, x, w, MISTAKES[number % len(MISTAKES)])
        texts = [written(steps, decimals).splitlines() for decimals in (2, 3)]
        lines = (texts[draw.integers(2)][place] for place in range(len(GIVEN)))
        (folder / "answers" / f"student_{number:05}.yaml").write_text("\n".join(lines) + "\n")


def main(arguments: list[str]) -> None:
    """Print a line for each workload and number of jobs."""
    cluster = arguments.pop(arguments.index("--cluster") + 1) if "--cluster" in arguments else ""
    words = [word for word in arguments if word != "--cluster"]
    rounds = int(words.pop(0)) if words and words[0].isdecimal() else ROUNDS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_problems(folder, PROBLEMS)
        write_class(folder, STUDENTS)
        works = {
            f"{PROBLEMS:,} problems, JSON Lines": ["compute", f"{PROBLEMS}.jsonl", "-f", "json"],
            f"{PROBLEMS:,} problems, YAML": ["compute", f"{PROBLEMS}.yaml", "-f", "json"],
            f"a class of {STUDENTS:,}": ["check", "hw.yaml", "answers", "-f", "csv"],
        }
        ways = {"1 job": [], "2 jobs": ["--jobs", "2"]}
        ways |= {"cluster": ["--cluster", cluster]} if cluster else {}
        for what, command in works.items():
            commands = {
                f"{what}, {way}{'' if checkout == str(ROOT) else f', {checkout}'}": Command(
                    [*ATTN, *command, *flags], checkout, (0, 1)
                )
                for checkout in (str(ROOT), *words)
                for way, flags in ways.items()
            }
            bounds = dict.fromkeys((key for key in commands if "2 jobs" in key), BOUND)
            print_ratios(in_turn(commands, rounds, folder), bounds)


if __name__ == "__main__":
    main(sys.argv[1:])
