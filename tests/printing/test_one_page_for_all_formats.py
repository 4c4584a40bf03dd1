"""One page: every format writes the numbers of the same page, and nothing beside them."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

import attncli
from attncli.checking.check import check
from attncli.classroom.submissions import load_answers
from attncli.core.formulas.text import text
from attncli.core.tape.step import Operation
from attncli.printing.formats import (
    FORMATS,
    ReportSelection,
    Selection,
    WorksheetSelection,
    formats_of,
)
from attncli.printing.layout import Matrix, plain_text
from attncli.printing.page import Figure, Page, page_of
from attncli.printing.report import report_page
from attncli.printing.table import lines
from attncli.printing.views import Panel
from tests.conftest import ROOT, SAMPLES, TYPICAL_SAMPLES, Attn, environment

Row = tuple[str, ...]


def same(text: str) -> str:
    """Return a number of any format as Python writes it; nothing for an empty cell."""
    text = text.strip().replace("−", "-").replace(r"-\infty", "-∞").replace("∞", "inf")
    text = re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", text)
    return repr(float(text)) if text else ""


def row_of(texts: list[str]) -> Row:
    return tuple(number for number in map(same, texts) if number)


def in_table(text: str) -> Iterator[Row]:
    """Yield the rows between brackets of any height."""
    for inside in re.findall(r"[⎡⎢⎣\[]([-−\d.e+∞│ ]*)[⎤⎥⎦\]]", text):
        yield row_of(re.split(r"[ │]+", inside))


def in_mathematics(text: str) -> Iterator[Row]:
    """Yield the rows of arrays with brackets; labels stand outside, or in text of their own."""
    inner = (
        r"\[\\begin\{array\}\{[cr|]+\} (.*?) \\end\{array\}|\\begin\{block\}\{.*?\}\n(.*?) \\\\\n"
    )
    for array, block in re.findall(inner + r"\\end\{block\}", text, re.DOTALL):
        for line in re.split(r" \\\\\s", array or block):
            cells = re.split(r" ?& ?", re.sub(r"\\attnshade\{\d+\}\{(.*?)\}", r"\1", line))
            yield row_of(cells[1:] if "text" in cells[0] else cells)


def in_markdown(text: str) -> Iterator[Row]:
    """Yield the rows of arrays and of tables."""
    yield from in_mathematics(text)
    for rule, body in re.findall(r"^\| (:?-)-.*\n((?:\|.*\n)+)", text, re.MULTILINE):
        for line in body.splitlines():
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            yield row_of(cells[1:] if rule == ":-" else cells)


def in_html(text: str) -> Iterator[Row]:
    for row in ElementTree.fromstring(text.partition("\n")[2]).iter("tr"):
        if cells := ["".join(cell.itertext()) for cell in row.iter("td")]:
            yield row_of(cells)


READERS: dict[str, Callable[[str], Iterator[Row]]] = {
    "table": in_table,
    "markdown": in_markdown,
    "latex": in_mathematics,
    "html": in_html,
}


def rows(panel: Panel) -> list[Row]:
    n, m = panel.matrix.values.shape
    return [row_of([panel.matrix.text(i, j) for j in range(m)]) for i in range(n)]


def results(figure: Figure) -> list[list[Row]]:
    """Return the rows of results, alone and, where there are sums, with the sums beside them."""
    alone = [rows(panel) for panel in figure.results]
    ways = [[row for part in alone for row in part]]
    if len({len(part) for part in alone}) == 1:
        ways.append([sum(parts, ()) for parts in zip(*alone, strict=True)])
    return ways


def known(page: Page) -> set[Row]:
    """Return every row that a page may show."""
    found: set[Row] = set()
    for entry in page.entries:
        for panel in (*entry.inputs, *(p for figure in entry.figures for p in figure.panels)):
            found |= set(rows(panel))
        for figure in entry.figures:
            found |= {row for way in results(figure) for row in way}
    return found


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_every_format_shows_the_numbers_of_the_page(path: Path, form: str) -> None:
    compared = 0
    for problem in attncli.load_all(str(path)):
        trace = attncli.compute(problem)
        page = page_of(trace, Selection(full=True))
        text = b"".join(FORMATS[form].traces([trace], Selection(full=True))).decode()
        shown = set(READERS[form](text))
        assert shown - known(page) <= {()}, "no number stands on no page"
        for entry in page.entries:
            for figure in entry.figures:
                assert any(all(row in shown for row in way) for way in results(figure))
                compared += len(figure.results)
    assert compared >= 3


def test_a_missing_number_would_be_noticed() -> None:
    """The comparison above is not one of nothing with nothing."""
    trace = attncli.compute(attncli.load(str(SAMPLES / "i_am_good.yaml")))
    for form, reader in READERS.items():
        text = b"".join(FORMATS[form].traces([trace], Selection())).decode()
        rows_of_weights = [("0.9756", "0.0179", "0.0066"), ("0.2676", "0.7275", "0.0049")]
        assert set(rows_of_weights) <= set(reader(text)), form
        assert ("0.9756", "0.0179", "0.0066") not in set(reader(text.replace("0.0066", "0.0067")))


QUERIES: list[list[float]] = [[1, 2], [0.5, -1], [3, 0], [1, 1], [2, 5]]
KEYS: list[list[float]] = [[1, 0.25], [0, 3], [-1, 1]]
W: list[list[float]] = [[1, 0.5], [0.25, 2], [1, 1]]
U: list[list[float]] = [[2, 1], [-1, 0], [0.5, 3]]


def additive(columns: bool, **more: object) -> tuple[attncli.Trace, list[set[Row]]]:
    """Return a trace, and the rows of W q, U k and of their sums for each query, by hand."""

    def times(matrix: list[list[float]], vector: list[float]) -> list[float]:
        return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]

    def turned(matrix: list[list[float]]) -> list[list[float]]:
        return [[*line] for line in zip(*matrix, strict=True)] if columns else matrix

    of_q, of_k = [times(W, q) for q in QUERIES], [times(U, k) for k in KEYS]
    sums = [[[a + b for a, b in zip(q, k, strict=True)] for k in of_k] for q in of_q]
    of_pairs = [line for one in sums for line in turned(one)]
    lines = (turned(of_q), turned(of_k), of_pairs)
    score = {"name": "additive", "W": W, "U": U, "v": [1, 2, 3], **more}
    tokens_as = "columns" if columns else "rows"
    q, k = turned(QUERIES), turned(KEYS)
    problem = attncli.Problem(Q=q, K=k, V=k, score=score, tokens_as=tokens_as)
    shown = [{row_of([f"{x:.4f}" for x in line]) for line in part} for part in lines]
    return attncli.compute(problem), shown


@pytest.mark.parametrize("more", [{}, {"b": [0.5, 0, -1]}], ids=["no bias", "a bias"])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("form", READERS)
def test_the_sums_behind_additive_scores_are_shown_where_asked_for(
    form: str, columns: bool, more: dict[str, object]
) -> None:
    trace, parts = additive(columns, **more)
    for selection in (Selection(why=True), Selection(full=True), Selection()):
        text = b"".join(FORMATS[form].traces([trace], selection)).decode()
        shown = {*READERS[form](text)}
        is_asked = selection.why or selection.full or form == "html"  # which always says why
        for part in parts:
            assert part <= shown if is_asked else not part & shown
        if is_asked:
            assert shown <= known(page_of(trace, Selection(full=True))) | {()}


@pytest.mark.parametrize("width", [40, 80, 160])
def test_the_sums_behind_additive_scores_are_shown_in_any_width(width: int) -> None:
    trace, parts = additive(columns=False)
    selection = Selection(why=True, only=("hidden",))
    shown = [plain_text(line) for line in lines(trace, selection, width)]
    assert max(map(len, shown)) <= width
    assert set.union(*parts) <= {*in_table("\n".join(shown))}


def test_a_worksheet_does_not_show_the_sums_behind_additive_scores() -> None:
    trace, parts = additive(columns=False)
    for give in ((), ("hidden",)):
        text = b"".join(FORMATS["table"].traces([trace], WorksheetSelection(full=True, give=give)))
        assert not set.union(*parts) & {*in_table(text.decode())}


@pytest.mark.parametrize("form", ["table", "markdown", "html"])
def test_every_format_shows_the_wrong_numbers_of_a_report(form: str) -> None:
    problem = attncli.load(str(SAMPLES / "integers_scaled.yaml"))
    compared = 0
    for path in sorted((SAMPLES / "answers").iterdir()):
        for answers in load_answers(str(path)):
            report = check(problem, answers)
            write = FORMATS[form].reports
            assert write is not None
            text = b"".join(write([report], ReportSelection())).decode()
            page = report_page(report, ReportSelection())
            assert page.verdict in text.replace("\\", "")
            for remark in page.remarks.values():
                marked = {cell.given for cell in remark.cells}
                for given in marked:
                    assert f"{given} ✗" in text
                compared += len(marked)
    assert compared > 10


def test_a_parameter_in_columns_is_turned_round_like_its_name() -> None:
    """The matrix beside Kᵀ and Q is Wᵀ itself, so that the product that is shown is one."""
    problem = attncli.Problem(
        tokens_as="columns",
        X=[[1, 2, 3], [2, 3, 4]],
        W_q=[[1, 2], [3, 4], [1, 1]],
        W_k=[[1, 2], [3, 4]],
        score={"name": "general", "W": [[1, 2], [3, 5], [1, 7]]},
    )
    page = page_of(attncli.compute(problem), Selection())
    (entry,) = (e for e in page.entries if e.steps[0].name == "scores")
    (figure,) = entry.figures
    k, w, q = (panel.matrix.values for panel in figure.panels)
    assert [text(panel.name) for panel in figure.panels] == ["Kᵀ", "Wᵀ", "Q"]
    assert entry.shapes[0] == "(3, 2) × (2, 3) × (3, 3) → (3, 3)"
    assert (k @ w @ q == figure.results[0].matrix.values).all()


def test_an_input_that_has_no_room_beside_its_step_is_shown_before_it() -> None:
    """In 50 columns the names X, W_q and Q push the product over the edge."""
    from attncli.printing.layout import plain
    from attncli.printing.table import lines

    trace = attncli.compute(attncli.load(str(SAMPLES / "heads_cut.yaml")))
    for width in range(10, 100, 5):
        text = b"".join(plain([lines(trace, Selection(), width)])).decode()
        assert re.search(r"\bW_q\b", text.partition("\n\n")[2])
        assert all(len(line) <= max(width, 24) for line in text.splitlines()), width


def test_shades_are_the_sizes_of_weights() -> None:
    import numpy as np

    values = np.array([[0.5, -0.25], [2.0, -np.inf]])
    matrix = Matrix(values, [0, 1], [0, 1], shaded=True)
    assert [matrix.shade(i, j) for i in (0, 1) for j in (0, 1)] == [0.5, 0.25, 1.0, None]


def test_commands_accept_the_formats_of_their_column(attn: Attn) -> None:
    only = {"gradescope", "moodle"}  # of reports, and of worksheets
    assert list(formats_of("traces")) == [name for name in FORMATS if name not in only]
    reports = ["table", "json", "csv", "tsv", "markdown", "gradescope", "html"]
    assert list(formats_of("reports")) == reports
    sample = SAMPLES / "i_am_good.yaml"
    refused = attn("check", sample, "-f", "latex")
    assert (refused.status, refused.err) == (
        2,
        "unknown format latex\n  known: table, json, csv, tsv, markdown, gradescope, html\n",
    )


@pytest.mark.parametrize(
    ("form", "absent"),
    [
        ("json", ("page", "views", "layout", "table", "markdown", "latex", "html", "report")),
        ("markdown", ("table", "latex", "html", "markup", "report", "record")),
        ("html", ("table", "latex", "markdown", "report", "record")),
        ("table", ("markdown", "latex", "html", "markup", "report", "documents", "record")),
    ],
)
def test_a_format_imports_no_writer_of_another(form: str, absent: tuple[str, ...]) -> None:
    """Start-up time is a feature."""
    code = (
        "import sys, json; from attncli.cli.main import app\n"
        f"try: app(['compute', {str(SAMPLES / 'i_am_good.yaml')!r}, '-f', {form!r}])\n"
        "except SystemExit: pass\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT, env=environment()
    )
    loaded = {name.rpartition(".")[2] for name in json.loads(done.stderr)}
    assert "formats" in loaded
    assert loaded & set(absent) == set()


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_every_step_says_in_a_sentence_why_it_is_done(path: Path) -> None:
    for trace in map(attncli.compute, attncli.load_all(str(path))):
        made = [step for step in trace if isinstance(step.operation, Operation)]
        reasons = [step.why for step in made]
        assert made
        for reason in reasons:
            assert re.fullmatch(r"[^.]{20,88}\.", reason), "one sentence, in a line of 80 or two"


@pytest.mark.parametrize("path", TYPICAL_SAMPLES[::4], ids=lambda p: p.name)
def test_every_format_says_why_where_it_is_asked(path: Path) -> None:
    for trace in map(attncli.compute, attncli.load_all(str(path))):
        reasons = [step.why for step in trace if isinstance(step.operation, Operation)]
        pages = {form: attncli.render(trace, form, why=True) for form in ("table", "latex")}
        assert all(reason in pages["table"] for reason in reasons)
        assert pages["latex"].count(r"\par") > attncli.render(trace, "latex").count(r"\par")
        for form in ("markdown", "html", "yaml"):
            page = html.unescape(attncli.render(trace, form, why=True)).replace("\\", "")
            assert all(reason in page for reason in reasons), form
        steps = json.loads(attncli.render(trace, "json", why=True))["steps"]
        assert {name: one["why"] for name, one in steps.items()} == {s.name: s.why for s in trace}
        assert not any(reason in attncli.render(trace) for reason in reasons)


def test_an_explanation_says_why_where_it_is_asked(attn: Attn) -> None:
    sample = str(SAMPLES / "i_am_good.yaml")
    plain = attn("explain", sample, "sum[am]")
    said = attn("explain", sample, "sum[am]", "--why")
    heading, *rest = plain.out.splitlines()
    reason = "The numbers are divided by this sum, so that they become shares of 1."
    assert said.out.splitlines() == [heading, reason, *rest]
    (record,) = [json.loads(attn("explain", sample, "sum[am]", "--why", "-f", "json").out)]
    assert record["why"] == reason


@pytest.mark.parametrize("title", ["", "I am good"])
def test_a_page_has_one_heading_of_the_first_level(title: str) -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 1]], title=title))
    assert attncli.render(trace, "html").count("<h1") == 1
    assert attncli.render([trace, trace], "html").count("<h1") == (2 if title else 1)


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_given_queries_that_are_cut_into_heads_are_on_the_page_once(kv_heads: int) -> None:
    """The input has the name of the step, whose cells a page explains."""
    keys = [[1, 2][:kv_heads]]
    problem = attncli.Problem(
        Q=[[0.7171, 2], [3, 1]], K=keys, V=keys, heads=2, kv_heads=kv_heads, score="dot"
    )
    trace = attncli.compute(problem)
    for form in ("table", "markdown", "latex"):
        assert attncli.render(trace, form, only=("Q",)).count("0.7171") == 1, form
    assert attncli.render(trace, "html").count("cut into") >= 1
