"""Mistakes with positions, each made by a student of `position_student.py`, are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes import of_positions
from attncli.checking.mistakes.mistake import Mistake
from benchmarks.oracles.position_student import Student, draw, written

HALVES = {"name": "rope", "pairs": "halves"}
PART = {"name": "rope", "features": 2, "base": 100}
TABLE = {"name": "relative", "table": [1, 0.5, 0.25, -1, -2]}
LATER = {"name": "sinusoidal", "start": 1}

OF_YARN = {"kind": "yarn", "factor": 4, "original_max_position_embeddings": 64}
YARN = {"name": "rope", "base": 16, "scaling": OF_YARN | {"beta_fast": 8, "beta_slow": 1}}
LINEAR = {"name": "rope", "scaling": {"kind": "linear", "factor": 2}}
GAPS = {"name": "rope", "ids": [2, 3, 7]}
BOTH = LINEAR | GAPS
IN_PLANE = {"name": "rope", "base": 100, "ids": [[2, 3, 7], [5, 0, 2]], "sections": [1, 1]}

CASES: dict[str, list[tuple[Any, str, int]]] = {
    "positions_left_out": [
        ("rope", "Q_rotated", 0),
        ("sinusoidal", "embedded", 0),
        ("alibi", "biased", 0),
        (TABLE, "biased", 0),
    ],
    "one_side_turned": [("rope", "Q_rotated", 0), ("rope", "K_rotated", 1)],
    "degrees_for_radians": [("sinusoidal", "positions", 0), ("rope", "Q_rotated", 0)],
    "sign_of_position_bias": [("alibi", "biased", 0), (TABLE, "biased", 0)],
    "slope_forgotten": [("alibi", "biased", 0)],
    "slopes_exchanged": [("alibi", "biased", 0)],
    "table_reversed": [(TABLE, "biased", 0)],
    "sine_and_cosine_exchanged": [("sinusoidal", "positions", 0), ("rope", "Q_rotated", 0)],
    "positions_from_another_start": [
        ("sinusoidal", "positions", 0),
        (LATER, "positions", 1),
        ("rope", "angles", 0),
    ],
    "another_base": [("sinusoidal", "positions", 1), ("rope", "angles", 0)],
    "other_pairs": [
        ("sinusoidal", "positions", 0),
        ("rope", "Q_rotated", 0),
        (HALVES, "Q_rotated", 0),
    ],
    "angle_negative": [("rope", "Q_rotated", 0), (PART, "Q_rotated", 0)],
    "values_rotated": [("rope", "output", 0), (HALVES, "output", 0)],
    "positions_after_projection": [("sinusoidal", "Q", 0)],
    "scaling_left_out": [(YARN, "frequencies", 0), (LINEAR, "frequencies", 0)],
    "multiplied_by_scaling_factor": [(YARN, "frequencies", 0), (LINEAR, "frequencies", 0)],
    "pairs_scaled_alike": [(YARN, "frequencies", 0)],
    "attention_factor_left_out": [(YARN, "Q_rotated", 0)],
    "attention_factor_of_scores": [(YARN, "scores", 0)],
    "ids_left_out": [(GAPS, "angles", 0), (BOTH, "angles", 1), (IN_PLANE, "angles", 0)],
    "ids_reversed": [(GAPS, "angles", 0), (BOTH, "angles", 0), (IN_PLANE, "angles", 0)],
    "ids_shifted": [(GAPS, "angles", 0), (BOTH, "angles", 1)],
    "sections_exchanged": [(IN_PLANE, "angles", 0)],
}
"""With which positions a mistake is made, in which step, and in which of several ways."""


def test_every_mistake_has_a_student() -> None:
    rows = [row.id for row in vars(of_positions).values() if isinstance(row, Mistake)]
    assert rows == list(CASES)


@pytest.mark.parametrize("id_", CASES)
@pytest.mark.parametrize("heads", [1, 2])
def test_a_mistake_is_named(id_: str, heads: int) -> None:
    """What comes after it follows; with fewer steps handed in it is named, too."""
    rng = np.random.default_rng(5)
    for positions, at, way in CASES[id_]:
        if id_ == "slopes_exchanged" and heads == 1:
            continue
        problem = draw(rng, positions, heads)
        steps = Student(problem, id_, way).work()
        if id_ == "attention_factor_of_scores":  # else what was turned without it comes first
            steps = {name: x for name, x in steps.items() if "rotated" not in name}
        report = attncli.check(attncli.Problem(**problem), written(steps))
        assert report.first_wrong_step == at, (report.first_wrong_step, positions)
        finding = report.findings[at]
        assert id_ in {finding.id, *(other.id for other in finding.also)}, (finding, positions)
        for name, step in report.steps.items():  # who turns queries wrongly turns keys so
            if step.status == "wrong" and name != at:
                assert report.findings[name].id == finding.id, (name, positions)


HIDDEN: list[tuple[Any, str, bool]] = [
    ("rope", "positions_from_another_start", False),  # both meet as before
    ("rope", "positions_left_out", True),
    ("rope", "one_side_turned", True),
    ("rope", "degrees_for_radians", True),
    ("alibi", "sign_of_position_bias", True),
    ("alibi", "slope_forgotten", True),
    (TABLE, "table_reversed", True),
    ("rope", "angle_negative", True),
    ("rope", "other_pairs", True),
    ("sinusoidal", "sine_and_cosine_exchanged", True),
    ("sinusoidal", "positions_after_projection", True),
    (YARN, "scaling_left_out", True),
    (YARN, "pairs_scaled_alike", True),
    (YARN, "attention_factor_left_out", True),
    (LINEAR, "multiplied_by_scaling_factor", True),
    (GAPS, "ids_left_out", True),
    (GAPS, "ids_reversed", True),
    (IN_PLANE, "sections_exchanged", True),
]


@pytest.mark.parametrize(("positions", "id_", "is_seen"), HIDDEN)
def test_a_mistake_in_a_hidden_step_is_named(positions: Any, id_: str, is_seen: bool) -> None:
    """Q and the scores alone are handed in, or only the scores; weights where these are changed."""
    rng = np.random.default_rng(6)
    problem = draw(rng, positions)
    steps = Student(problem, id_).work()
    is_rope = positions == "rope" or (isinstance(positions, dict) and positions["name"] == "rope")
    last = "scores" if is_rope or positions == "sinusoidal" else "weights"
    shown = {name: steps[name] for name in ("Q", last) if name != "Q" or is_rope}
    report = attncli.check(attncli.Problem(**problem), written(shown))
    finding = report.findings.get(last)
    assert (finding is not None and id_ in {finding.id, *(o.id for o in finding.also)}) == is_seen


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize(
    "positions",
    [
        *("rope", "sinusoidal", HALVES, PART, LATER, "alibi", TABLE),
        *(YARN, LINEAR, GAPS, BOTH, IN_PLANE),
    ],
)
def test_who_does_nothing_wrong_is_right(positions: Any, heads: int) -> None:
    """Every step, and the output alone, with few digits or many."""
    rng = np.random.default_rng(7)
    problem = attncli.Problem(**(keys := draw(rng, positions, heads)))
    steps = Student(keys).work()
    for decimals in (2, 4, 9):
        assert attncli.check(problem, written(steps, decimals)).verdict == "correct"
        last = {"output": steps["output"]}
        assert attncli.check(problem, written(last, decimals)).verdict == "correct"
