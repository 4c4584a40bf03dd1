"""The README does what it says: every command block is run and its output compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attncli.attention.masks import MASKS
from attncli.attention.normalizers import NORMALIZERS
from attncli.attention.scores import SCORES
from attncli.rendering.formats import FORMATS
from tests.conftest import ROOT, environment

TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SESSIONS = [body for language, body in BLOCKS if language == "console"]


def in_shell(command: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        cwd=ROOT,
        env=environment(PATH=path),
        check=False,
    )
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s.splitlines()[0][2:60])
def test_command_prints_what_is_shown(session: str) -> None:
    command, _, output = session.partition("\n")
    assert command.startswith("$ ")
    assert in_shell(command[2:]) == output


def test_python_block_prints_what_is_shown() -> None:
    (code,) = [body for language, body in BLOCKS if language == "python"]
    (shown,) = [body for language, body in BLOCKS if language == "text"]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True, text=True
    )
    assert done.stdout == shown


def test_set_up_commands_are_those_that_the_whole_check_runs() -> None:
    """`.ci/run` takes the two `sh` blocks from the README and runs them to the letter."""
    assert len([language for language, _ in BLOCKS if language == "sh"]) == 2
    assert "<!-- compute -->\n```sh\n" in TEXT
    assert "<!-- test -->\n```sh\n" in TEXT
    assert {language for language, _ in BLOCKS} == {"sh", "console", "python", "text"}


@pytest.mark.parametrize("name", [*SCORES, *MASKS, *NORMALIZERS, *FORMATS])
def test_every_row_of_every_table_is_in_the_docs(name: str) -> None:
    assert re.search(rf"\b{name}\b", TEXT)
