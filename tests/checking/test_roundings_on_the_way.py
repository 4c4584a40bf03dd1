"""What is rounded on the way, and what is not: numbers worked out with a pocket calculator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import Report
from attncli.checking.judging.agreement import CUT, RoundingRule
from attncli.checking.judging.judged_steps import WRONG, Compared
from attncli.checking.judging.schedules import Schedule
from tests.conftest import cases


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


@pytest.mark.parametrize("digits", [6, 7, 8, 9])
def test_numbers_of_many_decimals_are_rounded_all_the_same(digits: int) -> None:
    """A step rounded to eight decimals and multiplied by 16 is off by eight in the last place."""
    for seed in range(12):
        random = np.random.default_rng(seed)
        x, w_o = random.integers(-1, 2, (3, 4)), 4 * random.integers(-4, 5, (2, 3))
        w_q, w_k, w_v = random.integers(-1, 3, (3, 4, 2))
        shown = {"scaled": (x @ w_q @ (x @ w_k).T / np.sqrt(2)).round(digits)}
        shown["exp"] = np.exp(shown["scaled"]).round(digits)
        shown["weights"] = (shown["exp"] / shown["exp"].sum(axis=1)[:, None]).round(digits)
        shown["context"] = (shown["weights"] @ (x @ w_v)).round(digits)
        shown["output"] = (shown["context"] @ w_o).round(digits)
        answers = {
            step: [[f"{number:.{digits}f}" for number in row] for row in rows]
            for step, rows in shown.items()
        }
        problem = attncli.Problem(X=x, W_q=w_q, W_k=w_k, W_v=w_v, W_o=w_o)
        assert attncli.check(problem, answers).verdict == "correct"
        answers["weights"][0][0] = f"{shown['weights'][0, 0] + 40 * 10**-digits:.{digits}f}"
        assert attncli.check(problem, answers).verdict == "wrong"


def test_a_weight_that_was_adjusted_has_not_every_digit() -> None:
    problem = attncli.Problem(kind="cross", Q=[[1]], K=[[1]] * 6, V=[[1]] * 6, score="dot")
    report = attncli.check(problem, {"weights": [["0.165", *["0.167"] * 5]]})
    assert report.verdict == "correct"
    assert reason(report, "weights") == "one weight of a row adjusted so that it sums to 1"


# Whole numbers beside decimals

WORKED: dict[str, Any] = {"scores": [[1.94, 2, 0.5]], "V": [[1], [0], [0]]}
"""exp is 6.96, 7.39 and 1.65, their sum 15.9975; the weights are 0.435, 0.462 and 0.103."""


@cases("early", "a_whole_number_beside_decimals_has_no_tolerance")
def test_a_whole_number_beside_decimals_has_no_tolerance(shown: Any, verdict: str) -> None:
    assert attncli.check(attncli.Problem(**WORKED), shown).verdict == verdict


def test_a_number_of_one_or_more_is_not_cut_off_to_0() -> None:
    problem = attncli.Problem(X=[[5, -1]], score="dot")
    for answers in (
        {"Q": [[5, 0]]},
        {"Q": [["5.0", "0"]]},
        {"Q": [[5, 0]], "V": [["5.0", "-1.0"]]},
    ):
        assert attncli.check(problem, answers).verdict == "wrong"


def test_a_small_whole_number_is_right_as_the_rounding_of_a_number_that_is_no_share() -> None:
    problem = attncli.Problem(scores=[[0.4]], V=[[1.25]])
    shown = {"exp": [["1.49"]], "output": [["1"]]}
    assert attncli.check(problem, shown).verdict == "correct"
    halves = attncli.Problem(scores=[[1, 0.5]], V=[[1.25], [0.5]])
    assert (
        attncli.check(halves, {"exp": [["2.72", "1.65"]], "weights": [[1, 0]]}).verdict == "wrong"
    )


# Cut off, with further digits kept


def test_one_who_cuts_off_keeps_further_digits() -> None:
    """Every step is cut off after 3 decimals, of which 2 are written: 25/7 = 3.571428 is 3.571."""
    problem = attncli.Problem(Q=[[25, 11]], K=[[1, 0], [0, 1]], V=[[1], [3]], scale="1/7")
    # e^3.571 = 35.552, not e^3.57 = 35.516 or e^(25/7) = 35.567; 4.811/40.363 = 0.119
    shown = {"scaled": [["3.57", "1.57"]], "exp": [["35.55", "4.81"]], "sum": [["40.36"]]}
    shown["weights"] = [["0.88", "0.11"]]
    assert attncli.check(problem, shown).verdict == "correct"
    assert attncli.check(problem, shown | {"exp": [["35.53", "4.81"]]}).verdict == "wrong"


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [
        (["0.165", *["0.167"] * 5], "correct"),
        ([*["0.167"] * 5, "0.165"], "correct"),
        (["0.162", *["0.167"] * 4, "0.170"], "wrong"),  # two numbers are off
        (["0.160", *["0.167"] * 5], "wrong"),  # the sum is not 1
    ],
)
def test_one_weight_may_be_adjusted_so_that_the_row_sums_to_1(weights: Any, verdict: str) -> None:
    problem = attncli.Problem(scores=[[0] * 6], V=[[n] for n in range(6)])
    assert attncli.check(problem, {"weights": [weights]}).verdict == verdict


# After a mistake


def test_a_number_copied_wrongly_and_used_rightly_costs_the_one_cell() -> None:
    """0.27 · 100 is 27, and 2 · 27 is 54; the 29 between them is a slip of the pen."""
    problem = attncli.Problem(scores=[[0, 1]], V=[[100], [0]], W_o=[[2]])
    shown = {"weights": [["0.27", "0.73"]], "context": [["29.00"]], "output": [["54.00"]]}
    report = attncli.check(problem, shown)
    found = {name: step.status for name, step in report.steps.items()}
    assert (found["weights"], found["context"], found["output"]) == ("correct", "wrong", "follows")
    report = attncli.check(problem, shown | {"output": [["56.00"]]})
    assert report.steps["output"].has(WRONG)


def test_what_follows_from_a_mistake_with_every_digit_is_not_wrong() -> None:
    """The scores were not scaled: e^2.465 = 11.76, not e^2.5 = 12.18 of what was written."""
    problem = attncli.Problem(Q=[[1.45, 0, 0, 0]], K=[[1.7, 0, 0, 0], [0, 1, 0, 0]], V=[[1], [3]])
    shown = {"scaled": [["2.5", "0.0"]], "weights": [["0.9216", "0.0784"]]}
    report = attncli.check(problem, shown)
    assert report.findings["scaled"].id == "not_scaled"
    assert report.steps["weights"].status == "follows"


def test_another_form_leads_to_the_same_numbers() -> None:
    """Scaling K before it is normed scales nothing, so that scores as `scaled` are not scaled."""
    problem = attncli.Problem(X=[[1, 2], [2, 0.5]], qk_norm="l2")
    scores = [[f"{x:.4f}" for x in row] for row in attncli.compute(problem)["scores"].value]
    report = attncli.check(problem, {"scores": scores, "scaled": scores})
    assert report.verdict == "wrong"
    assert report.findings["scaled"].id == "not_scaled"
