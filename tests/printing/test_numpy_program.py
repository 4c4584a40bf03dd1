"""`-f numpy`: the program gives every step of the calculation, run by itself."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import SAMPLE_FILES, SAMPLES, Attn
from tests.mechanisms.test_random_problems import exact_cases

TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-4}
"""Maximum difference from a step, relative to its largest number."""


def run(program: str) -> dict[str, Any]:
    """Return the variables of a program, which may not even warn."""
    found: dict[str, Any] = {}
    with np.errstate(all="raise", under="ignore"):
        exec(program, found)
    return found


def assert_same_steps(trace: attncli.Trace, variables: dict[str, Any]) -> None:
    largest = {
        step.name: float(np.abs(step.array[np.isfinite(step.array)]).max(initial=0))
        for step in trace
    }
    for step in trace:
        found = variables[re.sub(r"\W", "_", step.name)]
        # A derivative is 0 in the trace where it is a rounding error of larger numbers.
        scale = max(largest.values()) if step.backward else largest[step.name]
        atol = TOLERANCE[step.array.dtype] * scale
        assert found.squeeze().shape == step.array.squeeze().shape, step
        np.testing.assert_allclose(found.reshape(step.array.shape), step.array, 0, atol, True)


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda p: p.name)
def test_samples(path: Path, attn: Attn) -> None:
    result = attn("compute", path, "-f", "numpy")
    assert result.status == 0, result.err
    assert_same_steps(attncli.compute(attncli.load(path)), run(result.out))


def test_random_problems() -> None:
    """Of all kinds, score functions and normalisers, with masks, biases and heads."""
    ordinary = (
        problem for case, problem in exact_cases() if "steps" in case and not case["extreme"]
    )
    for problem in islice(ordinary, 20):
        trace = attncli.compute(problem)
        assert_same_steps(trace, run(attncli.render(trace, "numpy")))


MATRIX = [[1.0, -2.0], [0.5, 3.0], [2.0, 1.0]]
OTHERS: dict[str, dict[str, Any]] = {
    "a batch, and heads cut": {"X": [MATRIX, MATRIX[::-1]], "heads": 2},
    "a batch of keys": {"kind": "cross", "X": MATRIX, "memory": [MATRIX, MATRIX[::-1]], "heads": 2},
    "a batch of lengths": {"X": [MATRIX, MATRIX], "mask": {"lengths": [2, 3]}},
    "one token": {"X": [[1.0, 2.0]], "heads": 2},
    "a row that is blocked": {"X": MATRIX, "mask": {"keep": [[0, 0, 0], [1, 1, 0], [1, 1, 1]]}},
    "float32": {"X": np.array(MATRIX, np.float32), "positions": "rope"},
    "half up, by hand": {"X": MATRIX, "round": 2},
    "large scores": {"X": [[60.0, 0.0], [0.0, 60.0]]},
    "weights over the queries": {"X": MATRIX, "normalize": {"axis": "queries"}},
    "sparsemax over the queries": {
        "X": MATRIX,
        "normalize": {"name": "sparsemax", "axis": "queries", "temperature": 2},
    },
    "hardmax": {"X": MATRIX, "normalize": "hardmax"},
    "another base": {"X": MATRIX, "normalize": {"base": 2, "temperature": 0.5}},
    "a sink": {"X": MATRIX, "normalize": {"name": "softmax", "sink": [1, 2]}, "heads": 2},
    "linear": {"X": MATRIX, "score": "linear"},
    "alibi": {"X": MATRIX, "positions": "alibi", "heads": 2},
    "a table": {"X": MATRIX, "positions": {"name": "relative", "table": [[0.5, 0, 1]]}},
    "halves": {"X": MATRIX, "positions": {"name": "rope", "pairs": "halves"}},
    "an odd size": {"X": [[1.0, 2.0, 3.0]] * 2, "positions": "sinusoidal"},
    "columns": {"X": np.transpose(MATRIX), "W_q": np.eye(2), "tokens_as": "columns"},
    "gradient of a table": {
        "X": MATRIX,
        "positions": {"name": "relative", "table": [[0.5, 0, 1]]},
        "gradient": {"loss": "sum"},
    },
    "gradient of concat": {
        "X": MATRIX,
        "score": {"name": "concat", "W": [[1, 0, 1, 0]], "v": [2]},
        "gradient": {"loss": "sum"},
    },
    "gradient of cosine": {"X": MATRIX, "score": "cosine", "gradient": {"loss": "sum"}},
    "gradient of sparsemax": {"X": MATRIX, "normalize": "sparsemax", "gradient": {"loss": "sum"}},
    "gradient of distance": {"X": MATRIX, "score": "distance", "gradient": {"loss": "sum"}},
    "decode, shared heads": {
        "kind": "decode",
        "X": np.tile(MATRIX, 2),
        "heads": 4,
        "kv_heads": 2,
        "W_k": np.arange(8.0).reshape(4, 2),
        "W_v": np.arange(8.0).reshape(4, 2) / 8,
        "positions": "alibi",
    },
}


@pytest.mark.parametrize("keys", OTHERS.values(), ids=OTHERS)
def test_other_problems(keys: dict[str, Any]) -> None:
    trace = attncli.compute(attncli.Problem(**keys))
    assert_same_steps(trace.unrounded or trace, run(attncli.render(trace, "numpy")))


def test_a_program_runs_by_itself(attn: Attn, tmp_path: Path) -> None:
    file = tmp_path / "heads.py"
    assert attn("compute", SAMPLES / "heads_cut.yaml", "-o", file).status == 0
    file.write_text(file.read_text() + "print(repr(output.tolist()))\n")
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True)
    found = eval(done.stdout)
    output = attncli.compute(attncli.load(SAMPLES / "heads_cut.yaml")).output
    np.testing.assert_allclose(found, output, rtol=1e-12)


def test_a_program_is_short(attn: Attn) -> None:
    result = attn("compute", SAMPLES / "mask_causal.yaml", "-f", "numpy")
    lines = dict(line.split(" = ", 1) for line in result.out.splitlines() if " = " in line)
    assert {name: line.split("  #")[0].rstrip() for name, line in [*lines.items()][2:]} == {
        "Q": "X",
        "K": "X",
        "V": "X",
        "scores": "Q @ K.T",
        "scaled": "scores / 1.7320508075688772",
        "masked": "np.where(mask != 0, scaled, -np.inf)",
        "exp": "np.exp(masked)",
        "sum": "exp.sum(axis=-1, keepdims=True)",
        "weights": "exp / sum",
        "output": "weights @ V",
    }


def test_only_some_steps(attn: Attn) -> None:
    result = attn("compute", SAMPLES / "heads_cut.yaml", "--only", "scores", "-f", "numpy")
    assert {"X", "Q", "scores"} <= run(result.out).keys()
    assert "weights" not in result.out
    assert "W_v" not in result.out


def test_several_problems(attn: Attn) -> None:
    paths = [SAMPLES / f"{name}.yaml" for name in ("integers", "decode")]
    result = attn("compute", *paths, "-f", "numpy")
    assert result.out.count("import numpy") == 1
    assert_same_steps(attncli.compute(attncli.load(paths[1])), run(result.out))


@pytest.mark.parametrize(("tokens", "numbers"), [(400, "10,400"), (20_000, "520,000")])
def test_what_is_too_large_is_refused(
    tokens: int, numbers: str, attn: Attn, tmp_path: Path
) -> None:
    np.savez(tmp_path / "large.npz", X=np.ones((tokens, 26)))
    result = attn("compute", tmp_path / "large.npz", "-f", "numpy")
    assert result.status == 2
    assert f"{numbers} numbers" in result.err
    assert "use a smaller problem, or -f npz" in result.err


def test_labels_cannot_leave_their_comments(attn: Attn) -> None:
    problem = attncli.Problem(X=[[1, 0], [0, 1]], title="a\nimport os", tokens=["x\ny", "z"])
    program = attncli.render(attncli.compute(problem), "numpy")
    assert run(program)["X"].shape == (2, 2)
    assert "\nimport os" not in program
