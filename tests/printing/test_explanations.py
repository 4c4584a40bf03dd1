"""Explanations are true: what is printed, worked out by another reader, gives what was computed."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.attention.softmax import Largest
from attncli.core.explaining import terms
from attncli.core.explaining.explain import Source, explain, explain_all
from attncli.core.mechanisms.trace import Trace
from attncli.core.tape.evaluation import array_of, cut, evaluate_region, walk
from attncli.core.tape.step import Step
from tests.conftest import SAMPLES, TYPICAL_SAMPLES, Attn, cases, in_terminal
from tests.oracles.worked import value_of

DECIMALS = 4


def half_unit(printed: str) -> float:
    """Return half a unit of the last of four digits after the point of a printed number."""
    exponent = int(printed.partition("e")[2] or 0)
    return 0.5 * 10.0 ** (exponent - DECIMALS) * (1 + 1e-9)


def number(printed: str) -> float:
    return float(printed.replace("∞", "inf"))


def cell_of(trace: Trace, name: str) -> float:
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


def recurrent_blanks(step: Step) -> set[tuple[int, ...]]:
    """Return the cells that are blank: in all weights of a recurrence, states still to come."""
    if step.name != "weights" or step.axes != ("time", "state"):
        return set()
    return {(t, s) for t, s in np.ndindex(step.value.shape) if s > t + 1}


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_the_numbers_that_are_put_in_give_the_number_that_was_computed(path: Path) -> None:
    """Every cell of every step of every sample, by a reader that shares nothing with the writer."""
    for problem in attncli.load_all(path):
        trace = attncli.compute(problem)
        for step in trace:
            explained = explain_all(trace, step, DECIMALS, full=True)
            blank = recurrent_blanks(step)
            assert set(explained) | blank == set(np.ndindex(step.value.shape))
            for place, found in explained.items():
                value = float(step.value[place])
                assert found.value == value
                if np.isinf(value):
                    assert found.result == "-∞"
                    assert found.reason or number(found.numbers) == value
                    continue
                allowed = half_unit(found.result)
                assert abs(number(found.result) - value) <= allowed
                assert abs(value_of(found.numbers) - value) <= 2 * allowed, found.line
                assert abs(value_of(found.numbers) - number(found.result)) <= allowed, found.line
                if found.unfolded:
                    assert abs(value_of(found.unfolded) - number(found.result)) <= allowed


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_the_cells_that_a_formula_names_hold_its_numbers(path: Path) -> None:
    """Where the formula names single cells, their numbers by these names give the result."""
    count = 0
    for problem in attncli.load_all(path):
        trace = attncli.compute(problem)
        for step in trace:
            for place, found in explain_all(trace, step, full=True).items():
                if any(sign in found.formula for sign in (" · ", "‖", "τ")):
                    continue  # vectors and letters have tests of their own
                if not found.formula:
                    continue
                value = value_of(found.formula, partial(cell_of, trace))
                assert value == pytest.approx(float(step.value[place]), rel=1e-12, abs=1e-13)
                count += 1
    assert count or path.name.startswith("dictionary")


def test_a_dot_product() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))
    explanation = explain(trace, trace["scores"], (1, 0))
    assert explanation.name == "scores[am, I]"
    assert explanation.formula == "q_am · k_I"
    assert explanation.numbers == "1·1 + 1·3 + 3·2"
    assert explanation.result == "10"
    assert explanation.sources == tuple(
        Source(step, (row, column)) for column in range(3) for step, row in (("Q", 1), ("K", 0))
    )
    assert explanation.line == "scores[am, I] = q_am · k_I = 1·1 + 1·3 + 3·2 = 10"


def test_a_weight() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))
    assert explain(trace, trace["weights"], (1, 0)).line == (
        "weights[am, I] = exp[am, I] / sum[am] = e^10 / (e^10 + e^11 + e^6) "
        "= 22026.4658 / 82304.0363 = 0.2676"
    )


def step_line(trace: Trace, step: Step, *place: int) -> str:
    return explain(trace, step, place).line


def test_what_a_mask_blocks() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "mask_causal.yaml"))
    assert step_line(trace, trace["masked"], 0, 2) == ("masked[I, good] = -∞, as mask[I, good] = 0")
    sources = explain(trace, trace["masked"], (0, 2)).sources
    assert sources == (Source("mask", (0, 2)),)


def explained(attn: Attn, *arguments: str | Path) -> list[str]:
    result = attn("explain", *arguments)
    assert (result.status, result.err) == (0, "")
    return result.out.splitlines()


def test_the_command_prints_the_formula_and_the_cell(attn: Attn) -> None:
    assert explained(attn, "sample_inputs/i_am_good.yaml", "scores[am, I]") == [
        "scores = Q Kᵀ",
        "scores[am, I] = q_am · k_I = 1·1 + 1·3 + 3·2 = 10",
    ]


@pytest.mark.parametrize("cell", ["scores[2, 1]", "scores[am,1]", ' scores [2,"I"] '])
def test_labels_and_numbers_name_the_same_cell(cell: str, attn: Attn) -> None:
    lines = explained(attn, "sample_inputs/i_am_good.yaml", cell)
    assert lines[-1].endswith("1·1 + 1·3 + 3·2 = 10")


@pytest.mark.parametrize("cell", ["weights[head 2][p, q]", "weights[2][1, 2]"])
def test_heads_have_brackets_of_their_own(cell: str, attn: Attn) -> None:
    """Query head 2 reads key head 1: q_p = X[p, 2] = 0, so that both exponentials are 1."""
    lines = explained(attn, "sample_inputs/heads_grouped.yaml", cell)
    assert lines[-1] == (
        "weights[head 2][p, q] = exp[head 2][p, q] / sum[head 2][p] = e^0 / (e^0 + e^0) "
        "= 1 / 2 = 0.5"
    )


def test_deep_goes_down_to_the_input(attn: Attn) -> None:
    lines = explained(attn, "sample_inputs/i_am_good.yaml", "exp[am, I]", "--deep")
    assert lines == [
        "exp = e^scores",
        "exp[am, I] = e^scores[am, I] = e^10 = 22026.4658",
        "  scores[am, I] = q_am · k_I = 1·1 + 1·3 + 3·2 = 10",
        "    Q[am, 1] = X[am, 1] = 1",
        "    K[I, 1] = X[I, 1] = 1",
        "    Q[am, 2] = X[am, 2] = 1",
        "    K[I, 2] = X[I, 2] = 3",
        "    Q[am, 3] = X[am, 3] = 3",
        "    K[I, 3] = X[I, 3] = 2",
    ]


def test_without_a_cell_every_cell_is_explained(attn: Attn) -> None:
    lines = explained(attn, "sample_inputs/i_am_good.yaml", "scores")
    assert len(lines) == 1 + 9


@cases("explaining", "what_is_not_there_is_one_sentence")
def test_what_is_not_there_is_one_sentence(cell: str, message: str, attn: Attn) -> None:
    result = attn("explain", "sample_inputs/i_am_good.yaml", cell)
    assert (result.status, result.out) == (2, "")
    assert message in result.err


def test_a_long_sum_is_shown_whole_only_when_asked(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text(f"X: [{list(range(1, 21))}]\nscore: dot\nnormalize: none\n")
    short = explained(attn, str(path), "scores[1, 1]")[-1]
    assert short == (
        "scores[1, 1] = q · k = 1·1 + 2·2 + 3·3 + … 14 more terms … + 18·18 + 19·19 + 20·20 = 2870"
    )
    whole = explained(attn, str(path), "scores[1, 1]", "--full")[-1]
    assert whole.count("·") == 21  # that of q · k too
    assert value_of(whole.split(" = ")[2]) == 2870 == 20 * 21 * 41 / 6


def test_json_has_the_parts_and_the_sources(attn: Attn) -> None:
    record = json.loads(
        attn("explain", "sample_inputs/i_am_good.yaml", "scores[am, I]", "-f", "json").out
    )
    assert record["cells"] == [
        {
            "name": "scores[am, I]",
            "formula": "q_am · k_I",
            "numbers": "1·1 + 1·3 + 3·2",
            "result": "10",
            "value": 10.0,
            "sources": [
                {"step": step, "index": [row, column]}
                for column in range(3)
                for step, row in (("Q", 1), ("K", 0))
            ],
        }
    ]


HOSTILE = ["<script>alert(1)</script>", "\x1b[31m$x_1^2$\\input{a}", "السلام"]


@pytest.mark.parametrize("form", ["table", "json", "latex", "markdown"])
def test_labels_are_always_text(form: str, attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps({"X": [[1, 0], [0, 1], [1, 1]], "tokens": HOSTILE, "title": "`$_"}))
    result = attn("explain", path, "weights[1, 2]", "-f", form, "--deep")
    assert result.status == 0
    assert "\x1b" not in result.out
    if form in ("latex", "markdown"):
        assert "<script>" not in result.out
        assert "\\input{" not in result.out
        assert result.out.count("{") - result.out.count("\\{") == result.out.count(
            "}"
        ) - result.out.count("\\}")


def test_latex_of_a_weight(attn: Attn) -> None:
    out = attn("explain", "sample_inputs/i_am_good.yaml", "weights[am, I]", "-f", "latex").out
    assert out == (
        "\\begin{align*}\n"
        r"\mathrm{weights}_{\text{am}, \text{I}} &= "
        r"\frac{\mathrm{exp}_{\text{am}, \text{I}}}{\mathrm{sum}_{\text{am}}} = "
        r"\frac{e^{10}}{e^{10} + e^{11} + e^{6}} = \frac{22026.4658}{82304.0363} = 0.2676"
        "\n\\end{align*}\n"
    )


def test_rounded_steps_are_explained_with_the_number_before_rounding(
    attn: Attn, tmp_path: Path
) -> None:
    path = tmp_path / "rounded.yaml"
    path.write_text("X: [[1, 3, 2], [1, 1, 3], [1, 2, 1]]\nround: 2\n")
    last = explained(attn, str(path), "scaled[2, 1]")[-1]
    assert last == "scaled[2, 1] = scores[2, 1] / √3 = 10 / √3 = 5.7735 ≈ 5.77"
    # e^5.77 = 320.5377…, as any table of exponentials has it
    last = explained(attn, str(path), "exp[2, 1]")[-1]
    assert last == "exp[2, 1] = e^scaled[2, 1] = e^5.77 = 320.5377 ≈ 320.54"


HARD: list[dict[str, Any]] = [
    {"X": [[[0, 1 / 7, 2 / 7], [3, 4, 5]], [[1, 2, 3], [0.1, 0.2, 0.3]]]},  # a batch
    *(
        {"X": [[1, -2], [3, 4]], "mask": [[0, 0], [0, 1]], "normalize": name}
        for name in ("softmax", "sparsemax", "hardmax")
    ),
    {"scores": [[1, "-inf"], ["-inf", "-inf"]], "V": [[1], [2]], "normalize": "sum"},
    {"scores": [[1000, 1001], [-1e5, 3]], "V": [[1], [2]]},
    {"X": np.array([[1.1, 2], [3, 4]], np.float32), "tokens": ["the", "the"]},
    {"X": [[1.1e-7, 2e-7], [3e-7, 4e-7]], "tokens": ["a, b", "[c]"], "score": "dot"},
    {"X": [[1.1e9, 2e9], [3e9, 4e9]], "score": "dot", "normalize": "none", "scale": "1e-20"},
    {"X": [[1, 2], [3, 4]], "score": {"name": "general", "W": [[1, 2], [-3, -4]]}},
    {"X": [[1, 2], [3, 4]], "W_q": [[1, -2], [3, 4]], "b_q": [0.5, -0.5], "b_o": [1, -1]},
    {"X": [[1, 2], [3, 4]], "W_c": [[1, 0, 0, 1], [1, 1, 1, 1]], "tokens_as": "columns"},
    {
        "X": [[1, 2, 0, 1], [3, 4, 1, 1]],
        "heads": 2,
        "kv_heads": 1,
        "W_k": [[1, 0], [0, 1], [1, 1], [0, 0]],
        "W_v": [[1, 0], [0, 1], [1, 1], [0, -1]],
        "softcap": "1/3",
        "normalize": {"base": 2, "temperature": "3/7", "axis": "queries"},
    },
]


@pytest.mark.parametrize("keys", HARD, ids=range(len(HARD)))
def test_hard_problems_are_explained_truly(
    keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = attncli.compute(attncli.Problem(**keys))
    for large, decimals in ((0, 1), (0, 9), (10**6, 4)):
        monkeypatch.setattr(terms, "LARGE", large)
        check_explanations(trace, decimals)


def check_explanations(trace: attncli.Trace, decimals: int) -> None:
    """Assert that the numbers that each cell is explained by give the number of the cell."""
    digits = 1e-6 if trace["V"].array.dtype == np.float32 else 1e-14
    for step in trace:
        explained = explain_all(trace, step, decimals, full=True)
        assert len(explained) == step.value.size
        for found in explained.values():
            if not np.isfinite(found.value):
                assert found.reason or found.numbers == "-∞"
                continue
            exponent = int(found.result.partition("e")[2] or 0)
            unit = 10.0 ** (exponent - decimals)
            allowed = unit / 2 * (1 + 1e-9) + digits * abs(found.value)
            assert abs(value_of(found.numbers) - number(found.result)) <= allowed, found.line
            assert abs(found.value - number(found.result)) <= allowed


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_cells_one_by_one_are_those_of_all_at_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for problem in attncli.load_all(path):
        trace = attncli.compute(problem)
        lines = []
        for large in (0, 10**6):
            monkeypatch.setattr(terms, "LARGE", large)
            lines.append(
                [
                    (place, found.line, found.sources)
                    for step in trace
                    for place, found in explain_all(trace, step).items()
                ]
            )
        assert lines[0]
        assert lines[0] == lines[1]


def test_one_number_of_many_needs_no_more_than_its_row() -> None:
    """(400 × 64) · (64 × 400) would be ten million products; the row's 64 take no time."""
    x = np.arange(400 * 64).reshape(400, 64) % 7 - 3
    trace = attncli.compute(attncli.Problem(X=x))
    explanation = explain(trace, trace["scores"], (7, 300), full=True)
    assert value_of(explanation.numbers) == int(x[7] @ x[300])
    assert len(explanation.sources) == 128


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_region_is_that_of_the_whole(path: Path) -> None:
    """The axes that an operation declares say which numbers of its operands a number needs."""
    for step in attncli.compute(attncli.load(path)):
        for node in walk(step.operation) if step.operation is not None else ():
            whole = array_of(node)
            if whole.ndim == 4:
                region = slice(whole.shape[2] - 1, whole.shape[2]), slice(0, 1)
                alone = evaluate_region(node, region, lambda step, part: cut(step.array, part))
                np.testing.assert_allclose(alone, cut(whole, region), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("along", "rows"), [(-1, slice(1, 2)), (-2, slice(None))])
