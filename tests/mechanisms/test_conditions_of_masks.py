"""Masks by a condition, `mask: {when: …}`: numbers, laws, sentences and mistakes."""

from __future__ import annotations

import json
import pickle
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.attention.masks import is_kept
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import substituted
from tests.conftest import DATA, Attn

Keys = dict[str, Any]

LISTS: Keys = {"document": [1, 1, 2, 2, 2], "word": ["a", "b", "a", "c", "b"]}
X: list[list[float]] = [[1, 0], [0, 1], [1, 1], [2, 1], [0.5, 0.25]]


def kept(mask: Keys, n: int = 5, **keys: Any) -> Any:
    problem = attncli.Problem(X=X[:n], score="dot", mask=mask, **keys)
    where = is_kept(problem.rules.mask, n, n)
    return np.ones((n, n), bool) if where is None else np.broadcast_to(where, (1, 1, n, n))[0, 0]


FLEX_ATTENTION = DATA / "recorded" / "flex_attention.jsonl"
"""Masks and biases of PyTorch's documentation in float64: `python -m benchmarks.flex_attention`."""


@pytest.mark.parametrize("line", FLEX_ATTENTION.read_text().splitlines())
def test_numbers_are_those_of_flex_attention(line: str) -> None:
    case = json.loads(line)
    trace = attncli.compute(attncli.Problem(**case["problem"]))
    np.testing.assert_allclose(trace.output, case["output"], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("line", FLEX_ATTENTION.read_text().splitlines())
def test_gradients_are_those_of_the_matrices_written_out(line: str) -> None:
    """Which are compared with differences in 50 digits elsewhere."""
    keys = json.loads(line)["problem"] | {"gradient": "sum"}
    trace = attncli.compute(attncli.Problem(**keys))
    plain = {key: value for key, value in keys.items() if key != "document"}
    if "mask" in keys:
        plain["mask"] = {"keep": np.isfinite(trace["masked"].value).astype(int)}
    else:
        plain["bias"] = trace["biased"].value - trace["scaled"].value
    expected = attncli.compute(attncli.Problem(**plain))
    for name in ("d_Q", "d_K", "d_V"):
        np.testing.assert_allclose(trace[name].value, expected[name].value, rtol=1e-12, atol=1e-14)


class _Writer:
    """Writes random conditions that are read alike by Python."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice(["i", "j", "n", "m", "1", "2", "3", "0.5", "document[i]"])
        a, b = self.number(depth - 1), self.number(depth - 1)
        sign = self.random.choice(["+", "-", "*", "/", "//", "%"])
        forms = [f"{a} {sign} {b}", f"({a} {sign} {b})", f"-{a}", f"-{a} {sign} {b}"]
        calls = [f"abs({a})", f"min({a}, {b})", f"max({a}, {b}, 2)", f"{a} {sign} ({b})"]
        return self.random.choice([*forms, *calls])

    def condition(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            a, b, c = (self.number(depth % 3) for _ in range(3))
            sign, other = (self.random.choice(["<", "<=", ">", ">=", "==", "!="]) for _ in range(2))
            words = f"word[i] {self.random.choice(['==', '!='])} word[j]"
            return self.random.choice(
                [f"{a} {sign} {b}"] * 4 + [f"{a} {sign} {b} {other} {c}", words]
            )
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        forms = [f"{a} and {b}", f"{a} or {b}", f"not {a}", f"({a} or {b})", f"not ({a} and {b})"]
        return self.random.choice(forms)


def by_python(written: str) -> Any:
    """Return what Python's own `eval` keeps, or None where something is divided by 0."""

    class Entries(dict[int, Any]):
        def __missing__(self, place: int) -> Any:
            raise AssertionError(place)

    lists = {name: Entries(enumerate(entries, 1)) for name, entries in LISTS.items()}
    known = {"abs": abs, "min": min, "max": max, "n": 5, "m": 5, **lists}
    rows = range(1, 6)
    try:
        return [[eval(written, known | {"i": i, "j": j}) for j in rows] for i in rows]
    except (ZeroDivisionError, OverflowError):
        return None


def test_random_conditions_are_those_of_python() -> None:
    compared = refused = 0
    for seed in range(320):
        written = _Writer(seed).condition(seed % 4)
        lists = {name: entries for name, entries in LISTS.items() if f"{name}[" in written}
        if len(written) > 400:
            continue
        right = by_python(written)
        if right is None:  # Python may also pass over what a decided `and` does not need
            with pytest.raises(attncli.InputError, match="is neither true nor false for i = "):
                kept({"when": written, **lists})
            refused += 1
            continue
        shown = attncli.Problem(X=X, mask={"when": written, **lists}).mask["when"]
        np.testing.assert_array_equal(kept({"when": written, **lists}), right, err_msg=written)
        compared += 1
        assert text(substituted(shown.formula, lambda node: None)) == text(shown.formula)
    assert compared >= 200, (compared, refused)


LAWS: dict[str, tuple[str, Any]] = {
    "causal": ("j <= i", "causal"),
    "causal by signs": ("j ≤ i", "causal"),
    "window": ("i - 2 <= j <= i + 1", {"window": [2, 1]}),
    "everything": ("true", {}),
    "a place in a cache": ("j <= p", {"causal": True}),
    "lengths": ("j < 4", {"lengths": 3}),
    "dilated": (
        "(i - j) % 2 == 0",
        {"keep": [[1, 0] * 2 + [1], [0, 1] * 2 + [0]] * 2 + [[1, 0] * 2 + [1]]},
    ),
}


@pytest.mark.parametrize("law", LAWS)
def test_a_condition_is_the_mask_that_it_says(law: str) -> None:
    written, mask = LAWS[law]
    by_condition, expected = (
        attncli.compute(attncli.Problem(X=X, mask=one)).output for one in ({"when": written}, mask)
    )
    np.testing.assert_array_equal(by_condition, expected)


def test_a_bias_may_have_conditions_and_remainders() -> None:
    slopes: Keys = {"name": "alibi", "slopes": [0.5]}
    first, *others = (
        attncli.compute(attncli.Problem(X=X, **keys)).output
        for keys in list[Keys](
            (
                {"positions": slopes, "mask": "causal"},
                {"bias": "-0.5*(i - j)", "mask": "causal"},
                {"bias": "-0.5*(max(i, j) - min(i, j)) * (1 < 2)", "mask": {"when": "not j > i"}},
            )
        )
    )
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-15)
    constants = attncli.compute(attncli.Problem(X=X, bias="0*i*π*PI + e/inf + 1/∞")).output
    np.testing.assert_array_equal(constants, attncli.compute(attncli.Problem(X=X)).output)
    biased = attncli.compute(attncli.Problem(X=X, bias="(i - 1) // 2 + i % 3 - 2*(j > i)"))
    rows = range(1, 6)
    expected = [[(i - 1) // 2 + i % 3 - 2 * (j > i) for j in rows] for i in rows]
    added = biased["biased"].value - biased["scaled"].value
    np.testing.assert_allclose(added, expected, atol=1e-15)


def test_queries_of_a_cache_and_of_cross_attention() -> None:
    cached: Keys = {"Q": X[3:], "K": X[3:], "V": X[3:], "past": {"K": X[:3], "V": X[:3]}}
    whole = attncli.compute(attncli.Problem(Q=X, K=X, V=X, mask="causal")).output
    for written in ("j <= p", "j <= i + 3", "j <= i + m - n"):
        found = attncli.compute(attncli.Problem(**cached, mask={"when": written})).output
        np.testing.assert_allclose(found, whole[3:], rtol=1e-15)
    document: Keys = {"when": "document[p] == document[j]", "document": [1, 1, 2, 2, 2]}
    assert (
        attncli.compute(attncli.Problem(**cached, mask=document))["weights"].value > 0
    ).sum() == 6
    crossed: Keys = {"when": "of[i] == by[j]", "of": ["x", "y"], "by": ["y", "x", "y"]}
    problem = attncli.Problem(kind="cross", X=X[:2], memory=X[:3], mask=crossed)
    rows = attncli.compute(problem)["weights"].value
    np.testing.assert_array_equal(rows > 0, [[0, 1, 0], [1, 0, 1]])


def test_many_tokens_are_calculated_by_tiles() -> None:
    rng = np.random.default_rng(0)
    x, document = rng.normal(size=(600, 4)), np.repeat(np.arange(6), 100)
    by_condition = {"when": "j <= i and document[i] == document[j]", "document": document.tolist()}
    i, j = np.indices((600, 600))
    by_matrix = {"keep": ((j <= i) & (document[i] == document[j])).astype(int)}
    found, expected = (
        attncli.compute(attncli.Problem(X=x, mask=mask), only=["output"]).output
        for mask in (by_condition, by_matrix)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (
            {"when": "j <= k"},
            r"mask.when: unknown name k; known: i, j, p, n, m, .* \(column 6 of the",
        ),
        ({"when": "q_idx >= kv_idx"}, r"q_idx; write \(i - 1\), as i counts from 1 \(column 1 of"),
        ({"when": "(j < i) & (j > 1)"}, r"& has no meaning here; write and \(column 9 of"),
        ({"when": "i = j"}, r"= has no meaning here; write == \(column 3"),
        ({"when": "i - j"}, "neither true nor false for i = 1 and j = 2"),
        ({"when": "1/(i - j) > 0"}, "neither true nor false for i = 1 and j = 1"),
        ({"when": "j <= 1e999"}, r"1e999 is too large \(column 11"),
        ({"when": "j <="}, r"ends too early \(column 5"),
        ({"when": "(j <= i"}, r"has a \( without a \) \(column 8"),
        ({"when": "min(i, j"}, r"has a \( without a \)"),
        ({"when": " "}, "mask.when is empty"),
        ({"when": "j" * 501}, "at most 500 characters"),
        ({"when": "not " * 60 + "i < j"}, "more than 50 levels"),
        ({"when": "(" * 60 + "i < j" + ")" * 60}, "more than 50 levels"),
        (
            {"when": "document[i] == 1"},
            r"has document\[i\], but there is no document\n  write document: \[",
        ),
        ({"when": "dokument[i] == 1", "document": [1] * 5}, r"did you mean document\[[ij]\]"),
        ({"when": "document[k] == 1", "document": [1] * 5}, "document takes i, j or p"),
        ({"when": "document == 1", "document": [1] * 5}, r"did you mean document\[[ij]\]"),
        ({"when": "document[i] < 3", "document": ["a"] * 5}, "neither true nor false for i = 1"),
        ({"when": "document[j] > 0", "document": [1, 2]}, "has 2 entries, but document.j. needs"),
        ({"when": "j <= i", "casual": True}, "unknown key casual in mask"),
        ("j <= i", "unknown mask j <= i"),
    ],
)
def test_a_fault_is_one_sentence(mask: Any, words: str) -> None:
    with pytest.raises(attncli.InputError, match=words):
        attncli.compute(attncli.Problem(X=X, mask=mask))


def test_a_bias_is_told_where_it_has_no_value() -> None:
    for written in ("1/0 + i", "1/(i - j)", "1/(1/(i - j))"):
        with pytest.raises(attncli.InputError, match="has no value for i = 1 and j = 1"):
            attncli.compute(attncli.Problem(X=X, bias=written))


def test_the_documents_of_tokens_are_a_key() -> None:
    """Of the problem, for masks and biases; a list beside the condition comes before it."""
    documents, when = LISTS["document"], "document[i] == document[j]"
    inside = {"when": when, "document": documents}
    expected = kept(inside)
    np.testing.assert_array_equal(kept({"when": when}, document=documents), expected)
    np.testing.assert_array_equal(kept(inside, document=["a"] * 5), expected)
    words = ["a", "a", "b", "b", "b"]
    biased = attncli.Problem(X=X, score="dot", bias=f"-2*(not ({when})) + i", document=words)
    trace = attncli.compute(biased)
    added = trace["biased"].value - trace["scores"].value
    np.testing.assert_allclose(added, 2 * expected - 2.0 + np.arange(1, 6)[:, None], atol=1e-14)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"document": [1] * 5}, "document has no use without a condition"),
        ({"bias": "i*document[j]"}, "there is no document"),
        ({"bias": "i*document[j]", "document": [1, 2]}, "^document has 2 entries, but document.j."),
        ({"bias": "i*document[j]", "document": ["a"] * 5}, "has no value for i = 1 and j = 1"),
        ({"bias": "i*document[k]", "document": [1] * 5}, "document takes i, j or p"),
        ({"mask": {"when": "document[i] == 1"}, "document": [1, 2]}, "^document has 2 entries"),
    ],
)
def test_documents_that_do_not_fit(keys: Keys, words: str) -> None:
    with pytest.raises(attncli.InputError, match=words):
        attncli.compute(attncli.Problem(X=X, **keys))


