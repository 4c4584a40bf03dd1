"""Completion: what may stand at a place, and the scripts in the shells that they are for."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from attncli.cli.main import EXAMPLES
from attncli.core.problem.keys import KEYS
from attncli.formats import FORMATS
from tests.conftest import PROGRAM, ROOT, Attn, cases, environment, run_command, table

PROBLEM = """\
tokens: [I, the cat, "it's", Zürich]
X: [[1, 3], [1, 1], [1, 2], [2, 2]]
score: dot
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hw.yaml").write_text(PROBLEM)
    return tmp_path


def words(attn: Attn, line: str, cwd: Path = ROOT) -> list[str] | None:
    """Return what may stand at the end of a line; None for files."""
    result = attn("completion", "zsh", f"--line={line}", cwd=cwd)
    assert (result.status, result.err) == (0, "")
    kind, *lines = result.out.splitlines()
    assert kind in ("files", "words")
    return [text.partition("\t")[0] for text in lines] if kind == "words" else None


@cases("completion", "ends_of_lines")
def test_what_may_stand_at_the_end_of_a_line(
    line: str, found: list[str] | None, attn: Attn, folder: Path
) -> None:
    assert words(attn, line, folder) == found


@pytest.mark.parametrize("content", ["X: [[1, 2], [3]]", "X: [", "scores: [[?]]", "\x00", ""])
def test_a_file_that_cannot_be_read_gives_nothing(content: str, attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "hw.yaml").write_text(content)
    assert words(attn, "attn compute hw.yaml --only ", tmp_path) == []
    assert words(attn, "attn explain hw.yaml 'scores[", tmp_path) == []


def test_every_option_of_every_command_is_a_candidate(attn: Attn) -> None:
    for command in words(attn, "attn ") or []:
        if not command.startswith("-"):
            page = attn(command, "--help-all").out
            for option in words(attn, f"attn {command} -") or []:
                assert f" {option}" in page


# --- in shells -------------------------------------------------------------------------------


START = {
    "bash": (["bash", "--norc", "--noprofile"], 'eval "$(attn completion bash)"'),
    "zsh": (["zsh", "-f"], 'autoload -Uz compinit; compinit -u -D; eval "$(attn completion zsh)"'),
}


def wait_for(path: Path, lines: int) -> None:
    """Wait until a file has so many lines."""
    end = time.monotonic() + 30
    while len(path.read_text().splitlines()) < lines:
        assert time.monotonic() < end, path.read_text()
        time.sleep(0.02)


@contextmanager
def shell(name: str, folder: Path) -> Iterator[int]:
    """Start a shell that completes `attn`; yield the terminal to type on."""
    command, start = START[name]
    outside, inside = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        cwd=folder,
        start_new_session=True,
        env=with_program(name, folder),
    )
    os.close(inside)
    try:
        os.write(outside, f"{start}\n".encode())
        wait_for(folder / "log", 1)
        yield outside
    finally:
        process.kill()
        process.wait()
        os.close(outside)


def with_program(name: str, folder: Path) -> dict[str, str]:
    """Return an environment with an `attn`.

    It answers what completion asks, and otherwise writes its arguments to `called`. It adds a line
    to `log` whenever it was called.
    """
    program = folder / "bin" / "attn"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = completion ]; then {shlex.join(PROGRAM)} "$@"\n'
        'else printf "%s\\n" "$@" > called; fi\necho >> log\n'
    )
    program.chmod(0o755)
    (folder / "log").write_text("")
    path = f"{program.parent}:{os.environ['PATH']}"
    more = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(folder), "TERM": "xterm"}
    return environment(LC_ALL="C.UTF-8", **more)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("bash", "zsh")]
)
def test_a_shell_completes_what_is_typed(name: str, folder: Path) -> None:
    log = folder / "log"
    for word in ("compute", "weights"):  # which no candidate becomes
        (folder / word).mkdir()
    with shell(name, folder) as terminal:
        for row in table("completion", "typed"):
            for piece in row["keys"].split("{TAB}")[:-1]:
                time.sleep(0.1)
                calls = len(log.read_text().splitlines())
                os.write(terminal, piece.encode() + b"\t")
                wait_for(log, calls + 1)
            time.sleep(0.2)
            os.write(terminal, b"\n")
            wait_for(log, calls + 2)
            assert (folder / "called").read_text().splitlines() == row["arguments"]


@pytest.mark.needs("fish")
def test_fish_completes_what_is_typed(folder: Path) -> None:
    env = with_program("fish", folder)
    code = "attn completion fish | source; complete -C $argv[1]"
    for line, found in (
        ("attn compute hw.yaml --only we", "weights"),
        ("attn compute h", "hw.yaml"),
        ("attn compute -m W_q=h", "W_q=hw.yaml"),
        ("attn explain hw.yaml 'scores[the cat, Z", "scores[the cat, Zürich]"),
    ):
        done = run_command("fish", "--no-config", "-c", code, line, cwd=folder, env=env)
        assert (done.status, done.err) == (0, "")
        assert [text.partition("\t")[0] for text in done.out.splitlines()] == [found]


# --- the manual page -------------------------------------------------------------------------


def test_manual_page_has_all_of_the_help(attn: Attn) -> None:
    page = attn("manual").out
    assert page.isascii()
    plain = re.sub(r"\\f[BR]|\\&", "", page).replace(r"\-", "-")
    commands = [word for word in words(attn, "attn ") or [] if not word.startswith("-")]
    for command in commands:
        assert re.search(rf"^\.SS attn {command} ", plain, re.MULTILINE)
        for option in words(attn, f"attn {command} --") or []:
            assert option in plain
        assert all(line in re.sub(r"\\\(aq", "'", plain) for line in EXAMPLES[command])
    for heading in ("NAME", "PROBLEM FILE", "FORMATS", "ENVIRONMENT", "EXIT STATUS"):
        assert f"\n.SH {heading}\n" in page
    assert all(f".TP\n{key}\n" in plain for key in (*KEYS, *FORMATS, "PAGER", "NO_COLOR", "141"))


@pytest.mark.needs("mandoc")
def test_manual_page_is_read_by_manual_readers(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "attn.1").write_text(attn("manual").out)
    said = run_command("mandoc", "-T", "lint", "attn.1", cwd=tmp_path).out
    remarks = [line for line in said.splitlines() if "missing date" not in line]
    assert remarks == []
