"""What reports show beside the numbers: roundings, other ways, comments; and hostile words."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.judging.judged_steps import LAST_DIGIT, WRONG, Compared
from attncli.classroom.grading import Unread
from attncli.core.records import replace
from attncli.core.text.strings import visible
from attncli.printing.formats import ReportSelection, render
from attncli.printing.grades import as_csv
from attncli.printing.layout import plain_text
from attncli.printing.table import report_lines
from attncli.printing.verdicts import last_digits, verdict
from attncli.reading.document import submission_of
from tests.conftest import SAMPLES, Attn, in_terminal

SCALED = SAMPLES / "integers_scaled.yaml"
DORA = SAMPLES / "answers" / "dora.yaml"
SCORES = [[14, 10, 9], [10, 11, 6], [9, 6, 6]]


def problem(**given: Any) -> attncli.Problem:
    words = {"X": [[1, 3, 2], [1, 1, 3], [1, 2, 1]], "score": "dot"}
    return attncli.Problem(**(words | given))


# What was skipped, and what is not a number


ODD = """
dk: 2
date: today
wieghts: [[1, 2], [3, 4]]
scores: [[2, idk, 4], ["=A1+B2", 16, 12], [4, 12, 10]]
"""


@pytest.mark.parametrize("form", ["table", "markdown", "html", "feedback"])
def test_what_was_skipped_and_what_is_no_number_is_said(
    form: str, attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "Eve.yaml").write_text(ODD)
    flags = ("--feedback", tmp_path) if form == "feedback" else ("-f", form)
    result = attn("check", SCALED, tmp_path / "Eve.yaml", *flags)
    page = result.out if form != "feedback" else next(tmp_path.glob("*Eve*.html")).read_text()
    page = unescape(page).replace("\\", "")
    assert result.status == 1
    skipped = "skipped: dk, date (no steps of this problem), wieghts (did you mean weights?)"
    assert page.count(skipped) == 1
    assert page.count("scores[a1, a2]: idk is not a number") == 1
    assert "scores[a2, a1]: =A1+B2 is a formula of a spreadsheet; paste as values" in page
    assert "usual mistake" not in page


def test_json_has_what_was_skipped_and_why_a_cell_is_no_number(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ODD)
    report = json.loads(attn("check", SCALED, tmp_path / "a.yaml", "-f", "json").out)
    assert report["skipped"] == [
        {"key": "dk", "hint": ""},
        {"key": "date", "hint": ""},
        {"key": "wieghts", "hint": "did you mean weights?"},
    ]
    cells = {(cell["row"], cell["col"]): cell for cell in report["steps"]["scores"]["cells"]}
    assert cells[0, 1]["status"] == "wrong"
    assert (cells[0, 1]["given"], cells[0, 1]["message"]) == ("idk", "idk is not a number")


def test_no_mistake_is_named_where_only_cells_that_are_no_numbers_are_wrong() -> None:
    report = attncli.check(problem(), {"scores": [[14, 10, 9], [10, "n/a", 6], [9, 6, 6]]})
    assert (report.verdict, report.findings) == ("wrong", {})
    assert "\n  scores[2, 2]: n/a is not a number\n" in attncli.render(report)


def test_many_keys_that_were_skipped_are_counted() -> None:
    answers = {f"note{n}": "x" for n in range(20)} | {"scores": SCORES}
    page = attncli.render(attncli.check(problem(), answers))
    assert "note10, note11 and 8 more (no steps of this problem)" in " ".join(page.split())


# Numbers that were rounded on the way


def test_a_rounding_on_the_way_is_said_in_every_report(attn: Attn) -> None:
    result = attn("check", SCALED, DORA)
    assert result.status == 0
    heading = "≈ scaled = scores / √d_k   √d_k = √3 = 1.7321\n"
    assert f"{heading}  right, with √3 taken as 1.73\n\n✓ weights" in result.out
    assert result.out.endswith("\ncorrect: 36 numbers, 9 of them rounded early\n")
    markdown = attn("check", SCALED, DORA, "-f", "markdown").out
    assert "## ≈ scaled\n\nright, with √3 taken as 1.73\n" in markdown
    assert "<p>≈ right, with √3 taken as 1.73</p>" in attn("check", SCALED, DORA, "-f", "html").out
    report = json.loads(attn("check", SCALED, DORA, "-f", "json").out)
    scaled = report["steps"]["scaled"]
    assert (scaled["status"], scaled["rounding"]) == ("rounded_early", "√3 taken as 1.73")
    assert "rounding" not in report["steps"]["weights"]
    (row,) = csv.DictReader(io.StringIO(attn("check", SCALED, DORA, "-f", "csv").out))
    assert (row["verdict"], row["rounded_early"]) == ("correct", "9")


def test_strictly_a_rounding_on_the_way_is_what_is_wrong(attn: Attn) -> None:
    said = "wrong, first at scaled (rounded early: √3 taken as 1.73)"
    result = attn("check", SCALED, DORA, "--strict")
    assert result.status == 1
    assert "✗ scaled" in result.out
    assert "  a1 ⎡1.156 ≈  2.312 ≈  2.312 ≈⎤" in result.out
    assert "\n  rounded early: √3 taken as 1.73\n" in result.out
    assert "right, with" not in result.out
    assert result.out.endswith(f"\n{said}\n")
    html = attn("check", SCALED, DORA, "--strict", "-f", "html").out
    assert f"✗ Dora: {said}" in html
    assert "<p>✗ rounded early: √3 taken as 1.73</p>" in html
    (row,) = csv.DictReader(io.StringIO(attn("check", SCALED, DORA, "--strict", "-f", "csv").out))
    assert (row["mistake"], row["message"]) == ("", "rounded early: √3 taken as 1.73")


def test_beside_a_wrong_number_it_is_said_how_many_were_rounded() -> None:
    scaled = attncli.load(SCALED)
    (sheet,) = attncli.load_answers(DORA)
    rows = [*sheet.matrices["scaled"][:2], ["2.312", "6.936", "7.780"]]
    page = render(attncli.check(scaled, {**sheet.matrices, "scaled": rows}))
    assert "numbers are right, with √3 taken as 1.73" in page


# Verdicts


@pytest.mark.parametrize(
    ("answers", "strict", "said"),
    [
        ({"weights[1, 1]": "0.98"}, False, "correct: 1 number"),
        ({"weights[1, 1]": "0.97"}, False, "correct: 1 number, off in the last digit"),
        ({"weights[1, 1]": "0.97"}, True, "wrong, first at weights (off in the last digit)"),
        (
            {"weights": [["0.97", "~", "~"], ["~"] * 3, ["0.90", "0.05", "~"]]},
            False,
            "correct: 3 numbers, 2 of them off in the last digit",
        ),
        (
            {"weights": [["0.97", "~", "~"], ["~"] * 3, ["0.90", "~", "~"]]},
            False,
            "correct: 2 numbers, all of them off in the last digit",
        ),
        ({"scores": [["~"] * 3] * 3}, False, "empty: nothing was given"),
        ({"scores": [[1, 2]]}, False, "wrong, first at scores"),
    ],
)
def test_verdicts_are_sentences(answers: dict[str, Any], strict: bool, said: str) -> None:
    assert verdict(attncli.check(problem(), answers, strict)) == said


def test_one_is_no_plural() -> None:
    one = attncli.Problem(X=[[3]], score="dot")
    page = render(attncli.check(one, {"scores": [["~"]], "output": [[3]]}))
    assert "_ left out: 1 of 1 cell of scores\n" in page
    both = render([attncli.check(one, {"output": [[3]]})], "csv")
    assert both.count("\n") == 2


def test_an_empty_sheet_is_neither_right_nor_wrong(attn: Attn, tmp_path: Path) -> None:
    nil = tmp_path / "nil.yaml"
    nil.write_text("student: Nil\nscores: [[~, ~, ~], [~, ~, ~], [~, ~, ~]]\n")
    result = attn("check", SCALED, nil)
    assert (result.status, result.err) == (1, "")
    assert result.out.endswith("_ left out: 9 of 9 cells of scores\n\nempty: nothing was given\n")
    assert json.loads(attn("check", SCALED, nil, "-f", "json").out)["verdict"] == "empty"
    several = (SAMPLES / "answers" / name for name in ("ada.json", "bo.yaml"))
    result = attn("check", SCALED, *several, nil)
    assert "– Nil  empty: nothing was given\n" in result.out
    assert "3 answers: 1 correct, 1 wrong, 1 empty\n" in result.out
    (row,) = csv.DictReader(io.StringIO(attn("check", SCALED, nil, "-f", "csv").out))
    assert row["verdict"] == "empty"
    assert "– Nil: empty" in attn("check", SCALED, nil, "-f", "html").out
    assert "**empty: nothing was given**" in attn("check", SCALED, nil, "-f", "markdown").out


# What is said once


def test_another_way_and_a_comment_are_said_near_the_top(attn: Attn, tmp_path: Path) -> None:
    sheet = tmp_path / "eva.yaml"
    scaled = attncli.compute(attncli.load(SCALED))["scaled"].value.round(3).tolist()
    comment = "I left out the scores.\nSee *page 2*."
    sheet.write_text(json.dumps({"student": "Eva", "comment": comment, "scores": scaled}))
    said = "scores holds the scaled scores."
    lines = attn("check", SCALED, sheet).out.splitlines()
    assert lines[1:6] == ["  “I left out the scores.”", "  “See *page 2*.”", "", said, ""]
    markdown = attn("check", SCALED, sheet, "-f", "markdown").out
    assert f"> I left out the scores.\\\n> See \\*page 2\\*.\n\n{said}\n" in markdown
    html = attn("check", SCALED, sheet, "-f", "html").out
    assert html.index(f"<p>{said}</p>") < html.index("<section")
    assert '<p class="notes" dir="auto">“See *page 2*.”</p>' in html
    report = json.loads(attn("check", SCALED, sheet, "-f", "json").out)
    assert (report["said"], report["comment"]) == ([said], comment)
    (row,) = csv.DictReader(io.StringIO(attn("check", SCALED, sheet, "-f", "csv").out))
    assert (row["said"], row["comment"]) == (said, "I left out the scores. See *page 2*.")
    assert (
        "Eva says: “I left out the scores. See *page 2*.”" in attn("check", SCALED, sheet, DORA).out
    )


# Words of students


HOSTILE = [
    *("a|b", "`code`", "<script>alert(1)</script>", "[x](http://y)", "*b* _i_", "$x$ $$y$$"),
    *("back\\slash \\| end\\", "two\nlines", "# heading", "&amp; &lt; &#124;", "- item", "1. one"),
    *(
        "=1+1",
        "+1",
        "-1",
        "@x",
        "\t=1",
        "\r=1",
        "＝1",
        " =1",
        "|",
        "||",
        "~~x~~",
        "> quote",
        ":smile:",
    ),
    *(
        "|---|---|",
        "```",
        "\u202eright",
        "\x1b[31m",
        "![i](j)",
        "<!-- c -->",
        "***",
        "---",
        "a\r\nb",
    ),
]
WORDS = st.sampled_from(HOSTILE) | st.text(
    alphabet=st.sampled_from("|`<>[]()*_$\\#&;!~=+-@:\n\r\t aé1."), min_size=1, max_size=12
)


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table, by the one rule of it: a bar that is not escaped."""
    cells, escaped = [""], False
    for sign in line.strip():
        if sign == "|" and not escaped:
            cells.append("")
        else:
            cells[-1] += sign
        escaped = sign == "\\" and not escaped
    assert cells[0] == cells[-1] == "", line
    return [cell.strip() for cell in cells[1:-1]]


