"""Long output shown one screen at a time, by the program that the user has chosen for it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress

PROGRAM_NOT_FOUND = 127
"""The exit status of a shell that finds no such program."""

PAGER_SETTINGS = {"LESS": "FRX", "LV": "-c"}
"""As git sets them: colours are shown, and the text stays on the screen at the end."""


def paged(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Show text with the program that PAGER names, less by default; yield what is to be printed.

    That is everything if output goes elsewhere than to a terminal, or if one screen holds it.
    """
    every = iter(pieces)
    program = _program()
    height = os.get_terminal_size(sys.stdout.fileno()).lines if program else 0
    first: list[bytes] = []
    count = 0
    if height:  # some terminals report a height of 0
        for piece in every:
            first.append(piece)
            count += piece.count(b"\n")
            if count >= height:
                if _show(program, first, every):
                    return
                break
    yield from first
    yield from every


def _program() -> str:
    """Return the command line of the pager; an empty text if nothing is to be paged."""
    from shutil import which

    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return ""
    chosen = os.environ.get("PAGER")
    program = (which("less") or "") if chosen is None else chosen.strip()
    return "" if program == "cat" else program


def _show(program: str, first: list[bytes], rest: Iterator[bytes]) -> bool:
    """Show text with a program; return whether there is one.

    The pieces of `rest` are added to `first` as the program gets them.
    """
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
    except OSError:  # there is no shell
        return False
    finally:
        signal.signal(signal.SIGINT, before)
