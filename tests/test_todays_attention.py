"""Sinks, sigmoids, linear attention, norms and caches: laws, precision, derivatives, tiles."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from tests.oracles import reference

Keys = dict[str, Any]


def numbers(seed: int, *shape: int) -> Any:
    """Return numbers between −2 and 2."""
    return np.random.default_rng([seed, *shape]).uniform(-2, 2, shape)


def problem(seed: int, n: int = 3, heads: int = 1, kv_heads: int = 1, **more: Any) -> Keys:
    """Return the keys of a problem with d_k = 3 and d_v = 2."""
    keys: Keys = {
        "X": numbers(seed, n, 4),
        "W_q": numbers(seed + 1, 4, 3 * heads),
        "W_k": numbers(seed + 2, 4, 3 * kv_heads),
        "W_v": numbers(seed + 3, 4, 2 * kv_heads),
    }
    shared = {"heads": heads, "kv_heads": kv_heads} if heads > 1 else {}
    return keys | shared | more


def output(keys: Keys, **options: Any) -> Any:
    return attncli.compute(attncli.Problem(**keys), **options).output


def softmax(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


SEEDS = st.integers(0, 10**6)
HEADS = st.sampled_from([(1, 1), (2, 2), (4, 2), (2, 1)])
SINKS = st.floats(-20, 20)


@settings(max_examples=40, deadline=None)
@given(SEEDS, HEADS, st.sampled_from([{}, {"mask": "causal"}, {"softcap": 2}]))
def test_a_sink_of_minus_infinity_is_no_sink(seed: int, heads: Any, more: Keys) -> None:
    keys = problem(seed, 3, *heads, **more)
    with_sink = keys | {"normalize": {"name": "softmax", "sink": -inf}}
    np.testing.assert_array_equal(output(with_sink), output(keys))


@settings(max_examples=40, deadline=None)
@given(SEEDS, SINKS)
def test_a_sink_is_a_key_more_without_a_value(seed: int, sink: float) -> None:
    """Its score is the sink itself, neither scaled nor divided by the temperature."""
    scores, v = numbers(seed, 3, 4), numbers(seed, 4, 2)
    settings_ = {"name": "softmax", "sink": sink, "temperature": 2}
    trace = attncli.compute(attncli.Problem(scores=scores, V=v, normalize=settings_))
    wide = softmax(np.concatenate([scores / 2, np.full((3, 1), sink)], axis=-1))
    np.testing.assert_allclose(trace["weights"].value, wide[:, :-1], rtol=1e-13)
    assert trace["exp"].value.shape == (3, 4)  # it has no column for the sink
    np.testing.assert_allclose(
        trace["sum"].value, trace["exp"].value.sum(axis=-1, keepdims=True) + np.exp(sink)
    )


def test_a_sink_of_0_adds_1_to_the_sum() -> None:
    keys = problem(1)
    plain = attncli.compute(attncli.Problem(**keys))
    found = attncli.compute(attncli.Problem(**keys, normalize={"name": "softmax", "sink": 0}))
    np.testing.assert_allclose(found["sum"].value, plain["sum"].value + 1, rtol=1e-15)


def test_a_sink_is_one_number_or_one_per_head() -> None:
    of_each = {"name": "softmax", "sink": [1, -inf]}
    keys = problem(2, 3, 2, 2)
    one = attncli.compute(attncli.Problem(**keys, normalize={"name": "softmax", "sink": 1}))
    both = attncli.compute(attncli.Problem(**keys, normalize=of_each))
    plain = attncli.compute(attncli.Problem(**keys))
    np.testing.assert_array_equal(both["weights"].value[0], one["weights"].value[0])
    np.testing.assert_array_equal(both["weights"].value[1], plain["weights"].value[1])
    with pytest.raises(attncli.InputError, match=r"normalize\.sink has 3 numbers, but heads is 2"):
        attncli.Problem(**keys, normalize={"name": "softmax", "sink": [1, 2, 3]})


@pytest.mark.parametrize("sink", [-800.0, 3.0, 999.0, 2000.0])
@pytest.mark.parametrize("more", [{}, {"temperature": 3, "base": 2}])
def test_a_sink_beside_scores_beyond_floats(sink: float, more: Keys) -> None:
    """e^sink is shifted as the other powers are, by the largest of all."""
    scores, v = np.array([[1000.0, 998.0, -5000.0], [-4000, -4001, -4002]]), np.eye(3)
    keys: Keys = {"scores": scores, "V": v, "normalize": {"name": "softmax", "sink": sink, **more}}
    trace = attncli.compute(attncli.Problem(**keys))
    expected = reference.solve(**keys)["weights"]
    np.testing.assert_allclose(trace["weights"].value, reference.floats(expected)[0, 0], 1e-12)


def test_a_row_that_is_wholly_blocked_gives_all_to_the_sink() -> None:
    keys: Keys = {"scores": [[1, 2]], "V": [[1], [2]], "mask": [[0, 0]]}
    trace = attncli.compute(attncli.Problem(**keys, normalize={"name": "softmax", "sink": 0}))
    assert trace["sum"].value.tolist() == [[1]]
    assert trace.output.tolist() == [[0]]
    assert "every cell of query 1 is blocked" in trace.warnings[0]


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_linear_attention_is_a_product_of_sums(seed: int) -> None:
    """φ(Q) (φ(K)ᵀ V) divided by φ(Q) Σ φ(k), without any n × m matrix."""
    keys = problem(seed, 5, score="linear")
    trace = attncli.compute(attncli.Problem(**keys))
    phi_q, phi_k, v = (trace[name].value for name in ("phi_q", "phi_k", "V"))
    expected = phi_q @ (phi_k.T @ v) / (phi_q @ phi_k.sum(axis=0))[:, None]
    np.testing.assert_allclose(trace.output, expected, rtol=1e-12, atol=1e-13)
    assert trace.problem.options()["normalize"] == {"name": "sum"}
    changed_ = attncli.Problem(**keys, normalize="softmax")
    assert changed_.options()["normalize"] == {"name": "softmax"}


# ---- derivatives, against differences in 50 digits

STEP = reference.mp.mpf(10) ** -20


def changed(keys: Keys, path: str, place: tuple[int, ...], by: Any) -> Keys:
    """Return the keys with one number of a matrix, or of a part such as normalize.sink, moved."""
    head, _, part = path.partition(".")
    whole = keys[head][part] if part else keys[head]
    exact = np.array(reference.exact(np.asarray(whole, float).tolist()), object)
    exact = exact.reshape(np.shape(whole))
    exact[place] += by
    moved = exact.tolist() if exact.ndim else exact.item()
    return keys | {head: keys[head] | {part: moved} if part else moved}


def loss(keys: Keys, upstream: Any) -> Any:
    """Return the sum of the upstream gradient times the output."""
    found = reference.solve(**keys)["output"][0][0]
    pairs = zip(found, upstream.tolist(), strict=True)
    return reference.mp.fsum(reference.dot(row, reference.exact(up)) for row, up in pairs)


def check_gradients(keys: Keys, paths: list[str]) -> None:
    """Compare the derivatives with regard to these arrays with differences."""
    upstream = numbers(9, *output(keys).shape)
    trace = attncli.compute(attncli.Problem(**keys, gradient=upstream))
    for path in paths:
        found = trace[f"d_{path}"].value
        expected = np.empty(found.shape)
        for place in np.ndindex(found.shape):
            head, _, part = path.partition(".")
            own = keys[head][part] if part else keys[head]
            at = place if np.ndim(own) else ()
            ends = [loss(changed(keys, path, at, by), upstream) for by in (STEP, -STEP)]
            expected[place] = float((ends[0] - ends[1]) / (2 * STEP))
        most = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * most, err_msg=path)


WEIGHTS = ["X", "W_q", "W_k", "W_v"]
GRADIENTS: dict[str, tuple[Keys, list[str]]] = {
    "sink": (problem(5, normalize={"name": "softmax", "sink": 0.5}), [*WEIGHTS, "normalize.sink"]),
    "sinks": (
        problem(6, 2, 2, 1, normalize={"name": "softmax", "sink": [0.5, -1], "base": 3}),
        [*WEIGHTS, "normalize.sink"],
    ),
    "sink, shifted": (
        {
            "scores": np.array([[800, 799.5, 798], [10, 5, 6]]),
            "V": numbers(7, 3, 2),
            "normalize": {"name": "softmax", "sink": 799},
        },
        ["scores", "V", "normalize.sink"],
    ),
    "linear": (problem(8, score="linear"), WEIGHTS),
    "linear, shared heads": (problem(8, 2, 4, 2, score="linear", mask="causal"), WEIGHTS),
    "sigmoid": (problem(8, normalize={"name": "sigmoid", "temperature": 2}), WEIGHTS),
    "sigmoid, masked": (problem(8, normalize="sigmoid", mask="causal"), WEIGHTS),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(name: str) -> None:
    check_gradients(*GRADIENTS[name])


# ---- tiles

MANY = 600
TILED: dict[str, Keys] = {
    "sink": {"normalize": {"name": "softmax", "sink": 0.5}},
    "sinks": {"normalize": {"name": "softmax", "sink": [0.5, 1, -2, 3]}, "mask": "causal"},
    "sinks, another base": {
        "normalize": {"name": "softmax", "sink": [9, 1, -2, 3], "base": 2, "temperature": 3}
    },
    "sinks, beyond floats": {"normalize": {"name": "softmax", "sink": [9, 1, 900, 3]}, "scale": 90},
    "sigmoid": {"normalize": "sigmoid"},
    "linear": {"score": "linear", "mask": "causal"},
}


@pytest.mark.parametrize("name", TILED)
def test_tiles_give_the_numbers_of_the_lines(name: str) -> None:
    given_ = attncli.Problem(**problem(3, MANY, 4, 2, **TILED[name]))
    whole, tiled = attncli.compute(given_), attncli.compute(given_, only="output")
    weighed = attncli.compute(given_, only=["output", "weights"], alone=True)
    assert tiled.path.startswith("streamed")
    assert weighed.path.startswith("streamed")
    assert tiled.warnings == weighed.warnings == whole.warnings
    most = np.abs(whole.output).max()
    for found in (tiled, weighed):
        np.testing.assert_allclose(found.output, whole.output, rtol=1e-11, atol=1e-13 * most)
    np.testing.assert_allclose(
        weighed["weights"].value, whole["weights"].value, rtol=1e-11, atol=1e-15
    )
