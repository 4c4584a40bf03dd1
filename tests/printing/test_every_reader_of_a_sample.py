"""Every reader of a calculation shows, explains and writes the same numbers.

Each sample is calculated once, and every output of it is asked for what all samples must have: the
typical ones by default, all in the whole check.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from markdown_it import MarkdownIt

import attncli
from attncli import explain_all
from attncli.core.attention import tile_loop, weights
from attncli.core.explaining.terms import evaluate_region
from attncli.core.formulas.printers import mathml, tex
from attncli.core.formulas.text import text
from attncli.core.tape.evaluation import array_of, cut, walk
from attncli.core.tape.step import Operation
from attncli.printing.page import page_of
from attncli.printing.selection import Selection
from tests.conftest import SAMPLE_FILES, TYPICAL_SAMPLES, Attn, table
from tests.oracles.worked import value_of
from tests.printing.test_formulas import assert_braces_are_closed
from tests.support.explained import assert_explained_truly
from tests.support.numpy_programs import assert_same_steps, run
from tests.support.readers import tried
from tests.support.rows_of_pages import READERS, element_of, known_rows, results, text_of
from tests.support.told_in_pages import told_in
from tests.support.workbooks import (
    changed,
    differences,
    opened,
    own_values,
    with_inputs_of,
    workbook,
)

SELF_CLOSING = {"meta", "br", "mspace"}
"""Elements that end where they begin, in HTML as in XML."""


WEIGHTS_ALONE = [("-f", "csv", "-d", "9"), ("-f", "tsv", "-d", "9"), ("-f", "json")]


SAYS_NOT_WHY = {"cos", "sin", "K_rotary"}
"""Steps without a sentence, and one with two."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(path, marks=[] if path in TYPICAL_SAMPLES else pytest.mark.whole)
        for path in SAMPLE_FILES
    ],
    ids=lambda path: path.name,
)
def sample(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture(scope="module")
def trace(sample: Path) -> attncli.Trace:
    """Return the calculation of a sample, which all its readers share."""
    return attncli.compute(attncli.load(sample))


@pytest.fixture(scope="module")
def html(trace: attncli.Trace) -> str:
    return attncli.render(trace, "html")


# Pages of HTML.


def test_the_page_is_well_formed_and_asks_for_nothing(html: str) -> None:
    elements = [*element_of(html).iter()]
    attributes = [element.attrib for element in elements]
    tags = {element.tag for element in elements}
    assert not tags & {"link", "img", "iframe", "object", "embed", "base", "form"}
    assert not {"src", "srcset", "action", "xlink:href"} & set().union(*attributes)
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\(", html)
    markup = re.sub("<script.*?</script>", "", html, flags=re.DOTALL)
    assert set(re.findall(r"<(\w+)[^<>]*/>", markup)) <= SELF_CLOSING
    for element in elements:
        if element.tag == "th" and "scope" not in element.attrib:
            assert element.attrib == {}, "only the dots of what is left out are no header"
    assert len([element for element in elements if element.tag == "td"]) > 2
    places = [about["id"] for about in attributes if "id" in about]
    assert len(places) == len(set(places))
    assert not any(" " in place for place in places)
    links = {about["href"] for about in attributes if "href" in about}
    assert links
    assert links <= {f"#{place}" for place in places}


def test_the_page_has_the_numbers_of_the_calculation(trace: attncli.Trace, html: str) -> None:
    """A step's section has its numbers, or that of the step before it, with which it stands."""
    sections = {
        s.get("id"): s for s in element_of(html).iter("section") if s.get("class") == "step"
    }
    section, compared = ElementTree.Element("section"), 0
    for step in trace:
        section = sections.get(step.name, section)
        shown = [cells_of(table) for table in section.iter("table")]
        if step.name == "h_0" and not shown:
            continue  # the zeros that it is by default stand in its formula
        right = step.formula.rpartition(" = ")[2]
        if right == "0" or (re.fullmatch(r"[\w.]+", right) and right not in trace.inputs):
            continue  # what vanishes, or is another step, is only said
        wanted = [half_up(x) for x in step.value.ravel().tolist()]
        if step.name == "weights" and "weights_1" in trace:  # states still to come are blank
            wanted = [number for number in wanted if number != "0.0000"]
        compared += len(wanted)
        if len(step.axes) == 2:
            assert wanted in shown, step
        else:
            assert wanted
            assert set(wanted) <= {number for table in shown for number in table}, step
    assert compared >= 4, "a page without numbers shows nothing"


def cells_of(table: ElementTree.Element) -> list[str]:
    return [number for cell in table.iter("td") if (number := four_decimals(text_of(cell)))]


def four_decimals(text: str) -> str:
    """Return a number as a page shows it with up to 4 decimals; nothing for an empty cell."""
    return f"{as_number(text):.4f}" if text.strip() else ""


def half_up(number: float) -> str:
    """Return a number with 4 decimals; halves are rounded away from zero."""
    if not math.isfinite(number):
        return f"{number:.4f}"
    return f"{float(Decimal(number).quantize(Decimal('0.0001'), ROUND_HALF_UP)):.4f}"


def as_number(text: str) -> float:
    return float(text.replace("−", "-").replace("∞", "inf"))


def test_explanations_on_the_page_end_in_the_number_and_lead_to_those_that_they_use(
    html: str,
) -> None:
    shown: dict[str, set[str]] = {}
    for cell in element_of(html).iter("td"):
        if place := cell.get("data-c"):
            shown.setdefault(place, set()).add(four_decimals(text_of(cell)))
    explained = told_in(html)
    assert set(explained) <= set(shown)
    for place, about in explained.items():
        last = [line for line in about.lines if not line.startswith("as ")][-1]
        result = re.split("[=≈]", last.removesuffix(" (given)"))[-1]
        assert {four_decimals(result)} == shown[place]
        assert about.lit <= set(shown)
    links = [link for about in explained.values() for link in about.links]
    assert len(links) > 5
    for written, place in links:
        # Of a number in a formula there may be more digits, so that the formula gives its result.
        if {four_decimals(written)} != shown[place]:
            assert abs(as_number(written) - as_number(*shown[place])) < 1e-4


# Every format for reading.


@pytest.mark.parametrize("form", READERS)
def test_every_format_shows_the_numbers_of_the_page(form: str, trace: attncli.Trace) -> None:
    page = page_of(trace, Selection(full=True))
    shown = set(READERS[form](attncli.render(trace, form, full=True)))
    assert shown - known_rows(page) <= {()}, "no number stands on no page"
    figures = [figure for entry in page.entries for figure in entry.figures]
    assert sum(len(figure.results) for figure in figures) >= 3
    for figure in figures:
        assert any(all(row in shown for row in way) for way in results(figure))


def test_markdown_is_balanced(trace: attncli.Trace) -> None:
    written = attncli.render(trace, "markdown")
    fences = re.findall(r"^```\w*$", written, re.MULTILINE)
    assert fences == ["```math", "```"] * (len(fences) // 2)
    assert len(fences) >= 6
    assert written.count("$`") == written.count("`$")
    for rows in re.findall(r"(?:^\|.*\|\n)+", written, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows.splitlines()}) == 1
    for block in re.findall(r"```math\n(.*?)\n```", written, re.DOTALL):
        assert block.count(r"\begin{") == block.count(r"\end{")
        assert block.count(r"\left") == block.count(r"\right")
    tables = len(re.findall(r"^\| :?--", written, re.MULTILINE))
    has_labels = any(step.labels for step in trace)
    assert bool(tables) is has_labels
    as_html = MarkdownIt("commonmark").enable("table").render(written)
    assert as_html.count("<table>") == tables


def test_formulas_have_the_same_letters_and_digits_in_text_and_mathml_and_closed_braces_in_tex(
    trace: attncli.Trace,
) -> None:
    notes = [step.note for step in trace if step.note is not None]
    for formula in [*(step.notation for step in trace), *notes]:
        shown = text(formula)
        read = "".join(ElementTree.fromstring(mathml(formula)).itertext())
        # A derivative d_Q is ∂L/∂Q there; d_k is a size.
        written = re.sub(r"\bd_(?!(?:[kvq]|model)\b)", "L", shown).replace("delta", "δ")
        written = written.replace("alpha", "α").replace("beta", "β").replace("lambda", "λ")
        written = written.replace("²", "2").replace("_", "")
        letters = Counter(re.findall(r"[^\W_ᵀ]", written))
        assert Counter(re.findall(r"[^\W_ᵀ]", read)) == letters, shown
        assert read.count("⊤") == shown.count("ᵀ"), shown
        assert_braces_are_closed(tex(formula))


def test_every_step_says_in_a_sentence_why_it_is_done(trace: attncli.Trace) -> None:
    made = [step for step in trace if isinstance(step.operation, Operation)]
    assert made
    for step in made:
        if step.name in SAYS_NOT_WHY:
            continue
        assert re.fullmatch(r"[^.]{20,88}\.", step.why), "one sentence, in a line of 80 or two"


@pytest.mark.parametrize("only", [(), ("*",)], ids=["weights", "every step"])
def test_a_picture_is_whole_and_the_same_each_time(
    only: tuple[str, ...], trace: attncli.Trace
) -> None:
    svg = attncli.render(trace, "svg", only)
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.findtext("{http://www.w3.org/2000/svg}title")
    assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|url\(|<script|\bnan\b|\binf\b", svg)
    assert svg == attncli.render(trace, "svg", only)


# Files for programs.


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "tsv"])
def test_text_is_read_back_from_a_pipe(form: str, trace: attncli.Trace, attn: Attn) -> None:
    """Nothing names the form there, and titles and notes may have colons as YAML has."""
    written = attncli.render(trace, form).encode()
    again = attn("compute", "-", "-f", "json", stdin=written)
    assert again.status == 0, again.err
    assert again.out == attncli.render(trace, "json")


def test_arrays_are_read_back(
    sample: Path, trace: attncli.Trace, attn: Attn, tmp_path: Path
) -> None:
    assert attn("compute", sample, "-o", tmp_path / "out.npz").status == 0
    again = attn("compute", tmp_path / "out.npz", "-f", "json")
    assert again.status == 0, again.err
    assert json.loads(again.out) == json.loads(attncli.render(trace, "json"))


@pytest.mark.parametrize("form", ["tidy", "tsv"])
def test_what_is_written_is_correct_as_answers(
    form: str, sample: Path, trace: attncli.Trace, attn: Attn
) -> None:
    """Each number of the hidden layer of a score has a place of its own, too."""
    written = attncli.render(trace, form).encode()
    result = attn("check", sample, "-", "--quiet", stdin=written)
    assert (result.status, result.out[:9], result.err) == (0, "correct: ", "")


def test_tidy_has_every_number_once_at_its_place(trace: attncli.Trace) -> None:
    rows = [*csv.DictReader(io.StringIO(attncli.render(trace, "tidy")))]
    assert len(rows) == sum(step.value.size for step in trace)
    for step in trace:
        own = [row for row in rows if row["step"] == step.name]
        values = np.array([float(row["value"]) for row in own])
        np.testing.assert_array_equal(values.reshape(step.value.shape), step.value)
        assert {bool(row["head"]) for row in own} == {"head" in step.axes}
        assert {bool(row["batch"]) for row in own} == {"batch" in step.axes}
        names = ("batch", "head", "row", "column", "hidden")
        places = [tuple(int(row[name]) - 1 for name in names if row[name]) for row in own]
        assert places == [*np.ndindex(step.value.shape)]
        if "query" in step.labels and step.axes[-2:] == ("query", "key"):
            words = step.labels["query"]
            assert [row["row_label"] for row in own] == [words[place[-2]] for place in places]


def test_weights_that_are_written_while_they_are_calculated_are_the_same(
    sample: Path, trace: attncli.Trace, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In tiles of 2 × 3, as if there were many."""
    if "weights" not in trace:
        return
    commands = [("compute", sample, "--only", "weights", *more) for more in WEIGHTS_ALONE]
    *plain, record = [attn(*command) for command in commands]
    monkeypatch.setattr(weights, "MANY_SCORES", 1)
    monkeypatch.setattr(tile_loop, "TILE_ROWS", 2)
    monkeypatch.setattr(tile_loop, "TILE_KEYS", 3)
    *in_tiles, other = [attn(*command) for command in commands]
    assert in_tiles == plain
    one, two = (json.loads(result.out)["steps"]["weights"] for result in (record, other))
    found, wanted = (np.array(step.pop("value"), float) for step in (two, one))
    assert one == two
    # Scores up to 60 of up to 8 products each: (8 + 4)·ε·60 in an exponent.
    np.testing.assert_allclose(found, wanted, rtol=2e-13, atol=1e-300)


def test_every_reader_takes_it(trace: attncli.Trace) -> None:
    """Also live pages, answers of few digits, gradients: what a new mechanism is tried with."""
    failed = {name: said for name, said in tried(trace.problem) if said}
    assert all(said.startswith("not tried") for said in failed.values()), failed


def test_workbook_formulas_give_the_numbers_after_a_change(trace: attncli.Trace) -> None:
    if (other := changed(trace.problem)) is not None:
        wanted = workbook([attncli.compute(other)])
        book = opened(with_inputs_of(workbook([trace]), wanted))
        assert not differences(book, opened(wanted, values=True), own_values())


# Explanations.


def test_the_cells_that_a_formula_names_hold_its_numbers(trace: attncli.Trace) -> None:
    """Where the formula names single cells, their numbers by these names give the result."""
    for step in trace:
        for place, found in explain_all(trace, step, full=True).items():
            # Vectors, letters and steps of a layer have tests of their own.
            if found.formula and not re.search(r" · |‖|τ|layers\.", found.formula):
                value = value_of(found.formula, partial(cell_of, trace))
                assert value == pytest.approx(float(step.value[place]), rel=1e-12, abs=1e-13)


def cell_of(trace: attncli.Trace, name: str) -> float:
    """Return the number of a cell by its name, from labels or places, with a reading of its own."""
    key, *groups = re.findall(r"^[^\[]+|\[[^\]]*\]", name)
    step = trace.steps.get(key) or trace.inputs[key]
    value = step.value
    for axis, group in zip(step.leading, groups, strict=False):
        value = value[int(group[1:-1].split()[-1]) - 1]
        assert axis in group
    words = groups[-1][1:-1].split(", ") if len(groups) > len(step.leading) else []
    axes = [axis for axis in step.axes[len(step.leading) :] if axis != "sum"]
    for axis, word in zip(axes, words, strict=True):
        labels = step.labels.get(axis, ())
        place = labels.index(word) if word in labels else int(word) - 1
        value = np.take(value, [place], axis=step.axes.index(axis) - len(step.leading))
    assert value.size == 1
    return float(value.reshape(()))


def test_cells_one_by_one_are_explained_as_all_at_once(
    trace: attncli.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for large in (0, 10**6):
        monkeypatch.setattr("attncli.core.explaining.terms.LARGE", large)
        every = [explain_all(trace, step).items() for step in trace]
        found.append([(place, x.line, x.sources) for cells in every for place, x in cells])
    assert found[0]
    assert found[0] == found[1]


def test_a_region_is_that_of_the_whole(trace: attncli.Trace) -> None:
    """The axes that an operation declares say which numbers of its operands a number needs."""
    for step in trace:
        for node in walk(step.operation) if step.operation is not None else ():
            whole = array_of(node)
            if whole.ndim == 4:
                region = slice(whole.shape[2] - 1, whole.shape[2]), slice(0, 1)
                alone = evaluate_region(node, region, lambda step, part: cut(step.array, part))
                np.testing.assert_allclose(alone, cut(whole, region), rtol=1e-12, atol=1e-12)


# Problems that are hard for a reader.

HARD = {row["name"]: row["keys"] for row in table("hard_problems", "problems")}
FLOAT32: dict[str, Any] = {
    "X": np.array([[1.1, 2], [3, 4]], np.float32),
    "tokens": ["the", "the"],
    "positions": "rope",
}


@pytest.mark.parametrize("keys", [*HARD.values(), FLOAT32], ids=[*HARD, "float32"])
def test_explanations_and_programs_of_hard_problems_are_true(
    keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = attncli.compute(attncli.Problem(**keys))
    exact = trace.unrounded or trace
    for large, decimals in ((0, 1), (0, 9), (10**6, 4)):
        monkeypatch.setattr("attncli.core.explaining.terms.LARGE", large)
        assert_explained_truly(exact, decimals)
    assert_same_steps(exact, run(attncli.render(trace, "numpy")))


@pytest.mark.parametrize("keys", HARD.values(), ids=HARD)
def test_workbook_formulas_give_the_numbers_of_hard_problems(keys: dict[str, Any]) -> None:
    data = workbook([attncli.compute(attncli.Problem(**keys))])
    assert not differences(opened(data), opened(data, values=True), own_values())
