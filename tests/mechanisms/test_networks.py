"""Encoders and decoders: the numbers of PyTorch and of 50 digits, laws, derivatives, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from tests.conftest import DATA, ROOT, Attn
from tests.mechanisms.test_todays_attention import SEEDS, numbers
from tests.oracles import gradients, networks, reference

Keys = dict[str, Any]

RECORDED = DATA / "recorded"
PYTORCH = [
    json.loads(line) for line in (RECORDED / "torch_networks.jsonl").read_text().splitlines()
]
"""Problems, and what PyTorch's modules in float64 give: `python -m benchmarks.networks`."""

PROBLEMS = RECORDED / "network_problems.jsonl"
"""Random problems: `python -m benchmarks.surveys.networks --record`."""

GATES = {"lstm": ("_f", "_i", "_g", "_o"), "gru": ("_r", "_z", "_n"), "rnn": ("",)}
CELLS = st.sampled_from([*GATES])
ATTENDS = st.sampled_from(["after", "before"])


def network(seed: int, cell: str, size: int, width: int, *matrices: str, **more: Any) -> Keys:
    """Return the weights of a network, with a bias for each gate."""
    parts: Keys = {}
    for place, gate in enumerate(GATES[cell]):
        sizes = {"W": (size, width), "U": (size, size), "C": (size, 2), "b": (size,)}
        for row, letter in enumerate(("W", "U", "b", *matrices)):
            parts[f"{letter}{gate}"] = numbers(seed + 10 * place + row, *sizes[letter])
    return parts | more


def problem(seed: int, cell: str, attends: str = "after", m: int = 3, **more: Any) -> Keys:
    """Return the keys of a problem whose states have two numbers."""
    read = ("C",) if attends == "before" else ()
    keys: Keys = {"kind": "encoder_decoder", "cell": cell, "attends": attends}
    keys |= {"memory": numbers(seed, m, 3), "X": numbers(seed + 1, 2, 2)}
    keys["encoder"] = network(seed + 2, cell, 2, 3)
    keys["decoder"] = network(seed + 50, cell, 2, 2, *read)
    return keys | more


def traced(keys: Keys) -> attncli.Trace:
    return attncli.compute(attncli.Problem(**keys))


def zeros(parts: Keys) -> Keys:
    return {name: np.zeros_like(part) for name, part in parts.items()}


@pytest.mark.parametrize("case", PYTORCH)
def test_pytorch(case: Keys) -> None:
    trace = traced(case["problem"])
    for name, numbers_ in case["steps"].items():
        np.testing.assert_allclose(trace[name].value, numbers_, rtol=1e-9, atol=1e-12)


def test_random_problems_are_those_of_50_digits() -> None:
    for line in PROBLEMS.read_text().splitlines():
        keys = json.loads(line)
        reference.check(traced(keys), networks.solve(**keys))


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_an_lstm_of_zeros_stays_at_zero(seed: int) -> None:
    """All gates are ½ and the candidate is 0, so that half of nothing stays."""
    keys = problem(seed, "lstm")
    trace = traced(keys | {"encoder": zeros(keys["encoder"])})
    for gate in "fio":
        assert (trace[f"encoder.{gate}_3"].value == 0.5).all()
    assert not trace["H"].value.any()


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_a_gru_of_zeros_halves_its_state(seed: int) -> None:
    keys, h_0 = problem(seed, "gru"), numbers(seed, 2)
    trace = traced(keys | {"encoder": zeros(keys["encoder"]) | {"h_0": h_0}})
    np.testing.assert_array_equal(trace["H"].value, [h_0 / 2, h_0 / 4, h_0 / 8])


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_a_cell_that_forgets_and_reads_nothing_stays(seed: int) -> None:
    """σ(800) is 1 and σ(−800) is 0, to the last digit."""
    keys, c_0 = problem(seed, "lstm"), numbers(seed, 2)
    shut = {"b_f": [800, 800], "b_i": [-800, -800], "h_0": [0, 0], "c_0": c_0}
    trace = traced(keys | {"encoder": keys["encoder"] | shut})
    np.testing.assert_array_equal(trace["encoder.c_3"].value, c_0)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_an_open_update_gate_keeps_the_state(seed: int) -> None:
    keys, h_0 = problem(seed, "gru"), numbers(seed, 2)
    trace = traced(keys | {"encoder": keys["encoder"] | {"b_z": [800, 800], "h_0": h_0}})
    np.testing.assert_array_equal(trace["H"].value, [h_0] * 3)


