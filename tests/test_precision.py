"""Softmax against 50-digit arithmetic where floats go wrong: far, near and blocked scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import attncli
from tests import loops as ref

ULPS = 4


def problems() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield scores (exact doubles; −∞ blocks) and the settings of softmax."""
    random = np.random.default_rng(2024)
    for number in range(160):
        rows, keys = random.integers(1, 6), random.integers(1, 12)
        size = 10.0 ** random.uniform(-3, 3)
        scores = random.uniform(-size, size, (rows, keys))
        kind = number % 4
        if kind == 1:  # near ties
            scores = scores[:, :1] * (1 + random.integers(-9, 9, (rows, keys)) * 2.0**-50)
        if kind == 2:
            scores[random.random(scores.shape) < 0.3] = -np.inf
            scores[0] = -np.inf
        if kind == 3:
            scores = random.uniform(-1000, 1000, (rows, keys))
        temperature = float(random.choice([1, 1, 0.001, 0.01, 0.3, 2, 7]))
        base = float(random.choice([np.e, np.e, np.e, 2, 3, 10]))
        yield scores, {"temperature": temperature, "base": base}
    yield random.normal(size=(2, 700)) * 50, {"temperature": 1.0, "base": float(np.e)}
    yield np.array([[1e308, -1e308, 9e307]]), {"temperature": 1.0, "base": float(np.e)}
    yield np.array([[5e-324, 0.0, -5e-324]]), {"temperature": 0.001, "base": 2.0}


def exact_weights(row: Any, temperature: float, base: float) -> Any:
    """Return softmax of a row of doubles to 50 digits."""
    real = [None if s == -np.inf else ref.mp.mpf(float(s)) for s in row]
    tempered = [ref.BLOCKED if s is None else s / ref.mp.mpf(temperature) for s in real]
    return ref.softmax(tempered, ref.mp.e if base == np.e else ref.mp.mpf(base))


def ulps(found: float, exact: Any) -> float:
    """Return how far a float is from an exact number, in units of its last place."""
    return float(abs(ref.mp.mpf(found) - exact) / ref.mp.mpf(float(np.spacing(float(exact)))))


def test_weights_are_within_four_units_in_the_last_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every weight that is a normal double, however far or near the scores are."""
    worst, count, small = 0.0, 0, 0
    for scores, settings in problems():
        keys = scores.shape[1]
        given: dict[str, Any] = {"scores": scores, "V": np.ones((keys, 1)), "normalize": settings}
        trace = attncli.compute(attncli.Problem(**given))
        weights = trace["weights"].value
        for step in trace:
            finite = np.isfinite(step.value)
            assert finite.all() or step.name == "scores"
        for row, found in zip(scores, weights, strict=True):
            exact = exact_weights(row, **settings)
            for w, e in zip(found, exact, strict=True):
                if e == 0:
                    assert w == 0
                elif e < np.finfo(float).tiny:
                    # Subnormal: the last place is as large as the number.
                    assert abs(ref.mp.mpf(float(w)) - e) <= 1e-300
                    small += 1
                else:
                    worst = max(worst, ulps(float(w), e))
                    count += 1
        by_hand = trace["exp"].value / np.where(trace["sum"].value == 0, 1, trace["sum"].value)
        np.testing.assert_array_equal(by_hand, weights)
    with capsys.disabled():
        print(f"\nworst of {count} weights: {worst:.2f} ulp; {small} more are subnormal or less")
    assert worst <= ULPS


def test_scores_that_a_hand_can_exponentiate_are_not_shifted() -> None:
    """e^s stands as a hand writes it as long as a double can hold it."""
    trace = attncli.compute(attncli.Problem(scores=[[600.0, -600.0]], V=[[1], [2]]))
    assert trace["exp"].formula == "exp = e^scores"
    assert trace.warnings == ()
    far = attncli.compute(attncli.Problem(scores=[[1000.0, 0.0]], V=[[1], [2]]))
    assert far["exp"].formula == "exp = e^(scores − largest)"
    assert "largest score of each row was subtracted first" in far.warnings[0]


def test_shares_of_a_fully_blocked_row_are_0_with_a_warning() -> None:
    trace = attncli.compute(attncli.Problem(scores=[[-np.inf, -np.inf], [0, 0]], V=[[1], [3]]))
    assert trace.output.tolist() == [[0], [2]]
    assert trace.warnings == (
        "every cell of query 1 is blocked: its weights are 0, and so is its output",
    )


def test_what_a_float_cannot_hold_is_an_error_and_no_nan() -> None:
    with pytest.raises(attncli.InputError, match="scores holds a number that is beyond"):
        attncli.compute(attncli.Problem(X=[[1e200, 1e200]]))


@pytest.mark.parametrize("name", ["sparsemax", "hardmax", "sum"])
def test_other_normalizers_take_far_scores(name: str) -> None:
    scores = [[1000.0, 999.75, -1000.0], [1e30, 1e30, 1e29]]
    trace = attncli.compute(attncli.Problem(scores=scores, V=np.ones((3, 1)), normalize=name))
    exact = ref.normalized(ref.numbers(scores), name)
    np.testing.assert_allclose(trace["weights"].value, ref.floats(exact), rtol=1e-15)
