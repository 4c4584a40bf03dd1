"""What is said of slips: a number, a row or a column that was written or copied wrongly."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pytest

import attncli

Numbers = np.ndarray[Any, Any]

INTEGERS: dict[str, Any] = {"X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]], "score": "dot"}
SCORES = np.array([[5, 5, 2], [5, 11, 8], [2, 8, 8]])
# X Xᵀ by hand: rows [1,0,2], [3,1,1], [2,2,0]


def of_scores(changed: Any) -> tuple[str, str]:
    """Return the id and the sentence for scores that are slightly wrong."""
    report = attncli.check(attncli.Problem(**INTEGERS), {"scores": np.array(changed).tolist()})
    assert report.first_wrong_step == "scores"
    finding = report.findings["scores"]
    return finding.id, finding.message


def with_cells(**cells: int) -> Numbers:
    """Return the scores with some cells, such as r0c2=7, changed."""
    changed = SCORES.copy()
    for place, value in cells.items():
        changed[int(place[1]), int(place[3])] = value
    return changed


@pytest.mark.parametrize(
    ("changed", "id_", "words"),
    [
        (with_cells(r0c0=-5), "sign_slip", "scores[1, 1]"),
        (with_cells(r1c1=-7), "sign_slip", "3·3 was taken as -9"),
        (with_cells(r1c1=2), "single_cell_slip", "3·3 was left out"),
        (with_cells(r1c1=20), "single_cell_slip", "3·3 was counted twice"),
        (with_cells(r1c2=7), "single_cell_slip", "3·2 was taken as 5, the sum"),
        (with_cells(r1c2=33), "single_cell_slip", "Only scores[2, 3] is wrong"),
        (with_cells(r1c1=110), "decimal_point_slip", "scores[2, 2]"),
        (with_cells(r0c1=2, r0c2=5), "cells_swapped", "scores[1, 2] and scores[1, 3]"),
        (SCORES[[1, 0, 2]], "rows_swapped", "Rows 1 and 2"),
        (SCORES[:, [0, 2, 1]], "columns_swapped", "Columns 2 and 3"),
        (with_cells(r2c0=5, r2c1=5, r2c2=2), "row_slip", "it holds the numbers of row 1"),
        (with_cells(r0c1=40, r1c1=41, r2c1=47), "column_slip", "Only column 2 is wrong"),
        (with_cells(r1c0=21, r1c1=40, r1c2=90), "row_slip", "Only row 2 is wrong"),
        (SCORES * -1, "sign_slip", "Every number has the wrong sign"),
        (SCORES * 7, "constant_factor", "7 times"),
        (with_cells(r0c0=6, r0c1=8, r0c2=4), "miscopied_number", "was read as 2, not as 1"),
    ],
)
def test_slip_is_named(changed: Numbers, id_: str, words: str) -> None:
    found, message = of_scores(changed)
    assert found == id_, message
    assert words in message


def test_swapped_digits_are_named() -> None:
    report = attncli.check(
        attncli.Problem(X=[[3, 5], [4, 7]], score="dot"), {"scores": [[34, 74], [47, 65]]}
    )
    assert report.findings["scores"].id == "digits_swapped"
    assert "scores[1, 2]" in report.findings["scores"].message


def test_numbers_of_another_step_are_named() -> None:
    w_k = [[1, 2, 1], [0, 1, 0], [2, 1, 3]]
    keys: dict[str, Any] = {"X": [[1, 2, 0], [0, 1, 1], [1, 1, 1]], "W_k": w_k}
    trace = attncli.compute(attncli.Problem(**keys))
    report = attncli.check(attncli.Problem(**keys), {"V": trace["K"].value * 1.0})
    assert report.findings["V"].id in ("swapped_k_v", "another_step")


def test_a_divisor_is_told() -> None:
    """A row of weights that was divided by another row's sum."""
    trace = attncli.compute(attncli.Problem(**INTEGERS))
    weights = trace["weights"].value.copy()
    e, total = trace["exp"].value, trace["sum"].value.ravel()
    weights[1] = e[1] / total[2]
    report = attncli.check(
        attncli.Problem(**INTEGERS),
        {"exp": e, "sum": total, "weights": [[f"{x:.3f}" for x in row] for row in weights]},
    )
    assert report.findings["weights"].id == "row_slip"
    assert "divided by" in report.findings["weights"].message


# ---- what is said where no mistake is known

PROJECTED: dict[str, Any] = {
    "X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]],
    "W_q": [[0.1, 0.2], [0, 0.3], [0.2, 0.1]],
    "W_k": [[0.2, 0], [0.1, 0.1], [0, 0.3]],
    "W_v": [[1, 0], [0, 1], [1, 1]],
}


def written(numbers: Numbers, decimals: int = 4) -> list[list[str]]:
    return [[f"{x:.{decimals}f}" for x in row] for row in numbers]


def weights_with_a_score(row: int, column: int, by: float) -> Numbers:
    """Return the weights of `PROJECTED` where one of the scaled scores is off."""
    scaled = attncli.compute(attncli.Problem(**PROJECTED))["scaled"].value.copy()
    scaled[row, column] += by
    e = np.exp(scaled)
    return np.asarray(e / e.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("cell", "by", "decimals", "said"),
    [
        ((1, 2), 0.5, 4, "row 2 is wrong: it is as if scaled[2, 3] had been 0.8536, not 0.3536."),
        ((0, 0), -1.0, 2, "row 1 is wrong: perhaps it is as if scaled[1, 1] had been -0.7, not"),
    ],
)
def test_weights_tell_which_hidden_score_was_another_one(
    cell: tuple[int, int], by: float, decimals: int, said: str
) -> None:
    weights = written(weights_with_a_score(*cell, by), decimals)
    report = attncli.check(attncli.Problem(**PROJECTED), {"weights": weights})
    finding = report.findings["weights"]
    assert said in finding.message
    assert finding.sentence(solution=False).endswith("had been another number.")


