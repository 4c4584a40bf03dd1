"""A name is given only where it explains the numbers, and a guess is said to be one."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.judging.judge import Judge
from attncli.checking.judging.judged_steps import Finding
from attncli.checking.judging.operands import Reference
from attncli.checking.naming.catalogued import mistakes_before
from attncli.checking.naming.hypotheses import short_number
from attncli.printing.class_report import Tally
from attncli.reading.document import submission_of
from tests.conftest import SAMPLES, cases

Numbers = np.ndarray[Any, Any]

SELF: dict[str, Any] = {"X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]], "score": "dot"}
SCORES = np.array([[5, 5, 2], [5, 11, 8], [2, 8, 8]])
CAUSAL = SELF | {"mask": "causal"}
ONE_QUERY: dict[str, Any] = {
    "kind": "cross",
    "X": [[1, 2]],
    "memory": [[1, 0], [2, 1], [0, 3]],
    "score": "dot",
}
DECIMALS: dict[str, Any] = {
    "X": [["1.37", "2.51"], ["0.83", "-1.49"], ["2.29", "0.67"]],
    "score": "dot",
}


def checked(problem: dict[str, Any], **answers: object) -> Report:
    return attncli.check(attncli.Problem(**problem), answers)


def finding(problem: dict[str, Any], **answers: object) -> Finding | None:
    """Return what is said of the first wrong step."""
    report = checked(problem, **answers)
    assert report.first_wrong_step is not None
    return report.findings.get(report.first_wrong_step)


def message(problem: dict[str, Any], **answers: object) -> str:
    """Return the sentence that names what went wrong."""
    found = finding(problem, **answers)
    assert found is not None
    return found.message


def named(found: Finding | None) -> list[str]:
    """Return the ids that a finding names."""
    return [] if found is None else [found.id, *(other.id for other in found.also)]


def with_cell(numbers: Numbers, row: int, column: int, text: str) -> list[list[str]]:
    """Return numbers as they are written, one of them otherwise."""
    texts = [[f"{x:.6g}" for x in line] for line in numbers.tolist()]
    texts[row][column] = text
    return texts


# ---- no name by repetition


def test_a_mistake_is_not_named_that_would_have_to_be_repeated() -> None:
    """X has one feature: X is not X W_q, and nobody writes it three times."""
    problem = {"X": [[2], [3]], "W_q": [[1, 4, 5]], "W_k": [[1, 1, 1]], "W_v": [[1, 1, 1]]}
    assert "projection_missing" not in named(finding(problem, Q=[[2, 2, 2], [3, 3, 3]]))


def test_a_sum_stands_beside_each_row_that_it_is_the_sum_of() -> None:
    trace = attncli.compute(attncli.Problem(**SELF))
    total = f"{trace['exp'].value.sum():.3f}"
    assert named(finding(SELF, sum=[[total]] * 3))[0] == "softmax_over_all"


def test_heads_may_share_what_all_of_them_are_made_from() -> None:
    x = [[1, 2], [3, 5]]
    w = [[[1, 1], [0, 1]], [[2, 1], [1, 1]]]
    problem = {"X": x, "W_q": w, "W_k": w, "W_v": w, "heads": 2}
    assert named(finding(problem, Q=[x, x]))[0] == "projection_missing"


# ---- nothing that needs several queries where there is one


def test_weights_cannot_sum_to_1_over_a_single_query() -> None:
    found = finding(ONE_QUERY, weights=[["1.00", "1.00", "1.00"]])
    assert "softmax_over_queries" not in named(found)


def test_the_only_row_is_not_told_from_others() -> None:
    assert finding(ONE_QUERY, scores=[[5, 7, 9]]) is None
    assert "row" not in message(ONE_QUERY, scores=[[2, 6, 6]])


def test_the_only_row_of_a_head_is_the_head() -> None:
    problem = {"kind": "cross", "X": [[1, 2, 1, 1]], "memory": [[1, 0, 2, 3], [2, 1, 1, 0]]}
    said = message(problem | {"score": "dot", "heads": 2}, scores=[[[1, 4]], [[17, 31]]])
    assert said == "Only head 2 is wrong."


def test_the_numbers_of_one_row_are_counted() -> None:
    said = message(ONE_QUERY, scores=[[-1, -4, -6]])
    assert said == "All 3 numbers have the wrong sign."
    said = message(ONE_QUERY, scores=[[3, 12, 18]])
    assert said == "All 3 numbers are 3 times what they should be."


# ---- factors


def test_right_numbers_contradict_a_factor() -> None:
    problem = {"X": [[1, 0, 0], [0, 1, 0], [1, 1, 2]], "score": "dot"}
    assert finding(problem, scores=[[3, 0, 3], [0, 3, 3], [1, 1, 6]]) is None
    said = message(problem, scores=[[3, 0, 3], [0, 3, 3], [3, 3, 18]])
    assert said == "Every number is 3 times what it should be."


@pytest.mark.parametrize("factor", ["1/2", "2", "1/3"])
@pytest.mark.parametrize("digits", [0, 1])
def test_a_factor_holds_for_every_number_or_is_said_to_be_about(factor: str, digits: int) -> None:
    """Wrong scores near a multiple of the right ones: exact between whole numbers, else `about`."""
    draw, by, claims = np.random.default_rng(54), float(Fraction(factor)), 0
    words = {"1/2": "half", "2": "twice", "1/3": "a third of"}[factor]
    for _ in range(60):
        q, k = draw.integers(-3, 4, (2, 2)), draw.integers(-3, 4, (3, 2))
        key = AnswerKey(attncli.Problem(Q=q.tolist(), K=k.tolist(), V=[[1]] * 3, score="dot"))
        right = q @ k.T
        noise = draw.integers(-1, 2, right.shape) / 2 if draw.random() < 0.5 else 0
        written = np.round(right * by + noise, digits)
        found = key.check({"scores": written.tolist()}).findings.get("scores")
        if found and found.id == "constant_factor" and f" {words} what" in found.message:
            claims += 1
            off = np.abs(written - by * right)
            is_whole = written == np.round(written)
            assert "about" in found.message or (off <= ~is_whole * 0.5 * 10.0**-digits).all()
    assert claims


@pytest.mark.parametrize(
    ("x", "w_q", "w_k", "w_v", "answers", "not_true"),
    [
        (
            *([[3, 2], [-1, 2], [-1, 3]], [[0, 2], [1, 2]], [[1, 2], [-1, -1]], [[0, 2], [1, 0]]),
            {"weights": [["0.9", "0.0", "0.1"], ["0.0", "1.0", "0.0"], ["0.0", "0.1", "0.9"]]},
            "wrong axis",
        ),
        (
            *([[-2, 0], [-2, -2]], [[-1, 2], [-1, 0]], [[1, 2], [1, 2]], [[2, 2], [0, -1]]),
            {"output": [["-4.00", "-2.21"], ["-4.00", "-3.22"]]},
            "was read as -355",
        ),
        (
            *([[0, -2], [-1, 2], [0, 1]], [[-1, 0], [-1, 0]], [[1, 2], [0, -1]], [[0, 0], [1, 0]]),
            {"output": [["0.7", "0.0"], ["1.5", "0.0"], ["1.6", "0.0"]]},
            "was read as 1",
        ),
        (
            *([[3, 2], [1, 2], [1, 2]], [[0, 2], [-1, 0]], [[0, 1], [-1, 0]], [[1, 2], [1, -1]]),
            {"output": [["4.5", "3.1"], ["4.0", "2.0"], ["4.2", "2.4"]]},
            "root of every score",
        ),
        (
            *([[2, 2], [3, 0], [1, 2]], [[2, -1], [2, 2]], [[-1, 2], [1, 2]], [[-1, 1], [1, -1]]),
            {"output": [["-0.50", "0.50"], ["0.61", "-0.61"], ["-0.85", "0.85"]]},
            "times what it should be",
        ),
        (
            *([[-2, 2], [0, -2], [3, -1]], [[0, -1], [2, 0]], [[2, 1], [1, 2]], [[0, 1], [0, 1]]),
            {"output": [["0.0", "-1.1"], ["0.0", "1.3"], ["0.0", "1.8"]]},
            "times what it should be",
        ),
    ],
)
def test_a_guess_gives_the_numbers_without_a_margin(
    x: Any, w_q: Any, w_k: Any, w_v: Any, answers: Any, not_true: str
) -> None:
    """Hidden steps may be rounded in any way; each of these would need a way that nobody has."""
    report = checked({"X": x, "W_q": w_q, "W_k": w_k, "W_v": w_v}, **answers)
    assert report.verdict == "wrong"
    assert not_true not in attncli.render(report, "table")


def test_a_guess_may_come_from_hidden_steps_that_are_rounded() -> None:
    """weights[1] = e^0.7 / (e^0.7 + 1) with the powers in 2 decimals, and the wrong sign of s."""
    exp = np.round(np.exp(-np.array([[0.7071, 0.0]])), 2)
    weights = exp / exp.sum()
    found = finding({"X": [[1, 0], [0, 1]]}, weights=[[f"{w:.2f}" for w in weights[0]], ["~", "~"]])
    assert found is not None
    assert "exponent_sign" in named(found)


def test_five_numbers_of_which_none_is_half_are_not_called_so() -> None:
    problem = {"Q": [[1, 1], [2, 0]], "K": [[1, 1], [3, 0], [0, 1]], "V": [[1]] * 3}
    assert finding(problem | {"score": "dot"}, scores=[[1, 2, 0], [1, 3, 0]]) is None


def test_who_passed_over_the_scaling_is_told_so() -> None:
    problem = {"X": [[1, 0], [0, 1]]}
    exp = [["2.7183", "1"], ["1", "2.7183"]]
    found = finding(problem, exp=exp)
    assert found is not None
    assert (found.id, found.message) == ("not_scaled", "In scaled: the scores were not scaled.")
    scaled = [["0.7071", "0"], ["0", "0.7071"]]  # who wrote it did not use it
    assert message(problem, scaled=scaled, exp=exp).startswith("exp was calculated from scores")


def test_small_whole_numbers_are_known() -> None:
    """1 is 1, so that 3 is not right for 2 times 1; nor is 0 for 3 times 0.4."""
    assert finding(ONE_QUERY, scores=[[3, 6, 9]]) is None


@pytest.mark.parametrize(("factor", "is_one"), [(1.001, True), (1.015, True), (1.05, False)])
def test_a_factor_of_1_is_none(factor: float, is_one: bool) -> None:
    scores = 1000 * SCORES
    problem = SELF | {"X": (np.sqrt(1000) * np.array(SELF["X"])).tolist()}
    found = finding(problem, scores=[[f"{x:.1f}" for x in row] for row in factor * scores])
    assert ("constant_factor" in named(found)) is not is_one


@pytest.mark.parametrize(
    ("factor", "words"),
    [(0.5, "is half what"), (1 / 3, "is a third of what"), (2, "is twice what")],
)
def test_a_factor_is_said_simply(factor: float, words: str) -> None:
    numbers = [[f"{factor * x:.4f}" for x in row] for row in SCORES]
    assert words in message(SELF, scores=numbers)


# ---- blocked cells


@cases("naming", "a_blocked_cell_is_a_matter_of_the_mask")
def test_a_blocked_cell_is_a_matter_of_the_mask(answers: dict[str, Any], said: str) -> None:
    found = finding(CAUSAL, **answers)
    assert found is not None
    assert (found.id, found.message) == ("mask_slip", said)
    assert found.advice == "Look at the mask again."


# ---- which name comes first, and how many


def test_what_was_done_in_the_step_itself_comes_first() -> None:
    """At equal fit, before what was done in a step that was left out."""
    trace = attncli.compute(attncli.Problem(**CAUSAL))
    judge = Judge(Reference(trace), {})
    places = [found.place.name for found in mistakes_before(judge, trace["weights"])]
    own = places.count("weights")
    assert 0 < own < len(places)
    assert places[:own] == ["weights"] * own


def test_at_most_two_mistakes_are_named() -> None:
    """Two tokens: whether a mask was left out, moved or multiplied, the numbers are these."""
    problem = {"X": [[1, 0], [0, 1]], "score": "dot", "mask": "causal"}
    found = finding(problem, masked=[[1, 0], [0, 1]])
    assert named(found) == ["mask_missing", "mask_as_zero"]


def test_a_mistake_that_one_number_shows_is_a_guess() -> None:
    said = message(DECIMALS, scores=with_cell(_scores(DECIMALS), 0, 0, "9.99"))
    assert said == "Only scores[1, 1] is wrong."
    problem = {"X": [[1, 0], [0, 2]], "W_q": [[1, 0], [0, 3]], "W_k": [[1, 0], [0, 1]]}
    problem |= {"W_v": [[1, 0], [0, 1]]}
    assert message(problem, Q=[[1, 0], [0, 2]]).startswith("Perhaps ")


# ---- one wrong number


def _scores(problem: dict[str, Any]) -> Numbers:
    numbers: Numbers = attncli.compute(attncli.Problem(**problem))["scores"].value
    return numbers


@pytest.mark.parametrize(
    ("problem", "place", "text", "said"),
    [
        # 1.37·1.37 + 2.51·2.51 = 1.8769 + 6.3001 = 8.177; 0.83·2.29 − 1.49·0.67 = 0.9024
        (DECIMALS, (0, 0), "-8.177", "it has the wrong sign"),
        (DECIMALS, (0, 0), "81.77", "its decimal point is in the wrong place"),
        (DECIMALS, (0, 0), "8.717", "two of its digits have changed places"),
        (DECIMALS, (0, 0), "1.8769", "2.51·2.51 was left out"),
        (DECIMALS, (0, 0), "14.4771", "2.51·2.51 was counted twice"),
        (SELF, (0, 0), "-5", "perhaps it has the wrong sign"),
        (SELF, (1, 1), "110", "perhaps its decimal point is in the wrong place"),
        (SELF, (1, 1), "2", "perhaps 3·3 was left out"),
        (SELF, (1, 1), "2.0000", "perhaps 3·3 was left out"),
    ],
)
def test_a_cause_is_certain_only_where_enough_digits_say_so(
    problem: dict[str, Any], place: tuple[int, int], text: str, said: str
) -> None:
    name = f"scores[{place[0] + 1}, {place[1] + 1}]"
    given = with_cell(_scores(problem), *place, text)
    assert message(problem, scores=given) == f"{name} is wrong: {said}."


def test_a_number_that_nothing_explains() -> None:
    found = finding(SELF, scores=with_cell(SCORES, 2, 2, "31"))
    assert found is not None
    assert (found.id, found.message) == ("single_cell_slip", "Only scores[3, 3] is wrong.")


def test_how_much_a_sum_is_off_is_no_guess() -> None:
    said = message(SELF, scores=with_cell(SCORES, 0, 1, "15"))
    assert said == "Only scores[1, 2] is wrong: it is 10 too large."


def test_a_number_is_no_0_whose_point_was_moved() -> None:
    problem = {"X": [[1, 0, 0], [0, 1, 0], [1, 1, 2]], "score": "dot"}
    said = message(problem, scores=[[1, 3, 1], [0, 1, 1], [1, 1, 6]])
    assert said == "Only scores[1, 2] is wrong."


def test_a_few_wrong_numbers_are_named() -> None:
    found = finding(SELF, scores=[[5, 41, 2], [5, 11, 8], [77, 8, 8]])
    assert found is not None
    assert found.message == "Only scores[1, 2] and scores[3, 1] are wrong."
    assert len(found.worked) == 2


# ---- two keys, and numbers that are the same

TWO_KEYS: dict[str, Any] = {
    "kind": "cross",
    "Q": [[1, 0]],
    "K": [[1, 0], [0, 1]],
    "V": [[1], [2]],
    "score": "dot",
}
"""The weights are 0.7311 and 0.2689."""


@pytest.mark.parametrize(
    ("queries", "weights", "id_", "said"),
    [
        (1, ["0.27 0.73"], "cells_swapped", "weights[1, 1] and weights[1, 2] have changed places"),
        (1, ["0.2689 0.7311"], "cells_swapped", "weights[1, 1] and weights[1, 2] have changed"),
        (2, ["0.27 0.73"] * 2, "columns_swapped", "columns 1 and 2 have changed places"),
        (2, ["0.73 0.27", "0.27 0.73"], "cells_swapped", "weights[2, 1] and weights[2, 2] have"),
        (1, ["1.00 0.00"], "not_exponentiated", "the scores were taken as they are"),
        (2, ["1.00 0.00"] * 2, "not_exponentiated", "the scores were taken as they are"),
    ],
)
def test_a_row_of_two_names_no_mistake_for_sure(
    queries: int, weights: list[str], id_: str, said: str
) -> None:
    """1 − p for p is what a copyist writes, too; and the same numbers again are no evidence."""
    problem = TWO_KEYS | {"Q": TWO_KEYS["Q"] * queries}
    found = finding(problem, weights=[row.split() for row in weights])
    assert found is not None
    assert (found.id, found.certain) == (id_, False)
    assert found.message.startswith(f"Perhaps {said}")


def test_an_unbounded_interval_is_no_evidence() -> None:
    """−ln 0.0000 may be any large number, so a loss beside it tells of no logarithm."""
    one = [[1, 0], [0, 1]]
    layer = {"W_q": one, "W_k": one, "W_v": one, "norm": "none"}
    problem: dict[str, Any] = {"kind": "transformer", "X": one, "layers": [layer]}
    problem["target"] = [2, 1]
    problem["W_u"] = [[9, 0, 0], [0, 0, 9]]
    shown = [["1.0000", "0.0000", "0.0000"], ["0.0000", "0.0000", "1.0000"]]
    for loss in ("3.20", "5.00", "6.75", "7.9", "9.0"):
        assert message(problem, probabilities=shown, loss=loss) == "Only loss is wrong."
    problem["W_u"] = [[1, 0, 0], [0, 0, 1]]
    right = attncli.compute(attncli.Problem(**problem))["loss"].value.item()
    found = finding(problem, loss=f"{right / np.log(10):.4f}")
    assert named(found) == ["logarithm_to_base_10"]


# ---- different mistakes in different rows


def shares(scores: Numbers) -> Numbers:
    e = np.exp(scores)
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


MIXED: dict[str, Any] = {
    "X": [[1, 0, 2], [0.5, 1, 1], [2, 1, 0]],
    "W_q": [[0, 1, 0.5, -1], [1, 0, 0.5, 0], [-0.5, 1, 0, 0.5]],
    "W_k": [[1, 0.5, 0, 0], [0, 1, -1, 0.5], [0.5, 0, 1, 1]],
    "W_v": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
    "mask": "causal",
}


@pytest.mark.parametrize(("decimals", "is_certain"), [(2, False), (3, True), (4, True)])
def test_each_row_may_have_its_own_mistake(decimals: int, is_certain: bool) -> None:
    scores = _scores(MIXED)
    keep = np.where(np.tril(np.ones((3, 3))), 0, -np.inf)
    weights = np.vstack([shares(scores / 2)[:1], shares(scores / 4 + keep)[1:]])
    texts = [[f"{x:.{decimals}f}" for x in row] for row in weights]
    found = finding(MIXED, weights=texts)
    assert found is not None
    rest = "in rows 2 and 3, scaled: the scores were divided by d_k"
    perhaps = "In" if is_certain else "Perhaps in"
    assert found.message == (
        f"{perhaps} row 1, masked: the mask was not applied; {rest} = 4, not by √d_k = √4 = 2."
    )
    assert found.hint == f"In row 1, masked: the mask was not applied; {rest}, not by √d_k."
    assert found.id == "mask_missing"


# ---- the worked line


def test_the_worked_line_stands_under_a_wrong_number() -> None:
    found = finding(SELF, scores=with_cell(SCORES, 1, 1, "20"))
    assert found is not None
    assert found.worked == ("scores[2, 2] = q_2 · k_2 = 3·3 + 1·1 + 1·1 = 11",)


def test_the_worked_line_has_the_students_own_numbers() -> None:
    """Q was written with one decimal, and the scores go on from that."""
    q = [["1.4", "2.5"], ["0.8", "-1.5"], ["2.3", "0.7"]]
    found = finding(DECIMALS, Q=q, scores=with_cell(_scores(DECIMALS), 2, 0, "9.99"))
    assert found is not None
    assert found.worked == ("scores[3, 1] = q_3 · k_1 = 2.3·1.37 + 0.7·2.51 = 4.9080",)


def test_only_the_first_wrong_step_is_worked() -> None:
    q = [[9, 0, 2], [3, 1, 1], [2, 2, 0]]
    report = checked(SELF, Q=q, scores=[[13, 29, 18], [5, 20, 8], [2, 8, 8]])
    assert report.wrong_steps == ["Q", "scores"]
    assert report.findings["Q"].worked
    assert not report.findings["scores"].worked


def test_a_worked_line_for_a_row_is_that_of_its_first_wrong_number() -> None:
    found = finding(SELF, scores=[[5, 5, 2], [21, 40, 90], [2, 8, 8]])
    assert found is not None
    assert found.message == "Only row 2 is wrong."
    assert found.worked == ("scores[2, 1] = q_2 · k_1 = 3·1 + 1·0 + 1·2 = 5",)


@pytest.mark.parametrize("form", ["table", "markdown", "html", "json"])
def test_every_report_shows_the_worked_line(form: str) -> None:
    report = checked(SELF, scores=with_cell(SCORES, 1, 1, "20"))
    page = attncli.render(report, form)
    if form == "json":
        mistake = json.loads(page)["steps"]["scores"]["mistake"]
        assert mistake["worked"] == ["scores[2, 2] = q_2 · k_2 = 3·3 + 1·1 + 1·1 = 11"]
    else:
        assert "= 3·3 + 1·1 + 1·1 = 11" in page


def test_no_number_of_a_large_matrix_is_worked_by_working_all_of_it() -> None:
    random = np.random.default_rng(2)
    matrices = {
        key: random.integers(-3, 4, (24, 24)).tolist() for key in ("X", "W_q", "W_k", "W_v")
    }
    trace = attncli.compute(attncli.Problem(**matrices, heads=2))
    for step, count in (("Q", 0), ("scores", 1)):
        numbers = trace[step].value.copy()
        numbers[0, 0, 0] += 100_000
        found = finding(matrices | {"heads": 2}, **{step: numbers.astype(int).tolist()})
        assert found is not None
        assert len(found.worked) == count


# ---- sentences


def test_a_transposed_matrix_is_said_to_be_one() -> None:
    problem = ONE_QUERY | {"X": [[1, 2], [2, 1]], "tokens": ["love", "AI"]}
    found = finding(problem, scores=[[1, 2], [4, 5], [6, 3]])
    assert found is not None
    assert found.message.startswith("Rows and columns of scores have changed places: the shape is")
    assert found.advice == "Write a row for each query: love and AI."
    assert found.also == ()
    found = finding(problem, scores=[[9, 20], [41, 58], [66, 73]])
    assert found is not None
    assert found.message.endswith("here: perhaps rows and columns have changed places.")


def test_a_causal_mask_that_is_turned_about_is_told_in_words_of_time() -> None:
    turned = [["-inf", 5, 2], ["-inf", "-inf", 8], ["-inf", "-inf", "-inf"]]
    said = "The mask was inverted: the past was blocked, the future kept."
    assert message(CAUSAL, masked=turned) == said
    mask = [[1, 0, 1], [1, 1, 1], [0, 1, 1]]
    turned = [["-inf", 5, "-inf"], ["-inf", "-inf", "-inf"], [2, "-inf", "-inf"]]
    said = message(SELF | {"mask": mask}, masked=turned)
    assert said.endswith("it blocks what a query may see, and keeps the rest.")


def test_the_divisor_of_the_only_row_is_told() -> None:
    exp, total = [["2.718", "54.598", "403.429"]], [["460.745"]]
    weights = [["0.00737", "0.14812", "1.09450"]]
    found = finding(ONE_QUERY, exp=exp, sum=total, weights=weights)
    assert found is not None
    assert found.id == "wrong_divisor"
    assert found.message == "All 3 numbers were divided by about 369, not by 460.745."


def test_copied_numbers_are_to_be_copied_again() -> None:
    found = finding(SELF, Q=[[1, 0, 2], [3, 1, 17], [2, 2, 0]])
    assert found is not None
    assert found.advice == "Copy it again."
    assert found.worked == ("Q[2, 3] = X[2, 3] = 1",)


def test_numbers_in_sentences() -> None:
    numbers = (-0.0, 1 / 3, -2 / 3, 0.15, 2.4, 12.345678, 1e-5, 14.0)
    assert list(map(short_number, numbers)) == [
        "0", "1/3", "-2/3", "0.15", "2.4", "12.3457", "1e-05", "14",
    ]  # fmt: skip


def test_one_answer_is_counted_as_one() -> None:
    key = AnswerKey(attncli.Problem(**SELF))
    report = key.check(submission_of({"scores": SCORES.tolist()}, "Ada"))
    tally = Tally()
    tally.add(report)
    assert next(tally.lines()).startswith("1 answer: ")
    tally.add(report)
    assert next(tally.lines()).startswith("2 answers: ")


def test_every_sentence_is_filled_in() -> None:
    """What is in braces is given by the change or by the step."""
    trace = attncli.compute(attncli.Problem(**CAUSAL))
    judge = Judge(Reference(trace), {})
    for step in trace:
        for made in mistakes_before(judge, step):
            found = made.finding(step)
            assert "{" not in found.message + found.advice


# ---- one number among many


def test_one_wrong_number_tells_nothing_of_a_hidden_step() -> None:
    """Swapped digits come first, and no mistake in another step explains a number by chance."""
    trace = attncli.compute(attncli.Problem(**SELF))
    for row, column in np.ndindex(3, 3):
        for off in range(5, 50, 20):
            text = f"{trace['weights'].value[row, column] + off / 100:.2f}"
            weights = with_cell(trace["weights"].value.round(4), row, column, text)
            found = finding(SELF, weights=weights)
            assert found is not None
            assert f"weights[{row + 1}, {column + 1}] is wrong" in found.message


def test_mask_is_not_blamed_for_numbers_that_it_lets_through() -> None:
    report = checked(CAUSAL, masked=[[5, 7, "-inf"], [9, 1, "-inf"], [4, 6, 7]])
    assert "mask_slip" not in named(report.findings.get("masked"))


# ---- one number everywhere


@pytest.mark.parametrize("text", ["0", "1", "0.5", "0.00"])
@pytest.mark.parametrize("step", ["scores", "scaled", "masked", "exp", "weights", "output"])
def test_a_step_filled_with_one_number_is_said_to_be(step: str, text: str) -> None:
    problem = SELF | {"score": "scaled_dot", "mask": "causal"}
    found = finding(problem, **{step: [[text] * 3] * 3})
    assert found is not None
    assert (found.id, found.message, found.also) == (
        "all_the_same",
        f"Every number of {step} is {text}.",
        (),
    )
    assert found.advice == "Work each number out."


def test_right_numbers_may_all_be_the_same() -> None:
    """With equal scores, a mask that was forgotten leaves every number the same."""
    even = {"X": [[1, 1], [1, 1], [1, 1]], "score": "dot", "mask": "causal"}
    assert named(finding(even, masked=[[2, 2, 2]] * 3))[0] == "mask_missing"
    assert "all_the_same" not in named(finding(SELF, scores=[[5, 5, 3], *SCORES[1:].tolist()]))


# ---- the same mistake by another name

PROJECTED: dict[str, Any] = {
    "X": [[1, 0, 2], [3, 1, 1], [2, 2, 0]],
    "W_q": [[1, 2], [0, 1], [2, 1]],
    "W_k": [[2, 0], [1, 1], [0, 3]],
    "W_v": [[1, 0], [0, 1], [1, 1]],
}


def test_a_mistake_is_not_told_again_by_another_name() -> None:
    trace = attncli.compute(attncli.Problem(**PROJECTED))
    q, k, v = (trace[name].value for name in "QKV")

    def names(**arrays: Numbers) -> list[str]:
        return named(finding(PROJECTED, **{name: x.tolist() for name, x in arrays.items()}))

    assert names(Q=k) == ["wrong_weight_matrix"]
    assert names(Q=k, K=q) == ["swapped_q_k"]
    assert names(scores=k @ q.T) == ["scores_transposed"]
    assert names(Q=q, K=k, scores=k @ q.T) == ["scores_transposed"]
    assert names(Q=q, K=k, V=v, scores=q @ v.T) == ["swapped_k_v"]
    small = PROJECTED | {"X": [[0.1, 0, 0.2], [0.3, 0.1, 0.1], [0.2, 0.2, 0]]}
    exp = np.exp(attncli.compute(attncli.Problem(**small))["scores"].value)
    weights = exp / exp.sum(axis=1, keepdims=True)
    assert named(finding(small, weights=weights)) == ["not_scaled"]


def test_what_else_gives_the_numbers_is_said_with_its_step() -> None:
    other = Finding("b", "The scale was left out.", "", "In scaled")
    assert list(Finding("a", "", "", also=(other,)).others) == [
        "Another mistake, in scaled, gives the same numbers: the scale was left out."
    ]


def test_of_several_rows_that_fit_the_nearest_is_named() -> None:
    """Rows 1 and 2 may both be meant by few digits."""
    problem = {
        "X": [["1.04", "2.03"], ["1.00", "2.00"], ["5.1", "7.2"]],
        "W_q": [[1, 0], [0, 1]],
        "W_k": [[1, 0], [0, 1]],
        "W_v": [[1, 0], [0, 1]],
    }
    assert message(problem, Q=[["1.04", "2.03"], ["1.00", "2.00"], ["1", "2"]]).endswith(
        "it holds the numbers of row 2."
    )


# ---- single rules


def test_what_is_done_everywhere_need_not_fit_everywhere() -> None:
    """W_o is not square, so who transposes every other matrix cannot have transposed it, too."""
    problem = attncli.Problem(
        X=[[1, 2], [0, 1]],
        W_q=[[1, 2], [0, 1]],
        W_k=[[1, 0], [1, 1]],
        W_v=[[1, 1], [0, 2]],
        W_o=[[1, 0, 1], [0, 2, 1]],
    )
    made = {"Q": [[5, 2], [2, 1]], "K": [[1, 3], [0, 1]], "V": [[3, 4], [1, 2]]}
    report = attncli.check(problem, made | {"output": [[1, 2, 3], [1, 2, 3]]})
    assert report.findings["Q"].id == "all_weight_matrices_transposed"


@pytest.mark.parametrize(("loss", "factor"), [("half", "½"), ("mean", "1/4")])
def test_the_factor_that_the_loss_misses_is_told(loss: str, factor: str) -> None:
    target = [[2, 0], [2, 2]]
    problem = attncli.Problem(
        X=[[1, 0], [1, 1]], gradient={"loss": f"{loss}_squared_error", "target": target}
    )
    over = {"half": 2, "mean": 4}[loss]
    right = attncli.compute(problem)["loss"].value
    finding = attncli.check(problem, {"loss": right * over}).findings["loss"]
    assert finding.message.startswith(f"The {factor} of the loss was left out")


def test_a_gate_that_opens_for_the_right_numbers_alone_is_followed() -> None:
    """No right number of `hidden` is negative; with a slip one is, and what comes back is 0."""
    one = [[1, 0], [0, 1]]
    keys: dict[str, Any] = dict.fromkeys(("X", "W_q", "W_k", "W_v", "W_2"), one)
    keys |= {"kind": "transformer", "norm": "none", "activation": "relu", "W_1": [[1, 2], [1, 1]]}
    problem = attncli.Problem(**keys, gradient=[[1, 2], [3, -4]])
    right = {name: attncli.compute(problem)[name].value for name in ("hidden", "d_activated")}
    assert (right["hidden"] > 0).all()
    hidden, back = np.round(right["hidden"], 2), right["d_activated"]
    hidden[0, 0] *= -1
    answers = {"hidden": hidden, "activated": np.maximum(hidden, 0), "d_activated": back}
    answers["d_hidden"] = np.where(hidden > 0, back, 0)
    report = attncli.check(problem, answers)
    statuses = [report.steps[name].status for name in answers]
    assert statuses == ["wrong", "follows", "correct", "follows"]


def test_a_hidden_step_with_a_known_mistake_has_no_second_one() -> None:
    """The LSTM's forget gate was left out, as a sigmoid for a tanh might explain as well."""
    names = ("encoder.g_1", "encoder.o_1", "encoder.i_2", "h_2", "decoder.f_1", "decoder.i_1")
    answers: dict[str, Any] = dict(
        zip(names, (0.96, "0.50", 0.91, 0.53, 0.82, 0.63), strict=True),
        scores_1=[0.43, 0.76],
        exp_1=[1.54, 2.14],
        sum_1=3.68,
        weights_1=[0.42, 0.58],
        context_1=0.44,
        attentional_1=0.92,
        output=0.92,
    )
    report = attncli.check(attncli.load(SAMPLES / "encoder_decoder_lstm.yaml"), answers)
    assert report.first_wrong_step == "h_2"


def test_what_a_correct_step_contradicts_is_not_named() -> None:
    """The blocked -∞ in m_1 shows that the mask was not added."""
    answers = {
        "m_1": [["2"], ["2"], ["-∞"]],
        "P_1": [["1.00", "0.37"], ["1.00", "0.37"], ["0.00", "0.00"]],
        "P_2": [["0.37", "1.00"], ["0.14", "1.00"], ["0.37", "1.00"]],
    }
    finding = attncli.check(attncli.load(SAMPLES / "online.yaml"), answers).findings["P_2"]
    assert (finding.id, finding.also) == ("tile_maximum_alone", ())


def test_powers_of_a_half_are_scaled_one_step_earlier() -> None:
    """Scaling is asked for, in the step scaled_1, though it was done twice."""
    problem = attncli.load(SAMPLES / "differential.yaml")
    powers = np.exp(attncli.compute(problem)["scores_1"].value / 2).round(2).tolist()
    finding = attncli.check(problem, {"exp_1": powers}).findings["exp_1"]
    said = [finding.message, *(other.message for other in finding.also)]
    assert not [one for one in said if "not asked for" in one]
