"""What each command imports: start-up time is a feature, and every module is a part of it.

A list that grows is read, as any other snapshot, before it is written anew.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.conftest import run_command, table
from tests.support.snapshots import assert_same

WRONG = '{"scores": [[14, 10, 9], [10, 11, 6], [9, 7, 6]]}'

COMMANDS: dict[str, str] = table("command_line", "commands_that_import")

LIBRARIES = {"numpy", "rich", "sympy", "typer", "yaml"}

RUN = """
import json, sys
from attncli.cli.main import run
print(json.dumps([run(sys.argv[1:]), *sys.modules]), file=sys.stderr)
"""
"""Runs a command, and says its exit status and what it has imported at its end."""


def rooms(modules: list[str]) -> str:
    """Return a line for each room with its modules, and one for libraries."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        package, *rest = module.split(".")
        if package == "attncli":
            found["/".join(rest[:-1]) or "attncli"].update(rest[-1:])
        elif package in LIBRARIES:
            found["(libraries)"].add(package)
    for room, names in found.items():
        prefix = "" if room == "attncli" else f"{room}/"
        names -= {other.removeprefix(prefix) for other in found if other.startswith(prefix)}
    lines = ((room, sorted(names)) for room, names in sorted(found.items()))
    return "".join(f"{room}: {' '.join(names)}\n" for room, names in lines)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_imports_no_more_than_it_did(name: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(WRONG)
    places = {"WRONG": str(wrong), "NEW": str(tmp_path / "new.yaml")}
    words = [places.get(word, word) for word in shlex.split(COMMANDS[name])]
    result = run_command(sys.executable, "-c", RUN, *words)
    status, *modules = json.loads(result.err.splitlines()[-1])
    assert status == (1 if name == "check_wrong" else 0)
    assert_same(rooms(modules), f"modules/{name}.txt")