def test_the_largest_of_a_line_needs_only_that_line(along: int, rows: slice) -> None:
    scores = attncli.compute(attncli.Problem(scores=[[1, 3, 3], [5, 2, 1]], V=np.eye(3)))["scores"]
    (needed,), _ = Largest(scores, along).needs((slice(1, 2), slice(0, 1)))
    assert needed == (rows, slice(None) if along == -1 else slice(0, 1))


def test_cells_of_one_form_have_names_of_their_places() -> None:
    """They share a pattern; that of the first column, which may be whole, is another one."""
    x = np.array([[1, 2], [3, 4], [5, 6]])
    trace = attncli.compute(attncli.Problem(X=x, W_q=[[1, 0], [2, 1]]))
    several = explain_all(trace, "Q")
    assert several[2, 1].line == "Q[3, 2] = X[3, 1]·W_q[1, 2] + X[3, 2]·W_q[2, 2] = 5·0 + 6·1 = 6"
    scores = explain_all(trace, "scores")
    assert scores[2, 0].formula == "q_3 · k_1"


def test_a_chosen_number_tells_why() -> None:
    trace = attncli.compute(
        attncli.Problem(scores=[[1, 3, 3], [5, 2, 1]], V=[[1], [2], [3]], normalize="hardmax")
    )
    weights = explain_all(trace, trace["weights"])
    assert weights[0, 1].line == "weights[1, 2] = 1, as 3 is the first largest of 1, 3, 3"
    assert weights[0, 2].line == "weights[1, 3] = 0, as 3 is the first largest of 1, 3, 3"
    assert weights[1, 0].line == "weights[2, 1] = 1, as 5 is the largest of 5, 2, 1"
    assert weights[0, 0].sources == tuple(Source("scores", (0, i)) for i in range(3))


