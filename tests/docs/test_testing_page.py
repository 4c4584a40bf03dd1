"""docs/testing.md is true: its numbers are counted here. `UPDATE_SNAPSHOTS=1` writes them anew."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable

import pytest

from attncli.checking.mistakes.catalogue import MISTAKES
from tests.conftest import DATA, ROOT, SAMPLE_FILES, run_command
from tests.support.console import FOLDER, sessions_in

PAGE = ROOT / "docs" / "testing.md"
LIBRARIES = ("deepseek", "delta_onnx", "delta_qwen", "diffllama", "flash", "flex", "qwen", "torch")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
SUBMISSIONS = [path.read_text() for path in sorted((DATA / "submissions").glob("*.jsonl"))]


def of_libraries() -> int:
    recorded = (DATA / "recorded").glob("*.jsonl")
    texts = [path.read_text() for path in recorded if path.stem.startswith(LIBRARIES)]
    return sum(text.count("\n") for text in texts) + len([*(DATA / "dumps").glob("*_dump.npz")])


def collected(*flags: str) -> int:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", *flags]
    out = run_command(*command).out
    return int(re.findall(r"^(\d+)(?:/\d+)? tests collected", out, re.MULTILINE)[-1])


COUNTED: dict[str, Callable[[], int]] = {
    "console sessions, each under the sentence that it proves": lambda: sum(
        len(sessions_in(path)) for path in FOLDER.glob("*.txt")
    ),
    "samples whose every table was read and found good": lambda: len(SAMPLE_FILES),
    "problems with the results of libraries": of_libraries,
    "mistakes that can be named": lambda: len(MISTAKES),
    "submissions with their truth": lambda: sum(text.count("\n") for text in SUBMISSIONS),
    "mistakes planted in these": lambda: len(
        {id_ for text in SUBMISSIONS for id_ in re.findall(r'"mistake": "(\w+)"', text)}
    ),
    "kinds of files that tried to do harm": lambda: len(
        [path for path in (ROOT / "tests" / "attacks").glob("[a-z]*.py") if "test" not in path.name]
    ),
    "percent of lines and branches of what calculates and judges that tests reach, at least": (
        lambda: SETTINGS["coverage"]["report"]["fail_under"]
    ),
}
SLOW: dict[str, Callable[[], int]] = {
    "tests that the command of the README runs": collected,
    "tests of the whole check": lambda: collected("-m", ""),
}
"""What is counted by collecting all tests."""


def compare(name: str, number: int) -> None:
    page = PAGE.read_text()
    row = re.compile(rf"^\| {re.escape(name)} \| ([\d,]+) \|$", re.MULTILINE)
    (written,) = row.findall(page)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        PAGE.write_text(row.sub(f"| {name} | {number:,} |", page))
    else:
        assert written == f"{number:,}"


@pytest.mark.parametrize("name", COUNTED)
def test_a_number_of_the_page_is_that_of_the_suite(name: str) -> None:
    compare(name, COUNTED[name]())


@pytest.mark.whole
@pytest.mark.parametrize("name", SLOW)
def test_the_number_of_tests_is_that_of_the_suite(name: str) -> None:
    compare(name, SLOW[name]())


def test_every_row_of_the_page_is_counted() -> None:
    rows = re.findall(r"^\| ([^|`]+) \| [\d,]+ \|$", PAGE.read_text(), re.MULTILINE)
    assert {*rows} == {*COUNTED, *SLOW}


def test_every_folder_of_tests_is_told() -> None:
    told = set(re.findall(r"`(\w+)/`", PAGE.read_text().rpartition("## Try it")[2]))
    apart = {"support", "data", "oracles", "snapshots", "__pycache__"}
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert folders - apart <= told
