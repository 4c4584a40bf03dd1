"""Every mechanism against plain loops in 50-digit arithmetic, to 1e-12 of each number.

Each row of the open tables has its cases here: a row without one fails a test.
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
from tests.conftest import Attn
from tests.oracles import reference

Keys = dict[str, Any]


def numbers(*shape: int, seed: int = 1) -> Any:
    """Return numbers with three decimals between −2 and 2, none of them 0."""
    random = np.random.default_rng([seed, *shape])
    sign = random.choice([-1, 1], size=shape)
    return sign * random.integers(1, 2000, size=shape) / 1000


def agrees(keys: Keys) -> attncli.Trace:
    """Calculate a problem both ways, assert that all steps are equal, return the program's."""
    trace = attncli.compute(attncli.Problem(**keys))
    reference.check(trace, reference.solve(**keys))
    return trace


# 3 queries of 4 features and 5 keys of 4 features or 2.
Q, K, V = numbers(3, 4), numbers(5, 4, seed=2), numbers(5, 3, seed=3)
K2 = numbers(5, 2, seed=4)

SCORE_CASES: dict[str, list[tuple[Keys, Any]]] = {
    "dot": [({}, K)],
    "scaled_dot": [({}, K)],
    "cosine": [({}, K)],
    "general": [({"W": numbers(4, 4)}, K), ({"W": numbers(4, 2)}, K2)],
    "additive": [
        ({"W": numbers(6, 4), "U": numbers(6, 4, seed=2), "v": numbers(6)}, K),
        ({"W": numbers(1, 4), "U": numbers(1, 2), "v": numbers(1), "b": numbers(1)}, K2),
        ({"W": numbers(3, 4), "U": numbers(3, 2), "v": numbers(3), "b": numbers(3, seed=2)}, K2),
    ],
    "concat": [
        ({"W": numbers(6, 8), "v": numbers(6)}, K),
        ({"W": numbers(3, 6), "v": numbers(3), "b": numbers(3, seed=2)}, K2),
    ],
    "linear": [({}, K)],
    "distance": [({}, K), ({"width": 0.75}, K), ({"width": 3}, K)],
}

NORMALIZER_CASES: dict[str, list[Keys]] = {
    "softmax": [
        {},
        {"temperature": 2},
        {"temperature": 0.125, "base": "e"},
        {"base": 2},
        {"base": 10, "temperature": 3},
        {"base": 1.5},
        {"sink": 0},
        {"sink": [0.7]},
        {"sink": -2.5, "temperature": 2, "base": 3},
        {"sink": float("-inf")},
    ],
    "sigmoid": [{}, {"temperature": 3}],
    "hardmax": [{}, {"temperature": 0.5}],
    "sparsemax": [{}, {"temperature": 0.25}, {"temperature": 4}],
    "sum": [{}],
    "none": [{}, {"temperature": 2}],
}

