"""Ranges hold what points inside them give: for every operation, for random ranges and points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import attncli
from attncli.core.arithmetic.intervals import Interval, hull, interval
from attncli.core.attention.scores import Cosine
from attncli.core.records import replace
from attncli.core.tape.evaluation import evaluate
from attncli.core.tape.step import Operation
from tests.laws.operations import OPERANDS, OPERATIONS
from tests.mechanisms.table import SEEDS

Numbers = np.ndarray[Any, Any]

POINTS = 12
"""How many points are tried in each array of ranges."""

NEAR = 1e-9
"""The last digits of a float are not what ranges are about."""


def random_ranges(random: np.random.Generator, shape: tuple[int, ...], width: float) -> Interval:
    """Return ranges about random middles; some of them of no width, all of them if it is 0."""
    middle = random.normal(0, 2, shape)
    middle = middle.round(int(random.integers(4))) if width else middle
    radius = random.uniform(0, width, shape) * (random.random(shape) < 0.8)
    return Interval(middle - radius, middle + radius)


def drawn(random: np.random.Generator, width: float) -> dict[str, Any]:
    """Return ranges for each operand, and zeros and ones for the mask."""
    found: dict[str, Any] = {}
    for one in OPERANDS:
        ranges = found[one.name] = random_ranges(random, one.array.shape, width)
        if one.name in ("e", "t"):  # exponentials and their sums are positive
            found[one.name] = Interval(np.exp(ranges.low), np.exp(ranges.high))
        elif one.name == "m":
            found["m"] = (random.random(one.array.shape) < 0.7) * 1.0
    return found


def point(random: np.random.Generator, found: Interval) -> Numbers:
    """Return a point in each range: inside it, or at an end."""
    share = random.choice([0.0, 1.0, 0.5], found.shape)
    share = np.where(random.random(found.shape) < 0.5, random.random(found.shape), share)
    inside: Numbers = found.low + share * (found.high - found.low)
    return np.clip(inside, found.low, found.high)


def have_lengths(*several: Numbers) -> bool:
    """Return whether no vector is all zeros, of which the program refuses a cosine."""
    return all((vectors != 0).any(axis=-1).all() for vectors in several)


def assert_holds(found: Any, numbers: Numbers) -> None:
    """The numbers lie in their ranges, but for the last digits of a float."""
    wide = interval(found)
    assert wide.shape == numbers.shape
    assert not np.isnan(wide.low).any()
    assert not np.isnan(wide.high).any()
    assert (wide.low <= wide.high).all()
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    near = NEAR * (1 + np.abs(finite).max(initial=0.0))
    assert (numbers >= wide.low - near).all(), (numbers, wide.low)
    assert (numbers <= wide.high + near).all(), (numbers, wide.high)


WAVES: Any = attncli.compute(attncli.Problem(X=[[1, 2]], positions="rope"))["cos"].operation
ALL = OPERATIONS | {"cosine of angles": replace(WAVES, angles=OPERANDS[0])}


@pytest.mark.parametrize("operation", ALL.values(), ids=list(ALL))
@given(seed=SEEDS, width=st.sampled_from([0.0, 1e-4, 0.05, 0.5, 3.0]))
def test_points_lie_in_the_ranges_of_the_result(
    operation: Operation, seed: int, width: float
) -> None:
    """And what is known for sure stays so, but for what a float rounds."""
    random = np.random.default_rng(seed)
    known = drawn(random, width)
    is_cosine = isinstance(operation, Cosine)
    assume(not is_cosine or have_lengths(known["a"].high, known["c"].high))
    found = evaluate(operation, lambda source: known[source.name])
    for _ in range(POINTS):
        chosen = {n: point(random, x) if n != "m" else x for n, x in known.items()}
        if is_cosine and not have_lengths(chosen["a"], chosen["c"]):
            continue
        assert_holds(found, evaluate(operation, lambda source: chosen[source.name]))  # noqa: B023
    if width == 0:
        wide = interval(found)
        np.testing.assert_allclose(wide.low, wide.high, rtol=1e-9, atol=1e-12)


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


def test_a_division_by_what_may_be_nothing_is_not_bounded() -> None:
    """1 / [−1, 1] may be anything; 0 / 0 of a row that is wholly blocked is 0."""
    one = Interval(np.ones(2), np.ones(2))
    found = one / Interval(np.array([-1.0, 2.0]), np.array([1.0, 4.0]))
    assert (found.low[0], found.high[0]) == (-np.inf, np.inf)
    assert (found.low[1], found.high[1]) == (0.25, 0.5)
    zero = Interval(np.zeros(1), np.zeros(1))
    assert ((zero / zero).low, (zero / zero).high) == (0, 0)
