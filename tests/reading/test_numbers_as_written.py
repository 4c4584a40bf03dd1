"""Numbers as people write them: the same in every form of a file, or refused in the same words."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.numbers.written import normalized
from tests.conftest import cases, table
from tests.reading.forms import FORMS, plain, problem_in, refusal_of

NUMBERS = {
    **table("numbers", "values"),
    "(" * 50 + "1" + ")" * 50: 1,
    "1" + "^1" * 50: 1,
    "1" + "*1" * 249: 1,
    "1" + "+1" * 249: 250,
    "0" * 499 + "1": 1,
}
"""What is written, and its number; some of it is as long and as deep as it may be."""

CELL = "row 2, column 2 of X"
TOO_DEEP = "more than 50 levels of parentheses, powers or signs"
TOO_SMALL = f"0.{'0' * 38} is smaller than a float holds; write 0, which it becomes"
LONG = {
    "1" * 501: "a number of 501 characters is too long",
    "(" * 51 + "1" + ")" * 51: TOO_DEEP,
    "-" * 51 + "1": TOO_DEEP,
    "2^" * 51 + "1": TOO_DEEP,
    "√" * 51 + "1": TOO_DEEP,
    f"0.{'0' * 400}1": TOO_SMALL,
    f"0.{'0' * 400}1e-5": TOO_SMALL,
}
REFUSED = {
    **{word: f"{CELL}: {said}" for word, said in (table("numbers", "refused") | LONG).items()},
    **dict.fromkeys(table("numbers", "infinite"), f"{CELL} is infinite"),
    **dict.fromkeys(table("numbers", "blank"), "1 cell is open: X[2, 2]"),
}
"""What may stand in the second row and column of X and is no number, and what is said of it."""


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_a_file_holds_the_same_numbers(name: str, tmp_path: Path) -> None:
    form = FORMS[name]
    held = {written: value for written, value in NUMBERS.items() if form.holds(written)}
    assert len(held) > len(NUMBERS) / 2
    cells = [["1", written, "2"] for written in held]
    numbers = problem_in(tmp_path, form.write(cells), form.suffix).array("X")[0, 0]
    for written, value, found in zip(held, held.values(), numbers[:, 1], strict=True):
        assert math.isclose(found, value, rel_tol=1e-15), written


def test_answers_hold_the_same_numbers() -> None:
    written = NUMBERS | table("numbers", "whole_cells")
    problem = attncli.Problem(X=[[value] for value in written.values()], score="dot")
    report = attncli.check(problem, {"Q": [[text] for text in written]})
    assert report.verdict == "correct", report.steps["Q"]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.whole) if name == "xlsx" else name for name in FORMS],
)
def test_no_form_of_a_file_takes_what_is_no_number(name: str, tmp_path: Path) -> None:
    form = FORMS[name]
    for written, message in REFUSED.items():
        if not form.holds(written):
            continue
        data = form.write([["7", "8", "6"], ["9", written, "5"]])
        (fault,) = refusal_of(tmp_path, data, form.suffix).faults
        assert fault.message == message
        assert fault.place
        if isinstance(data, str):
            assert fault.place.text == data.splitlines()[fault.place.line - 1]
            assert re.search(r"9\W*$", fault.place.text[: fault.place.column - 1])
        assert fault.place.cell == ("sheet Sheet, cell B3" if name == "xlsx" else "")
        assert (fault.hint == "write a number there") == ("is open" in message)


@pytest.mark.parametrize("written", table("numbers", "infinite"))
def test_minus_infinity_blocks_a_cell_and_infinity_is_refused(written: str) -> None:
    blocked = [["0", f"-{written.lstrip('+')}"], ["1/2", 0]]
    problem = attncli.Problem(X=[[1], [2]], bias=blocked)
    assert plain(problem.bias) == [[0, -math.inf], [0.5, 0]]
    with pytest.raises(attncli.InputError) as caught:
        attncli.Problem(X=[[1], [2]], bias=[[0, written], [0, 0]])
    said = "row 1, column 2 of bias is infinite; only −inf, which blocks a cell, is allowed"
    assert str(caught.value) == said


@pytest.mark.parametrize("row", [["-1e400", "0"], ["-1e400", "1/2"]])
def test_too_large_is_not_taken_for_infinity(row: list[str]) -> None:
    """A typing slip must not block a cell; whether the row is plain makes no difference."""
    with pytest.raises(attncli.InputError, match=r"-?1e400 is too large"):
        attncli.Problem(X=[[1], [2]], bias=[row, ["0", "0"]])


@pytest.mark.parametrize("row", [[], ["0", "1e-310"], ["1/2"]])
def test_too_small_is_not_taken_for_zero(row: list[str]) -> None:
    """Whether the other numbers of a row are plain, makes no difference."""
    for written in ("1e-400", "-2e-324", f"0.{'0' * 400}1", "2e-324%"):
        cells = [written, *row]
        for raw in ([cells], f"{' '.join(cells)}\n{' '.join(cells)}"):
            with pytest.raises(attncli.InputError, match=r"row 1, column 1 of X: .* is smaller"):
                attncli.Problem(X=raw)
    for written in ("0e-400", "-0.0E-999", f"0.{'0' * 400}", "5e-324", "1e-323"):
        assert attncli.Problem(X=[[written, *row]]).array("X").flat[0] == float(written)


def test_signs_that_change_no_digit_leave_the_digits_as_they_are_written() -> None:
    for written, digits in table("numbers", "plain").items():
        assert normalized(written) == digits


@cases("numbers", "true_and_false_are_no_numbers")
def test_true_and_false_are_no_numbers(given: dict[str, Any]) -> None:
    with pytest.raises(attncli.InputError):
        attncli.Problem(**given)


@pytest.mark.parametrize(
    "mask",
    [
        [[True, np.False_], [np.True_, True]],
        [["true", "false"], [1, 1]],
        "true false\ntrue true",
        "tensor([[ True, False],\n        [ True,  True]])",
        np.array([[True, False], [True, True]]),
    ],
)
def test_a_mask_may_be_made_of_true_and_false(mask: Any) -> None:
    for given in (mask, {"keep": mask}):
        problem = attncli.Problem(X=[[1], [2]], mask=given)
        assert plain(problem.mask["keep"]) == [[1, 0], [1, 1]]
        assert attncli.compute(problem)["weights"].value[0].tolist() == [1, 0]
