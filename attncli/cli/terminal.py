"""Lines on standard output: the width of the terminal, colours, and long output by pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from attncli.cli.options import Color, Theme
from attncli.cli.output import print_bytes
from attncli.records import Record

if TYPE_CHECKING:
    from rich.style import Style

    from attncli.rendering.layout import Line

BLACK_TEXT_FROM = 110
"""Brightness of a background, of 255, from which on black text is easier to read than white."""


def _shades(start: tuple[int, int, int], step: tuple[int, int, int]) -> dict[str, str]:
    """Return ten styles, from no colour at all to a strong blue background."""
    found = {"shade0": ""}
    for number in range(1, 10):
        red, green, blue = (low + number * more for low, more in zip(start, step, strict=True))
        brightness = 0.299 * red + 0.587 * green + 0.114 * blue
        text = "0,0,0" if brightness > BLACK_TEXT_FROM else "255,255,255"
        found[f"shade{number}"] = f"rgb({text}) on rgb({red},{green},{blue})"
    return found


STYLES: Mapping[Theme, Mapping[str, str]] = {
    Theme.dark: {
        **{"": "", "title": "bold", "name": "italic", "label": "cyan", "faint": "dim"},
        **{"right": "green", "wrong": "bold red", "near": "yellow"},
        **_shades((14, 26, 48), (10, 18, 22)),
    },
    Theme.light: {
        **{"": "", "title": "bold", "name": "italic", "label": "blue", "faint": "dim"},
        **{"right": "rgb(0,110,0)", "wrong": "bold red", "near": "rgb(140,85,0)"},
        **_shades((240, 246, 255), (-24, -18, -9)),
    },
}
"""The colours on each background, as rich writes them."""


class Display(Record):
    """How lines are shown.

    Attributes:
        color: when to colour.
        theme: for which background.
        pager: whether a pager shows what is longer than the screen of a terminal.
    """

    color: Color
    theme: Theme = Theme.auto
    pager: bool = True


def terminal_width() -> int | None:
    """Return how many columns the terminal has; None if output goes elsewhere."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    # Some terminals report a width of 0.
    return os.get_terminal_size(sys.stdout.fileno()).columns or 80


def is_coloured(color: Color) -> bool:
    """Return whether to colour, by the option, NO_COLOR, FORCE_COLOR and TERM."""
    if color is not Color.auto:
        return color is Color.always
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def write_lines(pages: Iterable[Iterable[Line]], display: Display) -> None:
    """Print pages of lines, a blank line between them.

    Raises:
        InputError: if standard output cannot be written.
        ReaderWentAwayError: if the reader of standard output is gone.
    """
    from attncli.cli.pager import paged
    from attncli.rendering.layout import plain, plain_text

    is_plain = not is_coloured(display.color)
    write = plain_text if is_plain else partial(_coloured, _styles(display.theme))
    pieces = plain(pages, write)
    for piece in paged(pieces) if display.pager else pieces:
        print_bytes(piece)


def _styles(theme: Theme) -> dict[str, Style]:
    """Return the styles for a background, by default for that of the terminal."""
    from rich.style import Style

    from attncli.cli.background import is_light

    if theme is Theme.auto:
        theme = Theme.light if is_light() else Theme.dark
    return {name: Style.parse(style) for name, style in STYLES[theme].items() if style}


def _coloured(styles: Mapping[str, Style], line: Line) -> str:
    """Return a line with the terminal's codes for its styles."""
    from rich.color import ColorSystem

    is_true_colour = os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    system = ColorSystem.TRUECOLOR if is_true_colour else ColorSystem.EIGHT_BIT
    while line and not line[-1][0].strip() and not line[-1][1].startswith("shade"):
        line = line[:-1]
    texts = []
    for style, spans in groupby(line, key=lambda span: span[1]):
        text = "".join(text for text, _ in spans)
        texts.append(styles[style].render(text, color_system=system) if style in styles else text)
    return "".join(texts)
