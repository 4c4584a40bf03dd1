"""Hand rounding against a hand: the same steps in decimal arithmetic, each rounded half up."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given

from tests.mechanisms.table import SEEDS, Keys, computed

Rows = list[list[Decimal]]
Round = Callable[[Decimal], Decimal]


def to_places(places: int, mode: str = ROUND_HALF_UP) -> Round:
    return lambda x: x.quantize(Decimal(1).scaleb(-places), rounding=mode)


def to_figures(figures: int) -> Round:
    def rounded(x: Decimal) -> Decimal:
        if x == 0:
            return x
        return x.quantize(Decimal(1).scaleb(x.adjusted() - figures + 1), rounding=ROUND_HALF_UP)

    return rounded


def product(left: Rows, right: Rows, rounded: Round) -> Rows:
    columns = list(zip(*right, strict=True))
    return [
        [rounded(sum((a * b for a, b in zip(row, c, strict=True)), Decimal(0))) for c in columns]
        for row in left
    ]


def transposed(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows, strict=True)]


def by_hand(problem: Keys, rounded: Round) -> dict[str, Rows]:
    """Return every step of scaled dot-product attention, each rounded before the next uses it."""
    x = problem["X"]
    q, k, v = (product(x, problem[key], rounded) for key in ("W_q", "W_k", "W_v"))
    scores = product(q, transposed(k), rounded)
    root = Decimal(len(k[0])).sqrt()
    scaled = [[rounded(s / root) for s in row] for row in scores]
    exp = [[rounded(s.exp()) for s in row] for row in scaled]
    total = [[rounded(sum(row, Decimal(0)))] for row in exp]
    weights = [
        [rounded(e / t[0]) if t[0] else Decimal(0) for e in row]
        for row, t in zip(exp, total, strict=True)
    ]
    output = product(weights, v, rounded)
    names = ("Q", "K", "V", "scores", "scaled", "exp", "sum", "weights", "output")
    return dict(zip(names, (q, k, v, scores, scaled, exp, total, weights, output), strict=True))


def random_problem(seed: int) -> Keys:
    """Return a problem of numbers with one decimal, so that ties are frequent."""
    dice = random.Random(seed)
    n, d = dice.randint(1, 4), dice.randint(1, 4)

    def matrix(rows: int, columns: int) -> Rows:
        return [[Decimal(dice.randint(-15, 15)) / 10 for _ in range(columns)] for _ in range(rows)]

    return {"X": matrix(n, 3), "W_q": matrix(3, d), "W_k": matrix(3, d), "W_v": matrix(3, 2)}


@pytest.mark.parametrize(
    ("written", "rounded"),
    [
        ("2", to_places(2)),
        ("1", to_places(1)),
        ("3sf", to_figures(3)),
        ({"decimals": "2", "half": "even"}, to_places(2, ROUND_HALF_EVEN)),
    ],
    ids=["2", "1", "3sf", "even"],
)
@given(seed=SEEDS)
def test_steps_are_those_of_a_hand_on_random_problems(
    written: Any, rounded: Round, seed: int
) -> None:
    given_ = random_problem(seed)
    with localcontext() as context:
        context.prec = 60
        expected = by_hand(given_, rounded)
    matrices = {key: [[str(x) for x in row] for row in rows] for key, rows in given_.items()}
    trace = computed(matrices, round=written)
    assert set(expected) - {"scaled"} == set(trace.steps) - {"scaled"}
    for name in (name for name in expected if name in trace):  # a scale of 1 is no step
        assert trace[name].value.tolist() == [[float(x) for x in row] for row in expected[name]]
