"""Pooling, matching and recurrent attention against plain loops in 30-digit arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import attncli
from attncli.core.attention.scores import SCORES
from attncli.core.problem.kinds import KINDS, UPDATES
from tests.conftest import ROOT, SAMPLE_FILES, SAMPLES, Attn, cases

mp = mpmath.MPContext()
mp.dps = 30

Vector = list[Any]
Matrix = list[Vector]


def numbers(array: Any) -> Any:
    """Return nested lists of mpmath numbers."""
    if isinstance(array, list | tuple | np.ndarray):
        return [numbers(item) for item in array]
    return mp.mpf(float(array))


def times(matrix: Matrix, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix]


def dot(a: Vector, b: Vector) -> Any:
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def plus(a: Vector, b: Vector) -> Vector:
    return [x + y for x, y in zip(a, b, strict=True)]


def tanh(vector: Vector) -> Vector:
    return [mp.tanh(x) for x in vector]


def softmax(scores: Vector) -> Vector:
    powers = [mp.exp(s) for s in scores]
    total = mp.fsum(powers)
    return [p / total for p in powers]


def mixed(weights: Vector, vectors: Matrix) -> Vector:
    return [dot(weights, list(column)) for column in zip(*vectors, strict=True)]


def close(found: Any, expected: Any) -> None:
    as_floats = np.array([[float(x) for x in np.ravel(row)] for row in np.atleast_1d(expected)])
    np.testing.assert_allclose(np.squeeze(found), np.squeeze(as_floats), rtol=1e-13, atol=1e-15)


RANDOM = np.random.default_rng(7)


def random(*shape: int) -> Any:
    return RANDOM.normal(size=shape).round(3)


def phi(x: Vector) -> Vector:
    return [number + 1 if number > 0 else mp.exp(number) for number in x]


ALIGN: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {
    "dot": ({}, dot),
    "scaled_dot": ({}, lambda q, k: dot(q, k) / mp.sqrt(len(q))),
    "cosine": ({}, lambda q, k: dot(q, k) / mp.sqrt(dot(q, q) * dot(k, k))),
    "general": ({"W": random(2, 2)}, lambda q, k, W: dot(q, times(W, k))),
    "additive": (
        {"W": random(3, 2), "U": random(3, 2), "v": random(3), "b": random(3)},
        lambda q, k, W, U, v, b: dot(v, tanh(plus(plus(times(W, q), times(U, k)), b))),
    ),
    "concat": (
        {"W": random(3, 4), "v": random(3)},
        lambda q, k, W, v: dot(v, tanh(times(W, q + k))),
    ),
    "linear": ({}, lambda q, k: dot(phi(q), phi(k))),
    "distance": (
        {"width": 2.0},
        lambda q, k, width: -dot(minus(q, k), minus(q, k)) / (2 * width**2),
    ),
}


def minus(a: Vector, b: Vector) -> Vector:
    return [x - y for x, y in zip(a, b, strict=True)]


def test_every_score_function_is_tried_as_align() -> None:
    assert set(ALIGN) == set(SCORES)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("name", ALIGN)
def test_recurrent_against_plain_loops(name: str, update: str) -> None:
    """Updates (1), (3) and (4) with every score function as align, over four words."""
    parameters, align = ALIGN[name]
    d_x, d_h = 3, 2
    width = {"input_context": d_x + d_h, "state_input_context": d_h + d_x + d_h, "plain": d_h + d_x}
    X, A, b = random(4, d_x), random(d_h, width[update]), random(d_h)
    # The cosine of a state of zeros does not exist, so the first one is given.
    h_0 = random(d_h)
    more: Any = {"score": {"name": name} | parameters, "normalize": "softmax"}
    problem = attncli.Problem(kind="recurrent", X=X, A=A, b=b, h_0=h_0, update=update, **more)
    trace = attncli.compute(problem)
    states = [numbers(h_0)]
    context = numbers([0] * d_h)
    for t, x in enumerate(numbers(X), 1):
        joined = {
            "input_context": x + context,
            "state_input_context": states[-1] + x + context,
            "plain": states[-1] + x,
        }[update]
        states.append(tanh(plus(times(numbers(A), joined), numbers(b))))
        close(trace[f"h_{t}"].value, states[-1])
        if update == "plain":
            assert f"scores_{t}" not in trace
            continue
        given = {key: numbers(part) for key, part in parameters.items()}
        weights = softmax([align(states[-1], h, **given) for h in states])
        context = mixed(weights, states)
        close(trace[f"weights_{t}"].value, weights)
        close(trace["weights"].value[t - 1, : t + 1], weights)
        assert (trace["weights"].value[t - 1, t + 1 :] == 0).all()
        close(trace[f"c_{t}"].value, context)
    close(trace.output, states[1:])


def test_recurrent_aligned_by_projected_states() -> None:
    """Align is (W_k h_i) · (W_q h_t)."""
    X, A, W_q, W_k = random(3, 1), random(2, 3), random(4, 2), random(4, 2)
    problem = attncli.Problem(kind="recurrent", X=X, A=A, W_q=W_q, W_k=W_k, score="dot")
    trace = attncli.compute(problem)
    states = [numbers([0, 0])]
    context = numbers([0, 0])
    for x in numbers(X):
        states.append(tanh(times(numbers(A), x + context)))
        q = times(numbers(W_q), states[-1])
        context = mixed(softmax([dot(times(numbers(W_k), h), q) for h in states]), states)
    close(trace.output, states[1:])
    close(trace["c_3"].value, context)


def test_first_step_of_update_3_is_its_formula() -> None:
    """With c_0 = h_0 = 0, h_1 = tanh(A [x_1; 0] + b)."""
    A, x, b = random(2, 5), random(3), random(2)
    trace = attncli.compute(attncli.Problem(kind="recurrent", X=[x.tolist()], A=A, b=b))
    np.testing.assert_array_equal(trace["h_1"].value, np.tanh(np.append(x, [0, 0]) @ A.T + b))
    assert [step.name for step in trace][:2] == ["h_0", "h_1"]


def test_all_attention_on_one_state_gives_that_state() -> None:
    problem = attncli.Problem(
        kind="recurrent", X=random(4, 2), A=random(2, 4), score="dot", normalize="hardmax"
    )
    trace = attncli.compute(problem)
    for t in range(1, 5):
        chosen = int(trace[f"weights_{t}"].value.argmax())
        np.testing.assert_array_equal(trace[f"c_{t}"].value, trace[f"h_{chosen}"].value)


@pytest.mark.parametrize(("with_w", "with_b"), list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("activation", ["tanh", "none", None])
@pytest.mark.parametrize(("columns", "output_activation"), [(False, "tanh"), (True, "none")])
def test_pooling_against_plain_loops(
    columns: bool, with_w: bool, with_b: bool, activation: str | None, output_activation: str
) -> None:
    """Word attention (W, b, tanh) and relation classification (tanh(H), tanh(r)) and the rest."""
    X, W, b, u = random(4, 3), random(2, 3), random(2 if with_w else 3), random(2 if with_w else 3)
    trace = attncli.compute(
        attncli.Problem(
            kind="pooling",
            X=X.T if columns else X,
            W=W if with_w else None,
            b=b if with_b else None,
            u=u,
            activation=activation,
            output_activation=output_activation,
            tokens_as="columns" if columns else "rows",
        )
    )
    hidden = [times(numbers(W), h) if with_w else h for h in numbers(X)]
    hidden = [plus(h, numbers(b)) if with_b else h for h in hidden]
    if activation == "tanh" or (activation is None and (with_w or with_b)):
        hidden = [tanh(h) for h in hidden]
    weights = softmax([dot(numbers(u), h) for h in hidden])
    pooled = mixed(weights, numbers(X))
    close(trace["weights"].value, weights)
    close(trace.output, tanh(pooled) if output_activation == "tanh" else pooled)
    assert trace.output.shape == ((3, 1) if columns else (1, 3))


def test_pooling_with_u_0_is_the_mean() -> None:
    X = random(5, 3)
    trace = attncli.compute(attncli.Problem(kind="pooling", X=X, u=[0, 0, 0]))
    np.testing.assert_allclose(trace.output, [X.mean(axis=0)], rtol=1e-14)


def test_pooling_ignores_padding() -> None:
    X = random(5, 3)
    padded = attncli.Problem(kind="pooling", X=X, u=[1, 2, 3], mask={"lengths": 3})
    short = attncli.Problem(kind="pooling", X=X[:3], u=[1, 2, 3])
    np.testing.assert_allclose(attncli.compute(padded).output, attncli.compute(short).output)


@pytest.mark.parametrize("name", ALIGN)
def test_matching_against_plain_loops(name: str) -> None:
    parameters, align = ALIGN[name]
    X, memory = random(3, 2), random(4, 2)
    more: Any = {"score": {"name": name} | parameters, "normalize": "softmax"}
    problem = attncli.Problem(kind="co_attention", X=X, memory=memory, enhance=True, **more)
    trace = attncli.compute(problem)
    a, b = numbers(X), numbers(memory)
    given = {key: numbers(part) for key, part in parameters.items()}
    scores = [[align(q, k, **given) for k in b] for q in a]
    aligned = [mixed(softmax(row), b) for row in scores]
    close(trace["aligned_x"].value, aligned)
    close(
        trace["enhanced_x"].value,
        [
            [*own, *other, *minus(own, other), *[x * y for x, y in zip(own, other, strict=True)]]
            for own, other in zip(a, aligned, strict=True)
        ],
    )
    by_memory = [softmax([row[j] for row in scores]) for j in range(4)]
    close(trace["weights_memory"].value, by_memory)
    close(trace["aligned_memory"].value, [mixed(row, a) for row in by_memory])
    assert trace["weights_x"].value.shape == (3, 4)
    np.testing.assert_allclose(trace["weights_x"].value.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(trace["weights_memory"].value.sum(axis=1), 1, rtol=1e-15)


def test_matching_a_sentence_with_itself() -> None:
    """Symmetric scores give equal alignments both ways."""
    X = random(4, 3)
    trace = attncli.compute(attncli.Problem(kind="co_attention", X=X, memory=X, score="dot"))
    np.testing.assert_allclose(trace["aligned_x"].value, trace["aligned_memory"].value, rtol=1e-14)


def test_normalising_by_column_is_the_axis_of_queries() -> None:
    """The weights of a picture that normalises down the columns are those of matching's memory."""
    X, memory = random(3, 2), random(4, 2)
    matched = attncli.compute(attncli.Problem(kind="co_attention", X=X, memory=memory, score="dot"))
    down = {"axis": "queries"}
    columns = attncli.compute(
        attncli.Problem(kind="cross", X=X, memory=memory, score="dot", normalize=down)
    )
    np.testing.assert_allclose(
        columns["weights"].value.T, matched["weights_memory"].value, rtol=1e-14
    )


