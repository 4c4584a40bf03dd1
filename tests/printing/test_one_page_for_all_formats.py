"""One page: every format writes the numbers of the same page, and nothing beside them."""

from __future__ import annotations

import html
import json
import subprocess
import sys

import numpy as np
import pytest

import attncli
from attncli.core.formulas.text import text
from attncli.core.tape.step import Operation
from attncli.formats import FORMATS
from attncli.printing.blocks import ComparedMatrices, Matrix
from attncli.printing.layout import plain_text
from attncli.printing.page import page_of
from attncli.printing.report import remarks
from attncli.printing.selection import ReportSelection, Selection, WorksheetSelection
from attncli.printing.table import lines
from attncli.printing.verdicts import verdict
from tests.conftest import ROOT, SAMPLES, environment
from tests.support.rows_of_pages import READERS, Row, in_table, known_rows, row_of


def test_a_missing_number_would_be_noticed() -> None:
    """The comparison of a page with its formats is not one of nothing with nothing."""
    trace = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))
    for form, reader in READERS.items():
        page = attncli.render(trace, form)
        assert {("0.9756", "0.0179", "0.0066"), ("0.2676", "0.7275", "0.0049")} <= {*reader(page)}
        assert ("0.9756", "0.0179", "0.0066") not in {*reader(page.replace("0.0066", "0.0067"))}


QUERIES = np.array([[1, 2], [0.5, -1], [3, 0], [1, 1], [2, 5]])
KEYS = np.array([[1, 0.25], [0, 3], [-1, 1]])
W = np.array([[1, 0.5], [0.25, 2], [1, 1]])
U = np.array([[2, 1], [-1, 0], [0.5, 3]])


def additive(columns: bool, **more: object) -> tuple[attncli.Trace, list[set[Row]]]:
    """Return a trace, and the rows of W q, U k and of their sums for each query, by hand."""

    def turned(matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[list[float]]:
        return (matrix.T if columns else matrix).tolist()

    of_q, of_k = QUERIES @ W.T, KEYS @ U.T
    of_pairs = [line for q in of_q for line in turned(q + of_k)]
    problem = attncli.Problem(
        Q=turned(QUERIES),
        K=turned(KEYS),
        V=turned(KEYS),
        score={"name": "additive", "W": W.tolist(), "U": U.tolist(), "v": [1, 2, 3], **more},
        tokens_as="columns" if columns else "rows",
    )
    shown = [
        {row_of([f"{x:.4f}" for x in line]) for line in part}
        for part in (turned(of_q), turned(of_k), of_pairs)
    ]
    return attncli.compute(problem), shown


@pytest.mark.parametrize("more", [{}, {"b": [0.5, 0, -1]}], ids=["no bias", "a bias"])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("form", READERS)
def test_the_sums_behind_additive_scores_are_shown_where_asked_for(
    form: str, columns: bool, more: dict[str, object]
) -> None:
    trace, parts = additive(columns, **more)
    for why, full in ((True, False), (False, True), (False, False)):
        shown = {*READERS[form](attncli.render(trace, form, why=why, full=full))}
        is_asked = why or full or form == "html"  # which always says why
        for part in parts:
            assert part <= shown if is_asked else not part & shown
        if is_asked:
            assert shown <= known_rows(page_of(trace, Selection(full=True))) | {()}


@pytest.mark.parametrize("width", [40, 80, 160])
def test_the_sums_behind_additive_scores_are_shown_in_any_width(width: int) -> None:
    trace, parts = additive(columns=False)
    selection = Selection(why=True, only=("hidden",))
    shown = [plain_text(line) for line in lines(trace, selection, width)]
    assert max(map(len, shown)) <= width
    assert set.union(*parts) <= {*in_table("\n".join(shown))}


@pytest.mark.parametrize("give", [(), ("hidden",)])
def test_a_worksheet_does_not_show_the_sums_behind_additive_scores(give: tuple[str, ...]) -> None:
    trace, parts = additive(columns=False)
    page = b"".join(FORMATS["table"].traces([trace], WorksheetSelection(full=True, give=give)))
    assert not set.union(*parts) & {*in_table(page.decode())}


@pytest.mark.parametrize("form", ["table", "markdown", "html"])
def test_every_format_shows_the_wrong_numbers_of_a_report(form: str) -> None:
    problem = attncli.load(SAMPLES / "integers_scaled.yaml")
    compared = 0
    for path in sorted((SAMPLES / "answers").iterdir()):
        for answers in attncli.load_answers(path):
            report = attncli.check(problem, answers)
            shown = attncli.render(report, form)
            assert verdict(report) in shown.replace("\\", "")
            said = remarks(report, ReportSelection())
            blocks = (block for one in said.values() for block in one.blocks)
            tables = [block.cells for block in blocks if isinstance(block, ComparedMatrices)]
            marked = {row[1][0] for table in tables if table for row in table.rows}
            assert all(given in shown for given in marked)
            compared += len(marked)
    assert compared > 10


def test_a_parameter_in_columns_is_transposed_like_its_name() -> None:
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


def test_shades_are_the_sizes_of_weights() -> None:
    matrix = Matrix(np.array([[0.5, -0.25], [2.0, -np.inf]]), [0, 1], [0, 1], shaded=True)
    assert [matrix.shade(i, j) for i in (0, 1) for j in (0, 1)] == [0.5, 0.25, 1.0, None]


@pytest.mark.whole  # two processes
@pytest.mark.parametrize(
    ("form", "others"),
    [
        ("markdown", {"table", "latex", "html", "markup", "report", "record"}),
        ("html", {"table", "latex", "markdown", "report", "record"}),
    ],
)
def test_a_format_imports_no_writer_of_another(form: str, others: set[str]) -> None:
    """Start-up time is a feature."""
    code = (
        "import sys; from attncli.cli.main import run\n"
        f"run(['compute', 'sample_inputs/i_am_good.yaml', '-f', {form!r}])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env=environment())
    loaded = {name.rpartition(".")[2] for name in done.stderr.decode().split()}
    assert "formats" in loaded
    assert not loaded & others


@pytest.mark.parametrize("name", ["co_attention_padded", "gradient_columns", "heads_grouped"])
def test_every_format_says_why_where_it_is_asked(name: str) -> None:
    trace = attncli.compute(attncli.load(SAMPLES / f"{name}.yaml"))
    reasons = [step.why for step in trace if isinstance(step.operation, Operation)]
    assert not any(reason in attncli.render(trace) for reason in reasons)
    for form in ("table", "markdown", "html", "yaml"):
        page = html.unescape(attncli.render(trace, form, why=True)).replace("\\", "")
        assert all(reason in page for reason in reasons), form
    with_reasons = attncli.render(trace, "latex", why=True)
    assert with_reasons.count(r"\par") > attncli.render(trace, "latex").count(r"\par")
    steps = json.loads(attncli.render(trace, "json", why=True))["steps"]
    assert {name: one["why"] for name, one in steps.items()} == {s.name: s.why for s in trace}


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
