"""Numbers that are wrong for no reason: no cause is made up for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import attncli
from benchmarks.oracles.drawn import Random
from benchmarks.surveys.judging import check
from benchmarks.surveys.test_mistakes import exercise
from tests.oracles.pens import HABITS, Numbers
from tests.support.truth import Truth, faults


def one_number(random: Random, numbers: Numbers) -> None:
    place = tuple(random.integers(size) for size in numbers.shape)
    numbers[place] += random.choice([-1, 1]) * random.integers(1, 40)


def one_row(random: Random, numbers: Numbers) -> None:
    row = random.integers(numbers.shape[1])
    numbers[0, row] += random.integers(1, 15, numbers.shape[2])


def two_rows(random: Random, numbers: Numbers) -> None:
    for row in random.choice(numbers.shape[1], 2, replace=False):
        numbers[0, row] += random.integers(1, 15, numbers.shape[2])


def said_of(sort: str, change: Callable[[Random, Numbers], None]) -> list[str]:
    """Return what is said of 40 steps of which some numbers are random."""
    random = np.random.default_rng(list(map(ord, sort)))
    said: list[str] = []
    while len(said) < 40:
        working = exercise(random, sort, ({}, {"columns": True})[len(said) % 2])
        known = working.exact
        step = str(random.choice(["Q", "V", "scores", "output"]))
        if step not in known or min(known[step].shape[1:]) < 3:
            continue
        given = {s: known[s] for s in working.before(step)}
        given[step] = known[step].copy()
        change(random, given[step])
        habit = HABITS[int(random.integers(len(HABITS)))]
        sheet, truth = working.sheet(given, habit, [*given]), Truth(step=step)
        if habit.significant and np.abs(known[step]).max() > 100:
            continue  # three digits do not show a change of 1
        report = check(attncli.Problem(**working.problem), sheet, truth)
        assert not faults(report, truth)
        said.append(report.findings[step].message if step in report.findings else "")
    return said


def is_claim(said: str) -> bool:
    """Return whether a sentence names a cause without a "perhaps"."""
    is_fact = said.startswith("Only") and (": it is " in said or ":" not in said)
    return bool(said) and not is_fact and "perhaps" not in said.lower()


@pytest.mark.parametrize("sort", ["integers", "decimals", "heads"])
def test_a_random_number_gets_no_certain_cause(sort: str) -> None:
    claims = [said for said in said_of(sort, one_number) if is_claim(said)]
    assert len(claims) <= 1, claims


@pytest.mark.parametrize("sort", ["integers", "decimals"])
def test_a_random_row_gets_no_certain_cause(sort: str) -> None:
    claims = [said for said in said_of(sort, one_row) if is_claim(said)]
    assert len(claims) <= 1, claims


@pytest.mark.parametrize("sort", ["integers", "decimals"])
def test_random_rows_get_no_mistakes_of_their_own(sort: str) -> None:
    assert not [said for said in said_of(sort, two_rows) if "; in row" in said]
