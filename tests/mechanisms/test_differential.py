"""Differential attention: numbers of DiffLlama and of 50 digits, laws, derivatives, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.attention import weights
from tests.conftest import DATA, Attn
from tests.mechanisms.test_todays_attention import HEADS, SEEDS, check_gradients, numbers, output
from tests.oracles import reference

Keys = dict[str, Any]

RECORDED = DATA / "recorded"
DIFFLLAMA = [json.loads(line) for line in (RECORDED / "diffllama.jsonl").read_text().splitlines()]
"""Problems, and the output of transformers' module in float64: `benchmarks/differential.py`."""

PROBLEMS = RECORDED / "differential_problems.jsonl"
"""Random problems: `python -m benchmarks.surveys.differential --record`."""

VECTORS = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")
LAMBDAS = st.floats(-2, 2)


def problem(seed: int, heads: int = 1, kv_heads: int = 1, **more: Any) -> Keys:
    """Return the keys of a problem whose halves have 3 features; d_v is 2."""
    keys: Keys = {
        "X": numbers(seed, 3, 4),
        "W_q": numbers(seed + 1, 4, 6 * heads),
        "W_k": numbers(seed + 2, 4, 6 * kv_heads),
        "W_v": numbers(seed + 3, 4, 2 * kv_heads),
    }
    shared = {"heads": heads, "kv_heads": kv_heads} if heads > 1 else {}
    return keys | shared | more


def learned(seed: int, **more: Any) -> Keys:
    vectors = {name: numbers(seed + place, 3) for place, name in enumerate(VECTORS)}
    return {"lambda_init": 0.8, **vectors, **more}


def half(matrix: Any, heads: int, number: int) -> Any:
    """Return the columns of one half of each head."""
    return matrix.reshape(4, heads, 2, -1)[:, :, number].reshape(4, -1)


@pytest.mark.parametrize("case", DIFFLLAMA)
def test_diffllama(case: Keys) -> None:
    trace = attncli.compute(attncli.Problem(**case["problem"]))
    np.testing.assert_allclose(trace.output, case["output"], rtol=1e-9, atol=1e-12)


def test_random_problems_are_those_of_50_digits() -> None:
    for line in PROBLEMS.read_text().splitlines():
        keys = json.loads(line)
        reference.check(attncli.compute(attncli.Problem(**keys)), reference.solve(**keys))


