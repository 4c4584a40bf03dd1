"""Softmax against 50-digit arithmetic, in units in the last place.

The scores are given, so that they are exactly the doubles that both sides start from, and the
temperature and the base are doubles too (e is e itself). Every weight whose exact value is a
normal double counts as well conditioned, and no other condition is made: it must be within `ULPS`
units in its last place, however large the scores and however near the ties. A weight below that
must be within `ULPS` times the smallest subnormal number. Nothing may be NaN or infinite but −∞
in `scores` (as given), `biased` and `masked`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import attncli
from tests.oracles import reference

Keys = dict[str, Any]
mp = reference.mp

ULPS = 4
SMALLEST_NORMAL = float(np.finfo(float).tiny)
LARGEST = float(np.finfo(float).max)
MAY_BE_BLOCKED = ("scores", "biased", "masked")


def ulps(found: float, exact: Any) -> float:
    """Return how many units in the last place of the exact number lie between the two."""
    return float(abs(mp.mpf(found) - exact) / mp.mpf(math.ulp(float(exact))))


def exact_weights(scores: Any, settings: Keys) -> list[list[Any]]:
    """Return the weights of exact scores in 50 digits, with −∞ blocked."""
    temperature = mp.mpf(settings.get("temperature", 1))
    base = settings.get("base", "e")
    rows = reference.exact(np.transpose(scores) if settings.get("axis") == "queries" else scores)
    found = [reference.softmax(r, temperature, None if base == "e" else mp.mpf(base)) for r in rows]
    return reference.transpose(found) if settings.get("axis") == "queries" else found


class Worst:
    """The worst error seen, and on how many numbers."""

    def __init__(self, allowed: float = ULPS) -> None:
        self.allowed = allowed
        self.ulps = 0.0
        self.count = 0
        self.tiny = 0

    def see(self, found: float, exact: Any) -> None:
        """Measure one number."""
        normal = exact >= SMALLEST_NORMAL
        error = ulps(found, exact)
        assert error <= self.allowed, f"{error} ulp: {found!r} for {mp.nstr(exact, 20)}"
        if normal:
            self.ulps = max(self.ulps, error)
            self.count += 1
        else:
            self.tiny += 1


def finite_but_for_blocked_cells(trace: attncli.Trace) -> None:
    for step in trace:
        value = step.value
        assert not np.isnan(value).any(), step.name
        assert not np.isposinf(value).any(), step.name
        assert step.name in MAY_BE_BLOCKED or not np.isneginf(value).any(), step.name


def measure(scores: Any, settings: Keys, worst: Worst, **more: Any) -> None:
    """Calculate, and measure every weight and every exp / sum."""
    values = np.eye(scores.shape[1], min(3, scores.shape[1]))
    keys = {"scores": scores, "V": values, "normalize": settings} | more
    trace = attncli.compute(attncli.Problem(**keys))
    finite_but_for_blocked_cells(trace)
    weights = trace["weights"].value
    last = [step.value for step in trace if step.name in MAY_BE_BLOCKED][-1]
    for row, exact_row in zip(weights.tolist(), exact_weights(last, settings), strict=True):
        for found, exact in zip(row, exact_row, strict=True):
            worst.see(found, exact)
    along = 0 if settings.get("axis") == "queries" else 1
    consistent(trace["exp"].value, trace["sum"].value, weights, along, worst.allowed)


def consistent(exp: Any, total: Any, weights: Any, along: int, allowed: float) -> None:
    """Assert that exp, as shown, adds up to the sum and gives the weights, to 4 ulp."""
    for line, found in zip(np.moveaxis(exp, along, -1), total.ravel().tolist(), strict=True):
        assert ulps(found, mp.fsum(reference.exact(line))) <= allowed
    exponentials, totals = np.broadcast_arrays(exp, total)
    for e, t, w in zip(exponentials.flat, totals.flat, weights.flat, strict=True):
        expected = mp.mpf(float(e)) / mp.mpf(float(t)) if t else mp.mpf(0)
        assert ulps(float(w), expected) <= ULPS


# Each family of scores: a number of rows and keys and a random generator to scores.


def far_apart(random: np.random.Generator, n: int, m: int) -> Any:
    """Up to ±1000."""
    return random.uniform(-1000, 1000, (n, m))


def common(random: np.random.Generator, n: int, m: int) -> Any:
    """As in practice."""
    return random.normal(size=(n, m)) * 5


def large_and_near(random: np.random.Generator, n: int, m: int) -> Any:
    """Around ±1000, within the reach of e^−700."""
    return random.choice([-1000, 1000], size=(n, 1)) + random.uniform(-350, 350, (n, m))


def nearly_tied(random: np.random.Generator, n: int, m: int) -> Any:
    """Differences of 1e-12 … 1e-15 of the scores."""
    near = random.choice([1e-12, 1e-13, 1e-14, 1e-15, 0], size=(n, m)) * random.integers(-9, 10)
    return random.uniform(-1000, 1000, (n, 1)) * (1 + near)


def of_all_magnitudes(random: np.random.Generator, n: int, m: int) -> Any:
    """From 1e-300 to 1e3."""
    return random.choice([-1, 1], size=(n, m)) * 10.0 ** random.uniform(-300, 3, (n, m))


def subnormal(random: np.random.Generator, n: int, m: int) -> Any:
    """A few times the smallest double."""
    return random.integers(-(2**20), 2**20, size=(n, m)) * 5e-324


def enormous(random: np.random.Generator, n: int, m: int) -> Any:
    """Around ±1e308, with exact ties."""
    return random.choice([-1e308, 1e308, LARGEST, -LARGEST, 1e307, 0], size=(n, m))


def enormous_and_common(random: np.random.Generator, n: int, m: int) -> Any:
    """Some ±1e308 among common ones; some rows without."""
    scores = common(random, n, m)
    scores[random.random((n, m)) < 0.1] = -1e308
    return scores


FAMILIES = (
    far_apart,
    common,
    large_and_near,
    nearly_tied,
    of_all_magnitudes,
    subnormal,
    enormous,
    enormous_and_common,
)
TEMPERATURES = (1, 2, 0.5, 0.001, 0.1, 1 / 3, 7, 1000)
BASES = ("e", 2, 3, 10, 1.1)


def settings_of_softmax() -> Iterator[Keys]:
    for temperature, base in itertools.product(TEMPERATURES, BASES):
        yield {"temperature": temperature, "base": base}


def report(record_property: Callable[[str, object], None], what: str, worst: Worst) -> None:
    assert worst.count > 100
    record_property(
        f"{what}",
        f"worst {worst.ulps:.3f} ulp of {worst.count} normal weights"
        f" ({worst.tiny} zero or subnormal)",
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_within_4_ulp(
    family: Any, record_property: Callable[[str, object], None]
) -> None:
    """For temperatures and bases in turn, with up to 8 keys, and with some cells blocked."""
    turn = FAMILIES.index(family)
    random = np.random.default_rng([1, turn])
    worst = Worst()
    for settings in list(settings_of_softmax())[turn % 3 :: 3]:
        n, m = (int(size) for size in random.integers(1, [4, 9]))
        scores = family(random, n, m)
        measure(scores, settings, worst)
        blocked = random.random((n, m)) < 0.3
        blocked[0] |= random.random() < 0.3  # a row that is wholly blocked
        measure(scores, settings, worst, mask={"block": blocked.astype(int)})
        measure(np.where(blocked, -np.inf, scores), settings, worst)
        measure(scores, settings, worst, bias=np.where(blocked, -np.inf, 0.0))
    report(record_property, family.__name__, worst)


def long_rows(allowed: float, axis: str) -> Worst:
    """Measure rows of several hundred keys, or columns of several hundred queries."""
    random = np.random.default_rng(2)
    worst = Worst(allowed)
    for length, temperature, base in ((129, 1, 3), (777, 7, 10)):
        settings = {"temperature": temperature, "base": base, "axis": axis}
        for family in (common, nearly_tied, large_and_near):
            scores = family(random, 6, length) / 5 * temperature
            # How a matrix lies in memory decides how NumPy adds it up.
            measure(
                np.ascontiguousarray(scores.T) if axis == "queries" else scores, settings, worst
            )
    measure(np.full((1, 900), 0.1), {}, worst)
    return worst


# With sums compensated (two-sum, pairwise) the worst of 2 million such weights was 2.9 ulp.


@pytest.mark.parametrize(("axis", "allowed"), [("keys", 10), ("queries", ULPS)])
def test_weights_of_long_rows(
    axis: str, allowed: float, record_property: Callable[[str, object], None]
) -> None:
    report(record_property, f"several hundred, axis: {axis}", long_rows(allowed, axis))


def test_weights_of_a_hundred_keys_are_within_4_ulp() -> None:
    """One row in some hundreds was beyond it: this one, where it was found, by 0.6 ulp."""
    measure(np.random.default_rng(56).normal(size=(1, 100)), {}, Worst())


def test_rows_wholly_blocked_have_weights_0_and_a_warning() -> None:
    scores = np.array([[1e308, -1000], [3, 4], [5e-324, 0]])
    for more in ({"mask": [[0, 0], [1, 1], [0, 0]]}, {"bias": [[-np.inf], [0], [-np.inf]]}):
        keys: Keys = {"scores": scores, "V": [[1], [2]]} | more
        trace = attncli.compute(attncli.Problem(**keys))
        finite_but_for_blocked_cells(trace)
        np.testing.assert_array_equal(trace["weights"].value[[0, 2]], 0)
        np.testing.assert_array_equal(trace.output[[0, 2]], 0)
        assert any("query 1, 3" in warning for warning in trace.warnings)


def test_softmax_is_shifted_only_where_a_float_needs_it() -> None:
    """The hand's exp and sum are shown wherever they are numbers at all."""
    hand = attncli.compute(attncli.Problem(scores=[[600, 0]], V=[[1], [0]]))
    assert float(hand["exp"].value[0, 0]) == pytest.approx(math.exp(600), rel=1e-15)
    assert hand.warnings == ()
    shifted = attncli.compute(attncli.Problem(scores=[[1000, 999]], V=[[1], [0]]))
    assert shifted["exp"].value[0, 0] == 1
    assert len(shifted.warnings) == 1


