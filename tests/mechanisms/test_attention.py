"""Attention of kinds self and cross against plain loops in 50-digit arithmetic, to 1e-12.

Each row of the open tables has its cases in `tests/data/cases/attention.yaml`: a row without one
fails a test.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.attention.masks import MASKS
from attncli.core.attention.normalizers import NORMALIZERS
from attncli.core.attention.scores import SCORES
from tests.conftest import Attn, table, tables
from tests.mechanisms.table import Keys, computed, numbers, problem_of, rows
from tests.oracles import reference

NORMALIZED, MASKED = (table("attention", name) for name in ("normalizers", "masks"))
SCORED = [
    row | {"keys": {"score": {"name": row["name"], **row.get("keys", {}).get("score", {})}}}
    for row in table("attention", "scores")
]
LAST_OF = {row["name"]: row for row in SCORED}
"""The last row of each score function."""


def agrees(keys: Keys) -> attncli.Trace:
    """Calculate a problem both ways, assert that all steps are equal, return the program's."""
    trace = computed(keys)
    reference.check(trace, reference.solve(**keys))
    return trace


def test_every_row_of_a_table_has_a_case() -> None:
    assert {row["name"] for row in SCORED} == {*SCORES}
    assert {row["name"] for row in NORMALIZED} == {*NORMALIZERS}
    forms = {form for mask in MASKED for form in (mask if isinstance(mask, dict) else ())}
    assert forms - {"align", "offset"} == {*MASKS}


EVERY = [(name, row) for name, several in tables("attention").items() for row in several]
LAYOUTS = {f"{name}: {row['name']}": row for name, row in EVERY if name in (
    "layouts", "several", "projected", "others")}  # fmt: skip


@pytest.mark.parametrize("row", LAYOUTS.values(), ids=list(LAYOUTS))
def test_every_layout_of_heads_batches_and_projections(row: Keys) -> None:
    """The output has a batch axis where there is a batch, the weights a head axis with heads."""
    keys = problem_of(row)
    trace = agrees(keys)
    is_batch = reference.batches(reference.read(keys)) > 1 or np.ndim(keys.get("X", 0)) == 3
    axes = trace.last.axes
    assert axes == (("batch",) if is_batch else ()) + axes[-2:]
    if keys.get("heads", 1) == 1:
        assert all("head" not in step.axes for step in trace)
    elif "scores" not in keys or np.ndim(keys["scores"]) > 2:
        assert trace["weights"].axes[-3] == "head"


@pytest.mark.parametrize("row", SCORED, ids=[row["name"] for row in SCORED])
def test_score_function(row: Keys) -> None:
    trace = agrees(problem_of(row))
    assert ("hidden" in trace) == (row["name"] in ("additive", "concat"))
    assert ("scaled" in trace) == (row["name"] == "scaled_dot")


@pytest.mark.parametrize("settings", NORMALIZED, ids=str)
def test_normalizer(settings: Keys) -> None:
    for axis in ("keys", "queries"):
        agrees(problem_of(LAST_OF["dot"]) | {"normalize": settings | {"axis": axis}})