@settings(max_examples=30, deadline=None)
@given(SEEDS, CELLS, ATTENDS)
def test_of_one_word_the_context_is_its_state(seed: int, cell: str, attends: str) -> None:
    trace = traced(problem(seed, cell, attends, m=1))
    assert (trace["weights"].value == 1).all()
    for t in (1, 2):
        np.testing.assert_array_equal(trace[f"context_{t}"].value, trace["h_1"].value)


@settings(max_examples=30, deadline=None)
@given(SEEDS, CELLS)
def test_a_decoder_that_does_not_use_what_it_found_is_one_that_attends_after(
    seed: int, cell: str
) -> None:
    keys = problem(seed, cell, "before")
    without = {name: part * (name[0] != "C") for name, part in keys["decoder"].items()}
    before = traced(keys | {"decoder": without})
    without = {name: part for name, part in without.items() if name[0] != "C"}
    after = traced(keys | {"decoder": without, "attends": "after"})
    for t in (1, 2):
        np.testing.assert_array_equal(before[f"s_{t}"].value, after[f"s_{t}"].value)


@settings(max_examples=20, deadline=None)
@given(SEEDS, CELLS, ATTENDS)
def test_attention_is_that_of_kind_cross(seed: int, cell: str, attends: str) -> None:
    """Of the decoder's states to those of the encoder, and padding hides the last word."""
    trace = traced(problem(seed, cell, attends, mask={"lengths": 2}))
    first = 1 if attends == "after" else 0
    queries = [trace[f"s_{t}"].value for t in (first, first + 1)]
    hidden = trace["H"].value
    cross = attncli.Problem(
        kind="cross", Q=queries, memory=hidden, score="dot", mask={"lengths": 2}
    )
    np.testing.assert_allclose(trace["weights"].value, attncli.compute(cross)["weights"].value)


@settings(max_examples=15, deadline=None)
@given(SEEDS, CELLS, ATTENDS)
def test_a_batch_is_its_elements(seed: int, cell: str, attends: str) -> None:
    keys, other = problem(seed, cell, attends), problem(seed + 7, cell, attends)
    both = {key: np.stack([keys[key], other[key]]) for key in ("X", "memory")}
    outputs = traced(keys | both).output
    for place, one in enumerate((keys, keys | {key: other[key] for key in both})):
        np.testing.assert_allclose(outputs[place], traced(one).output, rtol=1e-12, atol=1e-14)


OF_GRADIENTS: dict[str, Keys] = {
    "lstm, after": problem(1, "lstm", W_c=numbers(3, 2, 4)),
    "lstm, before": problem(2, "lstm", "before", score="scaled_dot"),
    "gru, after": problem(3, "gru", score={"name": "general", "W": numbers(4, 2, 2)}),
    "gru, before": problem(4, "gru", "before", W_c=numbers(5, 3, 4), mask={"lengths": 2}),
    "rnn, after": problem(5, "rnn", W_q=numbers(6, 3, 2), W_k=numbers(7, 3, 2)),
    "rnn, before": problem(6, "rnn", "before"),
}
for _name, _start in (("gru, after", ("h_0",)), ("lstm, before", ("h_0", "c_0"))):
    for _network in ("encoder", "decoder"):
        OF_GRADIENTS[_name][_network] |= {key: numbers(8, 2) for key in _start}
OF_GRADIENTS["gru, reset after"] = problem(7, "gru", "before", reset="after")
for _network in ("encoder", "decoder"):
    OF_GRADIENTS["gru, reset after"][_network]["b_hn"] = numbers(9, 2)


