"""A calculation worked again: every number here was worked by hand.

X W = [1, 2] · [[1, 0], [0, 2]] = [1, 4], plus b = [1, 1] gives [2, 5], and its square 4 + 25 = 29.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.judging.equivalent_forms import Log, with_change
from attncli.core.arithmetic.intervals import Interval
from attncli.core.explaining.patterns import FormulaOf
from attncli.core.explaining.terms import Constant
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Name
from attncli.core.records import replace
from attncli.core.tape.evaluation import (
    Replay,
    broadcast_to_step,
    everywhere,
    mapped,
    rewritten,
    sources,
    transform,
    walk,
)
from attncli.core.tape.operations import Add, MatMul, Stacked, Transposed
from attncli.core.tape.step import Expression, Operation, ShapeError, Step
from attncli.core.tape.tape import Tape
from tests.checking.judged_cases import problem_of
from tests.conftest import SAMPLES


def array(*rows: list[float]) -> np.ndarray[Any, Any]:
    return np.array([[rows]], float)


TAPE = Tape()
X = TAPE.put("X", array([1, 2]), ("query", "feature"))
W = TAPE.put("W", array([1, 0], [0, 2]), ("feature", "out"))
B = TAPE.put("b", array([1, 1]), ("query", "out"))
PRODUCT = TAPE.record("product", MatMul(X, W))
MOVED = TAPE.record("moved", Add(PRODUCT, B))
SQUARE = TAPE.record("square", MatMul(MOVED, Transposed(MOVED)))
STEPS = list(TAPE.steps.values())


def on(**known: Any) -> Replay[Any]:
    return Replay(STEPS, lambda step: known.get(step.name))


def changed(replay: Replay[Any], step: Step, change: Mapping[str, Expression]) -> Any:
    return replay.changed(step, change)


def test_without_changes_it_is_the_calculation() -> None:
    assert on()(SQUARE).item() == 29
    assert on()(W) is W.array


def test_known_numbers_take_the_place_of_computed_ones() -> None:
    replay = on(product=array([1, 3]))
    assert replay(MOVED).tolist() == [[[[2, 4]]]]
    assert replay(SQUARE).item() == 20  # 4 + 16
    assert replay.result(PRODUCT).tolist() == [[[[1, 4]]]]


def test_a_known_number_stands_whatever_comes_before_it() -> None:
    replay = on(product=array([9, 9]), moved=array([1, 1]))
    assert replay(SQUARE).item() == 2
    assert replay.result(MOVED).tolist() == [[[[10, 10]]]]


def test_a_step_may_be_settled_before_it_is_used() -> None:
    """In tens: [1, 4] becomes [0, 0], moved [1, 1] becomes [0, 0]; what is known does not."""
    tens: Replay[Any] = Replay(STEPS, settle=lambda step, value: np.round(value, -1))
    assert tens(SQUARE).item() == 0
    assert tens.result(MOVED).tolist() == [[[[1, 1]]]]
    known: Replay[Any] = Replay(
        STEPS, lambda step: {"moved": array([3, 1])}.get(step.name), lambda step, v: np.round(v, -1)
    )
    assert known(MOVED).tolist() == [[[[3, 1]]]]
    assert known(SQUARE).item() == 10  # 9 + 1, which is a whole ten


def test_other_operations_change_what_is_made_from_them() -> None:
    """X alone for X W: [1, 2] moved is [2, 3], whose square is 13."""
    change = {"product": X}
    assert changed(on(), PRODUCT, change).tolist() == [[[[1, 2]]]]
    assert changed(on(), SQUARE, change).item() == 13
    assert on()(SQUARE).item() == 29  # nothing else was touched
    assert changed(on(moved=array([1, 1])), SQUARE, change) is None  # a known number stands
    square = MatMul(MOVED, Transposed(MOVED))
    both: dict[str, Expression] = {"moved": PRODUCT, "square": Add(square, square)}
    assert changed(on(), SQUARE, both).item() == 34  # 2 · (1 + 16)


def test_a_changed_step_is_settled_before_its_use_and_the_result_is_not() -> None:
    tens: Replay[Any] = Replay(STEPS, settle=lambda step, value: np.round(value, -1))
    # 10 · [1, 4] = [10, 40], moved [11, 41] is settled to [10, 40], whose square is 1700.
    ten = Tape().put("ten", array([10, 0], [0, 20]), ("feature", "out"))
    times = {"product": MatMul(X, ten)}
    assert changed(tens, MOVED, times).tolist() == [[[[11, 41]]]]
    assert changed(tens, SQUARE, times).item() == 1700


def test_what_cannot_be_made_is_nothing() -> None:
    assert changed(on(), SQUARE, {}) is None
    assert changed(on(), PRODUCT, {"square": MOVED}) is None
    assert changed(on(), MOVED, {"product": W, "moved": MatMul(W, Transposed(B))}) is not None
    assert changed(on(), SQUARE, {"square": MatMul(W, B)}) is None  # (2, 2) times (1, 2)


def test_intervals_go_through() -> None:
    half = Interval(array([0.5, 3.5]), array([1.5, 4.5]))
    replay = on(product=half)
    moved = replay(MOVED)
    assert (moved.low.tolist(), moved.high.tolist()) == ([[[[1.5, 4.5]]]], [[[[2.5, 5.5]]]])
    square = replay(SQUARE)
    assert square.low.item() <= 22.5  # 1.5² + 4.5²
    assert square.high.item() >= 36.5  # 2.5² + 5.5²


def test_values_that_were_worked_before_are_taken() -> None:
    replay: Replay[Any] = Replay(STEPS, worked={"moved": array([1, 2])})
    assert replay(SQUARE).item() == 5
    assert changed(replay, SQUARE, {"product": X}).item() == 13


def test_an_input_may_have_the_name_of_a_step() -> None:
    tape = Tape()
    given = tape.put("Q", array([1, 2]), ("query", "feature"))
    other = tape.put("K", array([3, 4]), ("query", "feature"))
    q, k = tape.record("Q", given), tape.record("K", other)
    score = tape.record("score", MatMul(q, Transposed(k)))
    replay: Replay[Any] = Replay(tape.steps.values())
    swapped = {"Q": other, "K": given}
    assert changed(replay, k, swapped).tolist() == [[[[1, 2]]]]
    assert changed(replay, score, {"Q": other}).item() == 25  # 3 · 3 + 4 · 4


def test_the_steps_between_are_those_that_nobody_knows() -> None:
    assert [step.name for step in on().unknown_before(SQUARE)] == ["product", "moved"]
    assert [step.name for step in on(product=PRODUCT.array).unknown_before(SQUARE)] == ["moved"]
    assert on(moved=MOVED.array).unknown_before(SQUARE) == []


def test_a_long_calculation_is_no_deep_recursion() -> None:
    tape = Tape()
    step = tape.record("s0", tape.put("X", array([0]), ("query", "feature")))
    one = tape.put("one", array([1]), ("query", "feature"))
    for i in range(1, 3000):
        step = tape.record(f"s{i}", Add(step, one))
    replay: Replay[Any] = Replay(tape.steps.values())
    assert replay(step).item() == 2999
    assert changed(replay, step, {"s0": one}).item() == 3000


@pytest.mark.parametrize(
    ("values", "found"),
    [(array([7]), [[[[7, 7]]]]), (array([7, 8]), [[[[7, 8]]]]), (array([1, 2, 3]), None)],
)
def test_values_are_fitted_to_a_step(values: Any, found: Any) -> None:
    fit = broadcast_to_step(values, PRODUCT)
    assert (None if fit is None else fit.tolist()) == found
    assert broadcast_to_step(np.zeros((1, 2)), PRODUCT) is None
    assert broadcast_to_step(None, PRODUCT) is None


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
    assert transform(square, lambda step: step) is square
    other = transform(square, lambda step: PRODUCT if step is MOVED else step)
    assert sources_of(other) == {"product"}
    assert sources_of(square) == {"moved"}


def test_operands_in_a_tuple_are_operands() -> None:
    joined = Stacked((B, Transposed(PRODUCT), B))
    assert transform(joined, lambda step: step) is joined
    assert mapped(joined, lambda node: node) is joined
    moved = transform(joined, lambda step: X if step is B else step)
    assert sources_of(moved) == {"X", "product"}
    assert sources_of(everywhere(joined, PRODUCT, W)) == {"b", "W"}
    assert sources_of(mapped(joined, lambda n: X if isinstance(n, Transposed) else n)) == {"X", "b"}
    others = list(rewritten(joined, lambda node: [X] if node is B else []))
    assert [[part is X for part in parts(other)] for other in others] == [
        [True, False, False],
        [False, False, True],
    ]


def sources_of(expression: Expression) -> set[str]:
    return {node.name for node in walk(expression) if isinstance(node, Step)}


def test_a_rule_is_tried_at_each_node_by_itself() -> None:
    def without_transposition(node: Expression) -> list[Expression]:
        return [node.operand] if isinstance(node, Transposed) else []

    twice = MatMul(Transposed(W), Transposed(W))
    found = list(rewritten(twice, without_transposition))
    assert [[type(part).__name__ for part in parts(other)] for other in found] == [
        ["Step", "Transposed"],
        ["Transposed", "Step"],
    ]


def parts(expression: Expression) -> tuple[Expression, ...]:
    assert isinstance(expression, Operation)
    return expression.operands


@pytest.mark.parametrize("sample", ["normalize_sink", "transformer_training", "gradient_heads"])
def test_steps_are_replaced_wherever_a_formula_has_them(sample: str) -> None:
    trace = attncli.compute(attncli.load(SAMPLES / f"{sample}.yaml"))
    copies = {step: replace(step) for step in (*trace.inputs.values(), *trace)}
    for step in trace:
        assert step.operation is not None
        changed = transform(step.operation, copies.__getitem__)
        nodes = [node for node in walk(changed) if isinstance(node, Step)]
        assert {id(node) for node in nodes} <= {id(copy) for copy in copies.values()}


def test_a_logarithm_is_worked_out_number_by_number() -> None:
    terms = Log(attncli.compute(problem_of("by hand"))["sum"]).apply(np.array([Constant(2)]))
    assert text(FormulaOf(lambda leaf: Name("x"))(terms[0])) == "ln(2)"


def test_a_change_with_which_a_step_has_another_shape_is_refused_as_such() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [2, 1], [0, 3]], score="dot"))
    with pytest.raises(ShapeError, match="scores has another shape"):
        with_change(trace, {"scores": Transposed(trace.inputs["X"])})
