"""Scaled angles and positions by ids: the numbers of transformers, laws, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import DATA, Attn

Keys = dict[str, Any]
DUMPS = json.loads((DATA / "dumps" / "rope_scaling.json").read_text("utf-8"))
"""What `python -m benchmarks.rope_dumps` has written: numbers of transformers in float64."""

LENGTH = "original_max_position_embeddings"
LINEAR: Keys = {"kind": "linear", "factor": 4}
LLAMA3: Keys = {"kind": "llama3", "factor": 4, LENGTH: 64}
YARN: Keys = {"kind": "yarn", "factor": 4, LENGTH: 64, "beta_fast": 8}
SCALINGS = [LINEAR, LLAMA3, YARN]


def rope(**more: Any) -> Keys:
    return {"name": "rope", "base": 16, **more}


def random_rows(seed: int, n: int, d: int = 4) -> Any:
    return np.random.default_rng(seed).uniform(-2, 2, (n, d))


def trace(positions: Any, /, **keys: Any) -> attncli.Trace:
    return attncli.compute(
        attncli.Problem(**{"X": random_rows(1, 4), **keys, "positions": positions})
    )


def assert_same(one: attncli.Trace, other: attncli.Trace, rtol: float = 1e-13) -> None:
    for name in ("Q_rotated", "K_rotated", "scores", "output"):
        np.testing.assert_allclose(one[name].value, other[name].value, rtol, 1e-13)


@pytest.mark.parametrize("model", DUMPS["frequencies"])
def test_frequencies_are_those_of_transformers(model: str) -> None:
    """`ROPE_INIT_FUNCTIONS`, with the keys of a config.json as they are."""
    dump = DUMPS["frequencies"][model]
    positions = {"name": "rope", "base": dump["base"], "scaling": dump["scaling"]}
    found = trace(positions, X=np.ones((1, dump["size"])))
    np.testing.assert_allclose(found["frequencies"].value, dump["frequencies"], rtol=1e-14)
    np.testing.assert_allclose(found["cos"].value, dump["attention_factor"], rtol=1e-15)


@pytest.mark.parametrize(
    ("more", "frequencies"),
    [  # where all pairs lie on one side, transformers' ramp is 0 or 1
        ({"beta_slow": 1e308}, [1, 1 / 4]),
        ({"beta_fast": 1e308, "beta_slow": 1e308}, [1, 1 / 4]),
        ({"beta_fast": 1e-308, "beta_slow": 1e-310}, [1 / 4, 1 / 16]),
        ({LENGTH: 1e-300, "truncate": False}, [1, 1 / 4]),
    ],
)
def test_lengths_and_turns_may_be_extreme(more: Keys, frequencies: list[float]) -> None:
    found = trace(rope(scaling=YARN | more))
    np.testing.assert_array_equal(found["frequencies"].value.ravel(), frequencies)


def test_three_directions_are_those_of_qwen2_vl() -> None:
    dump = DUMPS["Qwen2-VL"]
    settings = {key: dump[key] for key in ("ids", "sections", "base")}
    given = {"Q": dump["Q"], "K": dump["K"], "V": dump["K"]}
    positions = {"name": "rope", "pairs": "halves", **settings}
    found = attncli.compute(attncli.Problem(**given, positions=positions))
    for name in ("Q_rotated", "K_rotated"):
        np.testing.assert_allclose(found[name].value, dump[name], rtol=1e-13)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_factor_of_1_is_plain_rope(scaling: Keys) -> None:
    assert_same(trace(rope(scaling={**scaling, "factor": 1})), trace(rope()))


def test_ids_in_order_are_positions_as_they_are_counted() -> None:
    assert_same(trace(rope(ids=[0, 1, 2, 3])), trace(rope()))
    assert_same(trace(rope(ids=[5, 6, 7, 8])), trace(rope(start=5)))
    both = {"queries": [5, 6, 7, 8], "keys": [0, 1, 2, 3]}
    assert_same(trace(rope(ids=both)), trace(rope(start=[5, 0])))


def test_linear_scaling_divides_the_positions() -> None:
    assert_same(trace(rope(scaling=LINEAR)), trace(rope(ids=[0, "1/4", 0.5, 0.75])))


def test_ids_are_a_key_of_the_problem_too() -> None:
    expected = trace(rope(ids=[0, 1, 5, 9]))
    assert_same(trace(rope(), ids=[0, 1, 5, 9]), expected)
    assert_same(trace(rope(), ids="0, 1, 5, 9"), expected)
    assert_same(
        trace(rope(), ids={"queries": [0, 1, 5, 9], "keys": "0 1 5 9"}),
        trace(rope(ids={"queries": [0, 1, 5, 9], "keys": [0, 1, 5, 9]})),
    )
    with pytest.raises(attncli.InputError, match="ids are given twice"):
        trace(rope(ids=[0, 1, 5, 9]), ids=[0, 1, 5, 9])
    for positions in ("alibi", None):
        with pytest.raises(attncli.InputError, match="ids has no use without positions"):
            trace(positions, ids=[0, 1, 5, 9])


def test_equal_rows_of_ids_are_one() -> None:
    one = trace(rope(ids=[0, 2, 3, 9]))
    assert_same(trace(rope(ids=[[0, 2, 3, 9]], sections=[2])), one)
    assert_same(trace(rope(ids=[[0, 2, 3, 9]] * 2, sections=[1, 1])), one)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_lengths_are_multiplied_by_the_attention_factor(scaling: Keys) -> None:
    found = trace(rope(scaling=scaling))
    factor = 0.1 * np.log(4) + 1 if scaling is YARN else 1
    lengths = np.linalg.norm(found["Q"].value, axis=-1)
    turned = np.linalg.norm(found["Q_rotated"].value, axis=-1)
    np.testing.assert_allclose(turned, lengths * factor)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scores_depend_on_differences_of_ids_alone(scaling: Keys) -> None:
    first, later = ([t + shift for t in (0, 3, 4, 9)] for shift in (0, 17))
    found = [trace(rope(scaling=scaling, ids=ids))["scores"].value for ids in (first, later)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


def test_a_packed_document_is_one_by_itself() -> None:
    """Positions begin anew, and a mask keeps documents apart."""
    x, keep = random_rows(2, 5), [[1, 1, 0, 0, 0]] * 2 + [[0, 0, 1, 1, 1]] * 3
    packed = trace(rope(ids=[0, 1, 0, 1, 2], scaling=YARN), X=x, mask={"keep": keep})
    np.testing.assert_allclose(packed.output[2:], trace(rope(scaling=YARN), X=x[2:]).output)


def test_ids_of_sinusoids() -> None:
    waves = {"name": "sinusoidal", "base": 100}
    later = trace({**waves, "ids": [3, 4, 5, 6]})
    np.testing.assert_array_equal(later.output, trace({**waves, "start": 3}).output)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_cache_and_tokens_one_by_one_are_the_whole(scaling: Keys) -> None:
    x, ids = random_rows(3, 5), [0, 1, 4, 5, 9]
    whole = trace(rope(scaling=scaling, ids=ids), X=x, mask="causal", heads=2, kv_heads=2)
    k, v = (whole[name].value[..., :2, :] for name in ("K_rotated", "V"))
    rest = rope(scaling=scaling, ids=ids[2:])
    keys: Keys = {"X": x[2:], "heads": 2, "past": {"K": k, "V": v}}
    ways: list[Keys] = [{"mask": "causal"}, {"kind": "decode"}]
    for more in ways:
        np.testing.assert_allclose(trace(rest, **keys, **more).output, whole.output[2:])


def test_each_layer_is_scaled() -> None:
    layer = {"norm": "none", "place": "pre"}
    scaled = rope(scaling=YARN, ids=[0, 2, 3, 4])
    found = trace(scaled, kind="transformer", layers=[layer, {}])
    for number in (1, 2):
        rows = found[f"layers.{number}.frequencies"].value
        np.testing.assert_allclose(rows, [1, 0.15625])


def test_gradients_turn_back_with_the_factor() -> None:
    keys: Keys = {"X": random_rows(4, 3), "positions": rope(scaling=YARN, ids=[0, 2, 7])}
    found = attncli.compute(attncli.Problem(**keys, gradient="sum"))["d_X"].value
    for at in np.ndindex(3, 4):
        sums = []
        for sign in (1, -1):
            x = keys["X"].copy()
            x[at] += sign * 1e-5
            sums.append(attncli.compute(attncli.Problem(**{**keys, "X": x})).output.sum())
        np.testing.assert_allclose(found[at], (sums[0] - sums[1]) / 2e-5, atol=1e-8)


def test_a_frequency_is_explained_and_has_a_closed_form() -> None:
    found = attncli.load("sample_inputs/positions_yarn.yaml")
    steps = attncli.compute(found)
    line = attncli.explain(steps, "frequencies[2]").line
    assert line == "frequencies[2] = (1/2 + (1 - 1/2)/4)/4 = 0.1563"
    assert attncli.explain(steps, "angles[good, 2]").line == (
        "angles[good, 2] = 5·frequencies[2] = 5·0.15625 = 0.7813"
    )


def test_a_cosine_with_its_factor_has_a_closed_form(attn: Attn) -> None:
    shown = attn("explain", "sample_inputs/positions_yarn.yaml", "cos[am, 1]", "--exact").out
    assert "ln(2)·cos(1)/5 + cos(1)" in shown


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"scaling": 4}, "must be a mapping"),
        ({"scaling": {"factor": 4}}, "needs a kind and a factor"),
        ({"scaling": {"kind": "linear"}}, "needs a kind and a factor"),
        ({"scaling": {"kind": "linear", "type": "yarn", "factor": 2}}, "needs a kind"),
        ({"scaling": {"kind": "liner", "factor": 4}}, "did you mean linear"),
        ({"scaling": {"kind": "dynamic", "factor": 4}}, "write a greater base"),
        ({"scaling": {"kind": "longrope", "factor": 4}}, "a factor for each pair"),
        ({"scaling": {"kind": "linear", "factor": 0}}, "factor must be greater than 0"),
        ({"scaling": {"kind": "yarn", "factor": 4}}, f"yarn needs {LENGTH}"),
        ({"scaling": LINEAR | {"beta_fast": 4}}, "linear has no beta_fast"),
        ({"scaling": LLAMA3 | {"low_freq_factor": 4}}, "high_freq_factor must be greater"),
        ({"scaling": YARN, "base": 1}, "base greater than 1"),
        ({"ids": [1, 2]}, "ids has 2 positions, but there are 4 queries"),
        ({"ids": 3}, "ids has 1 position"),
        ({"ids": []}, "ids is empty"),
        ({"ids": ["a", 1, 2, 3]}, "ids"),
        ({"ids": [[1, 2], [1]]}, "lists of equal lengths"),
        ({"ids": {"queries": [1, 2, 3, 4]}}, "needs queries and keys"),
        ({"ids": [1, 2, 3, 4], "start": 5}, "start has no use"),
        ({"ids": [[1, 2, 3, 4]] * 2}, "ids has 2 rows, but sections has 0 numbers"),
        ({"ids": [[1, 2, 3, 4]] * 2, "sections": [1, 2]}, "sections has 3 pairs"),
        ({"sections": [1, 1]}, "ids has 0 rows"),
        ({"name": "sinusoidal", "ids": [[1, 2, 3, 4]] * 2}, "takes one row of ids"),
        ({"name": "alibi", "base": None, "ids": [1, 2, 3, 4]}, "alibi has no ids"),
    ],
)
def test_what_does_not_fit_is_said(more: Keys, message: str) -> None:
    with pytest.raises(attncli.InputError, match=message):
        trace(rope(**more))


@pytest.mark.parametrize("word", ["position_ids", "mrope_section"])
def test_keys_of_other_tools_have_a_hint(word: str) -> None:
    with pytest.raises(attncli.InputError, match="ids: \\[0, 1, 5\\]"):
        trace("rope", **{word: [0]})


@pytest.mark.parametrize("suffix", ["json", "yaml", "csv", "npz"])
def test_results_are_read_back(attn: Attn, tmp_path: Path, suffix: str) -> None:
    problem, results = "sample_inputs/positions_yarn.yaml", tmp_path / f"results.{suffix}"
    attn("compute", problem, "-o", results)
    again = attn("compute", results, "--only", "output", "-f", "csv").out
    assert again == attn("compute", problem, "--only", "output", "-f", "csv").out != ""


def test_a_new_problem_has_scaled_angles(attn: Attn) -> None:
    scaling = "{name: rope, scaling: {kind: linear, factor: 2}}"
    made = attn("new", "--positions", scaling)
    shown = attn("compute", "-", "--only", "frequencies", "-f", "csv", stdin=made.out.encode())
    assert shown.out.endswith("0.5\n"), shown.out
