"""Linear attention with a state and the delta rule: numbers of others, laws, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from tests.conftest import DATA, Attn
from tests.mechanisms.test_todays_attention import SEEDS, check_gradients, numbers, output
from tests.oracles import reference

Keys = dict[str, Any]

RECORDED = DATA / "recorded"
PROBLEMS = RECORDED / "delta_problems.jsonl"
"""Random problems: `python -m benchmarks.surveys.delta --record`."""

NODE_TESTS = np.load(RECORDED / "delta_onnx_node_tests.npz")
"""ONNX's node tests of LinearAttention, as they are: `python -m benchmarks.delta`."""

RULES = st.sampled_from(["linear", "gated", "delta", "gated_delta"])
HEADS = st.sampled_from([(1, 1), (2, 2), (4, 2), (2, 1)])

HAND: Keys = {
    "kind": "delta",
    "Q": [[1, 0], [0, 1], [1, 1]],
    "K": [[1, 0], [1, 0], [0, 1]],
    "V": [[1, 2], [3, 4], [5, 6]],
}
"""An example worked by hand, with β = 1, ½, 1."""


def recorded(name: str) -> list[Keys]:
    return [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]


def problem(seed: int, rule: str, heads: int = 1, kv_heads: int = 1, **more: Any) -> Keys:
    """Return the keys of a problem of 4 tokens, with d_k = 3 and d_v = 2."""
    keys: Keys = {"kind": "delta", "update": rule, "Q": numbers(seed, 4, 3 * heads)}
    keys |= {"K": numbers(seed + 1, 4, 3 * kv_heads), "V": numbers(seed + 2, 4, 2 * kv_heads)}
    for place, name in enumerate(("gated", "delta")):
        if name in rule:
            rates = np.random.default_rng([seed, place]).uniform(0.1, 1, (4, kv_heads))
            keys[("alpha", "beta")[place]] = rates
    shared = {"heads": heads, "kv_heads": kv_heads} if heads > 1 else {}
    return keys | shared | more


def computed(keys: Keys) -> attncli.Trace:
    return attncli.compute(attncli.Problem(**keys))


def last_state(trace: attncli.Trace) -> Any:
    return [step for step in trace if step.stem == "S"][-1].value


