"""Measure how fair the variants of `attn vary` are, by students who share no line of code with it.

Run `python benchmarks/variants.py 300` in an environment where attncli is installed, from the
folder of the project. Printed are, for each mistake that a student can make in a variant, how often
it was called wrong and by which name.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.surveys.variants import (
    FAIRNESS,
    MISNAMED,
    MISSED,
    NAMED,
    OTHER,
    SAID,
    SHAPE,
    Tally,
    survey,
)


def main() -> None:
    """Print the counts by mistake, then the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first problem")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--failures", help="a file for what was unfair, a line of JSON each")
    arguments = parser.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.count)
    tally = Tally()
    with Path(arguments.failures or os.devnull).open("w") as failures:
        for one in survey(arguments.seed, numbers, arguments.processes):
            tally.add(one)
            for failure in one.failures:
                failures.write(f"{json.dumps(failure, default=lambda x: x.tolist())}\n")
            failures.flush()
            print(f"{sum(tally.variants[f] for f in FAIRNESS)}: {tally.shares}", file=sys.stderr)
    outcomes = (NAMED, SHAPE, OTHER, MISNAMED, MISSED, SAID)
    width = max(len(id_) for id_, _ in tally.counts)
    print(f"{'':{width}}", *(f"{outcome:>28}" for outcome in outcomes))
    for id_ in dict.fromkeys(id_ for id_, _ in tally.counts):
        print(f"{id_:{width}}", *(f"{tally.counts[id_, o]:>28}" for o in outcomes))
    print(dict(tally.variants))
    print(tally.shares)


if __name__ == "__main__":
    main()
