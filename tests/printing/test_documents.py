"""Markdown, LaTeX and HTML: what a page has beside its numbers, and text shown as text."""

from __future__ import annotations

import html
import json
import re

import pytest
from markdown_it import MarkdownIt

import attncli
from attncli.core.text.strings import visible
from tests.conftest import SAMPLES
from tests.oracles.hostile import HOSTILE, PROBLEM
from tests.support.rows_of_pages import element_of, text_of
from tests.support.snapshots import assert_same
from tests.support.told_in_pages import told_in

SHOWN = [visible(text) for text in HOSTILE]

every_form = pytest.mark.parametrize("form", ["markdown", "latex", "html"])


def sample(name: str) -> attncli.Trace:
    return attncli.compute(attncli.load(SAMPLES / name))


@pytest.mark.parametrize("name", ["i_am_good.yaml", "heads_cut.yaml", "recurrent.yaml"])
@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_documents_are_as_read(name: str, form: str) -> None:
    assert_same(attncli.render(sample(name), form), f"documents/{name}.{form}")


def test_sources_are_the_row_and_the_column_that_a_product_is_made_of() -> None:
    """scores[am, I] = q_am · k_I, so its sources are the row of Q and the column of Kᵀ."""
    page = attncli.render(sample("i_am_good.yaml"), "html")
    (section,) = (s for s in element_of(page).iter("section") if s.get("id") == "scores")
    q, k, scores = ([list(r.iter("td")) for r in t.iter("tr")] for t in section.iter("table"))
    about = told_in(page)[scores[2][0].get("data-c") or ""]
    assert about.name == "scores[am, I]"
    assert about.lines == ["scores[am, I] =qam·kI", "=1·1 +1·3 +3·2", "=10"]
    row = [c.get("data-c") for c in q[1]]
    column = [line[0].get("data-c") for line in k[1:]]
    assert about.lit == {*row, *column}
    leads = [cell for pair in zip(row, column, strict=True) for cell in pair]
    assert about.links == list(zip("111332", leads, strict=True))


def test_a_cell_of_a_head_has_its_places_in_order() -> None:
    page = attncli.render(sample("heads_list.yaml"), "html")
    (about,) = (one for one in told_in(page).values() if one.name == "Q[head 2][am, 2]")
    assert about.lines[0].endswith("=Xam,1·Wq(2)[1,2] +Xam,2·Wq(2)[2,2] +Xam,3·Wq(2)[3,2] +bq[4]")


def test_formulas_of_one_shape_are_kept_once() -> None:
    """So that a page of many numbers, of any sign, stays small."""
    numbers = [[(7 * i + 3 * j) % 11 - 5.25 for j in range(12)] for i in range(12)]
    page = attncli.render(attncli.compute(attncli.Problem(X=numbers, score="dot")), "html")
    made = told_in(page)
    assert len(made) > 500
    (data,) = re.findall(r'"shapes":(\[.*?\]),"cells"', page)
    assert len(json.loads(data)) <= 8
    assert len(page) < 300 * len(made)


def test_weights_are_shaded_by_size() -> None:
    page = element_of(attncli.render(sample("i_am_good.yaml"), "html"))
    (section,) = (s for s in page.iter("section") if s.get("id") == "weights")
    shades = [cell.get("style") for cell in section.iter("td") if cell.get("data-c")]
    assert shades[:3] == ["--w:.98", "--w:.02", "--w:.01"]


def test_a_right_to_left_word_is_kept_apart_by_an_element() -> None:
    """In the weighted sums of HTML, where isolates as escapes would be letters."""
    problem = attncli.Problem(tokens=["مرحبا", "b"], X=[[1, 0], [0, 1]], score="dot")
    page = attncli.render(attncli.compute(problem), "html")
    (sums,) = (e for e in element_of(page).iter("ul") if e.get("class") == "mixture")
    assert [text_of(e) for e in sums.iter("bdi")] == ["مرحبا"] * 3
    assert text_of(sums).startswith("zمرحبا = 0.7311·vمرحبا + 0.2689·vb")
    assert "\\u2068" not in page


def test_html_shows_text_as_it_is_written() -> None:
    trace = attncli.compute(attncli.Problem(**PROBLEM))
    page = element_of(attncli.render(trace, "html", full=True))
    heads = [text_of(e) for e in page.iter("th") if e.get("scope") == "row"]
    assert heads[: len(SHOWN)] == SHOWN
    assert [text_of(e) for e in page.iter("h1")] == [" / ".join(SHOWN)]
    assert [text_of(e) for e in page.iter("title")] == [" / ".join(SHOWN)]
    assert [text_of(e) for e in page.iter("p") if e.get("class") == "notes"] == SHOWN
    assert len(list(page.iter("script"))) == 2, "the data and the script, and none of a label"


