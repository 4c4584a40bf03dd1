"""The contract of the command, as scripts rely on it: streams, exit statuses, formats, flags."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.cli.main import SUMMARIES
from attncli.core.text.strings import cell_width
from attncli.printing.formats import formats_of
from tests.conftest import PROGRAM, ROOT, SAMPLES, Attn, cases, environment, in_terminal

GOOD = "sample_inputs/i_am_good.yaml"
ANSWERS = "sample_inputs/answers/published.yaml"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


@pytest.mark.parametrize(
    "arguments",
    [["compute", GOOD, "--color", "always"], ["compute", "tests/data/errors/nan.yaml"], ["--help"]],
    ids=" ".join,
)
def test_a_call_leaves_nothing_behind(arguments: list[str], attn: Attn, tmp_path: Path) -> None:
    """What the fixture and the program set for a run is as it was: tests know nothing of others."""

    def state() -> list[object]:
        return [
            *(sys.stdin, sys.stdout, sys.stderr, Path.cwd(), dict(os.environ)),
            *(signal.getsignal(signal.SIGINT), gc.isenabled(), np.geterr(), np.get_printoptions()),
            *(csv.field_size_limit(), list(warnings.filters), sys.getrecursionlimit()),
        ]

    before = state()
    attn(*arguments, cwd=ROOT, env={"FORCE_COLOR": "1", "OPENBLAS_NUM_THREADS": "3"})
    (tmp_path / "wide.csv").write_text(f"{'9' * 200_000},1\n")
    attn("compute", tmp_path / "wide.csv")
    assert state() == before


RUNS: list[list[str]] = [
    *(["compute", GOOD, "-f", form] for form in formats_of("traces")),
    *(["check", GOOD, ANSWERS, "--strict", "-f", form] for form in ("gradescope", "html", "csv")),
    *(["explain", GOOD, "weights", "-f", form] for form in ("table", "latex")),
    *([command] for command in ("scores", "schema", "samples", "--version")),
    ["check", GOOD, "--problem-only"],
    ["compute", "tests/data/errors/nan.yaml"],
]
"""Commands, formats and exit statuses; another test runs some in a process."""


@pytest.mark.parametrize("arguments", RUNS, ids=" ".join)
def test_a_process_does_what_the_same_call_does(
    arguments: list[str], attn: Attn, attn_process: Attn, tmp_path: Path
) -> None:
    """A process imports all that it needs by itself, and its exit status is what `run` returns."""
    if arguments[-1] in ("npz", "png", "xlsx"):  # which are no text
        arguments = [*arguments, "-o", str(tmp_path / f"out.{arguments[-1]}")]
    result = attn_process(*arguments)
    assert result == attn(*arguments)
    wanted = {
        "check": "--strict" in arguments,
        "compute": 2 * ("tests/data/errors/nan.yaml" in arguments),
    }
    assert result.status == wanted.get(arguments[0], 0)


def test_json_is_one_object_a_problem_one_a_line(attn: Attn) -> None:
    lines = attn("compute", GOOD, "sample_inputs/mask_causal.yaml", "-f", "json").out.splitlines()
    first, second = map(json.loads, lines)
    about = ["problem", "title", "notes", "options", "inputs", "steps", "warnings"]
    assert list(first) == about
    assert list(first["steps"]) == ["Q", "K", "V", "scores", "exp", "sum", "weights", "output"]
    scores = first["steps"]["scores"]
    assert list(scores) == ["symbol", "formula", "axes", "labels", "shape", "value"]
    assert scores["axes"] == ["query", "key"]
    assert scores["labels"]["query"] == ["I", "am", "good"]
    assert scores["shape"] == [3, 3]
    assert second["steps"]["masked"]["value"][0][1] == "-Infinity"
    assert "NaN" not in "".join(lines)


@pytest.mark.parametrize("name", ["i_am_good.yaml", "heads_cut.yaml", "mask_causal.yaml"])
def test_one_step_as_csv_is_read_by_loadtxt(name: str, attn: Attn) -> None:
    whole = json.loads(attn("compute", SAMPLES / name, "-f", "json").out)
    assert "output" in whole["steps"]
    for step, about in whole["steps"].items():
        text = attn("compute", SAMPLES / name, "--only", step, "-f", "csv").out
        value = np.array([float(x) for x in np.ravel(about["value"])])
        np.testing.assert_array_equal(np.loadtxt(io.StringIO(text), delimiter=",").ravel(), value)


@pytest.mark.parametrize("suffix", ["json", "yaml", "csv", "npz", "txt"])
def test_file_s_name_tells_the_format(suffix: str, attn: Attn, tmp_path: Path) -> None:
    result = attn("compute", GOOD, "-o", tmp_path / f"out.{suffix}")
    assert (result.status, result.out) == (0, "")
    assert [p.name for p in tmp_path.iterdir()] == [f"out.{suffix}"]
    if suffix != "npz":
        form = {"txt": "table"}.get(suffix, suffix)
        shown = attn("compute", GOOD, "-f", form).out
        assert (tmp_path / f"out.{suffix}").read_text() == shown
    else:
        with np.load(tmp_path / "out.npz") as file:
            assert file["scores"].tolist() == [[14, 10, 9], [10, 11, 6], [9, 6, 6]]


def test_no_input_reads_a_pipe(attn_process: Attn) -> None:
    assert attn_process("compute", "--only", "Q", "-f", "csv", stdin=b"[[1, 2]]").out == "1,2\n"


def test_no_input_in_a_terminal_shows_help() -> None:
    assert in_terminal("compute").out.startswith("Usage: attn compute")


def test_help_is_plain_and_the_same_both_ways(attn: Attn, attn_process: Attn) -> None:
    short, long = attn("compute", "-h"), attn("compute", "--help")
    assert short == long
    assert short.status == 0
    assert "\x1b" not in attn_process("-h", env={"FORCE_COLOR": "1"}).out


FLAGS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "--title": ("T", lambda o: o["title"] == "T"),
    "--tokens": ("a,b,c", lambda o: o["options"]["tokens"] == ["a", "b", "c"]),
    "--score": ("{name: distance, width: 2}", lambda o: o["options"]["score"]["width"] == 2),
    "--scale": ("1/d_k", lambda o: o["options"]["scale"] == "1/d_k"),
    "--softcap": ("5", lambda o: "capped" in o["steps"]),
    "--mask": ("causal", lambda o: "masked" in o["steps"]),
    "--normalize": ("hardmax", lambda o: "exp" not in o["steps"]),
    "--tokens-as": ("columns", lambda o: o["steps"]["output"]["axes"] == ["feature", "query"]),
    "--heads": ("3", lambda o: o["steps"]["weights"]["shape"] == [3, 3, 3]),
    "--kv-heads": ("1", lambda o: o["options"]["kv_heads"] == 1),
    "--round": ("1", lambda o: o["steps"]["weights"]["value"][1] == [0.3, 0.7, 0.0]),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_replace_what_the_file_says(flag: str, attn: Attn) -> None:
    value, holds = FLAGS[flag]
    result = attn("compute", GOOD, flag, value, "-f", "json")
    assert result.status == 0, result.err
    assert holds(json.loads(result.out))


@cases("command_line", "colour_in_a_pipe")
def test_colour_in_a_pipe(
    arguments: list[str], env: dict[str, str], coloured: bool, attn: Attn
) -> None:
    out = attn("compute", GOOD, *arguments, env=env).out
    assert ("\x1b[" in out) is coloured
    assert "\n".join(line.rstrip() for line in ESCAPES.sub("", out).splitlines()) in attn(
        "compute", GOOD
    ).out.replace("\n\n\n", "\n\n")


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_in_a_terminal(env: dict[str, str], coloured: bool) -> None:
    assert ("\x1b[" in in_terminal("compute", GOOD, env=env).out) is coloured


@pytest.mark.parametrize("width", ["20", "60", "200", "nonsense"])
def test_a_pipe_is_the_same_whatever_columns_says(width: str, attn: Attn) -> None:
    narrow = attn("compute", "sample_inputs/heads_cut.yaml", env={"COLUMNS": width}).out
    assert narrow == attn("compute", "sample_inputs/heads_cut.yaml").out


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        *(("i_am_good", 40), ("heads_cut", 60), ("recurrent", 80)),
        *(("co_attention", 160), ("heads_cut", 40), ("recurrent", 60)),
    ],
)
def test_a_terminal_shows_every_number_whole(name: str, columns: int, attn: Attn) -> None:
    path = f"sample_inputs/{name}.yaml"
    shown = ESCAPES.sub("", in_terminal("compute", path, "-q", columns=columns).out)
    numbers = set(NUMBER.findall(attn("compute", path, "-q").out))
    assert len(numbers) > 5
    assert numbers - set(NUMBER.findall(shown)) == set()
    matrices = [line for line in shown.splitlines() if line.strip()[-1:] in "⎤⎥⎦]"]
    assert max(map(cell_width, matrices)) <= columns


def test_large_matrices_are_elided_and_full_shows_them(attn: Attn) -> None:
    rows = ";".join(["1,2"] * 30).replace(";", "\n").encode()
    short = attn("compute", "-", "--only", "scores", stdin=rows).out
    assert "--full shows all" in short
    assert "⋮" in short
    full = attn("compute", "-", "--only", "scores", "--full", stdin=rows).out
    assert "--full" not in full
    assert full.count("5") >= 900


def test_the_reader_of_the_pipe_may_go_away() -> None:
    """A closed pipe ends the program silently with status 141."""
    big = ("0.123456789,0.987654321\n" * 150).encode()
    process = subprocess.Popen(
        [*PROGRAM, "compute", "-", "--full"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(big)
    process.stdin.close()
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(30) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_an_interrupt_ends_with_130() -> None:
    process = subprocess.Popen(
        [*PROGRAM, "compute", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    # Ended by the signal itself: a shell shows 130, and ends a loop that the program stands in.
    assert (process.returncode, out, err) == (-signal.SIGINT, b"", b"")


LABELS = ["[mask]", ":smile:", "[/]", "\x1b[31mred", "中文", "שלום", "x" * 20]


def test_labels_are_shown_as_written_and_lines_stay_level(attn: Attn) -> None:
    problem = {"tokens": LABELS, "X": np.eye(7).tolist(), "score": "dot"}
    out = attn("compute", "-", "--only", "weights", stdin=json.dumps(problem).encode()).out
    for label in [r"\x1b[31mred" if "\x1b" in label else label for label in LABELS]:
        assert label in out
    assert "\x1b" not in out
    rows = [line for line in out.splitlines() if line.endswith(tuple("⎤⎥⎦"))]
    assert len({cell_width(re.sub("[\u2068\u2069]", "", row)) for row in rows}) == 1


def test_scores_lists_formulas(attn: Attn) -> None:
    out = attn("scores").out
    assert "vᵀ tanh(W q + U k + b)" in out
    assert max(map(cell_width, out.splitlines())) <= 80


def test_streams_do_not_mix(attn_process: Attn) -> None:
    result: Any = attn_process("compute", "sample_inputs/mask_matrix.yaml", "-f", "json")
    assert json.loads(result.out)["warnings"] == [result.err.removeprefix("warning: ").strip()]


def test_help_imports_no_command() -> None:
    """Start-up time is a feature."""
    code = "import sys; from attncli.cli.main import run; run(['--help']); print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "attncli.cli.main" in loaded
    assert not loaded & {f"attncli.cli.{name}" for name in [*SUMMARIES, "listings"]}
    assert not loaded & {"numpy", "yaml", "rich"}
