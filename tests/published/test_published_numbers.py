"""Numbers that others printed, or that were worked out apart from this program."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pytest

import attncli
from tests.oracles import reference


def agree(found: Any, printed: Any, decimals: int = 6) -> None:
    """Assert that every number rounds to what was printed with so many decimals."""
    np.testing.assert_allclose(found, printed, rtol=0, atol=0.500001 * 10.0**-decimals)


def half_up(value: float, decimals: int) -> float:
    return float(Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


# "I am good": softmax(X Xᵀ) X.

GOOD = [[1, 3, 2], [1, 1, 3], [1, 2, 1]]


def test_similarity_scores_are_exact() -> None:
    trace = attncli.compute(attncli.Problem(X=GOOD, score="dot"))
    np.testing.assert_array_equal(trace["scores"].value, [[14, 10, 9], [10, 11, 6], [9, 6, 6]])


def test_similarity_weights_as_in_exact_arithmetic() -> None:
    trace = attncli.compute(attncli.Problem(X=GOOD, score="dot"))
    exact = [
        [0.975559, 0.017868, 0.006573],
        [0.267623, 0.727475, 0.004902],
        [0.909443, 0.045279, 0.045279],
    ]
    agree(trace["weights"].value, exact)


def test_similarity_output_as_published() -> None:
    trace = attncli.compute(attncli.Problem(X=GOOD, score="dot"))
    published = [[1, 2.957691, 2.011295], [1, 1.540148, 2.722573], [1, 2.864164, 2.000000]]
    agree(trace.output, published)


def test_two_of_the_nine_published_weights_are_not_rounded_half_up() -> None:
    weights = attncli.compute(attncli.Problem(X=GOOD, score="dot"))["weights"].value
    published = [[0.97, 0.02, 0.01], [0.27, 0.73, 0.00], [0.90, 0.05, 0.05]]
    rounded = [[half_up(x, 2) for x in row] for row in weights.tolist()]
    wrong = {
        (i, j): rounded[i][j]
        for i in range(3)
        for j in range(3)
        if rounded[i][j] != published[i][j]
    }
    assert wrong == {(0, 0): 0.98, (2, 0): 0.91}
    # Both are within one unit of the last written digit.
    np.testing.assert_allclose(weights, published, rtol=0, atol=0.01)


def test_identity_projections_give_softmax_of_scaled_similarities() -> None:
    """With W = identity the general formula is softmax(X Xᵀ / √d_k) X."""
    one = np.eye(3)
    projected = attncli.compute(attncli.Problem(X=GOOD, W_q=one, W_k=one, W_v=one))
    plain = attncli.compute(attncli.Problem(X=GOOD, score="dot", scale="1/sqrt(d_k)"))
    assert list(projected.steps) == list(plain.steps)
    for step in plain:
        np.testing.assert_array_equal(projected[step.name].value, step.value)
    x = reference.exact(GOOD)
    for i, row in enumerate(reference.product(x, reference.transpose(x))):
        weights = reference.softmax([s / reference.mp.sqrt(3) for s in row], 1)
        mixed = reference.product([weights], x)[0]
        np.testing.assert_allclose(plain.output[i], reference.floats(mixed), rtol=1e-14)


# Self-attention with projections, worked with integers.

INTEGERS: dict[str, Any] = {
    "X": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
    "W_q": [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
    "W_k": [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
    "W_v": [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
}
TOKENS = ["a1", "a2", "a3"]


def integers(score: str, columns: bool) -> attncli.Trace:
    """Calculate the example; in column convention everything stands transposed."""
    if not columns:
        return attncli.compute(attncli.Problem(**INTEGERS, tokens=TOKENS, score=score))
    keys: dict[str, Any] = {key: np.transpose(matrix) for key, matrix in INTEGERS.items()}
    problem = attncli.Problem(**keys, tokens=TOKENS, score=score, tokens_as="columns")
    return attncli.compute(problem)


PUBLISHED_STEPS = {
    "Q": [[1, 0, 2], [2, 2, 2], [2, 1, 3]],
    "K": [[0, 1, 1], [4, 4, 0], [2, 3, 1]],
    "V": [[1, 2, 3], [2, 8, 0], [2, 6, 3]],
    "scores": [[2, 4, 4], [4, 16, 12], [4, 12, 10]],
}


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("name", PUBLISHED_STEPS)
def test_integers_of_self_attention_are_exact(name: str, columns: bool) -> None:
    value = integers("dot", columns)[name].value
    np.testing.assert_array_equal(value.T if columns else value, PUBLISHED_STEPS[name])


@pytest.mark.parametrize("columns", [False, True])
def test_weights_of_self_attention_as_published(columns: bool) -> None:
    """Those of row 1 to four decimals, the others to five significant digits."""
    value = integers("dot", columns)["weights"].value
    weights = value.T if columns else value
    published = ["0.0634 0.4683 0.4683", "6.0337e-06 9.8201e-01 1.7986e-02"]
    published.append("2.9539e-04 8.8054e-01 1.1917e-01")
    for row, printed in zip(weights.tolist(), published, strict=True):
        for found, text in zip(row, printed.split(), strict=True):
            unit = Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent))
            assert Decimal(found).quantize(unit, ROUND_HALF_UP) == Decimal(text)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(
    ("score", "output"),
    [
        (
            "dot",
            [
                [1.936621, 6.683105, 1.595068],
                [1.999994, 7.963992, 0.053976],
                [1.999705, 7.759892, 0.358389],
            ],
        ),
        (
            "scaled_dot",
            [
                [1.863874, 6.319371, 1.704189],
                [1.99911, 7.814124, 0.273472],
                [1.992555, 7.479636, 0.735877],
            ],
        ),
    ],
)
def test_output_of_self_attention_as_in_exact_arithmetic(
    score: str, output: Any, columns: bool
) -> None:
    found = integers(score, columns).output
    agree(found.T if columns else found, output)


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_columns_are_rows_transposed_in_every_step(score: str) -> None:
    rows, columns = integers(score, columns=False), integers(score, columns=True)
    assert list(rows.steps) == list(columns.steps)
    for step in rows:
        other = columns[step.name]
        assert other.axes == step.axes[::-1]
        assert dict(other.labels) == dict(step.labels)
        np.testing.assert_allclose(other.value.T, step.value, rtol=1e-15)


# A dictionary: KEY = apple, banana, green pepper, bread.

VALUES = [[3], [2], [1.5], [1]]


def test_hard_query_of_a_dictionary_with_known_weights() -> None:
    trace = attncli.compute(attncli.Problem(scores=[[1, 0, 0, 0]], V=VALUES, normalize="none"))
    np.testing.assert_array_equal(trace.output, [[3]])
    assert list(trace.steps) == ["V", "scores", "output"]


@pytest.mark.parametrize("score", ["dot", "cosine", "distance"])
def test_hard_query_of_a_dictionary_finds_the_equal_key(score: str) -> None:
    """Keys as different as the axes: the query for apple is the key apple."""
    problem = attncli.Problem(
        Q=[[1, 0, 0, 0]], K=np.eye(4), V=VALUES, score=score, normalize="hardmax"
    )
    trace = attncli.compute(problem)
    np.testing.assert_array_equal(trace["weights"].value, [[1, 0, 0, 0]])
    np.testing.assert_array_equal(trace.output, [[3]])
    assert trace.warnings == ()


def test_hard_query_by_dot_product_needs_no_normalizing() -> None:
    keys: dict[str, Any] = {"Q": [[1, 0, 0, 0]], "K": np.eye(4), "V": VALUES}
    trace = attncli.compute(attncli.Problem(**keys, score="dot", normalize="none"))
    np.testing.assert_array_equal(trace["scores"].value, [[1, 0, 0, 0]])
    np.testing.assert_array_equal(trace.output, [[3]])


def test_soft_query_of_a_dictionary_as_published() -> None:
    """0.3 · 3 + 0.1 · 2 + 0.6 · 1.5 + 0 · 1 = 2."""
    problem = attncli.Problem(scores=[[0.3, 0.1, 0.6, 0]], V=VALUES, normalize="none")
    np.testing.assert_allclose(attncli.compute(problem).output, [[2]], rtol=3e-16)


def test_soft_query_divided_by_its_sum_is_the_same() -> None:
    problem = attncli.Problem(scores=[[3, 1, 6, 0]], V=VALUES, normalize="sum")
    trace = attncli.compute(problem)
    np.testing.assert_allclose(trace["weights"].value, [[0.3, 0.1, 0.6, 0]], rtol=3e-16)
    np.testing.assert_allclose(trace.output, [[2]], rtol=3e-16)


def test_hardmax_of_a_tie_takes_the_first_and_warns() -> None:
    problem = attncli.Problem(scores=[[0.1, 0.6, 0.6, 0]], V=VALUES, normalize="hardmax")
    trace = attncli.compute(problem)
    np.testing.assert_array_equal(trace["weights"].value, [[0, 1, 0, 0]])
    np.testing.assert_array_equal(trace.output, [[2]])
    assert len(trace.warnings) == 1
