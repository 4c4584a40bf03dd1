"""Explanations: many names for the same cells, lines that fit, and no more than what is needed."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import attncli
from attncli import explain
from attncli.core.attention.softmax import Largest
from attncli.core.explaining.terms import regions_of
from tests.conftest import SAMPLES, Attn, cases
from tests.oracles.worked import value_of


def sample(name: str) -> attncli.Trace:
    return attncli.compute(attncli.load(SAMPLES / f"{name}.yaml"))


def names(attn: Attn, name: str, *cells: str) -> list[str]:
    """Return the names of the cells of a sample that are explained."""
    result = attn("explain", SAMPLES / f"{name}.yaml", *cells)
    assert (result.status, result.err) == (0, "")
    return re.findall(r"^(\w+\[.*?) = ", result.out, re.MULTILINE)


@cases("explaining", "names_of_cells", ids=str)
def test_cells_have_many_names(name: str, cells: list[str], meant: list[str], attn: Attn) -> None:
    assert names(attn, name, *cells) == meant


def test_python_takes_the_same_names() -> None:
    trace = sample("i_am_good")
    assert explain(trace, "S[2, 1]").name == "scores[am, I]"
    assert explain(trace, "context[am, 1]").line.startswith(
        "context[am, 1] = weights[am, I]·V[I, 1]"
    )
    answers = {"scores[1:2, good]": [9, 6], "scores[:, I]": [14, 10, 9], "S[2:3, am]": "11; 6"}
    report = attncli.check(trace.problem, answers)
    assert (report.verdict, report.counts["correct"]) == ("correct", 7)


def test_labels_are_the_ends_of_a_range_in_python() -> None:
    weights = sample("i_am_good")["weights"]
    np.testing.assert_array_equal(weights["I":"am"], weights.value[0:2])
    np.testing.assert_array_equal(weights["am":, :"am"], weights.value[1:, :2])
    np.testing.assert_array_equal(weights[1:, "am"], weights.value[1:, 1])
    with pytest.raises(KeyError, match="no you along the axis query of weights; there are I, am"):
        weights["I":"you"]


def test_what_is_offered_where_no_cell_is_named_is_explained(attn: Attn) -> None:
    first, *lines = attn("explain", SAMPLES / "heads_cut.yaml").out.splitlines()
    assert first == "Name a cell such as these, a step, or a number that a page shows:"
    cells = [line.split("  ")[0] for line in lines]
    assert "weights[head 1][I, I]" in cells
    assert names(attn, "heads_cut", *cells) == cells


@cases("explaining", "what_is_not_there_is_one_sentence")
def test_what_is_not_there_is_one_sentence(cell: str, message: str, attn: Attn) -> None:
    result = attn("explain", SAMPLES / "i_am_good.yaml", cell)
    assert (result.status, result.out) == (2, "")
    assert message in result.err


@cases("explaining", "a_hint_works_when_it_is_pasted")
def test_a_hint_works_when_it_is_pasted(cell: str, hint: str, attn: Attn) -> None:
    result = attn("explain", SAMPLES / "heads_cut.yaml", cell)
    assert (result.status, result.out) == (2, "")
    written = re.findall(r"write (.*?\])(?:$|,)", result.err.strip())[0]
    assert names(attn, "heads_cut", written) == [hint]


def test_an_explanation_has_parts_and_the_cells_that_it_is_made_of() -> None:
    explanation = explain(sample("i_am_good"), "scores[am, I]")
    assert explanation.formula == "q_am · k_I"
    assert explanation.numbers == "1·1 + 1·3 + 3·2"
    assert (explanation.result, explanation.value) == ("10", 10)
    assert explanation.sources[:2] == (attncli.Source("Q", (1, 0)), attncli.Source("K", (0, 0)))


def test_one_number_of_many_needs_no_more_than_its_row() -> None:
    """(400 × 64) · (64 × 400) would be ten million products; the row's 64 take no time."""
    x = np.arange(400 * 64).reshape(400, 64) % 7 - 3
    trace = attncli.compute(attncli.Problem(X=x))
    explanation = explain(trace, trace["scores"], (7, 300), full=True)
    assert value_of(explanation.numbers) == int(x[7] @ x[300])
    assert len(explanation.sources) == 128


@pytest.mark.parametrize(("along", "rows"), [(-1, slice(1, 2)), (-2, slice(None))])
def test_the_largest_of_a_line_needs_only_that_line(along: int, rows: slice) -> None:
    scores = attncli.compute(attncli.Problem(scores=[[1, 3, 3], [5, 2, 1]], V=np.eye(3)))["scores"]
    (needed,), _ = regions_of(Largest(scores, along), (slice(1, 2), slice(0, 1)))
    assert needed == (rows, slice(None) if along == -1 else slice(0, 1))


def test_steps_are_not_written_out_where_only_rounded_numbers_give_the_result() -> None:
    # e^-9.7 is more than half a unit; of the scores as printed, it would be e^-10.
    scores = [[17800000000030, 17800000000020.3]]
    trace = attncli.compute(attncli.Problem(scores=scores, V=[[1], [2]], round=1))
    explanation = explain(trace, trace["weights"], (0, 0))
    assert (explanation.numbers, explanation.unfolded) == ("1 / 1", "")


Shown = Callable[..., list[str]]


@pytest.fixture
def shown(attn: Attn, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Return a function that explains cells as on a terminal of some width."""

    def lines(*arguments: str, columns: int, stdin: str = "") -> list[str]:
        monkeypatch.setattr("attncli.cli.explain.terminal_width", lambda: columns)
        return attn("explain", *arguments, stdin=stdin.encode()).out.splitlines()

    return lines


@pytest.mark.parametrize("columns", [40, 72])
def test_lines_break_before_signs_on_a_terminal(columns: int, shown: Shown) -> None:
    problem = (
        "{X: [[1.25, -2.5, 3.75, 0.125, -1, 2, 7, 8, 9, 11, 12, 13]], tokens: [a + b], "
        "score: dot, normalize: none}"
    )
    arguments = ("-", "scores", "--deep", "--full")
    (whole,) = (x for x in shown(*arguments, columns=1000, stdin=problem) if "q_" in x)
    lines = shown(*arguments, columns=columns, stdin=problem)
    end = next(i for i, line in enumerate(lines) if line.lstrip().startswith("Q["))
    assert " ".join(line.strip() for line in lines[1:end]) == whole
    assert all(len(line) <= columns for line in lines)
    for line in lines[2:end]:
        assert re.match(r"    [=+−] ", line), line
        assert not re.search(r"[=+−]$", line), line


def test_a_sum_of_hundreds_of_terms_fits_a_terminal(shown: Shown) -> None:
    problem = f"{{X: [{list(range(1, 513))}], score: dot, normalize: none}}"
    lines = shown("-", "scores", "--full", columns=80, stdin=problem)
    assert max(map(len, lines)) <= 80
    assert len(lines) > 50


def test_reasons_break_too(shown: Shown) -> None:
    path = str(SAMPLES / "normalize_sparsemax.yaml")
    assert shown(path, "weights[one, b]", columns=40)[-3:] == [
        "weights[one, b] = max(scores[one, b]",
        "    − τ, 0) = max(0.5 − 0.25, 0) = 0.25,",
        "    as τ = (1 + 0.5 − 1) / 2 = 0.25",
    ]
