"""Colours for a dark and for a light terminal: which of them it is, and that both can be read."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import warnings

import pytest

from attncli.cli.background import is_light
from attncli.cli.terminal import STYLES, Theme
from tests.conftest import SAMPLES

RGB = re.compile(r"rgb\((\d+),(\d+),(\d+)\)")
COMMAND = [sys.executable, "-m", "attncli", "compute", str(SAMPLES / "i_am_good.yaml")]


def luminance(red: int, green: int, blue: int) -> float:
    """Return the relative luminance of the Web Content Accessibility Guidelines 2.1."""
    parts = (part / 255 for part in (red, green, blue))
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("theme", [Theme.dark, Theme.light])
def test_every_shade_can_be_read_and_is_stronger_than_the_one_before(theme: Theme) -> None:
    page = 0.0 if theme is Theme.dark else 1.0
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


def on_a_terminal(answer: bytes, **environment: str) -> str:
    """Return what a process writes on a terminal that answers so."""
    with warnings.catch_warnings():  # the child only becomes another program
        warnings.simplefilter("ignore", DeprecationWarning)
        child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        given = {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | environment
        inherited = {k: v for k, v in os.environ.items() if k not in ("COLORFGBG", "NO_COLOR")}
        os.execve(COMMAND[0], COMMAND, inherited | given)
    written, asked = b"", False
    while select.select([terminal], [], [], 20)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux: the other side is closed
            break
        if not part:
            break
        written += part
        if b"\x1b]11;?" in written and not asked:
            asked = True
            os.write(terminal, answer)
    os.waitpid(child, 0)
    os.close(terminal)
    return written.decode()


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
    written = on_a_terminal(answer)
    grounds = set(re.findall(r"48;2;\d+;\d+;\d+", written))
    expected = Theme.light if light else Theme.dark
    known = {
        "48;2;" + ";".join(RGB.findall(style)[1])
        for name, style in STYLES[expected].items()
        if name.startswith("shade") and style
    }
    assert grounds
    assert grounds <= known


def test_a_terminal_that_says_so_is_not_asked() -> None:
    written = on_a_terminal(b"", COLORFGBG="0;15")
    assert "\x1b]11" not in written


def test_without_colours_nothing_is_asked() -> None:
    written = on_a_terminal(b"", NO_COLOR="1")
    assert "\x1b" not in written
