"""Measure how fair `attn check` is, by students who share no line of code with it.

Run `python benchmarks/fairness.py right` (or honest, mistakes, hollow, one_wrong, invented,
mistaken, all) in an environment where attncli is installed, from the folder of the project. Each
survey draws submissions at random, lets the program judge them and counts where it is unfair. A
failure is printed as one line of JSON, which `--replay FILE` judges again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.oracles.honest import Handed
from benchmarks.surveys.fairness import (
    ALSO,
    Tally,
    hollow,
    honest,
    judged,
    mistakes,
    one_wrong,
    right,
    shares_of,
    told,
)
from benchmarks.surveys.follow_through import invented, mistaken

Survey = Callable[[np.random.Generator, int], Tally]

SURVEYS: dict[str, tuple[Survey, int]] = {
    "right": (right, 12_000),
    "honest": (honest, 2_000),
    "mistakes": (mistakes, 14_000),
    "hollow": (hollow, 300),
    "one_wrong": (one_wrong, 2_000),
    "invented": (invented, 300),
    "mistaken": (mistaken, 6_000),
}
"""The surveys, and how many sheets each draws unless told otherwise; `hollow`
and `invented` count problems."""


def table(counts: Counter[str]) -> Iterator[str]:
    """Yield lines: a way of working each with its sheets, the wrong ones and its statuses."""
    ways = [name.partition(": ")[2] for name in counts if name.startswith("sheets: ")]
    for way in sorted(ways):
        n, wrong = counts[f"sheets: {way}"], counts[f"wrong: {way}"]
        refused = counts[f"refused: {way}"]
        said = {k.partition("; ")[2]: v for k, v in counts.items() if k.startswith(f"{way}; ")}
        more = f", {refused} refused" if refused else ""
        yield f"  {way:58} {n:6} sheets {wrong:5} wrong{more}  {said}"
    total = sum(n for name, n in counts.items() if name.startswith("sheets: "))
    wrong = sum(n for name, n in counts.items() if name.startswith(("wrong: ", "refused: ")))
    if total:
        yield f"  in all: {total} sheets, {wrong} wrong or refused ({wrong / total:.3%})"
    shown = ("sheets: ", "wrong: ", "refused: ")
    for name in sorted(counts):
        if not name.startswith(shown) and not any(name.startswith(f"{way}; ") for way in ways):
            yield f"  {name:70} {counts[name]:7}"


def replay(path: Path) -> None:
    """Judge every line of a file again."""
    for line in path.read_text().splitlines():
        found = json.loads(line)
        handed = Handed(
            found["way"],
            found["problem"],
            found["sheet"],
            found.get("dtype", ""),
            found.get("via", ""),
        )
        try:
            print(json.dumps({"way": handed.way} | told(judged(handed)), ensure_ascii=False))
        except Exception as error:
            print(json.dumps({"way": handed.way, "refused": repr(error)}, ensure_ascii=False))


def main() -> None:
    """Run surveys and print what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("survey", nargs="?", default="all", choices=[*SURVEYS, "all"])
    parser.add_argument("--count", type=int, help="how many sheets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shares", default="1/1", help="i/n: the i-th of n parts of the count")
    parser.add_argument("--show", type=int, default=5, help="how many failures are printed")
    parser.add_argument("--save", type=Path, help="where all failures are written, a line each")
    parser.add_argument("--replay", type=Path, help="a file of failures to judge again")
    given = parser.parse_args()
    if given.replay:
        replay(given.replay)
        return
    warnings.simplefilter("ignore")
    part, parts = (int(word) for word in given.shares.split("/"))
    for name in SURVEYS if given.survey == "all" else [given.survey]:
        survey, default = SURVEYS[name]
        count = -(-(given.count or default) // parts)
        start = time.perf_counter()
        tally = survey(np.random.default_rng([given.seed, part, *map(ord, name)]), count)
        seconds = time.perf_counter() - start
        print(f"{name}: {count} sheets in {seconds:.0f} s, {count / seconds:.0f} a second")
        lines = (shares_of if name == "mistakes" else table)(tally.counts)
        print("\n".join(lines))
        tally.failures.sort(key=lambda failure: failure["why"] == ALSO)
        for failure in tally.failures[: given.show]:
            print(json.dumps(failure, ensure_ascii=False))
        if given.save:
            with given.save.open("a") as file:
                file.writelines(json.dumps(f, ensure_ascii=False) + "\n" for f in tally.failures)


if __name__ == "__main__":
    main()
