"""Colours for a dark and for a light terminal: which of them it is, and that both can be read."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess

import pytest

from attncli.cli.options import Theme
from attncli.cli.terminal import STYLES, is_light
from tests.conftest import PROGRAM, ROOT, SAMPLES, environment, in_terminal

RGB = re.compile(r"rgb\((\d+),(\d+),(\d+)\)")
COMMAND = ("compute", SAMPLES / "i_am_good.yaml")
COLOURS = {"COLORTERM": "truecolor"}


def luminance(red: int, green: int, blue: int) -> float:
    """Return the relative luminance of the Web Content Accessibility Guidelines 2.1."""
    parts = (part / 255 for part in (red, green, blue))
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_shade_can_be_read_and_is_stronger_than_the_one_before(theme: Theme) -> None:
    page = 0.0 if theme == "dark" else 1.0
    before = 0.0
    for number in range(1, 10):
        ink, ground = (
            luminance(*map(int, c)) for c in RGB.findall(STYLES[theme][f"shade{number}"])
        )
        darker, lighter = sorted((ink, ground))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, number
        assert abs(ground - page) > before
        before = abs(ground - page)
    assert STYLES[theme]["shade0"] == ""  # a weight of next to nothing does not draw the eye


@pytest.mark.parametrize(
    ("told", "light"),
    [("15;0", False), ("0;15", True), ("0;default;15", True), ("12;8", False), ("0;7", True)],
)
def test_the_environment_tells(told: str, light: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORFGBG", told)
    assert is_light() is light


def test_without_a_terminal_it_is_dark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORFGBG", raising=False)
    assert is_light() is False


@pytest.mark.parametrize(
    ("answer", "light"),
    [
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c", True),
        (b"\x1b]11;rgb:fd/f6/e3\x07\x1b[?1;2c", True),
        (b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[?62c", False),
        (b"\x1b[?1;2c", False),  # it does not know the question
        (b"", False),  # nor any other
    ],
)
def test_the_terminal_tells(answer: bytes, light: bool) -> None:
    written = in_terminal(*COMMAND, answer=answer, env=COLOURS).out
    grounds = set(re.findall(r"48;2;\d+;\d+;\d+", written))
    expected: Theme = "light" if light else "dark"
    known = {
        "48;2;" + ";".join(RGB.findall(style)[1])
        for name, style in STYLES[expected].items()
        if name.startswith("shade") and style
    }
    assert grounds
    assert grounds <= known


def test_a_terminal_that_says_so_is_not_asked() -> None:
    written = in_terminal(*COMMAND, env={"COLORFGBG": "0;15"}).out
    assert "\x1b]11" not in written


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_theme_that_was_chosen(theme: str) -> None:
    written = in_terminal(*COMMAND, "--theme", theme, env={"COLORFGBG": "15;0"}).out
    assert ("\x1b[34mI" in written) is (theme == "light")
    assert "\x1b]11" not in written


def test_without_colours_nothing_is_asked() -> None:
    written = in_terminal(*COMMAND, env={"NO_COLOR": "1"}).out
    assert "\x1b" not in written


@pytest.mark.parametrize("typed", [(b"ls -l\n", b""), (b"ls", b" -l\n")])
def test_what_was_typed_ahead_is_still_there(typed: tuple[bytes, bytes]) -> None:
    """Nothing is asked then: what would be read as the answer is meant for the next program."""
    ahead, later = typed
    outside, inside = pty.openpty()
    os.write(outside, ahead)
    words = " ".join(map(str, (*PROGRAM, *COMMAND, "--no-pager")))
    command = f'exec <{os.ttyname(inside)}; {words}; echo done; read line; echo "read $line"'
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdout=inside,
        start_new_session=True,
        cwd=ROOT,
        env=environment(TERM="xterm-256color"),
    )
    os.close(inside)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux tells that the other side is closed
        while piece := os.read(outside, 65536):
            shown += piece
            if b"done" in shown and later:
                os.write(outside, later)
                later = b""
    os.close(outside)
    assert process.wait() == 0
    assert b"\x1b[" in shown  # it is coloured
    assert b"\x1b]11" not in shown
    assert shown.endswith(b"read ls -l\r\n")
