"""Every recipe of docs/pipelines.md is run, and its output compared, where its tools are installed.

A block is run in a folder of its own with a copy of `sample_inputs/`, the Makefile of its section,
and what the blocks before it that are marked `<!-- first -->` made. A command goes on in lines that
begin with `> `; each is a shell of its own.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES
from tests.support.page_blocks import assert_prints_what_is_shown, blocks, session

PAGE = (ROOT / "docs" / "pipelines.md").read_text()
USED = {"awk", "jq", "make", "mlr", "pandas", "parallel", "xargs"}
RECIPES = [
    (section, body)
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    for language, body in blocks(section)
    if language == "console"
]


def tools(body: str) -> list[str]:
    """Return what must be installed, by the words of the commands."""
    commands = " ".join(command for command, _ in session(body))
    return [n for n in sorted(USED) if re.search(rf"(?<![\w./-]){n}\b", commands)]


@pytest.mark.parametrize(
    ("section", "body"),
    [
        pytest.param(
            *recipe,
            marks=pytest.mark.needs(*tools(recipe[1])),
            id=f"{recipe[0].partition(chr(10))[0]}: {recipe[1][2:40]}",
        )
        for recipe in RECIPES
    ],
)
def test_recipe_prints_what_is_shown(section: str, body: str, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES, tmp_path / "sample_inputs")
    above = blocks(section.partition(body)[0])
    first = [one for _, one in above if f"<!-- first -->\n```console\n{one}" in section]
    (tmp_path / "Makefile").write_text(dict(blocks(section)).get("make", ""))
    # A tool reads no settings of whoever runs the tests, nor the language of its messages.
    alone = {"HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "MAKEFLAGS": "", "MAKELEVEL": ""}
    for one in (*first, body):
        assert_prints_what_is_shown(one, tmp_path, **alone)


def test_every_block_is_read_whole() -> None:
    for _, body in RECIPES:
        told = "".join(f"{c}{output}" for c, output in session(body))
        assert told == re.sub(r"^[$>] ", "", body, flags=re.MULTILINE)


def test_each_tool_has_a_recipe() -> None:
    assert {tool for _, body in RECIPES for tool in tools(body)} == USED
    assert {language for language, _ in blocks(PAGE)} == {"console", "make"}
