"""Standard output and files: widths, colours, whole files or none, and readers that go away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from attncli.errors import fail
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.rendering.blocks import Line

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


# A shade is a step from the page towards a strong blue. Text and background are both set, so a
# light and a dark terminal show the same.
SHADES = {
    f"shade{step}": f"rgb({'0,0,0' if step < 6 else '255,255,255'}) on "
    f"rgb({235 - 23 * step},{243 - 17 * step},{255 - 9 * step})"
    for step in range(10)
}
STYLES = {
    "": "",
    "title": "bold",
    "name": "italic",
    "label": "cyan",
    "faint": "dim",
    "right": "green",
    "wrong": "bold red",
    "near": "yellow",
    **SHADES,
}


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


def write_lines(pages: Iterable[Iterable[Line]], color: Color) -> None:
    """Print pages of lines, a blank line between them.

    Raises:
        InputError: if standard output cannot be written.
        ReaderWentAwayError: if nobody reads it any more.
    """
    from attncli.rendering.blocks import plain_text

    write = _coloured if is_coloured(color) else plain_text
    texts = ["\n".join(map(write, page)) + "\n" for page in pages]
    _print("\n".join(texts).encode(errors="replace"))


def write_bytes(
    data: bytes, out: Path | None, binary: bool = False, overwrite: bool = True
) -> None:
    """Write a file whole or not at all; without one, write to standard output.

    Raises:
        InputError: if the file cannot be written, or is there and not to be overwritten, or binary
            data would go to a terminal.
        ReaderWentAwayError: if nobody reads standard output any more.
    """
    if out is not None:
        if not overwrite and out.is_file():
            hint = "name another file, or remove this one first"
            raise fail(f"{visible(str(out))} is there already, and stays as it is", hint=hint)
        _write_file(data, out)
        return
    if binary and sys.stdout is not None and sys.stdout.isatty():
        raise fail("this format is not for a terminal", hint="name a file with -o FILE")
    _print(data)


def leave(status: int) -> NoReturn:
    """End the process at once; taking down NumPy piece by piece takes longer than a homework."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            status = READER_WENT_AWAY
        except OSError:
            status = status or BAD_INPUT
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
        raise fail(f"standard output cannot be written: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _write_file(data: bytes, out: Path) -> None:
    try:
        if out.is_dir():
            raise fail(f"{visible(str(out))} is a folder", hint="name a file in it")
        if out.exists() and not out.is_file():
            out.write_bytes(data)  # a device or a named pipe has no "beside"
        elif out.exists() and sys.stdout and out.samefile(f"/dev/fd/{sys.stdout.fileno()}"):
            _print(data)
        else:
            _replace(out.resolve(), data)  # a link stays one, and what it points to is written
    except OSError as error:
        raise fail(f"{visible(str(out))} cannot be written: {_reason(error)}") from None


def _replace(out: Path, data: bytes) -> None:
    """Write a temporary file beside the one that is wanted, then rename it."""
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{out.name[:40]}.", dir=out.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mode = out.stat().st_mode & 0o777 if out.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode)
        Path(name).replace(out)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _coloured(line: Line) -> str:
    """Return a line with the terminal's codes for its styles."""
    from rich.color import ColorSystem
    from rich.style import Style

    system = {"truecolor": ColorSystem.TRUECOLOR, "24bit": ColorSystem.TRUECOLOR}.get(
        os.environ.get("COLORTERM", "").lower(), ColorSystem.EIGHT_BIT
    )
    while line and not line[-1][0].strip() and not line[-1][1].startswith("shade"):
        line = line[:-1]
    return "".join(
        Style.parse(STYLES[style]).render(text, color_system=system) if STYLES[style] else text
        for text, style in line
    )
