"""Formulas that are walked through and rewritten, and long calculations worked again.

What a replay gives is seen in the submissions that are judged by it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.judging.equivalent_forms import Log, with_change
from attncli.core.explaining.term_formulas import FormulaOf
from attncli.core.explaining.terms import Constant
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Name
from attncli.core.tape.evaluation import Replay, mapped, sources, transform, walk
from attncli.core.tape.operations import Add, MatMul, Stacked, Transposed
from attncli.core.tape.step import Expression, ShapeError, Step
from attncli.core.tape.tape import Tape
from tests.checking.judged_cases import problem_of


def array(*rows: list[float]) -> np.ndarray[Any, Any]:
    return np.array([[rows]], float)


TAPE = Tape()
X = TAPE.put("X", array([1, 2]), ("query", "feature"))
W = TAPE.put("W", array([1, 0], [0, 2]), ("feature", "out"))
B = TAPE.put("b", array([1, 1]), ("query", "out"))
PRODUCT = TAPE.record("product", MatMul(X, W))
MOVED = TAPE.record("moved", Add(PRODUCT, B))
SQUARE = TAPE.record("square", MatMul(MOVED, Transposed(MOVED)))


def test_a_long_calculation_is_no_deep_recursion() -> None:
    tape = Tape()
    step = tape.record("s0", tape.put("X", array([0]), ("query", "feature")))
    one = tape.put("one", array([1]), ("query", "feature"))
    for i in range(1, 3000):
        step = tape.record(f"s{i}", Add(step, one))
    replay: Replay[Any] = Replay(tape.steps.values())
    assert replay(step).item() == 2999
    again = replay.changed(step, {"s0": one})
    assert again is not None
    assert again.item() == 3000


def test_walks_go_through_a_formula_and_on() -> None:
    square = SQUARE.operation
    assert square is not None
    nodes = list(walk(square))
    assert [type(node).__name__ for node in nodes] == ["MatMul", "Step", "Transposed"]
    assert sources(SQUARE) == [MOVED]  # once, though it stands there twice
    names = [node.name for node in walk(square, into_steps=True) if isinstance(node, Step)]
    assert names == ["moved", "product", "X", "W", "b"]


def test_transform_replaces_steps_and_keeps_what_does_not_change() -> None:
    square = SQUARE.operation
    assert square is not None
    other = transform(square, lambda step: PRODUCT if step is MOVED else step)
    assert (sources_of(other), sources_of(square)) == ({"product"}, {"moved"})
    for same in (square, Stacked((B, Transposed(PRODUCT), B))):
        assert transform(same, lambda step: step) is same
        assert mapped(same, lambda node: node) is same


def sources_of(expression: Expression) -> set[str]:
    return {node.name for node in walk(expression) if isinstance(node, Step)}


def test_a_logarithm_is_worked_out_number_by_number() -> None:
    terms = Log(attncli.compute(problem_of("by hand"))["sum"]).apply(np.array([Constant(2)]))
    assert text(FormulaOf(lambda leaf: Name("x"))(terms[0])) == "ln(2)"


def test_a_change_with_which_a_step_has_another_shape_is_refused_as_such() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [2, 1], [0, 3]], score="dot"))
    with pytest.raises(ShapeError, match="scores has another shape"):
        with_change(trace, {"scores": Transposed(trace.inputs["X"])})
