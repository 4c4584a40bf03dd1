"""What a report says to a student whose calculation has a slip, or a step of another shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli import Problem, Report, check, compute, load, render
from attncli.core.formulas import tree
from attncli.core.text.strings import small


def report_of(sample: str, answers: Mapping[str, object]) -> Report:
    return check(load(f"sample_inputs/{sample}.yaml"), answers)


OUTPUT = "[1.86, 6.30, 1.71], [2.00, 7.82, 0.27], [1.99, 7.46, 0.75]"
"""The output of rounded weights."""


def test_rounding_in_a_step_of_the_wrong_shape_is_not_a_slip_later() -> None:
    weights = "[[0.14, 0.43, 0.43, 0], [0.00, 0.91, 0.09, 0], [0.01, 0.75, 0.24, 0]]"
    report = report_of("integers_scaled", {"weights": weights, "output": f"[{OUTPUT}]"})
    assert report.wrong_steps == ["weights"]
    assert report.findings["weights"].id == "wrong_shape"
    assert report.steps["output"].status == "rounded_early"


def test_adjusted_weights_sum_to_one_also_after_a_coarse_sum() -> None:
    answers = {
        "h_1": "[0.76, 0.00]",
        "c_1": "[0.76, 0.00]",
        "h_2": "[0.64, 0.76]",
        "c_2": "[0.69, 0.47]",
        "h_3": "[0.93, 0.90]",
        "c_3": "[0.81, 0.69]",
    }
    report = report_of("recurrent", answers)
    assert report.steps["c_3"].status == "wrong"
    # There is one query at each time, so that no softmax was taken over the queries.
    others = (other for found in report.findings.values() for other in found.also)
    assert "softmax_over_queries" not in {other.id for other in others}


def test_a_mistake_at_every_time_names_no_single_one() -> None:
    report = report_of("recurrent", {"c_3": "[0.7415, 0.6605]"})
    finding = report.findings["c_3"]
    assert finding.message == "h_{t−1} was used instead of c_{t−1}."
    assert "the context c_{t−1}" in finding.advice


@pytest.mark.parametrize(("count", "words"), [(1, "1 more term"), (2, "2 more terms")])
def test_omitted_terms_are_counted(count: int, words: str) -> None:
    assert tree.Omitted(count).words == words


def test_a_sentence_with_an_article_goes_on_in_small_letters() -> None:
    assert small("A difference was taken.") == "a difference was taken."


def test_nobody_is_asked_for_an_input_under_another_name() -> None:
    scores = "[[14, 10, 9], [10, 11, 6], [9, 6, 6]]"
    output = "[[0.34, 1.17, 1.55], [1.29, 1.76, 2.21], [2.87, 0.85, 1.95]]"
    weights = "[[0.98, 0.02, 0.01], [0.27, 0.73, 0.00], [0.91, 0.05, 0.05]]"
    report = report_of("i_am_good", {"scores": scores, "weights": weights, "output": output})
    said = render(report, "markdown")
    assert "Work output" in said
    assert "Hand in V" not in said


def test_markdown_says_what_the_arrow_means() -> None:
    scores = "[[2, 4, 5], [4, 16, 12], [4, 12, 10]]"
    scaled = "[[1.15, 2.31, 2.89], [2.31, 9.24, 6.93], [2.31, 6.93, 5.77]]"
    said = render(report_of("integers_scaled", {"scores": scores, "scaled": scaled}), "markdown")
    assert "## → scaled\n\nworked out correctly from your numbers" in said


def test_rounding_is_named_in_a_step_that_follows() -> None:
    weights = "[[0.14, 0.43, 0.43], [0.00, 0.91, 0.09], [_, _, _]]"
    report = report_of("integers_scaled", {"weights": weights, "output": f"[{OUTPUT}]"})
    said = render(report, "table")
    assert "→ output follows from your rounded numbers" in said
    assert "  output: 2 numbers are right, with weights rounded to 2 decimals" in said


def test_scores_that_are_scaled_where_nobody_asks_for_it() -> None:
    """Also where the scores that are handed in are right, and only the weights show it."""
    problem = load("sample_inputs/i_am_good.yaml")
    scores = compute(problem)["scores"].value
    exp = np.exp(scores / np.sqrt(3))
    weights = exp / exp.sum(axis=1, keepdims=True)
    written = [[f"{x:.3f}" for x in row] for row in weights]
    report = check(problem, {"scores": scores.tolist(), "weights": written})
    assert report.findings["weights"].id == "scaled_needlessly"


def test_the_size_of_a_head_is_no_gradient() -> None:
    """A lone number under `dk` is skipped, though `d_K` is a step."""
    problem = Problem(X=[[1, 2], [3, 1]], W_k=[[1, 0], [0, 1]], gradient="sum")
    right = compute(problem)
    answers = {"dk": 2, "output": right["output"].value.tolist()}
    report = check(problem, answers)
    assert [key for key, _ in report.skipped] == ["dk"]
    assert report.verdict == "correct"


def test_a_formula_is_written_out_only_as_far_as_the_students_numbers_give_it() -> None:
    problem = Problem(
        X=[[-0.5, 0.7, 0.2], [0.8, 0.9, 0.2]],
        W_q=[[0.5, -0.9], [0.5, -1.4], [1.0, -1.2]],
        W_k=[[0.0, -0.7], [-0.4, 0.7], [-0.6, -0.1]],
        W_v=[[-1.2, -0.8], [-1.4, -0.4], [0.4, -0.1]],
    )
    answers = {
        "scores": "[[-0.7514, -0.1825], [-2.2404, -0.6150]]",
        "exp": "[[0.5878, 0.8789], [0.2051, 0.6473]]",
        "sum": "[[1.4668], [3.3012]]",
    }
    # e^(-1.5842) + e^(-0.4349) is 0.8525: it is the sum of the rounded powers that is 0.8524.
    line = "sum[2] = exp[2, 1] + exp[2, 2] = 0.2051 + 0.6473 = 0.8524"
    assert line in render(check(problem, answers), "table")


@pytest.mark.parametrize(
    ("id_", "said"),
    [
        ("divided_by_largest", "The largest number of each row was taken, not its sum."),
        ("divided_by_length", "The root of the sum of squares of each row was taken, not its sum."),
    ],
)
def test_a_sum_is_not_said_to_be_divided(id_: str, said: str) -> None:
    """Neither in the step of the sums nor in the weights, which are divided by them."""
    scores = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]])
    problem: dict[str, Any] = {"scores": scores.tolist(), "V": [[1, 0], [0, 1], [1, 1]]}
    e = np.exp(scores)
    total = e.max(axis=1) if id_ == "divided_by_largest" else np.sqrt((e * e).sum(axis=1))
    for name, numbers in (("sum", total[:, None]), ("weights", e / total[:, None])):
        keys = {name: [[f"{x:.4f}" for x in row] for row in numbers]}
        finding = check(Problem(**problem), keys).findings[name]
        assert (finding.id, finding.message) == (id_, said)


def test_the_reason_of_a_sum_is_a_sentence() -> None:
    trace = compute(Problem(scores=[[1, 0]], V=[[1], [2]]))
    assert trace["sum"].why == (
        "The numbers are divided by this sum, so that they become shares of 1."
    )
