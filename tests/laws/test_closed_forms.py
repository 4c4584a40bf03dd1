"""Closed forms: known ones, ones that a reader of formulas works out, and floats beside them."""

from __future__ import annotations

import io
import json
import os
import re
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.explaining.exact import DECIMALS_WARNING, Exact
from attncli.core.mechanisms.trace import Trace
from tests.conftest import ROOT, SAMPLES, TYPICAL_SAMPLES, Attn, cases
from tests.oracles.worked import value_of


def exact_of(**keys: Any) -> tuple[Trace, Exact]:
    trace = attncli.compute(attncli.Problem(**keys))
    return trace, Exact(trace)


def closed(step: str, **keys: Any) -> Any:
    trace, exact = exact_of(**keys)
    return exact.texts(trace[step])


def assert_near(trace: Trace, exact: Exact, tolerance: float = 1e-12) -> int:
    """Assert that every closed form, as a number and as a text, is the float; return how many.

    A cell may only be left out where a warning names its step.
    """
    count = 0
    for step in trace:
        numbers, floats = exact.value(step), step.value
        assert numbers.shape == floats.shape
        for place in np.ndindex(floats.shape):
            if numbers[place] is None:
                continue
            expected = float(floats[place])
            assert float(numbers[place]) == pytest.approx(expected, rel=tolerance, abs=tolerance)
            text = exact.text(numbers[place])
            assert text is not None
            assert value_of(text) == pytest.approx(expected, rel=1e-9, abs=1e-9)
            count += 1
        if None in numbers.ravel().tolist():
            assert any(re.search(rf"\b{step.name}\b", warning) for warning in exact.warnings())
    assert count
    return count


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_closed_forms_of_samples_are_their_floats(path: Path) -> None:
    problems = attncli.load_all(path)
    if problems[0].kind == "recurrent":  # its three states take sympy seconds
        problems = [attncli.Problem(kind="recurrent", X=[[1], [3]], A=[[1, 2]])]
    for problem in problems:
        trace = attncli.compute(problem)
        assert assert_near(trace, Exact(trace)) > 4


def test_weights_and_scaled_scores_as_a_person_writes_them() -> None:
    x = [[1, 3, 2], [1, 1, 3], [1, 2, 1]]
    assert closed("weights", X=x, score="dot")[1] == [
        "e^10/(e^6 + e^10 + e^11)",
        "e^11/(e^6 + e^10 + e^11)",
        "e^6/(e^6 + e^10 + e^11)",
    ]
    assert closed("scaled", X=x)[1] == ["10√3/3", "11√3/3", "2√3"]
    # Whatever the weights, they sum to 1, and the first feature of every word is 1.
    assert [row[0] for row in closed("output", X=x)] == ["1", "1", "1"]


def test_sparsemax_and_hardmax() -> None:
    keys: dict[str, Any] = {"scores": [["1", "1/2", "-1"]], "V": [[1], [2], [3]]}
    assert closed("weights", **keys, normalize="sparsemax") == [["3/4", "1/4", "0"]]
    assert closed("weights", **keys, normalize="hardmax") == [["1", "0", "0"]]


def test_a_tie_is_one_in_exact_numbers() -> None:
    """√8 and 2√2 are one number, whatever their floats are; the first of the two is the largest."""
    row = ["sqrt(6)/sqrt(3)*sqrt(2)*sqrt(2)", "sqrt(8)", "0"]
    assert closed("weights", scores=[row], V=[[1], [2], [3]], normalize="hardmax") == [
        ["1", "0", "0"]
    ]


@cases("exact", "numbers_are_those_that_were_written")
def test_numbers_are_those_that_were_written(written: Any, text: str) -> None:
    assert closed("V", scores=[[1]], V=[[written]]) == [[text]]


def test_numbers_from_every_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "block.yaml").write_text("X: |\n  1/3 0.5\n  2, sqrt(2)\n")
    (tmp_path / "list.yaml").write_text("X: [[1/3, 0.5], [2, sqrt(2)]]\n")
    (tmp_path / "x.csv").write_text("a,1/3,0.5\nb,2,sqrt(2)\n")
    (tmp_path / "x.json").write_text('{"X": [["1/3", 0.5], [2, "sqrt(2)"]]}')
    for path in sorted(tmp_path.iterdir()):
        trace = attncli.compute(attncli.load(path))
        assert Exact(trace).texts(trace["Q"]) == [["1/3", "1/2"], ["2", "√2"]]
    buffer = io.BytesIO()
    np.savez(buffer, X=np.array([[1, 0.5], [2, 0.1]], np.float32))
    (tmp_path / "x.npz").write_bytes(buffer.getvalue())
    trace = attncli.compute(attncli.load(tmp_path / "x.npz"))
    assert Exact(trace).texts(trace["Q"]) == [["1", "1/2"], ["2", "1/10"]]


