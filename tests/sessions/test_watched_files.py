"""`attn compute --watch`: whatever an editor does to a file, its newest calculation is shown."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from py_mini_racer import MiniRacer

from attncli.pages.markup import file_text
from tests.conftest import DATA, PROGRAM, Attn, environment

ONE, TWO, BAD = "X: [[1]]\nscore: dot\n", "X: [[2]]\nscore: dot\n", "X: [[2\n"
SECONDS = 30.0


class Watched:
    """A process that watches, with what it has written so far."""

    def __init__(self, folder: Path, *arguments: str, out: int | None = None) -> None:
        self.said = folder / "said.txt"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [*PROGRAM, "compute", *arguments, "--watch"],
                stdin=subprocess.DEVNULL,
                stdout=said if out is None else out,
                stderr=said,
                cwd=folder,
                env=environment(),
            )

    def wait_for(self, pattern: str) -> str:
        """Return what was written when it matches a pattern."""
        end = time.monotonic() + SECONDS
        while not re.search(pattern, text := self.said.read_text(), re.DOTALL):
            assert self.process.poll() is None, text
            assert time.monotonic() < end, f"no {pattern} in {text}"
            time.sleep(0.02)
        return text


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    started: list[Watched] = []

    def start(*arguments: str, out: int | None = None) -> Watched:
        started.append(Watched(tmp_path, *arguments, out=out))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


@pytest.mark.whole
def test_a_file_is_calculated_again_however_it_is_saved(
    watched: Callable[..., Watched], tmp_path: Path
) -> None:
    file, other = tmp_path / "hw.yaml", tmp_path / "hw.yaml~"
    file.write_text(ONE)
    run = watched("hw.yaml", "--only", "scores", "-f", "csv")
    line = r"\d\d:\d\d:\d\d  watching 1 file; Ctrl-C ends\n"
    run.wait_for(f"^1\n{line}$")
    other.write_text(TWO)
    other.replace(file)  # as vim and VS Code do
    run.wait_for(f"\n4\n{line}$")
    file.write_text(BAD)  # in its place
    text = run.wait_for(f"closed.*{line}$")
    assert "hw.yaml:1:7: a bracket is not closed" in text
    file.unlink()
    run.wait_for(f"there is no such file\n{line}$")
    file.write_text(ONE)
    text = run.wait_for(f"\n1\n{line}$")
    assert text.count("Ctrl-C") == 5
    run.process.send_signal(signal.SIGINT)
    assert run.process.wait() == -signal.SIGINT  # of which a shell makes 130
    assert run.said.read_text() == text


@pytest.mark.whole
def test_files_that_a_problem_names_and_several_files_are_watched(
    watched: Callable[..., Watched], tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text("X: X.npy\nscore: dot\n")
    (tmp_path / "b.yaml").write_text(ONE)
    run = watched("a.yaml", "b.yaml", "--only", "scores", "-f", "json", "--keep-going")
    run.wait_for(r"X.npy.*no such file.*watching 3 files")
    np.save(tmp_path / "X.npy", np.array([[3.0]]))
    run.wait_for(r"\[\[9.0\]\].*\[\[1.0\]\].*watching 3 files; Ctrl-C ends\n$")
    (tmp_path / "b.yaml").write_text(TWO)
    run.wait_for(r"\[\[9.0\]\].*\[\[4.0\]\].*watching 3 files; Ctrl-C ends\n$")


@pytest.mark.whole
def test_a_page_reloads_only_while_it_is_watched(
    watched: Callable[..., Watched], tmp_path: Path, attn: Attn
) -> None:
    file, page = tmp_path / "hw.yaml", tmp_path / "hw.html"
    file.write_text(ONE)
    run = watched("hw.yaml", "-o", "hw.html")
    run.wait_for("watching")
    first = (tmp_path / ".hw.html.js").read_text()
    assert first == f"document.documentElement.dataset.written = {page.stat().st_mtime_ns};\n"
    assert "'strict-dynamic'" in page.read_text()
    assert "location.reload()" in page.read_text()
    file.write_text(BAD)
    run.wait_for("closed.*watching")
    assert (tmp_path / ".hw.html.js").read_text() == first
    file.write_text(TWO)
    run.wait_for("closed.*watching.*watching")
    assert (tmp_path / ".hw.html.js").read_text() != first
    run.process.send_signal(signal.SIGINT)
    run.process.wait()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hw.html", "hw.yaml", "said.txt"]
    attn("compute", file, "-o", page)
    assert "strict-dynamic" not in page.read_text()
    assert "reload" not in page.read_text()


BROWSER = (DATA / "scripts" / "browser_that_reloads.js").read_text(encoding="utf-8")


def test_the_script_reloads_a_page_when_it_was_written_again_and_keeps_the_place() -> None:
    racer = MiniRacer()
    script = file_text("reload.js")
    racer.eval(BROWSER + script)
    for type_, written, reloads in (
        ("error", "", 0),  # before it is first written
        ("load", "1", 0),
        ("load", "1", 0),
        ("error", "", 0),  # attn was ended
        ("load", "2", 1),  # and started again
    ):
        assert racer.eval(f"scrollY = 70; answer('{type_}', '{written}')") == ".hw.html.js"
        assert racer.eval("reloads") == reloads
    racer.eval(f"scrollY = 0; {script}")  # as the page is loaded anew
    assert racer.eval("scrollY") == 70


@pytest.mark.whole
def test_a_terminal_shows_the_newest_calculation_without_a_pager(
    watched: Callable[..., Watched], tmp_path: Path
) -> None:
    file = tmp_path / "hw.yaml"
    file.write_text(ONE)
    outside, inside = pty.openpty()
    run = watched("hw.yaml", "--only", "scores", "--color", "never", out=inside)
    os.close(inside)
    run.wait_for("watching")
    file.write_text(TWO)
    run.wait_for("watching.*watching")
    shown = os.read(outside, 65536).decode()
    os.close(outside)
    before, after = shown.split("\x1b[2J\x1b[H")
    assert "[1]" in before
    assert "[4]" in after
