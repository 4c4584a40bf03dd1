"""Answers that people, spreadsheets and programs write otherwise than was thought of."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.check import Report
from attncli.checking.judging.judged_steps import Given, Misshapen
from attncli.core.numbers.last_place import numbers_of
from attncli.printing.formats import FORMATS, ReportSelection
from tests.conftest import SAMPLES, Attn, cases

PLAIN = "{X: [[1, 3, 2], [1, 1, 3], [1, 2, 1]], score: dot}"
SCORES = [[14, 10, 9], [10, 11, 6], [9, 6, 6]]


def problem(**given: Any) -> attncli.Problem:
    words = {"X": [[1, 3, 2], [1, 1, 3], [1, 2, 1]], "score": "dot"}
    return attncli.Problem(**(words | given))


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Return the file of a problem, whose scores are SCORES."""
    path = tmp_path / "plain.yaml"
    path.write_text(PLAIN)
    return path


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
                assert b"".join(row.reports([report], ReportSelection()))
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


def test_a_file_name_that_is_not_utf_8(attn: Attn, plain: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "Zo\udceb.yaml"
    sheet.write_text(f"scores: {SCORES}\n")
    record = json.loads(attn("check", plain, sheet, "-f", "json").out)
    assert record["name"].endswith("Zo\\udceb.yaml")


WIDE = 'name,"scores[1,1]","scores[1,2]"\n'


@pytest.mark.parametrize(
    ("text", "verdicts", "said"),
    [
        (
            f"{WIDE}Ann,0,14,0,43,0,43\nBen,14,10\n",
            ["unreadable", "correct"],
            "2:10: this row has 7 cells, the headings 3",
        ),
        (f"{WIDE}Ben,2,4,5\nAnn,14,10\n", ["unreadable", "correct"], "quote numbers with a comma"),
        (
            "student,step,row,column,value\nAnn,scores,1,1,14\nBen,scores,,2,10\nCy,scores,1,1,14\n",
            ["correct", "unreadable", "correct"],
            ":3:12: this line tells the column of scores, but no row",
        ),
        (
            "student,step,row,column,value\nAnn,scores,1,1,14\nBen,scores,1,1,14\n"
            "Ann,scores,1,1,10\n",
            ["unreadable", "correct"],
            ":4:16: scores[1, 1] is written twice, first in line 2",
        ),
        (
            "student,step,row,column,value\nAnn,,1,1,14\nBen,scores,1,1,14\n",
            ["unreadable", "correct"],
            "this line does not tell of which step",
        ),
        (
            'name,"scroes[1,1]"\nAnn,14\nBen,14\n',
            ["unreadable", "unreadable"],
            ":1:6: scroes[1,1] is not the name of one cell",
        ),
    ],
)
def test_a_table_of_a_class_with_faults(
    attn: Attn, plain: Path, tmp_path: Path, text: str, verdicts: list[str], said: str
) -> None:
    table = tmp_path / "class.csv"
    table.write_text(text)
    result = attn("check", plain, table, "-f", "json")
    assert [json.loads(line)["verdict"] for line in result.out.splitlines()] == verdicts
    assert result.err.count(said) == 1
    assert result.err.count(f"{table}:") == 1  # each fault is told once
    assert result.status == 2


@cases("unusual_sheets", "a_bad_sheet_costs_only_itself")
def test_a_bad_sheet_costs_only_itself(
    attn: Attn, plain: Path, tmp_path: Path, text: str, verdicts: list[str], said: str
) -> None:
    sheets = tmp_path / "sheets.yaml"
    sheets.write_text(text)
    result = attn("check", plain, sheets, "-f", "json")
    assert [json.loads(line)["verdict"] for line in result.out.splitlines()] == verdicts
    assert said in result.err
    with pytest.raises(attncli.InputError):
        attncli.load_answers(sheets)


@cases("unusual_sheets", "a_sheet_that_gives_nothing_is_empty")
def test_a_sheet_that_gives_nothing_is_empty(
    attn: Attn, plain: Path, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    result = attn("check", plain, tmp_path / name)
    assert (result.status, result.err) == (1, "")
    assert "empty: nothing was given" in result.out
    for format_ in ("json", "csv", "markdown", "html"):
        assert "empty" in attn("check", plain, tmp_path / name, "-f", format_).out


def test_nothing_from_python_is_empty() -> None:
    for nothing in ({}, {"student": "Eve"}, {"scores": None}):
        assert check(nothing).verdict == "empty"


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("16/1.73", 16 / 1.725 - 16 / 1.735),
        ("2.7·10^-1", 0.01),
        ("1.83×10^4", 100),
        ("-2.718/10.107", 0.001 / 10.107 + 2.718 * (1 / 10.1065 - 1 / 10.1075)),
        ("1/3", 0),
        ("sqrt(2)", 0),
        ("4/sqrt(3)", 0),
        ("e^2/(e^2 + pi)", 0),
        ("1.5e-2", 0.001),
    ],
)
def test_an_expression_is_as_exact_as_its_decimals(written: str, unit: float) -> None:
    _, units, _ = numbers_of(np.array([[written]], object))
    assert units[0, 0] == pytest.approx(unit, rel=1e-6)


