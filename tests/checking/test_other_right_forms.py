"""Right calculations in another form are right, and what was done is said once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.judging.equivalent_forms import Log, with_change
from attncli.core.explaining.patterns import FormulaOf
from attncli.core.explaining.terms import Constant
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Name
from attncli.core.tape.operations import Transposed
from attncli.core.tape.step import ShapeError
from tests.checking.judged_cases import assert_judged, judged_cases, problem_of


@judged_cases("other_forms", "another_form")
def test_another_form_is_right_and_said_once(case: dict[str, Any]) -> None:
    report = assert_judged(case)
    assert all(step.formula for step in report.trace)


def test_a_logarithm_is_worked_out_number_by_number() -> None:
    terms = Log(attncli.compute(problem_of("by hand"))["sum"]).apply(np.array([Constant(2)]))
    assert text(FormulaOf(lambda leaf: Name("x"))(terms[0])) == "ln(2)"


def test_a_change_with_which_a_step_has_another_shape_is_refused_as_such() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [2, 1], [0, 3]], score="dot"))
    with pytest.raises(ShapeError, match="scores has another shape"):
        with_change(trace, {"scores": Transposed(trace.inputs["X"])})
