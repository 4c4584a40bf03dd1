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
from attncli.core.attention.masks import MASKS
from attncli.core.attention.scores import SCORES
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import KINDS
from attncli.printing.formats import FORMATS, formats_of
from tests.conftest import PROGRAM, ROOT, Attn, environment

PROBLEM = """\
tokens: [I, the cat, "it's", Zürich]
X: [[1, 3], [1, 1], [1, 2], [2, 2]]
score: dot
"""
STEPS = ["Q", "K", "V", "scores", "exp", "sum", "weights", "output"]


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


CASES: dict[str, list[str] | None] = {
    "attn comp": ["compute", "completion"],
    "attn --v": ["--version"],
    "attn nothing ": [],
    "attn compute -f ": [*formats_of("traces")],
    "attn compute --format=": [f"--format={name}" for name in formats_of("traces")],
    "attn check hw.yaml -f ": [*formats_of("reports")],
    "attn explain hw.yaml Q -f ": [*formats_of("explanations")],
    "attn count hw.yaml -f ": ["table", "json", "csv", "markdown"],
    "attn count hw.yaml --only w": ["weights"],
    "attn vary hw.yaml -f ": ["table", "json"],
    "attn vary hw.yaml --for ": None,
    "attn vary hw.yaml --ask w": ["weights"],
    "attn worksheet hw.yaml -f ": [*formats_of("worksheets")],
    "attn worksheet hw.yaml --blank w": ["weights"],
    "attn worksheet hw.yaml --give Q,s": ["Q,scores", "Q,sum"],
    "attn compute --color a": ["auto", "always"],
    "attn compute --theme l": ["light"],
    "attn compute --kind ": [*KINDS],
    "attn compute --score ": [*SCORES],
    "attn compute --normalize sp": ["sparsemax"],
    "attn compute --tokens-as ": ["rows", "columns"],
    "attn compute --enhance ": ["true", "false"],
    "attn compute --mask ": ["causal", "none"],
    "attn compute --set unemb": ["unembedding="],
    "attn compute --set mask=": ["mask=causal", "mask=none"],
    "attn compute hw.yaml --set mask=causal --only m": ["masked"],
    "attn compute --title ": [],
    "attn compute --head": ["--head", "--heads"],
    "attn compute hw.yaml --rows I,t": ["I,the cat"],
    "attn compute --heads 2 --heads": [],
    "attn compute --matrix a=b --matr": ["--matrix"],
    "attn new --mask ": [*MASKS],
    "attn compute hw.yaml --only ": STEPS,
    "attn compute --only s hw.yaml -q --only=Q,s": ["--only=Q,scores", "--only=Q,sum"],
    "attn compute hw.yaml --mask causal --only m": ["masked"],
    "attn compute nothing.yaml --only ": [],
    "attn compute . --only ": [],
    "attn compute - --only ": [],
    "attn check hw.yaml --ask weights,o": ["weights,output"],
    "attn explain hw.yaml ": STEPS,
    "attn explain hw.yaml 'scores[the cat, I": ["scores[the cat, I]"],
    r"attn explain hw.yaml scores\[Z": [
        f"scores[Zürich, {label}]" for label in ("I", "the cat", "it's", "Zürich")
    ],
    "attn explain hw.yaml sum": ["sum", "sum[I]", "sum[the cat]", "sum[it's]", "sum[Zürich]"],
    "attn samples score_co": ["score_concat", "score_cosine"],
    "attn samples score_concat ": [],
    "attn completion ": ["bash", "zsh", "fish"],
    "attn compute -m W_": [f"{key}=" for key in KEYS if key.startswith("W_")],
    "attn compute -m W_q=": None,
    "attn compute --out=": None,
    "attn compute h": None,
    "attn compute hw.yaml -o ": None,
    "attn check hw.yaml ": None,
    "attn check hw.yaml --manifest ": None,
    "attn explain ": None,
}
"""What may stand at the end of lines, in a folder with hw.yaml."""


@pytest.mark.parametrize("line", CASES)
def test_what_may_stand_at_the_end_of_a_line(line: str, attn: Attn, folder: Path) -> None:
    assert words(attn, line, folder) == CASES[line]


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


def test_signs_that_control_a_terminal_are_written_out(attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "hw.yaml").write_text('tokens: ["a\\nb", "\\e[31m"]\nX: [[1], [2]]')
    assert words(attn, "attn explain hw.yaml 'sum[", tmp_path) == [r"sum[a\nb]", "sum[2]"]


# --- in shells -------------------------------------------------------------------------------


TYPED: dict[str, list[str]] = {
    "attn compute hw.yaml --them{TAB}li{TAB}": ["compute", "hw.yaml", "--theme", "light"],
    "attn compute hw.yaml --only we{TAB}": ["compute", "hw.yaml", "--only", "weights"],
    "attn compute h{TAB} --format=js{TAB}": ["compute", "hw.yaml", "--format=json"],
    "attn compute -m W_q=h{TAB}": ["compute", "-m", "W_q=hw.yaml"],
    "attn explain hw.yaml 'scores[the cat, Z{TAB}": [
        "explain",
        "hw.yaml",
        "scores[the cat, Zürich]",
    ],
    "attn explain hw.yaml \"scores[it's, t{TAB}": ["explain", "hw.yaml", "scores[it's, the cat]"],
}
"""What is typed, and the arguments of the command that it becomes."""

START = {
    "bash": (["bash", "--norc", "--noprofile"], 'eval "$(attn completion bash)"'),
    "zsh": (["zsh", "-f"], 'autoload -Uz compinit; compinit -u -D; eval "$(attn completion zsh)"'),
    "fish": (["fish", "--no-config"], "attn completion fish | source"),
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
        for typed, arguments in TYPED.items():
            for piece in typed.split("{TAB}")[:-1]:
                time.sleep(0.1)
                calls = len(log.read_text().splitlines())
                os.write(terminal, piece.encode() + b"\t")
                wait_for(log, calls + 1)
            time.sleep(0.2)
            os.write(terminal, b"\n")
            wait_for(log, calls + 2)
            assert (folder / "called").read_text().splitlines() == arguments


@pytest.mark.needs("fish")
def test_fish_completes_what_is_typed(folder: Path) -> None:
    env = with_program("fish", folder)

    def candidates(line: str) -> list[str]:
        code = "attn completion fish | source; complete -C $argv[1]"
        done = subprocess.run(
            ["fish", "--no-config", "-c", code, line],
            check=True,
            cwd=folder,
            env=env,
            capture_output=True,
        )
        assert done.stderr == b""
        return [text.partition("\t")[0] for text in done.stdout.decode().splitlines()]

    assert candidates("attn compute hw.yaml --only we") == ["weights"]
    assert candidates("attn compute h") == ["hw.yaml"]
    assert candidates("attn compute -m W_q=h") == ["W_q=hw.yaml"]
    assert candidates("attn explain hw.yaml 'scores[the cat, Z") == ["scores[the cat, Zürich]"]


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
    done = subprocess.run(
        ["mandoc", "-T", "lint", "attn.1"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    remarks = [line for line in done.stdout.splitlines() if "missing date" not in line]
    assert remarks == []
