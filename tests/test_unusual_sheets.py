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