def tables_of(text: str) -> Iterator[list[list[str]]]:
    for block in text.split("\n\n"):
        if block.startswith("|"):
            yield [cells_of(line) for line in block.splitlines()]


def shown(markdown: str) -> str:
    """Return what a reader sees of Markdown, with blanks as one."""
    page = str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))
    return " ".join(unescape(re.sub(r"<[^>]*>", "", page)).split())


def plain(words: str) -> str:
    return " ".join(visible(words).split())


KEY = AnswerKey(problem(title="a | *title*"))


def graded(name: str, comment: str = "") -> Report:
    sheet = submission_of({"student": name, "comment": comment, "scores": [[14, 9, 9]] * 3}, "x")
    return KEY.check(sheet)


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, min_size=2, max_size=4), WORDS)
def test_words_of_students_break_no_table_of_a_class(names: list[str], comment: str) -> None:
    reports: list[Any] = [graded(name, comment) for name in names]
    reports.append(Unread(names[0], attncli.InputError(attncli.Fault(comment))))
    text = render(reports, "markdown")
    (rows,) = tables_of(text)
    assert {len(row) for row in rows} == {5}  # one of them has no title
    assert len(rows) == len(reports) + 2
    said = [report.name for report in reports]
    for row, name in zip(rows[2:], said, strict=True):
        assert shown(row[0]) == plain(name)
    page = str(MarkdownIt("commonmark").enable("table").render(text))
    matches = re.findall("<tr>.*?</tr>", page, re.DOTALL)
    assert [len(re.findall("<t[dh]", row)) for row in matches] == [5] * (len(reports) + 1)
    assert not re.search("<(script|a|em|strong|h[1-6]|img|blockquote)[ >]", page)