def test_the_threshold_of_sparsemax_is_shown() -> None:
    """Of 1, 1/2 and −1 two stay: τ = (1 + 1/2 − 1) / 2 = 1/4."""
    trace = attncli.compute(attncli.load(SAMPLES / "normalize_sparsemax.yaml"))
    assert explain(trace, trace["weights"], (0, 1)).line == (
        "weights[one, b] = max(scores[one, b] − τ, 0) = max(0.5 − 0.25, 0) = 0.25, "
        "as τ = (1 + 0.5 − 1) / 2 = 0.25"
    )


def test_cosine_and_distance_are_vectors_too() -> None:
    x = [[3, 4], [4, 3]]
    trace = attncli.compute(attncli.Problem(X=x, score="cosine"))
    assert explain(trace, trace["scores"], (0, 1)).line == (
        "scores[1, 2] = q_1 · k_2 / (‖q_1‖·‖k_2‖) = (3·4 + 4·3) / (√(3² + 4²)·√(4² + 3²)) = 0.96"
    )
    trace = attncli.compute(attncli.Problem(X=x, score={"name": "distance", "width": 2}))
    assert explain(trace, trace["scores"], (0, 1)).line == (
        "scores[1, 2] = −‖q_1 − k_2‖² / (2·2²) = −((3 − 4)² + (4 − 3)²) / (2·2²) = -0.25"
    )