def test_reasons_and_formulas(attn: Attn) -> None:
    sample = "sample_inputs/mask_documents.yaml"
    out = attn("explain", sample, "masked[3, 1]", "masked[1, 2]").out
    assert "mask = 0 unless j ≤ i and document[i] = document[j]" in out
    assert "as mask[short, we] = 0 because 2 = 1 is false" in out
    assert "as mask[we, like] = 0 because 2 ≤ 1 is false" in out
    floor = "(i - 1) // 2 == (j - 1) // 2 and i % 2 != 3"
    tex = attn("compute", sample, "--set", f"mask={{when: '{floor}'}}", "-f", "latex").out
    assert all(part in tex for part in (r"\left\lfloor ", r"i \bmod 2 \ne 3", r"\text{and}"))
    page = attn("compute", sample, "--set", "mask={when: j < i + 1}", "-f", "html").out
    assert "<mo>&lt;</mo>" in page
    assert "unless" not in attn("compute", sample, "-f", "html", "--live").out


def test_a_bias_with_comparisons_has_explanations(attn: Attn, tmp_path: Any) -> None:
    path = tmp_path / "bias.yaml"
    for written, shown in {"i % 2": "√2/2 + 1", "min(i, j)": "√2/2 + 1", "2*(j > i)": ""}.items():
        path.write_text(f"X: [[1, 0], [1, 1]]\nbias: '{written}'\n")
        result = attn("explain", str(path), "biased[1, 2]", "--exact")
        assert result.status == 0
        assert shown in result.out


