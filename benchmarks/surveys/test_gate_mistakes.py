"""Mistakes with gates, made by a student of `gate_student.py`, are named."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes.catalogue import MISTAKES
from benchmarks.oracles.gate_student import Student, draw, half_up, written

FIRST_WRONG = {
    "gate_forgotten": "gated",
    "gate_added": "gated",
    "gate_inverted": "gated",
    "gate_after_w_o": "gated",
    "gate_on_values": "context",
    "gate_without_sigmoid": "gate",
    "gate_by_tanh": "gate",
    "gate_from_context": "gate",
    "gate_heads_exchanged": "gate",
}
"""The step in which each mistake shows first."""

ONLY_WHERE: dict[str, dict[str, Any]] = {
    "gate_after_w_o": {"by_head": False},
    "gate_heads_exchanged": {"heads": 2},
}
"""The problems in which alone a mistake can be made."""

BACKWARD = "gate_slope_forgotten"
CASES = [*FIRST_WRONG, BACKWARD]


def test_every_mistake_with_a_gate_has_a_student() -> None:
    ids = [id_ for id_ in MISTAKES if id_.startswith("gate_") and id_ != "gate_and_value_exchanged"]
    assert sorted(ids) == sorted(CASES)


FORMS = [(heads, by_head) for heads in (1, 2) for by_head in (False, True)]


@pytest.mark.parametrize("id_", FIRST_WRONG)
def test_mistake_with_a_gate_is_named(id_: str) -> None:
    """With all steps, and in the output alone, without those in which it was made."""
    for seed, (heads, by_head) in product(range(3), FORMS):
        if not ONLY_WHERE.get(id_, {}).items() <= {"heads": heads, "by_head": by_head}.items():
            continue
        keys = draw(np.random.default_rng(seed), heads, by_head)
        problem, steps = attncli.Problem(**keys), Student(keys, id_).work()
        report = attncli.check(problem, written(steps))
        at = FIRST_WRONG[id_]
        assert report.first_wrong_step == at, report.first_wrong_step
        finding = report.findings[at]
        assert id_ in {finding.id, *(other.id for other in finding.also)}, finding
        shown = {name: steps[name] for name in ("weights", "output")}
        finding = attncli.check(problem, written(shown)).findings["output"]
        assert id_ in {finding.id, *(other.id for other in finding.also)}, finding


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("by_head", [False, True])
def test_who_gates_right_is_right(heads: int, by_head: bool) -> None:
    """Every step, and the output alone, with few digits or many, rounded in between or not."""
    keys = draw(np.random.default_rng(8), heads, by_head)
    problem = attncli.Problem(**keys)
    for decimals in (2, 4, 9):
        for goes_on in (lambda numbers: numbers, partial(half_up, decimals=decimals)):
            steps = Student(keys, goes_on=goes_on).work()
            assert attncli.check(problem, written(steps, decimals)).verdict == "correct"
            last = {"output": steps["output"]}
            assert attncli.check(problem, written(last, decimals)).verdict == "correct"


@pytest.mark.parametrize("heads", [1, 2])
def test_slope_of_a_gate_left_out_is_named(heads: int) -> None:
    keys = draw(np.random.default_rng(9), heads, False) | {"gradient": "sum"}
    problem, steps = attncli.Problem(**keys), Student(keys).work()
    d_gated = np.array(np.split(np.ones((3, 2 * heads)) @ keys["W_o"].T, heads, axis=-1))
    net = d_gated * steps["context"]  # which is d_gate
    finding = attncli.check(problem, written({"d_net_gate": net})).findings["d_net_gate"]
    assert finding.id == BACKWARD, finding
