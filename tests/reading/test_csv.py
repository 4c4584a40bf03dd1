"""CSV: what people and spreadsheets write, with values, labels, places and messages."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.errors import InputError, KeyPath, refuse
from attncli.reading import csv_blocks
from attncli.reading.document import Document
from attncli.reading.read import read_bytes
from tests.conftest import SAMPLES, Attn, cases

QUICK = settings(deadline=None, max_examples=200, derandomize=True, database=None)
OPTIONS = {"title": False, "score": False, "heads": False, "tokens": True, "mask": False}


def documents(text: str | bytes, suffix: str = ".csv") -> list[Document]:
    data = text if isinstance(text, bytes) else text.encode()
    found = list(read_bytes(data, "f" + suffix, Path(), suffix, OPTIONS))
    refuse([fault for one in found if one.error for fault in one.error.faults])
    return found


def document(text: str | bytes) -> Document:
    (found,) = documents(text)
    return found


def problems(text: str | bytes, tmp_path: Path, suffix: str = ".csv") -> list[attncli.Problem]:
    path = tmp_path / f"f{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return attncli.load_all(path)


def problem(text: str | bytes, tmp_path: Path, suffix: str = ".csv") -> attncli.Problem:
    (found,) = problems(text, tmp_path, suffix)
    return found


def message(text: str | bytes, tmp_path: Path, suffix: str = ".csv") -> str:
    """Return what is said of a file, without the name of its folder."""
    with pytest.raises(InputError) as caught:
        problems(text, tmp_path, suffix)
    return str(caught.value).replace(f"{tmp_path}/", "")


# One matrix, in the ways that it is written.

MATRIX = [["1.50", "2"], ["0.5", "-3e1"]]


@cases("reading_csv", "one_matrix")
def test_one_matrix(text: str) -> None:
    for end in ("\n", "\r\n", "\r"):
        for code in ("utf-8", "utf-8-sig", "utf-16"):
            found = document(text.replace("\n", end).encode(code))
            assert found.values == {"X": MATRIX}, (end, code)


@pytest.mark.parametrize("row", [["1", "2", "3"], ["1"], ["1/3", "sqrt(2)", "-inf"]])
def test_one_row(row: list[str]) -> None:
    assert document(",".join(row) + "\n").values == {"X": [row]}


@pytest.mark.parametrize("text", ["1\n2\n3\n", "1,\n2,\n3,\n", "I,1\nam,2\ngood,3\n"])
def test_one_column(text: str) -> None:
    assert document(text).values == {"X": [["1"], ["2"], ["3"]]}


# Labels.


@cases("reading_csv", "labels")
def test_labels(text: str, rows: list[str] | None, columns: list[str] | None) -> None:
    found = document(text)
    assert found.values == {"X": [["1", "2"], ["3", "4"]]}
    assert found.labels["X"] == (rows, columns)


@pytest.mark.parametrize("text", ["I,1,2\n3,4\n", "I,1,2\n,3,4\n", "1,a\n2,3\n", "1..2,1\n3,2\n"])
def test_a_word_among_numbers_is_no_label(text: str, tmp_path: Path) -> None:
    assert " of X" in message(text, tmp_path)


def test_labels_become_tokens(tmp_path: Path) -> None:
    text = "kind,cross\nX\nI,1,0\nam,0,1\nmemory\n,f1,f2\nAnn,1,0\nran,0,1\nhome,1,1\n"
    found = problem(text, tmp_path)
    assert found.tokens == ("I", "am")
    assert found.memory_tokens == ("Ann", "ran", "home")


def test_labels_of_scores_are_of_both_sides(tmp_path: Path) -> None:
    text = "scores\n,Ann,ran\nI,1,2\nV\n1\n2\n"
    found = problem(text, tmp_path)
    assert (found.tokens, found.memory_tokens) == (("I",), ("Ann", "ran"))


def test_written_tokens_win(tmp_path: Path) -> None:
    assert problem("tokens,a,b\nX\nI,1\nam,2\n", tmp_path).tokens == ("a", "b")


# Blocks, options, slices, results, several problems.


def test_options_and_blocks() -> None:
    text = "title,A title\nscore,dot\ntokens,a,b\nmask.lengths,1\nX\n1,2\n3,4\nW_q\n1\n2\n"
    assert document(text).values == {
        "title": "A title",
        "score": "dot",
        "tokens": ["a", "b"],
        "mask": {"lengths": "1"},
        "X": [["1", "2"], ["3", "4"]],
        "W_q": [["1"], ["2"]],
    }


def test_options_before_a_matrix_without_a_name() -> None:
    text = "title,T\ntokens,a\nheads,1\n1,2\n"
    assert document(text).values == {"title": "T", "tokens": ["a"], "heads": "1", "X": [["1", "2"]]}


@pytest.mark.parametrize("lines", [["score,general", "score.W,1"], ["score.W,1", "score,general"]])
def test_parts_of_an_option_in_any_order(lines: list[str]) -> None:
    found = document("\n".join([*lines, "X", "1,2", ""]))
    assert found.values["score"] == {"name": "general", "W": "1"}


@pytest.mark.parametrize("text", ["score,dot\nscore,cosine\nX\n1,2\n", "tokens,a\ntokens,b\n1,2\n"])
def test_option_that_stands_twice(text: str, tmp_path: Path) -> None:
    assert message(text, tmp_path).startswith("f.csv:2:1: ")
    assert "is written twice, first in line 1" in message(text, tmp_path)


def test_first_token_that_is_the_name_of_an_option(tmp_path: Path) -> None:
    """Nothing of it can be the option: two numbers are no kind."""
    assert problem("kind,1,0\nwords,0,1\n", tmp_path).tokens == ("kind", "words")


def test_parameter_as_a_block(tmp_path: Path) -> None:
    found = problem("score,general\nX\n1,2\nscore.W\n1,0\n0,1\n", tmp_path)
    assert found.score["name"] == "general"
    np.testing.assert_array_equal(found.score["W"], np.eye(2))


def test_slices() -> None:
    text = "X\n1,2\nW_q[2]\n3\n4\nW_q[1]\n1\n2\n"
    assert document(text).values["W_q"] == [[["1"], ["2"]], [["3"], ["4"]]]
    text = "Q[1][1]\n1\nQ[1][2]\n2\nQ[2][1]\n3\nQ[2][2]\n4\n"
    assert document(text).values["Q"] == [[[["1"]], [["2"]]], [[["3"]], [["4"]]]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("X[1]\n1\nX[3]\n2\n", "the matrices of X must be numbered [1] to [2]"),
        ("X[0]\n1\nX[1]\n2\n", "the matrices of X must be numbered [1] to [2]"),
        (f"X[{'9' * 5000}]\n1\n", "f.csv"),
        ("X[1]\n1\nX[1]\n2\n", "f.csv:3:1: X[1] is written twice, first in line 1"),
        ("X\n1\nX\n2\n", "f.csv:3:1: X is written twice, first in line 1"),
        ("X\n1,2\nX[1]\n3,4\n", "f.csv:3"),
        ("X[1]\n1,2\nX\n3,4\n", "f.csv:3"),
        ("X\n1,2\nX.a\n1,2\n", "X.a cannot be set, as X is a matrix"),
        ("X\nW_q\n1\n", "f.csv:1:1: X is empty"),
        ("Y\n1\n", "f.csv:1:1: unknown key Y\n    Y\n    ^\n  known: "),
        ("scor,dot\nX\n1,2\n", "f.csv:1: unknown key scor"),
        ("steps\nQ\n1,2\n", "f.csv:1: this holds results, but not the problem"),
        ("[1]\n1\n", "unknown key [1]"),
        ("5\nX\n1,2\n", "f.csv:1"),
        ("~\nX\n1,2\n", "f.csv:1"),
        ('"a,1,2\nb,3,4\n', "f.csv:1"),
        ('"a\nb"\n1,2\n', "f.csv:1"),
    ],
)
def test_refused(text: str, said: str, tmp_path: Path) -> None:
    assert said in message(text, tmp_path)


@pytest.mark.parametrize("text", ["", "\n \n", ",,,\n", "---\n", "---\n---\n", "\ufeff", "sep=;\n"])
def test_empty(text: str, tmp_path: Path) -> None:
    assert "the file is empty" in message(text, tmp_path)


def test_results_stand_apart() -> None:
    text = "title,T\nX\n1,2\nsteps\nQ\n,f1,f2\nI,3,4\nweights[1]\n1\nweights[2]\n0\n"
    found = document(text).values
    assert found["X"] == [["1", "2"]]
    assert found["steps"] == {"Q": [["3", "4"]], "weights": [[["1"]], [["0"]]]}


def test_several_problems(tmp_path: Path) -> None:
    first, second = problems("1,2\n---\nscore,dot\nX\n3,4\n---\n", tmp_path)
    np.testing.assert_array_equal(np.asarray(first.X), [[1, 2]])
    np.testing.assert_array_equal(np.asarray(second.X), [[3, 4]])
    said = message("1,2\n---\n\n3,x\n", tmp_path)
    assert said.startswith("f.csv:4:3: row 1, column 2 of X: x is not a number")


# Places.


@cases("reading_csv", "place")
def test_place(text: str, path: KeyPath, place: list[int]) -> None:
    for end in ("\n", "\r\n", "\r"):
        found = document(text.replace("\n", end)).locate(path)
        assert [found.line, found.column] == place, end
        assert found.text == text.splitlines()[place[0] - 1]


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_signs_that_end_a_line_for_python_only(sign: str) -> None:
    found = document(f"a{sign}b,1,2\nc,3,4\n").locate(("X", 1, 0))
    assert (found.line, found.column, found.text) == (2, 3, "c,3,4")


@cases("reading_csv", "fault")
def test_fault(text: str, said: str, tmp_path: Path) -> None:
    assert message(text, tmp_path).startswith(said)


# Told from the contents, when no suffix tells; and everything that a CSV writer may write.


@pytest.mark.parametrize("code", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("text", ["I,1,2\nam,3,4\n", "I;1;2\nam;3;4\n", "I 1 2\nam 3 4\n"])
def test_told_from_its_contents(text: str, code: str, tmp_path: Path) -> None:
    found = problem(text.encode(code), tmp_path, "")
    np.testing.assert_array_equal(np.asarray(found.X), [[1, 2], [3, 4]])
    assert found.tokens == ("I", "am")


LABELS = st.text("abc dé,;\"'\t.:#[]{}-0?_e", min_size=1, max_size=6).map(str.strip).filter(bool)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[str], list[list[float]]]:
    """Return the labels of a matrix's rows and columns, and the matrix."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rows = draw(st.lists(LABELS, min_size=n, max_size=n))
    columns = draw(st.lists(LABELS, min_size=m, max_size=m))
    line = st.lists(NUMBERS, min_size=m, max_size=m)
    return rows, columns, draw(st.lists(line, min_size=n, max_size=n))


