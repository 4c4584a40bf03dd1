"""Colours for a dark and for a light terminal: which of them it is, and that both can be read."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from attncli.cli.options import Theme
from attncli.cli.terminal import SHADES_OF_256, STYLES, is_light
from tests.conftest import SAMPLES, in_terminal

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


def of_256(number: int) -> tuple[int, int, int]:
    """Return the red, green and blue of a colour of xterm, from 16 on."""
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    levels = (0, 95, 135, 175, 215, 255)
    at = number - 16
    return levels[at // 36], levels[at // 6 % 6], levels[at % 6]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_shades_of_256_colours_are_monotone_and_can_be_read(theme: Theme) -> None:
    pairs = [(ink, ground) for ink, some in SHADES_OF_256[theme] for ground in some]
    page = 0.0 if theme == "dark" else 1.0
    away = [abs(luminance(*of_256(ground)) - page) for _, ground in pairs]
    assert len(pairs) == 9
    assert all(a < b for a, b in pairwise([0.0, *away]))
    for ink, ground in pairs:
        darker, lighter = sorted((luminance(*of_256(ink)), luminance(*of_256(ground))))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, ground


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_shades_that_a_terminal_of_256_colours_gets(theme: Theme) -> None:
    written = in_terminal(
        *COMMAND, "--only", "weights", "--theme", theme, env={"COLORTERM": ""}
    ).out
    grounds = set(map(int, re.findall(r"48;5;(\d+)", written)))
    assert grounds
    assert grounds <= {ground for _, some in SHADES_OF_256[theme] for ground in some}
    assert "48;2;" not in written


@pytest.mark.parametrize(
    ("told", "light"),
    [("15;0", False), ("0;15", True), ("0;default;15", True), ("12;8", False), ("0;7", True)],
)
def test_the_environment_tells(told: str, light: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORFGBG", told)
    assert is_light() is light


def test_where_nothing_tells_it_is_dark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORFGBG", raising=False)
    assert is_light() is False


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_theme_that_was_chosen(theme: str) -> None:
    written = in_terminal(*COMMAND, "--theme", theme, env={"COLORFGBG": "15;0"}).out
    assert ("\x1b[34mI" in written) is (theme == "light")


def test_without_colours_there_are_no_codes() -> None:
    written = in_terminal(*COMMAND, env={"NO_COLOR": "1"}).out
    assert "\x1b" not in written


def test_a_terminal_is_not_asked() -> None:
    written = in_terminal(*COMMAND, env=COLOURS).out
    assert "48;2;" in written
    assert "\x1b]11" not in written
