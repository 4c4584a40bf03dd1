"""Ranges hold what points inside them give: for every operation, for random ranges and points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli.core.arithmetic.intervals import Interval, hull, interval
from attncli.core.attention.masks import Masked
from attncli.core.attention.normalizers import Hardmax, Sparsemax, Unblocked
from attncli.core.attention.scores import (
    ConcatenatePairs,
    Cosine,
    EachPair,
    GaussianExponent,
    MergeHeads,
    PairDot,
    RepeatHeads,
    SplitHeads,
)
from attncli.core.attention.softmax import Exp, Sum, shifted
from attncli.core.tape.evaluation import evaluate
from attncli.core.tape.operations import (
    Add,
    Concatenate,
    Divide,
    MatMul,
    Scale,
    SoftCap,
    Tanh,
    Transposed,
)
from attncli.core.tape.step import Operation, Step

Numbers = np.ndarray[Any, Any]

POINTS = 12
"""How many points are tried in each array of ranges."""

NEAR = 1e-9
"""The last digits of a float are not what ranges are about."""


def step(name: str, shape: tuple[int, ...]) -> Step:
    """Return an operand."""
    return Step(name, name, (), ("query", "feature"), {}, None, np.zeros(shape))


A, B = step("a", (1, 2, 3, 4)), step("b", (1, 2, 4, 3))
C = step("c", (1, 2, 3, 4))
E, T = step("e", (1, 2, 3, 4)), step("t", (1, 2, 3, 1))
W, V, H = step("w", (1, 1, 4, 3)), step("v", (1, 1, 1, 4)), step("h", (1, 2, 3, 5, 4))
F = step("f", (1, 1, 3, 4))
M = step("m", (1, 1, 3, 4))

OPERATIONS: dict[str, Operation] = {
    "matmul": MatMul(A, B),
    "matmul with a broadcast": MatMul(A, W),
    "dot": MatMul(A, Transposed(C)),
    "square": MatMul(A, Transposed(A)),
    "add": Add(A, C),
    "add a vector": Add(A, V),
    "scale": Scale(A, over=1.7),
    "scale by a negative number": Scale(A, times=-2.0),
    "tanh": Tanh(A),
    "softcap": SoftCap(A, 3.0),
    "joined": Concatenate(A, C),
    "exp": Exp(A),
    "power of 2": Exp(A, 2.0, 0.5),
    "power less than 1": Exp(A, 0.5),
    "shifted": shifted(Exp(A), -1, None)[0],
    "sum over keys": Sum(A, -1),
    "sum over queries": Sum(A, -2),
    "divide": Divide(E, T),
    "divide by what may be 0": Divide(A, C),
    "softmax": Divide(Exp(A), Sum(Exp(A), -1)),
    "hardmax": Hardmax(A, -1),
    "hardmax over queries": Hardmax(A, -2),
    "sparsemax": Sparsemax(A, -1),
    "sparsemax over queries": Sparsemax(A, -2, 0.7),
    "cosine": Cosine(A, C),
    "distance": GaussianExponent(A, C, 0.8),
    "each pair": EachPair(A, C),
    "joined pairs": ConcatenatePairs(A, C),
    "pair dot": PairDot(H, V),
    "cut": SplitHeads(F, 2),
    "shared": RepeatHeads(A, 3),
    "concat": MergeHeads(A),
    "masked": Masked(A, M),
    "unblocked": Unblocked(Masked(A, M)),
    "masked softmax": Divide(Exp(Masked(A, M)), Sum(Exp(Masked(A, M)), -1)),
    "masked hardmax": Hardmax(Masked(A, M), -1),
    "masked sparsemax": Sparsemax(Masked(A, M), -1),
}


def random_ranges(random: np.random.Generator, shape: tuple[int, ...], width: float) -> Interval:
    """Return ranges about random middles; some of them of no width."""
    middle = random.normal(0, 2, shape).round(int(random.integers(4)))
    radius = random.uniform(0, width, shape) * (random.random(shape) < 0.8)
    return Interval(middle - radius, middle + radius)


def point(random: np.random.Generator, found: Interval) -> Numbers:
    """Return a point in each range: inside it, or at an end."""
    share = random.choice([0.0, 1.0, 0.5], found.shape)
    share = np.where(random.random(found.shape) < 0.5, random.random(found.shape), share)
    inside: Numbers = found.low + share * (found.high - found.low)
    return np.clip(inside, found.low, found.high)


def has_zero_vector(numbers: Numbers) -> bool:
    """Whether a vector has no length, so that the program refuses its cosine."""
    return bool((numbers == 0).all(axis=-1).any())


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


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=list(OPERATIONS))
@given(seed=st.integers(0, 2**32), width=st.sampled_from([0.0, 1e-4, 0.05, 0.5, 3.0]))
@settings(max_examples=10, deadline=None)
def test_points_lie_in_the_ranges_of_the_result(
    operation: Operation, seed: int, width: float
) -> None:
    random = np.random.default_rng(seed)
    known: dict[str, Interval | Numbers] = {}
    needs_lengths = isinstance(operation, Cosine)

    def of(source: Step) -> Interval | Numbers:
        if source.name not in known:
            shape = source.array.shape
            if source.name == "m":
                known["m"] = (random.random(shape) < 0.7) * 1.0
            elif source.name in ("e", "t"):  # exponentials and their sums are positive
                found = random_ranges(random, shape, width)
                known[source.name] = Interval(np.exp(found.low), np.exp(found.high))
            else:
                found = random_ranges(random, shape, width)
                while needs_lengths and has_zero_vector(np.abs(found.low) + np.abs(found.high)):
                    found = random_ranges(random, shape, width)
                known[source.name] = found
        return known[source.name]

    def points() -> dict[str, Numbers]:
        return {
            name: point(random, item) if isinstance(item, Interval) else item
            for name, item in known.items()
        }

    found = evaluate(operation, of)
    for _ in range(POINTS):
        chosen = points()
        while needs_lengths and any(map(has_zero_vector, chosen.values())):
            chosen = points()
        assert_holds(found, evaluate(operation, lambda source: chosen[source.name]))  # noqa: B023


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
@given(seed=st.integers(0, 2**32), width=st.sampled_from([0.0, 0.01, 1.0]))
@settings(max_examples=10, deadline=None)
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


def test_ranges_of_no_width_are_points() -> None:
    """What is known for sure stays so, but for what a float rounds."""
    random = np.random.default_rng(0)
    for operation in OPERATIONS.values():
        numbers: dict[str, Numbers] = {}

        def of(source: Step, numbers: dict[str, Numbers] = numbers) -> Numbers:
            shape = source.array.shape
            drawn = {
                "m": (random.random(shape) < 0.7) * 1.0,
                "e": random.uniform(0.1, 5, shape),
                "t": random.uniform(1, 9, shape),
            }
            return numbers.setdefault(
                source.name, drawn.get(source.name, random.normal(0, 2, shape))
            )

        exact = evaluate(operation, of)
        thin = {
            name: Interval(array, array) if name != "m" else array
            for name, array in numbers.items()
        }
        found = interval(evaluate(operation, lambda source: thin[source.name]))  # noqa: B023
        np.testing.assert_allclose(found.low, exact, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.high, exact, rtol=1e-9, atol=1e-12)


def test_a_division_by_what_may_be_nothing_is_not_bounded() -> None:
    """1 / [−1, 1] may be anything; 0 / 0 of a row that is wholly blocked is 0."""
    one = Interval(np.ones(2), np.ones(2))
    found = one / Interval(np.array([-1.0, 2.0]), np.array([1.0, 4.0]))
    assert (found.low[0], found.high[0]) == (-np.inf, np.inf)
    assert (found.low[1], found.high[1]) == (0.25, 0.5)
    zero = Interval(np.zeros(1), np.zeros(1))
    assert ((zero / zero).low, (zero / zero).high) == (0, 0)
