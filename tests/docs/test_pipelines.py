"""Every recipe of docs/pipelines.md is run, and its output compared, where its tools are installed.

A block is run in a folder of its own with a copy of `sample_inputs/`, the Makefile of its section,
and what the blocks before it that are marked `<!-- first -->` made. A command goes on in lines that
begin with `> `; each is a shell of its own.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES
from tests.support.page_blocks import assert_prints_what_is_shown, blocks, session

PAGE = ROOT / "docs" / "pipelines.md"
FIRST = "<!-- first -->\n"
USED = {"awk", "jq", "make", "mlr", "pandas", "parallel", "xargs"}


@dataclass(frozen=True)
class Recipe:
    """A block of commands, what was made before it, and the Makefile that it needs."""

    section: str
    body: str
    before: tuple[str, ...]
    makefile: str

    @property
    def tools(self) -> list[str]:
        """What must be installed, by the words of the commands."""
        commands = " ".join(command for command, _ in session(self.body))
        return [n for n in sorted(USED) if re.search(rf"(?<![\w./-]){n}\b", commands)]


def recipes(page: str) -> list[Recipe]:
    found = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        before: list[str] = []
        inside = blocks(section)
        makefile = "".join(body for language, body in inside if language == "make")
        for language, body in inside:
            if language == "console":
                title = section.partition("\n")[0]
                found.append(Recipe(title, body, tuple(before), makefile))
                if f"{FIRST}```console\n{body}" in section:
                    before.append(body)
    return found


RECIPES = recipes(PAGE.read_text())


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(r, marks=pytest.mark.needs(*r.tools), id=f"{r.section}: {r.body[2:40]}")
        for r in RECIPES
    ],
)
def test_recipe_prints_what_is_shown(recipe: Recipe, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES, tmp_path / "sample_inputs")
    if recipe.makefile:
        (tmp_path / "Makefile").write_text(recipe.makefile)
    # A tool reads no settings of whoever runs the tests, nor the language of its messages.
    alone = {"HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "MAKEFLAGS": "", "MAKELEVEL": ""}
    for body in (*recipe.before, recipe.body):
        assert_prints_what_is_shown(body, tmp_path, **alone)


def test_every_block_is_read_whole() -> None:
    for recipe in RECIPES:
        told = "".join(f"{c}{output}" for c, output in session(recipe.body))
        shown = re.sub(r"^[$>] ", "", recipe.body, flags=re.MULTILINE)
        assert told == shown


def test_each_tool_has_a_recipe() -> None:
    assert {tool for recipe in RECIPES for tool in recipe.tools} == USED
    languages = {language for language, _ in blocks(PAGE.read_text())}
    assert languages == {"console", "make"}
