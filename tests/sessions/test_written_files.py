"""What becomes of a file that is written over: its rights, its owner, its links, and inputs."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.conftest import SAMPLES, Attn

GOOD = SAMPLES / "i_am_good.yaml"
ONE_STEP = ("compute", GOOD, "--only", "Q", "-f", "csv")
ONE_STEP_TEXT = "1,3,2\n1,1,3\n1,2,1\n"


def test_permissions_are_kept(attn: Attn, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text("old")
    old.chmod(0o640)
    attn("compute", GOOD, "-o", old)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    attn("compute", GOOD, "-o", new)
    (tmp_path / "plain").touch()
    assert new.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_a_file_is_kept(attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(0o604)
    os.chown(path, 12345, 12346)
    attn("compute", GOOD, "-o", path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 12346, 0o604)


@pytest.mark.parametrize("exists", [True, False])
def test_link_stays_and_its_target_is_written(exists: bool, attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target.json", tmp_path / "link.json"
    if exists:
        target.write_text("old")
    link.symlink_to(Path("elsewhere") / "target.json")
    assert attn("compute", GOOD, "-o", link).status == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["title"] == "I am good"


@pytest.mark.whole
def test_link_to_standard_output(attn_process: Attn, tmp_path: Path) -> None:
    """`-o /dev/stdout`, by a link of our own: as root, a mistake would replace the real one."""
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    assert attn_process(*ONE_STEP, "-o", link).out == ONE_STEP_TEXT
    with (tmp_path / "out.csv").open("wb") as file:
        attn_process(*ONE_STEP, "-o", link, stdout=file)
    assert link.is_symlink()
    assert (tmp_path / "out.csv").read_text() == ONE_STEP_TEXT


# --- inputs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["link.yaml", "hard.yaml", "./a.yaml"])
def test_no_input_is_overwritten(name: str, attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(GOOD.read_bytes())
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    (tmp_path / "hard.yaml").hardlink_to(path)
    before = sorted(tmp_path.iterdir())
    for command in (["compute", GOOD, "a.yaml"], ["check", GOOD, "a.yaml", "-f", "json"]):
        result = attn(*command, "-o", name, cwd=tmp_path)
        assert result.status == 2
        assert "is read here, and would be overwritten" in result.err
    assert path.read_bytes() == GOOD.read_bytes()
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.whole
def test_standard_input_is_not_overwritten(attn_process: Attn, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(GOOD.read_bytes())
    with path.open("rb") as file:
        result = attn_process("compute", "-", "-o", path, stdin=file)
    assert result.status == 2
    assert "would be overwritten" in result.err
    assert path.read_bytes() == GOOD.read_bytes()
