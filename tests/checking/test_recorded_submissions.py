"""Submissions are judged as before: right work is not called wrong, and each mistake is named.

Each line of `tests/data/submissions` is a submission of a student who shares no line of code with
the program, with what must be said of it: `python -m pytest benchmarks/surveys --record` draws
thousands, tests that the program is fair to them, and writes a sample here. SPEC 5.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.reading.document import submission_of
from tests.conftest import DATA

FOLDER = DATA / "submissions"
SURVEYS = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def said(report: Report) -> dict[str, Any]:
    """Return the verdict, the cells of each step by status, and what is named in wrong steps."""
    judged = {name: step for name, step in report.steps.items() if step.status != "missing"}
    steps = {
        name: ", ".join(f"{count} {status}" for status, count in step.counts.items() if count)
        for name, step in judged.items()
    }
    findings = {
        name: " | ".join([finding.message, finding.id, *(other.id for other in finding.also)])
        for name, finding in report.findings.items()
    }
    return {"verdict": report.verdict, "steps": steps, "findings": findings}


def cases_of(survey: str) -> list[dict[str, Any]]:
    text = (FOLDER / f"{survey}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def judged(case: dict[str, Any]) -> Report:
    answers = case["answers"]
    if "dtype" in case:
        answers = {name: np.array(rows, case["dtype"]) for name, rows in answers.items()}
    key = AnswerKey(attncli.Problem(**case["problem"]))
    return key.check(submission_of(answers, "student"), case.get("strict", False))


@pytest.mark.parametrize("survey", SURVEYS)
def test_submissions_are_judged_as_recorded(survey: str) -> None:
    for number, case in enumerate(cases_of(survey), 1):
        assert said(judged(case)) == case["said"], f"line {number} of {survey}.jsonl: {case}"


def test_every_mistake_is_named_in_a_submission() -> None:
    cases = [case["said"]["findings"] for survey in SURVEYS for case in cases_of(survey)]
    named = {id_ for said in cases for text in said.values() for id_ in text.split(" | ")[1:]}
    assert set(MISTAKES) <= named


RIGHT = [survey for survey in SURVEYS if survey.endswith(("never_wrong", "is_right"))]


@pytest.mark.parametrize("survey", RIGHT)
def test_right_work_is_never_called_wrong(survey: str) -> None:
    assert "wrong" not in {case["said"]["verdict"] for case in cases_of(survey)}
