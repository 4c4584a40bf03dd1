"""Mistakes in softmax by tiles, made by a student of `tile_student.py`, are named."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes.catalogue import MISTAKES
from benchmarks.oracles.handwriting import Habit
from benchmarks.oracles.tile_student import Student, draw, written

FIRST_WRONG = {
    "tile_sum_not_rescaled": "l_2",
    "tile_output_not_rescaled": "O_2",
    "tile_not_rescaled": "l_2",
    "tile_rescaled_by_inverse": "rescale_2",
    "tile_maximum_alone": "m_2",
    "tile_rescaled_to_own_maximum": "rescale_2",
    "tile_maximum_not_subtracted": "P_1",
    "tile_earlier_maximum": "P_2",
    "tile_earlier_left_out": "l_2",
    "tile_divided_by_last_sum": "output",
    "tile_not_divided": "output",
    "tile_divided_each": "O_1",
    "tile_softmax_of_its_own": "output",
}
"""The step in which each mistake shows first."""

BACKWARD = "tile_derivative_not_rescaled"

UNSEEN_IN_OUTPUT = {"tile_maximum_alone"}
"""Mistakes that change no output, as any number may be subtracted from all scores."""


def test_every_mistake_with_tiles_has_a_student() -> None:
    assert sorted(id_ for id_ in MISTAKES if id_.startswith("tile_")) == sorted(
        [*FIRST_WRONG, BACKWARD]
    )


def shows(keys: Any, id_: str, name: str) -> bool:
    """Whether a mistake changes a step, and not to one number everywhere, which says nothing."""
    right, wrong = (written(Student(keys, one).work())[name] for one in ("", id_))
    return right != wrong and len({text for row in wrong for text in row}) > 1


def named(report: Any, at: str, id_: str) -> bool:
    finding = report.findings.get(at)
    return finding is not None and id_ in {finding.id, *(other.id for other in finding.also)}


@pytest.mark.parametrize("id_", FIRST_WRONG)
def test_mistake_with_tiles_is_named(id_: str) -> None:
    """With all steps, and in the output alone, without those in which it was made."""
    seen = 0
    for seed, (tiles, blocked) in product(range(4), ((2, False), (2, True), (3, False), (3, True))):
        keys = draw(np.random.default_rng(seed), tiles, blocked=blocked)
        problem, steps = attncli.Problem(**keys), Student(keys, id_).work()
        at = FIRST_WRONG[id_]
        if not shows(keys, id_, at):
            continue
        seen += 1
        report = attncli.check(problem, written(steps))
        assert report.first_wrong_step == at, (seed, tiles, blocked, report.first_wrong_step)
        assert named(report, at, id_), (seed, tiles, blocked, report.findings[at])
        if id_ not in UNSEEN_IN_OUTPUT and shows(keys, id_, "output"):
            report = attncli.check(problem, written({"output": steps["output"]}))
            assert named(report, "output", id_), (seed, tiles, blocked, report.findings)
    assert seen >= 4


def test_the_inverse_in_the_output_alone_is_named() -> None:
    """As line 10 of algorithm 1 of Dao 2023 prints it."""
    for seed in range(4):
        keys = draw(np.random.default_rng(seed))
        steps = Student(keys, "inverse_in_output").work()
        if shows(keys, "inverse_in_output", "O_2"):
            report = attncli.check(attncli.Problem(**keys), written(steps))
            assert named(report, "O_2", "tile_rescaled_by_inverse")


SKIPPED: list[tuple[str, ...]] = [(), ("P", "rescale"), ("m", "P", "rescale", "l", "O")]
"""The steps that are not handed in, by the beginning of their names."""


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("tiles", [1, 2, 3])
def test_who_works_by_tiles_is_right(tiles: int, blocked: bool) -> None:
    """Every step or fewer, with few digits or many, rounded in between or not."""
    for seed in range(3):
        keys = draw(np.random.default_rng(seed), tiles, blocked=blocked and tiles > 1)
        problem = attncli.Problem(**keys)
        for decimals, is_early, skipped in product((2, 3, 4, 6), (False, True), SKIPPED):
            habit = Habit(decimals, early=is_early)
            goes_on = partial(_read, habit) if is_early else float
            steps = Student(keys, goes_on=goes_on).work()
            shown = {n: rows for n, rows in steps.items() if n.split("_")[0] not in skipped}
            report = attncli.check(problem, written(shown, decimals))
            assert report.verdict == "correct", (seed, decimals, is_early, skipped, report.findings)


def _read(habit: Habit, number: float) -> float:
    return float(habit.text(number))


@pytest.mark.parametrize("blocked", [False, True])
def test_rounded_steps_are_the_student_s(blocked: bool) -> None:
    """With `round: 2`, every step has the numbers of a student who goes on from two decimals."""
    for seed in range(20):
        keys = draw(np.random.default_rng(seed), 2 + seed % 2, blocked=blocked)
        trace = attncli.compute(attncli.Problem(**keys, round=2))
        habit = Habit(2)
        for name, rows in Student(keys, goes_on=partial(_read, habit)).work().items():
            read = [[-inf if x is None else _read(habit, x) for x in row] for row in rows]
            assert trace[name].value.tolist() == read, (seed, name)


def test_a_derivative_that_is_not_rescaled_is_named() -> None:
    keys = draw(np.random.default_rng(1)) | {"gradient": "sum"}
    problem, steps = attncli.Problem(**keys), Student(keys).work()
    d_last = [[1 / row[0]] * 2 for row in steps["l_2"]]
    finding = attncli.check(problem, written({"d_O_2": d_last, "d_O_1": d_last})).findings["d_O_1"]
    assert finding.id == BACKWARD, finding
