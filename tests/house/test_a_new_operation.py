"""The section on operations in docs/extending.md: its example, and the functions that it offers."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest

import attncli
from attncli.core.arithmetic.calls import Call
from attncli.core.arithmetic.intervals import Interval
from attncli.core.attention.masks import Masked
from attncli.core.attention.weights import normalize
from attncli.core.explaining.terms import Constant
from attncli.core.mechanisms import attention
from attncli.core.problem.kinds import KINDS
from attncli.core.records import replace
from attncli.core.tape.by_hand import Digits
from attncli.core.tape.operations import Divide, MatMul, dot
from attncli.core.tape.tape import Tape
from tests.conftest import ROOT
from tests.support.readers import tried

SECTION = (ROOT / "docs" / "extending.md").read_text().partition("## An operation")[2]
NAMES: dict[str, Any] = {}
exec(re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)[0], NAMES)

KEYS: dict[str, Any] = {"kind": "near", "X": [[1, 0.5], [0.24, 1.04], [1.75, -0.5]]}
MOST = 1.0


def near(tape: Tape, problem: attncli.Problem) -> None:
    """Z = softmax(squash(X) Xᵀ, where that is near 0) X."""
    attention.label(tape, query=problem.tokens)
    x = attention.put(tape, problem, "X", ("query", "model"))
    squashed = tape.record("squashed", NAMES["Squash"](x))
    scores = tape.record("scores", dot(squashed, x))
    mask = tape.record("near", NAMES["Near"](scores, MOST))
    masked = tape.record("masked", Masked(scores, mask))
    tape.record("output", MatMul(normalize(tape, masked, problem.rules), x))


@pytest.fixture(autouse=True)
def _has_the_kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = ModuleType("attncli.core.mechanisms.near")
    monkeypatch.setattr(module, "near", near, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with mock.patch.dict(KINDS, near=replace(KINDS["self"], method="near.near", needs=("X",))):
        yield


def test_every_reader_takes_the_example() -> None:
    """An operation from outside the package, of which no reader knows."""
    problem = attncli.Problem(**KEYS)
    failed = {name: said for name, said in tried(problem) if said}
    assert failed == {}
    trace = attncli.compute(problem)
    assert attncli.explain(trace, "near[3, 3]").line == "near[3, 3] = 0, as scores[3, 3] = 1.2803"
    assert attncli.explain(trace, "near[3, 1]").line == "near[3, 1] = 1"


def test_an_honest_student_at_the_edge_of_a_mask_is_right() -> None:
    """A score that is wrong, and written as 1.0, is above 1 with every digit: it was blocked."""
    problem = attncli.Problem(**KEYS)
    trace = attncli.compute(problem)
    scores = trace["scores"].value.copy()
    assert scores[0, 1] < MOST
    scores[0, 1] = 1.04
    blocked = np.where(np.abs(scores) > MOST, -np.inf, trace["scores"].value)
    weights = np.exp(blocked) / np.exp(blocked).sum(-1, keepdims=True)
    answers = {"scores": texts(scores, 1), "weights": texts(weights, 2)}
    assert statuses(problem, answers) == {"scores": "wrong", "weights": "follows"}
    answers = {"scores": texts(scores, 1), "masked": texts(blocked, 2)}
    assert statuses(problem, answers)["masked"] == "follows"
    unmasked = np.exp(trace["scores"].value)
    shares = texts(unmasked / unmasked.sum(-1, keepdims=True), 2)
    report = attncli.check(problem, {"scores": answers["scores"], "weights": shares})
    assert "masked" in report.findings, "nothing was blocked at all"


def texts(numbers: Any, digits: int) -> list[list[str]]:
    return [[f"{x:.{digits}f}" for x in row] for row in numbers]


def statuses(problem: attncli.Problem, answers: dict[str, Any]) -> dict[str, str]:
    steps = attncli.check(problem, answers).steps.items()
    return {name: step.status for name, step in steps if step.status != "missing"}
