"""Gates of attention: the numbers of Qwen3-Next and of 50 digits, laws, derivatives, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from tests.conftest import DATA, Attn
from tests.mechanisms.test_todays_attention import (
    HEADS,
    SEEDS,
    check_gradients,
    numbers,
    output,
    problem,
)
from tests.oracles import reference

Keys = dict[str, Any]

RECORDED = DATA / "recorded"
QWEN3_NEXT = [json.loads(line) for line in (RECORDED / "qwen3_next.jsonl").read_text().splitlines()]
"""Problems, and the output of transformers' module in float64: `benchmarks/gates.py`."""

PROBLEMS = RECORDED / "gate_problems.jsonl"
"""Random problems: `python -m benchmarks.surveys.gates --record`."""

LEARNED = ["X", "W_q", "W_k", "W_v", "gate.W", "gate.b"]


def with_gate(seed: int, heads: int, kv_heads: int, by_head: bool, **more: Any) -> Keys:
    """Return the keys of a problem with a gate; d_v is 2."""
    width = heads if by_head else 2 * heads
    gate = {"W": numbers(seed + 4, 4, width), "b": numbers(seed + 5, width)}
    return problem(seed, 3, heads, kv_heads, gate=gate, **more)


def turned(keys: Keys, which: tuple[str, ...]) -> Keys:
    """Return the keys with some matrices transposed, the gate's among them."""
    others = {key: keys[key].T for key in which if key in keys}
    return keys | others | {"gate": keys["gate"] | {"W": keys["gate"]["W"].T}}


@pytest.mark.parametrize("case", QWEN3_NEXT)
def test_qwen3_next(case: Keys) -> None:
    trace = attncli.compute(attncli.Problem(**case["problem"]))
    np.testing.assert_allclose(trace.output, case["output"], rtol=1e-9, atol=1e-12)


def test_random_problems_are_those_of_50_digits() -> None:
    for line in PROBLEMS.read_text().splitlines():
        keys = json.loads(line)
        reference.check(attncli.compute(attncli.Problem(**keys)), reference.solve(**keys))


@settings(max_examples=40, deadline=None)
@given(SEEDS, HEADS, st.booleans(), st.booleans())
def test_an_open_gate_changes_nothing(seed: int, heads: Any, by_head: bool, w_o: bool) -> None:
    """σ(40) is 1 to 1 ulp, and 0 in W leaves it everywhere."""
    keys = problem(seed, 3, *heads, mask="causal")
    keys |= {"W_o": numbers(seed, 2 * heads[0], 3)} if w_o else {}
    width = heads[0] if by_head else 2 * heads[0]
    open_ = {"W": np.zeros((4, width)), "b": np.full(width, 40.0)}
    trace = attncli.compute(attncli.Problem(**keys, gate=open_))
    np.testing.assert_array_max_ulp(trace["gate"].value, np.ones_like(trace["gate"].value), 1)
    expected = attncli.compute(attncli.Problem(**keys)).output
    np.testing.assert_allclose(trace.output, expected, rtol=1e-14, atol=1e-14)


@settings(max_examples=30, deadline=None)
@given(SEEDS, HEADS, st.booleans())
def test_other_ways_to_write_a_gate_give_the_same(seed: int, heads: Any, by_head: bool) -> None:
    """Tokens as columns, weights (out, in), a token at a time, a batch, in tiles."""
    w_o = numbers(seed, 2 * heads[0], 3)
    keys = with_gate(seed, heads[0], heads[1], by_head, mask="causal", W_o=w_o)
    expected = output(keys)
    weights = ("W_q", "W_k", "W_v", "W_o")
    columns = output(turned(keys, ("X", *weights)) | {"tokens_as": "columns"})
    out_in = output(turned(keys, weights) | {"weights_as": "out_in"})
    without_mask = {key: value for key, value in keys.items() if key != "mask"}
    batch = output(keys | {"X": np.stack([keys["X"], -keys["X"]])})
    for other in (columns.T, out_in, output(without_mask | {"kind": "decode"}), batch[0]):
        np.testing.assert_allclose(other, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("heads", "w_o"), [(1, False), (2, True)])
@pytest.mark.parametrize("by_head", [False, True])
def test_gradients_are_those_of_differences(heads: int, w_o: bool, by_head: bool) -> None:
    more = {"W_o": numbers(3, 2 * heads, 2)} if w_o else {"mask": "causal"}
    check_gradients(with_gate(5, heads, 1, by_head, **more), LEARNED)


