"""Measure what `attn check` makes of the letters of courses.

Run `python benchmarks/names.py` in an environment where attncli is installed, from the folder of
the project. Submissions, right and wrong, are judged under the names of steps, in the letters of
courses, and with the problem's key `names`. What differs, and should not, is printed as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.surveys.names import drawn, of_samples, survey


def main() -> None:
    """Run the survey and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000, help="how many submissions are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="how many failures are printed")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(given.seed)
    for title, sheets in (("samples", of_samples()), ("drawn", drawn(rng, given.count))):
        start = time.perf_counter()
        tally = survey(sheets)
        print(f"{title}: {time.perf_counter() - start:.0f} s, {len(tally.failures)} unfair")
        for name in sorted(tally.counts):
            print(f"  {name:60} {tally.counts[name]:6}")
        for failure in tally.failures[: given.show]:
            print(json.dumps(failure, ensure_ascii=False))


if __name__ == "__main__":
    main()
