"""Slips of one number or one line are found in random problems, and named in fixed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking import Report
from attncli.checking.mistakes import MISTAKES
from tests.handwriting import HABITS, Habit, Numbers
from tests.homework import draw

WRONG = 3
"""The code of a wrong cell, by its place among the statuses of the contract."""

ENOUGH = 3
"""On how many problems of each sort, in each habit, a slip is made."""


def ids(report: Report, step: str) -> list[str]:
    """Return the mistakes that are named for a step, the first and the others."""
    finding = report.findings.get(step)
    return [] if finding is None else [finding.id, *(other.id for other in finding.also)]


def at_random(rng: np.random.Generator, value: Numbers) -> tuple[int, ...]:
    """Return the place of a number that is not nearly 0, in a matrix or in one of a stack."""
    places = np.argwhere(np.abs(value) > 0.5)
    return tuple(int(i) for i in places[rng.integers(len(places))])


def sign_slip(rng: np.random.Generator, value: Numbers) -> None:
    value[at_random(rng, value)] *= -1


def decimal_point_slip(rng: np.random.Generator, value: Numbers) -> None:
    value[at_random(rng, value)] *= 10


def single_cell_slip(rng: np.random.Generator, value: Numbers) -> None:
    value[at_random(rng, value)] += 37.77


def row_slip(rng: np.random.Generator, value: Numbers) -> None:
    value[at_random(rng, value)[:-1]] += rng.uniform(3, 9, value.shape[-1])


def column_slip(rng: np.random.Generator, value: Numbers) -> None:
    place = at_random(rng, value)
    value[place[:-2]][:, place[-1]] += rng.uniform(3, 9, value.shape[-2])


def rows_swapped(rng: np.random.Generator, value: Numbers) -> None:
    lead = at_random(rng, value)[:-2]
    value[lead] = value[lead][[1, 0, *range(2, value.shape[-2])]]


def columns_swapped(rng: np.random.Generator, value: Numbers) -> None:
    lead = at_random(rng, value)[:-2]
    value[lead] = value[lead][:, [1, 0, *range(2, value.shape[-1])]]


def constant_factor(rng: np.random.Generator, value: Numbers) -> None:
    del rng
    value *= 3.7


SLIPS: dict[str, Callable[[np.random.Generator, Numbers], None]] = {
    "sign_slip": sign_slip,
    "decimal_point_slip": decimal_point_slip,
    "single_cell_slip": single_cell_slip,
    "row_slip": row_slip,
    "column_slip": column_slip,
    "rows_swapped": rows_swapped,
    "columns_swapped": columns_swapped,
    "constant_factor": constant_factor,
}
"""Slips in a matrix of numbers, made in place."""

ONE_NUMBER = ("sign_slip", "decimal_point_slip", "single_cell_slip")


@pytest.mark.parametrize("habit", HABITS, ids=str)
@pytest.mark.parametrize("slip", SLIPS)
def test_slip_in_a_random_problem_is_found(slip: str, habit: Habit) -> None:
    """In Q, from which everything else follows; in each sort of problem three times."""
    rng = np.random.default_rng(list(map(ord, slip)))
    for sort in ("integers", "decimals", "heads"):
        made = 0
        for _ in range(300):
            paper = draw(rng, sort)
            right = paper.step("Q", {})
            if (np.abs(right) > 0.5).sum() == 0 or right.shape[1] < 3:
                continue
            wrong = right.copy()
            SLIPS[slip](rng, wrong)
            off = np.abs(wrong - right) > 0.2 + 0.02 * np.abs(wrong)
            if off.sum() < (1 if slip in ONE_NUMBER else 2):
                continue  # two rows that are nearly the same
            if (wrong[off] == 0).any():
                continue  # a 0 in three digits is any small number
            if slip.endswith("swapped") and np.array_equal(wrong[off], -right[off]):
                continue  # it looks like a slip of signs
            if slip == "constant_factor" and off.sum() < ENOUGH:
                continue
            report = attncli.check(
                attncli.Problem(**paper.problem()), {"Q": paper.cells(wrong, habit)}
            )
            assert report.first_wrong_step == "Q"
            assert slip in ids(report, "Q"), (paper.problem(), report.findings.get("Q"))
            codes = report.steps["Q"].codes[0]
            assert (codes[off] == WRONG).all()
            assert (codes[wrong == right] != WRONG).all()
            made += 1
            if made == ENOUGH:
                break
        assert made == ENOUGH


INTEGERS = {"X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]], "score": "dot"}
SCORES = np.array([[5, 5, 2], [5, 11, 8], [2, 8, 8]])
# X Xᵀ by hand: rows [1,0,2], [3,1,1], [2,2,0]


def of_scores(changed: Any) -> tuple[str, str]:
    """Return the id and the sentence for scores that are slightly wrong."""
    report = attncli.check(attncli.Problem(**INTEGERS), {"scores": np.array(changed).tolist()})
    assert report.first_wrong_step == "scores"
    finding = report.findings["scores"]
    return finding.id, finding.message


def with_cells(**cells: int) -> Numbers:
    """Return the scores with some cells, such as r0c2=7, changed."""
    changed = SCORES.copy()
    for place, value in cells.items():
        changed[int(place[1]), int(place[3])] = value
    return changed


@pytest.mark.parametrize(
    ("changed", "id_", "words"),
    [
        (with_cells(r0c0=-5), "sign_slip", "scores[1, 1]"),
        (with_cells(r1c1=-7), "sign_slip", "3·3 was taken as -9"),
        (with_cells(r1c1=2), "single_cell_slip", "3·3 was left out"),
        (with_cells(r1c1=20), "single_cell_slip", "3·3 was counted twice"),
        (with_cells(r1c2=7), "single_cell_slip", "3·2 was taken as 5, the sum"),
        (with_cells(r1c2=33), "single_cell_slip", "Only scores[2, 3] is wrong"),
        (with_cells(r1c1=110), "decimal_point_slip", "scores[2, 2]"),
        (SCORES[[1, 0, 2]], "rows_swapped", "rows 1 and 2"),
        (SCORES[:, [0, 2, 1]], "columns_swapped", "columns 2 and 3"),
        (with_cells(r2c0=5, r2c1=5, r2c2=2), "row_slip", "it holds the numbers of 1"),
        (with_cells(r0c1=40, r1c1=41, r2c1=47), "column_slip", "Only column 2 is wrong"),
        (with_cells(r1c0=21, r1c1=40, r1c2=90), "row_slip", "Only row 2 is wrong"),
        (SCORES * -1, "sign_slip", "Every number has the wrong sign"),
        (SCORES * 7, "constant_factor", "7 times"),
        (with_cells(r0c0=6, r0c1=8, r0c2=4), "miscopied_number", "were 2, not 1"),
    ],
)
def test_slip_is_named(changed: Numbers, id_: str, words: str) -> None:
    found, message = of_scores(changed)
    assert found == id_, message
    assert words in message


def test_swapped_digits_are_named() -> None:
    report = attncli.check(
        attncli.Problem(X=[[3, 5], [4, 7]], score="dot"), {"scores": [[34, 74], [47, 65]]}
    )
    assert report.findings["scores"].id == "digits_swapped"
    assert "scores[1, 2]" in report.findings["scores"].message


def test_numbers_of_another_step_are_named() -> None:
    given = {"X": [[1, 2, 0], [0, 1, 1], [1, 1, 1]], "W_k": [[1, 2, 1], [0, 1, 0], [2, 1, 3]]}
    trace = attncli.compute(attncli.Problem(**given))
    report = attncli.check(attncli.Problem(**given), {"V": trace["K"].value * 1.0})
    assert report.findings["V"].id in ("swapped_k_v", "another_step")


def test_a_divisor_is_told() -> None:
    """A row of weights that was divided by another row's sum."""
    trace = attncli.compute(attncli.Problem(**INTEGERS))
    weights = trace["weights"].value.copy()
    e, total = trace["exp"].value, trace["sum"].value.ravel()
    weights[1] = e[1] / total[2]
    report = attncli.check(
        attncli.Problem(**INTEGERS),
        {"exp": e, "sum": total, "weights": [[f"{x:.3f}" for x in row] for row in weights]},
    )
    assert report.findings["weights"].id == "row_slip"
    assert "divided by" in report.findings["weights"].message


def test_garbage_is_not_named_as_a_mistake() -> None:
    """Numbers at random in several cells: a slip at most, and no mistake of the catalogue."""
    draw = np.random.default_rng(3)
    named = 0
    for _ in range(200):
        changed = SCORES + draw.integers(-30, 31, SCORES.shape)
        if (changed == SCORES).sum() > 5:
            continue
        report = attncli.check(attncli.Problem(**INTEGERS), {"scores": changed.tolist()})
        named += any(i in MISTAKES for i in ids(report, "scores"))
    assert named == 0