def test_what_is_blank_has_no_explanation() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "recurrent.yaml"))
    with pytest.raises(attncli.InputError, match="blank"):
        explain(trace, trace["weights"], (0, 3))
    assert (0, 3) not in explain_all(trace, trace["weights"])


GOOD = "sample_inputs/i_am_good.yaml"


def names(attn: Attn, *arguments: str) -> list[str]:
    """Return the names of the cells that are explained."""
    lines = explained(attn, *arguments)
    return [line.split(" = ")[0] for line in lines if "[" in line.split(" = ")[0]]


@cases("explaining", "cells_rows_columns_and_ranges")
def test_cells_rows_columns_and_ranges(cells: list[str], meant: list[str], attn: Attn) -> None:
    assert names(attn, GOOD, *cells) == meant


def test_heads_are_named_as_they_are_written(attn: Attn) -> None:
    path = "sample_inputs/heads_cut.yaml"
    second = [
        f"weights[head 2][{query}, {key}]"
        for query in ("I", "am", "good")
        for key in ("I", "am", "good")
    ]
    for cell in ("weights[head 2]", "weights[2]", "weights_2", "A head 2", "weights[head 2][:, :]"):
        assert names(attn, path, cell) == second
    assert names(attn, path, "weights[head :][am, I]") == [
        "weights[head 1][am, I]",
        "weights[head 2][am, I]",
    ]
    assert names(attn, path, "weights[am, I]") == names(attn, path, "weights[head :][am, I]")
    assert names(attn, path, "weights[head 2](am, I)") == ["weights[head 2][am, I]"]
    assert len(names(attn, path, "q_am")) == 4  # two features in each head
    assert names(attn, path, "Q_2[am, 1]") == ["Q[head 2][am, 1]"]


