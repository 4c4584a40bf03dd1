"""Arithmetic of ranges holds what points inside them give, for random ranges and points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.core.arithmetic.intervals import Interval, hull, interval
from tests.laws.test_every_operation import assert_holds, point
from tests.mechanisms.table import SEEDS

Numbers = np.ndarray[Any, Any]

POINTS = 12
"""How many points are tried in each array of ranges."""


def random_ranges(random: np.random.Generator, shape: tuple[int, ...], width: float) -> Interval:
    """Return ranges about random middles; some of them of no width, all of them if it is 0."""
    middle = random.normal(0, 2, shape)
    middle = middle.round(int(random.integers(4))) if width else middle
    radius = random.uniform(0, width, shape) * (random.random(shape) < 0.8)
    return Interval(middle - radius, middle + radius)


UFUNCS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "−": lambda a, b: a - b,
    "·": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "square": lambda a, b: a * a,
    "negative": lambda a, b: -a,
    "exp": lambda a, b: np.exp(a),
    "tanh": lambda a, b: np.tanh(b),
    "power": lambda a, b: 3.0**b,
    "small power": lambda a, b: 0.3**b,
    "array − ranges": lambda a, b: np.ones((3, 4)) - b,
    "root": lambda a, b: np.sqrt(a * a),
    "size": lambda a, b: np.abs(a) - abs(b),
    "cosine": lambda a, b: np.cos(a) + np.sin(3 * b),
    "larger": lambda a, b: np.where(a > b, a, 7 - b),
    "equal": lambda a, b: np.where(a == b, 5, np.where(np.floor(a) != np.sign(b), a, -b)),
    "among": lambda a, b: np.where((a <= 1) & ~(b < 0) | (a >= b), 2.0, np.minimum(a, b)),
    "truths": lambda a, b: (a <= b).astype(float).sum(axis=-1) + np.any(a < -1, axis=-1),
    "hull": lambda a, b: hull(a, b) if isinstance(a, Interval) else a,
}


@pytest.mark.parametrize("function", UFUNCS.values(), ids=list(UFUNCS))
@given(seed=SEEDS, width=st.sampled_from([0.0, 0.01, 1.0]))
def test_arithmetic_of_ranges_holds_that_of_points(
    function: Callable[..., Any], seed: int, width: float
) -> None:
    random = np.random.default_rng(seed)
    a, b = (random_ranges(random, (3, 4), width) for _ in range(2))
    with np.errstate(all="ignore"):
        found = function(a, b)
        for _ in range(POINTS):
            numbers = function(point(random, a), point(random, b))
            kept = np.isfinite(numbers)
            wide = interval(found)
            assert_holds(Interval(wide.low[kept], wide.high[kept]), numbers[kept])


def test_no_line_of_a_program_decides_what_ranges_leave_open() -> None:
    """It could only guess; two ranges without width are plain."""
    one = Interval(np.zeros(1), np.ones(1))
    assert not (one > 2).any()
    with pytest.raises(TypeError, match=r"use np\.where, not if"):
        bool((one > 0.5).any())


def test_a_division_by_what_may_be_nothing_is_not_bounded() -> None:
    """1 / [−1, 1] may be anything; 0 / 0 of a row that is wholly blocked is 0."""
    one = Interval(np.ones(2), np.ones(2))
    found = one / Interval(np.array([-1.0, 2.0]), np.array([1.0, 4.0]))
    assert (found.low[0], found.high[0]) == (-np.inf, np.inf)
    assert (found.low[1], found.high[1]) == (0.25, 0.5)
    zero = Interval(np.zeros(1), np.zeros(1))
    assert ((zero / zero).low, (zero / zero).high) == (0, 0)
