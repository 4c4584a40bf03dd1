"""Matrices from lists, text and arrays: values, and faults with the key, the row and the column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.errors import Fault, InputError
from tests.conftest import cases
from tests.reading.forms import FORMS, npy, npz, plain, problem_in, refusal_of

MASKED = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])


def fault_of(**keys: Any) -> Fault:
    """Return the only fault of a problem."""
    with pytest.raises(InputError) as caught:
        attncli.Problem(**keys)
    (fault,) = caught.value.faults
    return fault


@cases("matrices", "values")
def test_a_matrix_is_read_as_it_was_meant_in_a_problem_and_in_answers(raw: Any, value: Any) -> None:
    problem = attncli.Problem(X=raw, score="dot")
    assert plain(problem.X) == value
    assert problem.array("X").dtype == np.float64
    assert attncli.check(attncli.Problem(X=value, score="dot"), {"K": raw}).verdict == "correct"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (((1, 2), (3, 4)), [[1, 2], [3, 4]]),
        ([np.array([1, 2]), np.array([3, 4])], [[1, 2], [3, 4]]),
        ([np.array(1.0), np.array(2.0)], [[1, 2]]),
        ([[np.float32(0.5), np.int8(2)]], [[0.5, 2]]),
        (np.eye(2, dtype=np.int8), [[1, 0], [0, 1]]),
        (np.array([1.0, 2.0]), [[1, 2]]),
        (np.array(3), [[3]]),
        (np.float64(3), [[3]]),
        (np.array([["1/2", "0.50"]]), [[0.5, 0.5]]),
        (np.array([["1/2", 0.5]], dtype=object), [[0.5, 0.5]]),
        (np.ma.array(np.eye(2), mask=False), [[1, 0], [0, 1]]),
        ([[[[1, 2]]]], [[[[1, 2]]]]),
    ],
)
def test_arrays_and_numbers_of_numpy_may_stand_for_lists(raw: Any, value: Any) -> None:
    problem = attncli.Problem(Q=raw, K=raw, V=raw)
    assert plain(problem.Q) == value
    assert attncli.check(problem, {"Q": raw}).verdict == "correct"


@cases("matrices", "refused")
def test_what_is_no_matrix_is_refused_with_the_path_of_its_fault(
    raw: Any, said: str, path: list[Any]
) -> None:
    fault = fault_of(X=raw)
    assert (fault.message, [*fault.path]) == (said, path)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ([[10**400]], "row 1, column 1 of X is not a number"),
        (np.array([[[1, np.inf]]]), "row 1, column 2 of X[1] is infinite"),
        (np.float32(np.nan), "row 1, column 1 of X is nan"),
        (np.zeros((0, 3)), "X is empty"),
        (np.eye(2) * 1j, "X holds complex numbers"),
        (1j, "X must be a matrix"),
        (
            float("nan"),
            "row 1, column 1 of X: nan is not a number that a calculation can go on with",
        ),
        (np.zeros(2, dtype=[("a", "f8")]), "X holds no numbers"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "X holds no numbers"),
        (MASKED, "X has masked cells"),
        ([MASKED, MASKED], "X has masked cells"),
        ([MASKED[0], MASKED[1]], "X has masked cells"),
        ([[1.0, np.ma.masked]], "X has masked cells"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(raw: Any, said: str) -> None:
    fault = fault_of(X=raw)
    assert fault.message == said
    assert (fault.hint == "fill them, as by X.filled(0)") == ("masked" in said)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"score": {"name": "general", "W": [["a"]]}}, "column 1 of score.W: a is not a number"),
        ({"score": {"name": "general", "W": MASKED}}, "score.W has masked cells"),
        ({"answers": {"Q": MASKED}}, "answers.Q has masked cells"),
        ({"bias": np.eye(2, dtype=bool)}, "bias holds true and false, which are no numbers"),
        ({"scale": 10**400}, "scale is not a number"),
        ({"softcap": 10**400}, "softcap is not a number"),
    ],
)
def test_the_key_of_what_is_no_number_is_named(keys: dict[str, Any], said: str) -> None:
    assert said in fault_of(X=np.eye(2), **keys).message


@pytest.mark.parametrize("raw", [[1, 2], [[1, 2]], [[1], [2]], "1 2", "1\n2", np.array([1, 2])])
def test_a_vector_may_be_a_row_or_a_column(raw: Any) -> None:
    score = {"name": "additive", "W": np.eye(2), "U": np.eye(2), "v": raw}
    assert plain(attncli.Problem(X=np.eye(2), score=score).score["v"]) == [1, 2]
    fault = fault_of(X=np.eye(2), score=score | {"v": [[1, 2], [3, 4]]})
    assert fault.message == "score.v is a vector, but has the shape (2, 2)"
    assert fault.hint == "write one flat list of numbers"


@pytest.mark.parametrize(
    ("raw", "value"), [("1/2", 0.5), (3, 3), (np.float32(0.5), 0.5), ("1e3", 1000)]
)
def test_a_number_may_be_written_in_any_way(raw: Any, value: float) -> None:
    assert attncli.Problem(X=np.eye(2), softcap=raw).softcap == value


@pytest.mark.parametrize("raw", ["2", "4/2", 2.0, np.int64(2)])
def test_a_count_is_a_whole_number_however_it_is_written(raw: Any) -> None:
    assert attncli.Problem(X=np.eye(2), heads=raw).heads == 2


@cases("matrices", "no_number")
def test_what_is_no_number_and_no_count_is_refused(given: dict[str, Any], said: str) -> None:
    assert fault_of(X=np.eye(2), **given).message == said


@pytest.mark.parametrize("depth", [5, 40, 63, 64, 65, 66, 200])
def test_how_deep_lists_are_is_said_whatever_it_is(depth: int) -> None:
    raw: Any = 1
    for _ in range(depth):
        raw = [raw]
    with pytest.raises(InputError, match=r"^X has .*(axes; 4 is the most|lists inside each other)"):
        attncli.Problem(X=raw)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f2", ">f8", "g", "i1", "i4", "u1", "u8", "?"])
def test_only_short_floats_keep_their_kind(kind: str, tmp_path: Path) -> None:
    array = np.ones((2, 2), kind)
    for problem in (
        attncli.Problem(X=array),
        problem_in(tmp_path, npz(X=array), ".npz"),
        problem_in(tmp_path, npy(array), ".npy"),
    ):
        assert np.asarray(problem.X).dtype == (kind if kind in ("f2", "f4") else np.float64)


@cases("matrices", "columns")
def test_a_flat_list_is_a_column_where_only_a_column_fits(
    given: dict[str, Any], key: str, shape: list[int]
) -> None:
    problem = attncli.Problem(**given)
    assert [*getattr(problem, key).shape] == shape
    assert attncli.compute(problem).output.size


def test_a_flat_array_is_a_column_where_only_a_column_fits() -> None:
    problem = attncli.Problem(Q=[[1, 0]], K=[[1, 0], [0, 1]], V=np.array([3, 2]))
    assert plain(problem.V) == [[3], [2]]


def test_a_list_that_fits_neither_way_is_refused_as_a_row() -> None:
    fault = fault_of(Q=[[1, 0]], K=[[1, 0], [0, 1], [1, 1]], V=[3, 2])
    assert fault.message == "V has 1 row, but K has 3 rows"


def test_the_same_fault_is_said_once(tmp_path: Path) -> None:
    faults = refusal_of(tmp_path, "X: [[1, 2, 3]]\nheads: 2\n").faults
    assert len({(fault.message, fault.path) for fault in faults}) == len(faults)


def test_a_matrix_of_numpy_in_a_file_stands_for_that_of_a_problem(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([1.0, 2.0], dtype=np.float32))
    assert plain(problem_in(tmp_path, "X: [[1, 2]]\nb_q: v.npy\n").b_q) == [1, 2]


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=80)
@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(FLOATS, min_size=n, max_size=n), min_size=1, max_size=5)
    ),
    st.sampled_from([*FORMS]),
)
def test_every_form_of_a_file_holds_the_floats_of_lists(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[float]], name: str
) -> None:
    right = np.array(rows)
    texts = [[repr(number) for number in row] for row in rows]
    data = FORMS[name].write(texts)
    problem = problem_in(tmp_path_factory.getbasetemp(), data, FORMS[name].suffix)
    for found in (problem, attncli.Problem(X=rows), attncli.Problem(X=texts)):
        np.testing.assert_array_equal(found.array("X")[0, 0], right)


@pytest.mark.parametrize("name", sorted({*FORMS} - {"npz", "xlsx"}))
def test_every_form_of_a_text_says_which_row_has_too_few_numbers(name: str, tmp_path: Path) -> None:
    data = FORMS[name].write([["1", "2"], ["3"], ["4", "5"]])
    (fault,) = refusal_of(tmp_path, data, FORMS[name].suffix).faults
    assert fault.message == "row 2 of X has 1 number, but row 1 has 2"
