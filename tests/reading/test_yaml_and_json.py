"""YAML and JSON: values as written, places of everything, and what is refused in which words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.errors import InputError, KeyPath, Place, refuse
from attncli.reading.document import MAX_LEVELS, Chunk, Document, without_nulls
from attncli.reading.read import read_bytes
from attncli.reading.yaml_values import _without_lists, documents_until, place_of, placed
from tests.conftest import SAMPLE_FILES, Attn, cases, table

QUICK = settings(deadline=None, max_examples=50, derandomize=True, database=None)


def documents(text: str | bytes, suffix: str = ".yaml") -> list[Document]:
    data = text if isinstance(text, bytes) else text.encode()
    found = list(read_bytes(data, "f" + suffix, Path(), suffix))
    refuse([fault for one in found if one.error for fault in one.error.faults])
    return found


def values(text: str | bytes, suffix: str = ".yaml") -> dict[str, Any]:
    (document,) = documents(text, suffix)
    return document.values


def at(text: str | bytes, *path: str | int, suffix: str = ".yaml") -> tuple[int, int, str]:
    (document,) = documents(text, suffix)
    return position(document.locate(path))


def yaml_place(chunk: Chunk, path: KeyPath) -> Place:
    return place_of(path, placed(chunk, 0), chunk)


def position(place: Place) -> tuple[int, int, str]:
    return place.line, place.column, place.text


def problems(text: str | bytes, suffix: str, tmp_path: Path) -> list[attncli.Problem]:
    path = tmp_path / f"f{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return attncli.load_all(path)


def message(text: str | bytes, suffix: str, tmp_path: Path) -> str:
    """Return what is said of a file, without the name of its folder."""
    with pytest.raises(InputError) as caught:
        problems(text, suffix, tmp_path)
    return str(caught.value).replace(f"{tmp_path}/", "")


# Scalars are text as written.


@pytest.mark.parametrize(
    "word",
    [
        *("0.50", "1e3", "-.5", "08", "012", "0x1F", "0o17", "1:30", "1_000", "1/2", "+1"),
        *("yes", "no", "on", "off", "true", "False", "2024-01-01", "12:00:00", "nan", ".nan"),
        *("-.inf", "inf", "sqrt(2)", "=", "<<", "NuLL", "n", "y"),
    ],
)
def test_scalar_stays_text(word: str) -> None:
    assert values(f"a: {word}\nb: [{word}]\n") == {"a": word, "b": [word]}


@pytest.mark.parametrize("word", ["~", "null", "Null", "NULL"])
def test_null_is_left_out(word: str, tmp_path: Path) -> None:
    assert values(f"a: {word}\nb: 1\n") == {"b": "1"}
    text = f"X: [[1]]\nheads: {word}\nmask: {{causal: {word}}}\n"
    (problem,) = problems(text, ".yaml", tmp_path)
    assert problem.heads == 1
    (problem,) = problems('{"X": [[1]], "heads": null}', ".json", tmp_path)
    assert problem.heads == 1


WITHOUT_VALUE = table("reading_yaml", "WITHOUT_VALUE")


@pytest.mark.parametrize(("text", "first", "hint"), WITHOUT_VALUE)
def test_key_without_a_value(text: str, first: str, hint: str, tmp_path: Path) -> None:
    said = message(f"{text}\nX: [[1, 0], [0, 1]]\n", ".yaml", tmp_path)
    assert said.startswith(f"f.yaml:{first}")
    assert hint in said
    assert "\n    " in said


@pytest.mark.parametrize(
    "text",
    ["answers: {output, z_am: , weights: null}", "names: {scored: scores}\nanswers: {scored}"],
)
def test_answers_may_be_open_under_names_that_exist(text: str, tmp_path: Path) -> None:
    (problem,) = problems(f"{text}\nX: [[1]]\n", ".yaml", tmp_path)
    assert problem.answers


def test_keys_without_a_value_are_reported_together(tmp_path: Path) -> None:
    said = message("X: [[1]]\nheads 2:\nfoo:\nmask: {causal}\n", ".yaml", tmp_path)
    assert [line for line in said.splitlines() if line.startswith("f.yaml")] == [
        "f.yaml:2:1: heads 2 has no value",
        "f.yaml:3:1: foo has no value",
        "f.yaml:4:8: causal in mask has no value",
    ]
    assert "f.json:1:11: causal in mask" in message('{"mask": {causal}}', ".json", tmp_path)


@pytest.mark.parametrize("flag", ["--mask={causal}", "--normalize={temperature 2}"])
def test_flag_without_a_value(flag: str, attn: Attn) -> None:
    result = attn("compute", str(SAMPLE_FILES[0].with_name("i_am_good.yaml")), flag)
    assert result.status == 2
    assert "has no value" in result.err


@pytest.mark.parametrize("start", ["", "answers:\n  "])
def test_answer_without_a_value_is_not_filled_in(start: str, attn: Attn, tmp_path: Path) -> None:
    problem = tmp_path / "p.yaml"
    problem.write_text("X: [[1, 0], [0, 1]]\n")
    sheet = tmp_path / "a.yaml"
    said = {"output:": (1, "✓ weights"), "output 0.67:": (2, "write output: 0.67")}
    for line, (status, words) in said.items():
        weights = "weights: [[0.67, 0.33], [0.33, 0.67]]"
        sheet.write_text(f"student:\n{start}{line}\n{start[9:]}{weights}\n")
        result = attn("check", str(problem), str(sheet))
        assert result.status == status
        assert words in result.out + result.err


@pytest.mark.parametrize("word", ['"null"', "'~'", '""', "!!str null"])
def test_quoted_null_is_a_word(word: str) -> None:
    assert isinstance(values(f"a: {word}\n")["a"], str)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(("012", 12), ("08", 8), ("0o17", 15), ("0x10", 16), ("1e3", 1000), ("-.5", -0.5)),
        *(("0.50", 0.5), ("1/4", 0.25), ("+.5e1", 5), ("'2'", 2), ('"1/2"', 0.5), ("!!int 3", 3)),
    ],
)
def test_numbers_in_a_matrix(written: str, value: float, tmp_path: Path) -> None:
    (problem,) = problems(f"X: [[{written}]]\n", ".yaml", tmp_path)
    assert problem.X is not None
    assert problem.X.item() == value


@cases("reading_yaml", "words_in_a_matrix")
def test_words_in_a_matrix(written: str, sentence: str, tmp_path: Path) -> None:
    text = message(f"X: [[1, {written}]]\n", ".yaml", tmp_path)
    assert text.startswith(f"f.yaml:1:9: row 1, column 2 of X: {sentence}\n")
    assert text.splitlines()[1:3] == [f"    X: [[1, {written}]]", "            ^"]


@pytest.mark.parametrize("blank", ["~", "null", "Null", "NULL", "_", "'?'"])
def test_blank_cell(blank: str, tmp_path: Path) -> None:
    text = message(f"X: [[1, {blank}]]\n", ".yaml", tmp_path)
    assert text.startswith("f.yaml:1:9: 1 cell is open: X[1, 2]")
    assert text.endswith("  write a number there")


def test_labels_stay_as_written(tmp_path: Path) -> None:
    text = "tokens: [yes, 012, 2024-01-01, 1e3, null]\nX: [[1], [2], [3], [4], [5]]\n"
    (problem,) = problems(text, ".yaml", tmp_path)
    assert problem.tokens == ("yes", "012", "2024-01-01", "1e3", "null")


# Keys, anchors, depth, tags, tabs.


@cases("reading_yaml", "refused")
def test_refused(text: str, place: str, first: str, tmp_path: Path) -> None:
    assert message(text, ".yaml", tmp_path).startswith(f"f.yaml:{place}: {first}")


NO_YAML = [
    ("X: [[1]]\nscore dot\nheads: 1\n", "2:1: this line has no key, or no colon"),
    ("X: [[1]]\nscore:dot\n", "2:1: this line has no key, or no colon"),
    ("X: - 1\n   - 2\n", "1:4: a list of - cannot begin behind a colon"),
    ("X: ? a\n", "1:4: a value cannot start with ?"),
    ("title: @me\n", "1:8: a value cannot start with @"),
    ("title: *\n", "1:8: a value cannot start with *"),
    ("title: **bold**\n", "1:8: a value cannot start with *"),
    ("title: *a b\n", "1:8: *a refers to nothing before it"),
    ("tokens: [R&D, &, x]\n", "1:15: a value cannot start with &"),
    ("title: !<a b\n", "1:8: a value cannot start with !"),
    ("title: !e!x b\n", "1:8: a value cannot start with !"),
    ("X: [[1]]\n  score: dot\n", "2:3: this line is indented otherwise"),
    ("X: [[1]]\n heads: 1\n", "2:2: this line is indented otherwise"),
    ("score:\n    name: dot\n  width: 2\n", "3:3: this line is indented otherwise"),
    ("X:\n  - [1]\n - [2]\n", "3:2: this line is indented otherwise"),
    ("X: [[1]]\n- [2]\n", "2:1: this line is indented otherwise"),
    ("  X: [[1]]\nheads: 1\n", "2:1: this line is indented otherwise"),
    ("X: [[1]]\n...\nfoo\n", "3:1: the line ... ends a problem"),
    ("%YAML x\n---\nX: [[1]]\n", "1:1: a line cannot start with %"),
    ("% comment\nX: [[1]]\n", "1:1: a line cannot start with %"),
    ("%YAML 3.0\n---\nX: [[1]]\n", "1:1: a line cannot start with %"),
    ("X: |0\n  1 0\n", "1:4: nothing but a comment may follow"),
    ("X: | 1 0\n  0 1\n", "1:4: nothing but a comment may follow"),
    ('title: "abc\nX: [[1]]\n', "1:8: a quotation mark is not closed"),
    ('title: "abc" def\nX: [[1]]\n', "1:14: d follows a value that is complete"),
    ("X: [[1, 2], [3, 4]]]\n", "1:20: ] follows a value that is complete"),
    ("X: [[1]] [[2]]\n", "1:10: [ follows a value that is complete"),
    ('X: "C:\\data\\x.csv"\n', "1:7: \\ between double quotes begins an escape code"),
    ('title: "\\xzz"\n', "1:11: \\ between double quotes begins an escape code"),
    ("title: a\n\tb\n", "2:1: a tab where YAML takes only blanks"),
    ("X: [[1, 2] [3, 4]]\n", "1:12: a bracket is not closed, or a comma is missing"),
    ("mask: {causal: true offset: 1}\n", "1:27: a bracket is not closed, or a comma or a colon"),
    ('{"X" [[1, 2]]}\n', "1:6: a bracket is not closed, or a comma or a colon"),
    ("X: [[1,, 2]]\n", "1:8: a cell is empty"),
    ("X: ]\n", "1:4: ] cannot stand here"),
    ("X: " + "[" * 100, "1:67: more than 64 brackets or levels"),
]


@pytest.mark.parametrize(("text", "first"), NO_YAML)
def test_errors_of_the_parser_have_a_sentence_and_a_way_out(
    text: str, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = message(text, ".yaml", tmp_path)
    assert said.startswith(f"f.yaml:{first}")
    assert said.splitlines()[-1].startswith("  ")
    assert not said.splitlines()[-1].startswith("    ")  # a hint below the line with a caret
    # where libyaml lacks
    monkeypatch.setattr("attncli.reading.yaml_values.LOADER", yaml.SafeLoader)
    own = message(text, ".yaml", tmp_path)
    raw = re.compile(r"expected|found|token\b|scanning|parsing|context|scalar|directive")
    assert not raw.search(said + own.replace("unexpected", ""))
    assert own.splitlines()[-1].startswith("  ")


@pytest.mark.parametrize(
    "text", ['title:\t"words\nX: [[1]]\n', 'title:\t"words', "X:\t[[1, 2}\n", "X:\t[[1]] ]\n"]
)
def test_tab_between_words_is_not_to_blame(text: str, tmp_path: Path) -> None:
    (problem,) = problems("X:\t[[1,\t2]]\ntitle:\ta\n", ".yaml", tmp_path)
    assert problem.title == "a"
    assert "tab" not in message(text, ".yaml", tmp_path)


def test_core_tags_change_nothing() -> None:
    text = "a: !!str 1\nb: !!int 2\nc: !!float 3.0\nd: !!seq [1]\ne: !!map {x: 1}\nf: ! 4\n"
    right = {"a": "1", "b": "2", "c": "3.0", "d": ["1"], "e": {"x": "1"}, "f": "4"}
    assert values(text) == right


def test_anchors() -> None:
    assert values("a: &x [1, &y 2]\nb: *x\nc: [*y, *x]\n") == {
        "a": ["1", "2"],
        "b": ["1", "2"],
        "c": ["2", ["1", "2"]],
    }
    assert values("a: &x 1\nb: &x 2\nc: *x\n")["c"] == "2"


def test_anchor_of_nothing() -> None:
    """A key without a value has no label or cell to give."""
    for null in ("", " ~"):
        found = values(f"title: &x{null}\ntokens: [a, *x]\nnotes: *x\n")
        assert not found.get("notes")
    assert all(isinstance(word, str) for word in found["tokens"])


def nested(levels: int, inside: str = "1") -> str:
    return "[" * levels + inside + "]" * levels


def test_depth_limit() -> None:
    assert values(f"X: {nested(MAX_LEVELS - 1)}")
    sentence = "more than 64 brackets or levels inside each other"
    for text in (f"X: {nested(MAX_LEVELS)}", nested(MAX_LEVELS + 1), "- " * 70 + "1", "[" * 10_000):
        with pytest.raises(InputError, match=sentence):
            values(text)


@pytest.mark.parametrize("levels", [66, 490, 5000])
def test_keys_inside_each_other_are_no_crash_in_json(levels: int, tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text('{"a": ' * levels + "1" + "}" * levels)
    with pytest.raises(InputError, match=r"unknown key a|more than 64 brackets"):
        attncli.load(path)


@pytest.mark.parametrize("count", [2, 30])
def test_depth_by_aliases_is_no_crash(count: int, tmp_path: Path) -> None:
    lines = [f"- &a0 {nested(50)}"]
    lines += [f"- &a{i} {nested(50, f'*a{i - 1}')}" for i in range(1, count)]
    with pytest.raises(InputError):
        problems("\n".join(lines), ".yaml", tmp_path)


# Several documents.


def test_several_documents_with_empty_ones_between() -> None:
    text = "---\n---\nX: [[1]]\n---\n# nothing\n---\n~\n...\n---\nX: [[2],\n    [3]]\n---\n"
    first, second = documents(text)
    assert (first.values, second.values) == ({"X": [["1"]]}, {"X": [["2"], ["3"]]})
    assert position(first.locate(("X", 0, 0))) == (3, 6, "X: [[1]]")
    assert position(second.locate(("X", 1, 0))) == (11, 6, "    [3]]")
    assert position(second.locate(("X",))) == (10, 1, "X: [[2],")


@pytest.mark.parametrize("text", ["", " \n", "# nothing\n", "---\n---\n", "~\n", "\ufeff", "{}\n"])
def test_empty(text: str, tmp_path: Path) -> None:
    said = message(text, ".yaml", tmp_path)
    assert "the file is empty" in said or "there is neither X nor Q" in said


def test_fault_in_a_later_document_ends_everything(tmp_path: Path) -> None:
    said = message("X: [[1]]\n---\nX: [[1], [a]]\n", ".yaml", tmp_path)
    assert said.startswith("f.yaml:3:11: row 2, column 1 of X: a is not a number")


# Places.

TEXT = """\
title: "A title"
X: [[1, 2],
    [3,
     4]]
