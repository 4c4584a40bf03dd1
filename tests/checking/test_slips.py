"""What is said of slips: numbers, rows or columns that were written or copied wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.explaining import terms
from tests.checking.judged_cases import assert_judged, judged_cases, problem_of


@judged_cases("naming", "one_number")
def test_a_cause_of_one_wrong_number_is_certain_where_enough_digits_say_so(
    case: dict[str, Any],
) -> None:
    assert_judged(case)


@judged_cases("naming", "several_numbers")
def test_several_wrong_numbers_are_told_by_what_they_share(case: dict[str, Any]) -> None:
    assert_judged(case)


@judged_cases("naming", "a_hidden_score")
def test_weights_tell_which_hidden_score_was_another_one(case: dict[str, Any]) -> None:
    assert_judged(case)


def test_one_wrong_number_tells_nothing_of_a_hidden_step() -> None:
    """No mistake in another step explains a number by chance."""
    key = attncli.AnswerKey(problem_of("whole"))
    weights = key.trace["weights"].value
    for row, column in np.ndindex(3, 3):
        for off in (0.05, 0.25, 0.45):
            answers = [[f"{x:.6g}" for x in line] for line in weights.round(4)]
            answers[row][column] = f"{weights[row, column] + off:.2f}"
            found = key.check({"weights": answers}).findings["weights"]
            assert f"weights[{row + 1}, {column + 1}] is wrong" in found.message


@pytest.mark.parametrize(("step", "worked"), [("Q", 0), ("scores", 1)])
def test_one_wrong_number_of_a_large_step_is_worked_alone(
    step: str, worked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the numbers that it is made of are taken up, of the 7,200 that the step is made of."""
    taken = []

    def take(number: float) -> float:
        taken.append(number)
        return float(number)

    monkeypatch.setattr(terms, "shortest", take)
    random = np.random.default_rng(1)
    matrices: dict[str, Any] = {
        key: random.integers(-3, 4, (60, 60)).tolist() for key in ("X", "W_q", "W_k", "W_v")
    }
    key = attncli.AnswerKey(attncli.Problem(**matrices, heads=2))
    numbers = key.trace[step].value.copy()
    numbers[0, 0, 0] += 100_001
    finding = key.check({step: numbers.astype(int).tolist()}).findings[step]
    assert finding.message.startswith(f"Only {step}[head 1][1, 1] is wrong")
    assert len(finding.worked) == worked
    assert len(taken) <= 4 * 60
