"""What is rounded on the way, and what is not: numbers worked out with a pocket calculator."""

from __future__ import annotations

from typing import Any

import attncli
from attncli.checking.agreement import CUT, RoundingRule
from attncli.checking.check import Report
from attncli.checking.judged import Compared
from attncli.checking.schedules import Schedule


def reason(report: Report, step: str) -> str:
    judged = report.steps[step]
    assert isinstance(judged, Compared)
    return judged.rounding


# Scores of 6.665, 0 and 1 with d_k = 3: 6.665/√3 = 3.848, but 6.665/1.73 = 3.8526.
THREE: dict[str, Any] = {
    "Q": [[6.665, 0, 0]],
    "K": [[1, 0, 0], [0, 1, 0], [0.15, 0, 0]],
    "V": [[1, 0], [0, 1], [1, 1]],
}


def test_a_constant_lives_on_where_the_step_that_it_rounds_shows_no_trace_of_it() -> None:
    problem = attncli.Problem(**THREE)
    shown = {"scores": [["6.665", "0", "0.99975"]], "scaled": [["3.85", "0", "0.58"]]}
    report = attncli.check(problem, shown | {"exp": [["47.12", "1", "1.78"]]})
    assert report.verdict == "correct"
    assert reason(report, "exp") == "√3 taken as 1.73"
    for other in ("46.60", "47.20", "47.72"):  # of what rounds to 3.85, but of no constant
        assert attncli.check(problem, shown | {"exp": [[other, "1", "1.78"]]}).verdict == "wrong"


def test_two_digits_more_on_scratch_paper_than_on_the_sheet() -> None:
    # e^9/(e^9 + 1) = 0.99987661, in five digits 0.99988; 3 · 0.99988 = 2.9996; 3 − 2.9996 = 0.0004.
    problem = attncli.Problem(
        kind="co_attention", X=[[3], [0]], memory=[[3], [0]], enhance=True, score="dot"
    )
    rows = [["3.00", "3.00", "0.000400", "9.00"], ["0", "1.50", "-1.50", "0"]]
    report = attncli.check(problem, {"enhanced_x": rows})
    assert report.verdict == "correct"
    assert "5 significant digits" in reason(report, "enhanced_x")
    rows[0][2] = "0.0400"
    assert attncli.check(problem, {"enhanced_x": rows}).verdict == "wrong"


def test_what_may_be_anything_after_a_rounding_explains_nothing() -> None:
    # Two equal scores: whichever of them is the largest by a rounding, nobody shares the weight.
    problem = attncli.Problem(**THREE | {"Q": [[2, 2, 0]], "normalize": "hardmax"})
    shown = {"scores": [["2", "2", "0.30"]], "scaled": [["1.15", "1.15", "0.17"]]}
    assert attncli.check(problem, shown | {"weights": [["1", "0", "0"]]}).verdict == "correct"
    report = attncli.check(problem, shown | {"weights": [["0.50", "0.50", "0"]]})
    assert report.verdict == "wrong"


def test_half_and_half_is_no_rounding_of_two_thirds() -> None:
    problem = attncli.Problem(Q=[[0.7]], K=[[1], [0]], V=[[1], [2]], score="dot")
    assert attncli.check(problem, {"weights": [["0.67", "0.33"]]}).verdict == "correct"
    assert attncli.check(problem, {"weights": [["0.7", "0.3"]]}).verdict == "correct"
    assert attncli.check(problem, {"weights": [["0.5", "0.5"]]}).verdict == "wrong"


def test_few_numbers_of_many_digits_are_floats() -> None:
    # 0.98193359 and 0.017990112 are float16 as NumPy prints them in a list.
    problem = attncli.Problem(
        kind="pooling", X=[[1, 2, -1, -2], [0, 0, 1, 0]], u=[2, 1, 0, -2], score="scaled_dot"
    )
    weights = attncli.compute(problem)["weights"].value[0]
    assert abs(weights[0] - 0.98201379) < 1e-8
    assert attncli.check(problem, {"weights": [["0.98193359", "0.017990112"]]}).verdict == "correct"
    assert attncli.check(problem, {"weights": [["0.98193361", "0.017990112"]]}).verdict == "wrong"


def test_only_what_a_rounding_changes_is_named() -> None:
    """Q, K and the scores are whole, so that nothing of them is cut off."""
    problem = attncli.Problem(Q=[[1, 2], [3, 1]], K=[[1, 2], [3, 1]], V=[[1, 0], [0, 1]])
    trace, rule = attncli.compute(problem), RoundingRule(1, mode=CUT)
    whole = frozenset({"Q", "K", "scores"})
    assert Schedule(whole | {"scaled"}, rule).words(trace) == "scaled cut off after 1 decimal"
    assert Schedule(whole, rule).words(trace) == "numbers cut off"
    assert Schedule(whole | {"1/3"}, rule).words(trace) == "1/3 cut off after 1 decimal"
    every = Schedule(frozenset(trace.steps), rule).words(trace)
    assert every == "the steps that are not shown cut off after 1 decimal"


def test_a_weight_that_was_adjusted_has_not_every_digit() -> None:
    problem = attncli.Problem(kind="cross", Q=[[1]], K=[[1]] * 6, V=[[1]] * 6, score="dot")
    report = attncli.check(problem, {"weights": [["0.165", *["0.167"] * 5]]})
    assert report.verdict == "correct"
    assert reason(report, "weights") == "the largest weight adjusted so that they sum to 1"
