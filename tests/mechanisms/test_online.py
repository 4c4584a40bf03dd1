"""Softmax by tiles of keys: PyTorch's FlashAttention, 50 digits, laws, derivatives, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.explaining.exact import Exact
from tests.conftest import DATA, SAMPLES, Attn
from tests.mechanisms.test_todays_attention import (
    HEADS,
    SEEDS,
    check_gradients,
    numbers,
    output,
    problem,
)
from tests.oracles import reference, tiles

Keys = dict[str, Any]

RECORDED = DATA / "recorded"
FLASH_ATTENTION = (RECORDED / "flash_attention.jsonl").read_text().splitlines()
"""Problems, and what PyTorch's kernel gives: `benchmarks/flash_attention.py`."""

PROBLEMS = RECORDED / "online_problems.jsonl"
"""Random problems: `python -m benchmarks.surveys.online --record`."""

LEARNED = ["X", "W_q", "W_k", "W_v"]
TILES = st.integers(1, 6)
EPS = float(np.finfo(float).eps)


def untiled(keys: Keys) -> attncli.Trace:
    return attncli.compute(attncli.Problem(**{k: x for k, x in keys.items() if k != "online"}))


def off_by(keys: Keys) -> float:
    """Return how far the output is from the untiled one, in units of a bound.

    Both outputs are Σ w·v. The relative error of each addend is bounded in units of u = ε/2: 2 for
    a power or a factor, 1 for each product, division and sum. For m keys in T tiles of k that is

    * untiled: 2 for e^s, 3 for the sum of all e^s, 1 for the weight, m for the sum of products;
    * in tiles: 2 for P, k for its product with V, 3 for l, 1 for the division, and for each of the
      T − 1 factors 2 · 4 (its own error, its product and a sum, in O and in l).

    W_o adds a product and a sum for each of its rows, to both.
    """
    one, other = attncli.compute(attncli.Problem(**keys)), untiled(keys)
    weights, v = other["weights"].array, np.abs(other["V"].array)
    m, tile = weights.shape[-1], keys["online"]["tile"]
    units = 12 + m + min(tile, m) + 8 * (-(-m // tile) - 1)
    sizes = weights @ np.repeat(v, weights.shape[1] // v.shape[1], 1)
    sizes = np.concatenate([*sizes[0]], -1)  # heads side by side
    if "W_o" in keys:
        sizes, units = sizes @ np.abs(keys["W_o"]), units + 2 * len(keys["W_o"])
    distance = np.abs(one.output - other.output)
    return float((distance / np.maximum(units * EPS / 2 * sizes, 1e-300)).max())


@pytest.mark.parametrize("tile", [1, 2, 3, 8])
@pytest.mark.parametrize("line", FLASH_ATTENTION)
def test_flash_attention_of_pytorch(line: str, tile: int) -> None:
    """The output, and the derivatives of its backward pass."""
    case = json.loads(line)
    keys = case["problem"] | {"online": {"tile": tile}}
    trace = attncli.compute(attncli.Problem(**keys, gradient=case["gradient"]))
    heads = np.array(case["output"])
    np.testing.assert_allclose(trace.output, np.concatenate([*heads], -1), rtol=1e-12, atol=1e-14)
    for name in ("d_Q", "d_K", "d_V"):
        found = trace[name].value
        expected = np.array(case[name]).reshape(found.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_random_problems_are_those_of_50_digits() -> None:
    for line in PROBLEMS.read_text().splitlines():
        keys = json.loads(line)
        reference.check(attncli.compute(attncli.Problem(**keys)), tiles.solve(**keys))


MORE = st.sampled_from(
    [
        {"mask": "causal"},
        {"mask": {"window": [1, 0]}},
        {"softcap": 1.5, "bias": "-0.5*abs(i - j)"},
        {"normalize": {"name": "softmax", "temperature": 0.3, "base": 2}},
        {"positions": "alibi", "scale": 300},
    ]
)


@settings(max_examples=60, deadline=None)
@given(SEEDS, HEADS, TILES, MORE)
def test_the_output_is_the_untiled_one(seed: int, heads: Any, tile: int, more: Keys) -> None:
    keys = problem(seed, 5, *heads, **more, online={"tile": tile})
    assert off_by(keys) <= 1


@settings(max_examples=30, deadline=None)
@given(SEEDS, HEADS, st.integers(4, 9))
def test_a_tile_for_all_keys_is_one_tile(seed: int, heads: Any, tile: int) -> None:
    keys = problem(seed, 4, *heads)
    trace = attncli.compute(attncli.Problem(**keys, online={"tile": tile}))
    assert "m_2" not in trace
    np.testing.assert_array_equal(trace.output, output(keys | {"online": {"tile": 4}}))


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.permutations(range(3)))
def test_the_order_of_tiles_changes_only_rounding(seed: int, order: list[int]) -> None:
    keys: Keys = {"Q": numbers(seed, 3, 2), "online": {"tile": 2}}
    k, v = numbers(seed + 1, 6, 2), numbers(seed + 2, 6, 3)
    others = [row for tile in order for row in (2 * tile, 2 * tile + 1)]
    one, other = keys | {"K": k, "V": v}, keys | {"K": k[others], "V": v[others]}
    assert off_by(one) <= 1
    np.testing.assert_allclose(output(one), output(other), rtol=0, atol=32 * EPS * np.abs(v).max())


@settings(max_examples=30, deadline=None)
@given(SEEDS, TILES, st.sampled_from(["causal", {"block": [[0, 0, 1, 0]]}, None]))
def test_m_and_the_logarithm_of_l_are_the_logarithm_of_the_sum(
    seed: int, tile: int, mask: Any
) -> None:
    """Which FlashAttention keeps for its backward pass, as L."""
    keys = problem(seed, 4, mask=mask)
    trace, other = attncli.compute(attncli.Problem(**keys, online={"tile": tile})), untiled(keys)
    last = -(-4 // tile)
    found = trace[f"m_{last}"].value + np.log(trace[f"l_{last}"].value)
    np.testing.assert_allclose(found, np.log(other["sum"].value), rtol=1e-13, atol=1e-14)


@settings(max_examples=20, deadline=None)
@given(SEEDS, HEADS, TILES)
def test_other_ways_to_write_it_give_the_same(seed: int, heads: Any, tile: int) -> None:
    """Tokens as columns, a batch, layers of a transformer, given scores."""
    keys = problem(seed, 4, *heads, mask="causal", online={"tile": tile})
    expected = output(keys)
    turned = {key: keys[key].T for key in LEARNED}
    batch = output(keys | {"X": np.stack([keys["X"], -keys["X"]])})
    for other in (output(keys | turned | {"tokens_as": "columns"}).T, batch[0]):
        np.testing.assert_allclose(other, expected, rtol=1e-12, atol=1e-14)
    scores = attncli.compute(attncli.Problem(**keys))["scaled"].value
    if heads == (1, 1):
        v = keys["X"] @ keys["W_v"]
        given_: Keys = {"scores": scores, "V": v, "mask": "causal", "online": {"tile": tile}}
        np.testing.assert_allclose(output(given_), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "keys",
    [
        {"kind": "pooling", "u": numbers(2, 4), "output_activation": "tanh"},
        {"kind": "transformer", "heads": 2, **{f"W_{x}": numbers(3, 4, 4) for x in "qkvo"}},
        {"past": {"K": numbers(4, 3, 4), "V": numbers(5, 3, 4)}, "mask": "causal"},
        {"kind": "latent", **{f"W_{x}": numbers(3, 4, 4) for x in ("q", "dkv", "uk", "uv")}},
    ],
)
def test_other_kinds(keys: Keys) -> None:
    keys = keys | {"X": numbers(1, 4, 4)}
    trace, other = attncli.compute(attncli.Problem(**keys, online={"tile": 3})), untiled(keys)
    assert "rescale_2" in trace
    np.testing.assert_allclose(trace.output, other.output, rtol=1e-13, atol=1e-14)


def test_each_layer_may_have_tiles_of_its_own() -> None:
    layers = [{"W_v": numbers(1, 4, 4)}, {"W_v": numbers(2, 4, 4), "online": {"tile": 2}}]
    keys: Keys = {"kind": "transformer", "X": numbers(3, 3, 4), "layers": layers}
    trace = attncli.compute(attncli.Problem(**keys))
    assert "layers.1.weights" in trace
    assert trace["layers.2.l_2"].formula.startswith("layers.2.l_2 = l_1 ⊙ rescale_2 + ")
    assert trace["layers.2.O_1"].group == "layer 2: attention, tile 1"
    none: Keys = {"layers": [{"W_v": one["W_v"]} for one in layers]}
    expected = attncli.compute(attncli.Problem(**keys | none)).output
    np.testing.assert_allclose(trace.output, expected, rtol=1e-13, atol=1e-14)


def test_a_mistake_is_named_in_a_layer() -> None:
    layers = [{"W_v": numbers(seed, 4, 4), "online": {"tile": 2}} for seed in (1, 2)]
    keys: Keys = {"kind": "transformer", "X": numbers(3, 5, 4), "layers": layers}
    problem_ = attncli.Problem(**keys)
    trace = attncli.compute(problem_)
    name = "layers.2.O_{}".format
    wrong = trace[name(1)].value + trace["layers.2.P_2"].value @ trace["layers.2.V_2"].value
    finding = attncli.check(problem_, {name(2): wrong}).findings[name(2)]
    assert finding.id == "tile_output_not_rescaled"


GRADIENTS: list[tuple[Keys, int]] = [
    (problem(5, 4), 1),
    (problem(6, 4, mask="causal"), 2),
    (problem(7, 3, 4, 2, W_o=numbers(8, 8, 3)), 2),
    (problem(8, 3, normalize={"name": "softmax", "temperature": 2, "base": 3}), 2),
]


@pytest.mark.parametrize(("keys", "tile"), GRADIENTS)
def test_gradients_are_those_of_differences(keys: Keys, tile: int) -> None:
    check_gradients(keys, LEARNED, online={"tile": tile})


def test_formulas_and_gradients() -> None:
    keys = problem(1, 3, score="dot", online={"tile": 2}, gradient="sum", learning_rate=0.5)
    trace = attncli.compute(attncli.Problem(**keys))
    names = ("S_2", "V_2", "m_1", "m_2", "P_2", "rescale_2", "l_1", "l_2", "O_2", "output")
    assert [trace[name].formula for name in names] == [
        "S_2 = column 3 of scores",
        "V_2 = row 3 of V",
        "m_1 = max over keys of S_1",
        "m_2 = max(m_1, max over keys of S_2)",
        "P_2 = e^(S_2 − m_2)",
        "rescale_2 = e^(m_1 − m_2)",
        "l_1 = P_1 summed over keys",
        "l_2 = l_1 ⊙ rescale_2 + (P_2 summed over keys)",
        "O_2 = O_1 ⊙ rescale_2 + P_2 V_2",
        "output = O_2 / l_2",
    ]
    assert [trace[name].formula for name in ("d_O_1", "d_S_2", "d_scores", "d_V")] == [
        "d_O_1 = d_O_2 ⊙ rescale_2",
        "d_S_2 = d_P_2 ⊙ P_2",
        "d_scores = (d_S_1 in columns 1 to 2) + (d_S_2 in column 3)",
        "d_V = (d_V_1 in rows 1 to 2) + (d_V_2 in row 3)",
    ]
    assert not {"d_m_1", "d_rescale_2", "weights"} & {*trace.steps}
    assert trace["d_P_2"].group == "backward pass, tile 2"
    new = keys["W_v"] - 0.5 * trace["d_W_v"].value
    np.testing.assert_allclose(trace["new_W_v"].value, new)


def test_a_wholly_blocked_tile_and_a_wholly_blocked_row() -> None:
    """As in the program of FlashAttention, 0 is subtracted while m is −∞: nothing becomes nan."""
    keys: Keys = {"scores": [[3, 1, 2, 0], [1, 2, 3, 4]], "V": np.eye(4), "online": {"tile": 2}}
    trace = attncli.compute(attncli.Problem(**keys, mask=[[0, 0, 0, 1], [0, 0, 0, 0]]))
    found = {name: trace[name].value.tolist() for name in ("m_1", "P_1", "m_2", "rescale_2", "l_2")}
    assert found == {
        "m_1": [[-np.inf], [-np.inf]],
        "P_1": [[0, 0], [0, 0]],
        "m_2": [[0], [-np.inf]],
        "rescale_2": [[0], [0]],
        "l_2": [[1], [0]],
    }
    assert trace.output.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0]]
    said = "every cell of query 2 is blocked: its weights are 0, and so is its output"
    assert trace.warnings == (said,)


def test_labels_are_those_of_the_keys_in_a_tile() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "online.yaml"), rounded=False)
    found = {name: trace[name].labels.get("key") for name in ("S_1", "S_2", "V_2", "P_2")}
    assert found == {"S_1": ("k1", "k2"), **dict.fromkeys(("S_2", "V_2", "P_2"), ("k3", "k4"))}
    assert trace["P_2"]["q2", "k4"] == 1


