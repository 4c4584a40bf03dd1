"""What several tests need: the real program, run as a user runs it, in a process or without."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import gc
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any
from unittest import mock

import hypothesis
import pytest
import yaml

from attncli.cli.main import run
from tests.support.tools import TOOLS, is_here, required_and_missing

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"
WHOLE = ROOT / "tests" / "whole"
LEFT_OUT = "this machine has no "
PROGRAM = (sys.executable, "-m", "attncli")
SAMPLES = ROOT / "sample_inputs"
SAMPLE_FILES = sorted(p for p in SAMPLES.iterdir() if p.is_file())
TYPICAL_SAMPLES = [
    SAMPLES / name
    for name in (
        "co_attention_padded.yaml",
        "dictionary_hard.yaml",
        "gradient_columns.yaml",
        "gradient_heads.yaml",
        "heads_grouped.yaml",
        "i_am_good.yaml",
        "mask_padding.yaml",
        "pooling_relation.yaml",
        "queries_keys_values.csv",
        "recurrent_state.yaml",
        "score_additive.yaml",
        "softcap_bias.yaml",
        "transformer_training.yaml",
    )
]
"""Samples that together have every kind, both conventions, heads, a batch, masks and gradients."""

# `HYPOTHESIS_PROFILE=full pytest` tries more problems, and `random` others each time.
hypothesis.settings.register_profile("default", max_examples=10, deadline=None, derandomize=True)
hypothesis.settings.register_profile("full", max_examples=40, deadline=None, derandomize=True)
hypothesis.settings.register_profile("random", max_examples=200, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Every worker has a core; with several threads each, NumPy would mostly wait for the others. It is
# not imported yet, and processes that are tested decide by themselves.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Where the tests run in the background these may be ignored, and so in every process they start.
for name in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(name) is signal.SIG_IGN:
        signal.signal(name, signal.SIG_DFL)

# These change colours, widths, help texts or threads.
NOT_INHERITED = (
    "PYTHONDONTWRITEBYTECODE",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "GITHUB_ACTIONS",
    "PY_COLORS",
    "OPENBLAS_NUM_THREADS",
)


def table(subject: str, name: str) -> Any:
    """Return what `tests/data/cases` has under a name, in the file of a subject."""
    return tables(subject)[name]


def cases(subject: str, name: str, **options: Any) -> pytest.MarkDecorator:
    """Run a test with each row of a table of `data/cases`; its keys are the test's arguments."""
    rows = table(subject, name)
    values = [tuple(row.values()) for row in rows]
    return pytest.mark.parametrize(tuple(rows[0]), values, **options)


def made_files(*kinds: str) -> Iterator[tuple[str, bytes]]:
    """Yield the made-up files of some kinds, each with its suffix."""
    text = (DATA / "recorded" / "made_files.jsonl").read_text(encoding="utf-8")
    for line in text.splitlines():
        kind, suffix, data = json.loads(line)
        if kind in kinds:
            yield suffix, data.encode("latin-1")


@cache
def tables(subject: str) -> dict[str, Any]:
    """Return all tables of a subject, by name."""
    text = (DATA / "cases" / f"{subject}.yaml").read_text(encoding="utf-8")
    named: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
    return named


@dataclass(frozen=True)
class Result:
    """What the program printed, and its exit status."""

    status: int
    out: str
    err: str


Attn = Callable[..., Result]


def environment(**more: str) -> dict[str, str]:
    """Return the environment without what would change the output, and with `more`."""
    kept = {key: value for key, value in os.environ.items() if key not in NOT_INHERITED}
    # Compiled once and kept, as an installed program is; each run would compile it anew.
    cache = {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "attn-tests-pycache")}
    return kept | {"PYTHONIOENCODING": "utf-8"} | cache | more


def in_terminal(
    *arguments: str | Path, columns: int = 80, lines: int = 24, env: dict[str, str] | None = None
) -> Result:
    """Run `attn` with a terminal of that size; what goes to standard error is left out.

    Nothing is paged unless `env` has a PAGER.
    """
    outside, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    # Whoever opens a terminal in a session without one is controlled by it.
    opened = f'exec "$0" "$@" <{os.ttyname(inside)}'
    process = subprocess.Popen(
        ["/bin/sh", "-c", opened, *PROGRAM, *map(str, arguments)],
        stdout=inside,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=ROOT,
        env=environment(**{"TERM": "xterm-256color", "PAGER": "cat"} | (env or {})),
    )
    os.close(inside)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux tells that the other side is closed
        while piece := os.read(outside, 65536):
            shown += piece
    os.close(outside)
    return Result(process.wait(), shown.decode().replace("\r\n", "\n"), "")


