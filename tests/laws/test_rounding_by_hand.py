"""Hand rounding against a hand: the same steps in decimal arithmetic, each rounded half up."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.tape.by_hand import Rounding
from tests.conftest import TYPICAL_SAMPLES, Attn

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


def by_hand(problem: dict[str, Any], rounded: Round) -> dict[str, Rows]:
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


def random_problem(seed: int) -> dict[str, Any]:
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
def test_steps_are_those_of_a_hand_on_random_problems(written: Any, rounded: Round) -> None:
    for seed in range(60):
        given = random_problem(seed)
        with localcontext() as context:
            context.prec = 60
            expected = by_hand(given, rounded)
        matrices: dict[str, Any] = {
            key: [[str(x) for x in row] for row in rows] for key, rows in given.items()
        }
        trace = attncli.compute(attncli.Problem(**matrices, round=written))
        assert set(expected) - {"scaled"} == set(trace.steps) - {"scaled"}
        for name, rows in expected.items():
            if name in trace:  # a scale of 1 is no step
                found = trace[name].value.tolist()
                assert found == [[float(x) for x in row] for row in rows], (seed, name)


@pytest.mark.parametrize(
    ("value", "expected"), [(2.675, 2.68), (-2.675, -2.68), (2.6749, 2.67), (1e-9, 0.0)]
)
def test_half_goes_away_from_zero(value: float, expected: float) -> None:
    assert Rounding(decimals=2).number(value) == expected


def test_a_sum_is_rounded_as_a_hand_adds_it() -> None:
    """0.9 · 0.15 + 0.1 · 0.2 = 0.155, but 0.15499999999999997 in floats."""
    problem = attncli.Problem(scores=[[0.9, 0.1]], V=[[0.15], [0.2]], normalize="none", round=2)
    assert attncli.compute(problem).output.tolist() == [[0.16]]


def test_a_small_number_beside_a_large_one_keeps_its_digits() -> None:
    rounded = Rounding(significant=3)("exp", np.array([[1e6, 1.23449e-7, 1.23451e-7]]))
    assert rounded.tolist() == [[1e6, 1.23e-7, 1.23e-7]]


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_so_many_digits_that_rounding_changes_nothing(path: Path) -> None:
    """With 15 figures every step of every sample is what it is without rounding."""
    for problem in attncli.load_all(path):
        plain = attncli.compute(problem)
        again = {key: getattr(problem, key) for key in problem.given}
        rounded = attncli.compute(attncli.Problem(**again, round="15sf"))
        for step in plain:
            # Derivatives are differences of numbers that are larger.
            off = 5e-14 if step.backward else 1e-14
            np.testing.assert_allclose(rounded[step.name].value, step.value, 1e-13, off)


@pytest.mark.parametrize("flag", ["--round-steps", "--round"])
def test_the_closing_line_tells_how_far_the_output_is_off(flag: str, attn: Attn) -> None:
    sample = "sample_inputs/i_am_good.yaml"
    whole = json.loads(attn("compute", sample, "-f", "json").out)["steps"]["output"]["value"]
    rounded = json.loads(attn("compute", sample, "-f", "json", flag, "1").out)
    values = rounded["steps"]["output"]["value"]
    distances = {
        (row, column): abs(values[row][column] - whole[row][column])
        for row in range(3)
        for column in range(3)
    }
    (row, column), off = max(distances.items(), key=lambda item: item[1])
    assert rounded["rounding"]["off_by"] == pytest.approx(off, rel=1e-12)
    assert rounded["rounding"]["at"] == [row, column]
    last = attn("compute", sample, flag, "1").out.splitlines()[-1]
    label = ["I", "am", "good"][row]
    assert last == (
        f"rounded steps: the output is off by at most {off:.2g} (at [{label}, {column + 1}])"
    )


def test_the_closing_line_where_nothing_is_lost(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "whole.yaml"
    path.write_text("X: [[1, 2]]\nround: 2\n")
    assert attn("compute", path).out.endswith("rounded steps: the output is as without rounding\n")


def test_tables_show_the_numbers_that_the_next_step_used(attn: Attn, tmp_path: Path) -> None:
    """Six decimals are shown where six were kept, though tables show four by themselves."""
    path = tmp_path / "six.yaml"
    path.write_text("X: [[1, 0], [0, 1]]\nround: 6\n")
    found = json.loads(attn("compute", path, "-f", "json").out)["steps"]["weights"]["value"]
    out = attn("compute", path).out
    assert all(f"{x:.6f}" in out for row in found for x in row)


def test_rounded_results_can_be_read_again(attn: Attn) -> None:
    sample = "sample_inputs/i_am_good.yaml"
    first = attn("compute", sample, "--round-steps", "2", "-f", "json").out
    again = attn("compute", "-", "-f", "json", stdin=first.encode())
    assert (again.status, again.out) == (0, first)


def test_a_mask_with_a_condition_is_rounded_by_hand() -> None:
    problem = attncli.Problem(X=[[1, 0], [1, 1]], mask={"when": "j <= i"}, round=2)
    assert attncli.compute(problem)["weights"].value.tolist() == [[1, 0], [0.33, 0.67]]