def test_a_condition_goes_through_files(attn: Attn, tmp_path: Any) -> None:
    sample = "sample_inputs/mask_documents.yaml"
    plain = attn("compute", sample, "--only", "output").out
    for form in ("json", "yaml"):
        path = tmp_path / f"again.{form}"
        path.write_text(attn("compute", sample, "-f", form).out)
        assert attn("compute", str(path), "--only", "output").out == plain
    new = tmp_path / "new.yaml"
    new.write_text(attn("new", "--mask", "when").out)
    assert 'mask: {when: "j <= i"}' in new.read_text()
    assert attn("compute", str(new)).status == 0
    problem = attncli.Problem(X=X, mask={"when": "word[i] == word[j]", "word": LISTS["word"]})
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(attncli.compute(again).output, attncli.compute(problem).output)


# A student who writes plain loops, and shares no line with the program.


def handed_in(may: Callable[[int, int], bool]) -> Keys:
    rows = range(1, 6)
    scores = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in X] for x in X]
    masked = [[scores[i - 1][j - 1] if may(i, j) else "-inf" for j in rows] for i in rows]
    powers = [[0.0 if s == "-inf" else float(np.exp(float(s))) for s in row] for row in masked]
    weights = [[round(p / sum(row), 4) for p in row] for row in powers]
    return {"masked": masked, "weights": weights}