@settings(max_examples=30, deadline=None)
@given(WORDS, WORDS)
def test_words_of_students_are_shown_as_they_are_in_a_report(name: str, comment: str) -> None:
    report = graded(name, comment)
    name, text = report.name, render(report, "markdown")
    page = str(MarkdownIt("commonmark").enable("table").render(text))
    (heading,) = re.findall("<h1>(.*?)</h1>", page, re.DOTALL)
    assert " ".join(unescape(re.sub(r"<[^>]*>", "", heading)).split()) == plain(name)
    assert not re.search("<(script|a|em|h3|img|ol|hr|code><)[ >]", page)
    (table,) = tables_of(text)
    assert {len(row) for row in table} == {3}
    html = render(report, "html")
    root = ElementTree.fromstring(html.partition("\n")[2])
    said = "".join(root.find(".//p[@class='verdict']").itertext())  # type: ignore[union-attr]
    assert said.startswith(f"✗ {visible(name)}: ")


@settings(max_examples=60, deadline=None)
@given(WORDS, WORDS)
def test_no_word_of_a_student_is_a_formula_to_a_spreadsheet(name: str, comment: str) -> None:
    text = b"".join(as_csv([graded(name, comment)], ReportSelection())).decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert len(row) == 14
    for cell in row.values():
        assert not cell.lstrip().startswith(tuple("=+-@＝＋－＠")), cell
        assert cell.isprintable()


