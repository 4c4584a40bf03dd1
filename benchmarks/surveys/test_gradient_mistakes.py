"""Mistakes of the loss and of the backward pass, each made by another student, are named."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.mistakes import of_gradients
from attncli.checking.mistakes.mistake import Mistake
from attncli.reading.document import submission_of
from benchmarks.oracles.gradient_student import Student, draw_gradient
from benchmarks.oracles.handwriting import Habit, Numbers

CASES: dict[str, list[tuple[str, str, int]]] = {
    "loss_factor_missing": [("half", "loss", 0), ("mean", "loss", 0)],
    "jacobian_left_out": [("plain", "d_scaled", 0), ("masked", "d_masked", 0)],
    "diagonal_alone": [("plain", "d_scaled", 0), ("pooling", "d_scores", 0)],
    "softmax_passed_over": [("plain", "d_scaled", 0)],
    "weights_left_out_backward": [("plain", "d_scaled", 0)],
    "delta_over_wrong_axis": [("plain", "delta", 0), ("masked", "delta", 0)],
    "mask_forgotten_backward": [("masked", "d_masked", 0)],
    "factor_forgotten_backward": [("plain", "d_scores", 0), ("plain", "d_output", 0)],
    "factor_inverted_backward": [("plain", "d_scores", 0), ("pooling", "d_output", 0)],
    "factor_not_transposed": [
        ("plain", "d_W_o", 0),
        ("plain", "d_context", 1),
        ("plain", "d_weights", 1),
        ("plain", "d_K", 0),
        ("plain", "d_Q", 0),
        ("masked", "d_V", 0),
        ("masked", "d_W_q", 0),
    ],
    "difference_turned_round": [("plain", "d_output", 0), ("plain", "d_scaled", 0)],
    "tanh_slope_missing": [("pooling", "d_context", 0), ("pooling", "d_net_hidden", 0)],
    "tanh_slope_not_squared": [("pooling", "d_context", 0)],
    "path_forgotten": [
        ("plain", "d_X", 0),
        ("plain", "d_X", 1),
        ("masked", "d_X", 2),
        ("pooling", "d_X", 0),
    ],
    "update_sign": [("plain", "new_W_q", 0), ("pooling", "new_u", 0)],
    "learning_rate_missing": [("plain", "new_W_o", 0)],
}
"""In which kind of problem a mistake is made, in which step, and in which of several ways."""

HABITS = (Habit(4), Habit(4, early=True), Habit(3, early=True))
PROBLEMS = 2


def test_every_mistake_has_a_student() -> None:
    rows = [row.id for row in vars(of_gradients).values() if isinstance(row, Mistake)]
    assert rows == list(CASES)


def sheet(steps: dict[str, Numbers], habit: Habit) -> dict[str, Any]:
    """Return what is handed in."""
    return {
        name: np.array(habit.texts(numbers), object).reshape(numbers.shape).tolist()
        for name, numbers in steps.items()
    }


def checked(key: AnswerKey, student: Student) -> Report:
    """Return what the program says of a student."""
    return key.check(submission_of(sheet(student.work(), student.habit), "student"))


@pytest.mark.parametrize("id_", CASES)
def test_a_mistake_is_named_and_what_follows_follows(id_: str) -> None:
    """Whoever makes one is told so in that step, and nothing after it is wrong."""
    said: Counter[bool] = Counter()
    for number, (kind, at, way) in enumerate(CASES[id_]):
        rng = np.random.default_rng(number)
        for _ in range(PROBLEMS if number < 1 else 1):
            problem = draw_gradient(rng, kind)
            key = AnswerKey(attncli.Problem(**problem))
            habit = HABITS[said.total() % len(HABITS)]
            own = Student(problem, habit, id_, at, way)
            right = Student(problem, habit).work()[at]
            if np.abs(own.work()[at] - right).max() < 0.02:  # by chance nothing is changed
                continue
            report = checked(key, own)
            told = (id_, at, habit, problem)
            assert report.first_wrong_step == at, (report.first_wrong_step, told)
            finding = report.findings[at]
            said[id_ in {finding.id, *(other.id for other in finding.also)}] += 1
            assert not said[False], (finding.id, [other.id for other in finding.also], told)
            names = list(report.steps)
            for name in names[names.index(at) + 1 :]:
                assert report.steps[name].status != "wrong", (name, told)
    assert said[True] >= PROBLEMS - 1


@pytest.mark.parametrize("kind", ["plain", "masked", "pooling", "half", "mean"])
def test_who_does_nothing_wrong_is_right(kind: str) -> None:
    rng = np.random.default_rng(3)
    for habit in HABITS:
        problem = draw_gradient(rng, kind)
        report = checked(AnswerKey(attncli.Problem(**problem)), Student(problem, habit))
        assert report.verdict == "correct", (habit, problem)