@settings(max_examples=40, deadline=None)
@given(SEEDS, HEADS, LAMBDAS, st.sampled_from([{}, {"mask": "causal"}, {"positions": "alibi"}]))
def test_it_is_two_attentions(seed: int, heads: Any, factor: float, more: Keys) -> None:
    """(A_1 − λ A_2) V = A_1 V − λ A_2 V; with λ = 0, it is the attention of the first halves."""
    keys = problem(seed, *heads, **more)

    def of_half(number: int) -> Any:
        w_q, w_k = half(keys["W_q"], heads[0], number), half(keys["W_k"], heads[1], number)
        return output(keys | {"W_q": w_q, "W_k": w_k})

    found = output(keys | {"differential": {"lambda": factor}})
    np.testing.assert_allclose(found, of_half(0) - factor * of_half(1), rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(output(keys | {"differential": {"lambda": 0}}), of_half(0))


@settings(max_examples=40, deadline=None)
@given(SEEDS, HEADS, LAMBDAS)
def test_rows_sum_to_1_minus_lambda(seed: int, heads: Any, factor: float) -> None:
    keys = problem(seed, *heads, differential={"lambda": factor})
    rows = attncli.compute(attncli.Problem(**keys))["weights"].value.sum(axis=-1)
    np.testing.assert_allclose(rows, np.full_like(rows, 1 - factor), rtol=1e-13, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(SEEDS, HEADS, st.sampled_from([0.25, 0.5, 2.0]))
def test_exchanged_halves(seed: int, heads: Any, factor: float) -> None:
    """A_2 − 1/λ A_1 is −1/λ times A_1 − λ A_2."""
    keys = problem(seed, *heads)
    counts = {"W_q": heads[0], "W_k": heads[1]}
    other = keys | {
        key: np.concatenate(
            [half(keys[key], count, number).reshape(4, count, 3) for number in (1, 0)], axis=-1
        ).reshape(4, -1)
        for key, count in counts.items()
    }
    found = output(other | {"differential": {"lambda": 1 / factor}})
    expected = output(keys | {"differential": {"lambda": factor}})
    np.testing.assert_allclose(found, -expected / factor, rtol=1e-12, atol=1e-14)


@settings(max_examples=20, deadline=None)
@given(SEEDS, HEADS, st.booleans(), st.booleans())
def test_other_ways_to_write_it_give_the_same(
    seed: int, heads: Any, has_norm: bool, is_masked: bool
) -> None:
    """Tokens as columns, weights (out, in), a matrix per head, a batch, Q and K given, in tiles."""
    more: Keys = {"mask": "causal"} if is_masked else {"qk_norm": "rms"}
    more |= {"differential": learned(seed, **({"norm": "rms"} if has_norm else {}))}
    keys = problem(seed, *heads, W_o=numbers(seed, 2 * heads[0], 3), **more)
    trace = attncli.compute(attncli.Problem(**keys))
    turned = {key: keys[key].T for key in ("W_q", "W_k", "W_v", "W_o")}
    columns = output(keys | turned | {"X": keys["X"].T, "tokens_as": "columns"})
    out_in = output(keys | turned | {"weights_as": "out_in"})
    batch = output(keys | {"X": np.stack([keys["X"], -keys["X"]])})
    counts = zip(("W_q", "W_k", "W_v"), (heads[0], heads[1], heads[1]), strict=True)
    stacked = {key: np.stack(np.split(keys[key], count, axis=1)) for key, count in counts}
    by_head = output(keys | stacked) if heads[1] > 1 else trace.output
    without = {key: x for key, x in keys.items() if key not in ("W_q", "W_k", "W_v")}
    direct = output(without | {name: trace[name].value for name in "QKV"})
    few = weights.MANY_SCORES
    try:
        weights.MANY_SCORES = 1
        tiles = attncli.compute(attncli.Problem(**keys), only="output")
    finally:
        weights.MANY_SCORES = few
    assert "weights_1" not in tiles
    for other in (columns.T, out_in, batch[0], by_head, direct, tiles.output):
        np.testing.assert_allclose(other, trace.output, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("heads", [(1, 1), (2, 1)])
@pytest.mark.parametrize("norm", [{}, {"norm": "rms", "eps": 0.5, "gain": [1.5, -0.5]}])
def test_gradients_are_those_of_differences(heads: tuple[int, int], norm: Keys) -> None:
    keys = problem(5, *heads, mask="causal", differential=learned(7, **norm))
    paths = ["X", "W_q", "W_k", "W_v", *(f"differential.{name}" for name in VECTORS)]
    check_gradients(keys, [*paths, *(["differential.gain"] if norm else [])])
    given_ = problem(5, *heads, differential={"lambda": [0.5] * heads[0]})
    check_gradients(given_, ["X", "W_q", "W_k", "differential.lambda"])


def test_steps_formulas_and_an_update() -> None:
    more = learned(1, norm="rms")
    keys = problem(1, 2, 2, differential=more, gradient="sum", learning_rate=0.5)
    trace = attncli.compute(attncli.Problem(**keys))
    steps = ["Q_1", "K_1", "scores_1", "scaled_1", "exp_1", "sum_1", "weights_1"]
    steps += [name.replace("1", "2") for name in steps]
    last = "lambda weights context mean_square_context normed_context rescaled_context output"
    assert [*trace.steps][3:24] == [*steps, *last.split()]
    names = ("Q_2", "lambda", "weights", "rescaled_context", "d_K", "d_weights_2")
    assert [trace[name].formula for name in names] == [
        "Q_2 = columns 4 to 6 of Q",
        "lambda = e^(lambda_q1 · lambda_k1) − e^(lambda_q2 · lambda_k2) + lambda_init",
        "weights = weights_1 − lambda · weights_2",
        "rescaled_context = (1 − lambda_init) · normed_context",
        "d_K = (d_K_1 in columns 1 to 3) + (d_K_2 in columns 4 to 6)",
        "d_weights_2 = −d_weights ⊙ lambda",
    ]
    new = more["lambda_q1"] - 0.5 * trace["d_differential.lambda_q1"].value
    np.testing.assert_allclose(trace["new_differential.lambda_q1"].value, new)
    assert "new_differential.lambda_init" not in trace  # which is no weight


def test_in_each_layer() -> None:
    layers = [
        {f"W_{letter}": numbers(seed, 4, 4) for letter in "qkvo"}
        | {f"W_{number}": numbers(number, 4, 4) for number in (1, 2)}
        | {"differential": {"lambda": seed / 4, "lambda_init": seed / 5, "norm": "rms"}}
        for seed in (1, 2)
    ]
    keys: Keys = {"kind": "transformer", "X": numbers(5, 3, 4), "layers": layers, "heads": 2}
    trace = attncli.compute(attncli.Problem(**keys, gradient="sum"))
    for number in (1, 2):
        name = f"layers.{number}"
        first, second = (trace[f"{name}.weights_{half}"].value for half in (1, 2))
        found = trace[f"{name}.weights"].value
        np.testing.assert_allclose(found, first - number / 4 * second, rtol=1e-13)
        normed = trace[f"{name}.normed_context"].value
        expected = (1 - number / 5) * normed
        np.testing.assert_allclose(trace[f"{name}.rescaled_context"].value, expected, rtol=1e-13)
        assert f"d_{name}.differential.lambda" in trace


HALF = {"lambda": 0.5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"differential": 3}, "differential must be a mapping"),
        ({"differential": {"lambda_init": 0.8, "norm": "rms"}}, "needs either lambda or lambda_q1"),
        ({"differential": learned(1, **HALF)}, "needs either lambda or lambda_q1"),
        ({"differential": {"lambda_q1": [1, 2, 3]}}, "lambda_q1 needs lambda_k1, lambda_q2, lamb"),
        ({"differential": {**HALF, "lambda_init": 0.8}}, "lambda_init needs lambda_q1 or norm"),
        ({"differential": {**HALF, "norm": "rms"}}, "differential.norm needs lambda_init"),
        ({"differential": {**HALF, "eps": 1}}, "differential.eps needs norm"),
        ({"differential": {"lambda": [1, 2, 3]}}, "differential.lambda has 3 numbers, but heads i"),
        ({"differential": learned(1, lambda_k2=[1, 2])}, r"has 2 numbers, but W_k has 12 columns"),
        ({"differential": HALF, "W_q": np.ones((4, 6))}, "4 halves need a multiple of 4 columns"),
        ({"differential": HALF, "kind": "decode"}, "differential has no use in kind decode"),
        (
            {"differential": HALF, "past": {"K": [[1]], "V": [[1]]}},
            "differential is given, so past",
        ),
        ({"differential": HALF, "online": {"tile": 2}}, "differential is given, so online has no"),
        ({"lambda_q1": [1]}, "unknown key lambda_q1\n  write differential: {lambda: 0.5}"),
    ],
)
def test_what_does_not_fit_is_refused(change: Keys, message: str) -> None:
    with pytest.raises(attncli.InputError, match=message):
        attncli.Problem(**problem(1, 2, 2) | change)