# Other normalisers, and numbers at the edge of what a float holds.

EDGE: dict[str, Keys] = {
    "hardmax": {"scores": [[1e308, LARGEST, -LARGEST]], "normalize": "hardmax"},
    "sparsemax": {"scores": [[1e308, LARGEST, -LARGEST]], "normalize": "sparsemax"},
    "sparsemax of ties": {"scores": [[-1e308, -1e308]], "normalize": "sparsemax"},
    "softcap": {"scores": [[LARGEST, 5e-324, -LARGEST]], "softcap": 0.001},
    "scale of subnormals": {"scores": [[5e-324, -5e-324]], "scale": 0.5},
    "large base": {"scores": [[1, 0.999]], "normalize": {"base": 1e308}},
    "base next to 1": {"scores": [[1e18, -1e18]], "normalize": {"base": 1 + 2.0**-52}},
    "smallest temperature": {"scores": [[5e-324, 0]], "normalize": {"temperature": 5e-324}},
    "tiny temperature": {"scores": [[1e-3, 1]], "normalize": {"temperature": 1e-306}},
}


@pytest.mark.parametrize("keys", EDGE.values(), ids=list(EDGE))
def test_weights_are_finite_at_the_edge(keys: Keys) -> None:
    values = np.ones((len(keys["scores"][0]), 1))
    trace = attncli.compute(attncli.Problem(V=values, **keys))
    finite_but_for_blocked_cells(trace)
    np.testing.assert_allclose(trace["weights"].value.sum(axis=-1), 1, rtol=1e-15)


