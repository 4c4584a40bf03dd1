"""What a report says to a student whose numbers are wrong: worked lines, advice, words."""

from __future__ import annotations

import json

import pytest

import attncli
from attncli.checking.judging.judge import Judge
from attncli.checking.judging.judged_steps import Finding
from attncli.checking.judging.operands import Reference
from attncli.checking.naming.catalogued import mistakes_before
from attncli.checking.naming.hypotheses import short_number
from attncli.core.formulas import tree
from attncli.core.text.strings import small
from attncli.printing.class_report import Tally
from tests.checking.judged_cases import problem_of


@pytest.mark.parametrize("form", ["table", "markdown", "html", "json"])
def test_every_report_shows_the_worked_line(form: str) -> None:
    report = attncli.check(problem_of("whole"), {"scores": "5 5 2; 5 20 8; 2 8 8"})
    page = attncli.render(report, form)
    if form == "json":
        mistake = json.loads(page)["steps"]["scores"]["mistake"]
        assert mistake["worked"] == ["scores[2, 2] = q_2 · k_2 = 3·3 + 1·1 + 1·1 = 11"]
    else:
        assert "= 3·3 + 1·1 + 1·1 = 11" in page


def test_every_sentence_is_filled_in() -> None:
    """What is in braces is given by the change or by the step."""
    trace = attncli.compute(problem_of("whole", {"mask": "causal"}))
    judge = Judge(Reference(trace), {})
    for step in trace:
        for made in mistakes_before(judge, step):
            found = made.finding(step)
            assert "{" not in found.message + found.advice


def test_what_was_done_in_the_step_itself_comes_first() -> None:
    """At equal fit, before what was done in a step that was left out."""
    trace = attncli.compute(problem_of("whole", {"mask": "causal"}))
    judge = Judge(Reference(trace), {})
    places = [found.place.name for found in mistakes_before(judge, trace["weights"])]
    own = places.count("weights")
    assert 0 < own < len(places)
    assert places[:own] == ["weights"] * own


def test_what_else_gives_the_numbers_is_said_with_its_step() -> None:
    other = Finding("b", "The scale was left out.", "", "In scaled")
    assert list(Finding("a", "", "", also=(other,)).others) == [
        "Another mistake, in scaled, gives the same numbers: the scale was left out."
    ]


def test_one_answer_is_counted_as_one() -> None:
    report = attncli.check(problem_of("whole"), {"scores": "5 5 2; 5 11 8; 2 8 8"})
    tally = Tally()
    for lines in ("1 answer: 1 correct, 0 wrong", "2 answers: 2 correct, 0 wrong"):
        tally.add(report)
        assert next(tally.lines()) == lines


def test_numbers_and_words_in_sentences() -> None:
    numbers = (-0.0, 1 / 3, -2 / 3, 0.15, 2.4, 12.345678, 1e-5, 14.0)
    assert list(map(short_number, numbers)) == [
        "0", "1/3", "-2/3", "0.15", "2.4", "12.3457", "1e-05", "14",
    ]  # fmt: skip
    assert [tree.Omitted(count).words for count in (1, 2)] == ["1 more term", "2 more terms"]
    assert small("A difference was taken.") == "a difference was taken."


def test_the_reason_of_a_sum_is_a_sentence() -> None:
    trace = attncli.compute(attncli.Problem(scores=[[1, 0]], V=[[1], [2]]))
    assert trace["sum"].why == (
        "The numbers are divided by this sum, so that they become shares of 1."
    )