def test_axes_are_where_they_stand() -> None:
    """Columns, heads cut and in a list, parameters: each cell next to its own float."""
    x = [["1/3", 2, 3, 4], [5, "1/7", 7, 8]]
    assert_near(*exact_of(X=x, heads=2))
    assert_near(*exact_of(X=np.array([[1, 2], [3, 4], [5, 6]]).tolist(), tokens_as="columns"))
    stack = [[["1/2"], [1], [0], [0]], [[0], [0], ["1/3"], [1]]]
    assert_near(*exact_of(X=x, W_q=stack, W_k=stack, W_v=stack, heads=2))
    assert_near(*exact_of(X=np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])))
    bias = [["1/3", 0], ["-inf", 1]]
    assert_near(*exact_of(X=x, bias=bias, mask="causal"))


@cases("exact", "numbers_of_options_are_exact")
def test_numbers_of_options_are_exact(options: dict[str, Any], step: str, text: str) -> None:
    score = {"scores": [[2]], "V": [[1]]} if "scale" not in options else {"X": [[1, 1]]}
    (found,) = closed(step, **score, **options)[0]
    assert found == text


INTEGERS = st.integers(-3, 3)


def matrices(rows: int, columns: int) -> st.SearchStrategy[list[list[int]]]:
    row = st.lists(INTEGERS, min_size=columns, max_size=columns)
    return st.lists(row, min_size=rows, max_size=rows)


SCORES: list[Any] = [
    "dot",
    "scaled_dot",
    {"name": "general", "W": [[1, 2], [0, -1]]},
    {"name": "additive", "W": [[1, 0], [1, 1]], "U": [[0, 1], [1, 0]], "v": [1, 2], "b": [1, 0]},
    {"name": "concat", "W": [[1, 0, 1, 0], [0, 1, 1, -1]], "v": [1, -1]},
    {"name": "distance", "width": 2},
    "cosine",
]


@pytest.mark.parametrize("score", SCORES, ids=lambda s: s if isinstance(s, str) else s["name"])
@pytest.mark.parametrize("normalize", ["softmax", "hardmax", "sparsemax", "none"])
@settings(max_examples=2, deadline=None)
@given(x=matrices(2, 2), memory=matrices(3, 2))
def test_exact_is_float_on_random_problems(
    score: Any, normalize: str, x: list[list[int]], memory: list[list[int]]
) -> None:
    if score == "cosine":  # a vector of zeros has no direction
        x = [[row[0] or 1, row[1]] for row in x]
        memory = [[row[0] or 2, row[1]] for row in memory]
    trace, exact = exact_of(kind="cross", X=x, memory=memory, score=score, normalize=normalize)
    ties = any("hardmax took the first" in warning for warning in trace.warnings)
    if normalize == "hardmax" and score not in ("dot", "scaled_dot"):
        # What is a tie in exact numbers may be none in floats, or the other way round.
        ranked = np.sort(trace["scores"].value, axis=-1)
        assume(not ties and np.diff(ranked[:, -2:]).min() > 1e-9)
    assert assert_near(trace, exact) > 10


@settings(max_examples=20, deadline=None)
@given(scores=st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=1, max_size=3))
def test_exact_division_by_the_sum(scores: list[list[int]]) -> None:
    trace, exact = exact_of(scores=scores, V=[[1], [2], [4]], normalize="sum")
    assert_near(trace, exact)


def test_decimals_are_said_to_be_fractions() -> None:
    trace, exact = exact_of(X=[["0.5", "1/3"]])
    exact.texts(trace["Q"])
    assert list(exact.warnings()) == [DECIMALS_WARNING]
    trace, exact = exact_of(X=[["1/2", "2.0"]])
    exact.texts(trace["output"])
    assert list(exact.warnings()) == []


def test_what_is_too_long_is_left_out_and_named() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "recurrent.yaml"))
    exact = Exact(trace)
    assert exact.texts(trace["h_2"])[1] == "tanh(1)"
    assert None in exact.texts(trace["c_3"])
    (warning,) = exact.warnings()
    assert "c_3" in warning
    assert "too long" in warning