KEEP = [[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [0, 0, 1, 1, 1]]

MASK_CASES: dict[str, list[Any]] = {
    "causal": [
        "causal",
        {"causal": True},
        {"causal": True, "align": "top-left"},
        {"causal": True, "align": "bottom-right"},
        {"causal": True, "offset": 1},
        {"causal": True, "offset": -1},  # the first query sees nothing
        {"causal": True, "offset": 9},
    ],
    "keep": [KEEP, {"keep": KEEP}, {"keep": [[1, 1, 0, 1, 0]]}, {"keep": [[1], [0], [1]]}],
    "block": [{"block": KEEP}, {"block": [[0, 0, 1, 1, 0]]}],
    "lengths": [{"lengths": 3}, {"lengths": [4]}, {"lengths": 5}, {"lengths": 0}],
    "window": [
        {"window": [0, 0]},
        {"window": [1, 0]},
        {"window": [-1, 1]},
        {"window": [0, -1]},
        {"window": [-1, -1]},
        {"window": [1, 1], "align": "bottom-right"},
        {"window": [0, 1], "offset": 1},
        {"window": [1, 2], "offset": -2},
    ],
    "when": [{"when": "j <= i + 1 or j % 2 == 0"}, {"when": "j <= p", "offset": 1}],
}
TOGETHER: list[Keys] = [
    {"causal": True, "lengths": 4, "align": "bottom-right"},
    {"causal": True, "keep": KEEP, "window": [2, 5]},
    {"keep": KEEP, "block": [[0, 0, 0, 1, 0]], "lengths": 4},
    {"causal": False, "lengths": 2},
]


@pytest.mark.parametrize(
    ("cases", "table"),
    [(SCORE_CASES, SCORES), (NORMALIZER_CASES, NORMALIZERS), (MASK_CASES, MASKS)],
    ids=["scores", "normalizers", "masks"],
)
def test_every_row_of_a_table_has_a_case(cases: Keys, table: Keys) -> None:
    assert set(cases) == set(table)
    assert all(cases.values())


def score_cases() -> list[tuple[str, Keys, Any]]:
    return [(name, more, k) for name, cases in SCORE_CASES.items() for more, k in cases]


def normalizer_cases() -> list[Keys]:
    return [{"name": name} | more for name, cases in NORMALIZER_CASES.items() for more in cases]


def mask_cases() -> list[Any]:
    return [mask for cases in MASK_CASES.values() for mask in cases] + TOGETHER


@pytest.mark.parametrize(("name", "parameters", "k"), score_cases())
def test_score_function(name: str, parameters: Keys, k: Any) -> None:
    trace = agrees({"Q": Q, "K": k, "V": V, "score": {"name": name} | parameters})
    assert ("hidden" in trace) == (name in ("additive", "concat"))
    assert ("scaled" in trace) == (name == "scaled_dot")


@pytest.mark.parametrize("settings", normalizer_cases())
def test_normalizer(settings: Keys) -> None:
    for axis in ("keys", "queries"):
        agrees({"Q": Q, "K": K, "V": V, "normalize": settings | {"axis": axis}})


@pytest.mark.parametrize("mask", mask_cases())
def test_mask(mask: Any) -> None:
    """Of fewer queries than keys; of known scores, and of more queries than keys."""
    agrees({"Q": Q, "K": K, "V": V, "mask": mask})
    mask = dict(mask) if isinstance(mask, dict) else {}
    for form in ("keep", "block"):
        if form in mask:
            mask[form] = np.transpose(mask[form])
    mask["lengths"] = min(np.ravel(mask.get("lengths", 2))[0], 3)
    agrees({"scores": numbers(5, 3), "V": numbers(3, 2), "mask": mask})


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("score", SCORES)
def test_score_and_normalizer_and_mask_together(score: str, normalizer: str) -> None:
    parameters, k = SCORE_CASES[score][-1]
    settings = {"name": normalizer} | NORMALIZER_CASES[normalizer][-1]
    keep = {"keep": [[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]}
    for axis, mask in (("keys", keep), ("queries", "causal")):
        keys = {"Q": Q, "K": k, "V": V, "mask": mask, "normalize": settings | {"axis": axis}}
        agrees(keys | {"score": {"name": score} | parameters})


# Heads.

X, MEMORY = numbers(3, 4), numbers(5, 4, seed=5)

HEAD_CASES: dict[str, Keys] = {
    "identity cut in two": {"X": X, "heads": 2},
    "identity cut in four": {"X": X, "heads": 4},
    "cut from one projection": {
        "X": X,
        "heads": 2,
        "W_q": numbers(4, 6),
        "W_k": numbers(4, 6, seed=2),
        "W_v": numbers(4, 4, seed=3),
    },
    "cut, with W_o": {"X": X, "heads": 2, "W_q": numbers(4, 4), "W_o": numbers(4, 3)},
    "a list of one matrix a head": {
        "X": X,
        "heads": 3,
        "W_q": numbers(3, 4, 2),
        "W_k": numbers(3, 4, 2, seed=2),
        "W_v": numbers(3, 4, 1, seed=3),
        "W_o": numbers(3, 5),
    },
    "lists and cuts mixed": {
        "X": X,
        "heads": 2,
        "W_q": numbers(2, 4, 3),
        "W_k": numbers(4, 6, seed=2),
    },
    "one key/value head for all": {
        "X": X,
        "heads": 2,
        "kv_heads": 1,
        "W_q": numbers(4, 4),
        "W_k": numbers(4, 2),
        "W_v": numbers(4, 3),
    },
    "two key/value heads for six": {
        "X": X,
        "heads": 6,
        "kv_heads": 2,
        "W_q": numbers(4, 12),
        "W_k": numbers(4, 4),
        "W_v": numbers(2, 4, 3),
        "W_o": numbers(18, 2),
        "b_o": numbers(2),
    },
    "two key/value heads for four, given": {
        "Q": numbers(4, 3, 2),
        "K": numbers(2, 5, 2),
        "V": numbers(2, 5, 3),
        "heads": 4,
        "kv_heads": 2,
    },
    "three axes with heads": {
        "Q": numbers(2, 3, 2),
        "K": numbers(2, 5, 2, seed=2),
        "V": numbers(5, 6),
        "heads": 2,
    },
    "two axes with heads": {"Q": Q, "K": K, "V": numbers(5, 6), "heads": 2},
    "three axes without heads": {
        "Q": numbers(2, 3, 2),
        "K": numbers(2, 5, 2, seed=2),
        "V": numbers(2, 5, 3),
    },
    "four axes": {
        "Q": numbers(2, 3, 4, 2),
        "K": numbers(2, 3, 5, 2, seed=2),
        "V": numbers(2, 3, 5, 2, seed=3),
        "heads": 3,
    },
    "four axes, key/value heads, W_o": {
        "Q": numbers(2, 4, 3, 2),
        "K": numbers(2, 2, 5, 2, seed=2),
        "V": numbers(2, 2, 5, 3, seed=3),
        "heads": 4,
        "kv_heads": 2,
        "W_o": numbers(12, 2),
    },
    "a batch": {"X": numbers(3, 4, 2)},
    "a batch with heads and W_o": {
        "X": numbers(2, 3, 4),
        "heads": 2,
        "W_q": numbers(4, 6),
        "W_k": numbers(2, 4, 3),
        "W_o": numbers(4, 3),
    },
    "a batch of queries to one memory": {"kind": "cross", "X": numbers(2, 3, 4), "memory": MEMORY},
    "one X to a batch of memories": {"kind": "cross", "X": X, "memory": numbers(2, 5, 4)},
    "known scores, values cut in heads": {
        "scores": numbers(2, 3, 5),
        "V": numbers(5, 4),
        "heads": 2,
    },
    "known scores of all heads": {"scores": numbers(3, 5), "V": numbers(5, 4), "heads": 2},
    "known scores of a batch": {"scores": numbers(2, 3, 5), "V": numbers(5, 4)},
    "known scores of a batch with heads": {
        "scores": numbers(2, 2, 3, 5),
        "V": numbers(5, 4),
        "heads": 2,
    },
    "one value": {"X": [[3]]},
    "one query": {"Q": [[1, 2]], "K": numbers(3, 2), "V": numbers(3, 1)},
    "one key": {"Q": numbers(3, 2), "K": [[1, 2]], "V": numbers(1, 4)},
}


@pytest.mark.parametrize("keys", HEAD_CASES.values(), ids=list(HEAD_CASES))
def test_head_layout(keys: Keys) -> None:
    """The output has a batch axis where there is a batch, the weights a head axis with heads."""
    trace = agrees(keys)
    batch = reference.batches(reference.read(keys)) > 1
    assert trace["output"].axes == (("batch",) if batch else ()) + trace["output"].axes[-2:]
    if keys.get("heads", 1) == 1:
        assert all("head" not in step.axes for step in trace)
    elif "scores" not in keys or np.ndim(keys["scores"]) > 2:
        assert trace["weights"].axes[-3] == "head"


ONE_HEAD: dict[str, Keys] = {
    "four axes": {"Q": numbers(2, 1, 3, 2), "K": numbers(2, 1, 5, 2), "V": numbers(2, 1, 5, 2)},
    "a list of one matrix": {"X": X, "W_q": numbers(1, 4, 4), "W_o": numbers(4, 2)},
}


@pytest.mark.parametrize("keys", ONE_HEAD.values(), ids=list(ONE_HEAD))
def test_stack_of_one_head_has_the_numbers_of_a_single_head(keys: Keys) -> None:
    assert "head" not in agrees(keys)["output"].axes


@pytest.mark.parametrize("score", SCORES)
def test_score_function_with_heads(score: str) -> None:
    parameters, k = SCORE_CASES[score][-1]
    for heads, kv_heads in ((1, 1), (2, 2), (4, 2), (4, 1)):
        keys = {
            "Q": numbers(3, 4 * heads),
            "K": numbers(5, k.shape[1] * kv_heads),
            "V": numbers(5, 2 * kv_heads),
            "heads": heads,
            "kv_heads": kv_heads,
            "mask": {"causal": True, "align": "bottom-right"},
        }
        agrees(keys | {"score": {"name": score} | parameters})


# Masks and biases that differ from head to head, or in a batch.

SEVERAL: dict[str, Keys] = {
    "a mask for each head": {"X": X, "heads": 2, "mask": numbers(2, 3, 3) > 0},
    "one mask for all heads": {"X": X, "heads": 2, "mask": [[1, 0, 0], [1, 1, 0], [0, 1, 1]]},
    "a mask for each batch element": {"X": numbers(2, 3, 4), "mask": numbers(2, 3, 3) > 0},
    "a mask for batch and heads": {
        "X": numbers(2, 3, 4),
        "heads": 2,
        "mask": {"block": numbers(2, 2, 3, 3) > 0},
    },
    "a mask for batch, the same for heads": {
        "X": numbers(2, 3, 4),
        "heads": 2,
        "mask": {"keep": numbers(2, 1, 1, 3) > -1},
    },
    "lengths of a batch": {"X": numbers(3, 3, 4), "mask": {"lengths": [3, 1, 2]}},
    "one length for a batch": {"X": numbers(3, 3, 4), "mask": {"lengths": 2}},
    "lengths of a batch with heads, causal": {
        "X": numbers(2, 3, 4),
        "heads": 2,
        "mask": {"lengths": [3, 2], "causal": True},
    },
    "lengths of a batch of memories": {
        "kind": "cross",
        "X": X,
        "memory": numbers(2, 5, 4),
        "mask": {"lengths": [5, 0]},
    },
    "a bias for each head": {"X": X, "heads": 2, "bias": numbers(2, 3, 3)},
    "a bias for each batch element": {"X": numbers(2, 3, 4), "bias": numbers(2, 3, 3)},
    "a bias for batch and heads": {"X": numbers(2, 3, 4), "heads": 2, "bias": numbers(2, 2, 3, 3)},
    "a mask for each of as many batch elements as heads": {
        "X": numbers(2, 3, 4),
        "heads": 2,
        "mask": {"keep": numbers(2, 1, 3, 3) > 0},
    },
    "a mask for each of as many heads as batch elements": {
        "X": numbers(2, 3, 4),
        "heads": 2,
        "mask": {"keep": numbers(1, 2, 3, 3) > 0},
    },
    "a bias for each of as many batch elements as heads": {
        "X": numbers(2, 3, 4),
        "heads": 2,
        "bias": numbers(2, 1, 3, 3),
    },
    "a bias for each of as many heads as batch elements": {
        "X": numbers(2, 3, 4),
        "heads": 2,
        "bias": numbers(1, 2, 3, 3),
    },
    "a mask for each head, in a larger batch": {
        "X": numbers(3, 3, 4),
        "heads": 2,
        "mask": {"keep": numbers(2, 3, 3) > 0},
    },
    "a mask of three axes for all of a batch of one": {
        "X": numbers(1, 3, 4),
        "heads": 2,
        "mask": {"keep": numbers(1, 3, 3) > 0},
    },
    "queries for each head, in a batch of as many": {
        "X": numbers(2, 3, 4),
        "Q": numbers(2, 3, 2),
        "heads": 2,
    },
    "a bias for each key": {"X": X, "heads": 2, "bias": numbers(1, 3)},
    "a bias for each query": {"X": X, "bias": numbers(3, 1)},
    "a bias for each head and key": {"X": X, "heads": 2, "bias": numbers(2, 1, 3)},
}


@pytest.mark.parametrize("keys", SEVERAL.values(), ids=list(SEVERAL))
def test_mask_or_bias_of_several_heads_or_batch_elements(keys: Keys) -> None:
    agrees(keys)


TWO_AS_MANY = "write four axes, the batch and the heads first: (2, 1, n, m) or (1, 2, n, m)"

OPEN: dict[str, tuple[Keys, tuple[str, ...], str]] = {
    "mask": ({"mask": np.ones((2, 3, 3))}, ("mask.keep",), TWO_AS_MANY),
    "block": ({"mask": {"block": np.zeros((2, 3, 3))}}, ("mask.block",), TWO_AS_MANY),
    "bias": ({"bias": numbers(2, 3, 3)}, ("bias",), TWO_AS_MANY),
    "bias of rows": ({"bias": numbers(2, 1, 3)}, ("bias",), TWO_AS_MANY),
    "scores": ({"scores": numbers(2, 3, 3)}, ("scores",), ": (2, 2, n, m)"),
    "features to be cut": ({"Q": numbers(2, 3, 4)}, ("Q",), ": (2, 2, n, d_q)"),
    "two of them": ({"Q": numbers(2, 3, 4), "K": numbers(2, 3, 4)}, ("Q", "K"), ": (2, 2, m, d_k)"),
    "more elements than heads": (
        {"X": numbers(5, 3, 4), "Q": numbers(5, 3, 4)},
        ("Q",),
        ": (5, 2, n, d_q)",
    ),
    "one element": ({"X": numbers(1, 3, 4), "Q": numbers(1, 3, 4)}, ("Q",), ": (1, 2, n, d_q)"),
    "fewer heads of keys": (
        {"X": numbers(3, 3, 4), "K": numbers(3, 3, 2), "heads": 2, "kv_heads": 1},
        ("K",),
        ": (3, 1, m, d_k)",
    ),
    "tokens as columns": (
        {"X": numbers(2, 4, 3), "Q": numbers(2, 4, 3), "tokens_as": "columns"},
        ("Q",),
        ": (2, 2, d_q, n)",
    ),
}


@pytest.mark.parametrize(("keys", "paths", "hint"), OPEN.values(), ids=list(OPEN))
def test_an_axis_that_may_be_the_batch_or_the_heads_is_refused(
    keys: Keys, paths: tuple[str, ...], hint: str
) -> None:
    with pytest.raises(attncli.InputError) as caught:
        attncli.Problem(**{"X": numbers(2, 3, 4), "heads": 2} | keys)
    assert [".".join(map(str, fault.path)) for fault in caught.value.faults] == [*paths]
    *_, last = caught.value.faults
    assert (
        last.message == f"the first of the three axes of {paths[-1]} may be the batch or the heads"
    )
    assert last.hint.endswith(hint)


def test_what_else_does_not_fit_hides_no_axis_that_may_be_the_batch() -> None:
    keys: Keys = {"X": numbers(2, 3, 4), "heads": 2, "mask": np.ones((2, 3, 3))}
    with pytest.raises(attncli.InputError, match="may be the batch or the heads"):
        attncli.Problem(**keys, W_o=numbers(3, 3))


def test_a_batch_whose_features_are_to_be_cut_is_told_the_four_axes_without_x() -> None:
    made = {key: numbers(3, 4, 6) for key in "QKV"}
    with pytest.raises(attncli.InputError, match=r"for a batch of 3, write four axes: \(3, 2, …\)"):
        attncli.Problem(**made, heads=2)


# What other programs read in another way is calculated with a warning.

TOP_LEFT = "mask: causal lets query 1 of 2 see only key 1 of 5"
TRUE_MAY_ATTEND = "a query may attend where the mask is true, but some programs mean the reverse"
FEW_QUERIES: Keys = {"Q": numbers(2, 4), "K": numbers(5, 4), "V": numbers(5, 3)}


@pytest.mark.parametrize("mask", ["causal", {"causal": True}, {"causal": True, "window": [1, 0]}])
def test_a_causal_mask_of_unequal_numbers_is_told_to_be_top_left(mask: Any) -> None:
    trace = attncli.compute(attncli.Problem(**FEW_QUERIES, mask=mask))
    (warning,) = trace.warnings
    assert warning.startswith(TOP_LEFT)
    assert "align: top-left}, or bottom-right" in warning
    assert trace["weights"].value[0].tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "mask",
    [
        {"causal": True, "align": "top-left"},
        {"causal": True, "align": "bottom-right"},
        {"causal": True, "offset": 0},
        {"causal": False},
        {"window": [1, 0]},
    ],
)
def test_a_mask_that_says_where_it_begins_gives_no_warning(mask: Keys) -> None:
    assert not attncli.compute(attncli.Problem(**FEW_QUERIES, mask=mask)).warnings


def test_a_large_causal_mask_is_told_to_be_top_left_once() -> None:
    keys = {"Q": numbers(300, 2), "K": numbers(900, 2), "V": numbers(900, 2)}
    trace = attncli.compute(attncli.Problem(**keys, mask="causal"), only=["output"])
    assert "streamed" in trace.path
    assert [warning[:12] for warning in trace.warnings] == ["mask: causal"]


BOOLEAN = np.array([[True, False, False], [True, True, False], [True, True, True]])


@pytest.mark.parametrize(
    "mask",
    [BOOLEAN, BOOLEAN.tolist(), [*BOOLEAN], "true false false\ntrue true false\n1 1 1"],
    ids=["array", "list", "list of arrays", "text"],
)
def test_a_boolean_mask_is_told_to_keep_where_it_is_true(mask: Any) -> None:
    trace = attncli.compute(attncli.Problem(X=X, mask=mask))
    (warning,) = trace.warnings
    assert warning.startswith(TRUE_MAY_ATTEND)
    assert warning.endswith("write mask: {keep: …} or mask: {block: …} to say which")
    assert trace["weights"].value[0].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "mask", [{"keep": BOOLEAN}, {"block": ~BOOLEAN}, BOOLEAN.astype(int), "causal"]
)
def test_a_mask_of_one_reading_gives_no_warning(mask: Any) -> None:
    trace = attncli.compute(attncli.Problem(X=X, mask=mask))
    assert not trace.warnings
    assert trace["weights"].value[0].tolist() == [1, 0, 0]