@cases("explaining", "a_hint_works_when_it_is_pasted")
def test_a_hint_works_when_it_is_pasted(cell: str, hint: str, attn: Attn) -> None:
    result = attn("explain", "sample_inputs/heads_cut.yaml", cell)
    assert (result.status, result.out) == (2, "")
    written = re.findall(r"write (.*?\])(?:$|,)", result.err.strip())[0]
    assert names(attn, "sample_inputs/heads_cut.yaml", written) == [hint]


@pytest.mark.parametrize(
    ("number", "cells"),
    [
        ("0.73", ["weights[am, am]"]),
        ("0,9756", ["weights[I, I]"]),
        ("0.005", ["weights[am, good]"]),
        ("14", ["scores[I, I]"]),
        ("1202604.28", ["exp[I, I]"]),
        ("59874.1", ["exp[am, am]"]),
    ],
)
def test_a_number_is_every_cell_that_shows_it(number: str, cells: list[str], attn: Attn) -> None:
    assert names(attn, GOOD, number) == cells


def test_a_negative_number_is_no_option(attn: Attn) -> None:
    path = "sample_inputs/positions_rope.yaml"
    trace = attncli.compute(attncli.load(path))
    lowest = f"{trace['scores'].value.min():.4f}"
    assert lowest.startswith("-")
    assert "scores" in names(attn, path, lowest)[0]
    assert names(attn, path, lowest) == names(attn, path, lowest.replace("-", "−"))


