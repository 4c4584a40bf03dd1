"""What changed samples and arrays led to once, when thousands of them were tried.

`benchmarks/fuzzing.py --mutated` tries thousands more; a few of them are recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from tests.conftest import ROOT, SAMPLES, Attn

RECORDED = ROOT / "tests" / "data" / "recorded" / "mutated_files.jsonl"
"""The files and the arguments of each call; `benchmarks/fuzzing.py --record` makes them."""

ONES = np.ones((3, 3))
PARTS = np.arange(9).reshape(3, 3) / 7


def test_a_changed_file_is_worked_or_refused(attn: Attn, tmp_path: Path) -> None:
    for number, line in enumerate(RECORDED.read_text(encoding="utf-8").splitlines()):
        files, arguments = json.loads(line)
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(text.encode("latin-1"))
        result = attn(*arguments, cwd=tmp_path)
        assert result.status in (0, 1, 2), (number, arguments)
        assert result.status != 1 or arguments[0] in ("check", "vary"), (number, arguments)
        assert result.status != 2 or result.err, (number, arguments)


@pytest.mark.parametrize(
    ("sample", "answers", "first"),
    [
        ("differential", {"context": PARTS[:, :2]}, "context"),  # a step put back twice
        ("differential", {"concat": PARTS[:, :2]}, "concat"),
        ("mask_causal", {"weights": np.hstack([PARTS, PARTS])}, "weights"),  # twice as wide
    ],
)
def test_arrays_are_judged(sample: str, answers: Any, first: str) -> None:
    problem = attncli.load(SAMPLES / f"{sample}.yaml")
    report = attncli.check(problem, answers)
    assert (report.verdict, report.first_wrong_step) == ("wrong", first)


def test_complex_numbers_beside_others_are_refused() -> None:
    problem = attncli.load(SAMPLES / "mask_causal.yaml")
    with pytest.raises(attncli.InputError, match="no numbers"):
        attncli.check(problem, {"weights": ONES * 1j, "output": PARTS})


def test_arrays_of_steps_that_change_nothing_are_judged_where_steps_are_rounded() -> None:
    trace = attncli.compute(attncli.Problem(X=PARTS, round=2))
    assert trace.unrounded is not None
    assert attncli.check(trace.problem, {"context": trace.unrounded.output}).verdict == "correct"


@pytest.mark.parametrize("layers", [ONES, np.array(2), 1j, object()])
def test_layers_that_are_no_list_are_refused(layers: Any) -> None:
    with pytest.raises(attncli.InputError, match="layers"):
        attncli.Problem(X=ONES, layers=layers)


def test_long_floats_are_shown_as_floats(attn: Attn, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", X=PARTS.astype(np.longdouble))
    assert attn("compute", tmp_path / "p.npz", "--live", "-o", tmp_path / "p.html").status == 0


BEYOND = """{X: [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]], score: dot,
  W_q: [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
  W_k: [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
  W_v: [[0, 2, 1e308], [0, 3, 0], [-1, 0, 3], [1, 1, 0]]}"""
HUGE = "{X: [[1, 0], [1e154, 1]], score: dot, W_v: [[1e154, 0], [0, 1]]}"


@pytest.mark.parametrize(
    ("problem", "arguments", "status", "said"),
    [
        ("{Q: [[1]], K: [[1]], V: [[1]], W_c: [[1, 1]]}", ("compute",), 2, "no use without X"),
        (BEYOND, ("compute", "--set", "gradient=sum"), 2, "beyond what a float can hold"),
        (HUGE, ("worksheet", "-f", "moodle"), 0, ""),
    ],
)
def test_a_problem_is_worked_or_refused(
    problem: str, arguments: tuple[str, ...], status: int, said: str, attn: Attn
) -> None:
    result = attn(*arguments, "-", stdin=problem.encode())
    assert (result.status, said in result.err) == (status, True), result.err


def test_a_step_that_changes_nothing_is_put_back_once(attn: Attn) -> None:
    shown = attn("compute", SAMPLES / "differential.yaml", "--only", "context,concat")
    assert "context = weights V" in shown.out
    assert "concat = context" in shown.out
    assert "(given)" not in shown.out