@pytest.mark.parametrize(
    ("settings", "scores", "weights"),
    [
        ({"temperature": 1e305}, [1000e305, 999e305], [1 / (1 + math.exp(-1)), None]),
        ({"temperature": LARGEST}, [LARGEST, LARGEST], [0.5, 0.5]),
        ({"name": "sparsemax", "temperature": 0.001}, [1e307, 2e307], [0, 1]),
    ],
)
def test_any_finite_input_gives_finite_weights(settings: Keys, scores: Any, weights: Any) -> None:
    problem = attncli.Problem(scores=[scores], V=[[1], [1]], normalize=settings)
    found = attncli.compute(problem)["weights"].value[0]
    expected = [1 - weights[0] if w is None else w for w in weights]
    # 999e305 is no float: what stands for it is 1e-13 away once divided by the temperature.
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_hand_step_that_no_float_can_hold_is_refused() -> None:
    """The sum is a step that is shown, so it cannot be done in a way that leaves it out."""
    problem = attncli.Problem(scores=[[1e308, 1e308]], V=[[1], [1]], normalize="sum")
    with pytest.raises(attncli.InputError, match="sum holds a number that is beyond"):
        attncli.compute(problem)


OVERFLOWS: dict[str, Keys] = {
    "scale": {"scores": [[-1e308, 1]], "scale": 10},
    "bias": {"scores": [[-1e308, 1]], "bias": [[-1e308, 0]]},
    "dot": {"Q": [[1e200]], "K": [[-1e200], [0]], "score": "dot"},
    "distance": {"Q": [[1e200]], "K": [[-1e200], [1]], "score": "distance"},
}


@pytest.mark.parametrize("keys", OVERFLOWS.values(), ids=list(OVERFLOWS))
def test_overflow_to_minus_infinity_is_refused_like_one_to_infinity(keys: Keys) -> None:
    """−∞ is the sign of a blocked cell; nothing blocked these."""
    problem = attncli.Problem(V=[[1], [2]], **keys)
    with pytest.raises(attncli.InputError, match="beyond what a float can hold"):
        attncli.compute(problem)


def test_scores_that_a_hand_can_exponentiate_are_not_shifted() -> None:
    """e^s stands as a hand writes it as long as a double can hold it."""
    trace = attncli.compute(attncli.Problem(scores=[[600.0, -600.0]], V=[[1], [2]]))
    assert trace["exp"].formula == "exp = e^scores"
    assert trace.warnings == ()
    far = attncli.compute(attncli.Problem(scores=[[1000.0, 0.0]], V=[[1], [2]]))
    assert far["exp"].formula == "exp = e^(scores − largest)"
    assert "largest score of each row was subtracted first" in far.warnings[0]


@pytest.mark.parametrize("width", [1e150, 1e155, 1e308])
def test_a_width_whose_square_is_no_float_makes_all_scores_0(width: float) -> None:
    problem = attncli.Problem(X=[[1], [3]], score={"name": "distance", "width": width})
    np.testing.assert_array_equal(attncli.compute(problem)["weights"].value, 0.5)