def test_a_number_that_no_cell_shows_or_many_do(attn: Attn) -> None:
    result = attn("explain", GOOD, "0.9796")
    assert (result.status, result.out) == (2, "")
    told = "no cell shows 0.9796\n  the nearest is weights[I, I] = 0.9756\n"
    assert result.err == told
    result = attn("explain", GOOD, "1")
    assert result.err == "1 is in more than 12 cells; here are the first\n"
    assert result.out.count("\n") == 12 + 3 + 2


def test_without_a_cell_what_can_be_asked_is_listed(attn: Attn) -> None:
    lines = attn("explain", "sample_inputs/heads_cut.yaml").out.splitlines()
    assert lines[0] == "Name a cell such as these, a step, or a number that a page shows:"
    cells = [line.split("  ")[0] for line in lines[1:]]
    assert "weights[head 1][I, I]" in cells
    assert names(attn, "sample_inputs/heads_cut.yaml", *cells) == cells


def test_cells_of_one_step_stand_together(attn: Attn) -> None:
    lines = explained(attn, GOOD, "scores[1, 1]", "scores[2, 1]", "z_am")
    assert lines[0] == "scores = Q Kᵀ"
    assert lines[3:5] == ["", "output = weights V"]
    records = [
        json.loads(x) for x in explained(attn, GOOD, "S[1, 1]", "S[2, 1]", "V", "-f", "json")
    ]
    assert [len(record["cells"]) for record in records] == [2, 9]


def test_a_name_with_colons_is_a_label_first() -> None:
    tokens = ["12:30", ":", "a:b"]
    trace = attncli.compute(attncli.Problem(X=[[1, 0], [0, 1], [1, 1]], tokens=tokens, score="dot"))
    assert list(explain_all(trace, "scores[12:30, a:b]")) == [(0, 2)]
    assert list(explain_all(trace, "scores[:, a:b]")) == [(0, 2), (1, 2), (2, 2)]
    assert list(explain_all(trace, "scores[12:30:2, a:b]")) == [(0, 2), (1, 2)]