def test_a_quotient_of_rounded_numbers_is_right() -> None:
    """exp(14 − 14), exp(10 − 14) and exp(9 − 14) to four decimals, and their sum."""
    row = ["1.0000/1.0250", "0.0183/1.0250", "0.0067/1.0250"]
    report = check({"weights[1]": row})
    assert (report.verdict, report.counts["correct"]) == ("correct", 3)
    assert check({"weights[1]": [row[1], row[0], row[2]]}).verdict == "wrong"


@pytest.mark.parametrize(("kind", "decimals"), [("f2", 2), ("f4", 2), ("f4", 4)])
def test_short_floats_that_were_rounded_are_decimals(kind: str, decimals: int) -> None:
    weights = attncli.compute(problem())["weights"].value
    rounded = np.round(weights.astype(kind), decimals)
    for given in (list(rounded), [list(row) for row in rounded]):
        report = check({"weights": given})
        assert report.counts["correct"] == 9
        judged = report.steps["weights"]
        assert isinstance(judged, Given)
        assert judged.written.texts[0, 0, 0, 1] == f"{weights[0, 1]:.{decimals}f}".rstrip("0")
        assert judged.written.dtype == ""
    one_off = rounded.copy()
    one_off[0, 0] -= 0.05
    assert check({"weights": one_off}).first_wrong_step == "weights"


def test_float32_with_all_its_digits_is_float32() -> None:
    weights = attncli.compute(problem())["weights"].value.astype("f4")
    for given in (weights, weights.astype(float), weights.tolist()):
        report = check({"weights": given})
        assert (report.verdict, report.dtype) == ("correct", "float32")


@pytest.mark.parametrize("words", ["foo", "n/a", "true", "I do not know", "see page 2"])
def test_words_are_no_matrix_of_any_shape(words: str) -> None:
    said = misread({"scores": words})
    first = words.partition(" ")[0]
    assert said.startswith(f"row 1, column 1 of scores: {first} is not a number")
    assert said.count("is not a number") == 1
    assert "2024-01-01 is a date" in misread({"scores": "2024-01-01"})


@cases("unusual_sheets", "a_matrix_in_a_text")
def test_a_matrix_in_a_text(text: str) -> None:
    assert check({"scores": text}).counts["correct"] == 9
    assert attncli.Problem(X=text).X.tolist() == SCORES  # type: ignore[union-attr]  # it is given


def test_lists_in_a_text_have_commas_between_numbers() -> None:
    assert attncli.Problem(X="[[1,0],[0,1]]").X.tolist() == [[1, 0], [0, 1]]  # type: ignore[union-attr]
    assert "several matrices" in misread({"scores": "[[[14, 10, 9]]]"})


@cases("unusual_sheets", "what_may_have_been_meant")
def test_what_may_have_been_meant(attn: Attn, plain: Path, text: str, said: str) -> None:
    sheet = plain.with_name("sheet.yaml")
    sheet.write_text(f"{text}\n")
    result = attn("check", plain, sheet)
    assert result.status == 2
    assert said in result.err


def test_a_list_with_decimal_commas() -> None:
    judged = check({"weights": [["0", "27", "0", "73", "0", "00"]] * 3}).steps["weights"]
    assert isinstance(judged, Misshapen)
    assert judged.mismatch.fault.hint == "are these decimal commas? write 0.27"


def test_a_step_in_the_corner_of_its_labels(attn: Attn, tmp_path: Path) -> None:
    problem_ = tmp_path / "labelled.yaml"
    problem_.write_text(PLAIN.replace("{X", "{tokens: [a, b, c], X"))
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("scores,c,a,b\nb,6,10,11\na,9,14,10\nc,6,9,6\n")
    result = attn("check", problem_, sheet)
    assert (result.status, result.err) == (0, "")
    sheet.write_text("scores,c,a,b\nb,x,x,x\na,x,x,x\nc,x,x,x\n")
    assert "sheet.csv:2:3: " in attn("check", problem_, sheet).err


