"""Standard output and files: widths, colours, whole files or none, and readers that go away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from attncli.cli.endings import undone
from attncli.errors import fail, reason_of
from attncli.files import opened
from attncli.records import Record
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from rich.style import Style

    from attncli.rendering.layout import Line

WRONG_ANSWER = 1
BAD_INPUT = 2

READER_WENT_AWAY = 141
"""What a shell reports of a program ended by SIGPIPE: 128 + 13."""


class ReaderWentAwayError(Exception):
    """Nobody reads standard output any more, so there is nothing left to do or to say."""


class Color(StrEnum):
    """When to colour."""

    auto = "auto"
    always = "always"
    never = "never"


class Theme(StrEnum):
    """For what background colours are chosen."""

    auto = "auto"
    dark = "dark"
    light = "light"


def _shades(least: tuple[int, int, int], step: tuple[int, int, int]) -> dict[str, str]:
    """Return styles from what is next to the page to a strong blue; the least has none at all.

    Text and background are both set: black on what is light, white on what is dark.
    """
    found = {"shade0": ""}
    for number in range(1, 10):
        ground = [low + number * more for low, more in zip(least, step, strict=True)]
        red, green, blue = ground
        ink = "0,0,0" if 0.299 * red + 0.587 * green + 0.114 * blue > INK_CHANGES else "255,255,255"
        found[f"shade{number}"] = f"rgb({ink}) on rgb({red},{green},{blue})"
    return found


INK_CHANGES = 110
"""From so much brightness on, of 255, black can be read better than white."""

STYLES = {
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
"""The colours on each background."""


def terminal_width() -> int | None:
    """Return how many columns the terminal has; None where output is no terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    # A width of 0 comes from terminals that do not know their own.
    return os.get_terminal_size(sys.stdout.fileno()).columns or 80


def is_coloured(color: Color) -> bool:
    """Return whether to colour, as the flag, NO_COLOR, FORCE_COLOR and TERM say."""
    if color is not Color.auto:
        return color is Color.always
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


class Display(Record):
    """How lines are shown.

    Attributes:
        color: when to colour.
        theme: for what background.
        pager: whether what is longer than the screen of a terminal is shown by a pager.
    """

    color: Color
    theme: Theme = Theme.auto
    pager: bool = True


def write_lines(pages: Iterable[Iterable[Line]], display: Display) -> None:
    """Print pages of lines, a blank line between them.

    Raises:
        InputError: if standard output cannot be written.
        ReaderWentAwayError: if nobody reads it any more.
    """
    from attncli.cli.pager import paged
    from attncli.rendering.layout import plain, plain_text

    write = partial(_coloured, display.theme) if is_coloured(display.color) else plain_text
    pieces = plain(pages, write)
    for piece in paged(pieces) if display.pager else pieces:
        _print(piece)


def write_bytes(
    pieces: Iterable[bytes], out: Path | None, binary: bool = False, overwrite: bool = True
) -> None:
    """Write a file whole or not at all; without one, write each piece to standard output at once.

    The folder of the file is made where it is missing.

    Raises:
        InputError: if the file cannot be written, or is there and not to be overwritten, or binary
            data would go to a terminal.
        ReaderWentAwayError: if nobody reads standard output any more.
    """
    if out is not None:
        if not overwrite and os.path.isfile(out):  # noqa: PTH113 – it raises nothing
            hint = "name another file, or remove this one first"
            raise fail(f"{visible(str(out))} is there already, and stays as it is", hint=hint)
        _write_file(pieces, out)
        return
    if binary and sys.stdout is not None and sys.stdout.isatty():
        raise fail("this format is not for a terminal", hint="name a file with -o FILE")
    for piece in pieces:
        _print(piece)


def leave(status: int) -> NoReturn:
    """End the process at once; taking down NumPy piece by piece takes longer than a homework."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            status = READER_WENT_AWAY
        except OSError:  # a message that is lost loses nothing else
            status = (status or BAD_INPUT) if stream is sys.stdout else status
    os._exit(status)


def _print(data: bytes) -> None:
    if sys.stdout is None:
        raise fail("standard output is closed", hint="write to a file with -o FILE")
    try:
        rest = memoryview(data)
        while rest:  # an unbuffered stream may take only a part
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise ReaderWentAwayError from None
    except OSError as error:
        raise fail(f"standard output cannot be written: {reason_of(error)}") from None


def _write_file(pieces: Iterable[bytes], out: Path) -> None:
    try:
        if out.is_dir():
            raise fail(f"{visible(str(out))} is a folder", hint="name a file in it")
        if out.exists() and not out.is_file():
            with out.open("wb") as file:  # a device or a named pipe has no "beside"
                file.writelines(pieces)
        elif out.exists() and sys.stdout and out.samefile(f"/dev/fd/{sys.stdout.fileno()}"):
            for piece in pieces:
                _print(piece)
        else:
            _refuse_input(out)
            if not out.parent.exists():
                out.parent.mkdir(parents=True, exist_ok=True)
            _replace(out.resolve(), pieces)  # a link stays one; what it points to is written
    except (OSError, RuntimeError) as error:  # the latter for links that go round in a circle
        raise fail(f"{visible(str(out))} cannot be written: {reason_of(error)}") from None


def _replace(out: Path, pieces: Iterable[bytes]) -> None:
    """Write a temporary file beside the one that is wanted, then rename it.

    What is there already keeps its mode, and its owner where that is allowed.
    """
    beside = out.with_name(f".{out.name[:40]}.{os.urandom(6).hex()}")
    with undone(partial(beside.unlink, missing_ok=True)):
        with beside.open("xb") as file:
            if out.exists():
                _become(beside, out.stat())
            file.writelines(pieces)
        _refuse_input(out)  # whose name may have been read only now
        beside.replace(out)


def _become(file: Path, old: os.stat_result) -> None:
    """Give a file the owner and the mode of another."""
    file.chmod(0o600)  # until it is clear who may read it
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(file, old.st_uid, old.st_gid)
    file.chmod(old.st_mode & 0o777)


def _refuse_input(out: Path) -> None:
    """Refuse to replace a file that this run reads."""
    if opened.is_input(out):
        message = f"{visible(str(out))} is read here, and would be overwritten"
        raise fail(message, hint="name another file with -o")


@cache
def _styles(theme: Theme) -> dict[str, Style]:
    """Return the styles on a background; the terminal is asked for it where nobody says."""
    from rich.style import Style

    from attncli.cli.background import is_light

    if theme is Theme.auto:
        theme = Theme.light if is_light() else Theme.dark
    return {name: Style.parse(style) for name, style in STYLES[theme].items() if style}


def _coloured(theme: Theme, line: Line) -> str:
    """Return a line with the terminal's codes for its styles."""
    from rich.color import ColorSystem

    system = {"truecolor": ColorSystem.TRUECOLOR, "24bit": ColorSystem.TRUECOLOR}.get(
        os.environ.get("COLORTERM", "").lower(), ColorSystem.EIGHT_BIT
    )
    while line and not line[-1][0].strip() and not line[-1][1].startswith("shade"):
        line = line[:-1]
    styles, texts = _styles(theme), []
    for style, spans in groupby(line, key=lambda span: span[1]):
        text = "".join(text for text, _ in spans)
        texts.append(styles[style].render(text, color_system=system) if style in styles else text)
    return "".join(texts)
