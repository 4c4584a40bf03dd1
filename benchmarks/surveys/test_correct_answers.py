"""Correct answers are never called wrong, and one wrong step followed faithfully is one mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.reading.document import submission_of
from benchmarks.oracles.handwriting import HABITS, Habit, Numbers
from benchmarks.oracles.homework import draw
from benchmarks.oracles.students import ImpossibleError, Known, Paper, Wrong
from benchmarks.surveys.test_mistakes import SORTS, WRONG, Work, codes_of, hand_in

PROBLEMS = 360
"""Number of problems that are worked without a mistake; `benchmarks/fairness.py right` draws
thousands."""

SHARES = 2
"""Number of tests that they are divided into, for several processes."""

WISHES: tuple[dict[str, Any], ...] = (
    {},
    {"mask": "causal"},
    {"mask": "matrix"},
    {"mask": "window", "columns": True},
    {"kind": "cross", "mask": "lengths"},
    {"biases": True, "w_o": True},
    {"w_o": True, "columns": True, "mask": "causal"},
    {"score": "cosine", "kind": "cross"},
    {"score": "general"},
    {"score": "additive", "biases": True},
    {"score": "concat"},
    {"score": "distance"},
    {"score": "dot", "no_projections": True},
    {"normalize": {"temperature": 2, "base": 3}},
    {"bias": True, "softcap": 3.0},
    {"heads": 4, "kv_heads": 2},
    {"kind": "pooling"},
    {"kind": "pooling", "output_activation": True, "no_projections": True},
    {"kind": "co_attention"},
)


def a_problem(random: np.random.Generator, i: int) -> tuple[Paper, dict[str, Numbers]]:
    """Draw a problem that can be worked by hand, and its right numbers."""
    while True:
        paper = draw(random, str(random.choice(SORTS)), **WISHES[i % len(WISHES)])
        try:
            return paper, paper.work()
        except ImpossibleError:
            continue


def some_steps(random: np.random.Generator, paper: Paper) -> list[str]:
    """Choose which steps are handed in: all, any of them, or only the ends."""
    way = random.integers(4)
    if way == 0:
        return paper.steps
    if way == 1:
        ends = [name for name in paper.steps if name in ("Q", "K", "V", "output")]
        return ends or paper.steps[-1:]
    chosen = [name for name in paper.steps if random.random() < 0.5]
    return chosen or paper.steps[-1:]


def with_other_forms(random: np.random.Generator, cells: Any) -> Any:
    """Return written cells, some of them blank; −∞ in one of the ways in which it is written."""
    if isinstance(cells, list):
        return [with_other_forms(random, cell) for cell in cells]
    if cells == "-inf":
        return str(random.choice(["-inf", "-∞", "-1e9", "−∞"]))
    return str(random.choice(["~", "_", "?"])) if random.random() < 0.05 else cells


@pytest.mark.parametrize("share", range(SHARES))
def test_correct_answers_are_never_wrong(
    share: int, record_property: Callable[[str, object], None]
) -> None:
    random = np.random.default_rng([77, share])
    cells: Counter[str] = Counter()
    worked = 0
    for i in range(2 * PROBLEMS):
        habit = HABITS[i % len(HABITS)]
        paper, known = a_problem(random, i)
        if habit.early:
            try:
                known = paper.work(habit=habit)
            except ImpossibleError:  # a sum that was rounded to 0 divides nothing
                continue
        steps = some_steps(random, paper)
        sheet = {
            name: with_other_forms(random, rows)
            for name, rows in paper.sheet(known, habit, steps).items()
        }
        report = attncli.check(attncli.Problem(**paper.problem()), sheet, strict=not habit.early)
        told = f"{report.wrong_steps}, {habit}: {paper.problem()} {sheet}"
        assert report.verdict == "correct", told
        assert not report.findings
        cells.update(report.counts)
        worked += 1
        if worked == PROBLEMS // SHARES:
            break
    assert worked == PROBLEMS // SHARES
    assert cells["correct"] > 8 * worked
    name = f"correct answers, share {share + 1} of {SHARES}"
    record_property(name, f"{worked} problems, cells {dict(cells)}")


def test_exact_forms_are_correct() -> None:
    """Fractions and roots: 7 / √3 is written 7/sqrt(3), and 1/3 of three equal scores 1/3."""
    random = np.random.default_rng(3)
    seen: Counter[str] = Counter()
    for i in range(60):
        paper = draw(random, "integers", **({}, {"score": "dot"})[i % 2])
        try:
            known = paper.work()
        except ImpossibleError:
            continue
        forms: dict[str, Any] = {"scores": [[f"{x:g}" for x in row] for row in known["scores"][0]]}
        if "scaled" in known:
            forms["scaled"] = [
                [f"{x:g}/sqrt({paper.d_k})" for x in row] for row in known["scores"][0]
            ]
        thirds = [Fraction(x).limit_denominator(1000) for x in known["weights"].ravel()]
        if np.allclose([float(t) for t in thirds], known["weights"].ravel(), rtol=1e-12, atol=0):
            rows = np.array([str(t) for t in thirds], object).reshape(known["weights"].shape)
            forms["weights"] = rows[0].tolist()
        report = attncli.check(attncli.Problem(**paper.problem()), forms, strict=True)
        assert report.verdict == "correct", (paper.problem(), forms)
        seen.update(list(forms))
    assert seen["scaled"] > 10
    weights = {"weights": [["1/3", "1/3", "1/3"]] * 3}
    assert (
        attncli.check(attncli.Problem(X=[[0], [0], [0]]), weights, strict=True).verdict == "correct"
    )
    weights["weights"][1] = ["1/3", "1/3", "0.36"]
    assert attncli.check(attncli.Problem(X=[[0], [0], [0]]), weights).verdict == "wrong"


FAITHFUL = 15

RIGHT = {"follows", "correct", "last_digit", "rounded_early"}


@pytest.mark.parametrize("habit", HABITS, ids=str)
def test_a_wrong_q_followed_faithfully_is_one_mistake(
    habit: Habit, record_property: Callable[[str, object], None]
) -> None:
    """Every later step is worked from the wrong Q, from rounded numbers or not."""
    random = np.random.default_rng([9, HABITS.index(habit)])
    cells: Counter[str] = Counter()
    made = 0
    for i in range(10 * FAITHFUL):
        paper, _ = a_problem(random, i)
        if "Q" not in paper.steps:
            continue
        try:
            known = followed(random, paper, habit)
        except ImpossibleError:
            continue
        work = Work(paper, habit, {n: habit.rounded(x) for n, x in known.items()}, paper.steps)
        report = work.checked(AnswerKey(attncli.Problem(**paper.problem())))
        told = f"{report.wrong_steps}, {habit}: {paper.problem()} {work.sheet}"
        assert report.wrong_steps == ["Q"], told
        assert set(report.findings) <= {"Q"}, told
        after = paper.steps[3:]
        assert {report.steps[name].status for name in after} <= RIGHT, told
        cells.update(report.counts)
        made += 1
        if made == FAITHFUL:
            break
    assert made == FAITHFUL
    assert cells["follows"] > 10 * FAITHFUL
    record_property(f"a wrong Q followed, {habit}", f"{made} problems, cells {dict(cells)}")


def followed(random: np.random.Generator, paper: Paper, habit: Habit) -> Known:
    """Work a problem from a wrong Q: some numbers of it are off by more than a digit."""
    q = paper.work(habit=habit, until="Q")["Q"]
    wrong = random.random(q.shape) < 0.4
    wrong[0, 0, 0] = True
    q = q + wrong * random.uniform(0.5, 3, q.shape).round(random.integers(4))
    return paper.work(habit=habit, given={"Q": habit.rounded(q) if habit.early else q})


GARBAGE = 160


def test_no_mistake_is_named_that_does_not_give_the_numbers(
    record_property: Callable[[str, object], None],
) -> None:
    """Random numbers in random cells; and two mistakes at once, the second in a random step."""
    random = np.random.default_rng(13)
    named: Counter[str] = Counter()
    for i in range(GARBAGE):
        habit = HABITS[i % len(HABITS)]
        paper, known = a_problem(random, i)
        try:
            if i % 2:
                id_, at = str(random.choice(list(MISTAKES))), str(random.choice(paper.steps))
                work = hand_in(paper, habit, Wrong(id_, at))
            else:
                work = hand_in(paper, habit)
        except ImpossibleError:
            continue
        if any(work.own[name].shape != known[name].shape for name in paper.steps):
            continue
        work = work._replace(steps=some_steps(random, paper))
        spoil(random, work)
        report = work.checked(AnswerKey(attncli.Problem(**paper.problem())))
        for step, finding in report.findings.items():
            named[finding.id if finding.id in MISTAKES else "slips"] += 1
            wrong = codes_of(report, step) == WRONG
            for other in (finding, *finding.also):
                if other.id in MISTAKES:
                    told = f"{other.id} at {step}, {habit}: {paper.problem()} {work.sheet}"
                    assert work.is_reproduced(other.id, step, wrong), told
    assert named["slips"]
    assert set(named) & set(MISTAKES)
    record_property("named in spoilt answers", dict(named))


def spoil(random: np.random.Generator, work: Work) -> None:
    """Put random numbers into random cells of a step."""
    name = str(random.choice(work.steps))
    numbers = work.own[name].copy()
    chosen = random.random(numbers.shape) < random.choice([0.1, 0.5, 1.0])
    numbers[chosen] = random.choice(np.arange(-300, 300), chosen.sum()) / 100
    work.own[name] = work.habit.rounded(numbers)


def test_sheets_with_everything_are_read_in_one_go() -> None:
    """The same key judges any number of sheets."""
    random = np.random.default_rng(1)
    paper, known = a_problem(random, 0)
    key = AnswerKey(attncli.Problem(**paper.problem()))
    for habit in HABITS:
        report = key.check(submission_of(paper.sheet(known, habit), "student"))
        assert report.verdict == "correct"
