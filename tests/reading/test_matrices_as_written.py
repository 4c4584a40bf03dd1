"""Matrices from lists, text and arrays: values, and faults with the key, the row and the column."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.errors import InputError, KeyPath
from attncli.core.numbers.matrices import to_array, to_vector
from attncli.core.numbers.written import to_count, to_number
from attncli.reading.load import Overrides, load, load_all
from tests.conftest import cases

QUICK = settings(deadline=None, max_examples=200, derandomize=True, database=None)
X: KeyPath = ("X",)


def fault_of(error: InputError) -> tuple[str, KeyPath]:
    (fault,) = error.faults
    return fault.message, fault.path


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ([["0.50", "1/4"], ["-1e3", "sqrt(4)"]], [[0.5, 0.25], [-1000, 2]]),
        ([1, 2, 3], [[1, 2, 3]]),
        (["1", "2"], [[1, 2]]),
        ([[[1], [2]], [[3], [4]]], [[[1], [2]], [[3], [4]]]),
        ([[[[1, 2]]]], [[[[1, 2]]]]),
        (((1, 2), (3, 4)), [[1, 2], [3, 4]]),
        ([np.array([1, 2]), np.array([3, 4])], [[1, 2], [3, 4]]),
        ([[np.float32(0.5), np.int8(2)]], [[0.5, 2]]),
        ("1 0\n0 1", [[1, 0], [0, 1]]),
        ("1, 0\n0,1\n", [[1, 0], [0, 1]]),
        ("\n  1\t0\n\n  0  1\n\n", [[1, 0], [0, 1]]),
        ("1,,2", [[1, 2]]),
        ("sqrt( 16 ) (1 + 2)*2 exp(0)", [[4, 6, 1]]),
        ("5", [[5]]),
        (np.eye(2, dtype=np.int8), np.eye(2)),
        (np.array([1.0, 2.0]), [[1, 2]]),
        (np.array(3), [[3]]),
        (np.float64(3), [[3]]),
    ],
)
def test_value(raw: object, value: object) -> None:
    array = to_array(raw, X)
    np.testing.assert_array_equal(array, np.array(value, dtype=float))
    assert array.dtype == np.float64


@pytest.mark.parametrize(
    ("raw", "message", "path"),
    [
        ([[1, 2], [3]], "row 2 of X has 1 number, but row 1 has 2", ("X", 1)),
        ([[1], [2], [3, 4]], "row 3 of X has 2 numbers, but row 1 has 1", ("X", 2)),
        ("1 2\n3", "row 2 of X has 1 number, but row 1 has 2", ("X", 1)),
        (
            [[[1, 2]], [[3]]],
            "matrix 2 of X has the shape (1, 1), but matrix 1 has (1, 2)",
            ("X", 1),
        ),
        ([[[1, 2], [3]]], "row 2 of X[1] has 1 number, but row 1 has 2", ("X", 0, 1)),
        ([1, [2]], "X mixes rows and numbers: place 1 is no row", ("X", 0)),
        ([[1], 2], "X mixes rows and numbers: place 2 is no row", ("X", 1)),
        ([[1, "two"]], "row 1, column 2 of X: two is not a number; write 2", ("X", 0, 1)),
        ([1, "two"], "row 1, column 2 of X: two is not a number; write 2", ("X", 1)),
        ("1 0\n0 one", "row 2, column 2 of X: one is not a number; write 1", ("X", 1, 1)),
        ([[[1], ["a"]]], "row 2, column 1 of X[1]: a is not a number", ("X", 0, 1, 0)),
        ([["1/0"]], "row 1, column 1 of X: 1/0 divides by 0", ("X", 0, 0)),
        ([["3,5"]], "row 1, column 1 of X: 3,5 is not a number; write 3.5", ("X", 0, 0)),
        ([["1", "~"]], "row 1, column 2 of X is blank", ("X", 0, 1)),
        ([["_"]], "row 1, column 1 of X is blank", ("X", 0, 0)),
        ([["?"]], "row 1, column 1 of X is blank", ("X", 0, 0)),
        ([["null"]], "row 1, column 1 of X is blank", ("X", 0, 0)),
        ([[""]], "row 1, column 1 of X is blank", ("X", 0, 0)),
        ([[1, None]], "row 1, column 2 of X is not a number", ("X", 0, 1)),
        ([[1, {}]], "row 1, column 2 of X is not a number", ("X", 0, 1)),
        ([[10**400]], "row 1, column 1 of X is not a number", ("X", 0, 0)),
        ([[1, "inf"]], "row 1, column 2 of X is infinite", ("X", 0, 1)),
        ([1, "inf"], "row 1, column 2 of X is infinite", ("X", 1)),
        ([[1, float("nan")]], "row 1, column 2 of X is nan", ("X", 0, 1)),
        (np.array([[[1, np.inf]]]), "row 1, column 2 of X[1] is infinite", ("X", 0, 0, 1)),
        ([[1, float("-inf")]], "row 1, column 2 of X is infinite", ("X", 0, 1)),
        ([], "X is empty", X),
        ([[]], "X is empty", X),
        ("", "X is empty", X),
        ("\n \n", "X is empty", X),
        (np.zeros((0, 3)), "X is empty", X),
        ({"a": 1}, "X must be a matrix", X),
        (True, "X must be a matrix", X),
        ([[[[[1]]]]], "X has 5 axes; 4 is the most", X),
        (np.eye(2) * 1j, "X holds complex numbers", X),
        (np.array(["a"]), "X holds no numbers", X),
        (np.zeros(2, dtype=[("a", "f8")]), "X holds no numbers", X),
        (np.array(["2020-01-01"], dtype="M8[D]"), "X holds no numbers", X),
    ],
)
def test_fault(raw: object, message: str, path: KeyPath) -> None:
    with pytest.raises(InputError) as caught:
        to_array(raw, X)
    assert fault_of(caught.value) == (message, path)


def test_deep_key_is_named_with_points() -> None:
    with pytest.raises(InputError) as caught:
        to_array([["a"]], ("score", "W"))
    message = "row 1, column 1 of score.W: a is not a number"
    assert fault_of(caught.value) == (message, ("score", "W", 0, 0))


def test_long_word_is_cut() -> None:
    with pytest.raises(InputError) as caught:
        to_array([["w" * 1000]], X)
    assert fault_of(caught.value)[0].endswith("a number of 1000 characters is too long")


def test_minus_infinity_where_it_blocks() -> None:
    array = to_array([["-inf", 1], ["-.inf", "0"]], ("bias",), infinite=True)
    np.testing.assert_array_equal(array, [[-np.inf, 1], [-np.inf, 0]])
    with pytest.raises(InputError) as caught:
        to_array([["inf"]], ("bias",), infinite=True)
    message = "row 1, column 1 of bias is infinite; only −inf, which blocks a cell, is allowed"
    assert fault_of(caught.value) == (message, ("bias", 0, 0))


@pytest.mark.parametrize("row", [["-1e400"], ["-1e400", "1/2"]])
def test_too_large_is_not_taken_for_infinity(row: list[str]) -> None:
    """A typing slip must not block a cell; whether the row is plain makes no difference."""
    with pytest.raises(InputError, match=r"-?1e400 is too large"):
        to_array([row], ("bias",), infinite=True)


TINY = f"0.{'0' * 400}1"


@pytest.mark.parametrize("written", ["1e-400", "-2e-324", "1E-0400", TINY, f"{TINY}e-5", "2e-324%"])
@pytest.mark.parametrize("row", [[], ["0", "1e-310"], ["1/2"]])
def test_too_small_is_not_taken_for_zero(written: str, row: list[str]) -> None:
    for raw in ([[written, *row]], f"{' '.join([written, *row])}\n{' '.join([written, *row])}"):
        with pytest.raises(InputError, match=r"row 1, column 1 of X: .* is smaller than a float"):
            to_array(raw, X)


@pytest.mark.parametrize("written", ["0e-400", "-0.0E-999", f"0.{'0' * 400}", "5e-324", "1e-323"])
def test_zero_and_the_least_floats_are_numbers(written: str) -> None:
    assert to_array([[written, "1"]], X).tolist() == [[float(written), 1]]
    assert to_array([[written, "1/2"]], X).tolist() == [[float(written), 0.5]]


def test_arithmetic_may_become_zero() -> None:
    """As what is calculated with the numbers does, too."""
    assert to_array([["exp(-1000)", "1e-200*1e-200"]], X).tolist() == [[0, 0]]


@pytest.mark.parametrize("text", ["1 (2", "1 2\n3 (4", "(1", "sqrt(4 1"])
def test_open_parenthesis_swallows_nothing(text: str) -> None:
    with pytest.raises(InputError, match=r"has a \( without a \)|there is no sign"):
        to_array(text, X)


def test_nan_in_a_single_float32() -> None:
    with pytest.raises(InputError, match="row 1, column 1 of X is nan"):
        to_array(np.float32(np.nan), X)


def test_booleans_of_numpy_are_zero_and_one() -> None:
    np.testing.assert_array_equal(to_array([[np.True_, np.False_]], X), [[1, 0]])


def test_arrays_of_no_axis_in_a_list() -> None:
    np.testing.assert_array_equal(to_array([np.array(1.0), np.array(2.0)], X), [[1, 2]])


@pytest.mark.parametrize("depth", [5, 40, 63, 64, 65, 66, 200])
def test_depth_is_told_whatever_it_is(depth: int) -> None:
    raw: Any = 1
    for _ in range(depth):
        raw = [raw]
    with pytest.raises(InputError, match=r"^X has .*axes; 4 is the most"):
        to_array(raw, X)


def test_short_floats_stay_and_others_become_float64() -> None:
    for kind in ("f8", "g", ">f8", ">f2", "i1", "u8", "?"):
        assert to_array(np.ones((2, 2), kind), X).dtype == np.float64
    for kind in ("f2", "f4"):
        assert to_array(np.ones((2, 2), kind), X).dtype == kind
        assert to_vector(np.ones(2, kind), X).dtype == kind


@pytest.mark.parametrize("raw", [[1, 2], [[1, 2]], [[1], [2]], "1 2", "1\n2", np.array([1, 2])])
def test_vector(raw: object) -> None:
    np.testing.assert_array_equal(to_vector(raw, ("b_q",)), [1.0, 2.0])


def test_vector_of_several_rows_and_columns() -> None:
    with pytest.raises(InputError) as caught:
        to_vector([[1, 2], [3, 4]], ("b_q",))
    assert fault_of(caught.value) == ("b_q is a vector, but has the shape (2, 2)", ("b_q",))
    assert caught.value.faults[0].hint == "write one flat list of numbers"


@pytest.mark.parametrize(
    ("raw", "value"), [("1/2", 0.5), (3, 3), (np.float32(0.5), 0.5), ("1e3", 1000)]
)
def test_number(raw: object, value: float) -> None:
    assert to_number(raw, ("softcap",)) == value


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("two", "softcap: two is not a number; write 2"),
        ("", "softcap is blank"),
        ("inf", "softcap must be a finite number"),
        (float("nan"), "softcap must be a finite number"),
        (True, "softcap must be a number"),
        ([1], "softcap must be a number"),
        ({}, "softcap must be a number"),
    ],
)
def test_no_number(raw: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        to_number(raw, ("softcap",))
    assert fault_of(caught.value) == (message, ("softcap",))


def test_huge_integer_is_no_crash() -> None:
    with pytest.raises(InputError):
        to_number(10**400, ("softcap",))


@pytest.mark.parametrize(("raw", "value"), [("2", 2), ("4/2", 2), (2.0, 2), (np.int64(2), 2)])
def test_count(raw: object, value: int) -> None:
    assert to_count(raw, ("heads",)) == value


@cases("matrices", "no_count")
def test_no_count(raw: object, least: int | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        to_count(raw, ("heads",), least)
    assert fault_of(caught.value) == (message, ("heads",))


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@QUICK
@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=1)
    )
)
def test_lists_written_digits_and_text_agree(rows: list[list[float]]) -> None:
    right = np.array(rows)
    texts = [[repr(x) for x in row] for row in rows]
    np.testing.assert_array_equal(to_array(rows, X), right)
    np.testing.assert_array_equal(to_array(texts, X), right)
    for separator in (" ", ",", ", ", "\t"):
        text = "\n".join(separator.join(row) for row in texts)
        np.testing.assert_array_equal(to_array(text, X), right)


# Matrix files, named in the problem or on the command line.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with matrix files in it."""
    (tmp_path / "w.csv").write_text("1,2\n3,4\n")
    (tmp_path / "m.csv").write_text("1,0\n1,1\n")
    (tmp_path / "x.csv").write_text(",f1,f2\nI,1,0\nam,0,1\n")
    (tmp_path / "k.tsv").write_text("Ann\t1,5\t0\nran\t0\t1\n")
    (tmp_path / "bad.csv").write_text("1,2\n3,four\n")
    (tmp_path / "two.csv").write_text("X\n1,2\nQ\n3,4\n")
    (tmp_path / "named.csv").write_text("W_q\n1,2\n3,4\n")
    np.save(tmp_path / "v.npy", np.array([1.0, 2.0], dtype=np.float32))
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "w.csv").write_text("5,6\n7,8\n")
    return tmp_path


