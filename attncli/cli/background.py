"""Whether the terminal is light or dark."""

from __future__ import annotations

import os
import re
import sys
from select import select
from time import monotonic

from attncli.cli.output import undone_at_end

ANSWER_SECONDS = 0.1
"""How long a terminal has to answer; those that know the question take a few milliseconds."""

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
"""OSC 11, for the colour of the background, then a question that every terminal answers."""

COLOUR_ANSWER = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)")
LAST_ANSWER = re.compile(rb"\x1b\[\?[0-9;]*c")

DARK_COLOURS = ("0", "1", "2", "3", "4", "5", "6", "8")
"""The dark ones of the sixteen colours of a terminal, as COLORFGBG numbers them."""


def is_light() -> bool:
    """Return whether the terminal's background is light; if that is unknown, it is dark.

    The variable COLORFGBG says so, or the terminal, which is asked only if standard input and
    output both are one.
    """
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    if background.isdecimal():
        return background not in DARK_COLOURS
    streams = (sys.stdin, sys.stdout)
    if not all(stream is not None and stream.isatty() for stream in streams):
        return False
    found = COLOUR_ANSWER.search(_answer())
    if found is None:
        return False
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    luminance: float = 0.2126 * red + 0.7152 * green + 0.0722 * blue  # Rec. 709
    return luminance > 0.5


def _answer() -> bytes:
    """Return what the terminal answers to the question; nothing if it cannot be asked."""
    try:
        import termios
        import tty

        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except (ImportError, OSError):  # Windows, or a process without a terminal of its own
        return b""
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():  # in the background, asking would stop it
            return b""
        before = termios.tcgetattr(terminal)

        def restore() -> None:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)

        with undone_at_end(restore):
            tty.setcbreak(terminal, termios.TCSADRAIN)  # which keeps what was typed ahead
            answer = b"" if _has_input(terminal, 0) else _ask(terminal)
            restore()
        return answer
    except (OSError, termios.error):
        return b""
    finally:
        os.close(terminal)


def _ask(terminal: int) -> bytes:
    os.write(terminal, QUESTION)
    answer, end = b"", monotonic() + ANSWER_SECONDS
    while not LAST_ANSWER.search(answer) and _has_input(terminal, max(0, end - monotonic())):
        answer += os.read(terminal, 256)
    return answer


def _has_input(terminal: int, within_seconds: float) -> bool:
    return bool(select([terminal], [], [], within_seconds)[0])
