"""Matrices as people paste them: every form with the matrix that its author meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.errors import InputError
from attncli.core.explaining.exact import Exact
from attncli.core.numbers.matrices import grid_in
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from tests.conftest import SAMPLES, cases, table
from tests.reading.forms import plain, problem_in, rows_of, saved

MATRIX = [[1, 0], [-1, 2]]
UNIT = attncli.Problem(X=[[1, 0], [0, 1]], score="dot")


@rows_of("forms", "pasted")
def test_a_pasted_matrix_is_the_one_that_was_meant(row: dict[str, Any]) -> None:
    """In a problem and in answers."""
    text, meant = row["text"], row["meant"]
    values = [[1]] * len(meant[0])
    given = attncli.Problem(scores=text, V=values)
    np.testing.assert_allclose(given.array("scores")[0, 0], meant, rtol=1e-15)
    problem = attncli.Problem(scores=meant, V=values)
    assert attncli.check(problem, {"scores": text}).verdict == "correct"
    if "labels" in row:
        assert [*grid_in(text, ("X",)).labels] == row["labels"]


@cases("pasted", "refused_forms")
def test_what_may_be_read_in_two_ways_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        attncli.Problem(X=text)
    assert said in str(caught.value)
    assert len(caught.value.faults) == 1


@settings(max_examples=80)
@given(st.text(alphabet="01.,;:-|[](){}\\&$% \t\n\rIe⎡⎤…", max_size=30))
def test_any_text_is_read_or_refused_and_numbers_stay_where_they_stood(text: str) -> None:
    try:
        rows = grid_of(text).rows
    except NumberError:
        return
    assert all(0 <= at <= len(text) for row in rows for at, _ in row)
    starts = [at for row in rows for at, _ in row]
    assert starts == sorted(starts)


# Rows without blanks before them.

SIGNS = ["", " |", " |-", " | # rows", "   # rows"]
"""What may stand behind a key whose rows are in the lines after it."""
ROWS = table("pasted", "unindented")


@pytest.mark.parametrize("rows", ROWS)
def test_rows_are_read_up_to_the_next_key(rows: str, tmp_path: Path) -> None:
    turn = ROWS.index(rows)
    for i, end in enumerate(("\n", "\r\n", "\n")):
        sign = SIGNS[(turn + 2 * i) % len(SIGNS)]
        text = f"title: rows\nX:{sign}\n{rows}\nscore: {{name: dot}}\nW_q:{sign}\n{rows}\n"
        problem = problem_in(tmp_path, text.replace("\n", end))
        assert problem.given[:4] == ("title", "X", "score", "W_q")
        assert (plain(problem.X), plain(problem.W_q)) == (MATRIX, MATRIX)
        if not problem.tokens:  # the words beside rows of V would have to be those
            answers = f"V:{sign}\n{rows}\n---\nV:{sign}\n{rows}\n".replace("\n", end)
            sheets = attncli.load_answers(saved(tmp_path, answers, ".a.yaml"))
            assert [attncli.check(problem, one).verdict for one in sheets] == ["correct"] * 2


def test_rows_that_are_texts_keep_their_digits() -> None:
    problem = attncli.Problem(X=["1 1/3", "2 0"], score={"name": "general", "W": ["1 0", "0 1"]})
    trace = attncli.compute(problem)
    assert Exact(trace).texts(trace["scores"]) == [["10/9", "2"], ["2", "4"]]


def test_answers_are_told_apart_by_the_words_beside_them() -> None:
    problem = attncli.load(SAMPLES / "i_am_good.yaml")
    turned = "am: 0.27 0.73 0.00\nI: 0.98 0.02 0.01\ngood: 91% 0.05 0.05"
    assert attncli.check(problem, {"weights": turned}).verdict == "correct"
    table = (
        "|  | I | am | good |\n|--|--|--|--|\n| I | 0,98 | 0,02 | |\n| good | 0,91 | 0,05 | 0,05 |"
    )
    report = attncli.check(problem, {"weights": table})
    assert report.verdict == "correct"
    with pytest.raises(InputError, match="weights has no query you"):
        attncli.check(problem, {"weights": "you: 1 0 0\nam: 0 1 0"})


# Whole files.


@pytest.mark.parametrize("text", table("pasted", "whole_files"))
def test_a_whole_file_of_pasted_lines(text: str, tmp_path: Path) -> None:
    # A table of a spreadsheet is no YAML.
    for suffix in ("",) if text.startswith("1\t") else ("", ".yaml"):
        assert plain(problem_in(tmp_path, text, suffix).X) == MATRIX


NAMES = ("Derek O'Neil", "O'Neil, Derek", "Ana María de la Cruz", "# Zoë Smith-Jones")


@pytest.mark.parametrize("text", table("pasted", "answers"))
def test_a_name_above_the_answers_is_the_students(text: str, tmp_path: Path) -> None:
    for name in NAMES:
        (answers,) = attncli.load_answers(saved(tmp_path, f"{name}\n{text}\n", ".txt"))
        assert (answers.name, answers.is_named) == (name.removeprefix("# "), True)
        assert attncli.check(UNIT, answers).verdict == "correct"


WEIGHTS = [[0.73, 0.27], [0.27, 0.73]]


@pytest.mark.parametrize("suffix", [".yaml", ".txt"])
@pytest.mark.parametrize("title", ["Homework 3, Ann", "Ann", "My Answers", "Ann (group 4)\r"])
def test_a_title_above_answers_in_yaml_is_left_out(title: str, suffix: str, tmp_path: Path) -> None:
    (answers,) = attncli.load_answers(saved(tmp_path, f"{title}\nweights: {WEIGHTS}\n", suffix))
    assert attncli.check(UNIT, answers).verdict == "correct"


def test_the_name_of_a_step_above_answers_is_no_title(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no matrix under the name of a step: weights"):
        attncli.load_answers(saved(tmp_path, f"weights\nQ: {WEIGHTS}\n", ".yaml"))


@pytest.mark.parametrize("title", table("pasted", "titles_that_are_no_names"))
def test_a_title_above_the_answers_is_no_name(title: str, tmp_path: Path) -> None:
    text = f"{title}\nweights\n0.73 0.27\n0.27 0.73\n"
    (answers,) = attncli.load_answers(saved(tmp_path, text, ".txt"))
    assert not answers.is_named
    assert title not in answers.name
