"""Gradients against differences in 50-digit arithmetic, and the laws that they obey.

`python -m benchmarks.surveys.gradients 500` tries so many random problems, every number of every
input, and prints the worst relative error by case: the largest difference of a derivative's numbers
over the largest of the exact ones.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.attention import masks, normalizers, norms_and_activations, scores
from attncli.core.attention.masks import Masked
from attncli.core.attention.normalizers import Sparsemax, Unblocked
from attncli.core.attention.scores import (
    ConcatenatePairs,
    Cosine,
    EachPair,
    GaussianExponent,
    MergeHeads,
    PairDot,
    RepeatHeads,
    SplitHeads,
)
from attncli.core.attention.softmax import Exp, Sum
from attncli.core.formulas.text import text
from attncli.core.mechanisms import recurrent, training, transformer
from attncli.core.tape import backward_operations, operations
from attncli.core.tape.backward_operations import Hadamard, Subtract, summed_to_shape
from attncli.core.tape.evaluation import array_of, evaluate, walk
from attncli.core.tape.operations import (
    Add,
    Concatenate,
    Divide,
    MatMul,
    Scale,
    SoftCap,
    Tanh,
    Transposed,
    added,
)
from attncli.core.tape.step import Operation, Step, notation_of
from attncli.core.tape.tape import Tape
from tests.conftest import DATA, Attn, cases, table
from tests.oracles import gradients as oracle
from tests.oracles.reference import exact as exact_numbers

Keys = dict[str, Any]

ALLOWED = 1e-9


def derivatives(keys: Keys) -> dict[str, Any]:
    """Return the derivative with regard to every matrix that the loss depends on, by its key."""
    trace = attncli.compute(attncli.Problem(**keys))
    inputs = (key for key in trace.problem.matrices() if key.partition(".")[0] not in FIXED)
    return {key: _value(trace, key) for key in inputs}


FIXED = ("mask", "gradient")


def _value(trace: attncli.Trace, key: str) -> Any:
    """Return a derivative; zeros where the loss does not depend on the input."""
    if f"d_{key}" in trace:
        return trace[f"d_{key}"].value
    return np.zeros(np.shape(trace.problem.matrices()[key]))


PROBLEMS = DATA / "recorded" / "gradient_problems.jsonl"
"""Problems of every kind that has a gradient, each with a direction for every input."""

LINES = PROBLEMS.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("number", range(len(LINES)))
def test_gradients_of_random_problems(number: int) -> None:
    """Along a random direction of each input, which takes two evaluations for all its numbers."""
    case = json.loads(LINES[number])
    keys: Keys = case["keys"]
    found = derivatives(keys)
    assert found.keys() == case["directions"].keys()
    for key, numbers in case["directions"].items():
        direction = np.array(exact_numbers(numbers), object)
        exact = oracle.slope(keys, key, direction.reshape(oracle.array_of(keys, key).shape))
        products = np.ravel(found[key]) * np.ravel(direction).astype(float)
        size = float(np.abs(products).sum())
        assert abs(products.sum() - float(exact)) <= ALLOWED * max(size, 1e-6), (key, keys)


# Each operation by itself, also those that a hand passes over.


def value(name: str, *shape: int) -> Step:
    """A matrix on a tape, of numbers that are not 0."""
    numbers = np.random.default_rng(len(name)).uniform(0.5, 1.5, shape or (1, 1, 2, 3))
    return Tape().put(name, numbers, ("query", "key", "hidden")[: numbers.ndim - 2], key=name)


def vector(name: str) -> Step:
    """A vector of three numbers, held as a row."""
    return Tape().put(name, np.array([[[[0.5, -1, 2]]]]), ("state",), key=name)


OPERATIONS: list[Operation] = [
    MatMul(value("a"), value("bb", 1, 1, 3, 2)),
    Transposed(value("a")),
    Add(value("a"), vector("bb")),
    Divide(value("a"), value("bb", 1, 1, 2, 1)),
    Scale(value("a"), times=3.0, over=2.0),
    Tanh(value("a")),
    SoftCap(value("a"), 2.0),
    Concatenate(value("a"), value("bb", 1, 1, 2, 2)),
    SplitHeads(value("a", 1, 1, 2, 4), 2),
    RepeatHeads(value("a", 1, 2, 2, 2), 2),
    MergeHeads(value("a", 1, 2, 2, 2)),
    Masked(value("a"), Tape().put("mask", np.array([[[[1, 0, 1], [1, 1, 1]]]]), ("query", "key"))),
    Exp(value("a"), 3.0, 2.0),
    Sum(value("a"), -1),
    Sum(value("a"), -2),
    Unblocked(value("a")),
    Sparsemax(value("a"), -1, 2.0),
    Cosine(value("a"), value("bb")),
    GaussianExponent(value("a"), value("bb", 1, 1, 4, 3), 2.0),
    EachPair(value("a"), value("bb", 1, 1, 4, 3)),
    ConcatenatePairs(value("a"), value("bb", 1, 1, 4, 2)),
    PairDot(value("a", 1, 1, 2, 4, 3), vector("bb")),
    Hadamard(value("a"), vector("bb")),
    normalizers.Sigmoid(value("a")),
    scores.EluPlusOne(value("a")),
    norms_and_activations.Length(value("a")),
    norms_and_activations.Length(value("a"), 0.5),
    Subtract(value("a"), vector("bb")),
    norms_and_activations.Relu(vector("bb")),
    norms_and_activations.Phi(vector("bb")),
    norms_and_activations.TanhGate(vector("bb")),
    norms_and_activations.Mean(value("a")),
    norms_and_activations.MeanSquare(value("a")),
    norms_and_activations.Variance(value("a"), value("bb", 1, 1, 2, 1)),
    norms_and_activations.Deviation(value("a"), 0.5),
    transformer.Rows(value("a"), (1, 0, 1), ("x", "y", "x")),
    operations.Row(value("a"), 1),
    operations.Row(value("a", 1, 1, 4, 3), 1, 2),
    backward_operations.Columns(value("a"), 1, 3),
    operations.AsRow(vector("a")),
    operations.MatVec(value("a"), vector("bb")),
    operations.Stacked((vector("a"), vector("bb"))),
    operations.Below((vector("a"), vector("bb"))),
    recurrent.Triangle((value("a", 1, 1, 1, 2), value("bb", 1, 1, 1, 3))),
    training.Total(value("a")),
    training.SquaredError(
        value("a"), Tape().put("t", np.ones((1, 1, 2, 3)), ("query", "key")), 3.0
    ),
]

OTHERS = table("gradients", "OTHERS")
"""The operations of the forward pass that are not tried by themselves, and why."""


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: type(one).__name__)
def test_derivative_of_an_operation(operation: Operation) -> None:
    """Against differences of Σ g · f(a), with g drawn at random."""
    result = array_of(operation)
    numbers = np.random.default_rng(7).uniform(-1, 1, result.shape)
    weights = np.where(np.isinf(result), 0, numbers)
    upstream = Tape().put("g", weights, operation.trailing)
    pairs = [
        (a, array_of(summed_to_shape(d, a, {})))
        for a, d in operation.derivative(operation, upstream)
    ]
    assert pairs
    for operand, found in pairs:

        def loss(array: Any, operand: Any = operand) -> float:
            made = evaluate(operation, lambda step: array if step is operand else step.array)
            return float((weights * np.where(np.isinf(made), 0, made)).sum())

        assert found.shape == array_of(operand).shape
        for place in np.ndindex(found.shape):
            moved = np.zeros(found.shape)
            moved[place] = 1e-6
            ends = loss(array_of(operand) + moved), loss(array_of(operand) - moved)
            assert found[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


def test_the_derivative_of_a_cross_entropy_is_that_of_its_logits() -> None:
    logits = value("a")
    powers = Exp(logits)
    loss = transformer.CrossEntropy(Divide(powers, Sum(powers, -1)), logits, (2, 0))
    upstream = Tape().put("g", np.full((1, 1, 1, 1), 3.0), ("sum",))
    ((operand, found),) = loss.derivative(loss, upstream)
    ((_, slope),) = loss.slopes()
    assert operand is logits
    np.testing.assert_allclose(array_of(found), 3 * array_of(slope))


def test_every_operation_of_the_forward_pass_is_tried() -> None:
    rooms = (operations, masks, normalizers, norms_and_activations, scores)
    own = {
        name: kind
        for room in (*rooms, training, recurrent, transformer)
        for name, kind in vars(room).items()
        if isinstance(kind, type) and issubclass(kind, Operation) and kind is not Operation
    }
    forward = {name for name, kind in own.items() if {"derivative", "slopes"} & {*vars(kind)}}
    assert forward - set(OTHERS) == {type(one).__name__ for one in OPERATIONS}


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

NUMBERS = st.floats(-2, 2).map(lambda x: round(x, 2))
LAWS = settings(max_examples=12, deadline=None, derandomize=True)


def matrices(*shape: int) -> st.SearchStrategy[Any]:
    """Nested lists of small numbers."""
    found: st.SearchStrategy[Any] = NUMBERS
    for size in reversed(shape):
        found = st.lists(found, min_size=size, max_size=size)
    return found


def of(gradient: Any, **keys: Any) -> attncli.Trace:
    """Calculate a problem with a gradient."""
    return attncli.compute(attncli.Problem(**keys, gradient=gradient))


PROJECTIONS = st.fixed_dictionaries(
    {"X": matrices(3, 2), "W_q": matrices(2, 2), "W_k": matrices(2, 2), "W_v": matrices(2, 2)}
)


@LAWS
@given(PROJECTIONS, matrices(3, 2), matrices(3, 2), NUMBERS)
def test_linear_in_the_upstream_matrix(keys: Keys, one: Any, other: Any, factor: float) -> None:
    both = of((np.array(one) + factor * np.array(other)).tolist(), **keys)
    first, second = of(one, **keys), of(other, **keys)
    for key in keys:
        parts = first[f"d_{key}"].value + factor * second[f"d_{key}"].value
        np.testing.assert_allclose(both[f"d_{key}"].value, parts, atol=1e-11)


@LAWS
@given(PROJECTIONS, matrices(3, 2))
def test_rows_through_softmax_sum_to_0(keys: Keys, upstream: Any) -> None:
    """So a constant that is added to a row of scores changes no loss."""
    trace = of(upstream, **keys, mask="causal")
    np.testing.assert_allclose(trace["d_scaled"].value.sum(axis=-1), 0, atol=1e-12)
    along = of(upstream, **keys, normalize={"axis": "queries"})
    np.testing.assert_allclose(along["d_scaled"].value.sum(axis=0), 0, atol=1e-12)


@LAWS
@given(matrices(2, 3), matrices(3, 2), matrices(2, 1), matrices(2, 2))
def test_a_constant_added_to_a_row_of_scores_changes_no_derivative(
    scores: Any, values: Any, constants: Any, upstream: Any
) -> None:
    moved = (np.array(scores) + np.array(constants)).tolist()
    one, other = (of(upstream, scores=each, V=values) for each in (scores, moved))
    for name in ("d_scores", "d_V"):
        np.testing.assert_allclose(one[name].value, other[name].value, atol=1e-12)


@LAWS
@given(PROJECTIONS, matrices(3, 2))
def test_columns_are_transposed_rows(keys: Keys, target: Any) -> None:
    rows = of({"loss": "squared_error", "target": target}, **keys, mask="causal")
    turned = {key: np.transpose(value).tolist() for key, value in keys.items()}
    loss = {"loss": "squared_error", "target": np.transpose(target).tolist()}
    columns = of(loss, **turned, mask="causal", tokens_as="columns")
    assert list(rows.steps) == list(columns.steps)
    for step in rows:
        np.testing.assert_allclose(columns[step.name].value, step.value.T, atol=1e-12)


@LAWS
@given(PROJECTIONS, matrices(3, 2))
def test_one_head_is_none(keys: Keys, upstream: Any) -> None:
    """A stack of one matrix, and W_o = identity, are what stands without them."""
    plain, stacked = of(upstream, **keys), of(upstream, **keys, heads=1, W_o=[[1, 0], [0, 1]])
    for key in keys:
        numbers = stacked[f"d_{key}"].value
        np.testing.assert_allclose(numbers, plain[f"d_{key}"].value, atol=1e-12)


@LAWS
@given(PROJECTIONS, matrices(3, 2))
def test_a_small_step_lowers_the_loss(keys: Keys, target: Any) -> None:
    loss = {"loss": "squared_error", "target": target}
    trace = attncli.compute(attncli.Problem(**keys, gradient=loss, learning_rate=1e-5))
    weights = [key for key in keys if key != "X"]
    size = sum(float((trace[f"d_{key}"].value ** 2).sum()) for key in weights)
    moved = keys | {key: trace[f"new_{key}"].value.tolist() for key in weights}
    before, after = trace["loss"].value[0], of(loss, **moved)["loss"].value[0]
    assert after < before or size < 1e-6
    # To first order it falls by the rate times the squared length of the gradient.
    np.testing.assert_allclose(before - after, 1e-5 * size, rtol=0.05, atol=1e-9)


# What has no derivative, and what is asked wrongly.


def test_hardmax_has_no_derivative() -> None:
    with pytest.raises(attncli.InputError, match="hardmax has no derivative"):
        of("sum", X=[[1, 0], [0, 1]], normalize="hardmax")


@pytest.mark.parametrize(
    ("keys", "name", "formula"),
    [
        ({"normalize": "sparsemax"}, "delta", "mean of d_weights where weights > 0"),
        (
            {"score": "cosine", "tokens_as": "columns"},
            "d_K",
            "(Q / ‖Q‖ d_scoresᵀ − sum(d_scoresᵀ ⊙ scoresᵀ) (K / ‖K‖)) / ‖K‖",
        ),
    ],
)
def test_formulas_of_derivatives(keys: Keys, name: str, formula: str) -> None:
    assert of("sum", X=[[1, 2], [3, 1]], **keys)[name].formula == f"{name} = {formula}"


@cases("gradients", "what_is_asked_wrongly_is_told")
def test_what_is_asked_wrongly_is_told(keys: Keys, message: str) -> None:
    with pytest.raises(attncli.InputError, match=message):
        of(**({"X": [[1, 0], [0, 1]], "gradient": None} | keys))


def test_problems_of_one_form_share_a_plan_and_have_their_own_gradients() -> None:
    """The plan of the first one is that of the second; a target is no part of it."""
    for target in ([[1, 0]], [[0, 3]]):
        keys: Keys = {"X": [[1, 2]], "learning_rate": 0.5}
        trace = of({"loss": "half_squared_error", "target": target}, **keys)
        assert trace["d_output"].value.tolist() == [[1 - target[0][0], 2 - target[0][1]]]
        for x in ([[1, 2]], [[3, 5]]):
            assert of("sum", X=x)["loss"].value.tolist() == [sum(x[0])]


def test_the_loss_begins_at_the_last_step() -> None:
    """Where there is W_c, that is tanh(W_c [output; x])."""
    trace = of("sum", X=[[1, 0], [0, 1]], W_c=[[1, 0, 1, 0]])
    names = [step.name for step in trace if step.backward]
    assert names[:3] == ["d_attentional", "d_net_attentional", "d_W_c"]


def test_what_was_used_a_thousand_times_is_added_up() -> None:
    """A sum of so many parts is no chain, in which every reader would go astray."""
    used = Tape().put("A", np.ones((1, 1, 1, 2)), ("row", "column"), key="A")
    total = added([used] * 3000)
    assert array_of(total).tolist() == [[[[3000, 3000]]]]
    assert text(notation_of(total)).count("A") == 3000


def test_files_have_a_gradient_by_a_flag(attn: Attn) -> None:
    result = attn("compute", "sample_inputs/i_am_good.yaml", "--gradient", "sum", "--only", "d_*")
    assert result.status == 0
    assert result.out.startswith("── backward pass ──\n\nd_output = 1 everywhere")
    assert "output =" not in result.out.replace("d_output =", "")


def test_the_slope_of_a_gate_is_written_with_the_gate() -> None:
    one = [[1, 0], [0, 1]]
    keys: Keys = {"kind": "transformer", "norm": "none", "activation": "gelu_tanh"}
    step = of("sum", X=[[1, 2], [3, 1]], W_1=one, W_2=one, **keys)["d_hidden"]
    assert step.formula == (
        "d_hidden = d_activated ⊙ hidden ⊙ gate′(hidden) + d_activated ⊙ gate(hidden)"
    )