def test_cells_and_labels_with_marks_are_shown_as_they_are() -> None:
    words = ["a|b", "*c* `d`", "<i>$x$</i>"]
    labelled = problem(tokens=words)
    texts = [["1/3", "10", "9"], ["10", "sqrt(4)*3", "6"], ["9", "6", "2*3*5"]]
    text = render(attncli.check(labelled, {"scores": texts}), "markdown")
    (table,) = tables_of(text)
    assert {len(row) for row in table} == {3}
    assert [shown(row[1]) for row in table[2:]] == ["1/3 ✗", "sqrt(4)*3 ✗", "2*3*5 ✗"]
    assert not re.search("<(em|i)>", str(MarkdownIt("commonmark").render(text)))


# Last digits


def test_a_last_digit_is_that_of_the_numbers_it_was_judged_by() -> None:
    """The student's own where those lead to it, with the unit of the matrix."""
    trace = attncli.compute(problem())
    scores = [[14, 10, 9], [10, 20, 6], [9, 6, 6]]
    weights = [["0.98", "0.02", "0"], ["0", "0.99", "0"], ["0.91", "0.05", "0.05"]]
    report = attncli.check(problem(), {"scores": scores, "weights": weights})
    judged = report.steps["weights"]
    assert isinstance(judged, Compared)
    codes = np.full_like(judged.codes, LAST_DIGIT)
    said = list(last_digits(replace(judged, codes=codes)))
    assert "weights[2, 2] is 0.99, should be 1.00" in said
    assert trace["weights"].value[1, 1] < 0.74
    assert "weights[1, 3] is 0, should be 0.01" in said


