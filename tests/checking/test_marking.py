"""The key `marking`: digits, tolerance, steps and points that a teacher asks for."""

from __future__ import annotations

import csv
import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import Report
from attncli.checking.judging.judged_steps import STATUSES
from attncli.core.problem.marking import FLAGS, Marking
from tests.conftest import SAMPLES, Attn, table

SCALED = SAMPLES / "integers_scaled.yaml"
BO = SAMPLES / "answers" / "bo.yaml"
WEIGHTS = [["0.98", "0.02", "0.01"], ["0.27", "0.73", "0.00"], ["0.91", "0.05", "0.05"]]
SCORES = [[14, 10, 9], [10, 11, 6], [9, 6, 6]]


def problem(**given: Any) -> attncli.Problem:
    words = {"X": [[1, 3, 2], [1, 1, 3], [1, 2, 1]], "score": "dot"}
    return attncli.Problem(**(words | given))


def statuses(report: Report, name: str) -> list[str]:
    """Return the status of each cell of a step, row by row on paper."""
    judged = report.steps[name]
    return [STATUSES[code] for code in judged.step.on_paper(judged.codes).ravel()]


def with_weight(written: str) -> dict[str, Any]:
    """Return published weights whose first one, 0.975559, is written otherwise."""
    return {"weights": [[written, *WEIGHTS[0][1:]], *WEIGHTS[1:]]}


# Digits


def test_too_few_digits_are_wrong_and_are_said_to_be_the_reason() -> None:
    one = {"weights": [["1.0", "0.018", "0.00657"], *WEIGHTS[1:]]}
    assert attncli.check(problem(), one).verdict == "correct"
    report = attncli.check(problem(), one, marking={"decimals": 2})
    assert (report.verdict, report.first_wrong_step) == ("wrong", "weights")
    assert statuses(report, "weights") == ["wrong"] + ["correct"] * 8
    finding = report.findings["weights"]
    assert finding.id == "too_few_digits"
    assert finding.message == "weights[1, 1] has 1 decimal, but 2 are asked for."
    several = attncli.check(problem(), {"weights": WEIGHTS}, marking={"decimals": 3})
    assert several.findings["weights"].message == (
        "8 of the numbers are right only to the digits that were written; 3 decimals are asked for."
    )
    whole = attncli.check(problem(), {"output[1, 1]": "1"}, marking={"decimals": 1})
    assert statuses(whole, "output")[0] == "correct"  # 1.0


def test_what_is_exact_needs_no_more_digits() -> None:
    """14 is 14.00, a fraction is exact, and a computer's floats have all their digits."""
    for answers in (
        {"scores": SCORES},
        {"weights[1, 1]": "e^14/(e^14 + e^10 + e^9)"},
        {"weights": attncli.compute(problem())["weights"].value.astype(np.float32)},
        {"scores[1, 1]": 28, "scaled[1, 1]": 14},
    ):
        asked = problem(scale="1/2") if "scaled[1, 1]" in answers else problem()
        asked_report = attncli.check(asked, answers, marking={"decimals": 2})
        assert "too_few_digits" not in {one.id for one in asked_report.findings.values()}


def test_what_is_exact_by_the_students_own_numbers_needs_no_more_digits() -> None:
    """Also where it may be the right number, rounded: 1 follows from 2, and 0.5 is right."""
    given = attncli.Problem(X=[[1, 0, 0, 0], [0, 2, 0, 0]])
    own = {"scores": [[2, 0], [0, 4]], "scaled": [["1", "0"], ["0", "2"]]}
    report = attncli.check(given, own, marking={"decimals": 2})
    assert report.first_wrong_step == "scores"
    assert report.steps["scaled"].status != "wrong"
    assert "scaled" not in report.findings
    rounded = {"scaled": [["1", "0.00"], ["0.00", "2.00"]]}
    report = attncli.check(given, rounded, marking={"decimals": 2})
    assert report.findings["scaled"].id == "too_few_digits"


