"""Quizzes for Moodle, read by a reader that is written from Moodle's grammar."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.checking.judging.agreement import RoundingRule
from attncli.core.records import replace
from attncli.pages import moodle
from attncli.pages.answer_table import WrongNumbers, wrong_numbers
from attncli.printing.selection import WorksheetSelection
from attncli.printing.worksheet import room_of
from tests.conftest import SAMPLES, Attn
from tests.support.moodle_quiz import PROBLEMS, Cell, Judges, cells_of, judges_of, quiz_of
from tests.support.moodle_reader import Question, read_cloze, read_quiz

X = [[1, 3, 2], [1, 1, 3], [1, 2, 1]]


def problem_of(**keys: Any) -> attncli.Problem:
    return attncli.Problem(**{"X": X, "score": "dot", **keys})


def quiz(problem: attncli.Problem, **options: object) -> Question:
    (question,) = quiz_of([problem], **options)
    return question


def cells_asked(problem: attncli.Problem, step: str) -> list[Cell]:
    """Return the cells of a step that the quiz of a problem asks for."""
    every = cells_of(attncli.compute(problem), quiz(problem))
    return [cell for cell in every if cell.step.name == step]


def shown(feedback: str) -> str:
    """Return what a browser shows of feedback."""
    return "".join(ElementTree.fromstring(f"<p>{feedback}</p>").itertext())


# The reader, by the examples of Moodle's documentation


def test_reader_on_the_documented_example() -> None:
    text = r"""Match the cities: {1:SHORTANSWER:Wrong answer#Feedback for this wrong answer~=Correct
    answer#Feedback for correct answer~%50%Answer that gives half the credit#Feedback for half}
    and a number {2:NUMERICAL:=23.8:0.1#Feedback for 23.8~%50%23.8:2#Feedback for half} or
    {:SA:=A \} and a \# &amp; a ~%25%caf*#&lt;b&gt;No\}&lt;/b&gt; #1}."""
    rest, (words, number, odd) = read_cloze(text)
    assert re.findall(r"\{.*?\}", rest) == ["{#1}", "{#2}", "{#3}"]
    assert words.judge("wrong answer") == (0, "Feedback for this wrong answer")
    shares = {text: number.judge(text)[0] for text in ("23,8", "23.9 kg", "25.8", "21.7", "")}
    assert shares == {"23,8": 1, "23.9 kg": 1, "25.8": 0.5, "21.7": 0, "": 0}
    assert (number.weight, odd.weight) == (2, 1)
    assert odd.judge("a } and a # & a ") == (0, "")  # Moodle trims responses, not answers
    assert odd.judge("Café au lait") == (0.25, "<b>No}</b> #1")


def test_moodle_reads_the_number_before_a_fraction() -> None:
    _, (field,) = read_cloze("{1:NUMERICAL:=1:0}")
    assert field.judge("1/3") == (1, "")  # hence the sentence on the page
    assert "0.33 for 1/3" in quiz(attncli.Problem(X=X)).words


# Judged as `attn check` judges

TYPICAL = (0, 4, 6, 8, 10)
"""Problems without more, with few digits, with heads and points, with a mask, and recurrent."""

each_problem = pytest.mark.parametrize(
    "which",
    [
        pytest.param(number, marks=[] if number in TYPICAL else [pytest.mark.whole])
        for number in range(len(PROBLEMS))
    ],
)


@each_problem
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_any_number_is_judged_as_check_judges_it(which: int, data: st.DataObject) -> None:
    judges = judges_of(which)
    cell = data.draw(st.sampled_from(judges.cells))
    middle = cell.right if np.isfinite(cell.right) else 0.0
    off = data.draw(st.floats(-3, 3)) * judges.tolerance
    decimals = data.draw(st.integers(0, judges.digits + 3))
    outcome = judges.judge(cell, f"{middle + off:.{decimals}f}")
    assert outcome is None or outcome.is_same


@each_problem
def test_every_mistake_that_shows_gives_its_sentence(which: int) -> None:
    judges = judges_of(which)
    trace, digits = judges.key.trace, judges.digits
    asked = {cell.step.name for cell in judges.cells}
    given = trace.steps.keys() - room_of(trace, WorksheetSelection()).blank
    told = 0
    for one in wrong_numbers(trace, asked | given, digits):
        for cell in judges.cells:
            if cell.step.name == one.step and np.isfinite(one.numbers[cell.at]):
                rounded = RoundingRule(digits)(one.numbers[cell.at])  # a half up, as students do
                share, feedback = cell.field.judge(f"{rounded:.{digits}f}")
                assert share == 1 or one.sentence in shown(feedback)
                told += share < 1
    assert told >= len(judges.cells)


def test_large_numbers_of_a_matrix_do_not_widen_the_others() -> None:
    problem = attncli.load(SAMPLES / "integers_columns.yaml").marked({"decimals": 2})
    judges = Judges(problem)
    (cell,) = (one for one in judges.cells if one.step.name == "exp" and one.at == (1, 0))
    assert judges.key.trace["exp"].value.max() > 1e6  # e¹⁶
    outcome = judges.judge(cell, "54.61")
    assert outcome is not None
    assert outcome.share == outcome.expected == 0


def test_report_names_the_mistake_that_the_feedback_names() -> None:
    problem = attncli.load(SAMPLES / "i_am_good.yaml").marked({"decimals": 2})
    found = wrong_numbers(attncli.compute(problem), ["weights"], 2)
    (mistake,) = [one for one in found if one.id == "softmax_over_queries"]
    report = attncli.check(problem, {"weights": mistake.numbers.round(2).tolist()})
    said = report.findings["weights"].sentence(solution=False)
    cells = Judges(problem.marked({"ask": ["weights"]})).cells
    told = [cell.field.judge(f"{mistake.numbers[cell.at]:.2f}") for cell in cells]
    assert [share for share, _ in told].count(0) == 6  # the others are right in two decimals
    assert all(said in feedback for share, feedback in told if share == 0)


def test_feedback_does_not_tell_the_right_number() -> None:
    for cell in Judges(attncli.load(SAMPLES / "score_additive.yaml")).cells:
        right = f"{cell.right:.3f}"
        assert not any(right in one.feedback for one in cell.field.answers)


def test_blocked_cells_are_words() -> None:
    problem = attncli.load(SAMPLES / "mask_causal.yaml")
    field = next(one for one in quiz(problem).fields if one.is_of_words)
    for response in ("-inf", " -INF", "-infinity", "−∞", "-oo", "−inf"):
        assert field.judge(response)[0] == 1
    feedback = [one.feedback for one in field.answers if one.share == 0]
    assert "The mask was not applied." in feedback[0]
    assert field.judge("0")[0] == field.judge("inf")[0] == 0


def test_few_digits_earn_their_share() -> None:
    problem = problem_of(marking={"decimals": 2, "few_digits": 0.25})
    cell = next(one for one in cells_asked(problem, "weights") if one.at == (1, 1))
    assert round(cell.right, 4) == 0.7275
    assert cell.field.judge("0.73") == (1, "")
    share, feedback = cell.field.judge("0.7")
    assert (share, feedback) == (0.25, "Write 2 decimals; keep more of them until the last step.")


def test_rounded_steps_may_be_written_unrounded_too() -> None:
    rounded = {"round": {"decimals": 1}, "marking": {"decimals": 2}}
    problem = problem_of(X=[[1, 0.3], [0.2, 1]], score="scaled_dot", **rounded)
    trace = attncli.compute(problem)
    assert trace.unrounded is not None
    for cell in cells_of(trace, quiz(problem)):
        number = trace.unrounded[cell.step.name].value[cell.at]
        assert cell.field.judge(f"{number:.2f}") == cell.field.judge(f"{cell.right}") == (1, "")


def test_the_largest_score_may_be_subtracted() -> None:
    first = cells_asked(problem_of(), "exp")[0]
    assert first.field.judge("1") == (1, "")  # e^(14 − 14)


@pytest.mark.parametrize(("ask", "share"), [(["scores"], 1), (["scores", "scaled"], 0)])
def test_scores_may_be_scaled_where_only_they_are_asked(ask: list[str], share: int) -> None:
    problem = problem_of(score="scaled_dot", marking={"ask": ask, "decimals": 2})
    first = cells_asked(problem, "scores")[0]
    assert first.right == 14
    assert first.field.judge("14")[0] == 1
    assert first.field.judge("8.08")[0] == share  # 14/√3


# What a teacher sees


@pytest.mark.usefixtures("small_pool")
def test_a_quiz_of_variants_has_a_question_for_each(tmp_path: Path, attn: Attn) -> None:
    source, target = SAMPLES / "i_am_good.yaml", tmp_path / "quiz.xml"
    attn("vary", source, "-n", "3", "--ask", "weights,output", "-o", f"{tmp_path}/v/")
    result = attn("worksheet", *sorted((tmp_path / "v").iterdir()), "-o", target)
    assert result.status == 0, result.err
    questions = read_quiz(target.read_bytes())
    names = [question.name for question in questions]
    assert names == [f"Variant {number}: I am good" for number in (1, 2, 3)]
    assert {question.category for question in questions} == {("$course$", "top", "I am good")}
    assert len({question.text for question in questions}) == 3
    assert {len(question.fields) for question in questions} == {18}  # 9 weights, 9 of the output


def test_a_category_for_each_problem_and_names_of_students() -> None:
    problems = [
        problem_of(title=title, problem=number, variant=variant, student=student)
        for variant, student in (("2", "Ada Lovelace"), ("11", "Bo <K/O>"))
        for number, title in (("1", "Warm/up"), ("2", ""))
    ]
    questions = quiz_of(problems)
    assert [(question.category[-1], question.name) for question in questions] == [
        ("Problem 1: Warm/up", "Variant 2: Ada Lovelace: Problem 1: Warm/up"),
        ("Problem 1: Warm/up", "Variant 11: Bo ‹K/O›: Problem 1: Warm/up"),
        ("Problem 2", "Variant 2: Ada Lovelace: Problem 2"),
        ("Problem 2", "Variant 11: Bo ‹K/O›: Problem 2"),
    ]
    marking = {"ask": ["scores"]}
    ten = quiz_of([problem_of(X=[[1]], variant=str(n), marking=marking) for n in range(1, 11)])
    assert [one.name for one in ten[8:]] == ["Variant 09: Attention", "Variant 10: Attention"]
    several = quiz_of([problem_of().numbered(n) for n in (1, 2)])
    assert [one.category[-1] for one in several] == ["Problem 1", "Problem 2"]
    assert quiz(problem_of()).category[-1] == "Attention"


HOSTILE = (
    *("{1:NUMERICAL:=5:1}", "{#1}", "a~b}c#d=e\\", '<b>"x"</b> & &amp; ]]>', "$x$ \\(y\\) {{2}}"),
    *("/slash//", "日本 עברית"),
)


@pytest.mark.parametrize("words", HOSTILE)
def test_texts_survive(words: str) -> None:
    question = quiz(problem_of(title=words, notes=words, tokens=[words, "b", "c"], problem=words))
    assert question.words.count(words) >= 2  # the title and the notes
    names = [table.heads for table in question.tables if table.name == "weights"]
    assert re.sub("[\u2068\u2069]", "", names[0][0]) == words
    assert len(question.fields) == 9 + 9 + 3 + 9 + 9
    assert question.category[-1].startswith("Problem")


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12))
@settings(max_examples=25, deadline=None)
def test_any_title_can_be_imported(words: str) -> None:
    question = quiz(problem_of(X=[[1]], title=words, marking={"ask": ["scores"]}))
    assert len(question.fields) == 1
    assert len(question.category) == 3