PREFIX = "j <= 3 or j <= i"
DOCUMENTS = "j <= i and document[i] == document[j]"
MISTAKES: dict[str, tuple[str, Callable[[int, int], bool], str]] = {
    "documents ignored": (DOCUMENTS, lambda i, j: j <= i, "mask_part_forgotten"),
    "< for <=": ("j <= i + 1", lambda i, j: j < i + 1, "mask_off_by_one"),
    "a chunk of another size": (
        "(i - 1) // 2 == (j - 1) // 2",
        lambda i, j: (i - 1) // 3 == (j - 1) // 3,
        "mask_off_by_one",
    ),
    "chunks from 0": (
        "(i - 1) // 2 == (j - 1) // 2",
        lambda i, j: i // 2 == j // 2,
        "mask_counted_from_0",
    ),
    "a prefix from 0": (
        "j <= 3 or j <= i",
        lambda i, j: j - 1 <= 3 or j <= i,
        "mask_counted_from_0",
    ),
    "i and j exchanged": (PREFIX, lambda i, j: i <= 3 or i <= j, "mask_transposed"),
    "and for or": (PREFIX, lambda i, j: j <= 3 and j <= i, "mask_and_or"),
    "or for and": (
        DOCUMENTS,
        lambda i, j: j <= i or LISTS["document"][i - 1] == LISTS["document"][j - 1],
        "mask_and_or",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_a_student_is_named(name: str) -> None:
    written, may, mistake = MISTAKES[name]
    lists = {"document": LISTS["document"]} if "document" in written else {}
    problem = attncli.Problem(X=X, score="dot", mask={"when": written, **lists})
    report = attncli.check(problem, json.loads(json.dumps(handed_in(may))))
    assert [finding.id for finding in report.findings.values()] == [mistake]
    assert re.search(r"\w", report.findings["masked"].what)