def test_a_right_number_that_was_rounded_is_short_though_short_ones_give_it() -> None:
    given = attncli.Problem(X=[[1, 0], [0, 2]], score="dot")
    own = {"weights": [["0.7", "0.3"], ["0.02", "0.98"]], "output[1, 1]": "0.7"}
    report = attncli.check(given, own, marking={"decimals": 2})
    assert statuses(report, "weights") == ["wrong", "wrong", "correct", "correct"]
    assert statuses(report, "output")[0] == "follows"


def test_zeros_that_a_spreadsheet_drops_are_read() -> None:
    """1.1 is 1.10 where two decimals are asked, as a number and for what follows from it."""
    given = attncli.Problem(Q=[[1.1017]], K=[[1]], V=[[1]], score="dot")
    for written, status in {"1.1": "correct", "1.10": "correct", "1.2": "wrong"}.items():
        report = attncli.check(given, {"scores": [[written]]}, marking={"decimals": 2})
        assert statuses(report, "scores") == [status]
    given = attncli.Problem(Q=[[1.1217]], K=[[1]], V=[[1]], score="dot")
    report = attncli.check(given, {"scores": [["1.1"]]}, marking={"decimals": 2})
    assert statuses(report, "scores") == ["wrong"]
    assert report.findings["scores"].id == "too_few_digits"


@pytest.mark.parametrize("format_", ["yaml", "json", "csv"])
def test_results_have_the_digits_with_which_they_were_written(
    attn: Attn, tmp_path: Path, format_: str
) -> None:
    """Though YAML and JSON have no zeros at the end of a float: 17.4 beside 1.76 is 17.40."""
    own, results = tmp_path / "p.yaml", tmp_path / f"results.{format_}"
    own.write_text("X: [[1, 0.3], [0.2, 2]]\nmarking: {decimals: 2}\n")
    attn("compute", str(own), "-d", "2", "-o", str(results))
    assert ("17.40" in results.read_text()) == (format_ == "csv")
    assert attn("check", str(own), str(results)).status == 0


def test_a_number_of_results_is_not_rounded_to_fewer_digits_than_the_others() -> None:
    given = attncli.Problem(X=[[1, 0.3], [0.2, 2]])
    for first, status in {"0.55": "correct", "0.6": "wrong"}.items():
        weights = [[first, "0.45"], ["0.09", "0.91"]]
        report = attncli.check(given, {"steps": {"weights": {"value": weights}}})
        assert statuses(report, "weights") == [status, *["correct"] * 3]


def test_a_mask_of_large_negative_numbers_has_digits_enough() -> None:
    keys: dict[str, Any] = {"X": [[1, 0], [0, 1]], "score": "dot", "mask": "causal"}
    problem = attncli.Problem(**keys, marking={"decimals": 2})
    report = attncli.check(problem, {"masked": [["1", "-1e9"], ["0", "1"]]})
    assert report.verdict == "correct"
    assert report.counts["wrong"] == 0


def test_what_follows_needs_the_digits_too() -> None:
    e = np.exp([12.0, 10, 9])
    row = [f"{x:.1f}" for x in e / e.sum()]
    answers = {"scores": [[12, 10, 9], *SCORES[1:]], "weights": [row, ["~"] * 3, ["~"] * 3]}
    report = attncli.check(problem(), answers, marking={"decimals": 2})
    assert statuses(report, "weights")[:3] == ["wrong", "wrong", "last_digit"]
    assert report.findings["weights"].id == "too_few_digits"
    assert report.findings["scores"].id != "too_few_digits"


def test_a_mistake_is_told_before_few_digits() -> None:
    answers = {"weights": [["0.5", "0.3", "0.2"], ["0.3", "0.73", "0.00"], WEIGHTS[2]]}
    report = attncli.check(problem(), answers, marking={"decimals": 2})
    finding = report.findings.get("weights")
    assert finding is None or finding.id != "too_few_digits"
    page = attncli.render(report)
    assert "weights[2, 1] has 1 decimal, but 2 are asked for." in page


def test_no_digits_asked_is_no_demand() -> None:
    assert attncli.check(problem(), {"exp[1, 1]": "1.2e6"}, marking={"decimals": 0}).verdict == (
        attncli.check(problem(), {"exp[1, 1]": "1.2e6"}).verdict
    )


