"""Files of text in every form: what is read, where it stands, and what is refused how."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from tests.reading.forms import documents_in, plain, problem_in, refusal_of, rows_of, saved

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le")
UNIT = attncli.Problem(X=[[1, 0], [0, 1]], score="dot")


def each_way_to_save(row: dict[str, Any]) -> list[bytes]:
    """Return the text of a row in every encoding, and with every end of a line."""
    texts = [row["text"].replace("\n", end) for end in row["line_ends"]]
    saved = [text.encode(code) for text in texts for code in ENCODINGS]
    return [*saved, f"\ufeff{row['text']}".encode("utf-16-be")]


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, of which only line feeds and carriage returns are ends."""
    return re.split(r"\r\n?|\n", text)


@rows_of("written", "reading_csv", "reading_yaml")
def test_every_scalar_is_kept_as_it_is_written(row: dict[str, Any]) -> None:
    for data in each_way_to_save(row):
        (found,) = documents_in(data, row["suffix"])
        assert found.values == row["written"]
        if "labels" in row:
            assert [*found.labels["X"]] == row["labels"]


@rows_of("means", "reading_csv", "reading_yaml", "pasted", "other_names", "notebooks_and_pages")
def test_a_file_holds_the_problem_that_its_author_meant(
    row: dict[str, Any], tmp_path: Path
) -> None:
    for data in each_way_to_save(row):
        problem = problem_in(tmp_path, data, row["suffix"])
        assert {key: plain(getattr(problem, key)) for key in row["means"]} == row["means"]


@rows_of("places", "reading_csv", "reading_yaml")
def test_everything_has_the_place_where_it_stands(row: dict[str, Any]) -> None:
    lines = lines_of(row["text"])
    for data in each_way_to_save(row):
        (found,) = documents_in(data, row["suffix"])
        for position, *path in row["places"]:
            place = found.locate(tuple(path))
            assert f"{place.line}:{place.column}" == position, path
            assert place.text == lines[place.line - 1]


def assert_refused(row: dict[str, Any], folder: Path) -> str:
    """Assert that a file is refused at its place, with its way out; return the whole message."""
    error = refusal_of(folder, row["text"], row["suffix"])
    fault = next(fault for fault in error.faults if row.get("said", "") in fault.message)
    assert row.get("hint", "") in f"{error}\n"
    assert fault.place
    if row.get("whole"):
        assert str(fault.place) == f"f{row['suffix']}"
    else:
        at = f"{row['at']}:" if "at" in row else ""
        assert f"{fault.place}:".startswith(f"f{row['suffix']}:{at}")
        assert fault.place.text == lines_of(row["text"])[fault.place.line - 1]
    return str(error)


@rows_of("refused", "reading_csv", "reading_yaml", "pasted", "other_names", "notebooks_and_pages")
def test_what_cannot_be_read_is_refused_with_its_place(row: dict[str, Any], tmp_path: Path) -> None:
    assert_refused(row, tmp_path)


RAW = re.compile(r"(?<!un)expected|found|token\b|scanning|parsing|context|scalar|directive")
"""Words of the parsers of YAML."""