def test_closed_forms_are_those_of_untiled_softmax() -> None:
    keys: Keys = {"scores": [[1, 3, 2, 3], [0, 0, 5, 1]], "V": [[1, 0], [2, 1], [0, 3], [1, 1]]}
    more: list[Keys] = [{"online": {"tile": 2}}, {}]
    exact = [Exact(attncli.compute(attncli.Problem(**keys, **one))) for one in more]
    found = [one.texts(one.trace["output"]) for one in exact]
    assert found[0] == found[1]
    assert found[0][0][0] == "(1 + 3·e^2)/(1 + e + 2·e^2)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"online": 2}, "online must be a mapping"),
        ({"online": {}}, "online needs tile"),
        ({"online": {"tiles": 2}}, "unknown key tiles in online"),
        ({"online": {"tile": 0}}, "online.tile must be a whole number of at least 1, not 0"),
        ({"online": {"tile": 1.5}}, "online.tile must be a whole number"),
        ({"normalize": "hardmax"}, "online is softmax over the keys, without a sink"),
        ({"normalize": {"axis": "queries"}}, "online is softmax over the keys, without a sink"),
        ({"normalize": {"sink": 0}}, "online is softmax over the keys, without a sink"),
        ({"score": "linear"}, "online is softmax over the keys, without a sink"),
        ({"kind": "decode"}, "online has no use in kind decode"),
        ({"flash_attention": True}, "unknown key flash_attention"),
    ],
)
def test_what_does_not_fit_is_refused(change: Keys, message: str) -> None:
    with pytest.raises(attncli.InputError, match=message):
        attncli.Problem(**problem(1, online={"tile": 2}) | change)


