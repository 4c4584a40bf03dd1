"""YAML and JSON: bounds, anchors, and the fast paths, which say the same as the parser of YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli.core.errors import KeyPath
from attncli.core.records import replace
from attncli.reading.chunks import Chunk
from attncli.reading.document import MAX_LEVELS
from attncli.reading.yaml_values import _without_lists, documents_until, places_in
from tests.attacks.nesting import nested
from tests.conftest import SAMPLE_FILES, cases, table
from tests.reading.forms import documents_in, refusal_of

QUICK = settings(max_examples=25)


def test_keys_without_a_value_are_reported_together(tmp_path: Path) -> None:
    error = refusal_of(tmp_path, "X: [[1]]\nheads 2:\nfoo:\nmask: {causal}\n")
    assert [f"{fault.place}: {fault.message}" for fault in error.faults] == [
        "f.yaml:2:1: heads 2 has no value",
        "f.yaml:3:1: foo has no value",
        "f.yaml:4:8: causal in mask has no value",
    ]


@pytest.mark.parametrize(
    "text", ['title:\t"words\nX: [[1]]\n', 'title:\t"words', "X:\t[[1, 2}\n", "X:\t[[1]] ]\n"]
)
def test_a_tab_between_words_is_not_to_blame(text: str, tmp_path: Path) -> None:
    assert "tab" not in str(refusal_of(tmp_path, text))


@pytest.mark.parametrize("null", ["", " ~"])
def test_an_anchor_of_nothing_has_no_label_or_cell_to_give(null: str) -> None:
    (found,) = documents_in(f"title: &x{null}\ntokens: [a, *x]\nnotes: *x\n")
    assert not found.values.get("notes")
    assert all(isinstance(word, str) for word in found.values["tokens"])


# Bounds, of which `tests/attacks` has more.


def test_as_many_levels_as_are_allowed_are_read() -> None:
    (found,) = documents_in(f"a: {nested(MAX_LEVELS - 1)}")
    assert found.values


@pytest.mark.parametrize("levels", [66, 490, 5000])
def test_keys_inside_each_other_are_no_crash_in_json(levels: int, tmp_path: Path) -> None:
    message = str(refusal_of(tmp_path, '{"a": ' * levels + "1" + "}" * levels, ".json"))
    assert "unknown key a" in message or "more than 64 brackets" in message


# JSON: the fast path says the same as the YAML reader.


WORDS = st.text("abcxyz_ é.:#,-[]{}'019", max_size=8)
SCALARS = st.one_of(WORDS, st.integers(-999, 999), st.floats(-1e9, 1e9), st.booleans())
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(WORDS, TREES, min_size=1, max_size=4)


def paths(value: Any, before: KeyPath = ()) -> Iterator[KeyPath]:
    yield before
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*before, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*before, index))


@QUICK
@given(
    st.lists(MAPPINGS, min_size=1, max_size=3),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_json_is_read_as_yaml_is_with_the_same_places(
    several: list[dict[str, Any]], indent: int | None, ascii_only: bool, end: str
) -> None:
    """One mapping on several lines, or several mappings on one each."""
    indent = indent if len(several) == 1 else None
    texts = [json.dumps(value, indent=indent, ensure_ascii=ascii_only) for value in several]
    found = documents_in(end.join(texts) + end, ".jsonl")
    for index, (document, text) in enumerate(zip(found, texts, strict=True)):
        chunk = Chunk("f.jsonl", text)
        assert [document.values] == documents_until(chunk)[0]
        for path in paths(document.values):
            place = places_in(chunk, 0)(path)
            line = place.line + index * end.count("\n")
            assert document.locate(path) == replace(place, line=line)


# Lists of numbers are decoded by JSON.

WORDS_IN_LISTS = st.sampled_from(table("reading_yaml", "words_in_lists"))
VALUES = st.one_of(
    st.lists(WORDS_IN_LISTS, max_size=12).map(lambda words: "[" + ", ".join(words) + "]"),
    st.lists(WORDS_IN_LISTS, max_size=12).map(lambda words: "[[" + ",".join(words) + "]]"),
    st.lists(WORDS_IN_LISTS, max_size=6).map("".join),
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.text(st.characters(codec="utf-8"), max_size=12).map(lambda text: f'"{text}"'),
    st.sampled_from(["dot", "null", "~", "1/sqrt(d_k)", "scaled_dot ", "2", "no", "a: b", "a #b"]),
)
KEY_WORDS = st.sampled_from(["X", "W_q", "score.W", "title", "X ", "x y", "1", "-a", "", "é"])
ENTRIES = st.tuples(KEY_WORDS, st.sampled_from([": ", ":", ":  ", ":\n  "]), VALUES)


def by_events(text: str, patch: pytest.MonkeyPatch) -> tuple[list[Any], str]:
    """Return the values, and the error, without the lists of numbers that JSON decodes."""
    with patch.context() as patched:
        patched.setattr("attncli.reading.yaml_values._without_lists", lambda text: (text, {}))
        values, error = documents_until(Chunk("f", text))
    return values, str(error)


@settings(QUICK, max_examples=60)
@given(st.lists(ENTRIES, max_size=4), st.sampled_from(["", "---\n", "# c\n", "\n", "--- \n\n"]))
def test_lists_of_numbers_are_read_as_the_parser_reads_them(
    entries: list[tuple[str, str, str]], start: str
) -> None:
    text = start + "".join(f"{key}{colon}{value}\n" for key, colon, value in entries)
    values, error = documents_until(Chunk("f", text))
    with pytest.MonkeyPatch.context() as patch:
        assert (values, str(error)) == by_events(text, patch)


@cases("reading_yaml", "where_a_list_of_numbers_stands")
def test_where_a_list_of_numbers_stands(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values, error = documents_until(Chunk("f", text))
    assert (values, str(error)) == by_events(text, monkeypatch)


def test_most_lists_of_numbers_are_decoded_by_json() -> None:
    """The comparison above is not one of nothing with nothing."""
    texts = [path.read_text() for path in SAMPLE_FILES if path.suffix == ".yaml"]
    assert sum(bool(_without_lists(text)[1]) for text in texts) > len(texts) / 2


def test_a_long_text_that_is_no_list_is_soon_left_to_the_parser() -> None:
    for text in ("X: [" + "1 ,\n      " * 20_000 + "}\n", "X: [1" + " " * 200_000 + "2]\n"):
        assert _without_lists(text) == (text, {})
