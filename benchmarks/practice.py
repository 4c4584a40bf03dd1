"""Judge thousands of typed numbers on the practice page, by its scripts and by `attn check`.

`python -m benchmarks.practice [COUNT] [SEED]` types COUNT numbers, and COUNT steps with a mistake
of the catalogue of which some cells have been typed. It fails where page and program differ.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.surveys.practice import survey, survey_of_mistakes


def shown(title: str, found: tuple[Counter[str], list[str]]) -> int:
    """Print the counts of a survey and what differs; return the count of that."""
    tally, wrong = found
    print(title)
    for name, number in sorted(tally.items()):
        print(f"{number:6} {name}")
    print(f"{sum(tally.values()):6} in all, {len(wrong)} otherwise than by check")
    for line in wrong[:20]:
        print(line[:1100])
    return len(wrong)


def main(count: int = 2000, seed: int = 1) -> None:
    """Print both surveys."""
    wrong = shown("Numbers typed: the status by check", survey(count, seed))
    wrong += shown("Steps with a mistake: who names one", survey_of_mistakes(count, seed))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