def test_last_digits_are_not_told_beside_what_went_wrong() -> None:
    report = attncli.check(problem(), {"scores": [[41, 10, 9], *SCORES[1:]]})
    judged = report.steps["scores"]
    codes = judged.codes.copy()
    codes[..., 2, 2] = LAST_DIGIT
    near = replace(report, steps={**report.steps, "scores": replace(judged, codes=codes)})
    assert "scores" in near.findings
    assert "last digit" not in render(near)
    assert "last digit" in render(replace(near, findings={}))


# A class in HTML


def test_a_class_page_keeps_the_order_and_begins_with_a_summary(attn: Attn, tmp_path: Path) -> None:
    bad = [tmp_path / f"bad{n}.yaml" for n in range(3)]
    for path in bad:
        path.write_text("nothing: [[1]]\n")
    ada, bo = (SAMPLES / "answers" / name for name in ("ada.json", "bo.yaml"))
    points = ("--points", "weights: 4")
    page = attn("check", SCALED, bad[0], bo, bad[1], ada, bad[2], *points, "-f", "html").out
    said = re.findall(r'<p class="verdict" dir="auto">(.) (\S+):', page)
    assert [sign for sign, _ in said] == list("?✗?✓?")
    assert [name for _, name in said if name in ("Bo", "Ada")] == ["Bo", "Ada"]
    top = page.partition('class="verdict"')[0]
    assert "<p>5 answers: 1 correct, 1 wrong, 3 could not be read</p>" in top
    for line in (
        "points: 4 of 4 on average",
        "commonest mistakes: 1 × scaled_by_d_k",
        "first wrong step: 1 × scaled",
    ):
        assert f"<p>{line}</p>" in top
    ElementTree.fromstring(page.partition("\n")[2])
    assert "answers:" not in attn("check", SCALED, bo, "-f", "html").out
    assert attn("check", SCALED, *bad, "-f", "html").out.count("could not be read") == 1


# What is left out


def test_a_long_name_widens_no_table() -> None:
    reports = [
        replace(attncli.check(problem(), {"scores": SCORES}), name=name)
        for name in ("Ada", "b" * 100_000)
    ]
    for form in ("table", "markdown"):
        page = render(reports, form)
        assert len(page) < 2000
        assert f"{'b' * 19}…{'b' * 20} " in page
    assert "b" * 100_000 in render(reports, "csv")


def test_numbers_that_are_the_same_in_the_written_digits_are_not_shown_twice() -> None:
    scores = [[14, 10, 9], [10, "11.01", 6], [9, 6, 6]]
    for text, shows in (("0.5", False), ("0.50000", True)):
        weights = [["0.98", "0.02", "0.01"], ["0.27", text, "0.00"], ["0.91", "0.05", "0.05"]]
        report = attncli.check(problem(), {"scores": scores, "weights": weights})
        assert report.steps["weights"].has(WRONG)
        page = render(report).partition("weights =")[2]
        assert "right" in page
        assert ("from your numbers" in page) == shows


# Sentences on a terminal


