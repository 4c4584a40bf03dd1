"""Files that were made to do harm, places that cannot be written, and signals."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.core.attention import threads
from attncli.core.mechanisms import compute as computing
from attncli.printing.formats import steps_named
from attncli.reading.load import load_each
from tests.conftest import PROGRAM, ROOT, SAMPLES, Attn, environment

GOOD = SAMPLES / "i_am_good.yaml"
OUTPUT = ("--only", "output", "-f", "csv")


# --- which files a file may name -----------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a problem in a folder inside, and matrices in both."""
    inner = tmp_path / "inner"
    (inner / "below").mkdir(parents=True)
    for place in (tmp_path, inner, inner / "below"):
        (place / "x.csv").write_text("1,2\n")
    (inner / "link.csv").symlink_to(tmp_path / "x.csv")
    (inner / "own.csv").symlink_to("x.csv")
    return inner


def problem(folder: Path, name: str) -> Path:
    path = folder / "problem.yaml"
    path.write_text(f"X: {name}\n")
    return path


@pytest.mark.parametrize("name", ["x.csv", "below/x.csv", "own.csv", "below/../x.csv"])
def test_a_problem_names_files_of_its_own_folder(name: str, attn: Attn, folder: Path) -> None:
    assert attn("compute", problem(folder, name), *OUTPUT).out == "1,2\n"


def test_a_flag_is_the_users_own_word(attn: Attn, folder: Path) -> None:
    flags = ("-m", f"X={folder.parent / 'x.csv'}")
    assert attn("compute", *flags, *OUTPUT).out == "1,2\n"
    assert attn("compute", problem(folder, "../x.csv"), *flags, *OUTPUT).out == "1,2\n"


def test_the_folder_of_standard_input_is_the_current_one(attn: Attn, folder: Path) -> None:
    assert attn("compute", "-", *OUTPUT, stdin=b"X: x.csv\n", cwd=folder).out == "1,2\n"
    refused = attn("compute", "-", *OUTPUT, stdin=b"X: ../x.csv\n", cwd=folder)
    assert "lies outside" in refused.err


def test_links_that_go_round_are_told(attn: Attn, folder: Path) -> None:
    (folder / "a.csv").symlink_to("b.csv")
    (folder / "b.csv").symlink_to("a.csv")
    assert attn("compute", problem(folder, "a.csv")).status == 2


@pytest.mark.parametrize("arguments", [["compute", "pipe"], ["compute", "-m", "X=pipe"]])
def test_a_pipe_on_the_command_line_is_read(
    arguments: list[str], attn: Attn, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("1,2\n",))
    writer.start()
    assert attn(*arguments, *OUTPUT, cwd=tmp_path).out == "1,2\n"
    writer.join()


# --- sizes ---------------------------------------------------------------------------------------


N, D = 300, 16
INPUTS: dict[str, tuple[int, ...]] = {"X": (N, D), "W_q": (D, D), "W_k": (D, D), "W_v": (D, D)}
PAIR: dict[str, tuple[int, ...]] = {**INPUTS, "memory": (N + 40, D)}
CALCULATIONS: dict[str, tuple[dict[str, tuple[int, ...]], dict[str, Any]]] = {
    "plain": (INPUTS, {}),
    "heads": (INPUTS, {"heads": 4}),
    "gradient": (INPUTS, {"gradient": "sum"}),
    "gradient of heads": (INPUTS, {"heads": 4, "gradient": "sum", "mask": "causal"}),
    "masked": (INPUTS, {"mask": "causal"}),
    "alibi": (INPUTS, {"heads": 4, "positions": "alibi"}),
    "rope": (INPUTS, {"heads": 2, "positions": "rope"}),
    "sparsemax": (INPUTS, {"normalize": "sparsemax"}),
    "sum": (INPUTS, {"normalize": "sum"}),
    "none": (INPUTS, {"normalize": "none", "mask": "causal"}),
    "sigmoid": (INPUTS, {"normalize": "sigmoid"}),
    "distance": (INPUTS, {"score": "distance"}),
    "cosine": (INPUTS, {"score": "cosine", "gradient": "sum"}),
    "cross": (PAIR, {"kind": "cross"}),
    "co_attention": ({"X": (N, D), "memory": (N + 40, D)}, {"kind": "co_attention"}),
    "pooling": ({"X": (9000, D), "W": (D, D), "u": (D,)}, {"kind": "pooling", "gradient": "sum"}),
    "decode": (INPUTS, {"kind": "decode"}),
    "transformer": (
        {**INPUTS, "W_1": (D, 64), "W_2": (64, D)},
        {"kind": "transformer", "norm": "layer", "activation": "gelu", "gradient": "sum"},
    ),
}


