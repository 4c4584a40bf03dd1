"""What is installed, and where: the files of a build, and the commands that find the program."""

from __future__ import annotations

import re
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

from tests.conftest import ROOT, run_command
from tests.support.page_blocks import blocks

BUILD = """
from setuptools import build_meta
build_meta.build_sdist("built")
build_meta.build_wheel("built")
"""


def files_of(folder: str) -> set[str]:
    """Return the files in a folder of the repository and below, but for what Python compiled."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if path.suffix != ".pyc"}


def test_a_build_holds_every_file_that_the_program_needs_and_prints_no_warning(
    tmp_path: Path,
) -> None:
    samples = {name for name in files_of("sample_inputs") if "answers/" not in name}
    needed = files_of("attncli") | samples
    for name in {*needed, "LICENSE", "README.md", "pyproject.toml", "setup.py"}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    done = run_command(sys.executable, "-W", "always", "-c", BUILD, cwd=tmp_path)
    assert done.status == 0, done.err
    assert not re.findall(r".*warn.*", done.out + done.err, re.IGNORECASE)
    (wheel,) = (tmp_path / "built").glob("*.whl")
    installed = {name.removeprefix("attncli/") for name in zipfile.ZipFile(wheel).namelist()}
    assert {name.removeprefix("attncli/") for name in needed} <= installed
    (sdist,) = (tmp_path / "built").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    assert needed <= shipped


def test_the_readme_says_what_makes_a_shell_find_the_program(tmp_path: Path) -> None:
    """After that command, `attn` is the program in the `.venv` that the set-up makes."""
    venv.create(tmp_path / ".venv")
    program = tmp_path / ".venv" / "bin" / "attn"
    program.write_text("#!/bin/sh\necho installed\n")
    program.chmod(0o755)
    text = (ROOT / "README.md").read_text().partition("<!-- path -->")[2]
    command = blocks(text)[0][1]
    assert run_command("sh", "-c", f"{command}attn", cwd=tmp_path).out == "installed\n"
