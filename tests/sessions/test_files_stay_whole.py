"""Files stay whole, old or new, whichever call of the system fails while they are written."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from attncli.classroom import variants
from attncli.cli.main import run
from tests.conftest import SAMPLES, table

CALLS = ("replace", "mkdir", "chmod")
"""The functions of `os` that fail, beside `open`, and `write` and `close` of what it opened."""

OPEN = io.open

STDOUT = "../standard output"

REASONS = {errno.ENOSPC: "no space left on device", errno.EIO: "input/output error"}

Files = dict[str, bytes]

COMMANDS: list[str] = table("command_line", "commands_that_write")


class Failing:
    """Calls of the system that change something, of which the one of a number fails; 0 for none."""

    def __init__(self, number: int) -> None:
        self.left, self.failed = number, ""
        self.error = [*REASONS][number % 2]

    def count(self, name: object) -> None:
        """Raise an error if this call is the one that fails."""
        self.left -= 1
        if self.left == 0:
            self.failed = Path(str(name)).name
            raise OSError(self.error, os.strerror(self.error))

    def counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            self.count(path)
            return real(path, *arguments, **named)

        return call

    def opened(self, file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if not {*mode} & {*"wxa"}:
            return OPEN(file, mode, *arguments, **named)
        self.count(file)
        return self.writer(file, mode)

    def writer(self, file: Any, mode: str) -> io.BufferedWriter:
        """Return a file whose `write` and `close` may fail."""
        count = self.count

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                count(file)
                return super().write(data)

            def close(self) -> None:
                is_open = not self.closed
                super().close()
                if is_open and file != STDOUT:
                    count(file)

        assert "b" in mode  # no text is written
        return io.BufferedWriter(Raw(file, mode.replace("b", "")))

    def run(self, command: str) -> int:
        with (
            pytest.MonkeyPatch.context() as patch,
            io.TextIOWrapper(self.writer(STDOUT, "wb"), "utf-8") as out,
        ):
            for name in CALLS:
                patch.setattr(os, name, self.counted(getattr(os, name)))
            patch.setattr(io, "open", self.opened)
            patch.setattr(sys, "stdout", out)
            status = run(command.split())
            self.left = 0
        return status


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Make files of problems and answers in the current folder; return what they hold."""
    folder = tmp_path / "here"
    (folder / "answers").mkdir(parents=True)
    monkeypatch.chdir(folder)
    Path("many.yaml").write_text("title: A\nX: [[1]]\n---\ntitle: b\nX: [[2]]\n")
    Path("one.yaml").write_bytes((SAMPLES / "i_am_good.yaml").read_bytes())
    Path("hw.yaml").write_bytes((SAMPLES / "integers_scaled.yaml").read_bytes())
    for name in ("ada.json", "bo.yaml"):
        Path("answers", name).write_bytes((SAMPLES / "answers" / name).read_bytes())
    return files()


@pytest.fixture
def drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw variants only in the first run of a test: that is most of its time."""
    draw, drawn = variants.vary_all, list[Any]()

    def vary_all(*arguments: Any) -> Any:
        drawn[:] = drawn or draw(*arguments)
        return iter(drawn)

    monkeypatch.setattr(variants, "vary_all", vary_all)


def files() -> Files:
    """Return the files of the current folder, also of hidden ones."""
    return {str(p): p.read_bytes() for p in sorted(Path().rglob("*")) if p.is_file()}


def restore(wanted: Files) -> None:
    for path in Path().iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, data in wanted.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(data)


def is_whole(name: str, data: bytes, expected: Sequence[bytes]) -> bool:
    """Return True for expected contents; a workbook, which has the time in it, is any whole one."""
    if name.endswith(".xlsx") and data.startswith(b"PK"):
        return zipfile.ZipFile(io.BytesIO(data)).testzip() is None
    return data in expected


BY_DEFAULT = ("compute many.yaml -f html -o out/", "compute one.yaml -o one.json", "new new.yaml")


@pytest.mark.parametrize(
    "command",
    [pytest.param(c, marks=() if c in BY_DEFAULT else pytest.mark.whole) for c in COMMANDS],
)
@pytest.mark.usefixtures("drawn_once", "small_pool")
def test_files_are_whole_whichever_call_fails(
    command: str, given: Files, capfd: pytest.CaptureFixture[str]
) -> None:
    right = Failing(0).run(command)
    made = files()
    new = made.keys() - given.keys()
    keeps_old = any(word in command for word in ("--manifest", "new new", "-o sheet.xlsx"))
    for old in [{}] if keeps_old or not new else [{}, dict.fromkeys(new, b"old")]:
        for number in count(1):
            restore(given | old)
            capfd.readouterr()
            failing = Failing(number)
            status = failing.run(command)
            after, err = files(), capfd.readouterr().err
            assert after.keys() <= made.keys()  # no temporary file is left
            for name, data in after.items():
                assert is_whole(
                    name, data, [one[name] for one in (given | old, made) if name in one]
                )
            if not failing.failed:
                break
            assert status == 2
            said = re.findall(r"^(.*) cannot be written: (.*)$", err, re.MULTILINE)
            assert [reason for _, reason in said] == [REASONS[failing.error]], err
            named = said[0][0]
            # The call was of that file, of a temporary one beside it, or of a folder around it.
            stem = failing.failed.removeprefix(".").rpartition(".")[0] or failing.failed
            assert stem in named or failing.failed in named
            assert named in new or failing.failed == named == "standard output"
        assert status == right
        assert number > len(new)
