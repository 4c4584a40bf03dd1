"""Whose each file of a course is, in nine layouts of platforms and students; its points. SPEC 5.

`python benchmarks/course.py` makes thousands of files, and compares the points with those that the
answers earn; with `--record` it writes the small course of this test.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.conftest import DATA, Attn

COURSE = DATA / "recorded" / "course.json"
"""The files of a course, and for each layout its files, its manifest and its grade book."""

LAYOUTS = json.loads(COURSE.read_text(encoding="utf-8"))["layouts"]


def write(files: dict[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", LAYOUTS)
def test_whose_each_file_is_is_told_or_listed_as_open(
    name: str, tmp_path: Path, attn: Attn
) -> None:
    layout = LAYOUTS[name]
    write(json.loads(COURSE.read_text(encoding="utf-8"))["files"], tmp_path)
    write({f"{name}/{path}": text for path, text in layout["files"].items()}, tmp_path)
    command = ["check", "course.yaml", name, "--for", layout["roster"], "-f", "csv"]
    attn(*command, "--manifest", "manifest.csv", cwd=tmp_path)
    manifest = (tmp_path / "manifest.csv").read_text(encoding="utf-8")
    recorded = layout["manifest"].splitlines()
    assert [*csv.reader(manifest.splitlines())] == [*csv.reader(recorded)]
    assert attn(*command, cwd=tmp_path).out == layout["grades"]
