"""Letters of courses, in place of names of steps, change no verdict and make up no mistake.

A letter may mean several steps, so a submission may be called incomplete, with what its letters may
mean; no mistake is named in a step that the student did not mean. With `names` in the problem,
nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey, Report
from benchmarks.oracles.pens import HABITS
from benchmarks.surveys.judging import check
from benchmarks.surveys.test_correct_answers import worked
from benchmarks.surveys.test_mistakes import CASES, TABLES, Work, exercises, shown
from tests.conftest import SAMPLES
from tests.support.truth import Truth, faults

COURSES = TABLES["courses"]
STEP = re.compile(r"([a-z]+)(_\d+)?")


def judged_in_letters(
    problem: attncli.Problem,
    sheet: Mapping[str, Any],
    course: Mapping[str, str],
    truth: Truth | None = None,
) -> bool:
    """Judge answers in letters, without `names` and with them; return False if no step has one."""
    key = AnswerKey(problem)
    own = {*problem.given, *key.trace.steps, *key.trace.inputs}
    matches = {name: match for name in sheet if (match := STEP.fullmatch(name))}
    letters = {name: course.get(match[1], "") for name, match in matches.items()}
    words = {name: letter + (matches[name][2] or "") for name, letter in letters.items() if letter}
    words = {name: word for name, word in words.items() if not own & {letters[name], word}}
    answers = {words.get(name, name): cells for name, cells in sheet.items()}
    before, after = key.check(sheet), key.check(answers)
    about = f"{words}: {problem.written} {sheet}"

    hints = dict(after.skipped)
    is_read = any(hints.get(word, "").startswith("may mean ") for word in words.values())
    is_open = after.verdict == "incomplete" and is_read
    assert is_open or after.verdict == before.verdict, about
    given = [name for name, judged in before.steps.items() if judged.status != "missing"]
    for name in after.findings:
        found = np.sort(after.trace[name].array, axis=None)  # output is context in another layout
        same = (np.sort(before.trace[one].array, axis=None) for one in given)
        assert name in given or any(np.array_equal(found, one) for one in same), about

    values = {name: getattr(problem, name) for name in problem.given}
    names = {letters[name]: matches[name][1] for name in words}
    named = AnswerKey(attncli.Problem(**values, names=names))
    report = named.check(answers) if truth is None else check(named, answers, truth)
    assert truth is None or faults(report, truth) == [], about
    assert said(report) == said(before), about
    return bool(words)


def said(report: Report) -> Any:
    found = {name: finding.id for name, finding in report.findings.items()}
    return report.verdict, report.wrong_steps, found


def drawn(place: int) -> Iterator[tuple[Work, Truth]]:
    """Yield right work, and work with some mistakes."""
    habit = HABITS[place % 4]  # of decimals
    for _, work in islice(worked([41, place], habit), 3):
        yield work, Truth(rounding=str(habit))
    for id_, (case, *_) in [*CASES.items()][place :: 4 * len(COURSES)]:
        for work in islice(shown(id_, case, habit, exercises(case.wish, case.sorts[0], 0)), 1):
            yield work, Truth(mistake=id_, step=case.at)


@pytest.mark.parametrize("place", range(len(COURSES)))
def test_letters_of_courses_change_no_verdict(place: int) -> None:
    random = np.random.default_rng(place)
    with_letters = 0
    for work, truth in drawn(place):
        problem, sheet = attncli.Problem(**work.working.problem), work.sheet
        with_letters += judged_in_letters(problem, sheet, COURSES[place], truth)
        if truth.rounding:  # a few wrong numbers may be right for another step
            few = random.choice([*sheet], min(2, len(sheet)), replace=False)
            judged_in_letters(problem, {n: sheet[n] for n in sheet if n in few}, COURSES[place])
    files = sorted((SAMPLES / "answers").iterdir())
    for student in attncli.load_answers(files[place % len(files)]):
        given = attncli.load(SAMPLES / "i_am_good.yaml")
        with_letters += judged_in_letters(given, student.answers, COURSES[place])
    assert with_letters > 3
