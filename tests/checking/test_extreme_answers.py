"""Submissions of huge, tiny and infinite numbers, or to problems of several batch elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.judging.judged_steps import Compared
from attncli.core.arithmetic import floats
from attncli.core.mechanisms.trace import Trace
from tests.conftest import SAMPLES

BATCHED: dict[str, Any] = {
    "X": [[[1, 0.4], [-0.5, 1]], [[0.2, -1], [2, 0.3]], [[-1, 0.7], [0.1, 0.6]]],
    "W_q": [[1, -0.5], [0.4, 2]],
    "gradient": "sum",
}
TINY: dict[str, Any] = {"Q": [[1, 2], [0, 1]], "K": [[1, 0], [0, 1]], "V": [[1, 0], [2, 1]]}


def two_decimals(array: Any) -> list[list[str]]:
    return [[f"{number:.2f}" for number in row] for row in array]


def shown(report: attncli.Report) -> str:
    """Return the page of a report, which no number may keep from being written."""
    return str(report._repr_html_())


def test_a_wrong_sum_over_the_batch_is_judged() -> None:
    problem = attncli.Problem(**BATCHED)
    step = attncli.compute(problem)["d_W_q"]
    report = attncli.check(problem, {"d_W_q": two_decimals(step.value + 0.03)})
    assert report.verdict == "wrong"
    assert attncli.check(problem, {"d_W_q": two_decimals(step.value)}).verdict == "correct"


def test_a_sum_over_the_batch_of_rounded_weights_is_rounded_early() -> None:
    problem = attncli.Problem(**BATCHED | {"W_v": [[1, 0], [0, 1]]})
    trace: Trace = attncli.compute(problem)
    d_v = np.swapaxes(trace["weights"].value.round(2), -1, -2) @ trace["d_output"].value
    d_w_v = (np.swapaxes(trace.inputs["X"].value, -1, -2) @ d_v).sum(0)
    rows = [[f"{number:.4f}" for number in row] for row in d_w_v]
    judged = attncli.check(problem, {"d_W_v": rows}).steps["d_W_v"]
    assert isinstance(judged, Compared)
    assert "rounded to 2 decimals" in judged.rounding


def test_a_blank_in_a_step_that_the_batch_shares() -> None:
    problem = attncli.Problem(
        kind="cross", X=[[1, 1], [0, 1]], memory=[[[0.4, 1.4], [-2, 0.1]], [[-0.2, 1], [0.8, -0.2]]]
    )
    rows = [["1", "-2"], ["-0.1", "_"]]
    report = attncli.check(problem, {"Q": [["1", "_"], ["0", "1"]], "scores": rows})
    assert report.first_wrong_step == "scores"


def test_tokens_in_columns_of_a_calculation_rounded_by_hand() -> None:
    problem = attncli.Problem(X=[[1, 0, 2], [0, 1, 1]], round={"decimals": 2})
    answers = {step.name: step.value.T.tolist() for step in attncli.compute(problem)}
    report = attncli.check(problem, answers)
    assert report.said == ("The tokens are in columns throughout.",)
    assert "rounded steps: the output is" in shown(report).replace("&nbsp;", " ")


FOUR_COLUMNS: dict[str, Any] = {
    "X": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
    "W_q": [[1, 0, 1, 0], [1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 1, 0]],
    "W_k": [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [1, 1, 0, 0]],
}


def test_columns_throughout_forgive_nothing_else() -> None:
    """Transposed scores that are not scaled, and a missing number, are no other convention."""
    scores = [[2, 8, 6], [4, 16, 12], [4, 16, 12]]
    weights = [["0", "0.88", "0.12"], ["0", "0.98", "0.02"], ["0", "0.98", "0.02"]]
    problem = attncli.Problem(**FOUR_COLUMNS)
    report = attncli.check(problem, {"scores": scores, "weights": weights})
    assert (report.said, report.first_wrong_step) == ((), "scores")
    report = attncli.check(problem, {"scores": scores, "Q": attncli.compute(problem)["Q"].value.T})
    assert report.said == ("The tokens are in columns throughout.",)
    hard = attncli.load(SAMPLES / "dictionary_hard.yaml")
    report = attncli.check(hard, {"Q": [["0.0", "0.0", "0.0"]], "output": [["3.0"]]})
    assert (report.verdict, report.first_wrong_step, report.said) == ("wrong", "Q", ())


@pytest.mark.parametrize(
    "number", ["95" + "1" * 306, "1.62e-309", "-inf", "1e308", "0." + "3" * 400]
)
@pytest.mark.parametrize("name", ["Q", "scores", "exp", "weights", "output"])
def test_numbers_at_the_ends_of_what_floats_hold(name: str, number: str) -> None:
    report = attncli.check(attncli.Problem(**TINY), {name: [[number, "2"], ["1", "1"]]})
    assert report.verdict == "wrong"
    assert shown(report)


def test_two_digits_of_a_huge_number_are_not_swapped() -> None:
    report = attncli.check(
        attncli.Problem(**TINY), {"scores": [["95" + "1" * 306, "2"], ["0", "1"]]}
    )
    assert report.first_wrong_step == "scores"


def test_the_sum_of_infinities_of_both_signs_is_no_number() -> None:
    with np.errstate(invalid="ignore"):
        assert np.isnan(floats.total(np.array([[np.inf, -np.inf]]), -1)).all()


@pytest.mark.parametrize("form", ["%.17g", "%.18e", "%.40f"])
def test_every_digit_of_a_float_that_was_rounded_by_hand(form: str) -> None:
    problem = attncli.Problem(X=[[0.95, -2.24], [0.3, 0.7]], round={"significant": 3})
    trace = attncli.compute(problem)
    answers = {step.name: [[form % x for x in row] for row in step.value] for step in trace}
    report = attncli.check(problem, answers)
    assert {judged.status for judged in report.steps.values()} == {"correct"}


def test_every_digit_of_a_short_decimal_is_no_float_of_16_bits() -> None:
    problem = attncli.Problem(scores=[[1, 2]], V=[[0.66], [0.66]])
    answers = {"output": [["0.66100000000000003"]]}  # 0.661, which is not 0.66
    assert attncli.check(problem, answers).verdict == "wrong"
