"""Colours of pages and of terminals: every text can be read on every background that it has.

The measure is the contrast ratio of WCAG 2.2, of which text needs 4.5 to 1.
"""

from __future__ import annotations

import colorsys
import re
from itertools import pairwise

import pytest

from attncli.cli.terminal import SHADES_OF_256, STYLES, Theme, is_light
from attncli.pages.markup import FOLDER
from tests.conftest import SAMPLES, Attn, in_terminal

LEAST = 4.5

Colour = tuple[float, float, float]
"""Red, green and blue, from 0 to 1."""


def luminance(of: Colour) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in of]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: Colour, b: Colour) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def colour(text: str) -> Colour:
    """Return the colour that #rrggbb or #rgb means."""
    digits = text.removeprefix("#")
    pairs = [digits[i : i + 2] for i in (0, 2, 4)] if len(digits) == 6 else [2 * d for d in digits]
    red, green, blue = (int(pair, 16) / 255 for pair in pairs)
    return red, green, blue


def test_contrasts_are_those_that_the_standard_says() -> None:
    assert contrast(colour("#000"), colour("#ffffff")) == pytest.approx(21)
    assert contrast(colour("#777777"), colour("#fff")) == pytest.approx(4.48, abs=0.005)


# Pages.

STYLE = (FOLDER / "style.css").read_text(encoding="utf-8")
BLOCKS = dict(
    zip(("light", "dark", "print"), re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL), strict=True)
)

ON = {
    "paper": ("ink", "faint", "blue", "wrong"),
    "sheet": ("ink", "faint", "blue"),
    "source": ("ink",),
    "pick": ("ink",),
}
"""Which texts stand on which background, beside the shades of weights."""


def palette(theme: str) -> dict[str, str]:
    """Return the colours of a theme by name; one that it does not set is that of the light one."""
    names = BLOCKS["light"] + (BLOCKS[theme] if theme != "light" else "")
    return dict(re.findall(r"--(\w+): ([^;]+);", names))


def shaded(heat: str, strength: float, paper: Colour) -> Colour:
    """Return the background of a weight, `hsl(hue saturation lightness / strength)` on paper."""
    hue, saturation, lightness = (float(part.strip("%")) for part in heat.split())
    over = colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100)
    red, green, blue = (a * strength + b * (1 - strength) for a, b in zip(over, paper, strict=True))
    return red, green, blue


@pytest.mark.parametrize("theme", BLOCKS)
def test_every_text_of_a_page_can_be_read_on_its_background(theme: str) -> None:
    colours = palette(theme)
    assert set(ON) < set(colours)
    pairs = [(text, ground) for ground, texts in ON.items() for text in texts]
    found = {
        f"{text} on {ground}": contrast(colour(colours[text]), colour(colours[ground]))
        for text, ground in pairs
    }
    assert {pair: ratio for pair, ratio in found.items() if ratio < LEAST} == {}


@pytest.mark.parametrize("theme", BLOCKS)
def test_every_weight_of_a_page_can_be_read_on_its_shade(theme: str) -> None:
    colours = palette(theme)
    (most,) = re.findall(r"td\.w \{ background-color: .* (\.\d+)\)\);", STYLE)
    paper = colour(colours["paper"])
    for weight in range(101):
        ground = shaded(colours["heat"], float(most) * weight / 100, paper)
        assert contrast(colour(colours["ink"]), ground) >= LEAST, weight


def test_no_colour_of_a_page_stands_outside_its_palette() -> None:
    rest = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert re.findall(r"#[0-9a-f]{3,6}\b(?=[;\s])|: (?:red|white|black|gray);", rest) == []


# Terminals.


def of_256(number: int) -> Colour:
    """Return a colour of xterm, from 16 on."""
    if number >= 232:
        return ((8 + 10 * (number - 232)) / 255,) * 3
    levels = (0, 95, 135, 175, 215, 255)
    at = number - 16
    return levels[at // 36] / 255, levels[at // 6 % 6] / 255, levels[at % 6] / 255


def of_style(style: str) -> list[Colour]:
    """Return the text and the background of a style of rich."""
    found = re.findall(r"rgb\((\d+),(\d+),(\d+)\)", style)
    return [(int(r) / 255, int(g) / 255, int(b) / 255) for r, g, b in found]


@pytest.mark.parametrize("colours", ["true", "256"])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_shade_of_a_terminal_can_be_read_and_is_stronger_than_the_one_before(
    theme: Theme, colours: str
) -> None:
    if colours == "true":
        pairs = [of_style(STYLES[theme][f"shade{number}"]) for number in range(1, 10)]
        assert STYLES[theme]["shade0"] == ""  # a weight of next to nothing does not draw the eye
    else:
        some = SHADES_OF_256[theme]
        pairs = [[of_256(ink), of_256(ground)] for ink, grounds in some for ground in grounds]
    assert len(pairs) == 9
    assert all(contrast(ink, ground) >= LEAST for ink, ground in pairs)
    page = 0.0 if theme == "dark" else 1.0
    away = [abs(luminance(ground) - page) for _, ground in pairs]
    assert all(a < b for a, b in pairwise([0.0, *away]))


COMMAND = ("compute", SAMPLES / "i_am_good.yaml")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_terminal_of_256_colours_gets_these_shades_alone(theme: Theme, attn: Attn) -> None:
    flags = ("--only", "weights", "--theme", theme, "--color", "always")
    written = attn(*COMMAND, *flags, env={"COLORTERM": ""}).out
    grounds = set(map(int, re.findall(r"48;5;(\d+)", written)))
    assert grounds
    assert grounds <= {ground for _, some in SHADES_OF_256[theme] for ground in some}
    assert "48;2;" not in written


@pytest.mark.parametrize(
    ("told", "light"),
    [("15;0", False), ("0;15", True), ("0;default;15", True), ("12;8", False), ("0;7", True)],
)
def test_the_environment_tells_whether_a_terminal_is_light(
    told: str, light: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORFGBG", told)
    assert is_light() is light
    monkeypatch.delenv("COLORFGBG")
    assert is_light() is False


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_theme_that_was_chosen_holds_whatever_the_environment_tells(
    theme: str, attn: Attn
) -> None:
    flags = ("--theme", theme, "--color", "always")
    written = attn(*COMMAND, *flags, env={"COLORFGBG": "15;0"}).out
    assert ("\x1b[34mI" in written) is (theme == "light")


def test_without_colours_there_are_no_codes(attn: Attn) -> None:
    assert "\x1b" in attn(*COMMAND, env={"FORCE_COLOR": "1"}).out
    assert "\x1b" not in attn(*COMMAND, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_a_terminal_is_coloured_and_not_asked_for_its_background() -> None:
    written = in_terminal(*COMMAND, env={"COLORTERM": "truecolor"}).out
    assert "48;2;" in written
    assert "\x1b]11" not in written
