"""What is rounded on the way, and what is not: numbers worked out with a pocket calculator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.judging.agreement import CUT, RoundingRule
from attncli.checking.judging.schedules import Schedule
from tests.checking.judged_cases import assert_judged, judged_cases


@judged_cases("roundings", "schedules")
def test_a_schedule_gives_every_number_of_the_step(case: dict[str, Any]) -> None:
    assert_judged(case)


@judged_cases("roundings", "adjusted_weights")
def test_one_weight_may_be_adjusted_so_that_the_row_sums_to_1(case: dict[str, Any]) -> None:
    assert_judged(case)


@judged_cases("roundings", "whole_numbers_beside_decimals")
def test_a_whole_number_beside_decimals_has_no_tolerance(case: dict[str, Any]) -> None:
    assert_judged(case)


@judged_cases("roundings", "cut_off")
def test_one_who_cuts_off_keeps_further_digits(case: dict[str, Any]) -> None:
    """Every step is cut off after 3 decimals, of which 2 are written."""
    assert_judged(case)


@judged_cases("roundings", "after_a_mistake")
def test_what_follows_from_a_mistake_follows(case: dict[str, Any]) -> None:
    assert_judged(case)


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


@pytest.mark.parametrize(("digits", "seed"), [(6, 0), (7, 1), (8, 2), (9, 3)])
def test_numbers_of_many_decimals_are_rounded_all_the_same(digits: int, seed: int) -> None:
    """A step rounded to eight decimals and multiplied by 16 is off by eight in the last place."""
    for random in map(np.random.default_rng, (seed, seed + 4, seed + 8)):
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