def test_sentences_are_as_wide_as_the_terminal_and_tables_as_they_were() -> None:
    sheet = {"scores": [[14, 10, 9], [10, 11, 6], [9, 6, 7]]}
    report = replace(attncli.check(problem(), sheet), comment="I am not sure. " * 20)
    shown = {}
    for width in (None, 44):
        (page,) = report_lines([report], ReportSelection(), width)
        shown[width] = [plain_text(line) for line in page]
    assert max(map(len, shown[44])) <= 44 < max(map(len, shown[None]))
    assert " ".join(" ".join(shown[44]).split()) == " ".join(" ".join(shown[None]).split())
    assert [line for line in shown[44] if line[2:3] in "⎡⎢⎣"][:3] == [
        line for line in shown[None] if line[2:3] in "⎡⎢⎣"
    ][:3]


@pytest.mark.parametrize("width", [80, 90, 100])
def test_the_verdicts_of_a_class_start_in_one_column(width: int) -> None:
    sheets = sorted((SAMPLES / "answers").iterdir())
    result = in_terminal("check", SAMPLES / "integers_scaled.yaml", *sheets, columns=width)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", result.out).partition("\n\n")[0].splitlines()
    starts = {re.search("  (correct|wrong)", line).start() for line in lines if line[0] in "✓✗"}  # type: ignore[union-attr]
    assert len(starts) == 1
    assert max(map(len, lines)) <= width


# What is said once


def test_many_numbers_that_were_cut_off_are_said_once(attn: Attn, tmp_path: Path) -> None:
    weights = attncli.compute(problem())["weights"].value
    texts = [[f"{np.floor(x * 1000) / 1000:.3f}" for x in row] for row in weights]
    report = attncli.check(problem(), {"weights": texts})
    cut = report.steps["weights"].counts["last_digit"]
    assert cut > 3
    said = f"{cut} numbers were cut off after 3 decimals, not rounded"
    assert f"{said}, such as weights[" in attncli.render(report)
    (tmp_path / "hw.yaml").write_text("X: [[1, 3, 2], [1, 1, 3], [1, 2, 1]]\nscore: dot\n")
    (tmp_path / "Ada.json").write_text(json.dumps({"weights": texts}))
    attn("check", "hw.yaml", "Ada.json", "--feedback", "out", cwd=tmp_path)
    assert f"{said}</p>" in (tmp_path / "out" / "Ada.json.html").read_text()


def test_a_number_that_the_named_mistake_gives_is_not_praised() -> None:
    """√3 · 1.73 = 2.9965: of scores that were not scaled, none is right by a rounding."""
    scores = np.array([[0.1, 0.2, 300.0], [0.3, 0.4, 500.0], [0.0, 0.1, 700.0]])
    small = attncli.Problem(Q=[[1, 0, 0], [0, 1, 0], [0, 0, 1]], K=scores.T.tolist(), V=[[1]] * 3)
    keys = {"scores": scores.tolist(), "scaled": [[f"{x:.0f}" for x in row] for row in scores]}
    report = attncli.check(small, keys)
    assert report.findings["scaled"].gives_all
    assert "right, with" not in attncli.render(report)


def test_at_most_two_matrices_are_shown_where_two_look_alike() -> None:
    """With Q to two decimals the scores that follow are the right ones to two decimals, too."""
    identity = [[1, 0], [0, 1]]
    matrices: dict[str, Any] = dict.fromkeys(("W_q", "W_k", "W_v"), identity)
    whole = attncli.Problem(X=[[0.111, 0.2], [0.3, 0.4]], **matrices)
    q = [["0.11", "0.20"], ["0.30", "0.40"]]
    for digits, is_shown in ((1, False), (4, True)):
        scores = [[f"{x:.{digits}f}" for x in row] for row in ((7, 8.1), (9.3, 5.2))]
        page = attncli.render(attncli.check(whole, {"Q": q, "scores": scores}))
        assert ("from your numbers" in page) is is_shown


# What a teacher and a student see of half a sheet


