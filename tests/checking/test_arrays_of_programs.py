"""Arrays that programs calculated: the first that differs, and by which convention or mistake.

The layers are PyTorch's: `benchmarks/libraries/conventions.py` wrote them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.mistakes.conventions import CONVENTIONS
from attncli.checking.naming.catalogued import mistakes_in
from attncli.checking.some_rows import SomeRows
from attncli.core.attention.masks import Masked
from attncli.core.tape.evaluation import Replay, cut
from attncli.core.tape.step import ShapeError
from tests.checking import test_causes_of_dumps, test_causes_of_places
from tests.conftest import DATA, ROOT, SAMPLES, Attn

Array = np.ndarray[Any, Any]
Layer = tuple[str, str, dict[str, Any], dict[str, Any], list[str]]


def layers() -> Iterator[Layer]:
    """Yield stored layers: type, convention, keys of the problem, steps, and which differs first.

    The first that differs is that of all steps, then that of the weights and the output.
    """
    with np.load(DATA / "layers" / "conventions.npz") as stored:
        index, numbers = json.loads(str(stored["index"])), stored["numbers"]
    for one in index:
        found: list[dict[str, Any]] = []
        for shapes in one["shapes"]:
            matrices = {}
            for name, shape in shapes.items():
                count = int(np.prod(shape))
                matrices[name], numbers = numbers[:count].reshape(shape), numbers[count:]
            found.append(matrices)
        given, steps = found
        yield one["dtype"], one["convention"], given | one["options"], steps, one["first"]


LAYERS = [*layers()]


@pytest.mark.parametrize("shown", ["all", "weights and output"])
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: f"{layer[0]}-{layer[1]}")
def test_a_convention_is_named(layer: Layer, shown: str) -> None:
    dtype, convention, keys, steps, (first, first_alone) = layer
    if shown != "all":
        steps = {name: steps[name] for name in ("weights", "output")}
        first = first_alone
    report = attncli.check(attncli.Problem(**keys), steps, marking={"dtype": dtype})
    assert report.convention is not None
    assert (report.convention.id, report.first_wrong_step) == (convention, first)


def test_every_convention_has_a_layer_or_is_drawn() -> None:
    drawn = {*test_causes_of_dumps.CAUSES, *test_causes_of_places.CAUSES}
    assert {name for _, name, *_ in LAYERS} | drawn >= {*CONVENTIONS}


def test_every_convention_has_its_symptom_on_the_page() -> None:
    page = (ROOT / "docs" / "from-pytorch.md").read_text(encoding="utf-8")
    table = page.partition("| what you see |")[2].partition("\n\n")[0]
    assert re.findall(r"^\|[^|]*\| `(\w+)`", table, re.M) == [*CONVENTIONS]


@pytest.mark.parametrize("layer", LAYERS[::3], ids=lambda layer: f"{layer[0]}-{layer[1]}")
def test_the_same_calculation_in_short_floats_is_right(layer: Layer) -> None:
    """Every step worked in NumPy with float32; with bfloat16, rounded to its 8 bits."""
    dtype, _, keys, *_ = layer
    trace = attncli.compute(attncli.Problem(**keys))
    rng = np.random.default_rng(0)
    short = {}
    for step in trace:
        value = step.value.astype("f4")
        if dtype == "bfloat16":
            value = value * (1 + rng.uniform(-1, 1, value.shape).astype("f4") * 2.0**-9)
        short[step.name] = value
    report = attncli.check(attncli.Problem(**keys), short, marking={"dtype": dtype})
    assert (report.verdict, report.convention) == ("correct", None)


X = np.random.default_rng(5).normal(size=(4, 6)).astype("f4")
X64 = X.astype(float)


def problem(**more: Any) -> attncli.Problem:
    keys: dict[str, Any] = {"X": X, "heads": 2, "mask": "causal"}
    return attncli.Problem(**(keys | more))


RIGHT = attncli.compute(problem(X=X64))


def dump(*names: str) -> dict[str, Any]:
    return {name: RIGHT[name].value.astype("f4") for name in names}


def check(steps: dict[str, Any], **marking: Any) -> attncli.Report:
    return attncli.check(problem(), steps, marking=marking or None)


def weight_matrices(seed: int) -> dict[str, Any]:
    matrices = np.random.default_rng(seed).normal(size=(3, 6, 6))
    return dict(zip(("W_q", "W_k", "W_v"), matrices, strict=True))


def softmax(scores: Array) -> Array:
    powers = np.exp(scores)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


# ---- the type of floats, and what its error allows


def test_types_are_recognised() -> None:
    short = dump("weights", "output")
    exact = {name: RIGHT[name].value for name in short}
    wide = {name: array.astype(float) for name, array in short.items()}
    assert check(short).dtype == check(wide).dtype == "float32"
    assert check(exact).dtype == "float64"
    assert check({name: array.astype("f2") for name, array in short.items()}).dtype == "float16"
    assert check(short, dtype="bfloat16").dtype == "bfloat16"
    # Numbers of a text are recognised by their digits.
    assert check({name: array.tolist() for name, array in short.items()}).dtype == "float32"
    assert check({name: array.tolist() for name, array in exact.items()}).dtype == ""
    # Rounded numbers in an array are no handwork; in lists they are.
    rounded = {name: array.round(2) for name, array in exact.items()}
    assert (check(rounded).dtype, check(rounded).verdict) == ("float64", "wrong")
    lists = check({name: array.tolist() for name, array in rounded.items()})
    assert (lists.dtype, lists.verdict) == ("", "correct")


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(">f8", "float64"), (">f4", "float32"), (">f2", "float16"), ("g", "float64")],
)
def test_the_order_of_bytes_does_not_matter(dtype: str, name: str) -> None:
    right = check({"weights": RIGHT["weights"].value.astype(dtype)})
    assert (right.dtype, right.verdict) == (name, "correct")
    rounded = check({"weights": RIGHT["weights"].value.round(1).astype(dtype)})
    assert (rounded.dtype, rounded.verdict) == (name, "wrong")


@pytest.mark.parametrize(
    "beside",
    [
        {"loss": 0.3},
        {"tokens": np.array(["a", "b"])},
        {"loss": np.full(3, 0.1, "f2")},
        {"run": "run 7"},
        {"x": None},
    ],
    ids=["number", "words", "float16", "text", "nothing"],
)
def test_what_means_no_step_does_not_tell_the_type(beside: dict[str, Any]) -> None:
    weights = RIGHT["weights"].value
    off = check({"weights": weights + 1e-3, **beside})
    assert (off.dtype, off.verdict) == ("float64", "wrong")
    right = check({"weights": weights.astype("f4").astype(float), **beside})
    assert (right.dtype, right.verdict) == ("float32", "correct")


def test_arrays_of_float64_may_be_no_better_than_float32() -> None:
    x = np.random.default_rng(0).normal(size=(5, 8)).astype("f4")
    problem = attncli.Problem(X=x.astype(float), heads=2)
    context = attncli.compute(problem)["context"].value
    error = 1 + 1e-7 * np.cos(np.arange(40)).reshape(2, 5, 4)
    context, joined = context * error, (context * error).reshape(5, 8)
    report = attncli.check(problem, {"context": context})
    assert (report.verdict, report.findings) == ("wrong", {})
    assert "--dtype float32" in str(report.no_cause)
    assert attncli.check(problem, {"output": joined}).convention.id == "heads_joined"  # type: ignore[union-attr]


def test_each_type_is_granted_its_own_error() -> None:
    steps = {name: array.astype("f2") for name, array in dump("weights", "output").items()}
    wide = {name: array.astype("f4") for name, array in steps.items()}
    verdicts = [check(steps).verdict, check(wide).verdict, check(wide, dtype="float16").verdict]
    assert verdicts == ["correct", "wrong", "correct"]


@pytest.mark.parametrize(
    ("marking", "verdict"), [({}, "wrong"), ({"rtol": 1e-3}, "correct"), ({"rtol": 1e-5}, "wrong")]
)
def test_a_relative_tolerance(marking: dict[str, Any], verdict: str) -> None:
    steps = dump("weights")
    steps["weights"][1, 3, 0] += 1e-4
    assert check(steps, **marking).verdict == verdict


@pytest.mark.parametrize(
    "weights", [np.eye(3), np.ones((3, 3)), np.eye(3, dtype=int)], ids=["eye", "ones", "integers"]
)
def test_whole_numbers_of_a_dump_have_no_tolerance(weights: Array) -> None:
    given = attncli.Problem(Q=3 * np.eye(3), K=3 * np.eye(3), V=np.eye(3))
    report = attncli.check(given, {"weights": weights})
    assert (report.verdict, report.dtype) == ("wrong", "float64")


# ---- the first that differs, and what follows from it


def test_one_wrong_number_is_no_slip_of_the_hand() -> None:
    steps = dump("scores", "weights", "output")
    steps["weights"][0, 2, 1] *= 10  # a decimal point, by hand
    report = check(steps)
    assert (report.first_wrong_step, report.findings) == ("weights", {})
    judged = report.steps["weights"]
    assert isinstance(judged, attncli.Difference)
    assert judged.counts["wrong"] == 1
    assert judged.errors > 1000
    assert report.steps["output"].status == "correct"


def test_what_follows_from_a_wrong_array() -> None:
    weights = RIGHT["weights"].value.copy()
    weights[0] = weights[0, ::-1]
    heads = np.split(X64, 2, axis=1)
    mixed = np.concatenate([w @ v for w, v in zip(weights, heads, strict=True)], axis=1)
    report = check({"weights": weights, "output": mixed})
    assert (report.first_wrong_step, report.steps["output"].status) == ("weights", "follows")
    scores = RIGHT["scores"].value.copy()
    scores[1] *= -1.5
    masked = np.where(np.tri(4) == 1, scores / np.sqrt(3), -np.inf)
    report = check({"scores": scores, "weights": softmax(masked)})
    assert (report.first_wrong_step, report.steps["weights"].status) == ("scores", "follows")


def test_shapes_of_heads() -> None:
    weights = dump("weights")["weights"]
    assert check({"weights[1]": weights[0], "weights[2]": weights[1]}).verdict == "correct"
    assert check({"weights[1]": weights[0], "weights[2]": weights[0]}).verdict == "wrong"
    report = check({"weights[1]": weights})  # a whole array is no answer for one head
    assert (report.verdict, report.findings["weights"].id) == ("wrong", "wrong_shape")
    finding = check({"weights": np.full((2, 4, 3), 0.1234567891)}).findings["weights"]
    assert (finding.id, finding.message) == (
        "wrong_shape",
        "The shape is (2, 4, 3), but weights is (2, 4, 4) here.",
    )


def test_an_output_may_have_the_axes_of_heads() -> None:
    """As `scaled_dot_product_attention` returns it, or with the heads after the tokens."""
    given = attncli.Problem(X=X64, heads=2)
    context = attncli.compute(given)["context"].value
    for output in (context, context.swapaxes(0, 1)):
        assert attncli.check(given, {"output": output}).verdict == "correct"
        assert attncli.check(given, {"output": output + 1}).first_wrong_step == "output"


def test_arrays_beside_lists_and_odd_arrays() -> None:
    steps = dump("weights", "output")
    mixed = {"weights": steps["weights"], "output": steps["output"].tolist()}
    assert check(mixed).verdict == "correct"
    report = check({"weights": steps["weights"], "output": np.zeros((0,))})
    assert report.findings["output"].id == "wrong_shape"
    batch = np.random.default_rng(1).normal(size=(2, 4, 6))
    turned = problem(X=batch, positions="rope", heads=1)
    every = {step.name: step.value for step in attncli.compute(turned)}
    assert attncli.check(turned, every).verdict == "correct"
    every["Q"] = every["Q"] + 1
    assert attncli.check(turned, every).first_wrong_step == "Q"


# ---- other right ways of programs


def test_what_a_step_holds_is_said() -> None:
    masked, weights = RIGHT["masked"].value, RIGHT["weights"].value
    report = check({"scores": masked, "weights": weights})
    assert (report.verdict, report.said) == ("correct", ("scores holds the masked scores.",))
    exp = np.exp(masked - masked.max(axis=-1, keepdims=True))
    report = check({"exp": exp, "weights": weights})
    said = "The largest score of each row was subtracted before the e^."
    assert (report.verdict, report.said) == ("correct", (said,))
    assert check({"exp": exp * 1.1, "weights": weights}).verdict == "wrong"


def test_blocked_cells_may_be_large_negative_numbers() -> None:
    masked = RIGHT["masked"].value
    numbers = np.where(np.isinf(masked), np.finfo("f4").min, masked).astype("f4")
    assert check({"masked": numbers}).verdict == "correct"
    numbers[0, 0, 1] = 0.5
    assert check({"masked": numbers}).first_wrong_step == "masked"


@pytest.mark.parametrize("letters", ["QK", "Q", "K"])
@pytest.mark.parametrize(("key", "kind"), [("positions", "rotated"), ("qk_norm", "normed")])
def test_turned_queries_and_keys_may_be_called_q_and_k(key: str, kind: str, letters: str) -> None:
    keys: dict[str, Any] = {key: "rope" if key == "positions" else "rms"}
    given = attncli.Problem(X=X[:, :4], **keys)
    trace = attncli.compute(given)
    shown = {x: trace[f"{x}_{kind}"].value for x in letters} | {"output": trace.output}
    report = attncli.check(given, shown)
    words = {"QK": "Q and K hold", "Q": "Q holds", "K": "K holds"}[letters]
    assert report.verdict == "correct"
    assert report.said[0].startswith(f"{words} the {kind} ")
    assert attncli.check(given, shown | {letters[0]: shown[letters[0]] + 1}).verdict == "wrong"


# ---- queries that see no key


@pytest.mark.parametrize("blind", [np.nan, 0.0, 1 / 3])
def test_numbers_of_a_query_without_keys_are_counted_apart(blind: float) -> None:
    """PyTorch gives nan there, others the mean of the values; attn 0."""
    given = attncli.Problem(X=X[:3], mask=[[1, 1, 1], [1, 1, 0], [0, 0, 0]])
    weights = attncli.compute(given)["weights"].value
    weights = np.where(weights.sum(-1, keepdims=True) == 0, blind, weights)
    report = attncli.check(given, {"weights": weights})
    assert report.verdict == "correct"
    text = attncli.render(report, "table")
    if blind == 0:
        assert (report.said, report.apart) == ((), {"weights": 0})
    else:
        assert "3 cells of queries that see no key are not compared: PyTorch's" in text
        assert text.endswith("correct: 6 numbers\n")


def test_a_query_without_keys_has_no_other_numbers_than_programs_give() -> None:
    given = attncli.Problem(X=X64[:3], mask=[[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    trace = attncli.compute(given)
    no_row = {"weights": [5, -7, 1e9], "output": [99, -1e6, 3, 1, 0, 0], "Q": [1, 2, 3, 0, 0, 0]}
    for name, numbers in no_row.items():
        value = trace[name].value.copy()
        value[0] = numbers
        report = attncli.check(given, {name: value})
        assert (report.verdict, report.first_wrong_step) == ("wrong", name)
    mean = np.concatenate([X64[:3].mean(axis=0, keepdims=True), trace.output[1:]])
    report = attncli.check(given, {"output": mean})
    assert (report.verdict, report.apart) == ("correct", {"output": X.shape[-1]})


def test_nan_is_wrong_where_a_key_is_seen_and_is_no_blank() -> None:
    steps = dump("weights")
    steps["weights"][1, 2] = np.nan
    assert check(steps).steps["weights"].counts["wrong"] == 4
    small = attncli.Problem(X=[[1, 0], [0, 1]], score="dot", mask="causal")
    for output in ([[1.0, 0.0], [np.nan, np.nan]], np.full((2, 2), np.nan)):
        report = attncli.check(small, {"output": np.array(output)})
        assert (report.verdict, report.first_wrong_step) == ("wrong", "output")


# ---- which cause is named


def test_a_mask_makes_scores_no_larger() -> None:
    scores, keep = RIGHT["scores"], RIGHT.inputs["mask"]
    with pytest.raises(ShapeError):
        Masked(scores, keep).apply(scores.array[..., :1, :1], keep.array)


def test_a_mistake_that_is_no_convention() -> None:
    """V taken from X, not from the values, is a mistake of the catalogue."""
    given = problem(X=X64, W_v=np.random.default_rng(2).normal(size=(6, 6)))
    weights = attncli.compute(given)["weights"].value
    report = attncli.check(given, {"weights": weights, "output": RIGHT.output})
    assert report.convention is None
    assert report.findings["output"].id in ("input_instead_of_values", "projection_missing")


@pytest.mark.parametrize("name", ["heads_grouped", "mask_window", "positions_rope", "qk_norm"])
def test_some_rows_of_a_cause_are_those_of_the_whole(name: str) -> None:
    trace = attncli.compute(attncli.load(SAMPLES / f"{name}.yaml"))
    region = slice(1, 3), slice(0, 2)
    some_rows = SomeRows(trace, trace.last, region)
    for change in (one.change for step in trace for one in mistakes_in(trace, step)):
        try:
            whole = cut(Replay[Array](trace, instead=change)(trace.last), region)
        except ShapeError:
            continue
        np.testing.assert_allclose(some_rows(change), whole, rtol=1e-9, atol=1e-12)


BIASED = weight_matrices(7) | {"W_o": weight_matrices(8)["W_q"], "b_o": np.arange(6.0)}
TURNED = {"positions": "rope", "heads": 1, "W_q": BIASED["W_q"]}
HALVES = {"name": "rope", "pairs": "halves"}


@pytest.mark.parametrize(
    ("given", "other", "named"),
    [
        (TURNED, {"positions": HALVES, "scale": 1}, {"other_pairs", "not_scaled"}),
        (BIASED, {"W_o": BIASED["W_o"].T, "scale": 1}, {"w_o_transposed", "not_scaled"}),
        (BIASED, {"W_o": BIASED["W_o"].T, "b_o": None}, {"w_o_transposed", "bias_missing"}),
        (BIASED, {"mask": None, "b_o": None}, {"mask_missing", "bias_missing"}),
        (BIASED, {"W_o": BIASED["W_o"].T}, set()),
    ],
)
def test_two_causes_at_once(given: dict[str, Any], other: dict[str, Any], named: set[str]) -> None:
    """Of two causes, of which neither alone gives the output, both are told."""
    right = problem(X=X64, **given)
    output = attncli.compute(right.with_keys(other)).output
    report = attncli.check(right, {"output": output})
    finding = report.findings["output"]
    assert {one.id for one in finding.together} == named
    assert all(one.message in finding.message for one in finding.together)
    mistake = json.loads(attncli.render(report, "json"))["steps"]["output"]["mistake"]
    assert {one["id"] for one in mistake.get("together", ())} == named


def test_a_convention_of_the_first_wrong_array_is_named_whatever_comes_later() -> None:
    weights = RIGHT["weights"].value
    dropped = np.where(np.arange(weights.size).reshape(weights.shape) % 3, weights / 0.6, 0)
    report = attncli.check(problem(X=X64), {"weights": dropped, "output": np.ones((4, 6))})
    assert report.findings["weights"].id == "dropout_left_on"
    right = {"weights": dropped, "output": RIGHT.output}  # the output contradicts it
    assert not attncli.check(problem(X=X64), right).findings


def test_each_cause_in_a_dump_is_named() -> None:
    """A later one is sought from the wrong arrays before it; what follows from them has none."""
    given = problem(X=X64, **BIASED)
    others = {"W_v": BIASED["W_v"].T, "W_o": BIASED["W_o"].T, "scale": 1}
    wrong = attncli.compute(given.with_keys(others))
    steps = {name: wrong[name].value for name in ("Q", "K", "V", "weights", "output")}
    assert {name: one.id for name, one in attncli.check(given, steps).findings.items()} == {
        "V": "weights_matrix_transposed",
        "weights": "not_scaled",
        "output": "weights_matrix_transposed",
    }
    mean = {"weights": attncli.compute(given)["weights"].value.mean(axis=0), "output": wrong.output}
    assert attncli.check(given, mean).findings["weights"].id == "weights_averaged"
    follows = attncli.compute(given.with_keys({"scale": 1}))
    steps = {name: follows[name].value for name in steps}
    assert [*attncli.check(given, steps).findings] == ["weights"]


def test_a_cause_beside_scores_that_are_masked_at_once() -> None:
    """−∞ shows which scores a program kept, also where their numbers are wrong."""
    given = problem(X=X64)
    wrong = attncli.compute(given.with_keys({"scale": "1/sqrt(d_model)"}))
    steps = {"scores": wrong["masked"].value, "weights": wrong["weights"].value}
    report = attncli.check(given, steps)
    assert report.said == ("scores holds the masked scores.",)
    assert {one.id for one in report.findings.values()} == {"scaled_by_sqrt_d_model"}


def test_two_causes_that_give_the_same_are_both_named() -> None:
    given = attncli.Problem(X=X64, positions="rope")
    right = attncli.compute(given)
    back = attncli.compute(attncli.Problem(X=X64, positions={"name": "rope", "start": 0}))
    cos, sin = np.cos(back["angles"].value), np.sin(back["angles"].value)
    sides = []
    for x in (right["Q"].value, right["K"].value):
        made = np.empty_like(x)
        made[:, ::2] = x[:, ::2] * cos + x[:, 1::2] * sin
        made[:, 1::2] = x[:, 1::2] * cos - x[:, ::2] * sin
        sides.append(made)
    finding = attncli.check(given, {"scores": sides[0] @ sides[1].T}).findings["scores"]
    assert not finding.certain
    assert {finding.id, finding.also[0].id} == {"angle_negative", "sine_and_cosine_exchanged"}


def test_weights_that_are_stored_as_out_in() -> None:
    """A forgotten transpose is no advice to write weights_as, which is written already."""
    stored = weight_matrices(4)
    wrong = attncli.compute(problem(X=X64, **stored))
    given = problem(X=X64, weights_as="out_in", **stored)
    report = attncli.check(given, {"weights": wrong["weights"].value, "output": wrong.output})
    assert report.convention is not None
    assert report.convention.id == "weights_out_in"
    assert "without a transpose" in report.convention.message
    steps = {"Q": wrong["Q"].value, "K": attncli.compute(given)["K"].value}
    assert attncli.check(given, steps).findings["Q"].message == (
        "The weight matrix W_q was used as it is stored, (out, in), without a transpose."
    )


def test_a_cause_that_right_arrays_contradict_is_not_named() -> None:
    """K in the place of V: the weights, which are right, show that K was K."""
    given = problem(X=X64, **weight_matrices(6))
    trace = attncli.compute(given)
    output = np.concatenate(list(trace["weights"].value @ trace["K"].value), axis=1)
    steps = {"weights": trace["weights"].value, "output": output}
    finding = attncli.check(given, steps).findings["output"]
    named = {finding.id, *(other.id for other in finding.also)}
    assert named == {"wrong_weight_matrix", "keys_instead_of_values"}  # V from W_k is the same


def test_features_that_were_cut_without_a_transpose_may_have_a_bias() -> None:
    rng = np.random.default_rng(2)
    keys: dict[str, Any] = {f"W_{side}": rng.normal(size=(6, 6)) for side in "qkv"}
    keys |= {f"b_{side}": rng.normal(size=6) for side in "qkv"}
    x = rng.normal(size=(2, 4, 6))
    q, k, v = ((x @ keys[f"W_{a}"] + keys[f"b_{a}"]).reshape(2, 2, 4, 3) for a in "qkv")
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(3))
    output = (weights @ v).swapaxes(1, 2).reshape(2, 4, 6)
    layer = attncli.Problem(X=x, heads=2, **keys)
    report = attncli.check(layer, {"weights": weights, "output": output})
    assert report.convention is not None
    assert report.convention.id == "heads_reshaped"


CACHE: dict[str, Any] = {
    "Q": np.eye(2),
    "K": [[1, 1], [0, 1]],
    "V": [[1, 2], [3, 4]],
    "past": {"K": [[1, 0], [0, 1], [1, 1]], "V": [[1, 0], [0, 1], [1, 1]]},
}


@pytest.mark.parametrize("mask", ["causal", {"causal": True, "align": "bottom-right"}], ids=str)
def test_what_follows_from_a_cache_is_no_convention(mask: Any) -> None:
    unmasked = attncli.compute(attncli.Problem(**CACHE))
    given = attncli.Problem(**CACHE, mask=mask)
    report = attncli.check(given, {"weights": unmasked["weights"].value})
    assert report.convention is None
    assert report.findings["weights"].id == "mask_missing"
    strict = attncli.Problem(**CACHE, mask={"causal": True, "offset": 2})
    report = attncli.check(given, {"weights": attncli.compute(strict)["weights"].value})
    assert report.convention is not None
    assert report.convention.id == "causal_strict"


def test_an_alignment_that_is_written_outranks_a_cache() -> None:
    placed = attncli.Problem(**CACHE, mask={"causal": True, "align": "top-left"})
    blocked = attncli.compute(placed)["masked"].value == -np.inf
    assert blocked.tolist() == [[False, *[True] * 4], [False, False, *[True] * 3]]


def test_two_readings_of_axes_are_said() -> None:
    batch = np.random.default_rng(3).normal(size=(3, 3, 4))
    (warning,) = attncli.Problem(X=batch, mask=[[1, 1, 0], [1, 1, 1], [1, 0, 0]]).warnings
    assert warning.endswith("that of the padding of a batch has the axes (3, 1, 3)")
    assert attncli.Problem(X=batch, mask=np.ones((3, 1, 3))).warnings == ()
    heads_third = np.ones((2, 5, 2, 4))
    with pytest.raises(attncli.InputError, match=r"exchange the second and the third, as Q\.swap"):
        attncli.Problem(Q=heads_third, K=heads_third, V=heads_third, heads=2)


# ---- the report


def test_a_report_of_arrays_is_short(attn: Attn, tmp_path: Path) -> None:
    given, answers = tmp_path / "problem.npz", tmp_path / "dump.npz"
    matrices = {name: w.astype("f4") for name, w in weight_matrices(3).items()}
    keys: dict[str, Any] = {"X": X, "heads": 2, **matrices}
    np.savez(given, **keys)
    wide = {name: w.astype(float) for name, w in matrices.items()}
    other = attncli.compute(problem(X=X64, mask={}, scale=1, **wide))
    steps: dict[str, Any] = {n: other[n].value.astype("f4") for n in ("Q", "weights", "output")}
    np.savez(answers, **steps)
    shown = attn("check", given, answers)
    assert shown.status == 1
    lines = shown.out.splitlines()
    assert lines[2].startswith("✓ Q  max |Δ| ")
    assert lines[2].endswith(" × the error of float32")
    at = re.search(r"✗ weights = exp / sum   \(max \|Δ\| \S+ at (weights.+\]),", shown.out)
    assert at
    assert " ✗" not in shown.out
    for form in ("table", "html"):
        shown_cells = attn("check", given, answers, "--verbose", "-f", form)
        assert shown_cells.out.count(" ✗") == 5
    assert "  The scores were not scaled." in lines
    assert re.fullmatch(r"wrong: \d+ of 80 numbers, first at weights", lines[-1])
    record = json.loads(attn("check", given, answers, "-f", "json").out)
    assert record["convention"] == {"id": "not_scaled", "message": "The scores were not scaled."}
    assert record["dtype"] == "float32"
    weights = record["steps"]["weights"]
    assert len(weights["cells"]) == 5
    assert weights["max_difference"] > 0.01
    assert weights["errors"] > 1000
    assert (weights["at"], weights["nan"]) == (at[1], 0)

    for form in ("markdown", "html", "csv"):
        assert "The scores were not scaled." in attn("check", given, answers, "-f", form).out
    flags = ("--dtype", "bfloat16", "--rtol", "10")
    assert attn("check", given, answers, *flags).status == 0
    refused = attn("check", given, answers, "--dtype", "float8")
    assert refused.status == 2
    assert "float8" in refused.err


ARE_NAN = [
    ((0,), 1, r"4 of 32 cells are nan, max \|Δ\| \S+, \S+ × the error of float32"),
    ((0, 1), 2, r"8 of 32 cells are nan, max \|Δ\| \S+ at weights\[head 2\]\[1, 1\], "),
    ((0, 1, 2, 3), 1, r"16 of 32 cells are nan, max"),
]


@pytest.mark.parametrize(("rows", "factor", "said"), ARE_NAN)
def test_numbers_that_are_nan_are_counted_apart(
    rows: tuple[int, ...], factor: int, said: str
) -> None:
    weights = factor * dump("weights")["weights"]
    weights[0, rows] = np.nan
    report = check({"weights": weights})
    assert re.search(said, str(report))
    record = json.loads(attncli.render(report, "json"))["steps"]["weights"]
    assert (record["nan"], record["max_difference"] <= 1) == (4 * len(rows), True)


def test_arrays_may_hold_a_step_that_the_problem_lacks() -> None:
    """A bias beside a mask: the mask may come before the scale, and the bias lies between both."""
    problem = attncli.load(SAMPLES / "mask_causal.yaml")
    report = attncli.check(problem, {"biased": np.ones((3, 3)), "masked": np.ones((3, 3))})
    assert report.wrong_steps == ["biased", "masked"]
