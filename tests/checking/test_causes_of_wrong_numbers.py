"""A mistake is named only where it explains the numbers, and a guess is said to be one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey
from attncli.core.explaining import terms
from tests.checking.judged_cases import problem_of
from tests.conftest import SAMPLES, cases, tables

PROBLEMS = tables("mutations")["problems"]


@pytest.mark.parametrize(
    ("factor", "words", "draws"),
    [
        ("1/2", "half", 20),
        ("2", "twice", 20),
        pytest.param("1/2", "half", 120, marks=pytest.mark.whole),
        pytest.param("2", "twice", 120, marks=pytest.mark.whole),
        pytest.param("1/3", "a third of", 120, marks=pytest.mark.whole),
    ],
)
def test_a_factor_of_random_numbers_is_exact_or_said_to_be_about(
    factor: str, words: str, draws: int
) -> None:
    """Wrong scores near a multiple of the right ones: exact between whole numbers, else `about`."""
    draw, by, claims = np.random.default_rng(5), float(Fraction(factor)), 0
    for digits in np.arange(draws) % 2:
        q, k = draw.integers(-3, 4, (2, 2)), draw.integers(-3, 4, (3, 2))
        key = AnswerKey(attncli.Problem(Q=q.tolist(), K=k.tolist(), V=[[1]] * 3, score="dot"))
        right = q @ k.T
        noise = draw.integers(-1, 2, right.shape) / 2 if draw.random() < 0.5 else 0
        written = np.round(right * by + noise, digits)
        found = key.check({"scores": written.tolist()}).findings.get("scores")
        if found and found.id == "constant_factor" and f" {words} what" in found.message:
            claims += 1
            off = np.abs(written - by * right)
            is_whole = written == np.round(written)
            assert "about" in found.message or (off <= ~is_whole * 0.5 * 10.0**-digits).all()
    assert claims > draws / 10


@pytest.mark.parametrize("text", ["0", "1", "0.5", "0.00"])
@pytest.mark.parametrize("step", ["masked", "exp", "output"])
def test_a_step_filled_with_one_number_is_said_to_be(step: str, text: str) -> None:
    problem = problem_of("whole", {"score": "scaled_dot", "mask": "causal"})
    found = attncli.check(problem, {step: [[text] * 3] * 3}).findings[step]
    assert (found.id, found.message, found.also) == (
        "all_the_same",
        f"Every number of {step} is {text}.",
        (),
    )
    assert found.advice == "Work each number out."


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


@cases("mutations", "one thing wrong")
def test_one_thing_wrong_in_a_formula_is_named(
    problem: str, step: str, made: str, named: list[list[str]]
) -> None:
    keys = PROBLEMS.get(problem)
    key = AnswerKey(attncli.Problem(**keys) if keys else attncli.load(SAMPLES / f"{problem}.yaml"))
    every = {**key.trace.inputs, **key.trace.steps}
    numbers = {name.replace(".", "_"): one.value for name, one in every.items()}
    wrong = {step: eval(made, {"np": np}, numbers)}
    names = [*key.trace.steps][: [*key.trace.steps].index(step) + 1]
    answers = {name: wrong.get(name, every[name].value).round(4).tolist() for name in names}
    found = key.check(answers).findings.get(step)
    assert [[x.id, x.message] for x in ((found, *found.also) if found else ())] == named


@pytest.mark.parametrize("scale", [{}, {"scale": 2**-0.5}], ids=["√d_model", "√d_k"])
@pytest.mark.parametrize("shown", [["scores", "weights", "output"], ["Q", "weights"], ["output"]])
def test_one_head_for_two_is_said_once(shown: list[str], scale: dict[str, Any]) -> None:
    keys: dict[str, Any] = {"X": [[1, 0, 2, 1], [0, 1, 1, 0], [1, 1, 0, 2]]}
    one = attncli.compute(attncli.Problem(**keys, **scale))
    answers = {name: one[name].value.round(2).tolist() for name in shown}
    report = attncli.check(attncli.Problem(**keys, heads=2), answers)
    first, *later = (report.findings[name] for name in shown if name != "Q")
    assert first.id == "heads_ignored"
    assert first.message == "One head was worked with: this problem has 2 heads of 2 features."
    follows = f"This follows from {report.first_wrong_step}."
    assert [finding.message for finding in later] == [follows] * len(later)
    assert attncli.check(attncli.Problem(**keys, **scale), answers).verdict == "correct"


@pytest.mark.parametrize("shown", [["scaled", "weights"], ["weights", "output"], ["output"]])
def test_the_root_of_the_size_of_a_value_is_named(shown: list[str]) -> None:
    keys: dict[str, Any] = {"Q": [[1, 0, 2], [0, 1, 1]], "K": [[1, 1, 0], [2, 0, 1], [0, 1, 1]]}
    keys["V"] = [[1, 2, 0, 1, 3], [0, 1, 1, 2, 1], [2, 1, 1, 0, 2]]
    other = attncli.compute(attncli.Problem(**keys, scale=5**-0.5))
    answers = {name: other[name].value.round(3).tolist() for name in shown}
    finding = attncli.check(attncli.Problem(**keys), answers).findings[shown[0]]
    assert (finding.id, finding.certain) == ("scaled_by_sqrt_d_v", True)


@pytest.mark.parametrize("shown", [["scores", "weights"], ["scores", "scaled", "biased"]])
def test_a_scale_where_t5_has_none_is_named(shown: list[str]) -> None:
    x, bias = np.random.default_rng(0).normal(size=(2, 4, 4))
    own, t5 = (attncli.Problem(X=x, bias=bias, scale=scale) for scale in (None, 1))
    trace = attncli.compute(own)
    report = attncli.check(t5, {name: trace[name].value for name in shown})
    step = report.first_wrong_step
    assert step == shown[1]
    assert report.findings[step].id == "scaled_needlessly"