@pytest.mark.parametrize("mask", MASKED, ids=str)
def test_mask(mask: Any) -> None:
    """Of fewer queries than keys; of known scores, and of more queries than keys."""
    agrees(problem_of(LAST_OF["dot"]) | {"mask": mask})
    mask = dict(mask) if isinstance(mask, dict) else {}
    mask |= {form: np.transpose(mask[form]) for form in ("keep", "block") if form in mask}
    mask["lengths"] = min(np.ravel(mask.get("lengths", 2))[0], 3)
    agrees({"scores": numbers(1, 5, 3), "V": numbers(2, 3, 2), "mask": mask})


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("score", SCORES)
def test_score_and_normalizer_and_mask_together(score: str, normalizer: str) -> None:
    settings = [row for row in NORMALIZED if row["name"] == normalizer][-1]
    keep = {"keep": [[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]}
    for axis, mask in (("keys", keep), ("queries", "causal")):
        normalize = settings | {"axis": axis}
        agrees(problem_of(LAST_OF[score]) | {"mask": mask, "normalize": normalize})


@pytest.mark.parametrize("score", SCORES)
def test_score_function_with_heads_and_at_a_decoder_step(score: str) -> None:
    """tanh(W_c [c_t; h_t]) of one decoder state h_t and the encoder states, too."""
    row = LAST_OF[score]
    keys, d_k = problem_of(row), row["shapes"]["K"][1]
    mask = {"causal": True, "align": "bottom-right"}
    for heads, kv_heads in ((1, 1), (2, 2), (4, 2), (4, 1)):
        several = {"heads": heads, "kv_heads": kv_heads, "mask": mask}
        several |= {"Q": numbers(1, 3, 4 * heads), "K": numbers(2, 5, d_k * kv_heads)}
        agrees(keys | several | {"V": numbers(3, 5, 2 * kv_heads)})
    decoder: Keys = {"kind": "cross", "X": numbers(1, 1, 4), "memory": numbers(2, 6, d_k)}
    trace = agrees(decoder | {"score": keys["score"], "W_c": numbers(3, 3, 4 + d_k)})
    assert [*trace.steps][-1] == "attentional"


@rows("attention", "between")
def test_what_happens_between_scores_and_weights(row: Keys) -> None:
    for score in ("dot", "scaled_dot", "additive"):
        agrees(problem_of(LAST_OF[score]) | problem_of(row))


SCALES: list[object] = [
    *("1/sqrt(d_k)", "1/d_k", "1", "1/sqrt(d_model)", "1/sqrt(d_v)", "1/(n*m)", "d_v/d_k"),
    *("2*d_k^-0.5", "2*sqrt(d_k)", "-1/3", "d_k - 10", "1/(2*sqrt(2*d_k))", 0.5, 1, 2, "0.125"),
]


@pytest.mark.parametrize("scale", SCALES)
def test_scale_is_any_expression_of_the_sizes(scale: object) -> None:
    """d_k and d_v are those of one head, d_model the columns of X."""
    shapes = {"X": (3, 4), "memory": (5, 4), "W_q": (4, 8), "W_k": (4, 8), "W_v": (4, 6)}
    drawn = {key: numbers(seed, *shape) for seed, (key, shape) in enumerate(shapes.items())}
    for heads, score in ((2, "scaled_dot"), (1, "cosine")):
        agrees({"kind": "cross", "heads": heads, "score": score, "scale": scale, **drawn})


@pytest.mark.parametrize("given", [*itertools.product([False, True], repeat=4)])
def test_any_of_the_four_biases(given: tuple[bool, ...]) -> None:
    letters = [letter for letter, there in zip("qkvo", given, strict=True) if there]
    biases = {f"b_{letter}": numbers(seed, 4) for seed, letter in enumerate(letters)}
    for heads in (1, 2, 4):
        agrees({"X": numbers(9, 3, 4), "heads": heads, **biases})


# Two readings are refused, or calculated with a warning.


@rows("attention", "open")
def test_an_axis_that_may_be_the_batch_or_the_heads_is_refused(row: Keys) -> None:
    with pytest.raises(attncli.InputError) as caught:
        attncli.Problem(**{"X": numbers(1, 2, 3, 4), "heads": 2} | problem_of(row))
    faults = [fault for fault in caught.value.faults if "axes of" in fault.message]
    paths = [".".join(map(str, fault.path)) for fault in faults]
    assert paths == [path for path in row["paths"] if path != "W_o"]
    says = "the first of the three axes of {} may be the batch or the heads"
    assert [fault.message for fault in faults] == [says.format(path) for path in paths]
    assert faults[-1].hint.endswith(row["hint"])


@rows("attention", "four_axes")
def test_four_axes_tell_the_heads(row: Keys, tmp_path: Path) -> None:
    arrays = problem_of(row)
    told = attncli.compute(attncli.Problem(**arrays, heads=row["heads"], kv_heads=row["kv_heads"]))
    np.savez(tmp_path / "p.npz", **arrays)
    for problem in (attncli.Problem(**arrays), attncli.load(tmp_path / "p.npz")):
        assert (problem.heads, problem.kv_heads) == (row["heads"], row["kv_heads"])
        trace = attncli.compute(problem)
        assert trace["weights" if row["heads"] == 1 else "V"].leading[0] == "batch"
        assert attncli.render(trace, "json") == attncli.render(told, "json")


FEW_QUERIES: Keys = {"Q": numbers(1, 2, 4), "K": numbers(2, 5, 4), "V": numbers(3, 5, 3)}


@pytest.mark.parametrize(
    ("mask", "is_told"),
    [
        ("causal", True),
        ({"causal": True}, True),
        ({"causal": True, "window": [1, 0]}, True),
        ({"causal": True, "align": "top-left"}, False),
        ({"causal": True, "align": "bottom-right"}, False),
        ({"causal": True, "offset": 0}, False),
        ({"causal": False}, False),
        ({"window": [1, 0]}, False),
    ],
    ids=str,
)
def test_a_causal_mask_of_unequal_numbers_is_told_to_be_top_left(mask: Any, is_told: bool) -> None:
    """Unless it says where it begins."""
    trace = computed(FEW_QUERIES, mask=mask)
    assert len(trace.warnings) == is_told
    for warning in trace.warnings:
        assert warning.startswith("mask: causal lets query 1 of 2 see only key 1 of 5")
        assert "align: top-left}, or bottom-right" in warning
        assert trace["weights"].value[0].tolist() == [1, 0, 0, 0, 0]


BOOLEAN = np.array([[True, False, False], [True, True, False], [True, True, True]])
TRUE_MAY_ATTEND = "a query may attend where the mask is true, but some programs mean the reverse"


@pytest.mark.parametrize(
    ("mask", "is_told"),
    [
        (BOOLEAN, True),
        (BOOLEAN.tolist(), True),
        ([*BOOLEAN], True),
        ("true false false\ntrue true false\n1 1 1", True),
        ({"keep": BOOLEAN}, False),
        ({"block": ~BOOLEAN}, False),
        (BOOLEAN.astype(int), False),
        ("causal", False),
    ],
)
def test_only_a_boolean_mask_is_told_to_keep_where_it_is_true(mask: Any, is_told: bool) -> None:
    trace = computed({"X": numbers(1, 3, 4), "mask": mask})
    assert trace["weights"].value[0].tolist() == [1, 0, 0]
    assert [warning.startswith(TRUE_MAY_ATTEND) for warning in trace.warnings] == [True] * is_told
    advice = "write mask: {keep: …} or mask: {block: …} to say which"
    assert all(warning.endswith(advice) for warning in trace.warnings)


def test_a_boolean_mask_of_a_file_is_told_to_keep_where_it_is_true(
    attn: Attn, tmp_path: Path
) -> None:
    np.save(tmp_path / "mask.npy", BOOLEAN)
    np.savez(tmp_path / "p.npz", X=np.ones((3, 1)), mask=BOOLEAN)
    (tmp_path / "p.yaml").write_text("X: [[1], [2], [3]]\nmask: mask.npy\n")
    (tmp_path / "keep.yaml").write_text("X: [[1], [2], [3]]\nmask: {keep: mask.npy}\n")
    for name, is_told in (("p.npz", True), ("p.yaml", True), ("keep.yaml", False)):
        assert (TRUE_MAY_ATTEND in attn("compute", tmp_path / name).err) is is_told


@pytest.mark.usefixtures("small_pool")
def test_a_warning_of_a_mask_is_no_flaw_of_the_numbers(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("{kind: cross, X: [[1, 0], [0, 1]], memory: [[1, 2], [2, 1], [0, 1]]}\n")
    made = attn("vary", path, "--mask", "causal", "-n", "1", "-o", tmp_path / "variants")
    assert "flaw" not in made.out + made.err
