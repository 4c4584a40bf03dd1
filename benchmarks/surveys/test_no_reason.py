"""Numbers that are wrong for no reason: no cause is made up for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import attncli
from benchmarks.oracles.handwriting import HABITS, Numbers
from benchmarks.oracles.homework import draw
from benchmarks.oracles.students import ImpossibleError


def numbers_wrong_for_no_reason(
    sort: str, wrong: Callable[[np.random.Generator, Numbers], Numbers]
) -> list[str]:
    """Return what is said of steps of which some numbers are random."""
    random = np.random.default_rng(list(map(ord, sort)))
    said: list[str] = []
    while len(said) < 40:
        paper = draw(random, sort, **({}, {"columns": True})[len(said) % 2])
        try:
            known = paper.work()
        except ImpossibleError:
            continue
        step = str(random.choice(["Q", "V", "scores", "output"]))
        if step not in known or min(known[step].shape[1:]) < 3:
            continue
        given = {s: known[s] for s in paper.steps[: paper.steps.index(step)]}
        given[step] = wrong(random, known[step])
        habit = HABITS[int(random.integers(len(HABITS)))]
        report = attncli.check(attncli.Problem(**paper.problem()), paper.sheet(given, habit))
        if report.first_wrong_step == step:
            found = report.findings.get(step)
            said.append(found.message if found else "")
    return said


def is_claim(said: str) -> bool:
    """Whether a sentence names a cause without a "perhaps"."""
    is_fact = said.startswith("Only") and (": it is " in said or ":" not in said)
    return bool(said) and not is_fact and "perhaps" not in said.lower()


@pytest.mark.parametrize("sort", ["integers", "decimals", "heads"])
def test_a_random_number_gets_no_certain_cause(sort: str) -> None:
    def wrong(random: np.random.Generator, numbers: Numbers) -> Numbers:
        made = numbers.copy()
        place = tuple(random.integers(size) for size in made.shape)
        made[place] += random.choice([-1, 1]) * random.integers(1, 40)
        return made

    said = numbers_wrong_for_no_reason(sort, wrong)
    assert [one for one in said if is_claim(one)] == []


@pytest.mark.parametrize("sort", ["integers", "decimals"])
def test_a_random_row_gets_no_certain_cause(sort: str) -> None:
    def wrong(random: np.random.Generator, numbers: Numbers) -> Numbers:
        made = numbers.copy()
        row = random.integers(made.shape[1])
        made[0, row] += random.integers(1, 15, made.shape[2])
        return made

    claims = [one for one in numbers_wrong_for_no_reason(sort, wrong) if is_claim(one)]
    assert len(claims) <= 1, claims


@pytest.mark.parametrize("sort", ["integers", "decimals"])
def test_random_rows_get_no_mistakes_of_their_own(sort: str) -> None:
    def wrong(random: np.random.Generator, numbers: Numbers) -> Numbers:
        made = numbers.copy()
        for row in random.choice(made.shape[1], 2, replace=False):
            made[0, row] += random.integers(1, 15, made.shape[2])
        return made

    assert not [one for one in numbers_wrong_for_no_reason(sort, wrong) if "; in row" in one]
