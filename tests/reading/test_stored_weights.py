"""Weights as programs store them: (out, in), and under the names that a state_dict has."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.errors import InputError
from attncli.core.problem.key_values import WEIGHTS, hint_for
from tests.conftest import Attn

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3, 4))
GROUPED: dict[str, Any] = {
    "X": X,
    "heads": 2,
    "kv_heads": 1,
    "W_q": RANDOM.normal(size=(4, 6)),
    "W_k": RANDOM.normal(size=(4, 3)),
    "W_v": RANDOM.normal(size=(4, 2)),
    "W_o": RANDOM.normal(size=(4, 5)),
    "gradient": "sum",
}
PER_HEAD: dict[str, Any] = {
    "X": X,
    "heads": 2,
    **{f"W_{side}": RANDOM.normal(size=(2, 4, 3)) for side in "qkv"},
}
CROSS: dict[str, Any] = {
    "kind": "cross",
    "X": X,
    "memory": RANDOM.normal(size=(2, 5)),
    "W_q": RANDOM.normal(size=(4, 3)),
    "W_k": RANDOM.normal(size=(5, 3)),
    "W_v": RANDOM.normal(size=(5, 2)),
}
DECODE: dict[str, Any] = {"kind": "decode", "X": X, "W_q": GROUPED["W_k"], "W_k": GROUPED["W_k"]}


def stored(keys: dict[str, Any]) -> dict[str, Any]:
    """Return the same problem with its weights stored (out, in)."""
    weights = [key for key in WEIGHTS.values() if key.startswith("W") and key in keys]
    turned = {key: keys[key].swapaxes(-1, -2) for key in weights}
    return {**keys, **turned, "weights_as": "out_in"}


@pytest.mark.parametrize("keys", [GROUPED, PER_HEAD, CROSS, DECODE])
def test_stored_weights_give_the_same_numbers(keys: dict[str, Any]) -> None:
    usual = attncli.compute(attncli.Problem(**keys))
    trace = attncli.compute(attncli.Problem(**stored(keys)))
    assert [*trace.steps] == [*usual.steps]
    for step in usual:
        np.testing.assert_array_equal(trace[step.name].value, step.value)
    for key, matrix in usual.inputs.items():
        np.testing.assert_array_equal(trace.inputs[key].value, matrix.value)


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "npz"])
def test_results_with_stored_weights_can_be_read_back(
    form: str, tmp_path: Path, attn: Attn
) -> None:
    problem = tmp_path / "p.npz"
    np.savez(problem, **stored({key: GROUPED[key] for key in GROUPED if key != "gradient"}))
    written = tmp_path / f"results.{form}"
    assert attn("compute", problem, "-o", written).status == 0
    before, after = attncli.load(problem), attncli.load(written)
    assert after.weights_as == "out_in"
    np.testing.assert_allclose(
        attncli.compute(after).output, attncli.compute(before).output, rtol=1e-14
    )


def test_the_default_is_not_written_into_results() -> None:
    assert "weights_as" not in attncli.Problem(X=X).options()
    assert attncli.Problem(X=X, weights_as="out_in").options()["weights_as"] == "out_in"


def said(**keys: Any) -> str:
    with pytest.raises(InputError) as caught:
        attncli.Problem(**keys)
    return str(caught.value)


def test_shapes_are_told_as_they_are_written() -> None:
    """X is (3, 4), so that a stored weight has 4 columns."""
    text = said(X=X, W_q=np.ones((2, 5)), weights_as="out_in")
    assert text.startswith("W_q has 5 columns, but X has 4 columns (X W_qᵀ needs them equal)")
    assert text.endswith("W_q is (2, 5); (2, 4) would fit")


def test_a_weight_that_would_fit_the_other_way_round() -> None:
    text = said(X=X, W_k=np.ones((4, 2)), weights_as="out_in")
    assert "its transpose would fit: is it stored (in, out)? leave out weights_as" in text
    text = said(X=X, W_k=np.ones((2, 4)))
    assert "its transpose would fit: is it stored (out, in)? write weights_as: out_in" in text


def test_columns_have_weights_of_out_in_already() -> None:
    text = said(X=X, W_q=np.ones((2, 3)), weights_as="out_in", tokens_as="columns")
    assert text.startswith("tokens_as: columns has weights of (out, in), so weights_as: out_in")
    assert text.endswith("leave one of them out")


def test_kinds_without_these_weights_refuse_the_key() -> None:
    text = said(kind="co_attention", X=X, memory=X, weights_as="out_in")
    assert "weights_as has no use in kind co_attention" in text
    assert "it is for kind: self or cross or decode" in text


AS_STORED = ", and weights_as: out_in, as nn.Linear stores (out, in)"
HINTS = {
    "q_proj.weight": f"write it under W_q{AS_STORED}",
    "self_attn.k_proj.weight": f"write it under W_k{AS_STORED}",
    "model.layers.0.self_attn.v_proj.bias": "write it under b_v",
    "out_proj.weight": f"write it under W_o{AS_STORED}",
    "o_proj.bias": "write it under b_o",
    "query.weight": f"write it under W_q{AS_STORED}",
    "attention.self.key.bias": "write it under b_k",
    "attention.output.dense.weight": f"write it under W_o{AS_STORED}",
    "SelfAttention.o.weight": f"write it under W_o{AS_STORED}",
    "h.0.attn.c_attn.weight": "write W_q, W_k and W_v, its columns in three equal parts",
    "c_attn.bias": "write b_q, b_k and b_v, its three equal parts",
    "c_proj.weight": "write it under W_o, as Conv1D stores (in, out)",
    "c_proj.bias": "write it under b_o",
    "in_proj_weight": (
        "write W_q, W_k and W_v, its rows in three equal parts, and weights_as: out_in"
    ),
    "in_proj_bias": "write b_q, b_k and b_v, its three equal parts",
    "self_attn.q_norm.weight": "write qk_norm: rms, or {name: rms, eps: 1e-6, g_q: …, g_k: …}",
    "self_attn.sinks": "write normalize: {name: softmax, sink: 0}, or the sinks of all heads",
}


@pytest.mark.parametrize("word", HINTS)
def test_names_of_a_state_dict_are_hinted_at(word: str, tmp_path: Path) -> None:
    assert hint_for(word) == HINTS[word]
    file = tmp_path / "p.npz"
    arrays: dict[str, Any] = {"X": X, word: np.ones((4, 4))}
    np.savez(file, **arrays)
    with pytest.raises(InputError) as caught:
        attncli.load(file)
    (fault,) = caught.value.faults
    assert (fault.message, fault.hint) == (f"unknown key {word}", HINTS[word])


def test_parts_of_keys_in_an_npz_file_are_still_parts() -> None:
    file = io.BytesIO()
    arrays: dict[str, Any] = {"V": [[1.0], [2.0]], "mask.keep": [[1, 0]]}
    np.savez(file, **arrays)
    from attncli.reading.arrays import read

    assert [*read(file)["mask"]] == ["keep"]