def test_markdown_shows_text_as_it_is_written() -> None:
    """By a reader that this project did not write."""
    written = attncli.render(attncli.compute(attncli.Problem(**PROBLEM)), "markdown", full=True)
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(written)
    page = re.sub(r"</?span>", "", page).replace("<br>", "<br />")
    (title,) = re.findall(r"<h1>(.*?)</h1>", page)
    assert html.unescape(title) == " / ".join(SHOWN)
    labels = re.findall(r'<tr>\n<td style="text-align:left">(.*?)</td>', page)
    isolated = [html.unescape(label).strip("\u2068\u2069") for label in labels]
    assert isolated[: len(SHOWN)] == SHOWN
    notes = html.unescape(re.findall(r"<p>(.*?)</p>", page, re.DOTALL)[0])
    assert notes.split("<br />\n") == SHOWN
    assert not re.search(r"<(script|em|strong|code|s|a|ol|li)\b", page.split("<h2>")[0])
    # Between two dollars a forge would read mathematics.
    before = written.split("```math")[0]
    assert re.sub(r"<span>\$</span>|\$`.*?`\$", "", before).count("$") == 0


@pytest.mark.parametrize("name", ["gradient_columns", "heads_grouped", "recurrent"])
def test_reveal_folds_every_step_under_its_formula(name: str) -> None:
    trace = sample(f"{name}.yaml")
    plain, page = (
        element_of(attncli.render(trace, "html", reveal=reveal)) for reveal in (False, True)
    )
    assert not list(plain.iter("details"))
    sections = [s for s in page.iter("section") if s.get("class") == "step"]
    assert len(sections) > 2
    for section in sections:
        (fold,) = section
        (heading,) = fold[0]
        assert (fold.tag, fold.get("open"), fold[0].tag) == ("details", None, "summary")
        assert heading.get("class") == "formula"
    numbers = [text_of(cell) for cell in plain.iter("td")]
    assert [text_of(cell) for cell in page.iter("td")] == numbers


@every_form
def test_large_matrices_are_short_unless_full(form: str) -> None:
    trace = attncli.compute(attncli.Problem(X=[[i + j for j in range(16)] for i in range(16)]))
    short, whole = (attncli.render(trace, form, full=full) for full in (False, True))
    assert "are left out" in short
    assert "are left out" not in whole
    assert len(whole) > 3 * len(short)
    assert "28" in short, "the last corner is shown"


@every_form
def test_a_quiet_page_and_one_of_some_steps_have_no_title(form: str) -> None:
    trace = sample("mask_padding.yaml")
    title = trace.problem.title
    quiet = attncli.render(trace, form, quiet=True)
    only = attncli.render(trace, form, only="weights")
    assert title in attncli.render(trace, form)
    assert title not in quiet.replace(f"<title>{title}", "")
    assert title not in only
    assert "weights" in only


@every_form
def test_warnings_stand_at_the_end(form: str) -> None:
    problem = attncli.Problem(scores=[[1, 1, 0]], V=[[1], [2], [3]], normalize="hardmax")
    page = attncli.render(attncli.compute(problem), form)
    warning = "several scores of a row are largest: hardmax took the first"
    assert page.index(warning) > page.index("output")


@every_form
def test_rounded_steps_are_shown_whole_with_the_closing_line(form: str) -> None:
    """0.975559 rounded to five decimals is shown with five, as the next step used it."""
    X = [[1, 3, 2], [1, 1, 3], [1, 2, 1]]
    problem = attncli.Problem(X=X, score="dot", round={"decimals": 5})
    page = attncli.render(attncli.compute(problem), form)
    assert "rounded steps: the output is off by at most" in page
    assert "0.97556" in page


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "html"])
def test_inputs_of_steps_that_vanish_are_not_shown(form: str) -> None:
    problem = attncli.Problem(X=[[0, 0]], W_q=[[7, 8], [9, 5]], score="dot", gradient="sum")
    page = attncli.render(attncli.compute(problem), form, only="d_W_q")
    assert "W" in page
    assert not any(shown in page for shown in ("X   (1", "X = ", 'aria-label="X"'))


@pytest.mark.parametrize("title", ["", "I am good"])
def test_a_page_has_one_heading_of_the_first_level(title: str) -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 1]], title=title))
    assert attncli.render(trace, "html").count("<h1") == 1
    assert attncli.render([trace, trace], "html").count("<h1") == (2 if title else 1)
