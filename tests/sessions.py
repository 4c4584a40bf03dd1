"""Pages that show what commands print: their blocks, and what runs the commands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, environment, in_process


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the fenced blocks of a page: the language of each, and what stands in it."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def printed(command: str, folder: Path, **variables: str) -> str:
    """Return all that a command prints: a plain call of `attn` runs in this process."""
    if command.startswith("attn ") and not re.search(r"[|&;<>(){$`*?~#\\]|\n.", command):
        result = in_process(*shlex.split(command)[1:], cwd=folder, env=variables)
        if not (result.out and result.err):  # otherwise, only a process shows their order
            return result.out + result.err
    return in_shell(command, folder, **variables)


def in_shell(command: str, folder: Path = ROOT, **variables: str) -> str:
    """Return all that a command prints, where `attn` and `python3` are those that are tested."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment(PATH=path, **variables),
        check=False,
    )
    return done.stdout.decode()


def session(body: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with what it prints."""
    return [
        (command.replace("\n> ", "\n"), output)
        for command, output in re.findall(
            r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", body, re.MULTILINE
        )
    ]