def test_feedback_with_the_signs_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "<i>~50%} {1:SA:=x} \\"
    made = wrong_numbers

    def hostile(*arguments: Any) -> list[WrongNumbers]:
        return [replace(one, sentence=said, advice="\\") for one in made(*arguments)]

    monkeypatch.setattr(moodle, "wrong_numbers", hostile)
    fields = quiz(problem_of()).fields
    assert len(fields) == 39
    feedback = [one.feedback for field in fields for one in field.answers if "50%" in one.feedback]
    assert feedback
    assert all(said in shown(one) for one in feedback)


def test_points_are_weights() -> None:
    marking = {"points": {"weights": 4, "output[am]": 1.5}, "decimals": 2}
    problem = problem_of(tokens="I am good", marking=marking)
    question = quiz(problem)
    worth = {
        step: [cell.field.weight for cell in cells_asked(problem, step)]
        for step in ("scores", "exp", "weights", "output")
    }
    assert worth["weights"] == [8] * 9  # 4/9 points each
    assert worth["output"] == [9] * 3  # 1.5/3
    assert worth["scores"] == worth["exp"] == []
    assert question.grade == "5.5"
    assert sum(map(sum, worth.values())) == question.worth == 18 * 5.5


def test_only_what_counts_is_asked() -> None:
    problem = problem_of(marking={"ask": ["weights[1]", "scaled"]})
    question = quiz(problem)
    assert [table.name for table in question.tables] == ["scores", "weights"]  # scale is 1
    assert [np.count_nonzero(table.numbers) for table in question.tables] == [9, 3]
    assert quiz(problem, blank="weights").worth == 3
    with pytest.raises(attncli.InputError, match="no number that counts is open"):
        quiz(problem, give=["weights", "scores"])


def test_the_format_is_that_of_worksheets_alone(attn: Attn) -> None:
    named = attn("worksheet", SAMPLES / "i_am_good.yaml", "-f", "moodle", "--blank", "weights")
    assert named.status == 0, named.err
    (question,) = read_quiz(named.out.encode())
    assert len(question.fields) == 9
    assert attn("compute", SAMPLES / "i_am_good.yaml", "-f", "moodle").status == 2
