"""Made-up files in every format: each is calculated, or told in sentences; none is too much."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES, in_process, made_files

FORMS = ["table", "json", "csv", "yaml", "markdown", "latex", "html", "npz"]
CORPUS = sorted(path for path in (ROOT / "tests" / "data" / "corpus").iterdir() if path.is_file())
SOON = 5.0
"""Seconds of calculating; one file takes a hundredth of them, but a machine may be slow."""


def tried(made: tuple[str, bytes], folder: Path, *arguments: str | Path) -> int:
    """Run the program on a made-up file; return its exit status."""
    path = folder / f"made{made[0]}"
    path.write_bytes(made[1])
    words = [path if word == "FILE" else word for word in arguments]
    start = time.process_time()
    result = in_process(*words, cwd=folder)
    assert time.process_time() - start < SOON
    assert result.status in (0, 1, 2)
    assert result.status == 0 or result.err or "check" in arguments
    assert "\x1b" not in result.out + result.err
    return result.status


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made")


@pytest.mark.parametrize("form", FORMS[:-1])
def test_a_made_up_problem_is_calculated_or_told(form: str, folder: Path) -> None:
    for made in [*made_files("problem")][FORMS.index(form) :: len(FORMS) - 1]:
        tried(made, folder, "compute", "FILE", "-f", form)


def test_made_up_answers_are_judged_or_told(folder: Path) -> None:
    for made in made_files("answers"):
        tried(made, folder, "check", SAMPLES / "i_am_good.yaml", "FILE")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_broke_once_is_calculated_or_told(path: Path, folder: Path) -> None:
    made = path.suffix, path.read_bytes()
    for form in FORMS:
        tried(made, folder, "compute", "FILE", "-f", form, "-o", f"out.{form}")
    tried(made, folder, "compute", "FILE")
    tried(made, folder, "check", SAMPLES / "i_am_good.yaml", "FILE")
    tried(made, folder, "check", "FILE")
    tried(made, folder, "explain", "FILE", "output[1, 1]")