def test_few_digits_may_earn_a_share_and_are_wrong_all_the_same(attn: Attn) -> None:
    answers = {"weights": [WEIGHTS[0], ["0.3", *WEIGHTS[1][1:]], WEIGHTS[2]]}
    marking = {"decimals": 2, "points": {"weights": 9, "weights[2, 1]": 1}}
    for share, earned in ((0, 8), ("0.5", 9), (1, 10)):
        report = attncli.check(problem(), answers, marking={**marking, "few_digits": share})
        assert (report.verdict, report.total) == ("wrong", earned)
        assert report.findings["weights"].message == (
            "weights[2, 1] has 1 decimal, but 2 are asked for."
        )
    flags = ("--decimals-asked", "2", "--points", "weights: 9", "--few-digits")
    faults = attn("check", SCALED, BO, *flags, "2")
    message = "--few-digits: marking.few_digits must be from 0 to 1\n  such as 0.5\n"
    assert (faults.status, faults.err) == (2, message)


def test_few_digits_of_what_follows_from_a_slip_earn_a_share_of_a_share() -> None:
    e = np.exp([12.0, 10, 9])
    short = [f"{x:.1f}" for x in e / e.sum()]  # 0.8, 0.1 and 0.0, which is 0.04 in two decimals
    answers = {"scores": [[12, 10, 9], *SCORES[1:]], "weights": [short, *WEIGHTS[1:]]}
    marking = {"decimals": 2, "points": {"weights": 9}, "few_digits": 0.5}
    assert attncli.check(problem(), answers, marking=marking).total == 8
    report = attncli.check(problem(), answers, marking={**marking, "follow": 0.5})
    assert statuses(report, "weights")[:3] == ["wrong", "wrong", "last_digit"]
    assert report.total == 7.5
    only_short = {"weights": [["1.0", *WEIGHTS[0][1:]], *WEIGHTS[1:]]}
    report = attncli.check(problem(), only_short, marking={**marking, "follow": 0.5})
    assert report.total == 8.5


# Tolerance


@pytest.mark.parametrize(
    ("written", "verdict"),
    [("0.971", "correct"), ("0.980", "correct"), ("0.9704", "wrong"), ("0.9807", "wrong")],
)
def test_a_number_may_be_off_by_the_tolerance(written: str, verdict: str) -> None:
    """0.975559 is right, and half a unit of the last digit is not added to what is tolerated."""
    assert statuses(attncli.check(problem(), with_weight(written)), "weights")[0] != "correct"
    report = attncli.check(problem(), with_weight(written), marking={"tolerance": 0.005})
    assert report.verdict == verdict
    assert (statuses(report, "weights")[0] == "correct") == (verdict == "correct")


def test_what_follows_may_be_off_by_the_tolerance() -> None:
    e = np.exp([12.0, 10, 9])
    row = [f"{x:.3f}" for x in e / e.sum() + [0.004, -0.004, 0]]
    answers = {"scores": [[12, 10, 9], *SCORES[1:]], "weights": [row, ["~"] * 3, ["~"] * 3]}
    assert "wrong" in statuses(attncli.check(problem(), answers), "weights")
    report = attncli.check(problem(), answers, marking={"tolerance": "0.005"})
    assert statuses(report, "weights")[:3] == ["follows"] * 3


# Steps that count


def test_only_the_steps_that_are_asked_count() -> None:
    wrong_q = [[1, 3, 2], [1, 1, 3], [1, 2, 2]]
    answers = {"Q": wrong_q, "weights": WEIGHTS}
    assert attncli.check(problem(), answers).first_wrong_step == "Q"
    report = attncli.check(problem(), answers, marking={"ask": "alpha, output"})
    assert report.marking.ask == ("weights", "output")
    assert (report.verdict, report.first_wrong_step) == ("incomplete", None)
    assert report.not_given == ["output"]
    page = attncli.render(report)
    assert "✗ Q = X   (not asked)" in page
    assert page.endswith("not given: output\n\nincomplete: 9 numbers; not given: output\n"), page


def test_a_wrong_step_counts_where_what_is_asked_follows_from_it() -> None:
    sheet = attncli.load_answers(BO)[0]
    report = attncli.check(attncli.load(SCALED), sheet, marking={"ask": ["output"]})
    assert report.steps["output"].status == "follows"
    assert (report.verdict, report.wrong_steps) == ("wrong", ["scaled"])
    assert "not asked" not in attncli.render(report)


