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
from attncli.core.calculation.trace import Trace
from attncli.core.explaining.exact import Exact
from tests.conftest import ROOT, SAMPLES, TYPICAL_SAMPLES, Attn, cases
from tests.mechanisms.table import Keys, rows
from tests.oracles.worked import value_of


def exact_of(**keys: Any) -> tuple[Trace, Exact]:
    trace = attncli.compute(attncli.Problem(**keys))
    return trace, Exact(trace)


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


SLOW = ("transformer_training.yaml", "recurrent_state.yaml")
"""Samples that take sympy seconds."""


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[pytest.mark.whole] * (p.name in SLOW)) for p in TYPICAL_SAMPLES],
    ids=lambda path: path.name,
)
def test_closed_forms_of_samples_are_their_floats(path: Path) -> None:
    problems = attncli.load_all(path)
    if problems[0].kind == "recurrent":  # its three states take sympy seconds
        problems = [attncli.Problem(kind="recurrent", X=[[1], [3]], A=[[1, 2]])]
    for problem in problems:
        trace = attncli.compute(problem)
        assert assert_near(trace, Exact(trace)) > 4


@rows("exact", "closed_forms")
def test_closed_forms_are_as_a_person_writes_them(row: Keys) -> None:
    trace, exact = exact_of(**row["keys"])
    texts = exact.texts(trace[row["step"]])
    assert row["texts"] == (
        texts[row["row"]] if "row" in row else [line[row["column"]] for line in texts]
    )


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
@settings(max_examples=1 + settings().max_examples // 10)  # each takes long
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


@pytest.mark.whole
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
    keys: Keys, left_out: str, kept: str, attn: Attn
) -> None:
    text = json.dumps(keys).encode()
    record = json.loads(attn("compute", "-", "--exact", "-f", "json", stdin=text).out)
    steps = {name: list(chain(*step["exact"])) for name, step in record["steps"].items()}
    assert None in steps[left_out]
    assert not kept or None not in steps[kept]
    assert any("are too long to be read, and left out" in one for one in record["warnings"])


def test_a_large_problem_is_refused_at_once(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"X": [[i % 7, i % 5] for i in range(60)]}))
    result = attn("compute", path, "--exact")
    assert result.status == 2
    assert "exact results are for at most 2000" in result.err


@pytest.mark.whole
@pytest.mark.parametrize("command", [["compute"], ["explain", "scores[1, 1]"]])
def test_sympy_is_imported_for_exact_numbers_only(
    command: list[str], attn_process: Attn, tmp_path: Path
) -> None:
    """And where it is not there, the way to get it is told."""
    (tmp_path / "sympy.py").write_text("raise ImportError('not here')\n")
    path = {"PYTHONPATH": os.pathsep.join(map(str, (tmp_path, ROOT)))}
    arguments = [command[0], "sample_inputs/i_am_good.yaml", *command[1:]]
    assert attn_process(*arguments, env=path).status == 0
    result = attn_process(*arguments, "--exact", env=path)
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        "exact results need sympy, which is not installed\n"
        "  pip install sympy, or with pipx: pipx inject attncli sympy\n"
    )