CASES = [*recorded("delta_onnx.jsonl"), *recorded("delta_qwen3_next.jsonl")]


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_onnx_and_qwen3_next_in_float64(case: Keys) -> None:
    trace = computed(case["problem"])
    state = np.reshape(last_state(trace), np.shape(case["state"]))
    np.testing.assert_allclose(trace.output, case["output"], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(state, case["state"], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("test", sorted({name.partition(".")[0] for name in NODE_TESTS.files}))
def test_onnx_node_tests(test: str) -> None:
    """The operator works, and here is calculated, in float32; float16 is of what it gives."""
    arrays = {name: NODE_TESTS[name] for name in NODE_TESTS.files if name.startswith(f"{test}.")}
    keys: Keys = {name.partition(".")[2]: a if a.ndim else a.item() for name, a in arrays.items()}
    expected, state = keys.pop("output"), keys.pop("state")
    trace = computed(keys)
    error = 8 * np.finfo(expected.dtype).eps
    np.testing.assert_allclose(trace.output, expected, rtol=error, atol=4 * error)
    np.testing.assert_allclose(last_state(trace), state, rtol=error, atol=4 * error)


def test_the_example_worked_by_hand() -> None:
    trace = computed(HAND | {"beta": [1, "1/2", 1]})
    assert trace.output.tolist() == [[1, 2], [0, 0], [7, 9]]
    steps = {"read_2": [1, 2], "error_2": [2, 2], "S_2": [[2, 3], [0, 0]], "read_3": [0, 0]}
    assert {name: trace[name].value.tolist() for name in steps} == steps
    formulas = [trace[name].formula for name in ("q_2", "read_2", "error_2", "S_2", "o_2")]
    assert formulas == [
        "q_2 (given)",
        "read_2 = k_2 S_1",
        "error_2 = v_2 − read_2",
        "S_2 = S_1 + beta_2 k_2ᵀ error_2",
        "o_2 = q_2 S_2",
    ]


def test_what_has_faded_is_read() -> None:
    """As in Gated DeltaNet and in programs: the state of before, times α, answers the key."""
    trace = computed(HAND | {"alpha": [1, 0.5, 1]})
    assert trace.problem.update == "gated_delta"
    assert trace["decayed_2"].formula == "decayed_2 = alpha_2 S_1"
    assert trace["read_2"].formula == "read_2 = k_2 decayed_2"
    assert trace["read_2"].value.tolist() == [0.5, 1]
    assert trace["S_2"].value.tolist() == [[3, 4], [0, 0]]  # β = 1: the key has its new value


def test_random_problems_are_those_of_50_digits() -> None:
    for keys in recorded(PROBLEMS.name):
        reference.check(computed(keys), reference.solve(**keys))


@settings(max_examples=40, deadline=None)
@given(SEEDS, HEADS, RULES)
def test_no_fading_and_no_brake_change_nothing(seed: int, heads: Any, rule: str) -> None:
    """α = 1 is no α, and β = 1 is no β."""
    keys = problem(seed, rule, *heads)
    ones = {name: np.ones((4, heads[1])) for name in ("alpha", "beta") if name in keys}
    without = {key: value for key, value in keys.items() if key not in ("alpha", "beta")}
    plain = without | {"update": rule.removeprefix("gated_").replace("gated", "linear")}
    np.testing.assert_array_equal(output(keys | ones), output(plain))


@settings(max_examples=40, deadline=None)
@given(SEEDS, HEADS)
def test_linear_attention_is_a_causal_sum(seed: int, heads: Any) -> None:
    """o_t = Σ (q_t·k_s) v_s of all s ≤ t, neither scaled nor normalised."""
    keys = problem(seed, "linear", *heads)
    as_scores = {"score": "dot", "mask": "causal", "normalize": "none"}
    attention = {key: keys[key] for key in keys if key not in ("kind", "update")} | as_scores
    np.testing.assert_allclose(output(keys), output(attention), rtol=1e-11, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.permutations(range(3)))
def test_orthonormal_keys_make_a_table(seed: int, order: list[int]) -> None:
    """With β = 1, a key that was written before forgets its old value; others are not touched."""
    turn = np.linalg.qr(numbers(seed, 3, 3))[0]
    k = turn[[*order, order[0]]]
    keys = {"kind": "delta", "Q": k[[0, 1, 2, 0]], "K": k, "V": numbers(seed + 1, 4, 2)}
    trace = computed(keys)
    np.testing.assert_allclose(trace.output, keys["V"], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(k[1:] @ last_state(trace), keys["V"][1:], rtol=1e-12, atol=1e-13)


@settings(max_examples=30, deadline=None)
@given(SEEDS, RULES, st.integers(1, 3))
def test_a_state_goes_on(seed: int, rule: str, at: int) -> None:
    """The tokens of a text in two problems, the second from the last state of the first."""
    keys = problem(seed, rule, 2, 1)
    by_token = [key for key in keys if np.ndim(keys[key]) == 2]
    first, second = (
        keys | {key: keys[key][part] for key in by_token}
        for part in (slice(0, at), slice(at, None))
    )
    one = computed(first)
    two = computed(second | {"S_0": last_state(one)})
    both = np.concatenate([one.output, two.output])
    np.testing.assert_allclose(both, output(keys), rtol=1e-12, atol=1e-13)


@settings(max_examples=30, deadline=None)
@given(SEEDS, HEADS, RULES)
def test_other_ways_to_write_it_give_the_same(seed: int, heads: Any, rule: str) -> None:
    """Tokens as columns, a batch, a rate per feature, equal for all features of a head."""
    keys = problem(seed, rule, *heads, W_o=numbers(seed, 2 * heads[0], 3))
    expected = output(keys)
    turned = {key: np.transpose(x) for key, x in keys.items() if np.ndim(x) == 2}
    columns = output(keys | turned | {"tokens_as": "columns"})
    np.testing.assert_allclose(columns.T, expected, rtol=1e-12, atol=1e-13)
    if "alpha" in keys:
        wide = output(keys | {"alpha": np.repeat(keys["alpha"], 3, axis=1)})
        np.testing.assert_allclose(wide, expected, rtol=1e-12, atol=1e-13)
    if heads == (1, 1):
        several = {key: np.stack([x, x]) for key, x in keys.items() if np.shape(x)[:1] == (4,)}
        np.testing.assert_allclose(output(keys | several)[1], expected, rtol=1e-12, atol=1e-13)


GRADIENTS: dict[str, tuple[Keys, list[str]]] = {
    "linear": (problem(1, "linear"), ["Q", "K", "V"]),
    "gated_delta": (problem(2, "gated_delta", 2, 1), ["Q", "K", "V", "alpha", "beta"]),
    "features": (
        problem(3, "delta") | {"update": "gated_delta", "alpha": numbers(3, 4, 3)},
        ["Q", "K", "V", "alpha", "beta"],
    ),
    "weights": (
        {
            **{"kind": "delta", "heads": 2, "X": numbers(4, 3, 4), "S_0": numbers(5, 2, 2, 2)},
            **{f"W_{name}": numbers(6, 4, 4) for name in "qkv"},
            **{"W_alpha": numbers(7, 4, 4), "b_alpha": numbers(7, 4), "W_beta": numbers(8, 4, 2)},
            **{"b_beta": numbers(8, 2), "qk_norm": "l2", "scale": "1/sqrt(d_k)"},
        },
        ["X", "W_q", "W_k", "W_v", "W_alpha", "b_alpha", "W_beta", "b_beta", "S_0"],
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_differences(name: str) -> None:
    check_gradients(*GRADIENTS[name])


def test_gradients_of_rates_are_steps() -> None:
    keys = problem(1, "gated_delta", gradient="sum", learning_rate=0.1)
    trace = computed(keys)
    assert trace["d_alpha"].formula.startswith(
        "d_alpha = (d_decayed_1 ⊙ S_0 summed over key features"
    )
    assert trace["d_decayed_2"].formula == "d_decayed_2 = k_2ᵀ d_read_2 + d_S_2"


@pytest.mark.parametrize("sample", ["delta", "delta_gated"])
def test_rates_are_explained_by_the_names_in_formulas(sample: str, attn: Attn) -> None:
    """`beta_2` is an other name of shift_2, the vector of a norm, where there is no beta."""
    result = attn("explain", f"sample_inputs/{sample}.yaml", "beta_2")
    assert result.err == ""
    assert "beta[love, 1] = " in result.out


REFUSED: list[tuple[Keys, str]] = [
    ({"update": "plain"}, "update plain has no use in kind delta"),
    ({"update": "linear", "beta": [1, 1, 1]}, "beta has no use with update: linear"),
    ({"update": "delta", "alpha": [1, 1, 1]}, "alpha has no use with update: delta"),
    ({"update": "gated_delta"}, "update: gated_delta has no use without alpha"),
    ({"beta": [1, 1]}, "beta has 2 rows, but Q has 3 rows"),
    ({"beta": [[1, 1]] * 3}, "beta has 2 columns, but there is one number per head"),
    ({"alpha": [[1, 1, 1]] * 3}, "alpha has 3 columns"),
    ({"W_beta": [[1], [1]]}, "W_beta has no use without X"),
    ({"beta": [1, 1, 1], "W_beta": [[1], [1]]}, "beta is given, so W_beta has no use"),
    ({"X": [[1], [1], [1]], "b_beta": [1]}, "b_beta has no use without W_beta"),
    ({"S_0": [[1, 0]]}, "S_0 has 1 row, but K has 2 columns"),
    ({"decay": [1, 1, 1]}, "unknown key decay"),
    ({"mask": "causal"}, "mask has no use in kind delta"),
    ({"K": [[1, 0]]}, "K has 1 row, but Q has 3 rows"),
    ({"kind": "self", "alpha": [1, 1, 1]}, "alpha has no use in kind self"),
    (
        {"kind": "recurrent", "X": [[1]], "A": [[1, 1]], "update": "delta"},
        "update delta has no use",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_does_not_fit_is_refused(change: Keys, message: str) -> None:
    with pytest.raises(attncli.InputError, match=message):
        attncli.Problem(**HAND | change)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("options", [(), ("--heads", "2"), ("--tokens", "a,b,c,d,e")])
def test_a_new_problem_shows_what_its_rule_does(
    rule: str, options: tuple[str, ...], attn: Attn, tmp_path: Path
) -> None:
    result = attn("new", "--kind", "delta", "--set", f"update={rule}", *options)
    assert (result.status, result.err) == (0, "")
    (tmp_path / "hw.yaml").write_text(result.out)
    trace = attncli.compute(attncli.load(tmp_path / "hw.yaml"))
    assert trace.problem.update == rule
    assert all(step.array.any() for step in trace if step.stem in ("S", "k", "v") and step.suffix)
    assert "alpha" not in trace.inputs or (trace.inputs["alpha"].array != 1).any()


def test_what_a_new_one_has_no_use_for(attn: Attn) -> None:
    assert (
        "d_model has no use in kind delta" in attn("new", "--kind", "delta", "--d-model", "3").err
    )
    assert "score has no use in kind delta" in attn("new", "--kind", "delta", "--score", "dot").err
