"""Mistakes with norms, features and caches, made by a student of `cache_student.py`, are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes.catalogue import MISTAKES
from benchmarks.oracles.cache_student import Student, cut, draw, written

RMS = {"qk_norm": {"name": "rms", "g_q": [1, 2], "g_k": [3, 1]}}
L2 = {"qk_norm": "l2"}
LINEAR = {"score": "linear"}
PAST = {"past": True}
DECODE = {"kind": "decode"}

CASES: dict[str, list[tuple[dict[str, Any], str]]] = {
    "cache_without_new_token": [(PAST, "exp"), (DECODE, "exp_2")],
    "cache_upside_down": [(PAST, "K_all"), (DECODE, "K_2")],
}
"""For which problems a mistake is made, and in which step it shows first."""


def test_every_mistake_has_a_student() -> None:
    assert [id_ for id_ in MISTAKES if id_.startswith("cache_")] == list(CASES)


def drawn(seed: int, more: dict[str, Any], heads: int) -> dict[str, Any]:
    """Draw a problem that can be calculated, in which no query or key is 0."""
    rng = np.random.default_rng(seed)
    while True:
        keys = draw(rng, more, heads)
        sides = [cut(keys["X"] @ keys[name], heads) for name in ("W_q", "W_k")]
        if all(side.any(axis=-1).all() for side in sides):
            return keys


@pytest.mark.parametrize("id_", CASES)
@pytest.mark.parametrize("heads", [1, 2])
def test_a_mistake_is_named(id_: str, heads: int) -> None:
    for more, at in CASES[id_]:
        problem = drawn(5, more, heads)
        steps = Student(problem, id_).work()
        report = attncli.check(attncli.Problem(**problem), written(steps))
        assert report.first_wrong_step == at, (report.first_wrong_step, more)
        is_one = report.steps[at].counts["wrong"] == heads  # which tells nothing of what was done
        assert is_one or report.findings[at].id == id_, (report.findings[at], more)


HIDDEN = [
    (PAST, "output", "cache_without_new_token"),
    (PAST, "weights", "cache_without_new_token"),
    (DECODE, "z_3", "cache_without_new_token"),
    (DECODE, "output", "cache_without_new_token"),
]


@pytest.mark.parametrize(("more", "name", "id_"), HIDDEN)
def test_a_mistake_in_a_hidden_step_is_named(more: dict[str, Any], name: str, id_: str) -> None:
    """Only the step of that name is handed in."""
    problem = drawn(6, more, 1)
    steps = Student(problem, id_).work()
    report = attncli.check(attncli.Problem(**problem), written({name: steps[name]}))
    finding = report.findings[name]
    assert id_ in {finding.id, *(other.id for other in finding.also)}, finding


@pytest.mark.parametrize("more", [PAST, DECODE])
@pytest.mark.parametrize("way", [0, 1])
def test_one_side_of_the_cache_is_upside_down(more: dict[str, Any], way: int) -> None:
    """Keys in another order than the values give a wrong output, which alone tells of it."""
    keys = drawn(6, more, 1)
    steps = Student(keys, "cache_upside_down", way=way).work()
    shown = {name: steps[name] for name in steps if name[0] == "Q" or name == "output"}
    finding = attncli.check(attncli.Problem(**keys), written(shown)).findings["output"]
    assert "cache_upside_down" in {finding.id, *(other.id for other in finding.also)}, finding


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("more", [L2, RMS, {"qk_norm": "rms"}, LINEAR, PAST, DECODE])
def test_who_does_nothing_wrong_is_right(more: dict[str, Any], heads: int) -> None:
    """Every step, and the output alone, with few digits or many."""
    keys = drawn(7, more, heads)
    problem, steps = attncli.Problem(**keys), Student(keys).work()
    for decimals in (2, 4, 9):
        assert attncli.check(problem, written(steps, decimals)).verdict == "correct"
        last = {"output": steps["output"]}
        assert attncli.check(problem, written(last, decimals)).verdict == "correct"
