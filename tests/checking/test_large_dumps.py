"""Arrays of many tokens: what is calculated to judge them, and where a cause is sought."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking import explained_arrays
from attncli.checking.errors_of_floats import errors_of
from attncli.checking.judging import operands
from attncli.checking.some_rows import SomeRows
from attncli.core.attention.weights import Tiled
from attncli.core.tape.evaluation import evaluate

Array = np.ndarray[Any, Any]

TOKENS, FEATURES = 520, 8  # so many scores that tiles are used
RANDOM = np.random.default_rng(73)
Q, K, V = RANDOM.standard_normal((3, TOKENS, FEATURES))


@pytest.fixture
def _every_calculation_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operands, "SURELY_FITS", 0)


def attention(root: float = FEATURES**0.5) -> Array:
    """Return attention as NumPy calculates it, row by row."""
    powers = [np.exp(K @ q / root) for q in Q]
    return np.array([p @ V / p.sum() for p in powers])


@pytest.mark.usefixtures("_every_calculation_is_large")
@pytest.mark.parametrize("more", [{}, {"Q": Q, "K": K}])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_right_output_needs_no_step_of_all_pairs(more: dict[str, Array], dtype: str) -> None:
    arrays = {name: one.astype(dtype) for name, one in {**more, "output": attention()}.items()}
    report = attncli.check(attncli.Problem(Q=Q, K=K, V=V), arrays)
    assert report.verdict == "correct"
    assert max(step.array.size for step in report.trace) == TOKENS * FEATURES


@pytest.mark.usefixtures("_every_calculation_is_large")
@pytest.mark.parametrize("name", ["output", "concat"])
@pytest.mark.parametrize("ask", ["output", "concat", "weights"])
def test_of_a_wrong_output_the_cause_is_found(name: str, ask: str) -> None:
    problem = attncli.Problem(Q=Q, K=K, V=V)
    report = attncli.check(problem, {name: attention()}, marking={"ask": [ask]})
    assert report.verdict == ("empty" if ask == "weights" else "correct")
    report = attncli.check(problem, {name: attention(1)}, marking={"ask": [ask]})
    assert [one.id for one in report.findings.values()] == ["not_scaled"]


@pytest.mark.usefixtures("_every_calculation_is_large")
def test_what_was_written_by_hand_is_judged() -> None:
    first = [f"{x:.2f}" for x in attention()[0]]
    report = attncli.check(attncli.Problem(Q=Q, K=K, V=V), {"output[1]": first})
    assert report.counts["correct"] == FEATURES


@pytest.mark.usefixtures("_every_calculation_is_large")
def test_without_the_memory_no_cause_is_sought(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explained_arrays, "free_memory", lambda: 10**6)
    report = attncli.check(attncli.Problem(Q=Q, K=K, V=V), {"output": attention(1)})
    assert report.verdict == "wrong"
    assert not report.findings
    assert "1 MB are free" in str(report)


@pytest.mark.parametrize("options", [{}, {"mask": "causal"}, {"normalize": "sparsemax"}])
def test_errors_by_tiles_are_about_those_of_all_steps(options: dict[str, Any]) -> None:
    problem = attncli.Problem(Q=Q, K=K, V=V, **options)
    of_all, of_tiles = (
        errors_of(attncli.compute(problem, only), ["output"], "float64")["output"]
        for only in (None, "output")
    )
    assert 0.5 < of_tiles / of_all < 2


def test_tiles_can_be_worked_again() -> None:
    problem = attncli.Problem(Q=Q, K=K, V=V)
    trace = attncli.compute(problem, ["weights", "output"], alone=True)
    tiled = [step for step in trace if isinstance(step.operation, Tiled)]
    assert [step.name for step in tiled] == ["weights", "output"]
    for step in tiled:
        assert step.operation is not None
        again = evaluate(step.operation, lambda one: one.array)
        np.testing.assert_allclose(again, step.array, rtol=1e-12, atol=1e-14)


def delta_rule(beta: Array, count: int) -> tuple[attncli.Problem, Array]:
    """Return a problem, and its output with other rates, as a loop in NumPy calculates it."""
    k = K[:count] / np.linalg.norm(K[:count], axis=1, keepdims=True)
    state, output = np.zeros((FEATURES, FEATURES)), []
    for query, key, value, rate in zip(Q, k, V, beta, strict=False):
        state = state + rate * np.outer(key, value - key @ state)
        output.append(query @ state)
    rates = np.linspace(0.2, 0.9, count)
    problem = attncli.Problem(kind="delta", Q=Q[:count], K=k, V=V[:count], beta=rates)
    return problem, np.array(output)


def test_a_long_recurrence_takes_no_longer_search(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, found = [0], []
    look = SomeRows.__call__

    def counted(*arguments: Any) -> Array:
        looks[-1] += 1
        return look(*arguments)

    monkeypatch.setattr(SomeRows, "__call__", counted)
    for count in (12, 60, 120):
        problem, output = delta_rule(np.ones(count), count)
        finding = attncli.check(problem, {"output": output}).findings["output"]
        found.append(finding.message)
        looks.append(0)
    assert found == ["β was left out."] * 3
    assert looks[1] == looks[2] < 2 * looks[0]


@pytest.mark.parametrize("time", [1, 30, 59])
def test_an_error_of_one_time_is_found_there(time: int) -> None:
    beta = np.linspace(0.2, 0.9, 60)
    beta[time] = 1
    problem, output = delta_rule(beta, 60)
    finding = attncli.check(problem, {"output": output}).findings["output"]
    assert finding.message == f"In S_{time + 1}: β was left out."


def test_what_comes_after_a_long_recurrence_is_named() -> None:
    keys = {name: K[i : i + FEATURES] / 3 for i, name in enumerate(("W_q", "W_k", "W_v"))}
    problem = attncli.Problem(kind="delta", X=Q[:60], qk_norm="l2", **keys)
    output = attncli.compute(problem).output + Q[:60]
    finding = attncli.check(problem, {"output": output}).findings["output"]
    assert finding.id == "input_added"


def test_times_that_differ_by_no_known_cause_have_none() -> None:
    problem, output = delta_rule(np.linspace(0.2, 0.9, 60), 60)
    assert attncli.check(problem, {"output": output}).verdict == "correct"
    output[40:] *= RANDOM.uniform(0.9, 1.1, (20, FEATURES))
    report = attncli.check(problem, {"output": output})
    assert report.verdict == "wrong"
    assert not report.findings
