"""`-f numpy`: a short program that runs by itself."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import attncli
from tests.conftest import SAMPLES, Attn
from tests.mechanisms.test_random_problems import exact_cases
from tests.support.numpy_programs import assert_same_steps, run


def test_the_programs_of_random_problems_give_every_step() -> None:
    """Of all kinds, score functions and normalisers, with masks, biases and heads."""
    ordinary = (
        problem for case, problem in exact_cases() if "steps" in case and not case["extreme"]
    )
    for problem in islice(ordinary, 20):
        trace = attncli.compute(problem)
        assert_same_steps(trace, run(attncli.render(trace, "numpy")))


def test_a_program_runs_by_itself(attn: Attn, tmp_path: Path) -> None:
    file = tmp_path / "heads.py"
    assert attn("compute", SAMPLES / "heads_cut.yaml", "-o", file).status == 0
    with file.open("a") as program:
        program.write("np.savetxt('output.csv', output)\n")
    subprocess.run([sys.executable, file], check=True, cwd=tmp_path)
    output = attncli.compute(attncli.load(SAMPLES / "heads_cut.yaml")).output
    found = np.loadtxt(tmp_path / "output.csv")
    np.testing.assert_allclose(found, output, rtol=1e-12)


@pytest.mark.parametrize(("tokens", "numbers"), [(400, "10,400"), (20_000, "520,000")])
def test_a_program_of_many_numbers_is_refused(
    tokens: int, numbers: str, attn: Attn, tmp_path: Path
) -> None:
    np.savez(tmp_path / "large.npz", X=np.ones((tokens, 26)))
    result = attn("compute", tmp_path / "large.npz", "-f", "numpy")
    assert result.status == 2
    assert f"{numbers} numbers" in result.err
    assert "use a smaller problem, or -f npz" in result.err