def test_a_boolean_mask_of_a_file_is_told_to_keep_where_it_is_true(
    attn: Attn, tmp_path: Path
) -> None:
    np.save(tmp_path / "mask.npy", BOOLEAN)
    np.savez(tmp_path / "p.npz", X=X, mask=BOOLEAN)
    (tmp_path / "p.yaml").write_text("X: [[1], [2], [3]]\nmask: mask.npy\n")
    (tmp_path / "keep.yaml").write_text("X: [[1], [2], [3]]\nmask: {keep: mask.npy}\n")
    for name, is_told in (("p.npz", True), ("p.yaml", True), ("keep.yaml", False)):
        assert (TRUE_MAY_ATTEND in attn("compute", tmp_path / name).err) is is_told


def test_a_warning_of_a_mask_is_no_flaw_of_the_numbers(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("{kind: cross, X: [[1, 0], [0, 1]], memory: [[1, 2], [2, 1], [0, 1]]}\n")
    arguments = ("--mask", "causal", "-n", "2", "-o", tmp_path / "variants")
    told = attn("vary", path, *arguments)
    assert "flaw" not in told.out + told.err


def test_a_new_problem_says_where_its_causal_mask_begins(attn: Attn) -> None:
    new = attn("new", "--kind", "cross", "--mask", "causal").out
    assert "mask: {causal: true, align: top-left}" in new
    assert not attn("compute", "-", stdin=new.encode()).err
    assert "mask: causal" in attn("new", "--mask", "causal").out


LOST: dict[str, Keys] = {
    "masks of a batch, one X": {"X": X, "mask": {"keep": (numbers(2, 3, 3) > 0).astype(int)}},
    "biases of a batch, one X": {"X": X, "bias": numbers(2, 3, 3)},
    "biases of a batch, known scores": {
        "scores": numbers(3, 5),
        "V": numbers(5, 2),
        "bias": numbers(2, 3, 5),
    },
    "masks of heads, known scores of all": {
        "scores": numbers(3, 5),
        "V": numbers(5, 2),
        "heads": 2,
        "mask": {"block": (numbers(2, 3, 5) > 0).astype(int)},
    },
    "biases of heads, known scores of all": {
        "scores": numbers(3, 5),
        "V": numbers(5, 2),
        "heads": 2,
        "bias": numbers(2, 3, 5),
    },
}


@pytest.mark.parametrize("keys", LOST.values(), ids=list(LOST))
def test_axis_that_only_a_mask_or_bias_has_is_not_lost(keys: Keys) -> None:
    agrees(keys)


# What happens between scores and weights.

INFINITE = [[0, -np.inf, 1, 0.5, -1], [-np.inf] * 5, [0.25, 0, 0, 0, -np.inf]]

BETWEEN: dict[str, Keys] = {
    "softcap": {"softcap": 1.5},
    "large softcap": {"softcap": 50},
    "bias": {"bias": numbers(3, 5)},
    "bias with −∞": {"bias": INFINITE},
    "bias of −∞ for a key": {"bias": [[0, 0, 0, 0, -np.inf]]},
    "bias of zeros": {"bias": np.zeros((3, 5))},
    "softcap, bias with −∞, mask": {"softcap": 1, "bias": INFINITE, "mask": "causal"},
    "bias with −∞, no normalising": {"bias": INFINITE, "normalize": "none"},
    "bias with −∞, sparsemax": {"bias": INFINITE, "normalize": "sparsemax"},
    "scale, softcap, bias, mask, temperature, base": {
        "scale": "1/d_k",
        "softcap": 2,
        "bias": numbers(3, 5),
        "mask": {"window": [1, 1]},
        "normalize": {"temperature": 0.5, "base": 2},
    },
}


@pytest.mark.parametrize("more", BETWEEN.values(), ids=list(BETWEEN))
def test_what_happens_between_scores_and_weights(more: Keys) -> None:
    for score in ("dot", "scaled_dot", "additive"):
        parameters, k = SCORE_CASES[score][-1]
        agrees({"Q": Q, "K": k, "V": V, "score": {"name": score} | parameters} | more)


SCALES: list[object] = [
    *("1/sqrt(d_k)", "1/d_k", "1", "1/sqrt(d_model)", "1/sqrt(d_v)", "1/(n*m)", "d_v/d_k"),
    *("2*d_k^-0.5", "2*sqrt(d_k)", "-1/3", "d_k - 10", "1/(2*sqrt(2*d_k))", 0.5, 1, 2, "0.125"),
]


@pytest.mark.parametrize("scale", SCALES)
def test_scale_is_any_expression_of_the_sizes(scale: object) -> None:
    """d_k and d_v are those of one head, d_model the columns of X."""
    projections = {"W_q": numbers(4, 8), "W_k": numbers(4, 8, seed=2), "W_v": numbers(4, 6)}
    for heads, score in ((2, "scaled_dot"), (1, "cosine")):
        keys: Keys = {"kind": "cross", "X": X, "memory": MEMORY, "heads": heads, "score": score}
        agrees(keys | projections | {"scale": scale})


@pytest.mark.parametrize("score", SCORES)
def test_default_scale_is_one_but_for_scaled_dot(score: str) -> None:
    parameters, k = SCORE_CASES[score][-1]
    keys = {"Q": Q, "K": k, "V": V, "score": {"name": score} | parameters}
    trace = attncli.compute(attncli.Problem(**keys))
    default = "1/sqrt(d_k)" if score == "scaled_dot" else "1"
    explicit = attncli.compute(attncli.Problem(**keys, scale=default))
    assert list(trace.steps) == list(explicit.steps)
    np.testing.assert_array_equal(trace.output, explicit.output)


# Projections, biases, another memory, and the attentional vector.

BIASES: Keys = {
    "b_q": numbers(4),
    "b_k": numbers(4, seed=2),
    "b_v": numbers(4, seed=3),
    "b_o": numbers(4, seed=4),
}


@pytest.mark.parametrize("given", [*itertools.product([False, True], repeat=4)])
def test_any_of_the_four_biases(given: tuple[bool, ...]) -> None:
    some = {key: b for (key, b), there in zip(BIASES.items(), given, strict=True) if there}
    for heads in (1, 2, 4):
        agrees({"X": X, "heads": heads, **some})


PROJECTED: dict[str, Keys] = {
    "a bias for each head": {"X": X, "heads": 2, "b_q": numbers(2, 2), "b_v": numbers(2, 2)},
    "a bias for each head, one matrix": {
        "X": X,
        "heads": 2,
        "W_q": numbers(4, 4),
        "b_q": numbers(2, 2),
    },
    "one bias, a matrix for each head": {
        "X": X,
        "heads": 2,
        "W_k": numbers(2, 4, 2),
        "b_k": numbers(4),
        "W_o": numbers(4, 2),
        "b_o": numbers(2),
    },
    "projections and biases of a batch": {
        "X": numbers(2, 3, 4),
        "W_q": numbers(4, 2),
        "W_k": numbers(4, 2),
        "b_k": numbers(2),
    },
    "values of another size": {"X": X, "W_v": numbers(4, 1)},
    "only W_o": {"X": X, "W_o": numbers(4, 2)},
    "only b_o": {"X": X, "heads": 2, "b_o": numbers(4)},
    "queries given, keys and values projected": {"X": X, "Q": numbers(3, 4), "W_v": numbers(4, 2)},
    "values given": {"X": X, "V": numbers(3, 2)},
}


@pytest.mark.parametrize("keys", PROJECTED.values(), ids=list(PROJECTED))
def test_projection(keys: Keys) -> None:
    agrees(keys)


STATES = numbers(5, 4, seed=6)

CROSS: dict[str, Keys] = {
    "keys and values from memory": {"X": X, "memory": STATES},
    "projected": {
        "X": X,
        "memory": numbers(5, 6),
        "W_q": numbers(4, 2),
        "W_k": numbers(6, 2),
        "W_v": numbers(6, 3),
    },
    "heads and biases": {
        "X": X,
        "memory": numbers(5, 6),
        "heads": 2,
        "W_q": numbers(2, 4, 3),
        "W_k": numbers(6, 6),
        "b_k": numbers(6),
        "W_o": numbers(6, 2),
    },
    "a batch": {"X": numbers(2, 3, 4), "memory": numbers(2, 5, 4), "mask": {"lengths": [2, 5]}},
    "a padded memory": {"X": X, "memory": STATES, "mask": {"lengths": 3}},
}


@pytest.mark.parametrize("keys", CROSS.values(), ids=list(CROSS))
def test_cross_attention(keys: Keys) -> None:
    agrees({"kind": "cross"} | keys)


@pytest.mark.parametrize("score", SCORES)
def test_decoder_step_with_attentional_vector(score: str) -> None:
    """tanh(W_c [c_t; h_t]) of one decoder state h_t and the encoder states, with any score."""
    parameters, k = SCORE_CASES[score][-1]
    keys: Keys = {"kind": "cross", "X": numbers(1, 4), "memory": numbers(6, k.shape[1])}
    keys |= {"W_c": numbers(3, 4 + k.shape[1]), "score": {"name": score} | parameters}
    trace = agrees(keys)
    assert next(reversed(list(trace.steps))) == "attentional"


@pytest.mark.parametrize(
    "keys",
    [
        {"X": X, "W_c": numbers(2, 8)},
        {"X": X, "heads": 2, "W_o": numbers(4, 3), "W_c": numbers(5, 7)},
        {"X": numbers(2, 3, 4), "W_c": numbers(2, 8)},
    ],
    ids=["self", "heads and W_o", "batch"],
)
def test_attentional_vector_follows_the_output(keys: Keys) -> None:
    agrees(keys)


FOUR_AXES = {
    "Q": numbers(2, 4, 3, 2),
    "K": numbers(2, 4, 5, 2, seed=2),
    "V": numbers(2, 4, 5, 3, seed=3),
}
GROUPED = FOUR_AXES | {"K": numbers(2, 2, 5, 2, seed=2), "V": numbers(2, 2, 5, 3, seed=3)}


@pytest.mark.parametrize(
    ("arrays", "heads", "kv_heads"),
    [
        (FOUR_AXES, 4, 4),
        (GROUPED, 4, 2),
        ({"scores": numbers(2, 4, 3, 5), "V": FOUR_AXES["V"]}, 4, 4),
        ({"Q": numbers(3, 8), "K": numbers(5, 8), "V": FOUR_AXES["V"]}, 4, 4),
        ({key: a[:, :1] for key, a in FOUR_AXES.items()}, 1, 1),
    ],
)
def test_four_axes_tell_the_heads(
    arrays: dict[str, Any], heads: int, kv_heads: int, tmp_path: Path
) -> None:
    told = attncli.Problem(**arrays, heads=heads, kv_heads=kv_heads)
    np.savez(tmp_path / "p.npz", **arrays)
    for problem in (attncli.Problem(**arrays), attncli.load(tmp_path / "p.npz")):
        assert (problem.heads, problem.kv_heads) == (heads, kv_heads)
        trace = attncli.compute(problem)
        np.testing.assert_array_equal(trace.output, attncli.compute(told).output)
        assert trace["weights" if heads == 1 else "V"].leading[0] == "batch"
        assert attncli.render(trace, "json") == attncli.render(attncli.compute(told), "json")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"heads": 2},
            "Q has 4 heads, its second axis of four, but heads is 2\n"
            "  leave out heads, or write heads: 4",
        ),
        (
            {"kv_heads": 2},
            "K has 4 heads, its second axis of four, but kv_heads is 2\n"
            "  leave out kv_heads, or write kv_heads: 4",
        ),
        (
            {"V": numbers(2, 2, 5, 3)},
            "V has 2 heads, its second axis of four, but K has 4\n"
            "  the axes are (batch, heads, n, d)",
        ),
        (
            {"Q": numbers(2, 6, 3, 2)},
            "K has 4 heads, its second axis of four, but Q has 6\n"
            "  the axes are (batch, heads, n, d)",
        ),
    ],
)
def test_four_axes_with_other_heads(more: dict[str, Any], said: str) -> None:
    with pytest.raises(attncli.InputError) as caught:
        attncli.Problem(**(FOUR_AXES | more))
    assert str(caught.value) == said
