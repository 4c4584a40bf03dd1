"""Laws that hold for every input, tried on what hypothesis thinks of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import attncli
from attncli.methods import streaming

settings.register_profile("laws", deadline=None, max_examples=60)
settings.load_profile("laws")

NUMBERS = st.floats(-4, 4).map(lambda x: round(x, 3))
SIZES = st.integers(1, 4)


@st.composite
def matrices(draw: st.DrawFn, *letters: str) -> list[Any]:
    """Return matrices whose shapes are pairs of letters, such as "nd md mv"; one size a letter."""
    size = {letter: draw(SIZES) for letter in "".join(letters)}
    return [draw(arrays(float, tuple(size[x] for x in pair), elements=NUMBERS)) for pair in letters]


def output(**keys: Any) -> Any:
    return attncli.compute(attncli.Problem(**keys)).output


def equal(a: Any, b: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-13)


@given(matrices("nd", "dk", "dk", "dv"))
def test_one_head_with_identity_w_o_is_a_single_head(m: list[Any]) -> None:
    x, w_q, w_k, w_v = m
    single = {"X": x, "W_q": w_q, "W_k": w_k, "W_v": w_v}
    equal(output(**single), output(**single, heads=1, W_o=np.eye(w_v.shape[1])))


@given(matrices("nd", "md", "mv"))
def test_scaled_dot_times_root_d_k_is_dot(m: list[Any]) -> None:
    q, k, v = m
    trace = attncli.compute(attncli.Problem(Q=q, K=k, V=v))
    plain = attncli.compute(attncli.Problem(Q=q, K=k, V=v, score="dot"))
    last = trace["scaled"] if "scaled" in trace else trace["scores"]
    equal(last.value * np.sqrt(q.shape[1]), plain["scores"].value)


@given(matrices("nd", "md", "mv"))
def test_general_with_identity_is_dot(m: list[Any]) -> None:
    q, k, v = m
    general = {"name": "general", "W": np.eye(q.shape[1])}
    equal(output(Q=q, K=k, V=v, score=general), output(Q=q, K=k, V=v, score="dot"))


@given(matrices("nd", "mk", "mv", "hd", "hk", "hh"))
def test_concat_with_w_u_side_by_side_is_additive(m: list[Any]) -> None:
    q, k, v, w, u, h = m
    additive = {"name": "additive", "W": w, "U": u, "v": h[0], "b": h[-1]}
    concat = {"name": "concat", "W": np.hstack([w, u]), "v": h[0], "b": h[-1]}
    equal(output(Q=q, K=k, V=v, score=additive), output(Q=q, K=k, V=v, score=concat))


@given(matrices("nd", "md", "mv"), st.floats(0.01, 100))
def test_cosine_ignores_the_length_of_a_vector(m: list[Any], factor: float) -> None:
    q, k, v = m
    q, k = q + 5, k + 5  # no vector of zeros
    equal(output(Q=q, K=k, V=v, score="cosine"), output(Q=q * factor, K=k, V=v, score="cosine"))


@given(matrices("nm", "mv"), st.integers(-50, 50))
def test_softmax_ignores_a_constant_added_to_a_row(m: list[Any], constant: int) -> None:
    scores, v = m
    moved = scores.copy()
    moved[0] += constant
    equal(output(scores=scores, V=v), output(scores=moved, V=v))


@given(matrices("nh", "mh", "mh"), st.integers(1, 3), st.booleans())
def test_grouped_heads_of_one_each_are_multi_head(m: list[Any], heads: int, causal: bool) -> None:
    q, k, v = (np.tile(a, heads) for a in m)
    given_ = {"Q": q, "K": k, "V": v, "heads": heads, "mask": {"causal": causal, "offset": 9}}
    equal(output(**given_), output(**given_, kv_heads=heads))


@given(matrices("nd"))
def test_last_causal_row_is_the_unmasked_one(m: list[Any]) -> None:
    (x,) = m
    equal(output(X=x, mask="causal")[-1], output(X=x)[-1])


@given(matrices("nd", "de", "dk", "dk", "dv", "vo"), st.booleans())
def test_columns_are_rows_transposed(m: list[Any], causal: bool) -> None:
    """Every step of a problem whose inputs are transposed is the transposed step."""
    x, _, w_q, w_k, w_v, w_o = m
    keys = {"X": x, "W_q": w_q, "W_k": w_k, "W_v": w_v, "W_o": w_o}
    mask = {"causal": causal}
    rows = attncli.compute(attncli.Problem(**keys, mask=mask))
    turned = {key: array.T for key, array in keys.items()}
    columns = attncli.compute(attncli.Problem(**turned, mask=mask, tokens_as="columns"))
    assert [step.name for step in rows] == [step.name for step in columns]
    for step in rows:
        equal(columns[step.name].value, step.value.T, rtol=1e-11)


@given(matrices("nd", "md", "mv"), st.randoms())
def test_the_order_of_keys_and_values_does_not_matter(m: list[Any], random: Any) -> None:
    q, k, v = m
    order = list(range(len(k)))
    random.shuffle(order)
    equal(output(Q=q, K=k, V=v), output(Q=q, K=k[order], V=v[order]))


@given(matrices("nd", "md", "mv"), st.sampled_from(["softmax", "sparsemax", "hardmax"]))
def test_weights_of_a_row_sum_to_1_and_blocked_ones_are_0(m: list[Any], name: str) -> None:
    q, k, v = m
    block = np.zeros((len(q), len(k)))
    block[:, : len(k) - 1] = np.random.default_rng(0).integers(0, 2, (len(q), len(k) - 1))
    trace = attncli.compute(attncli.Problem(Q=q, K=k, V=v, mask={"block": block}, normalize=name))
    weights = trace["weights"].value
    equal(weights.sum(axis=1), 1)
    assert (weights[block == 1] == 0).all()


STREAMED: list[dict[str, Any]] = [
    {},
    {"mask": "causal"},
    {"mask": {"window": [2, 1], "align": "bottom-right"}},
    {"bias": np.linspace(-1, 1, 7 * 7).reshape(7, 7)},
    {"bias": np.linspace(-1, 1, 7)},
    {"heads": 2},
    {"heads": 2, "kv_heads": 1, "W_k": np.eye(4)[:, :2], "W_v": np.eye(4)[:, :2]},
    {"softcap": 2, "normalize": "sparsemax"},
    {"score": {"name": "additive", "W": np.eye(4)[:3], "U": np.eye(4)[1:], "v": [1, -2, 3]}},
    {"score": "cosine", "normalize": {"temperature": 0.1}},
    {"W_o": np.eye(4)[:, :3], "b_o": [1, 2, 3]},
]


@pytest.mark.parametrize("keys", STREAMED, ids=lambda keys: ",".join(keys) or "plain")
@pytest.mark.parametrize("batch", [False, True])
def test_streamed_is_plain(
    keys: dict[str, Any], batch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some queries at a time give the same output as all of them."""
    x = np.random.default_rng(3).normal(size=(2, 7, 4) if batch else (7, 4))
    problem = attncli.Problem(X=x, **keys)
    plain = attncli.compute(problem)
    monkeypatch.setattr(streaming, "LARGE", 1)
    monkeypatch.setattr(streaming, "BLOCK", 15)
    streamed = attncli.compute(problem, only=("output",))
    assert "weights" not in streamed
    equal(streamed.output, plain.output)
    assert streamed.warnings == plain.warnings


def test_streaming_never_makes_the_square_matrix() -> None:
    """Twenty thousand tokens: the scores alone would take 3.2 GB."""
    import tracemalloc

    x = np.random.default_rng(0).normal(size=(20_000, 8))
    problem = attncli.Problem(X=x, mask="causal")
    tracemalloc.start()
    attncli.compute(problem, only=("output",))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6
