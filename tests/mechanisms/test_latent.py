"""Latent attention: the numbers of DeepSeek-V3 and of 50 digits, laws, derivatives, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.checking.mistakes import of_latent
from attncli.checking.mistakes.mistake import Mistake
from attncli.core.records import replace
from attncli.core.tape.step import Step
from tests.conftest import DATA, Attn
from tests.mechanisms.test_todays_attention import SEEDS, STEP, changed, numbers, output
from tests.oracles import latent, reference

Keys = dict[str, Any]

RECORDED = DATA / "recorded"
DEEPSEEK = [json.loads(line) for line in (RECORDED / "deepseek_v3.jsonl").read_text().splitlines()]
"""Problems, and the output of transformers' module in float64: `benchmarks/latent.py`."""

PROBLEMS = RECORDED / "latent_problems.jsonl"
"""Random problems: `python -m benchmarks.surveys.latent --record`."""

FORMS = ("naive", "absorbed")
OF_ANGLES = ("angles", "cos", "sin")


def check(trace: attncli.Trace, keys: Keys) -> None:
    """Compare every step but the angles with the oracle."""
    steps = {name: step for name, step in trace.steps.items() if name not in OF_ANGLES}
    reference.check(replace(trace, steps=steps), latent.solve(**keys))


def problem(
    seed: int, heads: int, compresses: bool = True, rotary: bool = True, **more: Any
) -> Keys:
    """Return the keys of a problem of 3 tokens with d_h = 3, d_r = 2, d_v = 2 and d_c = 3."""
    below = 2 if compresses else 4
    shapes = {"X": (3, 4), "W_dkv": (4, 3), "W_uk": (3, 3 * heads), "W_uv": (3, 2 * heads)}
    of_queries = {"W_dq": (4, 2), "W_uq": (2, 3 * heads)}
    shapes |= of_queries if compresses else {"W_q": (4, 3 * heads)}
    shapes |= {"W_qr": (below, 2 * heads), "W_kr": (4, 2)} if rotary else {}
    drawn = {key: numbers(seed + i, *shape) for i, (key, shape) in enumerate(shapes.items())}
    return {"kind": "latent", "heads": heads, **drawn, **more}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", DEEPSEEK)
def test_deepseek_v3(case: Keys, form: str) -> None:
    found = output(case["problem"] | {"form": form})
    np.testing.assert_allclose(found, case["output"], rtol=1e-9, atol=1e-12)


def test_random_problems_are_those_of_50_digits() -> None:
    for line in PROBLEMS.read_text().splitlines():
        keys = json.loads(line)
        check(attncli.compute(attncli.Problem(**keys)), keys)


MORE: list[Keys] = [
    {},
    {"mask": "causal", "latent_norm": "rms"},
    {"mask": {"window": [1, 0]}, "softcap": 3, "W_o": numbers(1, 4, 3), "b_o": [1, 2, 3]},
    {"scale": "1/d_k", "bias": numbers(2, 3, 3), "normalize": {"name": "softmax", "sink": 1}},
    {"gate": {"W": numbers(3, 4, 4)}, "online": {"tile": 2}, "mask": "causal"},
    {"score": "dot", "normalize": "sigmoid", "positions": ["rope", "alibi", "sinusoidal"]},
]
"""What goes with any problem of two heads."""


def given_keys(keys: Keys, more: Keys, rotary: bool) -> Keys:
    """Return a problem with more keys, but for the positions of those without a rotary part."""
    return keys | {key: part for key, part in more.items() if rotary or key != "positions"}


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.booleans(), st.booleans(), st.sampled_from(MORE))
def test_absorbed_is_naive(seed: int, compresses: bool, rotary: bool, more: Keys) -> None:
    keys = given_keys(problem(seed, 2, compresses, rotary), more, rotary)
    naive, absorbed = (
        attncli.compute(attncli.Problem(**keys, form=form, gradient="sum")) for form in FORMS
    )
    shown = [name for name in ("scores", "weights", "output") if name in naive]
    for name in (*shown, *(step for step in naive.steps if "d_W" in step)):
        # Derivatives are sums of numbers near 1, which cancel where weights are saturated.
        allowed = 1e-11 * max(np.abs(naive[name].value).max(), 1.0)
        np.testing.assert_allclose(absorbed[name].value, naive[name].value, 1e-10, allowed)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([1, 2, 3]), st.sampled_from(FORMS))
