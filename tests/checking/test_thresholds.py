"""Every threshold of judging has a case on each side of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.judging import agreement, early_rounding
from attncli.checking.judging.agreement import RoundingRule, roundings_of
from attncli.checking.judging.trial import Trial
from tests.checking.judged_cases import judged_cases
from tests.conftest import tables

HERE = {"MAX_TRIED_NUMBERS"}
"""Thresholds of which the tests below have the cases."""

NO_THRESHOLDS = {"TEN", "UP", "EVEN", "CUT"}


def test_every_threshold_has_a_case_on_each_side_of_it() -> None:
    cases = [row["id"] for rows in tables("thresholds").values() for row in rows]
    for name in vars(agreement):
        if name.isupper() and name not in HERE | NO_THRESHOLDS:
            assert sum(case.startswith(f"{name}: ") for case in cases) >= 2, name


@judged_cases("thresholds", "of_roundings")
def test_a_number_is_rounded_by_the_threshold(case: dict[str, Any]) -> None:
    number = RoundingRule(2, mode=case["mode"])(np.array(case["number"]))
    assert number == pytest.approx(case["rounded"], rel=1e-12)


@judged_cases("thresholds", "of_rules")
def test_how_a_student_rounds_is_told_by_numbers_with_a_point(case: dict[str, Any]) -> None:
    assert [*map(str, roundings_of(case["texts"]))] == case["rules"]


@pytest.mark.parametrize(("spare", "is_split"), [(0, False), (-1, True)])
def test_so_many_numbers_are_tried_at_once(
    spare: int, is_split: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of schedules that are split nothing else is said."""
    counts: list[int] = []

    class Counted(Trial):
        def __init__(self, operands: Any, schedules: Any, *more: Any) -> None:
            counts.append(len(schedules.each))
            super().__init__(operands, schedules, *more)

    monkeypatch.setattr(early_rounding, "Trial", Counted)
    problem = attncli.Problem(scores=[[0, 1]], V=[[50], [0]])

    def statuses() -> list[str]:
        """Return those of a number that a schedule gives, and of one that none gives."""
        counts.clear()
        reports = [attncli.check(problem, {"output": text}) for text in ("15.00", "16.66")]
        return [report.steps["output"].status for report in reports]

    assert statuses() == ["rounded_early", "wrong"]
    most, at_once = max(counts), len(counts)
    size = sum(step.array.size for step in attncli.compute(problem))  # for each schedule
    monkeypatch.setattr(agreement, "MAX_TRIED_NUMBERS", most * size + spare)
    assert statuses() == ["rounded_early", "wrong"]
    assert (max(counts) < most, len(counts) > at_once) == (is_split, is_split)