def test_a_sheet_without_what_is_asked_is_empty(attn: Attn) -> None:
    report = attncli.check(problem(), {"scores": SCORES}, marking={"ask": ["output"]})
    assert report.verdict == "empty"
    result = attn("check", SCALED, BO, "--ask", "Q", "-q")
    assert (result.status, result.out) == (1, "empty: none of the steps that are asked was given\n")


def test_a_step_that_equals_another_may_be_asked_and_given_under_either_name() -> None:
    """The context is the output here, and `scaled` the scores."""
    output = attncli.compute(problem())["output"].value
    for asked, given in (("context", "output"), ("output", "context"), ("concat", "context")):
        marking = {"ask": [asked], "points": {asked: 2}}
        report = attncli.check(problem(), {given: output}, marking=marking)
        assert (report.verdict, report.total) == ("correct", 2)
        wrong = attncli.check(problem(), {given: output + 10}, marking=marking)
        assert (wrong.verdict, wrong.total) == ("wrong", 0)


def test_scaled_scores_given_as_scores_are_what_was_asked() -> None:
    scaled = attncli.load(SCALED)
    answers = {"scores": attncli.compute(scaled)["scaled"].value.round(4).tolist()}
    marking = {"ask": ["scores"], "points": {"scores": 3}}
    report = attncli.check(scaled, answers, marking=marking)
    assert (report.verdict, report.total, report.not_given) == ("correct", 3, [])


# Points


def test_points_are_shares_of_the_right_cells() -> None:
    answers = {
        "scores": [[14, 10, 9], [10, 11, 6], [9, 6, 8]],
        "weights": [*WEIGHTS[:2], ["~"] * 3],
    }
    points = {"S": 3, "weights": "4", "output": 1.5}
    report = attncli.check(problem(), answers, marking={"points": points})
    assert report.points == {"scores": 2.67, "weights": 2.67, "output": 0}
    assert (report.total, report.marking.possible) == (5.34, 8.5)
    assert report.not_given == ["output"]


def test_what_follows_or_is_nearly_right_earns_its_points() -> None:
    sheet = attncli.load_answers(BO)[0]
    marking = {"points": "scaled: 2, weights: 4, output: 3"}
    report = attncli.check(attncli.load(SCALED), sheet, marking=marking)
    assert report.points == {"scaled": 0, "weights": 4, "output": 3}
    published = {"weights": [["0.97", "0.02", "0.01"], *WEIGHTS[1:]]}
    for strict, earned in ((False, 9), (True, 8)):
        report = attncli.check(problem(), published, strict, marking={"points": {"weights": 9}})
        assert report.total == earned


INVENTED: dict[str, Any] = {
    "X": [[1, 3, 2], [1, 1, 3], [1, 2, 1]],
    "W_q": [[1, 0], [0, 1], [1, 1]],
    "W_k": [[1, 1], [0, 1], [1, 0]],
    "W_v": [[2, 0], [1, 1], [0, 1]],
    "scale": 0.1,
}
"""A problem with V = (5, 5), (3, 4), (4, 3), in which every step needs work."""

FROM_SCORES = {"scores": 2, "scaled": 2, "weights": 3, "output": 3}
FROM_THE_START = {"Q": 1, "K": 1, "V": 1, "scores": 2, "weights": 3, "output": 2}
ONES, ZEROS = [["1"] * 2] * 3, [["0"] * 2] * 3
THIRDS = [["0.33"] * 3] * 3
IDENTITY = [["1.00", "0", "0"], ["0", "1.00", "0"], ["0", "0", "1.00"]]
VALUES = [["5", "5"], ["3", "4"], ["4", "3"]]