def test_truths_in_an_array_are_told_once() -> None:
    said = misread({"scores": np.ones((3, 3), bool)})
    assert "scores holds true and false, not numbers" in said
    assert len(said.splitlines()) == 2


@cases("unusual_sheets", "a_marking_out_of_bounds")
def test_a_marking_out_of_bounds(attn: Attn, plain: Path, marking: str, said: str) -> None:
    plain.write_text(PLAIN.replace("}", f", marking: {{{marking}}}}}"))
    result = attn("check", plain)
    assert result.status == 2
    assert said in result.err
    assert "names no step" in attn("check", plain, "--ask", ",").err


def test_a_marking_from_python_stands_in_no_file(plain: Path) -> None:
    plain.write_text(PLAIN.replace("}", ", marking: {ask: [scores]}}"))
    given = attncli.load(plain)
    with pytest.raises(attncli.InputError, match=r"^there is no step nonsense"):
        attncli.check(given, {"scores": SCORES}, marking={"ask": ["nonsense"]})


@cases("unusual_sheets", "titles_and_comments_of_a_table_are_kept")
def test_titles_and_comments_of_a_table_are_kept(text: str, comment: str, tmp_path: Path) -> None:
    for sign in (",", " "):
        rows = "".join(sign.join(map(str, row)) + "\n" for row in SCORES)
        file = tmp_path / "ada.csv"
        file.write_text(text + rows)
        if sign == " " and "," in text:
            continue
        (sheet,) = attncli.load_answers(file)
        report = attncli.check(problem(), sheet)
        assert report.comment.endswith(comment) if comment else not report.comment
        assert report.comment.startswith("Homework 3") == ("Homework" in text)
        assert report.skipped == ()
        is_blank = text.startswith("Q\n")  # the name of a step without numbers
        assert report.verdict == ("incomplete" if is_blank else "correct")
        assert report.name == ("Ada" if "student" in text else str(file))


def test_rows_of_several_lengths_cost_their_step_alone() -> None:
    right = attncli.compute(problem())
    answers = {"scores": [*SCORES[:-1], SCORES[-1][:-1]], "weights": right["weights"].value}
    report = attncli.check(problem(), answers)
    assert report.steps["weights"].status == "correct"
    finding = report.findings["scores"]
    last, width = len(SCORES), len(SCORES[0])
    assert finding.id == "wrong_shape"
    assert finding.message == (
        f"Row {last} of scores has {width - 1} numbers, but row 1 has {width}."
    )


def test_an_empty_field_for_the_name_is_no_title(tmp_path: Path) -> None:
    file = tmp_path / "ada.csv"
    file.write_text("student,\nscores,,\n" + "".join(",".join(map(str, r)) + "\n" for r in SCORES))
    (sheet,) = attncli.load_answers(file)
    assert (sheet.comment, sheet.name) == ("", str(file))


def test_a_title_of_a_problem_is_still_an_unknown_key(attn: Attn, tmp_path: Path) -> None:
    table = tmp_path / "p.csv"
    table.write_text("Homework 3\nX\n1,0\n0,1\n")
    assert "unknown key Homework 3" in attn("compute", table).err


@pytest.mark.parametrize("kind", ["bmatrix", "array", "tabular"])
def test_beginnings_of_matrices_alone_take_no_time(kind: str, attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text(f"\\begin{{{kind}}}" * 20_000)
    start = time.process_time()
    result = attn("check", SAMPLES / "i_am_good.yaml", tmp_path / "a.tex")
    assert result.status == 2
    assert time.process_time() - start < 5


def test_a_matrix_without_an_end_is_an_error(attn: Attn, tmp_path: Path) -> None:
    matrix = r"\begin{{bmatrix}} {} \end{{bmatrix}}" + "\n\n"
    rows = r"50% & 50\%"  # the first % begins a comment
    (tmp_path / "a.tex").write_text(
        f"weights = {matrix.format(rows)}output = {matrix.format('1 & 2')}"
    )
    result = attn("check", SAMPLES / "i_am_good.yaml", tmp_path / "a.tex")
    assert result.status == 2
    assert r"a.tex:1:11: the matrix has no \end; % begins a comment" in result.err