def test_python_takes_the_same_names() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))
    assert explain(trace, "S[2, 1]").name == "scores[am, I]"
    assert explain(trace, "context[am, 1]").line.startswith(
        "context[am, 1] = weights[am, I]·V[I, 1]"
    )
    answers = {"scores[1:2, good]": [9, 6], "scores[:, I]": [14, 10, 9], "S[2:3, am]": "11; 6"}
    report = attncli.check(trace.problem, answers)
    assert (report.verdict, report.counts["correct"]) == ("correct", 7)


def test_labels_are_the_ends_of_a_range_in_python() -> None:
    weights = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))["weights"]
    np.testing.assert_array_equal(weights["I":"am"], weights.value[0:2])
    np.testing.assert_array_equal(weights["am":, :"am"], weights.value[1:, :2])
    np.testing.assert_array_equal(weights[1:, "am"], weights.value[1:, 1])
    with pytest.raises(KeyError, match="no you along the axis query of weights; there are I, am"):
        weights["I":"you"]


def shown(*arguments: str | Path, columns: int) -> list[str]:
    """Return the lines that a terminal shows."""
    return in_terminal(*arguments, columns=columns, env={"NO_COLOR": "1"}).out.splitlines()


LONG = """
X: [[1.25, -2.5, 3.75, 0.125, -1, 2, 7, 8, 9, 11, 12, 13]]
tokens: [a + b]
score: dot
normalize: none
"""


@pytest.mark.parametrize("columns", [40, 72])
def test_lines_break_before_signs_on_a_terminal(columns: int, tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text(LONG)
    arguments = ("explain", path, "scores", "--deep", "--full")
    (whole,) = [x for x in shown(*arguments, columns=1000) if "q_" in x]
    assert whole.startswith(
        "scores[a + b, a + b] = q_a + b · k_a + b = 1.25·1.25 + (-2.5)·(-2.5) + "
    )
    lines = shown(*arguments, columns=columns)
    end = next(i for i, line in enumerate(lines) if line.lstrip().startswith("Q["))
    assert " ".join(line.strip() for line in lines[1:end]) == whole
    assert all(len(line) <= columns for line in lines)
    for line in lines[2:end]:
        assert re.match(r"    [=+−] ", line), line
        assert not re.search(r"[=+−]$", line), line


def test_lines_are_never_broken_off_a_terminal(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text(LONG)
    assert len(explained(attn, path, "scores", "--full")) == 2
    wide = tmp_path / "wide.yaml"
    wide.write_text(f"X: [{list(range(1, 513))}]\nscore: dot\nnormalize: none\n")
    (_, line) = explained(attn, wide, "scores")
    assert line.endswith(
        "1·1 + 2·2 + 3·3 + … 506 more terms … + 510·510 + 511·511 + 512·512 = 44870400"
    )
    lines = shown("explain", wide, "scores", "--full", columns=80)
    assert max(map(len, lines)) <= 80
    assert len(lines) > 50


def test_reasons_break_too(tmp_path: Path) -> None:
    path = SAMPLES / "normalize_sparsemax.yaml"
    lines = shown("explain", path, "weights[one, b]", columns=40)
    assert lines[-3:] == [
        "weights[one, b] = max(scores[one, b]",
        "    − τ, 0) = max(0.5 − 0.25, 0) = 0.25,",
        "    as τ = (1 + 0.5 − 1) / 2 = 0.25",
    ]


def test_steps_are_not_written_out_where_only_rounded_numbers_give_the_result() -> None:
    # e^-9.7 is more than half a unit; of the scores as printed, it would be e^-10.
    keys: dict[str, Any] = {"scores": [[17800000000030, 17800000000020.3]], "V": [[1], [2]]}
    trace = attncli.compute(attncli.Problem(**keys, round=1))
    explanation = explain(trace, trace["weights"], (0, 0))
    assert (explanation.numbers, explanation.unfolded) == ("1 / 1", "")