@pytest.mark.parametrize("name", OF_GRADIENTS)
def test_gradients_are_those_of_differences(name: str) -> None:
    keys = OF_GRADIENTS[name]
    paths = [f"{one}.{part}" for one in ("encoder", "decoder") for part in keys[one]]
    others: list[str] = [key for key in ("W_c", "W_q", "W_k") if key in keys]
    others += ["score.W"] if isinstance(keys.get("score"), dict) else []
    upstream = numbers(9, *traced(keys).output.shape)
    trace = traced(keys | {"gradient": upstream})
    for path in ["X", "memory", *others, *paths]:
        expected = gradients.difference(keys | {"gradient": upstream}, path).astype(float)
        allowed = 1e-9 * np.abs(expected).max()
        found = trace[f"d_{path}"].value
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=allowed, err_msg=path)


def test_steps_and_formulas_of_an_lstm() -> None:
    trace = traced(problem(1, "lstm", m=1, W_c=numbers(2, 2, 4), gradient="sum", learning_rate=1))
    formulas = {
        "h_0": "h_0 = 0",
        "encoder.c_0": "encoder.c_0 = 0",
        "encoder.f_1": "encoder.f_1 = σ(W_f memory_1 + U_f h_0 + b_f)",
        "encoder.i_1": "encoder.i_1 = σ(W_i memory_1 + U_i h_0 + b_i)",
        "encoder.g_1": "encoder.g_1 = tanh(W_g memory_1 + U_g h_0 + b_g)",
        "encoder.o_1": "encoder.o_1 = σ(W_o memory_1 + U_o h_0 + b_o)",
        "encoder.c_1": "encoder.c_1 = f_1 ⊙ c_0 + i_1 ⊙ g_1",
        "h_1": "h_1 = encoder.o_1 ⊙ tanh(encoder.c_1)",
        "H": "H = [h_1]",
        "s_0": "s_0 = h_1",
        "decoder.c_0": "decoder.c_0 = encoder.c_1",
        "decoder.f_1": "decoder.f_1 = σ(W_f x_1 + U_f s_0 + b_f)",
        "s_1": "s_1 = decoder.o_1 ⊙ tanh(decoder.c_1)",
        "scores_1": "scores_1 = s_1 Hᵀ",
        "context_1": "context_1 = weights_1 H",
        "attentional_1": "attentional_1 = tanh(W_c [context_1; s_1])",
        "weights": "weights = [weights_1; weights_2]",
        "output": "output = [attentional_1; attentional_2]",
        "d_net_decoder.f_2": "d_net_decoder.f_2 = f_2 ⊙ (d_f_2 − d_f_2 ⊙ f_2)",
        "d_decoder.U_f": "d_decoder.U_f = d_net_f_1 s_0ᵀ + d_net_f_2 s_1ᵀ",
        "new_decoder.U_f": "new_decoder.U_f = U_f − 1·d_U_f",
    }
    assert {name: trace[name].formula for name in formulas} == formulas
    assert [*trace.steps][:9] == [*formulas][:9]
    assert "new_encoder.h_0" not in trace  # a state is not learned


@pytest.mark.parametrize(
    ("reset", "formula"),
    [
        ("before", "tanh(W_n x_1 + U_n (r_1 ⊙ s_0) + C_n context_1 + b_n)"),
        ("after", "tanh(W_n x_1 + r_1 ⊙ U_n s_0 + C_n context_1 + b_n)"),
    ],
)
def test_steps_and_formulas_of_a_gru(reset: str, formula: str) -> None:
    trace = traced(problem(1, "gru", "before", reset=reset))
    assert trace["decoder.n_1"].formula == f"decoder.n_1 = {formula}"
    state = "s_1 = (1 − decoder.z_1) ⊙ decoder.n_1 + decoder.z_1 ⊙ s_0"
    assert trace["s_1"].formula == state


def test_a_decoder_of_another_size_has_a_state_of_its_own() -> None:
    keys = problem(1, "gru", score={"name": "general", "W": numbers(2, 3, 2)})
    decoder = network(3, "gru", 3, 2)
    with pytest.raises(attncli.InputError, match=r"and decoder\.h_0 is left out, but decoder"):
        traced(keys | {"decoder": decoder})
    trace = traced(keys | {"decoder": decoder | {"h_0": [0, 1, 0]}})
    assert trace["s_2"].value.shape == (3,)


