"""The operations of random problems beside plain loops that count each one they carry out.

`python -m benchmarks.surveys.counts 200` tries so many, and prints how many there were.
"""

from __future__ import annotations

import sys

from tests.mechanisms.test_counts import check_against_loops, drawn


def main() -> None:
    number = int([*sys.argv, "200"][1])
    for seed in range(number):
        check_against_loops(drawn(seed))
    print(f"{number} problems, each step with the operations of the loops")


if __name__ == "__main__":
    main()
