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
    trace = attncli.compute(attncli.Problem(**keys, normalize={"name": "softmax", "sink": 0}))
    np.testing.assert_allclose(trace["sum"].value, plain["sum"].value + 1, rtol=1e-15)


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


# ---- norms and caches

NORMS: list[Any] = ["l2", "rms", {"name": "rms", "eps": 0.5, "g_q": [1, 2, -1], "g_k": [3, 1, 2]}]


@settings(max_examples=60, deadline=None)
@given(SEEDS, HEADS, st.sampled_from(NORMS), st.booleans())
def test_norms_are_those_of_plain_loops(seed: int, heads: Any, norm: Any, past: bool) -> None:
    keys = problem(seed, 3, *heads, qk_norm=norm, mask="causal")
    if past:
        kv_heads = heads[1]
        cache = {"K": numbers(seed, 2, 3 * kv_heads), "V": numbers(seed, 2, 2 * kv_heads)}
        keys["past"] = cache
    reference.check(attncli.compute(attncli.Problem(**keys)), reference.solve(**keys))


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([1e-160, 1e-3, 1.0, 1e5, 1e160]))
def test_a_norm_ignores_the_length_of_a_vector(seed: int, factor: float) -> None:
    keys = problem(seed, qk_norm="l2")
    longer = keys | {"W_q": keys["W_q"] * factor}
    np.testing.assert_allclose(output(longer), output(keys), rtol=1e-12, atol=1e-14)


def test_a_row_of_zeros_has_no_norm() -> None:
    keys: Keys = {"X": [[1, 2], [0, 0]], "qk_norm": "l2", "tokens": ["I", "am"]}
    with pytest.raises(attncli.InputError, match=r"row 2 \(am\) of Q is all zeros"):
        attncli.compute(attncli.Problem(**keys))
    assert np.isfinite(output(keys | {"qk_norm": "rms"})).all()


MORE: list[Keys] = [
    {},
    {"qk_norm": NORMS[2]},
    {"score": "linear"},
    {"normalize": {"name": "softmax", "sink": 1}},
    {"softcap": 2, "normalize": "sigmoid"},
    {"score": "cosine", "normalize": "sparsemax"},
]


