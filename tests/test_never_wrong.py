"""What is right is never called wrong, however it was rounded, and what follows is no mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking import AnswerKey, sheet_of
from tests.handwriting import HABITS, Habit
from tests.homework import draw
from tests.students import ImpossibleError, Paper, Wrong

PROBLEMS = 350
"""In each of the six habits."""

WISHES: list[dict[str, Any]] = [
    {},
    {"mask": "causal"},
    {"biases": True, "w_o": True},
    {"score": "cosine"},
    {"score": "distance", "mask": "matrix"},
    {"score": "additive"},
    {"score": "concat", "biases": True},
    {"score": "general", "columns": True},
    {"kind": "cross", "bias": True},
    {"kind": "co_attention"},
    {"kind": "pooling", "output_activation": True},
    {"softcap": 3.0, "mask": "lengths"},
    {"normalize": {"name": "softmax", "temperature": 2.0}},
    {"normalize": {"name": "softmax", "base": 3.0}, "mask": "window"},
]


def papers(rng: np.random.Generator, habit: Habit) -> Any:
    """Yield random problems with a student's right numbers, for ever."""
    number = 0
    while True:
        wish = WISHES[number % len(WISHES)]
        number += 1
        sort = "integers" if wish.get("kind") in ("co_attention", "pooling") else ""
        paper = draw(rng, sort or str(rng.choice(["integers", "decimals", "heads"])), **wish)
        try:
            steps = paper.work(habit=habit)
            key = AnswerKey(attncli.Problem(**paper.problem()))
        except (ImpossibleError, attncli.InputError):
            continue  # a sum that was rounded to 0, a vector that has no direction
        yield paper, steps, key


@pytest.mark.parametrize("habit", HABITS, ids=str)
def test_correct_answers_are_never_wrong(
    habit: Habit, record_property: Callable[[str, object], None]
) -> None:
    """Any steps left out, and cells; also strictly, where nothing was rounded on the way."""
    rng = np.random.default_rng([habit.count, habit.significant, habit.early])
    cells: Counter[str] = Counter()
    for count, (paper, steps, key) in zip(range(PROBLEMS), papers(rng, habit), strict=False):
        some = [name for name in steps if rng.random() < 0.5]
        ends = [name for name in steps if name in ("Q", "K", "V", "output", "aligned_x")]
        chosen = [list(steps), ends, some][count % 3] or list(steps)
        given = {name: blanked(paper.cells(steps[name], habit), rng) for name in chosen}
        report = key.check(sheet_of(given, "student"), strict=not habit.early)
        told = (paper.problem(), given, report.first_wrong_step)
        assert report.verdict == "correct", told
        cells.update(report.counts)
    counts = {status: cells[status] for status in ("correct", "follows", "last_digit", "wrong")}
    record_property(f"correct answers, {habit}", f"{PROBLEMS} problems, cells {counts}")


def blanked(rows: Any, rng: np.random.Generator) -> Any:
    """Return a matrix with a few cells left out."""
    if isinstance(rows, list):
        return [blanked(row, rng) for row in rows]
    return "~" if rng.random() < 0.03 else rows


def test_a_wrong_start_followed_faithfully_is_one_mistake() -> None:
    """W_q transposed: Q is wrong, and everything after it follows."""
    rng = np.random.default_rng(7)
    count = 0
    for habit in HABITS:
        for sort in ("integers", "decimals", "heads"):
            paper, steps = with_a_wrong_start(rng, sort, habit)
            given = {name: paper.cells(numbers, habit) for name, numbers in steps.items()}
            report = attncli.check(attncli.Problem(**paper.problem()), given)
            assert report.wrong_steps == ["Q"]
            assert list(report.findings) == ["Q"]
            after = {report.steps[name].status for name in given if name not in ("Q", "K", "V")}
            assert after <= {"follows", "correct"}
            assert "follows" in after
            count += 1
    assert count == len(HABITS) * 3


def with_a_wrong_start(
    rng: np.random.Generator, sort: str, habit: Habit
) -> tuple[Paper, dict[str, Any]]:
    """Return a problem and the numbers of a student whose Q is clearly wrong from the start."""
    wrong = Wrong("weights_matrix_transposed", "Q")
    while True:
        paper = draw(rng, sort, square="all")
        try:
            steps, right = paper.work(wrong, habit), paper.work(habit=habit)
        except ImpossibleError:
            continue
        if (np.abs(steps["scores"] - right["scores"]) > 0.5).sum() > 2:
            return paper, steps
