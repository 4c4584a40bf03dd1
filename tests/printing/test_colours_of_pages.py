"""The colours of a page: every text can be read on every background that it may stand on.

The measure is the contrast ratio of WCAG 2.2, of which text needs 4.5 to 1.
"""

from __future__ import annotations

import colorsys
import re

import pytest

from attncli.pages.markup import FOLDER

LEAST = 4.5

STYLE = (FOLDER / "style.css").read_text(encoding="utf-8")

Colour = tuple[float, float, float]

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


def colour(text: str) -> Colour:
    """Return the red, green and blue of #rrggbb or #rgb, from 0 to 1."""
    digits = text.removeprefix("#")
    pairs = [digits[i : i + 2] for i in (0, 2, 4)] if len(digits) == 6 else [2 * d for d in digits]
    red, green, blue = (int(pair, 16) / 255 for pair in pairs)
    return red, green, blue


def shaded(heat: str, strength: float, paper: Colour) -> Colour:
    """Return the background of a weight, `hsl(hue saturation lightness / strength)` on paper."""
    hue, saturation, lightness = (float(part.strip("%")) for part in heat.split())
    over = colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100)
    red, green, blue = (a * strength + b * (1 - strength) for a, b in zip(over, paper, strict=True))
    return red, green, blue


def luminance(of: Colour) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in of]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: Colour, b: Colour) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_black_and_white_have_the_contrast_that_the_standard_says() -> None:
    assert contrast(colour("#000"), colour("#ffffff")) == pytest.approx(21)
    assert contrast(colour("#777777"), colour("#fff")) == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", BLOCKS)
def test_every_text_can_be_read_on_its_background(theme: str) -> None:
    colours = palette(theme)
    assert set(ON) < set(colours)
    pairs = [(text, ground) for ground, texts in ON.items() for text in texts]
    found = {
        f"{text} on {ground}": contrast(colour(colours[text]), colour(colours[ground]))
        for text, ground in pairs
    }
    assert {pair: ratio for pair, ratio in found.items() if ratio < LEAST} == {}


@pytest.mark.parametrize("theme", BLOCKS)
def test_every_weight_can_be_read_on_its_shade(theme: str) -> None:
    colours = palette(theme)
    (most,) = re.findall(r"td\.w \{ background-color: .* (\.\d+)\)\);", STYLE)
    paper = colour(colours["paper"])
    for weight in range(101):
        ground = shaded(colours["heat"], float(most) * weight / 100, paper)
        assert contrast(colour(colours["ink"]), ground) >= LEAST, weight


def test_no_colour_stands_outside_the_palette() -> None:
    rest = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert re.findall(r"#[0-9a-f]{3,6}\b(?=[;\s])|: (?:red|white|black|gray);", rest) == []
