"""Mistakes in the state of linear attention, made by a student of `delta_student.py`, are named."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes import of_delta
from attncli.checking.mistakes.mistake import Mistake
from benchmarks.oracles.delta_student import Numbers, Student, draw, half_up, written

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "held_value_not_subtracted": ("delta", {}),
    "held_value_added": ("delta", {}),
    "beta_left_out": ("delta", {}),
    "alpha_left_out": ("gated", {}),
    "read_before_fading": ("gated_delta", {}),
    "faded_after_writing": ("gated_delta", {}),
    "old_state_read": ("delta", {}),
    "old_state_dropped": ("linear", {}),
    "key_and_value_exchanged": ("linear", {}),
    "keys_not_normed": ("gated_delta", {"qk_norm": "l2"}),
}
"""The simplest problems in which each mistake can be made."""

TIMES = ((1, 2, 3), (2,), (3,))


def test_every_mistake_has_a_student() -> None:
    ids = [row.id for row in vars(of_delta).values() if isinstance(row, Mistake)]
    assert ids == list(CASES)


@pytest.mark.parametrize("rule", ["", "gated_delta"])
@pytest.mark.parametrize("id_", CASES)
def test_mistake_with_a_state_is_named(id_: str, rule: str) -> None:
    """With all steps, and in the output alone; made at every time, or at one."""
    usual, more = CASES[id_]
    count = 0
    for seed, heads, times in product(range(3), (1, 2), TIMES):
        keys = draw(np.random.default_rng(seed), rule or usual, more, heads)
        problem, right = attncli.Problem(**keys), Student(keys).work()
        steps = Student(keys, id_, wrong_at=times).work()
        for shown in (tuple(steps), ("output",)):
            if any(np.abs(steps[name] - right[name]).max() > 1e-3 for name in shown):
                mine = {name: steps[name] for name in shown}
                findings = attncli.check(problem, written(mine)).findings.values()
                ids = {one.id for finding in findings for one in (finding, *finding.also)}
                assert id_ in ids, (seed, heads, times, shown, findings)
                count += 1
    assert count > 20


def same(numbers: Numbers) -> Numbers:
    return numbers


@pytest.mark.parametrize("more", [{}, {"qk_norm": "l2", "scale": "1/sqrt(d_k)"}])
@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_who_keeps_a_state_right_is_right(rule: str, more: dict[str, Any]) -> None:
    """Every step, states and what is read, or the output alone, rounded in between or not."""
    for seed, heads, decimals in product(range(4), (1, 2), (2, 4, 6)):
        keys = draw(np.random.default_rng([8, seed]), rule, more, heads)
        problem = attncli.Problem(**keys)
        ways: tuple[Callable[[Numbers], Numbers], ...] = (same, partial(half_up, decimals=decimals))
        for goes_on in ways:
            steps = Student(keys, goes_on=goes_on).work()
            states = {name: numbers for name, numbers in steps.items() if name[0] in "So"}
            for shown in (steps, states, {"output": steps["output"]}):
                report = attncli.check(problem, written(shown, decimals))
                assert report.verdict == "correct", (seed, heads, decimals, report.findings)