def problem_of(folder: Path, text: str) -> attncli.Problem:
    path = folder / "problem.yaml"
    path.write_text(text)
    return load(path)


def test_matrix_file_stands_beside_the_problem_file(folder: Path) -> None:
    problem = problem_of(folder, "X: [[1, 2]]\nW_q: w.csv\nW_k: inner/w.csv\nb_q: v.npy\n")
    np.testing.assert_array_equal(problem.W_q, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(problem.W_k, [[5, 6], [7, 8]])
    np.testing.assert_array_equal(problem.b_q, [1, 2])


def test_matrix_file_inside_score_and_as_mask(folder: Path) -> None:
    text = "X: [[1, 2], [3, 4]]\nscore: {name: general, W: w.csv}\nmask: m.csv\n"
    problem = problem_of(folder, text)
    np.testing.assert_array_equal(problem.score["W"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(problem.mask["keep"], [[1, 0], [1, 1]])
    nested = problem_of(folder, "X: [[1, 2], [3, 4]]\nmask: {causal: true, keep: m.csv}\n")
    np.testing.assert_array_equal(nested.mask["keep"], [[1, 0], [1, 1]])
    assert nested.mask["causal"] is True


def test_labels_of_a_matrix_file_become_tokens(folder: Path) -> None:
    problem = problem_of(folder, "kind: cross\nX: x.csv\nmemory: k.tsv\n")
    assert problem.tokens == ("I", "am")
    assert problem.memory_tokens == ("Ann", "ran")
    np.testing.assert_array_equal(problem.memory, [[1.5, 0], [0, 1]])


def test_tokens_of_the_problem_win(folder: Path) -> None:
    assert problem_of(folder, "tokens: [a, b]\nX: x.csv\n").tokens == ("a", "b")


def test_block_of_a_matrix_file_may_have_any_name(folder: Path) -> None:
    problem = problem_of(folder, "X: [[1, 2]]\nW_k: named.csv\n")
    np.testing.assert_array_equal(problem.W_k, [[1, 2], [3, 4]])


@cases("matrices", "fault_of_a_matrix_file")
def test_fault_of_a_matrix_file(
    folder: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("problem.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        load("problem.yaml")
    assert message in str(caught.value)


def test_fault_of_a_file_inside_score_names_the_parameter(folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        problem_of(folder, "X: [[1]]\nscore:\n  name: general\n  W: nope.csv\n")
    (fault,) = caught.value.faults
    assert fault.message == "score.W: nope.csv: there is no such file"
    assert fault.place is not None
    assert fault.place.line == 4


def test_near_name_is_suggested(folder: Path) -> None:
    with pytest.raises(InputError, match=r"did you mean .*x\.csv\?"):
        problem_of(folder, "X: xx.csv")


def test_matrix_from_the_command_line(folder: Path) -> None:
    path = folder / "problem.yaml"
    path.write_text("X: [[1, 2], [3, 4]]\nscore: general\n")
    files = {"X": str(folder / "x.csv"), "score.W": str(folder / "w.csv")}
    (problem,) = load_all(path, Overrides(matrices=files))
    np.testing.assert_array_equal(problem.X, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(problem.score["W"], [[1, 2], [3, 4]])
    assert problem.score["name"] == "general"
    assert problem.tokens == ("I", "am")


def test_fault_of_a_matrix_from_the_command_line(folder: Path) -> None:
    path = folder / "problem.yaml"
    path.write_text("X: [[1, 2]]\n")
    with pytest.raises(InputError) as caught:
        load_all(path, Overrides(matrices={"X": str(folder / "bad.csv")}))
    assert f"{folder}/bad.csv:2:3: row 2, column 2 of X: four" in str(caught.value)
    with pytest.raises(InputError) as caught:
        load_all(path, Overrides(matrices={"W_q": "nope.csv"}))
    assert str(caught.value).startswith("-m W_q=nope.csv: W_q: nope.csv: there is no such file")


@pytest.mark.parametrize("key", ["source", "self", "given", "sizes", "rules", "__class__"])
def test_key_that_is_a_word_of_the_program_is_unknown(key: str) -> None:
    with pytest.raises(InputError, match=f"unknown key {key}"):
        load_all("-", stdin=io.BytesIO(f"{key}: 1\nX: [[1]]\n".encode()))


def test_same_fault_is_told_once() -> None:
    with pytest.raises(InputError) as caught:
        load_all("-", stdin=io.BytesIO(b"X: [[1, 2, 3]]\nheads: 2\n"))
    messages = [(fault.message, fault.path) for fault in caught.value.faults]
    assert len(messages) == len(set(messages))


def test_truths_are_no_numbers_but_in_a_mask() -> None:
    truths = np.array([[True, False], [True, True]])
    with pytest.raises(InputError, match="bias holds true and false, which are no numbers"):
        attncli.Problem(X=[[1, 2], [1, 1]], bias=truths)
    kept = attncli.Problem(X=[[1, 2], [1, 1]], mask={"keep": truths}).mask["keep"]
    assert kept.ravel().tolist() == [1, 0, 1, 1]


def test_a_scale_that_is_no_float_is_refused() -> None:
    with pytest.raises(InputError, match="scale is not a number"):
        attncli.Problem(X=[[1, 2]], scale=10**400)


@pytest.mark.parametrize(
    ("given", "key", "shape"),
    [
        ({"Q": [[1, 0]], "K": [[1, 0], [0, 1], [1, 1]], "V": [3, 2, 1.5]}, "V", (3, 1)),
        ({"Q": [[1, 0]], "K": [[1, 0], [0, 1], [1, 1]], "V": np.array([3, 2, 1.5])}, "V", (3, 1)),
        ({"Q": [[1, 0]], "K": [[1, 0], [0, 1], [1, 1]], "V": "3 2 1.5"}, "V", (3, 1)),
        ({"X": [[1, 0], [0, 1]], "W_v": [1, 2]}, "W_v", (2, 1)),
        ({"X": [[1, 2], [3, 4]], "V": [1, 2], "W_o": [[1, 2]]}, "V", (2, 1)),
        ({"X": [1, 2, 3]}, "X", (1, 3)),
        ({"X": [[1]], "W_q": [1, 2], "W_k": [1, 2]}, "W_q", (1, 2)),
    ],
)
def test_a_flat_list_is_a_column_where_only_a_column_fits(
    given: dict[str, Any], key: str, shape: tuple[int, ...]
) -> None:
    problem = attncli.Problem(**given)
    assert getattr(problem, key).shape == shape
    assert attncli.compute(problem).output.size


def test_a_list_that_fits_neither_way_is_refused_as_a_row() -> None:
    with pytest.raises(attncli.InputError, match="V has 1 row, but K has 3 rows"):
        attncli.Problem(Q=[[1, 0]], K=[[1, 0], [0, 1], [1, 1]], V=[3, 2])
