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

KEYS: dict[str, Any] = {
    "X": [[1.2, 3.1, 2.4], [1, 1, 3.3], [0.7, 2, 1]],
    "W_q": [[0.31, 0.42, 0.1], [0.17, 0.23, 0.4], [0.35, 0.6, 0.2]],
    "W_k": [[0.31, 0.12, 0.5], [0.27, 0.13, 0.3], [0.45, 0.26, 0.1]],
    "W_v": [[1.31, 0.42], [0.17, 1.23], [0.35, 0.6]],
}


def worked() -> dict[str, Any]:
    """Return the steps, worked without the program."""
    x, w_q, w_k, w_v = (np.array(KEYS[name], float) for name in ("X", "W_q", "W_k", "W_v"))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T
    scaled = scores / np.sqrt(3)
    exp = np.exp(scaled)
    total = exp.sum(axis=1, keepdims=True)
    steps = {"Q": q, "K": k, "V": v, "scores": scores, "scaled": scaled, "exp": exp}
    return {**steps, "sum": total, "weights": exp / total, "output": exp / total @ v}


def q_scaled(s: dict[str, Any]) -> dict[str, Any]:
    return {"Q": s["Q"] / np.sqrt(3), "K": s["K"], "scores": s["scaled"]}


def both_scaled(s: dict[str, Any]) -> dict[str, Any]:
    return {"Q": s["Q"] / 3**0.25, "K": s["K"] / 3**0.25, "scores": s["scaled"]}


def shifted(s: dict[str, Any]) -> dict[str, Any]:
    scaled = s["scaled"] - s["scaled"].max(axis=1, keepdims=True)
    exp = np.exp(scaled)
    return {"scores": s["scores"], "scaled": scaled, "exp": exp, "sum": exp.sum(1, keepdims=True)}


def shifted_scores(s: dict[str, Any]) -> dict[str, Any]:
    scores = s["scores"] - s["scores"].max(axis=1, keepdims=True)
    return {"Q": s["Q"], "scores": scores, "scaled": scores / np.sqrt(3)}


def powers_of_2(s: dict[str, Any]) -> dict[str, Any]:
    return {"scores": s["scores"], "scaled": s["scaled"] * np.log2(np.e), "exp": s["exp"]}


def logarithms(s: dict[str, Any]) -> dict[str, Any]:
    return {"scaled": s["scaled"], "sum": np.log(s["sum"])}


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (q_scaled, "Q was scaled before the product."),
        (both_scaled, "Q and K were scaled before the product."),
        (shifted, "The largest of each row was subtracted already in scaled."),
        (shifted_scores, "The largest of each row was subtracted already in scores."),
        (powers_of_2, "The scores were multiplied by log₂ e, for powers of 2."),
        (logarithms, "sum holds the logarithm of the sum, for softmax in logarithms."),
    ],
)
def test_another_form_is_right_and_said_once(form: Any, said: str) -> None:
    steps = worked()
    own = form(steps) | {"weights": steps["weights"], "output": steps["output"]}
    written = {
        name: [[f"{x:.4f}" for x in row] for row in np.atleast_2d(value)]
        for name, value in own.items()
    }
    report = attncli.check(attncli.Problem(**KEYS), written)
    assert report.verdict == "correct", report.wrong_steps
    assert report.said == (said,)
    assert all(step.formula for step in report.trace)
    row = written["weights"][0]
    row[0], row[1] = row[1], row[0]
    assert attncli.check(attncli.Problem(**KEYS), written).verdict == "wrong"


