"""Judge thousands of typed numbers on the practice page, by its scripts and by `attn check`.

`python -m benchmarks.practice [COUNT] [SEED]` types COUNT numbers, and COUNT steps with a mistake
of the catalogue of which some cells have been typed. It fails where page and program differ.
`python -m benchmarks.practice --record` writes the sample that the suite judges.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent.parent))

import attncli
from benchmarks.surveys.practice import survey, survey_of_mistakes
from tests.support.practice_page import TYPED, Page, said_by_check


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


def record(count: int = 150, mistakes: int = 25, seed: int = 6) -> None:
    """Write what is typed in small surveys, and what is said of it, for its test."""
    lines: list[str] = []
    says = Page.says

    def kept(page: Page, name: str, texts: list[str]) -> tuple[list[str], str]:
        codes, mistake = says(page, name, texts)
        problem = page.trace.problem
        line = {"problem": problem.written, "step": name, "texts": texts, "page": codes}
        key = attncli.AnswerKey(problem)
        line |= {"check": said_by_check(key, name, texts), "mistake": mistake}
        lines.append(json.dumps(line, ensure_ascii=False, default=dict))
        return codes, mistake

    with mock.patch.object(Page, "says", kept):
        survey(count, seed)
        survey_of_mistakes(mistakes, seed)
    TYPED.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        main(*map(int, sys.argv[1:]))
