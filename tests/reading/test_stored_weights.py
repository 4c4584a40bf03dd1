"""Weights as programs store them: (out, in), and under the names that a state_dict has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.errors import InputError
from attncli.core.problem.key_values import WEIGHTS, hint_for
from tests.conftest import cases, table
from tests.reading.forms import npz, refusal_of

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


def test_the_default_is_not_written_into_results() -> None:
    assert "weights_as" not in attncli.Problem(X=X).options()
    assert attncli.Problem(X=X, weights_as="out_in").options()["weights_as"] == "out_in"


@cases("stored_weights", "misfits")
def test_weights_that_do_not_fit_are_refused_as_they_are_written(
    given: dict[str, Any], said: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        attncli.Problem(X=X, **given)
    (fault,) = caught.value.faults
    fact, way_out = said
    assert fact in fault.message
    assert way_out in fault.hint


@pytest.mark.parametrize("word", table("stored_weights", "hints"))
def test_names_of_a_state_dict_are_hinted_at(word: str, tmp_path: Path) -> None:
    hint = table("stored_weights", "hints")[word]
    assert hint_for(word) == hint
    (fault,) = refusal_of(tmp_path, npz(**{"X": X, word: np.ones((4, 4))}), ".npz").faults
    assert (fault.message, fault.hint) == (f"unknown key {word}", hint)