def test_without_compression_it_is_kind_self(seed: int, heads: int, form: str) -> None:
    keys = problem(seed, heads, compresses=False, rotary=False, mask="causal")
    keys |= {"W_uk": numbers(seed, 4, 3 * heads), "W_uv": numbers(seed, 4, 2 * heads)}
    found = output(keys | {"W_dkv": np.eye(4), "form": form})
    plain = {key: keys[key] for key in ("X", "W_q", "heads", "mask")}
    expected = output(plain | {"W_k": keys["W_uk"], "W_v": keys["W_uv"]})
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from([1, 2]), st.sampled_from(FORMS), st.booleans())
def test_other_ways_to_write_it_give_the_same(
    seed: int, heads: int, form: str, compresses: bool
) -> None:
    """Tokens as columns, weights (out, in), a list of matrices per head, a batch."""
    keys = problem(
        seed, heads, compresses, form=form, mask="causal", W_o=numbers(seed, 2 * heads, 3)
    )
    expected = output(keys)
    weights = {key: part.T for key, part in keys.items() if key.startswith("W_")}
    columns = output(keys | weights | {"X": keys["X"].T, "tokens_as": "columns"})
    out_in = output(keys | weights | {"weights_as": "out_in"})
    by_head = keys | {
        key: np.stack(np.split(keys[key], heads, axis=1))
        for key in ("W_uq", "W_qr", "W_uk", "W_uv")
        if key in keys and heads > 1
    }
    batch = output(keys | {"X": np.stack([keys["X"], -keys["X"]])})
    for other in (columns.T, out_in, output(by_head), batch[0]):
        np.testing.assert_allclose(other, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("compresses", [False, True])
def test_gradients_are_those_of_differences(form: str, heads: int, compresses: bool) -> None:
    more: Keys = {"latent_norm": "rms", "eps": 0.5, "gain_kv": [1, 2, -1], "mask": "causal"}
    more |= {"gain_q": [2, -1]} if compresses else {"W_o": numbers(3, 2 * heads, 2)}
    keys = problem(5, heads, compresses, form=form, **more, positions={"name": "rope", "base": 100})
    upstream = numbers(9, *output(keys).shape)
    trace = attncli.compute(attncli.Problem(**keys, gradient=upstream))

    def loss(path: str, place: tuple[int, ...], by: Any) -> Any:
        found = latent.solve(**changed(keys, path, place, by))["output"][0][0]
        pairs = zip(found, upstream.tolist(), strict=True)
        return reference.mp.fsum(reference.dot(row, reference.exact(up)) for row, up in pairs)

    for path in (key for key in keys if key == "X" or key.startswith(("W_", "gain_"))):
        found = trace[f"d_{path}"].value
        expected = np.empty(found.shape)
        for place in np.ndindex(found.shape):
            ends = [loss(path, place, by) for by in (STEP, -STEP)]
            expected[place] = float((ends[0] - ends[1]) / (2 * STEP))
        most = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * most, err_msg=path)


@pytest.mark.parametrize("form", FORMS)
def test_tiles_give_the_numbers_of_the_lines(form: str) -> None:
    keys = problem(3, 2, form=form, mask="causal") | {"X": numbers(1, 700, 4)}
    given_ = attncli.Problem(**keys)
    whole, tiled = attncli.compute(given_), attncli.compute(given_, only="output")
    assert tiled.path.startswith("streamed")
    most = np.abs(whole.output).max()
    np.testing.assert_allclose(tiled.output, whole.output, rtol=1e-11, atol=1e-13 * most)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_cached(form: str) -> None:
    """Of each token, c_kv and the rotary part of its key, whatever the heads."""
    trace = attncli.compute(attncli.Problem(**problem(1, 2, form=form)))
    assert [trace[name].axes for name in ("c_kv", "K_rotated")] == [
        ("key", "latent"),
        ("key", "feature"),
    ]
    assert ("K_C" in trace) == (form == "naive")
    formulas = {name: trace[name].formula for name in ("c_kv", "K", "Q", "V", "output")}
    assert formulas == {
        "c_kv": "c_kv = X W_dkv",
        "K": "K = [K_C; K_rotated]" if form == "naive" else "K = [c_kv; K_rotated]",
        "Q": "Q = [Q_C; Q_rotated]" if form == "naive" else "Q = [Q_absorbed; Q_rotated]",
        "V": "V = c_kv W_uv" if form == "naive" else "V = c_kv",
        "output": "output = the heads of context side by side",
    }