def test_scores_that_are_shown_are_not_said_to_be_other_ones() -> None:
    trace = attncli.compute(attncli.Problem(**PROJECTED))
    keys = {"scaled": written(trace["scaled"].value)}
    weights = written(weights_with_a_score(1, 2, 0.5))
    report = attncli.check(attncli.Problem(**PROJECTED), keys | {"weights": weights})
    assert "as if" not in report.findings["weights"].message


def test_a_row_that_two_wrong_scores_explain_names_none() -> None:
    random = np.random.default_rng(4)
    trace, said = attncli.compute(attncli.Problem(**PROJECTED)), list[str]()
    for _ in range(15):
        weights = trace["weights"].value.copy()
        weights[1] = random.dirichlet(np.ones(3))
        report = attncli.check(attncli.Problem(**PROJECTED), {"weights": written(weights)})
        finding = report.findings.get("weights")
        said.append(finding.message if finding else "")
    assert not [one for one in said if "as if" in one]


def test_no_step_is_named_that_comes_after_the_wrong_one() -> None:
    trace = attncli.compute(attncli.Problem(**PROJECTED))
    report = attncli.check(
        attncli.Problem(**PROJECTED), {"scores": written(trace["weights"].value)}
    )
    assert "scores" not in report.findings


def test_what_to_hand_in_next_is_said_where_no_mistake_is_known() -> None:
    trace = attncli.compute(attncli.Problem(**PROJECTED))
    noise = np.random.default_rng(3).normal(size=(3, 3))
    given: dict[str, Any] = {"weights": written(np.abs(noise))}
    given["scores"] = written(trace["scores"].value)
    page = attncli.render(attncli.check(attncli.Problem(**PROJECTED), given))
    assert (
        "9 numbers are wrong; no single usual mistake gives them. "
        "Hand in scaled, exp or sum too, or compare yours with the right numbers."
    ) in " ".join(page.split())
    given = {name: written(trace[name].value) for name in "QK"}
    given["scores"] = written(trace["scores"].value + noise)
    page = attncli.render(attncli.check(attncli.Problem(**PROJECTED), given))
    assert "no single usual mistake gives them. Work scores[1, 1] again first." in page


def test_two_wrong_steps_with_one_hidden_source_lead_to_it() -> None:
    gradient = {"loss": "squared_error", "target": [[1, 0], [0, 1], [1, 1]]}
    problem = attncli.Problem(**PROJECTED, gradient=gradient)
    trace, random = attncli.compute(problem), np.random.default_rng(3)
    shown = ("Q", "K", "V", "scores", "scaled", "weights", "output", "d_output", "d_W_v")
    given = {name: written(trace[name].value) for name in shown}
    for name in ("d_W_k", "d_W_q"):
        given[name] = written(trace[name].value + random.normal(size=(3, 2)))
    page = " ".join(attncli.render(attncli.check(problem, given)).split())
    said = "d_W_k and d_W_q both depend on d_scores, which was not handed in: compare it next."
    assert page.count(said) == 1


# ---- which factor was transposed


def test_the_factor_that_was_not_transposed_is_named() -> None:
    square = {key: value for key, value in PROJECTED.items() if key == "X"}
    for name in ("W_q", "W_k", "W_v"):
        square[name] = [[1, 2, 0], [0, 1, 1], [2, 0, 3]] if name == "W_q" else np.diag([1, 2, 3])
    gradient = {"loss": "squared_error", "target": [[1, 0, 1], [0, 1, 2], [1, 1, 0]]}
    problem = attncli.Problem(**square, gradient=gradient)
    value = {step.name: step.value for step in attncli.compute(problem)}
    x = np.array(square["X"])
    cases = {
        "scores": (value["Q"] @ value["K"], "K was not transposed."),
        "Q": (
            x @ np.array(square["W_q"]).T,
            "The weight matrix W_q was transposed, and should not be.",
        ),
        "d_W_q": (x @ value["d_Q"], "The factor X was not transposed."),
        "d_Q": (
            value["d_scores"].T @ value["K"],
            "The factor d_scores was transposed, and should not be.",
        ),
    }
    for name, (numbers, said) in cases.items():
        given = {"d_scores": written(value["d_scores"], 6)} if name == "d_Q" else {}
        given |= {"d_Q": written(value["d_Q"], 6)} if name == "d_W_q" else {}
        report = attncli.check(problem, given | {name: written(numbers, 6)})
        assert report.findings[name].message == said


def test_a_copied_number_is_no_sum() -> None:
    report = attncli.check(attncli.Problem(**INTEGERS), {"Q": [[1, 0, 2], [3, 2, 1], [2, 2, 0]]})
    assert report.findings["Q"].message == "Only Q[2, 2] is wrong."


def test_one_wrong_number_of_a_large_step_is_found_soon() -> None:
    random = np.random.default_rng(1)
    matrices: dict[str, Any] = {
        key: random.integers(-3, 4, (60, 60)).tolist() for key in ("X", "W_q", "W_k", "W_v")
    }
    problem = attncli.Problem(**matrices, heads=2)
    for name in ("Q", "scores"):
        numbers = attncli.compute(problem)[name].value.copy()
        numbers[0, 0, 0] += 100_001
        start = perf_counter()
        report = attncli.check(problem, {name: numbers.astype(int).tolist()})
        assert report.findings[name].message.startswith(f"Only {name}[head 1][1, 1] is wrong")
        assert perf_counter() - start < 5