@QUICK
@given(tables(), st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n", "\r"]))
def test_empty_corner_keeps_any_label(table: Any, delimiter: str, end: str) -> None:
    """An empty corner says that the first row and the first column are labels."""
    rows, columns, matrix = table
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=end)
    writer.writerow(["", *columns])
    for label, numbers in zip(rows, matrix, strict=True):
        writer.writerow([label, *numbers])
    found = document(f"sep={delimiter}\n" + buffer.getvalue())
    assert found.labels["X"] == (rows, columns)
    np.testing.assert_array_equal(np.array(found.values["X"], float), matrix)
    for i in range(len(rows)):
        place = found.locate(("X", i, 0))
        assert place.text[place.column - 1 :].lstrip('"').startswith(repr(matrix[i][0]))


def work(text: str) -> int:
    """Return how many instructions of Python the reading of a text takes."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        csv_blocks.csv_documents(text, "f", OPTIONS)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("text", ["1,250\t0,5\n0\t2,000\n", "1,250;0\n0;2,000\n"])
def test_another_number_or_a_semicolon_tells_decimal_commas(
    text: str, attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "f.csv").write_text(text)
    result = attn("compute", "f.csv", "--only", "Q", "-f", "csv", cwd=tmp_path)
    assert (result.status, result.out.startswith("1.25,")) == (0, True)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param("W_q[{0}]\n1,0\n", id="slices"),
        pytest.param("W_q[1][{0}]\n1,0\n", id="slices of two axes"),
        pytest.param("score.a{0}\n1,0\n", id="parts of a mapping"),
        pytest.param("key{0},5\n", id="options"),
        pytest.param("X\n1,0\n---\n", id="problems"),
    ],
)
def test_twice_as_many_blocks_are_twice_the_work(block: str) -> None:
    few, many = (work("".join(block.format(i + 1) for i in range(n))) for n in (50, 100))
    assert few < many < 2.1 * few


@pytest.mark.parametrize("comment", ["# second row", "# my scores, with care", "# now the rest"])
def test_a_comment_between_rows_is_passed_over(comment: str, attn: Attn, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    rows = ["scores", "14,10,9", comment, "10,11,6", "9,6,6", comment]
    weights = ["weights", "0.9756,0.0179,0.0066", "0.2676,0.7275,0.0049", "0.9094,0.0453,0.0453"]
    sheet.write_text("\n".join([*rows, *weights]) + "\n")
    result = attn("check", SAMPLES / "i_am_good.yaml", sheet)
    assert (result.status, result.out.splitlines()[-1]) == (0, "correct: 18 numbers")


@pytest.mark.parametrize("name", ["# weights", "# step 2: weights", "# weights (softmax)"])
def test_a_name_after_a_hash_begins_a_matrix(name: str, attn: Attn, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    rows = ["# scores", "14,10,9", "10,11,6", "9,6,6", name]
    weights = ["0.9756,0.0179,0.0066", "0.2676,0.7275,0.0049", "0.9094,0.0453,0.0453"]
    sheet.write_text("\n".join([*rows, *weights]) + "\n")
    assert attn("check", SAMPLES / "i_am_good.yaml", sheet).out.endswith("correct: 18 numbers\n")
