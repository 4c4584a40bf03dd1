"""Masks by a condition, `mask: {when: …}`: numbers, laws, sentences and mistakes."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import substituted
from tests.conftest import Attn
from tests.mechanisms.table import Keys, computed, numbers, output

LISTS: Keys = {"document": [1, 1, 2, 2, 2], "word": ["a", "b", "a", "c", "b"]}
X: list[list[float]] = [[1, 0], [0, 1], [1, 1], [2, 1], [0.5, 0.25]]
PREFIX = "j <= 3 or j <= i"
CHUNKS = "(i - 1) // 2 == (j - 1) // 2"
DOCUMENTS = "j <= i and document[i] == document[j]"


def kept(mask: Keys, **keys: Any) -> Any:
    """Return which keys each of five queries may attend to."""
    trace = computed({"X": X, "score": "dot", "mask": mask}, **keys)
    return np.isfinite(trace["masked" if "masked" in trace else "scores"].value)


@st.composite
def written(draw: st.DrawFn, depth: int, forms: list[str], leaves: st.SearchStrategy[str]) -> str:
    """Return a text of one of the forms, with others in the place of each {}, so many levels."""
    if depth == 0:
        return draw(leaves)
    form = draw(st.sampled_from(forms))
    return form.format(*(draw(written(depth - 1, forms, leaves)) for _ in range(form.count("{}"))))


LEAVES = ["i", "j", "n", "m", "1", "2", "3", "0.5", "document[i]"]
SIGNED = [f"{{}} {sign} {{}}" for sign in ("+", "-", "*", "/", "//", "%")]
TERMS = [
    *SIGNED,
    *(f"({one})" for one in SIGNED),
    "-{}",
    "abs({})",
    "min({}, {})",
    "max({}, {}, 2)",
]
COMPARED = [f"{{}} {sign} {{}}" for sign in ("<", "<=", ">", ">=", "==", "!=")]
COMPARED += ["{} < {} <= {}", "{} == {} != {}", "word[i] == word[j]", "word[i] != word[j]"]
JOINED = ["{} and {}", "{} or {}", "not {}", "({} or {})", "not ({} and {})"]
NUMBERS = st.integers(0, 2).flatmap(lambda at: written(at, TERMS, st.sampled_from(LEAVES)))
COMPARISONS = written(1, COMPARED, NUMBERS)
CONDITIONS = st.integers(0, 2).flatmap(lambda at: written(at, JOINED, COMPARISONS))
"""Random conditions that are read alike by Python."""


def by_python(written: str) -> Any:
    """Return what Python's own `eval` keeps, or None where something is divided by 0."""
    lists = {name: dict(enumerate(entries, 1)) for name, entries in LISTS.items()}
    known = {"abs": abs, "min": min, "max": max, "n": 5, "m": 5, **lists}
    rows = range(1, 6)
    try:
        return [[eval(written, known | {"i": i, "j": j}) for j in rows] for i in rows]
    except (ZeroDivisionError, OverflowError):
        return None


@settings(max_examples=8 * settings().max_examples)  # each takes a millisecond
@given(CONDITIONS)
@example("1/(i - j) > 0")
def test_random_conditions_are_those_of_python(written: str) -> None:
    assume(len(written) <= 400)
    mask = {n: entries for n, entries in LISTS.items() if f"{n}[" in written} | {"when": written}
    right = by_python(written)
    if right is None:  # Python may also pass over what a decided `and` does not need
        with pytest.raises(attncli.InputError, match="is neither true nor false for i = "):
            kept(mask)
        return
    shown = attncli.Problem(X=X, mask=mask).mask["when"]
    np.testing.assert_array_equal(kept(mask), right)
    assert text(substituted(shown.formula, lambda node: None)) == text(shown.formula)


