"""The package as a library: what `import attncli` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import SAMPLES, environment


def test_names_are_functions_whatever_was_imported_before() -> None:
    """A module and a function of one name would take each other's place."""
    code = "import attncli.mechanisms.compute, attncli.files.load, attncli as a; a.compute, a.load"
    code += "; assert callable(a.compute) and callable(a.load) and callable(a.load_all)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_prints_nothing_and_needs_no_numpy() -> None:
    code = "import attncli, sys; print('numpy' in sys.modules or 'yaml' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env=environment()
    )
    assert done.stdout == b"False\n"
    assert done.stderr == b""


def test_problem_from_file_and_from_python_agree() -> None:
    problem = attncli.load(SAMPLES / "i_am_good.yaml")
    same = attncli.Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot")
    np.testing.assert_array_equal(attncli.compute(problem).output, attncli.compute(same).output)


def test_problem_does_not_change() -> None:
    problem = attncli.Problem(X=[[1.0]])
    with pytest.raises(AttributeError, match="does not change"):
        problem.heads = 2


def test_step_knows_its_name_formula_axes_and_labels() -> None:
    trace = attncli.compute(attncli.load(SAMPLES / "i_am_good.yaml"))
    scores = trace["scores"]
    assert scores.formula == "scores = Q Kᵀ"
    assert scores.axes == ("query", "key")
    assert scores.labels["key"] == ("I", "am", "good")
    assert [step.name for step in trace] == [
        *("Q", "K", "V", "scores", "exp", "sum", "weights", "output")
    ]


def test_unknown_step_names_those_there_are() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1.0]]))
    with pytest.raises(KeyError, match="no step wieghts; there are Q, K, V"):
        trace["wieghts"]


def test_several_problems_need_load_all(tmp_path: Any) -> None:
    path = tmp_path / "two.yaml"
    path.write_text("X: [[1]]\n---\nX: [[2]]\n")
    assert len(attncli.load_all(path)) == 2
    with pytest.raises(attncli.InputError, match="holds 2 problems"):
        attncli.load(path)


def test_float32_stays_float32(tmp_path: Any) -> None:
    path = tmp_path / "small.npz"
    np.savez(path, X=np.eye(3, dtype=np.float32))
    trace = attncli.compute(attncli.load(path))
    assert {step.value.dtype for step in trace} == {np.dtype(np.float32)}
