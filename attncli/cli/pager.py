"""Long output shown a screen at a time, by the program that the user has chosen for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress

NOT_FOUND = 127
"""What a shell reports where there is no such program."""

NO_PAGERS = ("", "cat")

SETTINGS = {"LESS": "FRX", "LV": "-c"}
"""As git sets them: colours are shown, and what is shown stays on the screen."""


def paged(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Show text with the program that PAGER names, less by default; yield what is to be printed.

    That is everything off a terminal, and where one screen holds it all.
    """
    every = iter(pieces)
    pager = _pager() if _is_for_pages() else ""
    if pager in NO_PAGERS:
        yield from every
        return
    screen = os.get_terminal_size(sys.stdout.fileno()).lines
    shown: list[bytes] = []
    count = 0
    for piece in every:
        shown.append(piece)
        count += piece.count(b"\n")
        # A height of 0 comes from terminals that do not know their own.
        if 0 < screen <= count:
            if _shown(pager, shown, every):
                return
            break
    yield from shown
    yield from every


def _is_for_pages() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _pager() -> str:
    from shutil import which

    chosen = os.environ.get("PAGER")
    return (which("less") or "") if chosen is None else chosen.strip()


def _shown(pager: str, shown: list[bytes], rest: Iterator[bytes]) -> bool:
    """Hand text to the pager; return whether there is one. What is handed on is kept in `shown`."""
    import signal
    import subprocess

    environment = SETTINGS | os.environ
    # Ctrl-C is the pager's, as long as it runs.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen(  # PAGER is a command line, as "less -S"
            pager, shell=True, stdin=subprocess.PIPE, env=environment
        ) as process:
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # it may end before all was read
                process.stdin.writelines(shown)
                process.stdin.flush()
                for piece in rest:
                    shown.append(piece)
                    process.stdin.write(piece)
                    process.stdin.flush()
                process.stdin.close()
        return process.returncode != NOT_FOUND
    except OSError:  # no shell
        return False
    finally:
        signal.signal(signal.SIGINT, before)
