"""Calculations larger than the memory, and files that are links, pipes or change under one."""

from __future__ import annotations

import os
import resource
import sys
import threading
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.arithmetic import machine
from attncli.core.calculation import compute as computing
from attncli.core.problem.keys import KINDS
from attncli.printing.selection import steps_named
from attncli.reading.load import load_each
from tests.conftest import Attn, cases, run_command, table

OUTPUT = ("--only", "output", "-f", "csv")


# --- files that are read -------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["compute", "pipe"], ["compute", "-m", "X=pipe"]])
def test_a_pipe_on_the_command_line_is_read(
    arguments: list[str], attn: Attn, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("1,2\n",))
    writer.start()
    assert attn(*arguments, *OUTPUT, cwd=tmp_path).out == "1,2\n"
    writer.join()


def test_a_file_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"X": [[1]]}\n' * 20_000)
    problems = load_each(path)
    assert len([next(problems) for _ in range(5)]) == 5
    os.truncate(path, 26)
    with pytest.raises(attncli.InputError, match="changed while it was read"):
        list(problems)


# --- memory --------------------------------------------------------------------------------------


SIZES = {"b": 2, "n": 300, "m": 340, "l": 9000, "d": 16, "e": 32, "f": 64}
SELF = {"X": "nd", "W_q": "dd", "W_k": "dd", "W_v": "dd"}


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row["name"], marks=pytest.mark.whole if "slow" in row else ())
        for row in table("memory", "estimated")
    ],
)
def test_the_memory_of_a_calculation_is_estimated(
    row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a run of its own lines, which takes none of that memory."""
    draw = np.random.default_rng(1)
    matrices: Any = {
        key: draw.uniform(0.1, 0.5, [SIZES[axis] for axis in axes]).astype(row.get("dtype", "f8"))
        for key, axes in row.get("drawn", SELF).items()
    }
    problem = attncli.Problem(**matrices, **row.get("keys", {}))
    expected: list[int] = []
    peaks: list[int] = []

    def free_memory() -> int:
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.reset_peak()
        return 2**62

    def memory_of(*arguments: Any) -> int:
        tracemalloc.start()
        expected.append(footprint_of(*arguments))
        return expected[0]

    footprint_of = computing.memory_of
    attncli.compute(problem, rounded=False)  # what is imported, and kept, by the first
    monkeypatch.setattr(computing, "SURELY_FITS", 0)
    monkeypatch.setattr(computing, "memory_of", memory_of)
    monkeypatch.setattr(computing, "free_memory", free_memory)
    try:
        attncli.compute(problem)
        peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    of_estimate, of_calculation = peaks
    assert expected[0] == pytest.approx(of_calculation, rel=0.3)
    assert of_estimate < max(0.5 * of_calculation, 5e6)
    if KINDS[problem.kind].last and not problem.gradient:  # may be begun without it
        assert expected[0] <= computing.numbers_of_steps(problem) * computing.BYTES_OF_NUMBER


@pytest.mark.whole
def test_the_limit_is_what_the_machine_has() -> None:
    program = """
import resource
from attncli.core.arithmetic import machine
free = machine.free_memory()
machine.keep_within_memory()
most, _ = resource.getrlimit(resource.RLIMIT_DATA)
print(machine.room_within_limit() <= free, free < machine.UNKNOWN)
try:
    bytearray(machine.room_within_limit() + 2**24)
except MemoryError:
    print("refused")
"""
    result = run_command(sys.executable, "-c", program)
    assert result.out.split() == ["True", "True", "refused"], result.err


@pytest.mark.whole
@pytest.mark.parametrize(
    ("command", "megabytes"),
    [
        ("compute X.npz -f json", (60, 100, 140, 200, 400, 600)),
        # Memory is measured before the names of matrices are read.
        ("compute -m Wq=x.csv", (60, 100)),
        ("check hw.yaml answers.yaml -m Wq=x.csv", (60, 100)),
        # NumPy itself finds too little.
        *((command, (140, 150, 160)) for command in ("check hw.yaml a.yaml", "vary hw.yaml")),
        *((command, (140, 150, 160)) for command in ("scores", "schema")),
    ],
)
def test_too_little_memory_is_a_sentence(
    command: str, megabytes: tuple[int, ...], attn_process: Attn, tmp_path: Path
) -> None:
    np.savez(tmp_path / "X.npz", X=np.ones((4000, 2)))
    for size in megabytes:
        limit = (size * 10**6,) * 2
        result = attn_process(
            *command.replace("X.npz", str(tmp_path / "X.npz")).split(),
            env={"PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, limit),
        )
        assert (result.status, result.out) == (2, ""), size
        assert "memory" in result.err, size


def test_short_memory_starts_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "room_within_limit", lambda: 2 * machine.THREAD_BYTES - 1)
    assert machine.threads_available() == 1


@cases("memory", "read_alone")
def test_steps_that_are_not_read_lose_their_numbers_and_others_keep_all(
    name: str, keys: dict[str, Any], only: list[str], dropped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formulas, warnings and the words for steps stay the same."""
    x = np.random.default_rng(1).uniform(-1, 1, (4, 8))
    network: dict[str, Any] = {"W_1": np.eye(8), "W_2": np.eye(8)} if name == "layers" else {}
    problem = attncli.Problem(X=x, **keys, **network)
    every = attncli.compute(problem, only, alone=True)
    monkeypatch.setattr(computing, "SURELY_FITS", 0)
    trace = attncli.compute(problem, only, alone=True)
    assert [*trace.steps] == [*every.steps]
    assert [step.formula for step in trace] == [step.formula for step in every]
    assert trace.warnings == every.warnings
    for step in steps_named(only, trace):
        assert step.array.tobytes() == every[step.name].array.tobytes()
    assert any(np.isnan(step.array).any() for step in trace) == dropped


@pytest.mark.whole
def test_layers_take_no_more_memory_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the output is read: a layer is over when the next one has its numbers."""
    draw = np.random.default_rng(1)
    x = draw.normal(size=(128, 64))
    weights: Any = {"W_1": draw.normal(size=(64, 512)), "W_2": draw.normal(size=(512, 64))}
    monkeypatch.setattr(computing, "SURELY_FITS", 0)
    peaks = []
    for count in (1, 2, 12):
        layers = [{"norm": "layer", "activation": "gelu"}] * count
        problem = attncli.Problem(kind="transformer", X=x, layers=layers, **weights)
        tracemalloc.start()
        attncli.compute(problem, "output", alone=True)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < peaks[1] + 2**20  # every layer has 3 MB of steps
