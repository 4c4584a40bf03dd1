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
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import attncli
from tests.mechanisms.table import Keys, computed
from tests.oracles import reference

Numbers = Any
mp = reference.mp

ULPS = 4
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


def finite_but_for_blocked_cells(trace: attncli.Trace) -> None:
    for step in trace:
        assert not np.isnan(step.value).any(), step.name
        assert not np.isposinf(step.value).any(), step.name
        assert step.name in MAY_BE_BLOCKED or not np.isneginf(step.value).any(), step.name


def measure(scores: Any, settings: Keys, allowed: float = ULPS, **more: Any) -> None:
    """Measure every weight, and that exp, as shown, gives the sum and the weights."""
    values = np.eye(scores.shape[1], min(3, scores.shape[1]))
    trace = computed({"scores": scores, "V": values, "normalize": settings}, **more)
    finite_but_for_blocked_cells(trace)
    exp, total, weights = (trace[name].value for name in ("exp", "sum", "weights"))
    last = [step.value for step in trace if step.name in MAY_BE_BLOCKED][-1]
    for row, exact_row in zip(weights.tolist(), exact_weights(last, settings), strict=True):
        for found, exact in zip(row, exact_row, strict=True):
            assert ulps(found, exact) <= allowed, f"{found!r} for {mp.nstr(exact, 20)}"
    along = 0 if settings.get("axis") == "queries" else 1
    for line, found in zip(np.moveaxis(exp, along, -1), total.ravel().tolist(), strict=True):
        assert ulps(found, mp.fsum(reference.exact(line))) <= allowed
    exponentials, totals = np.broadcast_arrays(exp, total)
    for e, t, w in zip(exponentials.flat, totals.flat, weights.flat, strict=True):
        expected = mp.mpf(float(e)) / mp.mpf(float(t)) if t else mp.mpf(0)
        assert ulps(float(w), expected) <= ULPS


Family = Callable[[np.random.Generator, int, int], Numbers]


def common(random: np.random.Generator, n: int, m: int) -> Numbers:
    """As in practice."""
    return random.normal(size=(n, m)) * 5


def large_and_near(random: np.random.Generator, n: int, m: int) -> Numbers:
    """Around ±1000, within the reach of e^−700."""
    return random.choice([-1000, 1000], size=(n, 1)) + random.uniform(-350, 350, (n, m))


def nearly_tied(random: np.random.Generator, n: int, m: int) -> Numbers:
    """Differences of 1e-12 … 1e-15 of the scores."""
    near = random.choice([1e-12, 1e-13, 1e-14, 1e-15, 0], size=(n, m)) * random.integers(-9, 10)
    return random.uniform(-1000, 1000, (n, 1)) * (1 + near)


FAMILIES: dict[str, Family] = {
    "far apart": lambda random, n, m: random.uniform(-1000, 1000, (n, m)),
    "common": common,
    "large and near": large_and_near,
    "nearly tied": nearly_tied,
    "of all magnitudes": lambda random, n, m: (
        random.choice([-1, 1], size=(n, m)) * 10.0 ** random.uniform(-300, 3, (n, m))
    ),
    "subnormal": lambda random, n, m: random.integers(-(2**20), 2**20, size=(n, m)) * 5e-324,
    "enormous, with ties": lambda random, n, m: random.choice(
        [-1e308, 1e308, LARGEST, -LARGEST, 1e307, 0], size=(n, m)
    ),
    "enormous and common": lambda random, n, m: np.where(  # in some rows only common ones
        random.random((n, m)) < 0.1, -1e308, common(random, n, m)
    ),
}
"""Each makes scores of some rows and keys."""

SETTINGS = [
    {"temperature": temperature, "base": base}
    for temperature, base in itertools.product(
        (1, 2, 0.5, 0.001, 0.1, 1 / 3, 7, 1000), ("e", 2, 3, 10, 1.1)
    )
]


@pytest.mark.parametrize("name", FAMILIES)
def test_weights_are_within_4_ulp(name: str) -> None:
    """For temperatures and bases in turn, with up to 8 keys, and with some cells blocked."""
    turn = [*FAMILIES].index(name)
    random = np.random.default_rng([1, turn])
    for settings in SETTINGS[turn % 3 :: 3]:
        n, m = (int(size) for size in random.integers(1, [4, 9]))
        scores = FAMILIES[name](random, n, m)
        measure(scores, settings)
        blocked = random.random((n, m)) < 0.3
        blocked[0] |= random.random() < 0.3  # a row that is wholly blocked
        measure(scores, settings, mask={"block": blocked.astype(int)})
        measure(np.where(blocked, -np.inf, scores), settings)
        measure(scores, settings, bias=np.where(blocked, -np.inf, 0.0))


# With sums compensated (two-sum, pairwise) the worst of 2 million such weights was 2.9 ulp.


@pytest.mark.parametrize(("axis", "allowed"), [("keys", 10), ("queries", ULPS)])
@pytest.mark.parametrize(
    ("length", "temperature", "base"),
    [(129, 1, 3), pytest.param(777, 7, 10, marks=pytest.mark.whole)],
)
def test_weights_of_long_rows(
    length: int, temperature: float, base: float, axis: str, allowed: float
) -> None:
    """Of several hundred keys, or of columns of several hundred queries."""
    random = np.random.default_rng(2)
    settings = {"temperature": temperature, "base": base, "axis": axis}
    for family in (common, nearly_tied, large_and_near):
        scores = family(random, 6, length) / 5 * temperature
        # How a matrix lies in memory decides how NumPy adds it up.
        measure(np.ascontiguousarray(scores.T) if axis == "queries" else scores, settings, allowed)


def test_weights_of_a_hundred_keys_are_within_4_ulp() -> None:
    """One row in some hundreds was beyond it: this one, where it was found, by 0.6 ulp."""
    measure(np.random.default_rng(56).normal(size=(1, 100)), {})
    measure(np.full((1, 900), 0.1), {}, 10)


# Numbers at the edge of what a float holds.

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
    trace = computed(keys, V=np.ones((len(keys["scores"][0]), 1)))
    finite_but_for_blocked_cells(trace)
    np.testing.assert_allclose(trace["weights"].value.sum(axis=-1), 1, rtol=1e-15)


@pytest.mark.parametrize(
    ("settings", "scores", "first"),
    [
        ({"temperature": 1e305}, [1000e305, 999e305], 1 / (1 + math.exp(-1))),
        ({"temperature": LARGEST}, [LARGEST, LARGEST], 0.5),
        ({"name": "sparsemax", "temperature": 0.001}, [1e307, 2e307], 0),
    ],
)
def test_any_finite_input_gives_finite_weights(settings: Keys, scores: Any, first: float) -> None:
    keys: Keys = {"scores": [scores], "V": [[1], [1]], "normalize": settings}
    found = computed(keys)["weights"].value[0]
    # 999e305 is no float: what stands for it is 1e-13 away once divided by the temperature.
    np.testing.assert_allclose(found, [first, 1 - first], rtol=1e-12)


@pytest.mark.parametrize("width", [1e150, 1e155, 1e308])
def test_a_width_whose_square_is_no_float_makes_all_scores_0(width: float) -> None:
    trace = computed({"X": [[1], [3]], "score": {"name": "distance", "width": width}})
    np.testing.assert_array_equal(trace["weights"].value, 0.5)