INVENTIONS: dict[str, tuple[Any, Any, list[str]]] = {
    "a diagonal, so that the weights are the identity": (
        {"scores": np.diag([900, 900, 900]).tolist(), "scaled": np.diag([90, 90, 90]).tolist()}
        | {"weights": IDENTITY, "output": VALUES},
        FROM_SCORES,
        ["scaled", "weights", "output"],
    ),
    "arrays of a program": (
        {"scores": 900 * np.eye(3), "scaled": 90 * np.eye(3)}
        | {"weights": np.eye(3), "output": np.array(VALUES, float)},
        FROM_SCORES,
        ["scaled", "weights", "output"],
    ),
    "scores of 0": (
        {"scores": [["0"] * 3] * 3, "scaled": [["0"] * 3] * 3}
        | {"weights": THIRDS, "output": [["4.00", "4.00"]] * 3},
        FROM_SCORES,
        ["scaled", "weights", "output"],
    ),
    "weights of one column": (
        {"weights": [["0", "1", "0"]] * 3, "output": [["3", "4"]] * 3},
        {"weights": 5, "output": 5},
        ["output"],
    ),
    "1 everywhere": (
        {"Q": ONES, "K": ONES, "V": ONES, "scores": [["2"] * 3] * 3}
        | {"weights": THIRDS, "output": [["1.00"] * 2] * 3},
        FROM_THE_START,
        ["scores", "weights", "output"],
    ),
    "0 everywhere": (
        {"Q": ZEROS, "K": ZEROS, "V": ZEROS, "scores": [["0"] * 3] * 3}
        | {"weights": THIRDS, "output": ZEROS},
        FROM_THE_START,
        ["scores", "weights", "output"],
    ),
}
"""Sheets with invented numbers, their points, and the steps that follow from them without work."""


@pytest.mark.parametrize("name", INVENTIONS)
def test_what_follows_from_invented_numbers_without_work_earns_nothing(name: str) -> None:
    sheet, points, trivial = INVENTIONS[name]
    report = attncli.check(attncli.Problem(**INVENTED), sheet, marking={"points": points})
    assert (report.verdict, report.total) == ("wrong", 0)
    assert {step: report.steps[step].status for step in trivial} == dict.fromkeys(
        trivial, "follows"
    )
    (said,) = report.said
    assert said.startswith(f"No points for {trivial[0]}")


def test_of_what_follows_from_invented_numbers_work_earns_its_points() -> None:
    """Two rows of the weights are worked, and one is not; without points nothing is said of it."""
    scores = [["900", "0", "0"], ["5", "10", "0"], ["0", "5", "10"]]
    weights = [
        ["1.000", "0.000", "0.000"],
        ["0.307", "0.506", "0.186"],
        ["0.186", "0.307", "0.506"],
    ]
    output = [["5.000", "5.000"], ["3.801", "4.121"], ["3.879", "3.680"]]
    sheet = {"scores": scores, "weights": weights, "output": output}
    points = {"scores": 1, "weights": 6, "output": 3}
    report = attncli.check(attncli.Problem(**INVENTED), sheet, marking={"points": points})
    assert report.points == {"scores": 0, "weights": 4, "output": 2}
    assert report.said == (
        "No points for weights and output where no work was left: no mistake explains the earlier "
        "numbers.",
    )
    assert attncli.check(attncli.Problem(**INVENTED), sheet).said == ()


def test_a_mistake_that_leaves_no_work_costs_nothing_more() -> None:
    """Scores that are not scaled are so far apart that the weights are 0 and 1."""
    large: dict[str, Any] = INVENTED | {"X": [[4, 12, 8], [4, 4, 12], [4, 8, 4]], "scale": 0.002}
    right = attncli.compute(attncli.Problem(**large))
    scores = right["scores"].value
    weights = [["1.00", "0.00", "0.00"]] * 3
    sheet = {"scores": scores.tolist(), "scaled": scores.tolist(), "weights": weights}
    sheet["output"] = right["V"].value[[0, 0, 0]].tolist()
    report = attncli.check(attncli.Problem(**large), sheet, marking={"points": FROM_SCORES})
    assert report.findings["scaled"].id == "not_scaled"
    assert (report.points["weights"], report.points["output"], report.said) == (3, 3, ())