@settings(max_examples=40, deadline=None)
@given(SEEDS, HEADS, st.sampled_from(MORE), st.integers(1, 4), st.booleans())
def test_a_past_and_the_rest_are_the_whole(
    seed: int, heads: Any, more: Keys, p: int, columns: bool
) -> None:
    keys = problem(seed, 5, *heads, **more)
    whole = attncli.compute(attncli.Problem(**keys, mask="causal"))
    kept = "K_normed" if "qk_norm" in more else "K"
    past = {"K": whole[kept].value[..., :p, :], "V": whole["V"].value[..., :p, :]}
    rest = keys | {"X": keys["X"][p:], "past": past}
    expected = whole.output[p:]
    for way in ({"mask": "causal"}, {"kind": "decode"}):
        np.testing.assert_allclose(output(rest | way), expected, rtol=1e-12, atol=1e-14)
    bottom = {"mask": {"causal": True, "align": "bottom-right"}}
    np.testing.assert_allclose(output(rest | bottom), expected, rtol=1e-12, atol=1e-14)
    if columns:
        turned = {key: rest[key].T for key in ("X", "W_q", "W_k", "W_v")}
        turned |= {"past": {key: np.swapaxes(part, -1, -2) for key, part in past.items()}}
        found = output(rest | turned | {"mask": "causal", "tokens_as": "columns"})
        np.testing.assert_allclose(found.T, expected, rtol=1e-12, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(SEEDS, HEADS, st.sampled_from(MORE), st.sampled_from([(), (2,)]))
def test_row_t_of_decode_is_row_t_of_causal_attention(
    seed: int, heads: Any, more: Keys, batch: tuple[int, ...]
) -> None:
    keys = problem(seed, 4, *heads, **more)
    keys["X"] = numbers(seed, *batch, 4, 4)
    causal = attncli.compute(attncli.Problem(**keys, mask="causal", gradient="sum"))
    decoded = attncli.compute(attncli.Problem(**keys, kind="decode", gradient="sum"))
    assert decoded["K_4"].value.shape[-2:] == (4, 3)
    np.testing.assert_allclose(decoded.output, causal.output, rtol=1e-12, atol=1e-14)
    for key in ("X", "W_q", "W_k", "W_v"):
        one, other = decoded[f"d_{key}"].value, causal[f"d_{key}"].value
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("key", ["K", "V"])
@pytest.mark.parametrize("rows", [1, 3])
def test_each_token_of_decode_has_a_key_and_a_value(key: str, rows: int) -> None:
    given_ = {name: numbers(3, 2, 2) for name in "QKV"} | {key: numbers(4, rows, 2)}
    with pytest.raises(attncli.InputError, match=f"{key} has {rows} rows?, but Q has 2 rows"):
        attncli.Problem(kind="decode", **given_)


def test_the_steps_of_decode() -> None:
    trace = attncli.compute(attncli.Problem(**problem(1, 2, tokens=["I", "am"]), kind="decode"))
    steps = ("q", "k", "v", "K", "V", "scores", "scaled", "exp", "sum", "weights", "z")
    assert list(trace.steps) == [*(f"{s}_{t}" for t in (1, 2) for s in steps), "output"]
    assert trace["K_2"].formula == "K_2 = [K_1; k_2]"
    assert trace["scores_2"].labels == {"key": ("I", "am")}


def test_what_a_past_is_counted_as() -> None:
    keys = problem(1, 2, past={"K": numbers(1, 3, 3), "V": numbers(1, 3, 2)})
    with pytest.raises(attncli.InputError, match=r"needs 5 \(p = 3 \+ m = 2\)"):
        attncli.Problem(**keys, mask=[[1, 1]])
    given_ = attncli.Problem(**keys, mask={"lengths": 5}, scale="1/m")
    trace = attncli.compute(given_)
    assert "masked" not in trace
    np.testing.assert_allclose(trace["scaled"].value, trace["scores"].value / 5)
    assert trace["K_all"].axes == ("key", "feature")
    with pytest.raises(attncli.InputError, match="past needs V"):
        attncli.Problem(**problem(1), past={"K": [[1, 2, 3]]})


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


def check_gradients(keys: Keys, paths: list[str], **beside: Any) -> None:
    """Compare the derivatives with regard to these arrays with differences.

    `beside` are keys that leave the output as it is, which only the program is given.
    """
    upstream = numbers(9, *output(keys).shape)
    trace = attncli.compute(attncli.Problem(**keys, **beside, gradient=upstream))
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
    "l2": (problem(8, qk_norm="l2"), WEIGHTS),
    "rms": (problem(8, qk_norm=NORMS[2]), [*WEIGHTS, "qk_norm.g_q", "qk_norm.g_k"]),
    "rms, heads": (problem(8, 2, 2, 1, qk_norm=NORMS[2]), [*WEIGHTS, "qk_norm.g_q", "qk_norm.g_k"]),
    "past": (
        problem(8, 2, past={"K": numbers(1, 2, 3), "V": numbers(2, 2, 2)}, mask="causal"),
        [*WEIGHTS, "past.K", "past.V"],
    ),
    "past, heads": (
        problem(8, 2, 2, 1, past={"K": numbers(1, 1, 3), "V": numbers(2, 1, 2)}),
        [*WEIGHTS, "past.K", "past.V"],
    ),
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
    "rms": {"qk_norm": NORMS[2], "mask": {"window": [100, 0]}},
    "past": {"past": {"K": numbers(1, 99, 6), "V": numbers(2, 99, 4)}, "mask": "causal"},
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
