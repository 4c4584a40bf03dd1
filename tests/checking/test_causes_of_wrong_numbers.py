"""A mistake is named only where it explains the numbers, and a guess is said to be one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey
from tests.checking.judged_cases import assert_judged, judged_cases, problem_of


@judged_cases("naming", "which_mistake")
def test_the_mistake_is_named_that_somebody_can_have_made(case: dict[str, Any]) -> None:
    assert_judged(case)


@judged_cases("naming", "transposed_factors")
def test_the_factor_that_was_not_transposed_is_named(case: dict[str, Any]) -> None:
    assert_judged(case)


@judged_cases("naming", "guesses")
def test_a_guess_gives_the_numbers_without_a_margin(case: dict[str, Any]) -> None:
    """Hidden steps may be rounded in many ways, but not in one that nobody has."""
    assert_judged(case)


@judged_cases("naming", "blocked_cells")
def test_a_blocked_cell_is_a_matter_of_the_mask(case: dict[str, Any]) -> None:
    assert_judged(case)


@judged_cases("naming", "factors")
def test_a_factor_holds_for_every_number(case: dict[str, Any]) -> None:
    assert_judged(case)


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
