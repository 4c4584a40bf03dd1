"""Lines on standard output: the width of the terminal, its background, colours, and the pager."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from attncli.cli.options import FlagGroup, more
from attncli.cli.output import write_bytes
from attncli.core.records import Record

if TYPE_CHECKING:
    from rich.style import Style

    from attncli.printing.layout import Line

Color: TypeAlias = Literal["auto", "always", "never"]
Theme: TypeAlias = Literal["auto", "dark", "light"]

BLACK_TEXT_FROM = 110
"""Brightness of a background, of 255, from which on black text is easier to read than white."""

DARK_COLOURS = ("0", "1", "2", "3", "4", "5", "6", "8")
"""The dark ones of the sixteen colours of a terminal, as COLORFGBG numbers them."""

PROGRAM_NOT_FOUND = 127
"""The exit status of a shell that finds no such program."""

PAGER_PROMPT = "space\\: next page, b\\: back, /\\: search, q\\: quit"
"""What less writes below a page; its own prompts give a colon a meaning."""

PAGER_SETTINGS = {"LESS": f"FRX-Ps{PAGER_PROMPT}$", "LV": "-c"}
"""As git sets them: colours are shown, and the text stays on the screen at the end."""


def _shades(start: tuple[int, int, int], step: tuple[int, int, int]) -> dict[str, str]:
    """Return ten styles, from no colour at all to a strong blue background."""
    styles = {"shade0": ""}
    for number in range(1, 10):
        red, green, blue = (low + number * more for low, more in zip(start, step, strict=True))
        brightness = 0.299 * red + 0.587 * green + 0.114 * blue
        text = "0,0,0" if brightness > BLACK_TEXT_FROM else "255,255,255"
        styles[f"shade{number}"] = f"rgb({text}) on rgb({red},{green},{blue})"
    return styles


STYLES: Mapping[Theme, Mapping[str, str]] = {
    "dark": {
        **{"": "", "title": "bold", "name": "italic", "label": "cyan", "faint": "dim"},
        **{"right": "green", "wrong": "bold red", "near": "yellow"},
        **_shades((14, 26, 48), (10, 18, 22)),
    },
    "light": {
        **{"": "", "title": "bold", "name": "italic", "label": "blue", "faint": "dim"},
        **{"right": "rgb(0,110,0)", "wrong": "bold red", "near": "rgb(140,85,0)"},
        **_shades((240, 246, 255), (-24, -18, -9)),
    },
}
"""The colours on each background, as rich writes them."""

SHADES_OF_256: Mapping[Theme, Sequence[tuple[int, Sequence[int]]]] = {
    "dark": ((231, (17, 18, 19, 24, 25)), (16, (31, 32, 74, 117))),
    "light": ((16, (189, 153, 117, 111, 74, 68, 32)), (231, (26, 25))),
}
"""The nine shades of terminals with 256 colours, by the colour of the text on them.

Each is stronger than the one before; of the colours nearest to the shades above, some are alike.
"""


class Display(Record):
    """How lines are shown: in which colours, and whether a pager shows more than one screen."""

    color: Annotated[Color, more("--color", help="When to colour.")] = "auto"
    theme: Annotated[Theme, more("--theme", help="The terminal's background.")] = "auto"
    no_pager: Annotated[bool, more("--no-pager", help="Print long output at once.")] = False


DisplayFlags = Annotated[Display, FlagGroup(Display)]


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def terminal_width() -> int | None:
    """Return how many columns the terminal has; None if output goes elsewhere."""
    # Some terminals report a width of 0.
    return (os.get_terminal_size(sys.stdout.fileno()).columns or 80) if is_terminal() else None


def is_coloured(color: Color) -> bool:
    """Return whether to colour, by the option, NO_COLOR, FORCE_COLOR and TERM."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal() and not _is_dumb())


def _is_dumb() -> bool:
    return os.environ.get("TERM") == "dumb"


def write_lines(pages: Iterable[Iterable["Line"]], display: Display) -> None:
    """Print pages of lines, a blank line between them."""
    write_pages(as_bytes(pages, display), display)


def as_bytes(
    pages: Iterable[Iterable["Line"]], display: Display, follows: bool = False
) -> Iterator[bytes]:
    from attncli.printing.layout import plain, plain_text

    write = plain_text
    if is_coloured(display.color):
        write = partial(_coloured, _styles(display.theme))
    return plain(pages, write, follows)


def write_pages(pieces: Iterable[bytes], display: Display) -> None:
    write_bytes(pieces if display.no_pager else _paged(iter(pieces)), None)


def _styles(theme: Theme) -> dict[str, "Style"]:
    from rich.style import Style

    if theme == "auto":
        theme = "light" if is_light() else "dark"
    styles = dict(STYLES[theme])
    if not _has_true_colour():
        pairs = ((ink, ground) for ink, grounds in SHADES_OF_256[theme] for ground in grounds)
        for number, (ink, ground) in enumerate(pairs, 1):
            styles[f"shade{number}"] = f"color({ink}) on color({ground})"
    return {name: Style.parse(style) for name, style in styles.items() if style}


def _has_true_colour() -> bool:
    return os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")


def _coloured(styles: Mapping[str, "Style"], line: "Line") -> str:
    from rich.color import ColorSystem

    system = ColorSystem.TRUECOLOR if _has_true_colour() else ColorSystem.EIGHT_BIT
    while line and not line[-1][0].strip() and not line[-1][1].startswith("shade"):
        line = line[:-1]
    texts = []
    for style, spans in groupby(line, key=lambda span: span[1]):
        text = "".join(text for text, _ in spans)
        texts.append(styles[style].render(text, color_system=system) if style in styles else text)
    return "".join(texts)


def is_light() -> bool:
    """Return whether COLORFGBG names a light background; without it, the background is dark."""
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return background.isdecimal() and background not in DARK_COLOURS


def _paged(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Show text with the program that PAGER names, less by default; yield what is to be printed.

    That is everything if output goes elsewhere than to a terminal, or if one screen holds it.
    """
    program = _pager()
    height = os.get_terminal_size(sys.stdout.fileno()).lines if program else 0
    first: list[bytes] = []
    count = 0
    while height and count < height:  # some terminals report a height of 0
        piece = next(pieces, None)
        if piece is None:
            height = 0
        else:
            first.append(piece)
            count += piece.count(b"\n")
    if not height or not _show(program, first, pieces):
        yield from first
        yield from pieces


def _pager() -> str:
    from shutil import which

    if not is_terminal() or _is_dumb():
        return ""
    chosen = os.environ.get("PAGER")
    program = (which("less") or "") if chosen is None else chosen.strip()
    return "" if program == "cat" else program


def _show(program: str, first: list[bytes], rest: Iterator[bytes]) -> bool:
    """Show text with a program, keeping all of it in `first`; return whether there is one."""
    import subprocess

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
    try:
        with subprocess.Popen(  # through a shell, as PAGER is a command line such as "less -S"
            program, shell=True, stdin=subprocess.PIPE, env=PAGER_SETTINGS | os.environ
        ) as process:
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # the user may quit before the end
                process.stdin.writelines(first)
                process.stdin.flush()
                for piece in rest:
                    first.append(piece)
                    process.stdin.write(piece)
                    process.stdin.flush()
                process.stdin.close()
        return process.returncode != PROGRAM_NOT_FOUND
    finally:
        signal.signal(signal.SIGINT, before)