@pytest.mark.parametrize("heads", [1, 2])
def test_the_largest_score_may_be_subtracted_from_a_sink_too(heads: int) -> None:
    sinks = [0.5, 2.0][:heads]
    keys: dict[str, Any] = {"scores": [[1, 2], [0, -1]], "V": [[1, 0], [0, 1]]}
    if heads > 1:
        keys = {**KEYS, "W_v": KEYS["W_k"], "W_q": KEYS["W_k"]}
        keys = {key: [row[:2] for row in rows] for key, rows in keys.items()}
        keys |= {"X": [[1.2, 3.1, 2.4], [1, 1, 3.3]], "heads": 2}
    problem = attncli.Problem(**keys, normalize={"name": "softmax", "sink": sinks})
    scores = np.log(attncli.compute(problem)["exp"].value.reshape(heads, 2, 2))
    sink = np.reshape(sinks, (heads, 1, 1))
    largest = np.maximum(scores.max(axis=-1, keepdims=True), sink)
    exp = np.exp(scores - largest)
    total = exp.sum(axis=-1, keepdims=True) + np.exp(sink - largest)
    answers = {"exp": exp, "sum": total, "weights": exp / total}
    shape = {name: np.squeeze(array, 0) if heads == 1 else array for name, array in answers.items()}
    written = {name: array.round(4).tolist() for name, array in shape.items()}
    result = attncli.check(problem, written)
    assert result.verdict == "correct"
    assert result.said == ("The largest score of each row was subtracted before the e^.",)
    result = attncli.check(problem, written | {"sum": (shape["sum"] + 0.1).round(4).tolist()})
    assert result.first_wrong_step == "sum"


def test_a_wrong_number_in_another_form_is_shown_with_its_formula() -> None:
    steps = worked()
    own = shifted_scores(steps) | {"weights": steps["weights"], "output": steps["output"]}
    own = {name: value.round(4).tolist() for name, value in own.items()}
    own["scores"][2][0] += 1
    report = attncli.check(attncli.Problem(**KEYS), own)
    assert report.wrong_steps == ["scores"]
    assert report.said == ("The largest of each row was subtracted already in scores.",)
    assert "✗ scores = Q Kᵀ − largest" in attncli.render(report)
    (worked_out,) = report.findings["scores"].worked
    assert "− q_3 · k_1 = 0.907·2.289 + 1.354·1.171" in worked_out


def test_a_logarithm_is_worked_out_number_by_number() -> None:
    terms = Log(attncli.compute(attncli.Problem(**KEYS))["sum"]).apply(np.array([Constant(2)]))
    assert text(FormulaOf(lambda leaf: Name("x"))(terms[0])) == "ln(2)"


def test_a_form_is_no_reason_where_it_gives_none_of_the_numbers_that_it_changes() -> None:
    """Half of the weights are right, as they are nearly 0 and 1, also if scores were shifted."""
    problem = attncli.Problem(
        X=[[2, -4, -2, 4], [-2, -2, 0, -2], [0, 0, -4, -2]],
        W_q=[[0, 0, -1, -1], [0, 0, 0, 0], [0, -1, -1, -1], [-1, -1, 0, 1]],
        W_k=[
            [-0.5, -0.5, -0.5, -0.5],
            [0.5, 0, 0, -0.5],
            [-0.5, 0, -0.5, -0.5],
            [0, 0.5, -0.5, 0.5],
        ],
        W_v=[
            [-1.5, -1, -1, -0.5],
            [-1, -0.5, 1.5, 0.5],
            [1, -1.5, -0.5, -1.5],
            [-1, -0.5, 1.5, 0.5],
        ],
        heads=2,
        mask="causal",
    )
    totals = ["403.43", "1.14", "8.52"], ["8886110.52", "54.62", "1224631.75"]
    unscaled = {
        "sum": [[[number] for number in head] for head in totals],
        "weights": [
            [["1.00", "0.00", "0.00"], ["0.12", "0.88", "0.00"], ["0.87", "0.12", "0.02"]],
            [["1.00", "0.00", "0.00"], ["0.00", "1.00", "0.00"], ["0.00", "0.02", "0.98"]],
        ],
        "context": [
            [["-5.00", "1.00"], ["5.57", "3.64"], ["-3.54", "1.45"]],
            [["-1.00", "2.00"], ["-4.00", "-1.00"], ["-1.05", "4.89"]],
        ],
    }
    report = attncli.check(problem, unscaled)
    assert (report.findings["sum"].id, report.said) == ("not_scaled", ())


def test_a_change_with_which_a_step_has_another_shape_is_refused_as_such() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [2, 1], [0, 3]], score="dot"))
    with pytest.raises(ShapeError, match="scores has another shape"):
        with_change(trace, {"scores": Transposed(trace.inputs["X"])})
