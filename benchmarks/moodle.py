"""Count how often Moodle would judge a number in a quiz of ours otherwise than `attn check`.

Run `python benchmarks/moodle.py 1000` in an environment where attncli is installed, from the folder
of the project. Moodle is a reader of its format in the tests, by its documentation. Numbers that
`attn check` excuses as following from others, or from earlier rounding, are counted apart: Moodle
sees one number at a time. Last, how often the feedback on the numbers of a mistake says what the
report says, and whether 40 variants make 40 questions.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import attncli
from benchmarks.surveys.moodle import survey, told_of_mistakes
from tests.conftest import SAMPLES
from tests.support.moodle_quiz import judges_of_all, quiz_of


def main() -> None:
    """Print the counts, and each response on which the two differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for one in survey(arguments.count, arguments.seed):
        if one.expected is None:
            counts["follows from others, or from earlier rounding"] += 1
        elif one.share == one.expected:
            counts[f"both give {one.share:g}"] += 1
        elif one.is_same:
            counts["as for the number with zeros added, which Moodle cannot tell apart"] += 1
        else:
            counts["differ"] += 1
            print(one.cell.step.name, one.cell.at, one.cell.right, *one[1:])
    print(f"{arguments.count} responses:", dict(counts))
    told = Counter(said for judges in judges_of_all() for said in told_of_mistakes(judges))
    print("numbers of mistakes:", dict(told))
    problem = attncli.load(SAMPLES / "i_am_good.yaml")
    variants = [one.problem for one in attncli.vary(problem, 40, ask=["weights", "output"])]
    print("40 variants:", len({question.text for question in quiz_of(variants)}), "questions")


if __name__ == "__main__":
    main()