@cases(
    "exact",
    "powers_of_very_many_digits_are_left_out",
    ids=["scores", "scale", "temperature", "bias", "base", "power"],
)
def test_powers_of_very_many_digits_are_left_out(
    keys: dict[str, Any], left_out: str, kept: str, attn: Attn
) -> None:
    text = json.dumps(keys).encode()
    record = json.loads(attn("compute", "-", "--exact", "-f", "json", stdin=text).out)
    steps = {name: list(chain(*step["exact"])) for name, step in record["steps"].items()}
    assert None in steps[left_out]
    assert not kept or None not in steps[kept]
    assert any("are too long to be read, and left out" in one for one in record["warnings"])


def test_powers_of_many_digits_are_kept() -> None:
    assert closed("output", X=[[50, 20], [30, 90]], score="dot")[1][0] == (
        "(50 + 30·e^5700)/(1 + e^5700)"
    )


def test_json_has_both(attn: Attn) -> None:
    result = attn("compute", "sample_inputs/i_am_good.yaml", "--exact", "-f", "json")
    assert (result.status, result.err) == (0, "")
    weights = json.loads(result.out)["steps"]["weights"]
    assert weights["exact"][1][0] == "e^10/(e^6 + e^10 + e^11)"
    assert weights["value"][1][0] == pytest.approx(0.2676231541498624, rel=1e-15)
    again = attn("compute", "-", "--exact", "-f", "json", stdin=result.out.encode())
    assert again.out == result.out


def test_lines_have_both(attn: Attn) -> None:
    result = attn("compute", "sample_inputs/i_am_good.yaml", "--exact", "--only", "weights")
    assert "weights[am, I] = e^10/(e^6 + e^10 + e^11) = 0.2676\n" in result.out
    result = attn("explain", "sample_inputs/i_am_good.yaml", "weights[am, I]", "--exact")
    assert result.out.endswith("82304.0363 = e^10/(e^6 + e^10 + e^11) = 0.2676\n")
    result = attn("explain", "sample_inputs/i_am_good.yaml", "exp[am, I]", "--exact")
    assert result.out.endswith("e^scores[am, I] = e^10 = 22026.4658\n")  # e^10 once


def test_decimals_warn_on_the_command_line(attn: Attn) -> None:
    result = attn("compute", "sample_inputs/score_distance.yaml", "--exact", "--only", "exp")
    assert result.err == f"warning: {DECIMALS_WARNING}\n"


def instead_of_sympy(folder: Path) -> dict[str, str]:
    """Return variables with which a module in a folder is imported in place of sympy."""
    return {"PYTHONPATH": os.pathsep.join(str(path) for path in (folder, ROOT))}


@pytest.mark.parametrize("command", [["compute"], ["explain", "scores[1, 1]"]])
def test_without_sympy_the_way_to_get_it_is_told(
    command: list[str], attn_process: Attn, tmp_path: Path
) -> None:
    (tmp_path / "sympy.py").write_text("raise ImportError('not here')\n")
    arguments = [command[0], "sample_inputs/i_am_good.yaml", *command[1:], "--exact"]
    result = attn_process(*arguments, env=instead_of_sympy(tmp_path))
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        "exact results need sympy, which is not installed\n"
        "  pip install sympy, or with pipx: pipx inject attncli sympy\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--round-steps", "2"], "exact results are not rounded"),
        (["-f", "csv"], "--exact is not for csv files"),
    ],
)
def test_what_cannot_be_exact(arguments: list[str], message: str, attn: Attn) -> None:
    result = attn("compute", "sample_inputs/i_am_good.yaml", "--exact", *arguments)
    assert (result.status, result.out) == (2, "")
    assert message in result.err


def test_a_large_problem_is_refused_at_once(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"X": [[i % 7, i % 5] for i in range(60)]}))
    result = attn("compute", path, "--exact")
    assert result.status == 2
    assert "exact results are for at most 2000" in result.err


def test_sympy_is_imported_for_exact_numbers_only(attn_process: Attn, tmp_path: Path) -> None:
    (tmp_path / "sympy.py").write_text("raise SystemExit(3)\n")
    for arguments in (["compute"], ["explain", "scores[1, 1]"]):
        command = [arguments[0], "sample_inputs/i_am_good.yaml", *arguments[1:]]
        assert attn_process(*command, env=instead_of_sympy(tmp_path)).status == 0
    assert attn_process(*command, "--exact", env=instead_of_sympy(tmp_path)).status == 3


def test_a_closed_form_that_is_written_already_is_not_written_twice(
    attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text("{scores: [[4, -2]], V: [[1], [2]]}")
    out = attn("explain", tmp_path / "p.yaml", "exp[1, 1]", "--deep", "--exact").out
    assert "exp[1, 1] = e^scores[1, 1] = e^4 = 54.5982\n" in out
