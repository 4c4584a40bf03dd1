"""Recorded submissions: right work is called right, and what was planted is found where it is.

Each line of `tests/data/submissions` is a submission of a student who shares no line of code with
the program, with what was planted in it: `python -m pytest benchmarks/surveys --record` draws
thousands, tests that the program is fair to them, and writes a sample here. SPEC 5.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.mistakes.catalogue import MISTAKES
from tests.conftest import DATA, table
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


# Courses call steps by letters, which may mean several: a submission may be open then.

IN_LETTERS = ("mistake_is_named", "slip_is_named", "honest_roundings_are_right")
COURSES = table("course_names", "courses")
STEP = re.compile(r"([a-z]+)(_\d+)?")


@pytest.mark.parametrize("each", [9, pytest.param(2, marks=pytest.mark.whole)])
@pytest.mark.parametrize("place", range(len(COURSES)))
def test_letters_of_a_course_change_no_verdict(place: int, each: int) -> None:
    """Nor what is named, if the problem has `names`; without, no other step is judged."""
    every = [case for survey in IN_LETTERS for case in cases_of(survey)]
    some = every[place :: each * len(COURSES)]
    assert sum(judged_in_letters(case, COURSES[place]) for case in some) > len(some) / 2


def judged_in_letters(case: dict[str, Any], course: dict[str, str]) -> bool:
    """Judge a submission with letters in place of names; return False if no step has one."""
    problem, sheet = case["problem"], case["answers"]
    key = AnswerKey(attncli.Problem(**problem))
    own = {*key.problem.given, *key.trace.steps, *key.trace.inputs}
    parts = {name: match for name in sheet if (match := STEP.fullmatch(name))}
    letters = {name: course[match[1]] for name, match in parts.items() if match[1] in course}
    words = {name: letter + (parts[name][2] or "") for name, letter in letters.items()}
    words = {name: word for name, word in words.items() if own.isdisjoint((letters[name], word))}
    answers = {words.get(name, name): rows for name, rows in sheet.items()}
    before, after = key.check(sheet), key.check(answers)

    hints = dict(after.skipped)
    is_open = after.verdict == "incomplete" and any("may mean" in text for text in hints.values())
    assert is_open or after.verdict == before.verdict, (words, case)
    given = [name for name, step in before.steps.items() if step.status != "missing"]
    for name in after.findings:  # the output is the context in another layout
        found = np.sort(after.trace[name].array, axis=None)
        same = (np.sort(before.trace[one].array, axis=None) for one in given)
        assert name in given or any(np.array_equal(found, one) for one in same), (words, case)

    names = {letters[name]: parts[name][1] for name in words}
    named = AnswerKey(attncli.Problem(**problem, names=names)).check(answers)
    assert said(named) == said(before), (words, case)
    return bool(words)


def said(report: Report) -> Any:
    found = {name: finding.id for name, finding in report.findings.items()}
    return report.verdict, report.wrong_steps, found