def in_process(
    *arguments: str | Path, stdin: bytes = b"", cwd: Path = ROOT, env: dict[str, str] | None = None
) -> Result:
    """Run `attn` in this process.

    It starts and ends as a program does: with streams, a folder and variables of its own, and
    nothing that it sets is left behind. A Python warning, which a user would see, is an error.
    """
    longest_field = csv.field_size_limit()
    # Files, not buffers in memory: the program asks its output which file it is.
    with (
        mock.patch.dict(os.environ, environment(**(env or {})), clear=True),
        contextlib.chdir(cwd),
        TextIOWrapper(BytesIO(stdin), "utf-8") as given,
        _file("strict") as out,
        _file("backslashreplace") as err,
        mock.patch.multiple(sys, stdin=given, stdout=out, stderr=err),
    ):
        try:
            status = run([str(argument) for argument in arguments])
        finally:
            csv.field_size_limit(longest_field)
        out.seek(0)
        err.seek(0)
        return _result(status, out.read(), err.read())


def run_command(
    *command: str | Path,
    stdin: bytes | IO[bytes] = b"",
    env: dict[str, str] | None = None,
    **options: Any,
) -> Result:
    """Run a command in a process of its own, in the folder of the project unless `cwd` says where.

    What it prints is returned, but for a stream that `options` of `subprocess.run` lead elsewhere.
    """
    usual: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": ROOT}
    usual["input" if isinstance(stdin, bytes) else "stdin"] = stdin
    words, variables = [*map(str, command)], environment(**(env or {}))
    done = subprocess.run(words, check=False, env=variables, **usual | options)
    out, err = ((text or b"").decode() for text in (done.stdout, done.stderr))
    return _result(done.returncode, out, err)


@pytest.fixture(scope="session")
def attn() -> Attn:
    """Return a function that runs `attn` in this process; `stdin`, `cwd`, `env` as keywords."""
    return in_process


@pytest.fixture(scope="session")
def attn_process() -> Attn:
    """Return a function as `attn` that starts a process: for tests of what only a process has."""
    return partial(run_command, *PROGRAM)


@pytest.fixture
def small_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two candidates, not twelve, decide what variants can show, in a quarter of the time.

    That is enough where the test is of files, names and messages.
    """
    monkeypatch.setattr("attncli.classroom.variant_search.POOL_SIZE", 2)


def _file(errors: str) -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors=errors, newline="")


def _result(status: int, out: str, err: str) -> Result:
    # Whatever happens, a user never sees a traceback.
    assert "Traceback" not in err, err
    return Result(status, out, err)


def pytest_configure() -> None:
    """Refuse a run that lacks a tool that it must have.

    Raises:
        pytest.UsageError: where `ATTN_REQUIRE` names a tool that is not here.
    """
    if missing := required_and_missing():
        raise pytest.UsageError(f"ATTN_REQUIRE: not here: {', '.join(missing)}")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Count what needs a tool, and all of `tests/whole`, to the whole check."""
    for item in items:
        needed = [tool for mark in item.iter_markers("needs") for tool in mark.args]
        if needed or WHOLE in item.path.parents:
            item.add_marker("whole")
        for tool in needed:
            assert tool in TOOLS, tool
            if not is_here(tool):
                item.add_marker(pytest.mark.skip(reason=f"{LEFT_OUT}{tool}"))


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over thousands of tests: a tenth of the suite's time."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what tests measured, in whichever process, and what was left out for want of a tool."""
    measured = [
        f"{name}: {value}"
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
    ]
    if measured:
        terminalreporter.section("measured")
        terminalreporter.write_line("\n".join(measured))
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    missing = Counter(tool for text in skipped for tool in TOOLS if f"{LEFT_OUT}{tool}'" in text)
    if missing:
        counts = ", ".join(f"{tool} ({count} tests)" for tool, count in missing.most_common())
        terminalreporter.write_line(f"left out, as these are not here: {counts}")