def test_steps_formulas_and_an_update() -> None:
    keys = with_gate(1, 2, 2, False, W_o=numbers(2, 4, 4), gradient="sum", learning_rate=0.5)
    trace = attncli.compute(attncli.Problem(**keys))
    after = list(trace.steps)[list(trace.steps).index("context") :]
    assert after[:5] == ["context", "gate", "gated", "concat", "output"]
    formulas = {name: trace[name].formula for name in ("gate", "gated", "d_gate.W", "d_net_gate")}
    assert list(formulas.values()) == [
        "gate = σ(X W_gate + b_gate)",
        "gated = context ⊙ gate",
        "d_gate.W = Xᵀ d_net_gate",
        "d_net_gate = gate ⊙ (d_gate − d_gate ⊙ gate)",
    ]
    new = keys["gate"]["W"] - 0.5 * trace["d_gate.W"].value
    np.testing.assert_allclose(trace["new_gate.W"].value, new)


def test_a_gate_in_each_layer() -> None:
    """The steps of the feed-forward network keep their names beside those of the gate."""
    layers = [
        {f"W_{letter}": numbers(seed, 4, 4) for letter in "qkvo"}
        | {f"W_{number}": numbers(number, 4, 4) for number in (1, 2, 3)}
        | {"gate": {"W": numbers(seed, 4, 4), "b": numbers(seed + 1, 4)}}
        for seed in (1, 2)
    ]
    keys: Keys = {"kind": "transformer", "X": numbers(5, 3, 4), "layers": layers, "heads": 2}
    trace = attncli.compute(attncli.Problem(**keys, activation="silu", gradient="sum"))
    for number, layer in enumerate(layers, 1):
        name = f"layers.{number}"
        x = trace[f"{name}.normed_1"].value
        gate = 1 / (1 + np.exp(-(x @ layer["gate"]["W"] + layer["gate"]["b"])))
        found = np.concatenate([*trace[f"{name}.gate"].value], axis=-1)
        np.testing.assert_allclose(found, gate, rtol=1e-13)
        products = trace[f"{name}.context"].value * trace[f"{name}.gate"].value
        np.testing.assert_array_equal(trace[f"{name}.gated_context"].value, products)
        assert trace[f"{name}.gated"].formula == f"{name}.gated = activated ⊙ value"
        assert f"d_{name}.gate.W" in trace


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gate": {"b": [1, 2]}}, "gate needs W"),
        ({"gate": 3}, "gate must be a mapping"),
        ({"gate": {"W": np.ones((4, 3))}}, "does not divide the 3 columns of gate.W"),
        ({"gate": {"W": np.ones((3, 2))}}, "gate.W has 3 rows, but X has 4 columns"),
        ({"gate": {"W": np.ones((4, 6))}}, r"gate.W has 6 columns \(2 heads of 3\), but W_v has"),
        ({"gate": {"W": np.ones((4, 2)), "b": [1]}}, "gate.b has 1 number, but heads is 2"),
        ({"gate": {"W": np.ones((4, 2)), "c": 1}}, "unknown key c in gate"),
        ({"kind": "co_attention"}, "gate has no use in kind co_attention"),
        ({"W_g": np.ones((4, 2))}, "unknown key W_g"),
    ],
)
def test_what_does_not_fit_is_refused(change: Keys, message: str) -> None:
    with pytest.raises(attncli.InputError, match=message):
        attncli.Problem(**with_gate(1, 2, 2, True) | change)


def test_a_gate_needs_x() -> None:
    given_: Keys = {"Q": [[1, 0]], "K": [[1, 0]], "V": [[1, 0]], "gate": {"W": [[1], [1]]}}
    with pytest.raises(attncli.InputError, match="gate has no use without X"):
        attncli.Problem(**given_)


@pytest.mark.parametrize("name", ["d_W_gate", "d_gate.W", "gate", "W_gate", "b_gate"])
def test_names_are_accepted(name: str, attn: Attn) -> None:
    result = attn("compute", "sample_inputs/gate.yaml", "--gradient", "sum", "--only", name)
    assert (result.status, result.err) == (0, "")


@pytest.mark.parametrize("options", [(), ("--heads", "2"), ("--kind", "transformer")])
@pytest.mark.parametrize("word", ["heads", "features"])
def test_a_new_problem_may_have_a_gate(word: str, options: tuple[str, ...], attn: Attn) -> None:
    result = attn("new", "--set", f"gate={word}", *options)
    assert result.status == 0, result.err
    computed = attn("compute", "-", "--only", "gate", stdin=result.out.encode())
    assert computed.status == 0, computed.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("gate=x",), "unknown gate x\n  known: heads, features"),
        (("gate=heads", "--kind", "pooling"), "gate has no use in kind pooling"),
    ],
)
def test_a_new_gate_that_cannot_be(options: tuple[str, ...], message: str, attn: Attn) -> None:
    result = attn("new", "--set", *options)
    assert result.status == 2
    assert message in result.err
