"""Answers that people, spreadsheets and programs write otherwise than was thought of."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import Report
from attncli.rendering.formats import FORMATS
from attncli.rendering.selection import Selection
from tests.conftest import Attn

SCALED = "sample_inputs/integers_scaled.yaml"
SCORES = [[14, 10, 9], [10, 11, 6], [9, 6, 6]]


def problem(**given: Any) -> attncli.Problem:
    words = {"X": [[1, 3, 2], [1, 1, 3], [1, 2, 1]], "score": "dot"}
    return attncli.Problem(**(words | given))


def check(answers: object, **given: Any) -> Report:
    return attncli.check(problem(**given), answers)  # type: ignore[arg-type]  # also others


def misread(answers: object, **given: Any) -> str:
    with pytest.raises(attncli.InputError) as caught:
        check(answers, **given)
    return str(caught.value)


@pytest.mark.parametrize("huge", ["1e308", "-1e308", "-inf", "1e-320", "9" * 300])
@pytest.mark.parametrize("step", ["K", "scores", "exp", "sum", "weights", "output"])
def test_huge_numbers_are_wrong_and_nothing_more(step: str, huge: str) -> None:
    right = attncli.compute(problem(W_k=[[1, 0, 0], [0, 1, 0], [0, 0, 1]]))[step].value
    cells = [[f"{number:.3f}" for number in row] for row in right]
    cells[0][-1] = huge
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = check({step: cells}, W_k=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        for row in FORMATS.values():
            if row.reports:
                row.reports([report], Selection())
    if abs(float(huge)) > 1:
        assert report.first_wrong_step == step
        assert report.findings[step].id != "decimal_point_slip"


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({1: 2}, "must be the name of a step, not 1"),
        ({None: SCORES}, "must be the name of a step, not None"),
        ({("a",): SCORES}, "must be the name of a step, not ('a',)"),
        ({b"scores": SCORES}, "must be the name of a step, not b'scores'"),
        ({"answers": {1: SCORES}}, "must be the name of a step, not 1"),
        ([], "answers must be a mapping of step names to matrices"),
        (5, "answers must be a mapping of step names to matrices"),
        (np.ones((3, 3)), "answers must be a mapping of step names to matrices"),
        ("sheet.yaml", "load_answers reads a file"),
        (Path("sheet.yaml"), "load_answers reads a file"),
        ({"scores": ENDLESS}, "a list may not contain itself"),
        ({"scores": [[1, 2, 3], [1, 2, 3], ENDLESS]}, "a list may not contain itself"),
    ],
)
def test_what_python_may_hand_over(answers: object, said: str) -> None:
    assert said in misread(answers)


@pytest.mark.parametrize("given", [None, 5, "x", {"X": [[1]]}])
def test_a_problem_must_be_one(given: Any) -> None:
    for marking in (None, {"ask": ["weights"]}):
        with pytest.raises(attncli.InputError, match="a problem is taken here"):
            attncli.check(given, {"scores": SCORES}, marking=marking)


def test_an_answer_key_takes_plain_matrices() -> None:
    assert attncli.AnswerKey(problem()).check({"scores": SCORES}).verdict == "correct"
    with pytest.raises(attncli.InputError, match="must be a mapping"):
        attncli.AnswerKey(problem()).check(SCORES)  # type: ignore[arg-type]  # on purpose
    assert check({"scores": SCORES, "comment": ENDLESS}).verdict == "correct"
    with pytest.raises(attncli.InputError, match="may not contain itself"):
        problem(X=ENDLESS)


def test_a_file_name_that_is_not_utf_8(attn: Attn, tmp_path: Path) -> None:
    sheet = tmp_path / "Zo\udceb.yaml"
    sheet.write_text(f"scores: {SCORES}\n")
    found = json.loads(attn("check", SCALED, sheet, "-f", "json").out)
    assert found["name"].endswith("Zo\\udceb.yaml")
