"""Numbers as people write them: percentages, ≈, dashes, decimal commas, thousands, dates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.core.errors import InputError
from attncli.core.numbers.grid import rows_of, whole_number
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.written import normalized, value_of
from tests.conftest import cases


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        *(("13.61%", "0.1361"), ("13.61 %", "0.1361"), ("-5%", "-0.05"), ("100%", "1.00")),
        *((".5%", "0.005"), ("≈0.14", "0.14"), ("~0.14", "0.14"), ("≈ 0.14", "0.14")),
        *(("≈14%", "0.14"), ("–0.5", "-0.5"), ("−0.50", "-0.50"), ("-oo", "-inf"), ("oo", "inf")),
        *(("1/2", "1/2"), ("~", "~"), ("sqrt(2)", "sqrt(2)"), ("1/8%", "(1/8)/100")),
    ],
)
def test_signs_that_change_no_digit(written: str, plain: str) -> None:
    assert normalized(written) == plain


def test_values() -> None:
    assert value_of("14%") == 0.14
    assert value_of("1/8%") == 0.00125
    for written in ("-oo", "−∞", "-infinity", "-Inf", "–inf"):
        assert value_of(written) == -np.inf


@cases("reading_numbers", "what_is_no_number")
def test_what_is_no_number(written: str, said: str) -> None:
    with pytest.raises(NumberError) as caught:
        value_of(written)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@cases("reading_numbers", "what_parts_numbers")
def test_what_parts_numbers(text: str, rows: list[list[str]]) -> None:
    assert [[word for _, word in row] for row in rows_of(text.splitlines())] == rows


@cases("reading_numbers", "a_comma_that_may_be_either_is_refused")
def test_a_comma_that_may_be_either_is_refused(text: str, said: str) -> None:
    with pytest.raises(NumberError) as caught:
        rows_of(text.splitlines())
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        *(("0,14", "0.14"), ("-12,5", "-12.5"), ("1,202,604.28", "1202604.28")),
        *(("1.202.604,28", "1202604.28"), ("1 202 604,28", "1202604.28"), ("0,202", "0.202")),
        *(("1'202.5", "1202.5"), ("1,202.5", "1202.5"), ("1.202", "1.202"), ("1/2", "1/2")),
    ],
)
def test_a_number_alone_in_its_cell(written: str, plain: str) -> None:
    assert whole_number(written) == plain


def test_a_comma_alone_in_its_cell_may_be_either() -> None:
    with pytest.raises(NumberError, match=r"write 1\.202 or 1202"):
        whole_number("1,202")


def test_problems_take_the_same_numbers(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("X: |\n  0,5 1,5\n  1,0 2,0\nW_q: [[50%, ≈1], [–1, 0]]\nscore: dot\n")
    problem = attncli.load(path)
    np.testing.assert_array_equal(problem.array("X")[0, 0], [[0.5, 1.5], [1, 2]])
    np.testing.assert_array_equal(problem.array("W_q")[0, 0], [[0.5, 1], [-1, 0]])
    path.write_text("score: dot\nX: |\n  1,0\n")
    with pytest.raises(InputError, match=r"p.yaml:2:1: X: 1,0 may mean several numbers; write 1.0"):
        attncli.load(path)
    path.write_text("X: |\n  0,5 1,5\n  1,0 x\nscore: dot\n")
    with pytest.raises(InputError, match=r"p.yaml:3:7: row 2, column 2 of X: x is not a number"):
        attncli.load(path)


# --- decimal commas in brackets, thin spaces, and what is not a number --------------------------


@cases("reading_numbers", "a_comma_in_brackets_that_may_be_a_decimal_one_is_refused")
def test_a_comma_in_brackets_that_may_be_a_decimal_one_is_refused(
    text: str, tmp_path: Path
) -> None:
    path = tmp_path / "hw.yaml"
    path.write_text(text)
    with pytest.raises(
        InputError, match=r"0,5 may mean several .* write 0\.5 or 0, 5 with a blank"
    ):
        attncli.load(path)


@cases("reading_numbers", "other_commas_in_brackets_part_numbers")
def test_other_commas_in_brackets_part_numbers(text: str, row: list[int], tmp_path: Path) -> None:
    path = tmp_path / "hw.yaml"
    path.write_text(text)
    assert attncli.load(path).matrices()["X"][0].tolist() == row


@pytest.mark.parametrize("space", ["\u2009", "\u202f"])
def test_a_thin_space_within_a_number_makes_no_columns(space: str) -> None:
    with pytest.raises(NumberError, match="write 1234,5, or 1 234,5 for several numbers"):
        rows_of([f"1{space}234,5 2,5"])
    assert whole_number(f"1{space}234,5") == "1234.5"


@cases("reading_numbers", "true_and_false_are_no_numbers")
def test_true_and_false_are_no_numbers(given: dict[str, object]) -> None:
    with pytest.raises(InputError):
        attncli.Problem(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "mask",
    [
        [[True, False], [True, True]],
        [["true", "false"], [1, 1]],
        "true false\ntrue true",
        np.array([[True, False], [True, True]]),
    ],
)
def test_a_mask_may_be_made_of_true_and_false(mask: object) -> None:
    for given in (mask, {"keep": mask}):
        trace = attncli.compute(attncli.Problem(X=[[1], [2]], mask=given))  # type: ignore[arg-type]
        assert trace["weights"].value[0].tolist() == [1, 0]