def test_a_skipped_key_that_may_mean_a_step_is_told_to_the_teacher_everywhere(
    attn: Attn, tmp_path: Path
) -> None:
    sheet = tmp_path / "Eve.yaml"
    sheet.write_text(
        "date: today\nscores: [[2, 4, 4], [4, 16, 12], [4, 12, 10]]\nwieghts: [[1, 2], [3, 4]]\n"
    )
    flags = ("--ask", "scores,weights")
    said = "skipped: wieghts (did you mean weights?)"
    lines = attn("check", SCALED, "Eve.yaml", DORA, *flags, cwd=tmp_path).out.splitlines()
    assert f"Eve.yaml: {said}" in lines
    (row,) = csv.DictReader(attn("check", SCALED, sheet, *flags, "-f", "csv").out.splitlines())
    assert row["message"] == f"not given: weights; {said}"
    results = json.loads(attn("check", SCALED, sheet, *flags, "-f", "gradescope").out)
    assert "wieghts (did you mean weights?)" in results["output"]


def test_cells_that_are_left_out_are_told_where_their_step_is_right(
    attn: Attn, tmp_path: Path
) -> None:
    sheet = tmp_path / "Eve.yaml"
    sheet.write_text("scores: [[2, _, 4], [4, 16, 12], [4, 12, 10]]\n")
    flags = ("--ask", "scores", "--points", "scores[1]: 3")
    attn("check", SCALED, sheet, *flags, "--feedback", tmp_path / "pages")
    index = (tmp_path / "pages" / "index.html").read_text()
    assert '<td class="bar near"><span aria-hidden="true">…</span>' in index
    results = json.loads(attn("check", SCALED, sheet, *flags, "-f", "gradescope").out)
    assert results["tests"][0]["output"] == "✓ right\nleft out: 1 of 3 cells of scores[1]"


def test_a_withheld_page_has_no_empty_line_and_no_advice_to_look_at_the_solution(
    attn: Attn, tmp_path: Path
) -> None:
    sheet = tmp_path / "Eve.yaml"
    weights = "weights: [[0.5, 0.3, 0.2], [0.3, 0.3, 0.4], [0.1, 0.1, 0.8]]\n"
    scores = "scores: [[20, 4, 4], [4, idk, 12], [4, 12, 10]]\n"
    for text in (weights, scores):
        sheet.write_text(text)
        page = attn("check", SCALED, sheet, "-f", "gradescope").out
        assert "right numbers" not in page
        assert "✗ \\n" not in page
        attn("check", SCALED, sheet, "--feedback", tmp_path / "pages")
        (written,) = (p for p in (tmp_path / "pages").iterdir() if p.name != "index.html")
        assert "<p>✗ </p>" not in written.read_text()
        assert "compare yours" not in written.read_text()


def test_labels_are_above_their_columns_where_a_number_is_not_a_number() -> None:
    own = problem(X=[[-1]], tokens=["AI"], score="cosine")
    report = attncli.check(own, {"K": [[0]], "scores": [["-0.1"]]})
    (page,) = report_lines([report], ReportSelection(), 80)
    lines = [plain_text(line) for line in page]
    labels, row = (line for line in lines if "nan" in line or line.split() == ["AI"] * 3)
    ends = [found.end() for found in re.finditer("AI", labels)]
    assert ends[1:] == [row.index("nan") + 3, row.rindex("1") + 1]


def test_without_the_solution_last_digits_are_named_in_one_sentence(
    attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "hw.yaml").write_text("X: [[1, 0], [0, 2]]\nscore: dot\n")
    (tmp_path / "Ada.yaml").write_text("student: Ada\nweights: [[0.73, 0.26], [0.02, 0.98]]\n")
    attn("check", "hw.yaml", "Ada.yaml", "--feedback", "out", cwd=tmp_path)
    page = (tmp_path / "out" / "Ada.html").read_text()
    said = "≈ 1 number is off in the last digit (cut off, not rounded): weights[1, 2]"
    assert f"<p>{said}</p>" in page