def test_lambda_may_be_an_expression_with_blanks() -> None:
    keys = problem(1, 2, 2)
    one = output(keys | {"differential": {"lambda": "0.8 - 0.6*exp(-0.3)"}})
    np.testing.assert_array_equal(
        one, output(keys | {"differential": {"lambda": [0.8 - 0.6 * np.exp(-0.3)] * 2}})
    )
    two = output(keys | {"differential": {"lambda": "1 -0.5"}})
    np.testing.assert_array_equal(two, output(keys | {"differential": {"lambda": [1, -0.5]}}))


@pytest.mark.parametrize(
    "name", ["lambda", "A_1", "weights_2", "Q_1", "lambda_init", "d_differential.lambda_q1"]
)
def test_names_are_accepted(name: str, attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "hw.json"
    keys = problem(1, differential=learned(2), gradient="sum")
    path.write_text(json.dumps(keys, default=lambda array: array.tolist()))
    result = attn("compute", path, "--only", name)
    assert (result.status, result.err) == (0, "")


@pytest.mark.parametrize("more", [{"differential": HALF}, {"kind": "decode"}])
def test_a_mistake_made_in_all_steps_alike_is_named(more: Keys) -> None:
    """In both halves, and at every time, where only the output shows it."""
    keys = problem(2, **more)
    wrong = output(keys | {"scale": 1})
    report = attncli.check(
        attncli.Problem(**keys), {"output": [[f"{x:.4f}" for x in row] for row in wrong]}
    )
    assert report.findings["output"].id == "not_scaled"


@pytest.mark.parametrize("options", [(), ("--heads", "2"), ("--kind", "transformer")])
def test_a_new_problem_may_be_differential(options: tuple[str, ...], attn: Attn) -> None:
    result = attn("new", "--differential", "{lambda: 0.5}", *options)
    assert result.status == 0, result.err
    computed = attn("compute", "-", "--only", "weights", stdin=result.out.encode())
    assert computed.status == 0, computed.err