def test_dictionary_queries_are_as_published() -> None:
    hard = attncli.compute(attncli.load(SAMPLES / "dictionary_hard.yaml"))
    assert hard["weights"].value.tolist() == [[1, 0, 0, 0]]
    assert hard.output.tolist() == [[3]]
    soft = attncli.compute(attncli.load(SAMPLES / "dictionary_soft.yaml"))
    np.testing.assert_allclose(soft.output, [[2]], rtol=1e-15)


def test_every_kind_has_a_sample() -> None:
    used = {p.kind for path in SAMPLE_FILES for p in attncli.load_all(path)}
    assert used == set(KINDS)


@cases("other_mechanisms", "mistakes_are_named_with_what_would_fit")
def test_mistakes_are_named_with_what_would_fit(text: str, message: str, attn: Attn) -> None:
    result = attn("compute", "-", stdin=text.encode())
    assert result.status == 2
    assert message in result.err


def test_pooling_without_a_problem_file(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a,1,0\ngreat,2,1\nfilm,0,1\n")
    (tmp_path / "u.csv").write_text("1,1\n")
    arguments = ["compute", "--kind", "pooling", "-m", "X=h.csv", "-m", "u=u.csv"]
    result = attn(*arguments, "--only", "weights", "-f", "csv", "-d", "4", cwd=tmp_path)
    assert result.status == 0, result.err
    # e^1, e^3, e^1 over their sum
    assert result.out == "0.1065,0.7870,0.1065\n"


def test_table_of_a_time_step_fits_one_screen(attn: Attn) -> None:
    """From h_{t−1} to h_t in at most 40 lines of at most 90 columns, under the time's name."""
    out = attn("compute", ROOT / "sample_inputs" / "recurrent.yaml").out
    steps = out.split("── t = ")[1:]
    assert len(steps) == 3
    assert all(
        len(step.split("\nweights =", maxsplit=1)[0].strip().splitlines()) <= 40 for step in steps
    )
    assert max(map(len, out.splitlines())) <= 90