@pytest.mark.parametrize(
    ("change", "without", "message"),
    [
        ({}, "W_uv", "kind latent needs W_uv"),
        ({}, "W_uq", "W_dq has no use without W_uq"),
        ({}, "W_qr", "W_kr has no use without W_qr"),
        ({"W_q": np.ones((4, 6))}, "", "W_dq is given, so W_q has no use"),
        ({}, "W_dq W_uq", "kind latent needs W_q, or W_dq and W_uq"),
        ({"positions": "alibi"}, "", "rope turns what W_qr and W_kr make, so each needs the other"),
        ({"positions": "rope"}, "W_qr W_kr", "rope turns what W_qr and W_kr make"),
        ({"form": "absorbed", "score": "cosine"}, "", "form: absorbed needs dot products"),
        ({"form": "fused"}, "", "unknown form fused"),
        ({"gain_kv": [1, 2, 3]}, "", "gain_kv has no use without latent_norm"),
        ({"eps": 1}, "", "eps has no use without latent_norm"),
        (
            {"latent_norm": "rms", "gain_kv": [1]},
            "",
            "gain_kv has 1 number, but W_dkv has 3 columns",
        ),
        ({"W_kr": np.ones((4, 1)), "W_qr": np.ones((2, 2))}, "", "rope turns pairs of features"),
        ({"W_uk": np.ones((3, 4))}, "", r"W_uk has 4 columns \(2 heads of 2\), but W_uq has 6"),
        ({"past": {"K": [[1]], "V": [[1]]}}, "", "past has no use in kind latent"),
        ({"kv_b_proj": [[1]]}, "", r"write W_uk and W_uv, of each head its first rows"),
        ({"kv_lora_rank": 3}, "", "leave it out, sizes follow from the matrices"),
    ],
)
def test_what_does_not_fit_is_refused(change: Keys, without: str, message: str) -> None:
    keys = {key: part for key, part in problem(1, 2).items() if key not in without.split()}
    with pytest.raises(attncli.InputError, match=message):
        attncli.Problem(**keys | change)


@pytest.mark.parametrize(
    "name", ["c^KV", "Q^C", "k_R", "W^{DKV}", "d_W_uk", "K_rotary", "context_c"]
)
def test_names_are_accepted(name: str, attn: Attn) -> None:
    file = "sample_inputs/latent_absorbed.yaml"
    result = attn("compute", file, "--gradient", "sum", "--only", name)
    assert (result.status, result.err) == (0, "")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "flags", [(), ("--heads", "2"), ("--d-k", "5"), ("--tokens-as", "columns")]
)
def test_a_new_problem_has_both_parts(form: str, flags: tuple[str, ...], attn: Attn) -> None:
    made = attn("new", "--kind", "latent", "--set", f"form={form}", *flags)
    assert made.status == 0, made.err
    computed = attn("compute", "-", "--only", "K_rotated,output", stdin=made.out.encode())
    assert (computed.status, computed.err) == (0, "")
    assert attn("new", "--kind", "latent", "--d-k", "2").err.startswith("--d-k: d_k is d_h + d_r")


def test_absorbed_work_is_right_for_a_naive_problem() -> None:
    """Scores, weights and output are the same; the steps in between are those of the problem."""
    naive, absorbed = (attncli.Problem(**problem(4, 2, form=form)) for form in FORMS)
    steps = attncli.compute(absorbed).steps
    answers = {
        name: steps[name].value for name in ("Q_C", "scores", "weights", "context", "output")
    }
    assert attncli.check(naive, answers).verdict == "correct"


@pytest.mark.parametrize("form", FORMS)
def test_mistakes_are_made_with_what_is_there_before(form: str) -> None:
    keys = problem(1, 2, form=form, latent_norm="rms") | {"W_dq": numbers(1, 4, 2)}
    trace = attncli.compute(attncli.Problem(**keys))
    names = [*trace.steps]
    made = set[str]()
    for step in trace:
        for row in (row for row in vars(of_latent).values() if isinstance(row, Mistake)):
            for change, _ in row.changes(step, trace):
                made.add(row.id)
                for name, other in change.items():
                    used = [part.name for part in walk_deep(other) if part.name in names]
                    assert all(names.index(one) < names.index(name) for one in used), (row.id, name)
    own = {row.id for row in vars(of_latent).values() if isinstance(row, Mistake)}
    assert made == own - {"content_turned"}  # as 3 features, or 5, are no pairs


def walk_deep(expression: Any) -> list[Any]:
    """Return the steps in an expression, also inside operations."""
    if isinstance(expression, Step):
        return [expression]
    return [part for operand in expression.operands for part in walk_deep(operand)]
