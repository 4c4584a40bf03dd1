"""Gradients against differences in 50-digit arithmetic, and the laws that they obey.

A relative error is the largest difference of a derivative's numbers over the largest of the exact
ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.attention import normalizers
from attncli.core.formulas.text import text
from attncli.core.tape import operations
from attncli.core.tape.evaluation import array_of, walk
from attncli.core.tape.step import Step, notation_of
from attncli.core.tape.tape import Tape
from tests.mechanisms.table import Keys, computed, recorded, rows
from tests.oracles import backward
from tests.oracles import gradients as oracle
from tests.oracles.arithmetic import Hand
from tests.oracles.lists import each
from tests.oracles.reference import exact as exact_numbers
from tests.oracles.reference import worked_by

ALLOWED = 1e-9


def derivatives(keys: Keys) -> dict[str, Any]:
    """Return the derivative with regard to every matrix, 0 where the loss does not depend on it."""
    trace = computed(keys)
    matrices = trace.problem.matrices()
    inputs = [key for key in matrices if key.partition(".")[0] not in ("mask", "gradient")]
    return {k: trace[f"d_{k}"].value if f"d_{k}" in trace else 0 * matrices[k] for k in inputs}


LINES = recorded("gradient_problems")
"""Problems of every kind that has a gradient, each with a direction for every input."""


@pytest.mark.parametrize("number", range(len(LINES)))
def test_gradients_of_random_problems(number: int) -> None:
    """Along a random direction of each input, which takes two evaluations for all its numbers."""
    keys, directions = LINES[number]["keys"], LINES[number]["directions"]
    found = derivatives(keys)
    assert found.keys() == directions.keys()
    for key, along in directions.items():
        direction = np.array(exact_numbers(along), object)
        exact = oracle.slope(keys, key, direction.reshape(oracle.array_of(keys, key).shape))
        products = np.ravel(found[key]) * np.ravel(direction).astype(float)
        size = float(np.abs(products).sum())
        assert abs(products.sum() - float(exact)) <= ALLOWED * max(size, 1e-6), (key, keys)


X = [[1, -0.5, 0.5], [0, 1, -1], [0.5, 0.5, 1]]
WEIGHTS = {
    "W_q": [[0.5, 0, 1], [-1, 0.5, 0], [0, 1, 0.5]],
    "W_k": [[1, 0.5, 0], [0, -0.5, 1], [0.5, 0, 0.5]],
    "W_v": [[0, 1, -1], [0.5, 0.5, 0], [1, 0, 0.5]],
    "W_o": [[1, 0, 0.5], [0.5, -1, 0], [0, 0.5, 1]],
}


@rows("gradients", "textbook")
def test_every_step_on_the_way_back_is_that_of_the_textbook(row: Keys) -> None:
    """Also those between, and the new weights; no rule of the program is in the loops beside it."""
    own = {} if "kind" in row else WEIGHTS
    keys = {"X": X, "learning_rate": 0.1, **own, **row}
    keys.pop("name")
    worked_by(hand := Hand(), keys)
    backward.worked_by(hand, keys)
    trace = computed(keys)
    assert {step.name for step in trace} <= {*hand.steps}
    for step in trace:
        right = np.array(each(float, hand.steps[step.name])).reshape(step.value.shape)
        np.testing.assert_allclose(step.value, right, rtol=1e-12, atol=1e-14, err_msg=step.name)


BLOCKED: list[Keys] = [{"mask": "causal"}, {"bias": [[0, "-inf", "-inf"], [0, 0, "-inf"], [0] * 3]}]
"""Two ways to block the keys behind each query."""

WITH_DERIVATIVE = [name for name in normalizers.NORMALIZERS if name != "hardmax"]


@pytest.mark.parametrize("name", WITH_DERIVATIVE)
@pytest.mark.parametrize("axis", ["keys", "queries"])
@pytest.mark.parametrize("blocked", BLOCKED, ids=["mask", "bias"])
def test_a_blocked_score_changes_nothing(name: str, axis: str, blocked: Keys) -> None:
    """So operations before it need not ask whether it was blocked."""
    rules = {"name": name, "axis": axis} if name != "none" else {"name": name}
    trace = of("sum", X=[[3, 1], [1, 2], [2, 2]], score="dot", normalize=rules, **blocked)
    last = trace["masked"] if "masked" in trace else trace["biased"]
    behind = np.isinf(last.value)
    assert behind.any()
    assert not trace[f"d_{last.name}"].value[behind].any()
    assert trace["d_weights"].value[behind].any()


def made(trace: attncli.Trace) -> list[tuple[str, list[str]]]:
    """Return the names of the steps, with the operations and operands of each."""
    steps = ((step, walk(step.operation)) for step in trace if step.operation is not None)
    return [
        (step.name, [n.name if isinstance(n, Step) else type(n).__name__ for n in nodes])
        for step, nodes in steps
    ]


STRUCTURES: dict[str, Keys] = {
    "relu": {"kind": "transformer", "norm": "none", "W_1": 1, "W_2": 1, "activation": "relu"},
    **{name: {"mask": "causal", "normalize": name} for name in WITH_DERIVATIVE if name != "sum"},
}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_no_formula_depends_on_numbers(kind: str) -> None:
    """The right numbers may all be positive, or 0, while those of a student are not."""
    draw = np.random.default_rng(1)
    numbers = [np.eye(2), np.ones((2, 2)), -np.ones((2, 2)), draw.normal(size=(2, 2))]
    matrices = [key for key, value in STRUCTURES[kind].items() if value == 1]
    found = []
    for matrix in (*numbers, np.zeros((2, 2))):
        keys = dict.fromkeys(("X", "W_q", "W_k", "W_v", *matrices), matrix.tolist())
        found.append(made(of("sum", **(STRUCTURES[kind] | keys))))
    assert found == [found[0]] * len(found)


# Laws.


def of(gradient: Any, **keys: Any) -> attncli.Trace:
    """Calculate a problem with a gradient."""
    return computed(keys, gradient=gradient)


def test_problems_of_one_form_share_a_plan_and_have_their_own_gradients() -> None:
    """The plan of the first one is that of the second; a target is no part of it."""
    for target in ([[1, 0]], [[0, 3]]):
        keys: Keys = {"X": [[1, 2]], "learning_rate": 0.5}
        trace = of({"loss": "half_squared_error", "target": target}, **keys)
        assert trace["d_output"].value.tolist() == [[1 - target[0][0], 2 - target[0][1]]]
        for x in ([[1, 2]], [[3, 5]]):
            assert of("sum", X=x)["loss"].value.tolist() == [sum(x[0])]


def test_what_was_used_a_thousand_times_is_added_up() -> None:
    """A sum of so many parts is no chain, in which every reader would go astray."""
    used = Tape().put("A", np.ones((1, 1, 1, 2)), ("row", "column"), key="A")
    total = operations.added([used] * 3000)
    assert array_of(total).tolist() == [[[[3000, 3000]]]]
    assert text(notation_of(total)).count("A") == 3000