REFUSED = {
    "  U_f: [[0]]\n": ("", "9:1: encoder needs U_f with cell: lstm, attends: after"),
    "cell: lstm": ("cell: lstm\nreset: after", "5:1: reset has no use with cell: lstm"),
    "W_f: [[-1]]": ("W_f: [[1, 2]]", "10:3: encoder.W_f has 2 columns, but memory has 1 column"),
    "b_f: [1]": ("W_z: [[1]]", "12:3: W_z has no use with cell: lstm, attends: after"),
    "b_f: [1]\n": ("h_0: [1]\n", "9:1: encoder needs c_0 with cell: lstm"),
    "  b_f: [1]": ("  C_f: [[1]]", "12:3: C_f has no use with cell: lstm, attends: after"),
    "notes": ("attends: before\nnotes", "20:1: decoder needs C_f, C_i, C_g and C_o"),
    "  b_f": ("  W_c: [[1]]\n  b_f", "the candidate of an LSTM is g here: write W_g, U_g and b_g"),
    "  b_f: ": ("  weight_ih_l0: [[1]]\n  b_f: ", "write the rows of each gate by themselves"),
    "title": ("weight_hh_l0: [[1]]\ntitle", "write encoder: {W_f: [[…]], U_f: [[…]], b_f: […]"),
    "kind: encoder_decoder": ("kind: seq2seq", "or kind: encoder_decoder, which makes them"),
    "kind: encoder_decoder\n": ("kind: gru\n", "write kind: encoder_decoder, and cell: gru"),
    "score:": ("mask: causal\nscore:", "28:1: the mask causal has no use in kind encoder_decoder"),
    "memory: [[1], [2]]": ("", "3:1: kind encoder_decoder needs memory"),
}
"""What is replaced in a sample, by what, and a part of the message."""


@pytest.mark.parametrize("old", REFUSED)
def test_what_does_not_fit_is_refused(old: str, attn: Attn, tmp_path: Path) -> None:
    new, message = REFUSED[old]
    text = (ROOT / "sample_inputs" / "encoder_decoder_lstm.yaml").read_text()
    assert old in text
    (tmp_path / "problem.yaml").write_text(text.replace(old, new, 1))
    result = attn("compute", tmp_path / "problem.yaml")
    assert (result.status, result.out) == (2, "")
    assert message in result.err


def test_a_sentence_of_padding_alone_has_no_weights() -> None:
    trace = traced(problem(1, "gru", mask={"lengths": 0}))
    assert not trace["weights"].value.any()
    assert trace.warnings[0].startswith("every cell of masked_1 is blocked")


@pytest.mark.parametrize("cell", GATES)
@pytest.mark.parametrize("attends", ["after", "before"])
def test_a_new_problem_computes_and_is_different_at_each_time(
    cell: str, attends: str, attn: Attn, tmp_path: Path
) -> None:
    options = ("--kind", "encoder_decoder", "--cell", cell, "--attends", attends)
    (tmp_path / "new.yaml").write_text(attn("new", *options).out)
    trace = attncli.compute(attncli.load(tmp_path / "new.yaml"))
    rows = trace["weights"].value
    assert len(np.unique(rows.round(6), axis=0)) == len(rows)
    assert rows.min() >= 0.01


def test_words_of_papers_mean_steps(attn: Attn) -> None:
    """A gate of both networks, and α and e for weights and scores."""
    sample = ROOT / "sample_inputs" / "encoder_decoder_lstm.yaml"
    for word, names in {
        "f_1": ["encoder.f_1", "decoder.f_1"],
        "decoder_c_1": ["decoder.c_1"],
        "α_1": ["weights_1"],
        "e_1": ["scores_1"],
        "f_2": ["encoder.f_2"],
    }.items():
        shown = json.loads(attn("compute", sample, "--only", word, "-f", "json").out)["steps"]
        assert [*shown] == names
    for cell, read_as in (("0.70", "encoder.c"), ("1.48", "decoder.c"), ("0.39", "context")):
        report = attncli.check(attncli.load(sample), {"c_1": [cell]})
        assert (report.verdict, *report.said) == ("correct", f"c is read as {read_as}.")
