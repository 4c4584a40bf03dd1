"""Pages that show what commands print: their blocks, and what runs the commands."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from subprocess import STDOUT

from tests.conftest import ROOT, in_process, run_command


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the fenced blocks of a page: the language of each, and what stands in it."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


WORD = r"""(?:[^\s|&;<>(){}$`*?~#\\'"]|'[^']*'|"[^"$`\\]*")+"""
"""A word that a shell takes as it is, but for its quotes."""

PLAIN = re.compile(rf"attn((?: +{WORD})+)\s*(?:\|(?!\|)(.*))?", re.DOTALL)
"""A call of `attn` with such words alone, and what its output is piped into."""


def printed(command: str, folder: Path, **variables: str) -> str:
    """Return all that a command prints: a plain call of `attn` runs in this process."""
    if match := PLAIN.fullmatch(command):
        result = in_process(*shlex.split(match[1]), cwd=folder, env=variables)
        if match[2] and not result.err:
            return in_shell(match[2], folder, stdin=result.out, **variables)
        if not (match[2] or (result.out and result.err)):
            return result.out + result.err
    return in_shell(command, folder, **variables)  # only processes show the order of two streams


def assert_prints_what_is_shown(body: str, folder: Path, **variables: str) -> None:
    """Assert that each command of a block prints what the page shows."""
    for command, output in session(body):
        assert printed(command, folder, **variables) == output, command


def in_shell(command: str, folder: Path = ROOT, stdin: str = "", **variables: str) -> str:
    """Return all that a command prints, where `attn` and `python3` are those that are tested."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, **variables}
    bash = ("bash", "-c", command)
    return run_command(*bash, stdin=stdin.encode(), cwd=folder, env=env, stderr=STDOUT).out


def session(body: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with what it prints."""
    return [
        (command.replace("\n> ", "\n"), output)
        for command, output in re.findall(
            r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", body, re.MULTILINE
        )
    ]
