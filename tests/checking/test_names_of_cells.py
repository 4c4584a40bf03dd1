"""A cell has one name, and every name that the program prints, it accepts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.calculation.trace import Trace
from attncli.core.explaining.explain import cells
from attncli.core.formulas.text import text
from attncli.core.tape.cell_names import at_of, cell_name, row
from attncli.core.tape.find_cells import find_cells
from attncli.printing.blocks import subscripted
from attncli.printing.page import page_of
from attncli.printing.selection import Selection
from tests.checking.judged_cases import problem_of
from tests.conftest import TYPICAL_SAMPLES, Attn
from tests.oracles.hostile import HOSTILE

MAX_CELLS = 300
"""Number of cells of a step that are tried."""


def labelled(*tokens: str) -> attncli.Problem:
    return attncli.Problem(tokens=list(tokens), X=[[1, 0], [0, 2]], score="dot")


def places(name: str, trace: Trace) -> list[Any]:
    return find_cells(name, trace.steps, trace.inputs).places


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_the_name_of_every_cell_and_row_leads_back_to_it(path: Path) -> None:
    named = 0
    for problem in attncli.load_all(path):
        trace = attncli.compute(problem)
        for step in trace:
            for place in list(cells(step))[:MAX_CELLS]:
                found = find_cells(cell_name(step, place), trace.steps, trace.inputs)
                assert (found.step, found.places) == (step, [place])
                vector = text(row(step, at_of(step, place)))
                if "head" in step.leading and not vector.startswith(tuple("qkv")):
                    continue  # no formula has such a row; scores_2 is the second head
                found = find_cells(vector, trace.steps, trace.inputs)
                assert place in found.places, vector
                assert found.step.name == step.name
                named += 1
    assert named > 8


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_the_values_of_weighted_sums_are_found(path: Path) -> None:
    for problem in attncli.load_all(path):
        trace = attncli.compute(problem)
        for entry in page_of(trace, Selection(full=True)).entries:
            for one in [one for figure in entry.figures for one in figure.sums()]:
                name = subscripted(one.letter, one.word)
                assert find_cells(name, trace.steps, trace.inputs).step in entry.steps
                for part in one.parts:
                    assert places(subscripted(part.letter, part.word), trace)


@pytest.mark.parametrize("name", ["output[a2]", "z_a2", "q_a2", "V[a2]"])
def test_a_row_is_that_of_its_token_in_either_convention(name: str) -> None:
    numbers = []
    for sample in ("integers.yaml", "integers_columns.yaml"):
        found = find_cells(name, attncli.compute(problem_of(sample)).steps)
        numbers.append([found.step.value[place] for place in found.places])
    assert len(numbers[0]) == 3
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-14)


def test_a_cell_has_a_number_where_labels_would_not_tell_it() -> None:
    """Labels that stand twice, or that hold a comma or a bracket, give way to numbers."""
    problem = problem_of("good", {"tokens": ["a, b", "a, b", "x]"]})
    trace = attncli.compute(problem)
    explained = attncli.explain(trace, "scores[2, 2]")
    assert (explained.name, explained.formula) == ("scores[2, 2]", "q_2 · k_2")
    report = attncli.check(problem, {"scores": [[14, 10, 9], [10, 21, 6], [9, 6, 6]]})
    assert "scores[2, 2]" in report.findings["scores"].message
    assert "z_2 = 0.2676·v_1" in attncli.render(trace)
    for form in ("table", "markdown", "html"):
        assert "z_a, b" not in attncli.render(trace, form)


@pytest.mark.parametrize("label", HOSTILE)
def test_every_printed_name_of_a_hostile_label_is_accepted(label: str) -> None:
    trace = attncli.compute(labelled(label, "b"))
    for place in cells(trace["weights"]):
        printed = cell_name(trace["weights"], place)
        assert places(printed, trace) == [place], printed


def test_a_constant_is_shown_as_its_own_key_has_it() -> None:
    """Two keys may hold one value that is written in two ways."""
    problem = attncli.Problem(
        X=[[1.0, 0.0], [0.0, 2.0]],
        score={"name": "distance", "width": "0.5"},
        normalize={"temperature": "1/2"},
    )
    trace = attncli.compute(problem)
    assert "0.5²" in attncli.explain(trace, "scores[1, 2]").numbers
    assert "1/2" not in attncli.explain(trace, "scores[1, 2]").numbers
    assert "/ (1/2)" in attncli.explain(trace, "exp[1, 2]").numbers


def test_the_number_of_a_place_is_no_label_and_a_comma_does_no_harm() -> None:
    trace = attncli.compute(labelled("a,b", "1"))
    step = trace["output"]
    names = [cell_name(step, place) for place in cells(step)]
    assert names == ["output[1, 1]", "output[1, 2]", "output[2, 1]", "output[2, 2]"]
    assert [places(name, trace) for name in names] == [[place] for place in cells(step)]
    assert "z_a,b = 0.7311·v_a,b + 0.2689·v_2" in attncli.render(trace)
    assert places("z_a,b", trace) == [(0, 0), (0, 1)]
    assert places("v_2", trace) == [(1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("label", "key"), [("s", "sum[s]"), ("-", "sum[-]"), ("ueries", "q_ueries")]
)
def test_a_name_that_is_printed_comes_before_an_alias(label: str, key: str) -> None:
    problem = labelled(label, "t")
    found = find_cells(key, attncli.compute(problem).steps)
    given = [found.step.value[place] for place in found.places]
    report = attncli.check(problem, {key: given if len(given) > 1 else given[0]})
    assert (report.verdict, report.counts["correct"]) == ("correct", len(given))
    assert attncli.check(problem, {key: [number + 1 for number in given]}).verdict == "wrong"


def test_labels_in_markdown_formulas_stay_on_their_line(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text('{tokens: ["c\\nd", "a\\u202eb"], X: [[1, 0], [0, 1]], score: dot}')
    out = attn("explain", str(path), "scores[1, 2]", "-f", "markdown").out
    (line,) = (line for line in out.splitlines() if line.startswith("- "))
    assert "\\textbackslash{}nd" in line
    assert line.endswith("`$")
    assert "\u202e" not in out


PIECES = [
    *('[]:,120AISX"_٣ ', "scores", "weights", "q_", "z_", "-1", "am", "good"),
    *("[head", "Q_2", "head²", "[am, ", "2]"),
]
NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)


@pytest.mark.parametrize("sample", ["i_am_good.yaml", "heads_cut.yaml", "integers_columns.yaml"])
@settings(max_examples=25, deadline=None)
@given(word=st.one_of(NAMES, st.builds("scores[{}{}".format, NAMES, NAMES)))
@example(word="scores[1, 2]")
@example(word="scores[0, 2]")
def test_whatever_is_written_is_read_or_refused_and_hints_work(sample: str, word: str) -> None:
    trace = attncli.compute(problem_of(sample))
    try:
        found = find_cells(word, trace.steps, trace.inputs)
    except attncli.InputError as error:
        hint = r"\n  write (?!it as)(.*\])(?:, as places count from 1)?$"
        for other in re.findall(hint, str(error)):
            assert places(other, trace)
    else:
        assert np.size(found.step.value[found.at]) == len(found.places) > 0


@pytest.mark.parametrize("name", ["scores[, 2]", "scores[1,,2]", "scores[1,]"])
def test_an_empty_place_is_refused(name: str) -> None:
    with pytest.raises(attncli.InputError, match="leaves a place empty"):
        attncli.explain_all(attncli.compute(labelled("a", "b")), name)