def test_a_wrong_number_among_equal_ones_is_one_wrong_number() -> None:
    """Q is 1, 1, 4 and was written as 1, 1, 1: it was not left out, and what follows follows."""
    one = attncli.Problem(X=[[1], [1], [4]], W_q=[[1]], W_k=[[2]], W_v=[[3]], score="dot")
    sheet = {
        "Q": [["1"], ["1"], ["1"]],
        "K": [["2"], ["2"], ["8"]],
        "scores": [["2", "2", "8"]] * 3,
    }
    points = {"Q": 3, "K": 1, "scores": 3}
    report = attncli.check(one, sheet, marking={"points": points})
    assert report.wrong_steps == ["Q"]
    assert report.points == {"Q": 2, "K": 1, "scores": 3}


def test_a_wrong_shape_earns_nothing() -> None:
    report = attncli.check(problem(), {"scores": [[14, 10]]}, marking={"points": {"scores": 3}})
    assert (report.verdict, report.total) == ("wrong", 0)


def test_points_of_steps_that_are_not_asked_do_not_count() -> None:
    every = {"scores": 3, "weights": 4, "output": 3}
    marking = {"ask": "output", "points": every}
    report = attncli.check(problem(), {"scores": SCORES}, marking=marking)
    assert (report.points, report.marking.possible) == ({"output": 0}, 3)
    assert "points: 0 of 3 (output 0 of 3)" in attncli.render(report)
    report = attncli.check(problem(), {"scores": SCORES}, marking={"ask": "Q", "points": every})
    assert "points" not in attncli.render(report)
    asked = {"ask": "output", "points": {"concat": 2}}  # another name of the same
    assert attncli.check(problem(), {"scores": SCORES}, marking=asked).marking.possible == 2


def test_points_are_in_every_report(attn: Attn) -> None:
    flag = ("--points", "scores: 3, weights: 4, Z: 3, Q: 0.5")
    said = "points: 10 of 10.5 (scores 3 of 3, weights 4 of 4, output 3 of 3, Q 0 of 0.5)"
    for form in ("table", "markdown", "html"):
        assert said in attn("check", SCALED, BO, *flag, "-f", form).out
    report = json.loads(attn("check", SCALED, BO, *flag, "-f", "json").out)
    assert (report["points"], report["of"], report["not_given"]) == (10, 10.5, ["Q"])
    assert (report["steps"]["Q"]["points"], report["steps"]["Q"]["of"]) == (0, 0.5)
    assert "points" not in report["steps"]["scaled"]
    (row,) = csv.DictReader(io.StringIO(attn("check", SCALED, BO, *flag, "-f", "csv").out))
    assert (row["points"], row["of"]) == ("10", "10.5")
    ada = SAMPLES / "answers" / "ada.json"
    result = attn("check", SCALED, BO, ada, *flag)
    assert "✗ Bo   10 of 10.5  wrong, first at scaled" in result.out
    assert "… Ada  7 of 10.5   incomplete: 18 numbers; not given: scores, Q" in result.out
    assert "points: 8.5 of 10.5 on average\n" in result.out
    both = attn("check", SCALED, BO, ada, *flag, "-f", "markdown").out
    assert "| student | verdict | first wrong step | mistake | points |" in both
    assert "| 7 of 10.5 |\n" in both


@pytest.mark.parametrize("form", ["table", "markdown", "html", "json", "csv"])
def test_without_points_nothing_is_said_of_points(attn: Attn, form: str) -> None:
    out = attn("check", SCALED, BO, "-f", form).out
    assert "points" not in out.replace("your numbers", "")


# Submissions that are right as far as they go


def test_a_submission_without_everything_that_is_named_is_incomplete(attn: Attn) -> None:
    answers = {"weights": [*WEIGHTS[:2], ["~"] * 3]}
    assert attncli.check(problem(), answers).verdict == "correct"  # nothing is named
    for marking in ({"ask": ["weights", "output"]}, {"points": {"weights": 4, "output": 3}}):
        report = attncli.check(problem(), answers, marking=marking)
        said = "incomplete: 6 numbers; left out: 3 of 9 cells of weights; not given: output\n"
        assert (report.verdict, report.first_wrong_step) == ("incomplete", None)
        assert attncli.render(report).split("\n\n")[-1].startswith(said)
    complete = {"weights": WEIGHTS, "output": attncli.compute(problem())["output"].value}
    assert attncli.check(problem(), complete, marking=marking).verdict == "correct"
    wrong = {"weights": [["0.5", *WEIGHTS[0][1:]], *WEIGHTS[1:]]}
    assert attncli.check(problem(), wrong, marking=marking).verdict == "wrong"


