"""A cell has one name, and every name that the program prints, it accepts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.core.explaining.explain import cells
from attncli.core.formulas.text import text
from attncli.core.tape.cell_names import at_of, cell_name, row
from attncli.core.tape.find_cells import find_cells
from attncli.printing.formats import Selection
from attncli.printing.page import page_of
from attncli.printing.views import subscripted
from tests.conftest import SAMPLES, TYPICAL_SAMPLES, Attn
from tests.oracles.hostile import HOSTILE

MOST = 300
"""The cells of larger steps are tried at so many places."""


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_the_name_of_every_cell_and_row_leads_back_to_it(path: Path) -> None:
    named = 0
    for problem in attncli.load_all(path):
        trace = attncli.compute(problem)
        for step in trace:
            for place in list(cells(step))[:MOST]:
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
        page = page_of(trace, Selection(full=True))
        sums = []
        for entry in page.entries:
            for one in [one for figure in entry.figures for one in figure.sums()]:
                name = subscripted(one.letter, one.word)
                assert find_cells(name, trace.steps, trace.inputs).step in entry.steps
                sums.append(one)
        names = [(w.letter, w.word) for w in sums]
        names += [(part.letter, part.word) for w in sums for part in w.parts]
        for letter, word in names:
            find_cells(subscripted(letter, word), trace.steps, trace.inputs)


def test_a_row_is_that_of_its_token_in_either_convention() -> None:
    rows = attncli.load("sample_inputs/integers.yaml")
    columns = attncli.load("sample_inputs/integers_columns.yaml")
    for name in ("output[a2]", "z_a2", "q_a2", "V[a2]"):
        numbers = []
        for problem in (rows, columns):
            trace = attncli.compute(problem)
            found = find_cells(name, trace.steps)
            numbers.append([found.step.value[place] for place in found.places])
        assert len(numbers[0]) == 3
        np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-14)


LABELS = ["a, b", "a, b", "x]"]
X = [[1, 3, 2], [1, 1, 3], [1, 2, 1]]


def test_a_cell_has_one_name_where_labels_would_not_tell_it() -> None:
    """Labels that stand twice, or that hold a comma or a bracket, give way to numbers."""
    problem = attncli.Problem(X=X, tokens=LABELS, score="dot")
    trace = attncli.compute(problem)
    pages = [
        attncli.render(trace),
        attncli.render(trace, "markdown"),
        attncli.render(trace, "html"),
    ]
    explained = attncli.explain(trace, "scores[2, 2]")
    assert explained.name == "scores[2, 2]"
    assert explained.formula == "q_2 · k_2"
    report = attncli.check(problem, {"scores": [[14, 10, 9], [10, 21, 6], [9, 6, 6]]})
    assert "scores[2, 2]" in report.findings["scores"].message
    assert "z_2 = 0.2676·v_1" in pages[0]
    assert all("z_a, b" not in page for page in pages)


def test_a_slip_in_a_head_is_named_as_explain_takes_it(attn: Attn) -> None:
    trace = attncli.compute(attncli.load("sample_inputs/heads_cut.yaml"))
    scores = trace["scores"].value.copy()
    scores[1, 1, 1] += 10
    report = attncli.check(trace.problem, {"scores": scores.tolist()})
    name = re.findall(r"scores\[head 2\]\[\w+, \w+\]", report.findings["scores"].message)[0]
    result = attn("explain", "sample_inputs/heads_cut.yaml", name)
    assert result.status == 0
    assert result.out.splitlines()[1].startswith(f"{name} = ")


def test_several_cells_of_a_row_are_explained(attn: Attn) -> None:
    out = attn("explain", "sample_inputs/i_am_good.yaml", "z_am").out
    assert [line.split(" = ")[0] for line in out.splitlines()[1:]] == [
        "output[am, 1]",
        "output[am, 2]",
        "output[am, 3]",
    ]
    assert attn("explain", "sample_inputs/i_am_good.yaml", "X[am, 2]").out == (
        "X\nX[am, 2] = 1 (given)\n"
    )


@pytest.mark.parametrize("label", HOSTILE)
def test_every_printed_name_of_a_hostile_label_is_accepted(label: str) -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 2], [3, 4]], tokens=[label, "b"], score="dot"))
    for place in cells(trace["weights"]):
        printed = cell_name(trace["weights"], place)
        assert find_cells(printed, trace.steps).places == [place], printed


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


def test_the_number_of_a_place_is_no_label() -> None:
    trace = attncli.compute(attncli.Problem(tokens=["a,b", "1"], X=[[1, 0], [0, 2]], score="dot"))
    step = trace["output"]
    names = [cell_name(step, place) for place in cells(step)]
    assert names == ["output[1, 1]", "output[1, 2]", "output[2, 1]", "output[2, 2]"]
    assert [find_cells(name, trace.steps).places for name in names] == [[p] for p in cells(step)]


def test_a_comma_does_no_harm_in_the_name_of_a_row(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text('{tokens: ["a,b", "1"], X: [[1, 0], [0, 2]], score: dot}')
    assert "z_a,b = 0.7311·v_a,b + 0.2689·v_2" in attn("compute", str(path)).out
    trace = attncli.compute(attncli.load(path))
    rows = [find_cells(name, trace.steps, trace.inputs).places for name in ("z_a,b", "v_2")]
    assert rows == [[(0, 0), (0, 1)], [(1, 0), (1, 1)]]


@pytest.mark.parametrize(
    ("label", "key"), [("s", "sum[s]"), ("-", "sum[-]"), ("ueries", "q_ueries")]
)
def test_a_name_that_is_printed_comes_before_an_alias(label: str, key: str) -> None:
    problem = attncli.Problem(tokens=[label, "t"], X=[[1, 0], [0, 2]], score="dot")
    found = find_cells(key, attncli.compute(problem).steps)
    given = [found.step.value[place] for place in found.places]
    report = attncli.check(problem, {key: given if len(given) > 1 else given[0]})
    assert report.verdict == "correct"
    assert report.counts["correct"] == len(given)


def test_labels_in_markdown_formulas_stay_on_their_line(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text('{tokens: ["c\\nd", "a\\u202eb"], X: [[1, 0], [0, 1]], score: dot}')
    out = attn("explain", str(path), "scores[1, 2]", "-f", "markdown").out
    assert out.count("\n") == 1
    assert "\u202e" not in out


PIECES = [
    *'[]:,120AISX"_٣',
    "scores",
    "weights",
    "q_",
    "z_",
    "-1",
    "am",
    "good",
    "[head",
    "Q_2",
    "head²",
]


@pytest.mark.parametrize("name", ["i_am_good.yaml", "heads_cut.yaml", "integers_columns.yaml"])
def test_whatever_is_written_is_read_or_refused_and_hints_work(name: str) -> None:
    random = np.random.default_rng(len(name))
    trace = attncli.compute(attncli.load(SAMPLES / name))
    read = 0
    for _ in range(600):
        signs = random.choice(["", " "], 6, p=[0.8, 0.2])
        pieces = random.choice(PIECES, random.integers(1, 7))
        word = "".join(map("".join, zip(pieces, signs, strict=False)))
        try:
            found = find_cells(word, trace.steps, trace.inputs)
        except attncli.InputError as error:
            hint = re.findall(
                r"\n  write (?!it as)(.*\])(?:, as places count from 1)?$", str(error)
            )
            for other in hint:
                find_cells(other, trace.steps, trace.inputs)
        else:
            read += 1
            assert np.size(found.step.value[found.at]) == len(found.places) > 0
    assert read > 15


@pytest.mark.parametrize("name", ["scores[, 2]", "scores[1,,2]", "scores[1,]"])
def test_an_empty_place_is_refused(name: str) -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 2]], score="dot"))
    with pytest.raises(attncli.InputError, match="leaves a place empty"):
        attncli.explain_all(trace, name)


def test_what_people_call_a_step_is_no_row() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 2]]))
    assert find_cells("scaled_scores", trace.steps).step.name == "scaled"


TIMES = {"s_2": "scores_2", "e_2": "scores_2", "alpha_2": "weights_2", "a_2": "weights_2"}
TIMES |= {"S2": "scores_2", "a_2[h_1]": "weights_2", "h_2": "h_2", "c_2": "c_2"}


@pytest.mark.parametrize("word", TIMES)
def test_a_word_with_a_number_is_a_step_where_steps_are_called_by_times(word: str) -> None:
    problem = attncli.load(SAMPLES / "recurrent.yaml")
    trace = attncli.compute(problem)
    found = find_cells(word, trace.steps, trace.inputs)
    assert found.step.name == TIMES[word]
    assert np.ndim(found.step.value[found.at]) == (0 if "[" in word else 1)
    report = attncli.check(problem, {word: found.step.value[found.at].tolist()})
    assert report.steps[TIMES[word]].status == report.verdict == "correct"


def test_elsewhere_a_word_with_a_number_is_a_row() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 2]], score="dot"))
    for word, name in {"s_2": "scores", "q_2": "Q", "z_2": "output"}.items():
        found = find_cells(word, trace.steps, trace.inputs)
        assert (found.step.name, found.places) == (name, [(1, 0), (1, 1)])


GRADIENTS = {"d_S": "d_scores", "dS": "d_scores", "d_A": "d_weights", "dA": "d_weights"}
GRADIENTS |= {"d_alpha": "d_weights", "d_O": "d_output", "dO": "d_output", "d_Z": "d_output"}


@pytest.mark.parametrize("word", GRADIENTS)
def test_what_people_call_a_step_has_a_gradient(word: str) -> None:
    problem = attncli.load(SAMPLES / "gradient.yaml")
    trace = attncli.compute(problem)
    step = find_cells(word, trace.steps, trace.inputs).step
    assert step.name == GRADIENTS[word]
    report = attncli.check(problem, {word: step.value.tolist()})
    assert report.steps[step.name].status == "correct"


def test_the_gradient_of_what_may_be_several_steps_is_refused(attn: Attn) -> None:
    path = "sample_inputs/gradient_heads.yaml"
    told = "d_Z may mean d_output, d_concat or d_context here"
    assert told in attn("explain", path, "d_Z").err
    report = attncli.check(attncli.load(path), {"d_Z": [["1.0", "2.0"]]})
    assert report.verdict == "incomplete"
    assert dict(report.skipped)["d_Z"].startswith("may mean d_output")


def test_the_name_of_an_input_has_a_gradient_before_a_word_for_a_step() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "gradient_recurrent.yaml"))
    for word, name in {"dA": "d_A", "d_alpha_1": "d_weights_1", "d_s_1": "d_scores_1"}.items():
        assert find_cells(word, trace.steps, trace.inputs).step.name == name
