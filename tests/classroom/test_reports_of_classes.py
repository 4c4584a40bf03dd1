"""What reports show beside the numbers: verdicts, roundings; and hostile words of students.

What each format prints of a submission is in the session `reports`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import attncli
from attncli.checking.check import AnswerKey, Report
from attncli.checking.judging.judged_steps import LAST_DIGIT, Compared
from attncli.core.records import replace
from attncli.core.text.strings import visible
from attncli.printing.layout import plain_text
from attncli.printing.prose import pages
from attncli.printing.report import groups
from attncli.printing.selection import ReportSelection
from attncli.printing.verdicts import last_digits, verdict
from attncli.reading.document import Unread, submission_of
from tests.conftest import SAMPLES, cases, in_terminal

SCORES = [[14, 10, 9], [10, 11, 6], [9, 6, 6]]


def problem(**given: Any) -> attncli.Problem:
    words = {"X": [[1, 3, 2], [1, 1, 3], [1, 2, 1]], "score": "dot"}
    return attncli.Problem(**(words | given))


@cases("classes", "verdicts", ids=str)
def test_verdicts_are_sentences(answers: dict[str, Any], strict: bool, sentence: str) -> None:
    assert verdict(attncli.check(problem(), answers, strict)) == sentence


# Roundings


def test_a_last_digit_is_that_of_the_numbers_it_was_judged_by() -> None:
    """They are the student's own where those lead to it, with the unit of the matrix."""
    scores = [[14, 10, 9], [10, 20, 6], [9, 6, 6]]
    weights = [["0.98", "0.02", "0"], ["0", "0.99", "0"], ["0.91", "0.05", "0.05"]]
    report = attncli.check(problem(), {"scores": scores, "weights": weights})
    judged = report.steps["weights"]
    assert isinstance(judged, Compared)
    codes = np.full_like(judged.codes, LAST_DIGIT)
    sentences = list(last_digits(replace(judged, codes=codes)))
    assert "weights[2, 2] is 0.99, should be 1.00" in sentences
    assert attncli.compute(problem())["weights"].value[1, 1] < 0.74
    assert "weights[1, 3] is 0, should be 0.01" in sentences


def test_last_digits_are_not_told_beside_what_went_wrong() -> None:
    report = attncli.check(problem(), {"scores": [[41, 10, 9], *SCORES[1:]]})
    judged = report.steps["scores"]
    codes = judged.codes.copy()
    codes[..., 2, 2] = LAST_DIGIT
    near = replace(report, steps={**report.steps, "scores": replace(judged, codes=codes)})
    assert "scores" in near.findings
    assert "last digit" not in attncli.render(near)
    assert "last digit" in attncli.render(replace(near, findings={}))


# Words of students

