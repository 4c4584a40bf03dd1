"""Every block of docs/teaching.md is run in a copy of docs/teaching/, and its output compared."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

from tests.conftest import ROOT
from tests.support.page_blocks import assert_prints_what_is_shown, blocks

PAGE = ROOT / "docs" / "teaching.md"
FOLDER = ROOT / "docs" / "teaching"


def test_the_course_prints_what_is_shown(tmp_path: Path) -> None:
    """The blocks are a session in one folder: the variants are made before the sheets are read."""
    course = tmp_path / "teaching"
    shutil.copytree(FOLDER, course, ignore=shutil.ignore_patterns("variants", "__pycache__"))
    for language, body in blocks(PAGE.read_text()):
        assert language == "console"
        assert_prints_what_is_shown(body, course, HOME=str(tmp_path), LC_ALL="C.UTF-8")
    for made in sorted((FOLDER / "variants").iterdir()):
        assert (course / "variants" / made.name).read_text() == made.read_text()


def test_the_sheets_are_those_that_the_script_writes() -> None:
    script = runpy.run_path(str(FOLDER / "make.py"))
    found = {path.name: path.read_text() for path in (FOLDER / "sheets").iterdir()}
    assert found == script["sheets"]()