def test_an_error_tells_the_place_and_a_way_out(attn: Attn, tmp_path: Path) -> None:
    file = tmp_path / "hw.yaml"
    file.write_text("X: [[1, 0]]\nonline: {tile: none}\n")
    result = attn("compute", file)
    assert result.status == 2
    assert f"{file}:2:10: online.tile" in result.err
    file.write_text("X: [[1, 0]]\nblock_size: 2\n")
    assert "write online: {tile: 2}" in attn("compute", file).err


@pytest.mark.parametrize("name", ["m_1", "ℓ_2", "o2", "rescale_2", "P_1", "S_2"])
def test_names_are_accepted(name: str, attn: Attn) -> None:
    result = attn("compute", SAMPLES / "online.yaml", "--only", name)
    assert (result.status, result.err) == (0, "")


def test_weights_are_no_step_of_many_tokens_either() -> None:
    """While the output of many tokens is calculated without its n × m steps."""
    keys: Keys = {"X": numbers(1, 600, 2), "online": {"tile": 200}}
    trace = attncli.compute(attncli.Problem(**keys), only="output")
    assert [*trace.steps] == ["Q", "K", "V", "output"]
    with pytest.raises(attncli.InputError, match="there is no step weights in this calculation"):
        attncli.compute(attncli.Problem(**keys), only="weights", alone=True)


@pytest.mark.parametrize("options", [(), ("--heads", "2"), ("--kind", "transformer")])
def test_a_new_problem_may_have_tiles(options: tuple[str, ...], attn: Attn) -> None:
    result = attn("new", "--set", "online={tile: 2}", *options)
    assert result.status == 0, result.err
    computed = attn("compute", "-", "--only", "rescale_2", stdin=result.out.encode())
    assert computed.status == 0, computed.err