score:
  name: general
  W:
    - [1, 0]
    - [0, 1]
tokens: &t [I, "am, he", good]
memory_tokens: *t
notes:
"""


@cases("reading_yaml", "place")
def test_place(path: KeyPath, place: tuple[int, int]) -> None:
    for end in ("\n", "\r\n", "\r"):
        for code in ("utf-8", "utf-8-sig", "utf-16"):
            data = TEXT.replace("\n", end).encode(code)
            assert at(data, *path) == (*place, TEXT.splitlines()[place[0] - 1]), (end, code)


def test_values_do_not_depend_on_line_ends_and_encoding() -> None:
    right = values(TEXT)
    assert right["tokens"] == ["I", "am, he", "good"]
    for end in ("\r\n", "\r"):
        for code in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"):
            mark = "\ufeff" if code.endswith("e") else ""
            assert values((mark + TEXT.replace("\n", end)).encode(code)) == right


BLOCK = "X: |\n\n  1 0,5\n  0 sqrt( 4 ) x\nQ: '1 2 y'\nK: |-\n 1\n V: 2\n"


@cases("reading_yaml", "place_in_a_text_block")
def test_place_in_a_text_block(path: KeyPath, place: tuple[int, int]) -> None:
    assert at(BLOCK, *path) == (*place, BLOCK.splitlines()[place[0] - 1])


@cases("reading_yaml", "ways_to_write_a_matrix")
def test_ways_to_write_a_matrix(text: str, tmp_path: Path) -> None:
    (problem,) = problems(text, ".yaml", tmp_path)
    np.testing.assert_array_equal(np.asarray(problem.X), [[1, 2], [3, 4]])


def test_ragged_block_points_at_its_row(tmp_path: Path) -> None:
    said = message("X: |\n  1 2\n  3\n", ".yaml", tmp_path)
    assert said == "f.yaml:3:3: row 2 of X has 1 number, but row 1 has 2\n      3\n      ^"


# What kind of file it is, when no suffix tells.


@pytest.mark.parametrize("code", ["utf-8", "utf-8-sig", "utf-16"])
@cases("reading_yaml", "told_from_its_contents")
def test_told_from_its_contents(text: str, code: str, tmp_path: Path) -> None:
    (problem,) = problems(text.encode(code), "", tmp_path)
    np.testing.assert_array_equal(np.asarray(problem.X), [[1, 2]])


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    said = message(b"\xef\xbb\xbfX: [[1]]\ntitle: caf\xe9\n", ".yaml", tmp_path)
    assert said == "f.yaml: line 2 is not in UTF-8 (byte 0xe9)\n  save the file as UTF-8"


def test_windows_1252(tmp_path: Path) -> None:
    with pytest.warns(UnicodeWarning, match="if café is wrong"):
        (problem,) = problems(b"X: [[1]]\ntitle: caf\xe9\n", ".yaml", tmp_path)
    assert problem.title == "café"


def test_broken_utf16_is_not_called_utf8(tmp_path: Path) -> None:
    said = message("X: [[1]]".encode("utf-16") + b"\x00\xd8", ".yaml", tmp_path)
    assert "UTF-16" in said


@pytest.mark.parametrize("code", ["utf-16-le", "utf-32"])
def test_other_encodings_are_refused(code: str, tmp_path: Path) -> None:
    assert "\\x00" in message("X: [[1]]".encode(code), ".yaml", tmp_path)


# JSON: the fast path says the same as the YAML reader.


@cases("reading_yaml", "json_values")
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_json_values(text: str, right: dict[str, Any], suffix: str) -> None:
    assert values(text, suffix) == right
    ((plain,), _) = documents_until(Chunk("f", text))
    plain = without_nulls(plain, (), [])
    assert (plain if isinstance(plain, dict) else {"X": plain}) == right


def test_a_key_without_a_blank_after_its_colon(tmp_path: Path) -> None:
    said = message("X:[[1, 0], [0, 1]]\n", ".yaml", tmp_path)
    assert said.endswith("write such as X: …, with a blank after the colon")


@pytest.mark.parametrize("text", ["- 1\n- 2\n", "[1, 2]", "[]", "- a\n- b\n", "- 1 0\n- 0 1\n"])
@pytest.mark.parametrize("source", ["f.yaml", "f.json", "-"])
def test_a_flat_list_is_no_problem(text: str, source: str, attn: Attn, tmp_path: Path) -> None:
    """It may be a row or a column, of X or of another matrix."""
    (tmp_path / "f.yaml").write_text(text)
    (tmp_path / "f.json").write_text(text)
    result = attn("compute", source, stdin=text.encode(), cwd=tmp_path)
    name, first = "<stdin>" if source == "-" else source, text.splitlines()[0]
    told = f"{name}:1:1: a problem is a mapping of keys to values, not a list\n    {first}\n    ^\n"
    assert (result.status, result.err) == (
        2,
        f"{told}  write such as X: [1, 2], and a line of --- between problems\n",
    )


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
@given(MAPPINGS, st.sampled_from([None, 0, 1, 2]), st.booleans())
def test_json_is_read_as_yaml(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    (document,) = documents(text, ".json")
    ((plain,), _) = documents_until(Chunk("f.json", text))
    assert document.values == plain
    for path in paths(document.values):
        assert position(document.locate(path)) == position(yaml_place(Chunk("f.json", text), path))


@QUICK
@given(st.lists(MAPPINGS, min_size=2, max_size=4), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_places_in_json_lines(several: list[dict[str, Any]], end: str) -> None:
    lines = [json.dumps(value) for value in several]
    found = documents(end.join(lines) + end, ".jsonl")
    assert len(found) == len(several)
    for index, (document, line) in enumerate(zip(found, lines, strict=True)):
        for path in paths(document.values):
            place = yaml_place(Chunk("f.jsonl", line), path)
            number = place.line + index * end.count("\n")
            assert position(document.locate(path)) == (number, place.column, line)


@cases("reading_yaml", "place_in_json")
def test_place_in_json(text: str, place: str, line: str, tmp_path: Path) -> None:
    said = message(text, ".json", tmp_path).splitlines()
    assert said[0].startswith(f"f.json:{place}: row ")
    assert said[0].endswith("of X: a is not a number")
    assert said[1] == f"    {line}"


@cases("reading_yaml", "refused_json")
def test_refused_json(text: str, said: str, tmp_path: Path) -> None:
    assert message(text, ".json", tmp_path).startswith(said)


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    """No text can hold one, so that no output could be written."""
    assert "f.json:1" in message('{"title": "\\ud800", "X": [[1]]}', ".json", tmp_path)


@pytest.mark.parametrize(
    "text", ['{"X": [[1, 0]], "mask": [[true]]}', "X: [[1]]\nmask: [[true]]\n"]
)
def test_true_and_false_in_a_mask(text: str, tmp_path: Path) -> None:
    (problem,) = problems(text, ".yaml", tmp_path)
    np.testing.assert_array_equal(problem.mask["keep"], [[1]])


def test_infinity_as_json_output_writes_it(tmp_path: Path) -> None:
    text = '{"X": [[1], [2]], "bias": [["-Infinity", 0], [0, -Infinity]]}'
    (problem,) = problems(text, ".json", tmp_path)
    np.testing.assert_array_equal(problem.bias, [[-np.inf, 0], [0, -np.inf]])


# Results, read back.


def test_results_are_the_problem_they_came_from(tmp_path: Path) -> None:
    result = {
        "title": "T",
        "options": {"score": {"name": "dot"}, "heads": 1},
        "inputs": {"X": [[1, 2]], "score.W": None, "mask.keep": [[1]]},
        "steps": {"Q": {"value": [[1, 2]]}},
        "warnings": ["no"],
    }
    (problem,) = problems(json.dumps(result), ".json", tmp_path)
    assert problem.title == "T"
    assert problem.score == {"name": "dot"}
    np.testing.assert_array_equal(np.asarray(problem.X), [[1, 2]])
    np.testing.assert_array_equal(problem.mask["keep"], [[1]])


def test_place_in_results(tmp_path: Path) -> None:
    text = "options:\n  score: dott\ninputs:\n  X: [[1, 2]]\nsteps: {}\n"
    said = message(text, ".yaml", tmp_path)
    assert said.startswith("f.yaml:2:3: unknown score dott")
    text = "options:\n  score: dot\ninputs:\n  X: [[1, a]]\nsteps: {}\n"
    assert message(text, ".yaml", tmp_path).startswith("f.yaml:4:11: row 1, column 2 of X: a is")


def test_results_alone_are_refused(tmp_path: Path) -> None:
    said = message("title: T\nsteps:\n  Q: {value: [[1]]}\n", ".yaml", tmp_path)
    assert said.startswith(
        "f.yaml:2:1: this holds results, but not the problem that they came from"
    )
    assert said.endswith("write it without --only, or give the problem file itself")


def test_rows_of_numbers_without_a_bar_stay_rows(tmp_path: Path) -> None:
    text = "notes: a long\n  sentence\nX:\n  1 0.5 2\n  0 1.5 1  # the second\nscore: dot\n"
    (problem,) = problems(text, ".yaml", tmp_path)
    assert problem.notes == "a long sentence"
    assert np.array_equal(np.asarray(problem.X), [[1, 0.5, 2], [0, 1.5, 1]])


@pytest.mark.parametrize("word", ["true", "null", "NaN", "-Infinity", "1E400", "-0", "0.50", "1/2"])
def test_words_of_json_stay_what_was_written(word: str) -> None:
    assert values(f"X: [[{word}, 1], [2, {word}]]\n") == {"X": [[word, "1"], ["2", word]]}


WORDS_IN_LISTS = st.sampled_from(
    [
        "1",
        "-0.5",
        "1/3",
        "sqrt(2)",
        "~",
        "I",
        "am",
        "1e3",
        "2*pi",
        "(1+2)/3",
        "-",
        "+1",
        "null",
        "a.b",
        "--5",
        "1 2",
        ".5",
        "%",
        "*a",
        "[",
        "]",
        ", ",
        ",",
        "",
        '"x"',
        "\n    ",
        " ",
        "5%",
        "_",
        "?",
    ]
)
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


@settings(QUICK, max_examples=200)
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


@cases("reading_yaml", "more_digits_than_floats_have_are_refused")
def test_more_digits_than_floats_have_are_refused(written: str, said: str, tmp_path: Path) -> None:
    assert said in message(f"X: [[1]]\nround: {written}\n", ".yaml", tmp_path)
    problems("X: [[1]]\nround: 17\n", ".yaml", tmp_path)
