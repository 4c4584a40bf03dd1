"""Measure how fair `attn check` is: `python -m benchmarks.surveys NAME --count N --seed S`.

The names are those of `fairness.SURVEYS`, each with a number of submissions per kind, and `course`,
whose files are in layouts of platforms; `--record` writes what the tests have of it.
`--by 'way;form,shown'` says how tables are grouped, and `--failures FILE` keeps what was misjudged.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.oracles.workings import SORTS
from benchmarks.surveys import course, fairness


def main() -> None:
    """Run a survey and print what it found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", choices=[*fairness.SURVEYS, "course"])
    parser.add_argument("--count", type=int, default=100, help="submissions per kind, or students")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", help="some of the survey's kinds, as a,b")
    parser.add_argument("--sorts", default=",".join(SORTS), help="of which problems")
    parser.add_argument("--by", default="way", help="how tables are grouped: way;form,shown")
    parser.add_argument("--record", action="store_true", help="write a sample for the tests")
    parser.add_argument("--failures", type=Path, help="where submissions are kept")
    given = parser.parse_args()
    if given.name == "course":
        lines = [*course.main(given)]
    else:
        warnings.simplefilter("ignore")
        rng, ways = np.random.default_rng(given.seed), (given.ways or "").split(",")
        tally = fairness.survey(
            given.name, rng, given.count, [*filter(None, ways)], given.sorts.split(",")
        )
        if given.failures:
            kept = (json.dumps(line, default=str) for line in tally.misjudged)
            given.failures.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        tables = (tally.table(columns.split(",")) for columns in given.by.split(";"))
        lines = [*chain.from_iterable(tables), *tally.beyond()]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