def test_every_report_and_the_exit_status_know_the_incomplete(attn: Attn, tmp_path: Path) -> None:
    ada = SAMPLES / "answers" / "ada.json"
    ask, said = ("--ask", "output,scores"), "incomplete: 9 numbers; not given: scores"
    assert attn("check", SCALED, ada, *ask, "-q").out == f"{said}\n"
    for form in ("table", "markdown", "html", "gradescope"):
        result = attn("check", SCALED, ada, *ask, "-f", form)
        assert result.status == 1
        assert "not given" in result.out
    assert json.loads(attn("check", SCALED, ada, *ask, "-f", "json").out)["verdict"] == "incomplete"
    (row,) = csv.DictReader(io.StringIO(attn("check", SCALED, ada, *ask, "-f", "csv").out))
    assert (row["verdict"], row["message"]) == ("incomplete", "not given: scores")
    copy = tmp_path / "copy.json"
    copy.write_text(ada.read_text().replace("Ada", "Bea"))
    result = attn("check", SCALED, ada, copy, *ask, "--feedback", tmp_path)
    assert (result.status, result.out.count(f"  {said}")) == (1, 2)
    assert "2 answers: 0 correct, 0 wrong, 2 incomplete" in result.out
    assert f"… {said}" in (tmp_path / "Ada.html").read_text()


# Cells that count


def test_points_may_be_those_of_cells() -> None:
    points = {"weights[1,1]": 1, "weights[2]": 3, "weights": 9, "z_3": 2}
    report = attncli.check(problem(), with_weight("0.5"), marking={"points": points})
    assert report.points == {"weights[1,1]": 0, "weights[2]": 3, "weights": 8, "z_3": 0}
    assert report.not_given == ["z_3"]
    asked = {"ask": ["weights[2]"], "points": points}
    report = attncli.check(problem(), with_weight("0.5"), marking=asked)
    assert report.points == {"weights[2]": 3}
    sheet = {"weights[2]": ["0.27", "0.73", "~"], "weights[1, 1]": "0.98"}
    report = attncli.check(problem(), sheet, marking=asked)
    assert (report.verdict, report.total) == ("incomplete", 2)
    assert "left out: 1 of 3 cells of weights[2]" in attncli.render(report)


def test_only_the_cells_that_are_asked_count() -> None:
    report = attncli.check(
        problem(), with_weight("0.5"), marking={"ask": "weights[2], output[1,1]"}
    )
    assert (report.marking.ask, report.verdict) == (("weights[2]", "output[1,1]"), "incomplete")
    report = attncli.check(problem(), with_weight("0.5"), marking={"ask": ["weights[2]"]})
    assert (report.verdict, report.wrong_steps) == ("correct", [])
    assert "✗ weights" in (page := attncli.render(report))
    assert page.endswith("\ncorrect: 3 numbers\n")
    for name, verdict in {"weights[1, 1]": "wrong", "output[1, 1]": "empty"}.items():
        report = attncli.check(problem(), with_weight("0.5"), marking={"ask": [name]})
        assert report.verdict == verdict
    transposed = {"weights": [["0.5", "0.5"]]}
    report = attncli.check(problem(), transposed, marking={"ask": ["weights[1, 1]"]})
    assert (report.verdict, report.status("weights[1, 1]")) == ("wrong", "wrong")


def test_a_wrong_step_counts_where_a_cell_that_is_asked_follows_from_it() -> None:
    sheet = attncli.load_answers(BO)[0]
    report = attncli.check(attncli.load(SCALED), sheet, marking={"ask": ["output[1, 1]"]})
    assert (report.verdict, report.wrong_steps) == ("wrong", ["scaled"])


def test_a_cell_of_a_step_that_equals_another_may_be_asked() -> None:
    output = attncli.compute(problem())["output"].value
    marking = {"points": {"context[1, 1]": 2, "concat[1]": 1}}
    report = attncli.check(problem(), {"output": output}, marking=marking)
    assert (report.verdict, report.total) == ("correct", 3)