HOSTILE = [
    *("a|b", "`code`", "<script>alert(1)</script>", "[x](http://y)", "*b* _i_", "$x$ $$y$$"),
    *("back\\slash \\| end\\", "two\nlines", "# heading", "&amp; &lt; &#124;", "- item", "1. one"),
    *("=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "＝1", " =1", "|", "||", "~~x~~", "> quote"),
    *(":smile:", "|---|---|", "```", "\u202eright", "\x1b[31m", "![i](j)", "<!-- c -->", "***"),
    *("---", "a\r\nb"),
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


def page_of(markdown: str) -> str:
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


def words_of(markup: str) -> str:
    """Return what a reader sees of markup, with single blanks."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", markup)).split())


def plain(words: str) -> str:
    return " ".join(visible(words).split())


KEY = AnswerKey(problem(title="a | *title*"))


def graded(name: str, comment: str = "") -> Report:
    sheet = submission_of({"student": name, "comment": comment, "scores": [[14, 9, 9]] * 3}, "x")
    return KEY.check(sheet)


@settings(max_examples=25, deadline=None)
@given(st.lists(WORDS, min_size=2, max_size=4), WORDS)
def test_words_of_students_break_no_table_of_a_class(names: list[str], comment: str) -> None:
    reports: list[Any] = [graded(name, comment) for name in names]
    reports.append(Unread(names[0], attncli.InputError(attncli.Fault(comment))))
    text = attncli.render(reports, "markdown")
    (rows,) = tables_of(text)
    assert {len(row) for row in rows} == {5}  # one of them has no title
    assert len(rows) == len(reports) + 2
    for row, report in zip(rows[2:], reports, strict=True):
        assert words_of(page_of(row[1])) == plain(report.name)
    page = page_of(text)
    shown = re.findall("<tr>.*?</tr>", page, re.DOTALL)
    assert [len(re.findall("<t[dh]", row)) for row in shown] == [5] * (len(reports) + 1)
    assert not re.search("<(script|a|em|strong|h[1-6]|img|blockquote)[ >]", page)


@settings(max_examples=25, deadline=None)
@given(WORDS, WORDS)
def test_words_of_students_are_shown_as_they_are_in_a_report_and_are_no_formulas(
    name: str, comment: str
) -> None:
    report = graded(name, comment)
    text = attncli.render(report, "markdown")
    page = page_of(text)
    (heading,) = re.findall("<h1>(.*?)</h1>", page, re.DOTALL)
    assert words_of(heading) == plain(report.name)
    assert not re.search("<(script|a|em|h3|img|ol|hr|code><)[ >]", page)
    (table,) = tables_of(text)
    assert {len(row) for row in table} == {3}
    root = ElementTree.fromstring(attncli.render(report, "html").partition("\n")[2])
    (shown,) = root.iterfind(".//p[@class='verdict']")
    assert "".join(shown.itertext()).startswith(f"✗ {visible(report.name)}: ")
    (row,) = csv.DictReader(io.StringIO(attncli.render(report, "csv")))
    assert len(row) == 14
    for cell in row.values():
        assert not cell.lstrip().startswith(tuple("=+-@＝＋－＠")), cell
        assert cell.isprintable()


def test_cells_and_labels_with_marks_are_shown_as_they_are() -> None:
    labelled = problem(tokens=["a|b", "*c* `d`", "<i>$x$</i>"])
    texts = [["1/3", "10", "9"], ["10", "sqrt(4)*3", "6"], ["9", "6", "2*3*5"]]
    text = attncli.render(attncli.check(labelled, {"scores": texts}), "markdown")
    (table,) = tables_of(text)
    assert {len(row) for row in table} == {3}
    found = [words_of(page_of(row[1])) for row in table[2:]]
    assert found == ["1/3 ✗", "sqrt(4)*3 ✗", "2*3*5 ✗"]
    assert not re.search("<(em|i)>", page_of(text))


# Widths


def test_a_long_name_widens_no_table() -> None:
    report = attncli.check(problem(), {"scores": SCORES})
    reports = [replace(report, name=name) for name in ("Ada", "b" * 100_000)]
    for form in ("table", "markdown"):
        page = attncli.render(reports, form)
        assert len(page) < 2000
        assert f"{'b' * 19}…{'b' * 20} " in page
    assert "b" * 100_000 in attncli.render(reports, "csv")


def test_sentences_are_as_wide_as_the_terminal_and_tables_as_they_were() -> None:
    report = attncli.check(problem(), {"scores": [[14, 10, 9], [10, 11, 6], [9, 6, 7]]})
    report = replace(report, comment="I am not sure. " * 20)
    narrow, wide = (
        [
            plain_text(line)
            for page in pages(groups, [[report]], ReportSelection(), width)
            for line in page
        ]
        for width in (44, None)
    )
    assert max(map(len, narrow)) <= 44 < max(map(len, wide))
    assert " ".join(narrow).split() == " ".join(wide).split()
    tables = ([line for line in lines if line[2:3] in "⎡⎢⎣"][:3] for lines in (narrow, wide))
    assert next(tables) == next(tables)


@pytest.mark.parametrize("width", [80, 100])
def test_the_verdicts_of_a_class_start_in_one_column(width: int) -> None:
    sheets = sorted((SAMPLES / "answers").iterdir())
    result = in_terminal("check", SAMPLES / "integers_scaled.yaml", *sheets, columns=width)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", result.out).partition("\n\n")[0].splitlines()
    named = [re.search("  (correct|wrong)", line) for line in lines if line[0] in "✓✗"]
    assert len({found.start() for found in named if found}) == 1
    assert None not in named
    assert max(map(len, lines)) <= width


def test_labels_are_above_their_columns_where_a_number_is_not_a_number() -> None:
    own = problem(X=[[-1]], tokens=["AI"], score="cosine")
    report = attncli.check(own, {"K": [[0]], "scores": [["-0.1"]]})
    shown = pages(groups, [[report]], ReportSelection(), 80)
    lines = [plain_text(line) for group in shown for line in group]
    labels, row = (line for line in lines if "nan" in line or line.split() == ["AI"] * 3)
    ends = [found.end() for found in re.finditer("AI", labels)]
    assert ends[1:] == [row.index("nan") + 3, row.rindex("1") + 1]
