"""A written number agrees with what should stand there: intervals, exact numbers, roundings."""

from __future__ import annotations

import math

import numpy as np
import pytest

import attncli
from attncli.checking.judging.agreement import (
    CUT,
    EVEN,
    RoundingRule,
    agrees,
    is_exact,
    is_same,
    reach,
    with_sum,
)
from attncli.checking.judging.schedules import Schedule
from attncli.core.arithmetic import floats
from attncli.core.arithmetic.intervals import Interval
from attncli.core.numbers.last_place import significant
from attncli.core.numbers.written import decimal_of

INF = np.inf


@pytest.mark.parametrize(
    ("written", "low", "high", "is_near"),
    [
        (5, 5.4, 9, True),
        (9, 5.4, 8.6, True),
        (4, 5.4, 9, False),
        (-INF, -INF, -INF, True),
        (-INF, -5, -5, False),
        (-5, -INF, -INF, False),
        (12, -INF, INF, True),
        (np.nan, -INF, INF, False),
    ],
)
def test_a_number_agrees_with_the_whole_of_an_interval(
    written: float, low: float, high: float, is_near: bool
) -> None:
    ends = Interval(np.array([low]), np.array([high]))
    assert agrees(np.array([written]), np.array([1.0]), ends).tolist() == [is_near]


def test_the_tolerance_is_the_sum_of_its_parts() -> None:
    found = reach(np.array([0.01, 0.0]), np.array([0.5, -INF]), units=0.5)
    more = 0.005 + 1e-9 * (0.5 + 5e-4)
    assert found.high.tolist() == [pytest.approx(0.5 + more, rel=1e-12), -INF]


def test_the_same_float_is_told_from_its_rounding() -> None:
    right = np.array([0.9755588, -INF, 1.27e-14])
    written = np.array([0.9755588 + 1e-12, -INF, 1.271e-14])
    assert is_same(written, right).tolist() == [True, True, False]


def test_exact_numbers_have_no_more_digits_than_were_written_and_no_width() -> None:
    assert is_exact(np.array([14.0, 10.5]), np.array([1.0, 0.1]))
    assert not is_exact(np.array([14.0, 10.55]), np.array([1.0, 0.1]))
    assert not is_exact(np.array([1.0]), np.array([0.0]))  # nothing was written in digits
    assert is_exact(np.array([-INF, 3.0]), np.array([1.0, 1.0]))
    for low, high, exact in ((0.5, 0.5, True), (0.5, 0.6, False), (0.55, 0.55, False)):
        assert is_exact(Interval(np.array([low]), np.array([high])), np.array([0.1])) is exact


def test_digits_of_written_numbers() -> None:
    assert decimal_of("−0.50") == (-0.5, 0.01)
    assert not any(
        decimal_of(text) for text in ("1e400", "1e-400", "9e308", ".", "-", "2/3", "?", "")
    )
    assert significant(["0.050", "1200", "1.5e-7"]) == 2


@pytest.mark.parametrize(
    ("rounding", "rounded"),
    [
        (RoundingRule(2), [2.31, -0.13, 0.0, 1234.57, -INF]),
        (RoundingRule(2, mode=CUT), [2.30, -0.12, 0.0, 1234.56, -INF]),
        (RoundingRule(2, mode=EVEN), [2.31, -0.12, 0.0, 1234.57, -INF]),
        (RoundingRule(2, is_significant=True), [2.3, -0.13, 0.0, 1200.0, -INF]),
    ],
    ids=str,
)
def test_numbers_are_rounded(rounding: RoundingRule, rounded: list[float]) -> None:
    numbers = np.array([4 / 3**0.5, -0.125, 0.0, 1234.567, -INF])
    assert rounding(numbers).tolist() == pytest.approx(rounded, rel=1e-12)


@pytest.mark.parametrize(
    "rounding", [RoundingRule(1), RoundingRule(2), RoundingRule(2, is_significant=True)], ids=str
)
def test_an_interval_holds_what_its_numbers_are_rounded_to(rounding: RoundingRule) -> None:
    """Rounded, cut off, with more digits."""
    numbers = np.linspace(-2, 2, 4001)
    one = Interval(numbers - 0.003, numbers + 0.003)
    same, finer = rounding.interval(one), rounding.any_finer(one)
    for middle in (numbers, one.low, one.high):
        for found, other in (
            (same, rounding),
            (same, rounding.of_mode(CUT)),
            (finer, rounding),
            (finer, rounding.of_mode(CUT)),
            (finer, rounding.finer),
        ):
            made = other(middle)
            assert (made >= found.low - 1e-12).all()
            assert (made <= found.high + 1e-12).all()


def test_the_largest_weight_takes_what_the_sum_is_short_of() -> None:
    weights = np.array([[0.33, 0.33, 0.33], [0.333, 0.334, 0.333], [0.13, 0.25, 0.63]])
    found = with_sum(weights, -1, 1.0, RoundingRule(2))
    assert found.tolist() == [[0.34, 0.33, 0.33], [0.33, 0.34, 0.33], [0.13, 0.25, 0.62]]


@pytest.mark.parametrize("spread", [1, 10, 100])
def test_a_sum_of_many_numbers_is_the_exact_one_rounded(spread: float) -> None:
    numbers = np.exp(spread * np.random.default_rng(7).normal(size=(1, 1, 20, 1_000)))
    for array in (numbers, numbers - np.median(numbers), np.round(numbers, 2)):
        exact = [math.fsum(row) for row in array[0, 0].tolist()]
        assert floats.total(array, -1)[0, 0, :, 0].tolist() == exact
        assert floats.total(np.swapaxes(array, -1, -2), -2)[0, 0, 0].tolist() == exact


def test_the_sum_of_infinities_of_both_signs_is_no_number() -> None:
    with np.errstate(invalid="ignore"):
        assert np.isnan(floats.total(np.array([[INF, -INF]]), -1)).all()


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