@rows_of("no_yaml", "reading_yaml")
def test_what_the_parser_refuses_is_said_in_the_words_of_a_person(
    row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a way out, below the line with its caret; also where libyaml lacks."""
    messages = [assert_refused(row, tmp_path)]
    monkeypatch.setattr("attncli.reading.yaml_values.LOADER", yaml.SafeLoader)
    messages.append(str(refusal_of(tmp_path, row["text"])))
    for message in messages:
        assert not RAW.search(message)
        assert re.search(r"\n  \S.*$", message)


@rows_of("answers", "reading_csv", "notebooks_and_pages")
def test_right_answers_are_found_right_however_they_are_written(
    row: dict[str, Any], tmp_path: Path
) -> None:
    (answers,) = attncli.load_answers(saved(tmp_path, row["text"], row["suffix"]))
    report = attncli.check(UNIT, answers)
    assert (report.verdict, report.counts["correct"]) == ("correct", 8)


@pytest.mark.parametrize("text", [f"X[{'9' * 5000}]\n1\n", f"W_q{'[1]' * 3000}\n1,2\nX\n1,2\n"])
def test_a_heading_of_many_indices_is_an_unknown_key(text: str, tmp_path: Path) -> None:
    assert "unknown key" in str(refusal_of(tmp_path, text, ".csv"))


def test_several_problems_of_a_file_come_one_after_the_other(tmp_path: Path) -> None:
    text = "---\n---\nX: [[1]]\n---\n# nothing\n---\n~\n...\n---\nX: [[2],\n    [3]]\n---\n"
    first, second = documents_in(text)
    assert (first.values, second.values) == ({"X": [["1"]]}, {"X": [["2"], ["3"]]})
    assert str(first.locate(("X", 0, 0))) == "f.yaml:3:6"
    assert str(second.locate(("X", 1, 0))) == "f.yaml:11:6"
    assert str(second.locate(("X",))) == "f.yaml:10:1"
    blocks = "1\n---\nscore,dot\nX\n2\n---\n"
    for suffix, several in ((".csv", blocks), ("", blocks), ("", '{"X": 1}\n{X: 2}\n')):
        problems = attncli.load_all(saved(tmp_path, several, suffix))
        assert [problem.array("X").item() for problem in problems] == [1, 2]


# Encodings.


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xef\xbb\xbfX: [[1]]\ntitle: caf\xe9\n", "line 2 is not in UTF-8 (byte 0xe9)"),
        ("# é\n".encode() + b"title: caf\xe9\n", "line 2 is not in UTF-8 (byte 0xe9)"),
        (b"# \x81\ntitle: caf\xe9\nX: [[1]]\n", "line 1 is not in UTF-8 (byte 0x81)"),
        ("X: [[1]]".encode("utf-16") + b"\x00\xd8", "the file is broken UTF-16"),
        ("X: [[1]]".encode("utf-32"), "\\x00"),
    ],
)
def test_bytes_that_are_no_text_are_refused(data: bytes, said: str, tmp_path: Path) -> None:
    message = str(refusal_of(tmp_path, data))
    assert message.startswith("f.yaml:")
    assert said in message
    assert "UTF-8" in message or "\\x00" in message


# Labels of a table that may be anything.

LABELS = (
    st.text("abc dé,;\"'\t.:#[]{}-0?_e", min_size=1, max_size=6)
    .map(str.strip)
    .filter(lambda label: label and not label.startswith("'-"))  # ' is no part of a formula's text
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[str], list[list[float]]]:
    """Return the labels of a matrix's rows and columns, and the matrix."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rows = draw(st.lists(LABELS, min_size=n, max_size=n))
    columns = draw(st.lists(LABELS, min_size=m, max_size=m))
    line = st.lists(FLOATS, min_size=m, max_size=m)
    return rows, columns, draw(st.lists(line, min_size=n, max_size=n))


@settings(max_examples=60)
@given(tables(), st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n", "\r"]))
def test_an_empty_corner_says_that_words_beside_it_are_labels_whatever_they_are(
    table: Any, delimiter: str, end: str
) -> None:
    rows, columns, matrix = table
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=end)
    writer.writerow(["", *columns])
    for label, numbers in zip(rows, matrix, strict=True):
        writer.writerow([label, *numbers])
    (found,) = documents_in(f"sep={delimiter}\n{buffer.getvalue()}", ".csv")
    assert found.labels["X"] == (rows, columns)
    np.testing.assert_array_equal(np.array(found.values["X"], float), matrix)
    for i in range(len(rows)):
        place = found.locate(("X", i, 0))
        assert place.text[place.column - 1 :].lstrip('"').startswith(repr(matrix[i][0]))
