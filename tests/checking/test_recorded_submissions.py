"""Recorded submissions: right work is called right, and what was planted is found where it is.

Each line of `tests/data/submissions` is a submission of a student who shares no line of code with
the program, with what was planted in it: `python -m pytest benchmarks/surveys --record` draws
thousands, tests that the program is fair to them, and writes a sample here. SPEC 5.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from attncli.checking.mistakes.catalogue import MISTAKES
from tests.conftest import DATA
from tests.support.truth import faults, judged

FOLDER = DATA / "submissions"
SURVEYS = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


@cache
def cases_of(survey: str) -> list[dict[str, Any]]:
    text = (FOLDER / f"{survey}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def planted(truth: dict[str, Any]) -> str:
    """Return what a truth is of: a mistake, a step with another wrong number, or a rounding."""
    at = f"something in {truth['step']}" if "step" in truth else f"right in {truth['rounding']}"
    return str(truth.get("mistake", at))


PLANTED = sorted(
    {(survey, planted(case["truth"])) for survey in SURVEYS for case in cases_of(survey)}
)


@pytest.mark.parametrize(("survey", "what"), PLANTED, ids=lambda word: word)
def test_a_submission_is_judged_by_what_was_planted_in_it(survey: str, what: str) -> None:
    """The shortest one of each kind; `test_every_recorded_submission` judges all."""
    case = next(c for c in cases_of(survey) if planted(c["truth"]) == what)
    assert not faults(*judged(case)), case


@pytest.mark.whole
@pytest.mark.parametrize(("survey", "what"), PLANTED, ids=lambda word: word)
def test_every_recorded_submission_is_judged_by_what_was_planted_in_it(
    survey: str, what: str
) -> None:
    for case in cases_of(survey):
        if planted(case["truth"]) == what:
            assert not faults(*judged(case)), case


def test_every_mistake_is_planted_in_a_submission() -> None:
    assert set(MISTAKES) <= {what for _, what in PLANTED}
