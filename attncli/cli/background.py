"""Whether the terminal is light or dark."""

from __future__ import annotations

import os
import re
import sys
from time import monotonic

from attncli.cli.endings import undone

PATIENCE = 0.1
"""So many seconds a terminal has to answer; those that know the question take a few thousandths."""

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
"""OSC 11, for the colour of the background, and a question that every terminal answers after it."""

ANSWER = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)")
LAST = re.compile(rb"\x1b\[\?[0-9;]*c")

DARK_COLOURS = ("0", "1", "2", "3", "4", "5", "6", "8")
"""Those of the sixteen colours of a terminal that are dark, as COLORFGBG numbers them."""


def is_light() -> bool:
    """Return whether the terminal's background is light; where nothing tells it, it is dark.

    The variable COLORFGBG tells it, or the terminal itself, which is asked only where standard
    output and input both are one.
    """
    told = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    if told.isdecimal():
        return told not in DARK_COLOURS
    streams = (sys.stdin, sys.stdout)
    if not all(stream is not None and stream.isatty() for stream in streams):
        return False
    found = ANSWER.search(_answer())
    if found is None:
        return False
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    luminance: float = 0.2126 * red + 0.7152 * green + 0.0722 * blue  # Rec. 709
    return luminance > 0.5


def _answer() -> bytes:
    """Return what the terminal answers within a moment, nothing where it cannot be asked."""
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

        with undone(restore):
            tty.setcbreak(terminal, termios.TCSADRAIN)  # which keeps what was typed ahead
            answer = b""
            if not _has_input(terminal, 0):  # else that would be read in place of the answer
                os.write(terminal, QUESTION)
                answer = _read(terminal)
            restore()
        return answer
    except (OSError, termios.error):
        return b""
    finally:
        os.close(terminal)


def _has_input(terminal: int, within_seconds: float) -> bool:
    from select import select

    return bool(select([terminal], [], [], within_seconds)[0])


def _read(terminal: int) -> bytes:
    found, end = b"", monotonic() + PATIENCE
    while not LAST.search(found):
        rest = end - monotonic()
        if rest <= 0 or not _has_input(terminal, rest):
            break
        found += os.read(terminal, 256)
    return found
