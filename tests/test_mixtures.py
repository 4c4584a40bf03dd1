"""Rows of outputs, made up or mixed: what no weights give is no rounding on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import attncli
from attncli.arithmetic.intervals import Interval
from attncli.checking.mixtures import may_be_mixed
from tests.conftest import SAMPLES

QUICK = settings(deadline=None, max_examples=150, derandomize=True, database=None)

# 4 · column 1 − 2/3 · column 3 is column 2, and so it is in every mixture of these rows.
VALUES = [[1, 2, 3], [2, 8, 0], [2, 6, 3]]
RIGHT = [[1.9825, 7.4240, 0.7589], [1.9999, 7.8938, 0.1587], [1.9998, 7.8602, 0.2084]]
GIVEN = {
    "X": [[1, 0, 2], [2, 2, 2], [2, 1, 3]],
    "K": [[0.5, 1.5, 1], [5, 4, 2], [3, 3.5, 2]],
    "V": VALUES,
}


def written(numbers: np.ndarray) -> list[list[str]]:
    return [[f"{x:.4f}" for x in row] for row in numbers]


def test_a_row_that_no_weights_give_is_wrong() -> None:
    problem = attncli.Problem(**GIVEN)  # type: ignore[arg-type]
    assert attncli.check(problem, {"output": written(np.array(RIGHT))}).verdict == "correct"
    made_up = np.array([[2.0, 7.3, 0.75], *RIGHT[1:]])  # 4 · 2 − 2/3 · 0.75 is 7.5
    report = attncli.check(problem, {"output": written(made_up)})
    assert report.wrong_steps == ["output"]
    assert report.steps["output"].counts["wrong"] == 3


def test_made_up_numbers_near_the_right_ones_of_a_sample_are_wrong() -> None:
    problem = attncli.load(SAMPLES / "integers_scaled.yaml")
    made_up = [[1.83, 6.29, 1.69], [1.9991, 7.8141, 0.2735], [1.9926, 7.4796, 0.7359]]
    assert attncli.check(problem, {"output": written(np.array(made_up))}).verdict == "wrong"


@pytest.mark.parametrize("decimals", [2, 3])
def test_who_rounds_the_weights_is_right(decimals: int) -> None:
    problem = attncli.Problem(**GIVEN)  # type: ignore[arg-type]
    weights = attncli.compute(problem)["weights"].value.round(decimals)
    report = attncli.check(problem, {"output": written(weights @ np.array(VALUES))})
    assert report.verdict == "correct"


def single(array: np.ndarray) -> Interval:
    return Interval(array, array)


@QUICK
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 6), st.sampled_from([2, 3]))
def test_a_mixture_by_rounded_weights_may_be_one(seed: int, m: int, d: int, digits: int) -> None:
    """However the weights are rounded, and the numbers after that, the row is within reach."""
    draw = np.random.default_rng(seed)
    values = draw.integers(-3, 4, (1, 1, m, d)) / draw.integers(1, 4)
    weights = draw.dirichlet(np.ones(m), (1, 1, 2))
    unit = 10.0**-digits
    rounded = np.floor(weights / unit) * unit if draw.random() < 0.5 else weights.round(digits)
    row = (rounded @ values).round(4)
    ranges = Interval(weights - unit, weights + unit)
    asked, off = np.ones(row.shape, bool), np.full(row.shape, 5e-5)
    assert may_be_mixed(row, off, ranges, single(values), unit * m, asked).all()


@QUICK
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_a_number_of_a_row_that_is_moved_out_of_reach_is_refused(seed: int, m: int) -> None:
    """In m rows of m numbers one combination of the columns is the same for all of them."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(m, m))
    assume(np.linalg.cond(values) < 20)  # else the search may end before a direction is found
    same = np.linalg.solve(values, np.ones(m))  # values @ same is 1 in each row
    weights = draw.dirichlet(np.ones(m), (1, 1, 1))
    row = weights @ values[None, None]
    row = row + 0.5 * same / (same @ same)  # row · same is 1.5, where every mixture has 1
    off = np.full(row.shape, 1e-3)
    wide = Interval(np.zeros(weights.shape), np.ones(weights.shape))
    asked = np.ones(row.shape, bool)
    assert not may_be_mixed(row, off, wide, single(values[None, None]), 0.01, asked).any()
