"""The contract of the command that no text of a session can show: bytes, colours, processes."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import re
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.core.calculation.trace import with_named_steps
from attncli.core.problem.keys import KEYS
from attncli.core.tape.step_words import may_mean_step, words_of
from attncli.core.tape.tape import Tape
from attncli.formats import formats_of
from tests.conftest import ROOT, SAMPLE_FILES, SAMPLES, Attn, cases, table

GOOD = "sample_inputs/i_am_good.yaml"
HEADS = "sample_inputs/heads_cut.yaml"
ANSWERS = "sample_inputs/answers/published.yaml"
CODES = re.compile(r"\x1b\[[0-9;]*m")


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
    ["new", "--kind", "cross", "--heads", "2", "--score", "additive"],
]
"""Commands, formats and exit statuses; by default, only some are run in a process."""


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(run, id=" ".join(run), marks=() if number % 9 == 0 else pytest.mark.whole)
        for number, run in enumerate(RUNS)
    ],
)
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


@pytest.mark.parametrize("name", ["i_am_good.yaml", "heads_cut.yaml", "mask_causal.yaml"])
def test_one_step_as_csv_is_read_by_loadtxt(name: str, attn: Attn) -> None:
    whole = json.loads(attn("compute", SAMPLES / name, "-f", "json").out)
    assert "output" in whole["steps"]
    for step, about in whole["steps"].items():
        text = attn("compute", SAMPLES / name, "--only", step, "-f", "csv").out
        value = np.array([float(x) for x in np.ravel(about["value"])])
        np.testing.assert_array_equal(np.loadtxt(io.StringIO(text), delimiter=",").ravel(), value)


def test_help_is_plain_and_the_same_both_ways(attn: Attn) -> None:
    short, long = (attn("compute", flag, env={"FORCE_COLOR": "1"}) for flag in ("-h", "--help"))
    assert short == long
    assert short.status == 0
    assert "\x1b" not in short.out


@cases("command_line", "colour_in_a_pipe")
def test_colour_in_a_pipe(
    arguments: list[str], env: dict[str, str], coloured: bool, attn: Attn
) -> None:
    out = attn("compute", GOOD, *arguments, env=env).out
    assert ("\x1b[" in out) is coloured
    assert "\n".join(line.rstrip() for line in CODES.sub("", out).splitlines()) in attn(
        "compute", GOOD
    ).out.replace("\n\n\n", "\n\n")


@pytest.mark.parametrize("width", ["20", "200", "nonsense"])
def test_a_pipe_is_the_same_whatever_columns_says(width: str, attn: Attn) -> None:
    assert attn("compute", HEADS, env={"COLUMNS": width}) == attn("compute", HEADS)


def test_messages_escape_what_they_quote(attn: Attn) -> None:
    for command in table("command_line", "words_that_are_quoted"):
        result = attn(*command.replace("BAD", "\x1b[31mbad").split())
        assert result.status == 2
        assert "\x1b" not in result.err
        assert r"\x1b[31mbad" in result.err


def test_bytes_that_are_no_text_are_refused(attn: Attn) -> None:
    for call in (["new", "--tokens", "\udcff"], ["compute", GOOD, "--title", "a\udcffb"]):
        result = attn(*call)
        assert (result.status, result.out) == (2, "")
        assert "is no text in UTF-8" in result.err


def test_names_that_the_system_refuses_are_told(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "file").touch()
    long = attn("compute", "a" * 5000)
    assert long.status == 2
    assert "too long" in long.err
    for name in ("one", "a" * 300, "file/b", "file/inner/b"):
        for command in (["new", name], ["compute", ROOT / GOOD, "-o", name, "-f", "json"]):
            result = attn(*command, cwd=tmp_path)
            assert result.status == 2
            assert re.match(f"{name} cannot be (written|used): ", result.err)


# --- steps that are asked for ----------------------------------------------------------------


def test_only_refuses_an_unknown_name_before_the_calculation(
    attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tape, "record", pytest.fail)
    result = attn("compute", GOOD, "--only", "weigths")
    assert result.status == 2
    assert "there is no step weigths in any calculation\n  did you mean weights?" in result.err


def test_every_step_may_be_asked_for() -> None:
    for path in SAMPLE_FILES:
        for step in with_named_steps(attncli.compute(attncli.load(path))):
            for word in (step.name, step.symbol, *words_of(step.name)):
                assert may_mean_step(word, KEYS), (path, word)


def test_only_shows_a_step_that_equals_one_which_large_problems_do_not_keep(
    attn: Attn, tmp_path: Path
) -> None:
    np.save(tmp_path / "X.npy", np.random.default_rng(1).normal(size=(600, 2)))
    flags = ("-m", f"X={tmp_path / 'X.npy'}", "--normalize", "none", "-f", "csv")
    weights = attn("compute", *flags, "--only", "weights")
    assert (weights.status, weights.err) == (0, "")
    assert weights.out == attn("compute", *flags, "--only", "scaled").out


@pytest.mark.whole
@pytest.mark.usefixtures("small_pool")
def test_a_flag_that_is_repeated_adds_to_the_first(attn: Attn) -> None:
    for pairs in map(str.split, table("command_line", "flags_that_are_repeated")):
        flag = next(word for word in reversed(pairs[:-1]) if word.startswith("--"))
        first = pairs.index(flag)
        together = [*pairs[:first], flag, ",".join(pairs[first + 1 :: 2])]
        repeated, joined = attn(*pairs), attn(*together)
        assert repeated == joined
        assert repeated != attn(*pairs[:-2])
        assert repeated.status < 2