SLOW = ("decode", "transformer")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype, marks=pytest.mark.whole if name in SLOW else ())
        for name, dtype in (
            *((name, "f8") for name in CALCULATIONS),
            ("plain", "f4"),
            ("gradient of heads", "f4"),
        )
    ],
)
def test_the_memory_of_a_calculation_is_estimated(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a run of its own lines, which takes none of that memory."""
    shapes, keys = CALCULATIONS[name]
    draw = np.random.default_rng(1)
    matrices: Any = {
        key: draw.uniform(0.1, 0.5, shape).astype(dtype) for key, shape in shapes.items()
    }
    problem = attncli.Problem(**matrices, **keys)
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


def test_the_limit_is_what_the_machine_has() -> None:
    program = """
import resource
from attncli.core.arithmetic import memory
free = memory.free_memory()
memory.keep_within_memory()
most, _ = resource.getrlimit(resource.RLIMIT_DATA)
print(memory.room_within_limit() <= free, free < memory.UNKNOWN)
try:
    bytearray(memory.room_within_limit() + 2**24)
except MemoryError:
    print("refused")
"""
    python = [sys.executable, "-c", program]
    done = subprocess.run(python, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "True", "refused"], done.stderr


def too_little(megabytes: int, *arguments: str) -> None:
    """Check that a command says that memory is short, and nothing else."""
    done = subprocess.run(
        [*PROGRAM, *arguments],
        capture_output=True,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        cwd=ROOT,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6,) * 2),
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"memory" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("megabytes", [60, 100, 140, 200, 400, 600])
def test_too_little_memory_is_a_sentence(megabytes: int, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=np.ones((4000, 2)))
    too_little(megabytes, "compute", str(tmp_path / "x.npz"), "-f", "json")


@pytest.mark.parametrize("megabytes", [60, 100])
@pytest.mark.parametrize("command", [("compute",), ("check", "hw.yaml", "answers.yaml")])
def test_memory_is_measured_before_the_names_of_matrices_are_read(
    command: tuple[str, ...], megabytes: int
) -> None:
    too_little(megabytes, *command, "-m", "Wq=x.csv")


@pytest.mark.parametrize("megabytes", [140, 150, 160])
@pytest.mark.parametrize("command", ["check hw.yaml a.yaml", "vary hw.yaml", "scores", "schema"])
def test_too_little_memory_for_numpy_is_a_sentence(command: str, megabytes: int) -> None:
    too_little(megabytes, *command.split())


def test_short_memory_starts_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "room_within_limit", lambda: 2 * threads.THREAD_BYTES - 1)
    assert threads.threads_available() == 1


# --- files that are written ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.yaml", "link.yaml", "hard.yaml", "./a.yaml"])
def test_no_input_is_overwritten(name: str, attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(GOOD.read_bytes())
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    (tmp_path / "hard.yaml").hardlink_to(path)
    before = sorted(tmp_path.iterdir())
    for command in (
        ["compute", "a.yaml"],
        ["compute", GOOD, "a.yaml"],
        ["check", GOOD, "a.yaml", "-f", "json"],
    ):
        result = attn(*command, "-o", name, cwd=tmp_path)
        assert result.status == 2
        assert "is read here, and would be overwritten" in result.err
    assert path.read_bytes() == GOOD.read_bytes()
    assert sorted(tmp_path.iterdir()) == before


def test_no_matrix_file_is_overwritten(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,2\n")
    (tmp_path / "a.yaml").write_text("X: x.csv\n")
    for command in (["compute", "a.yaml"], ["compute", "-m", "X=x.csv"]):
        result = attn(*command, "-o", "x.csv", cwd=tmp_path)
        assert "is read here, and would be overwritten" in result.err
    assert (tmp_path / "x.csv").read_text() == "1,2\n"
    # What an earlier run read is not read now.
    assert attn("compute", GOOD, "-o", "x.csv", cwd=tmp_path).status == 0


def test_standard_input_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(GOOD.read_bytes())
    with path.open("rb") as file:
        done = subprocess.run(
            [*PROGRAM, "compute", "-", "-o", str(path)],
            stdin=file,
            capture_output=True,
            env=environment(),
            cwd=ROOT,
            check=False,
        )
    assert done.returncode == 2
    assert b"would be overwritten" in done.stderr
    assert path.read_bytes() == GOOD.read_bytes()


def test_a_folder_that_cannot_be_written_is_told(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    for name in ("a.txt/b.json", "a.txt/inner/b.json"):
        result = attn("compute", GOOD, "-o", name, cwd=tmp_path)
        assert result.status == 2
        assert f"{name} cannot be written: " in result.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_a_file_is_kept(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(0o604)
    os.chown(path, 12345, 12346)
    attn("compute", GOOD, "-o", path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 12346, 0o604)


def test_a_file_that_changes_while_it_is_read_is_told(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"X": [[1]]}\n' * 20_000)
    problems = load_each(path)
    assert len([next(problems) for _ in range(5)]) == 5
    os.truncate(path, 26)
    with pytest.raises(attncli.InputError, match="changed while it was read"):
        list(problems)


# --- signals -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A problem that takes seconds to write."""
    path = tmp_path_factory.mktemp("long") / "long.npz"
    np.savez(path, X=np.random.default_rng(1).normal(size=(1500, 4)))
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_leaves_the_old_file_and_nothing_else(
    number: signal.Signals, long: Path, tmp_path: Path
) -> None:
    old = tmp_path / "a.json"
    old.write_text("old")
    process = subprocess.Popen(
        [*PROGRAM, "compute", str(long), "-o", str(old)],
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=ROOT,
    )
    for _ in range(1000):
        if any(tmp_path.glob(".a.json.*")):
            break
        time.sleep(0.01)
    else:
        pytest.fail("no temporary file was written")
    time.sleep(0.1)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    # Ended by the signal: a shell shows 130, 143, 129, 137.
    assert (process.returncode, err) == (-number, b"")
    assert old.read_text() == "old"
    if number != signal.SIGKILL:
        assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment_shows_nothing(number: signal.Signals, long: Path) -> None:
    for moment in (0, 1, 4):
        process = subprocess.Popen(
            [
                sys.executable,
                "-X",
                "importtime",
                "-m",
                "attncli",
                "compute",
                str(long),
                *("-f", "json", "--only", "weights"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
            cwd=ROOT,
        )
        assert process.stderr is not None
        # Python itself, which starts first, is not ours.
        assert any(b"typer" in line for line in process.stderr)
        time.sleep(moment / 10)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
        assert {line[:12] for line in err.splitlines()} <= {b"import time:"}
        assert process.returncode in (0, -number)


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    script = f'trap "" INT; "$0" "$@" -o {out} & sleep 0.1; kill -INT $!; wait $!; echo $?'
    done = subprocess.run(
        ["sh", "-c", script, *PROGRAM, "compute", str(GOOD)],
        capture_output=True,
        env=environment(),
        cwd=ROOT,
        check=False,
    )
    assert done.stdout == b"0\n"
    assert json.loads(out.read_text())["title"] == "I am good"


ALONE: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "self": ({"heads": 2}, ("output",)),
    "left out": ({"score": "dot"}, ("scaled", "context")),
    "symbols": ({}, ("Z", "A")),
    "rotated": ({"heads": 2, "positions": "rope"}, ("K_rotated", "output")),
    "token by token": ({"kind": "decode"}, ("scores_3", "output")),
    "names of a course": ({"names": {"Alpha": "weights"}}, ("Alpha",)),
    "layers": (
        {
            "kind": "transformer",
            "layers": [{"norm": "layer", "W_1": np.eye(8), "W_2": np.eye(8)} for _ in range(3)],
            "positions": "sinusoidal",
        },
        ("layers.2.scores", "output"),
    ),
    "patterns": ({"kind": "transformer", "layers": [{}, {}]}, ("layers.*.weights",)),
    "gradient": ({"gradient": "sum"}, ("d_X",)),
}


@pytest.mark.parametrize("name", ALONE)
def test_steps_that_are_not_read_lose_their_numbers_and_others_keep_all(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formulas, warnings and the words for steps stay the same."""
    keys, only = ALONE[name]
    x = np.random.default_rng(1).uniform(-1, 1, (4, 8))
    problem = attncli.Problem(X=x, **keys)
    every = attncli.compute(problem, only, alone=True)
    monkeypatch.setattr(computing, "SURELY_FITS", 0)
    trace = attncli.compute(problem, only, alone=True)
    assert [*trace.steps] == [*every.steps]
    assert [step.formula for step in trace] == [step.formula for step in every]
    assert trace.warnings == every.warnings
    for step in steps_named(only, trace):
        assert step.array.tobytes() == every[step.name].array.tobytes()
    dropped = [step for step in trace if np.isnan(step.array).any()]
    assert bool(dropped) == (name not in ("left out", "symbols", "patterns", "gradient"))


@pytest.mark.whole
def test_layers_take_no_more_memory_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the output is read: a layer is over when the next one has its numbers."""
    draw = np.random.default_rng(1)
    x = draw.normal(size=(128, 64))
    weights: dict[str, Any] = {
        "W_1": draw.normal(size=(64, 512)),
        "W_2": draw.normal(size=(512, 64)),
    }
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
