"""Compare random problems with a reference in 40 digits that bounds what rounding may do to them.

Run `python benchmarks/exactness.py [--ordinary N] [--extreme N] [--start SEED] [--processes N]` in
an environment for development. A problem is *near* where every number of every step is within
1e-12 of its step's largest (1e-4 in float32); *conditioning* explains a larger distance where it is
within the error bound of the sums that lead to the number; of an *unknown* number that bound is
infinite, as after a division by a sum that cancels; *refused* is one of which a number is beyond a
float, or which has a vector without a direction or a sum of 0. Anything else is *wrong*: it is
printed, and the exit status is 1. With `--record` 40 problems of each size are written for
tests/mechanisms/test_random_problems.py, with the right numbers and their bounds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.surveys.random_problems import Outcome, outcome, recorded  # noqa: E402 - after the path
from tests.mechanisms.test_random_problems import PROBLEMS  # noqa: E402

SEEDS_PER_TASK = 250
RECORDED = 40


def main() -> int:
    """Print the counts; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ordinary", type=int, default=30_000, help="problems of ordinary size")
    parser.add_argument("--extreme", type=int, default=12_000, help="problems of extreme size")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--record", action="store_true", help="write the problems of the tests")
    asked = parser.parse_args()
    if asked.record:
        lines = [recorded(seed, extreme) for extreme in (False, True) for seed in range(RECORDED)]
        PROBLEMS.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        return 0
    wrong = 0
    with ProcessPoolExecutor(asked.processes) as pool:
        for name, count in (("ordinary", asked.ordinary), ("extreme", asked.extreme)):
            seeds = range(asked.start, asked.start + count)
            run = partial(pool.map, outcome, chunksize=SEEDS_PER_TASK)
            found = dict(zip(seeds, run(seeds, repeat(name == "extreme")), strict=True))
            wrong += report(name, found)
    return 1 if wrong else 0


def report(name: str, found: dict[int, Outcome]) -> int:
    """Print how many problems came out how, and which steps needed a reason; return the wrong."""
    words = Counter(one.word for one in found.values())
    counts = ", ".join(f"{word} {words[word]:,}" for word in sorted(words, key=words.__getitem__))
    print(f"{name}: {len(found):,} problems: {counts}", flush=True)
    for word in ("conditioning", "unknown"):
        # The first step of a problem that is not near, such as `scores`, whatever its time.
        steps = Counter(o.reason.rstrip("_123456789") for o in found.values() if o.word == word)
        seeds = [seed for seed, one in found.items() if one.word == word][:5]
        if steps:
            told = ", ".join(f"{step} {count}" for step, count in steps.most_common())
            print(f"  {word}, first in: {told} (such as seeds {seeds})")
    for seed, one in found.items():
        if one.word == "wrong":
            print(f"  wrong: seed {seed}: {one.reason}")
    return words["wrong"]


if __name__ == "__main__":
    sys.exit(main())