def test_queries_of_a_cache_and_of_cross_attention() -> None:
    cached: Keys = {"Q": X[3:], "K": X[3:], "V": X[3:], "past": {"K": X[:3], "V": X[:3]}}
    whole = output({"Q": X, "K": X, "V": X, "mask": "causal"})
    for written in ("j <= p", "j <= i + 3", "j <= i + m - n"):
        found = output(cached, mask={"when": written})
        np.testing.assert_allclose(found, whole[3:], rtol=1e-15)
    document: Keys = {"when": "document[p] == document[j]", "document": [1, 1, 2, 2, 2]}
    assert (computed(cached, mask=document)["weights"].value > 0).sum() == 6
    crossed: Keys = {"when": "of[i] == by[j]", "of": ["x", "y"], "by": ["y", "x", "y"]}
    trace = computed({"kind": "cross", "X": X[:2], "memory": X[:3], "mask": crossed})
    np.testing.assert_array_equal(trace["weights"].value > 0, [[0, 1, 0], [1, 0, 1]])


def test_many_tokens_are_calculated_by_tiles() -> None:
    x, document = numbers(0, 600, 4), np.repeat(np.arange(6), 100)
    by_condition = {"when": DOCUMENTS, "document": document.tolist()}
    i, j = np.indices((600, 600))
    by_matrix = {"keep": ((j <= i) & (document[i] == document[j])).astype(int)}
    found, expected = (
        attncli.compute(attncli.Problem(X=x, mask=mask), only=["output"])
        for mask in (by_condition, by_matrix)
    )
    assert "streamed" in found.path
    np.testing.assert_array_equal(found.output, expected.output)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("j" * 501, "at most 500 characters"),
        ("not " * 60 + "i < j", "more than 50 levels"),
        ("(" * 60 + "i < j" + ")" * 60, "more than 50 levels"),
    ],
    ids=["long", "not", "parentheses"],
)
def test_a_condition_is_bounded(written: str, says: str) -> None:
    with pytest.raises(attncli.InputError, match=says):
        attncli.Problem(X=X, mask={"when": written})


def test_formulas_of_pages_have_the_condition(attn: Attn) -> None:
    sample = "sample_inputs/mask_documents.yaml"
    page = attn("compute", sample, "--set", "mask={when: j < i + 1}", "-f", "html").out
    assert "<mo>&lt;</mo>" in page
    assert "unless" not in attn("compute", sample, "-f", "html", "--live").out


def test_a_condition_goes_to_other_processes() -> None:
    mask = {"when": "word[i] == word[j]", "word": LISTS["word"]}
    problem = attncli.Problem(X=X, mask=mask)
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


MISTAKES: dict[str, tuple[str, Callable[[int, int], bool], str]] = {
    "documents ignored": (DOCUMENTS, lambda i, j: j <= i, "mask_part_forgotten"),
    "< for <=": ("j <= i + 1", lambda i, j: j < i + 1, "mask_off_by_one"),
    "larger chunks": (CHUNKS, lambda i, j: (i - 1) // 3 == (j - 1) // 3, "mask_off_by_one"),
    "chunks from 0": (CHUNKS, lambda i, j: i // 2 == j // 2, "mask_counted_from_0"),
    "a prefix from 0": (PREFIX, lambda i, j: j - 1 <= 3 or j <= i, "mask_counted_from_0"),
    "i and j exchanged": (PREFIX, lambda i, j: i <= 3 or i <= j, "mask_transposed"),
    "and for or": (PREFIX, lambda i, j: j <= 3 and j <= i, "mask_and_or"),
    "or for and": (DOCUMENTS, lambda i, j: j <= i or (i <= 2) == (j <= 2), "mask_and_or"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_a_student_is_named(name: str) -> None:
    written, may, mistake = MISTAKES[name]
    lists = {"document": LISTS["document"]} if "document" in written else {}
    problem = attncli.Problem(X=X, score="dot", mask={"when": written, **lists})
    report = attncli.check(problem, json.loads(json.dumps(handed_in(may))))
    assert [finding.id for finding in report.findings.values()] == [mistake]
    assert re.search(r"\w", report.findings["masked"].what)