def test_flags_name_cells_though_their_names_have_commas(attn: Attn) -> None:
    flag = ("--points", "scaled[1,1]: 1, output: 3")
    report = json.loads(attn("check", SCALED, BO, *flag, "-f", "json").out)
    assert report["parts"] == {"scaled[1,1]": {"points": 0, "of": 1}}
    assert (report["steps"]["output"]["points"], report["of"]) == (3, 4)
    said = "points: 3 of 4 (scaled[1,1] 0 of 1, output 3 of 3)"
    assert said in attn("check", SCALED, BO, *flag).out
    (row,) = csv.DictReader(io.StringIO(attn("check", SCALED, BO, *flag, "-f", "csv").out))
    assert (row["points_scaled[1,1]"], row["points"]) == ("0", "3")
    asked = attn("check", SCALED, BO, "--ask", "scores[1,1],scores[2]", "-q")
    assert (asked.status, asked.out) == (0, "correct: 4 numbers\n")
    tests = json.loads(
        attn("check", SCALED, BO, "--ask", "scores[1,1],scaled[2],Q[1]", "-f", "gradescope").out
    )["tests"]
    assert [(test["score"], test["output"].splitlines()[0]) for test in tests] == [
        (1, "✓ right"),
        (0, "the first wrong number is scaled[a1, a1]"),
        (0, "not given"),
    ]


def test_variants_are_drawn_where_cells_are_asked(attn: Attn, tmp_path: Path) -> None:
    flags = ("-n", "1", "--seed", "1", "--ask", "weights[1, 1]", "-o", f"{tmp_path}/")
    assert "asked: weights, in 2 decimals" in attn("vary", SCALED, *flags).out


# How it is written


def test_flags_override_the_parts_of_the_file(attn: Attn, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"{SCALED.read_text()}\nmarking: {{decimals: 3, points: {{weights: 4}}}}\n")
    report = json.loads(attn("check", file, BO, "-f", "json").out)
    assert report["steps"]["weights"]["mistake"]["id"] == "too_few_digits"
    assert report["of"] == 4
    report = json.loads(attn("check", file, BO, "-f", "json", "--decimals-asked", "2").out)
    assert report["steps"]["weights"]["mistake"] is None
    assert report["of"] == 4
    report = json.loads(attn("check", file, BO, "-f", "json", "--points", "Z: 2.5").out)
    assert report["of"] == 2.5
    assert attn("check", file, BO, "--tolerance", "9", "--decimals-asked", "0").status == 0


def test_python_takes_a_mapping_or_a_marking() -> None:
    own = problem(marking={"ask": ["weights"], "decimals": 2})
    assert own.marking.ask == ("weights",)
    both = attncli.check(own, {"weights": WEIGHTS}, marking={"points": {"weights": 1}})
    assert (both.marking.ask, both.marking.decimals, both.total) == (("weights",), 2, 1)
    only = attncli.check(own, {"weights": WEIGHTS}, marking=Marking(points={"weights": 1}))
    assert (only.marking.ask, only.marking.decimals) == ((), None)
    assert pickle.loads(pickle.dumps(both)).total == 1
    assert "marking" not in attncli.compute(own).problem.options()


FAULTS = table("marking", "FAULTS")


@pytest.mark.parametrize(("written", "message", "hint"), FAULTS)
def test_what_is_wrong_is_one_clear_sentence(
    written: str, message: str, hint: str, attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(f"X: [[1, 3], [2, 1]]\nscore: dot\nmarking: {written}\n")
    result = attn("check", "p.yaml", BO, cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
    assert hint in result.err


def test_what_is_wrong_with_a_flag_is_told_of_the_flag(attn: Attn) -> None:
    for part, flag in FLAGS.items():
        result = attn("check", SCALED, BO, flag, "wieghts: 3" if part == "points" else "no")
        assert result.status == 2
        assert result.err.startswith(f"{flag}: "), result.err


def test_the_schema_knows_it() -> None:
    properties: Any = attncli.schema()["properties"]
    assert set(properties["marking"]["properties"]) == set(FLAGS) == set(Marking.fields)
