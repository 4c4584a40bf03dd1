"""Exact forms are right, one wrong step followed faithfully is one mistake, and none is made up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes.catalogue import MISTAKES
from benchmarks.oracles.drawn import Random
from benchmarks.oracles.methods import Wrong
from benchmarks.oracles.workings import UnworkableError
from benchmarks.surveys.fairness import key_of
from benchmarks.surveys.judging import check
from benchmarks.surveys.test_mistakes import (
    SORTS,
    TABLES,
    Work,
    exercise,
    hand_in,
    judged,
    named_in,
    only_reproduced,
)
from benchmarks.surveys.test_slips import Desk, handed_in
from tests.oracles.pens import HABITS, Habit, Numbers
from tests.support.truth import Truth, faults


def worked(seed: list[int], habit: Habit) -> Iterator[tuple[Random, Work]]:
    """Yield right work in problems of all kinds, without end."""
    random = np.random.default_rng(seed)
    for wish in cycle(TABLES["wishes"]):
        working = exercise(random, str(random.choice(SORTS)), wish)
        with suppress(UnworkableError):  # a sum that was rounded to 0 divides nothing
            yield random, hand_in(working, habit)


def some_steps(random: Random, names: list[str]) -> list[str]:
    """Choose which steps are handed in: all, any of them, or only the ends."""
    way = random.integers(4)
    if way == 0:
        return names
    ends = ("Q", "K", "V", "output")
    chosen = [s for s in names if (s in ends if way == 1 else random.random() < 0.5)]
    return chosen or names[-1:]


def test_exact_forms_are_correct() -> None:
    """Fractions and roots: 7 / √3 is written 7/sqrt(3), and 1/3 of three equal scores 1/3."""
    random = np.random.default_rng(3)
    seen: Counter[str] = Counter()
    truth = Truth(rounding="exact")
    for i in range(60):
        working = exercise(random, "integers", ({}, {"score": "dot"})[i % 2])
        known, d_k = working.exact, len(working.keys["W_k"][0])
        (scores,), weights = known["scores"].astype(int), known["weights"]
        forms: dict[str, Any] = {"scores": scores.tolist()}
        if "scaled" in known:
            forms["scaled"] = [[f"{x}/sqrt({d_k})" for x in row] for row in scores]
        fractions = [[Fraction(x).limit_denominator(1000) for x in row] for row in weights[0]]
        if np.allclose(np.array([fractions], float), weights, rtol=1e-12, atol=0):
            forms["weights"] = [[str(x) for x in row] for row in fractions]
        report = check(key_of(working), forms, truth, strict=True)
        assert faults(report, truth) == [], (working.problem, forms)
        seen.update(list(forms))
    assert seen["scaled"] > 10
    thirds = [["1/3", "1/3", "1/3"]] * 3
    problem = attncli.Problem(X=[[0], [0], [0]])
    assert check(problem, {"weights": thirds}, truth, strict=True).verdict == "correct"
    wrong = Truth(step="weights", cells=((1, 2),))
    sheet = {"weights": [thirds[0], ["1/3", "1/3", "0.36"], thirds[2]]}
    assert faults(check(problem, sheet, wrong), wrong) == []


FAITHFUL = 25
"""Number of problems, per way of writing, of which those with a Q are worked from a wrong one."""

RIGHT = {"follows", "correct", "last_digit", "rounded_early"}


def some_wrong(at: Desk) -> Numbers:
    """Return a step of which some numbers are off by more than a digit."""
    wrong = at.random.random(at.numbers.shape) < 0.4
    wrong[0, 0, 0] = True
    off = at.random.uniform(0.5, 3, wrong.shape).round(at.random.integers(4))
    return np.asarray(at.numbers + wrong * off)


@pytest.mark.parametrize("habit", HABITS, ids=str)
def test_a_wrong_q_followed_faithfully_is_one_mistake(habit: Habit) -> None:
    """Every later step is worked from the wrong Q, from rounded numbers or not."""
    cells: Counter[str] = Counter()
    for random, right in islice(worked([9, HABITS.index(habit)], habit), FAITHFUL):
        with suppress(UnworkableError):
            work = handed_in(random, right.working, habit, some_wrong, "Q")
            report = judged(work, "Q", work.clear("Q")[0])
            assert report.wrong_steps == ["Q"], str(work)
            assert set(report.findings) <= {"Q"}, str(work)
            assert {report.steps[name].status for name in work.steps[3:]} <= RIGHT, str(work)
            cells.update(report.counts)
    assert cells["follows"] > 10 * FAITHFUL


SPOILT = 26
"""Number of problems, per way of writing, in which random numbers are put into random cells."""


@pytest.mark.parametrize("habit", HABITS, ids=str)
def test_no_mistake_is_named_that_does_not_give_the_numbers(habit: Habit) -> None:
    """Random numbers in random cells; and two mistakes at once, the second in a random step."""
    named: set[str] = set()
    every = enumerate(islice(worked([13, HABITS.index(habit)], habit), SPOILT))
    for i, (random, right) in every:
        with suppress(UnworkableError):
            work = right._replace(steps=some_steps(random, right.steps))
            if i % 2:
                id_, at = str(random.choice(list(MISTAKES))), str(random.choice(right.steps))
                work = hand_in(right.working, habit, Wrong(id_, at))
            spoil(random, work)
            clear = {name: work.clear(name) for name in work.steps}
            first = next((name for name in clear if not clear[name][1].all()), "")
            if not first or not clear[first][0].any():
                continue  # nobody knows whether that is wrong
            report = judged(work, first, clear[first][0])
            for step in report.findings:
                only_reproduced(work, report, step)
                named |= {*named_in(report, step)}
    assert named - {*MISTAKES}


def spoil(random: Random, work: Work) -> None:
    """Put random numbers into random cells of a step."""
    name = str(random.choice(work.steps))
    numbers = work.own[name].copy()
    chosen = random.random(numbers.shape) < random.choice([0.1, 0.5, 1.0])
    numbers[chosen] = random.choice(np.arange(-300, 300), chosen.sum()) / 100
    work.own[name] = work.habit.rounded(numbers)
