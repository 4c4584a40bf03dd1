"""Long output shown a screen at a time, by the program that the user has chosen for it."""

from __future__ import annotations

import os
import sys

NOT_FOUND = 127
"""What a shell reports where there is no such program."""

NO_PAGERS = ("", "cat")

SETTINGS = {"LESS": "FRX", "LV": "-c"}
"""As git sets them: colours are shown, and what is shown stays on the screen."""


def paged(data: bytes) -> bool:
    """Show text with the program that PAGER names, less by default; return whether that was done.

    It is not done off a terminal, nor for what one screen holds.
    """
    if sys.stdout is None or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return False
    screen = os.get_terminal_size(sys.stdout.fileno()).lines
    # A height of 0 comes from terminals that do not know their own.
    if not 0 < screen <= data.count(b"\n"):
        return False
    pager = _pager()
    return pager not in NO_PAGERS and _shown(pager, data)


def _pager() -> str:
    from shutil import which

    chosen = os.environ.get("PAGER")
    return (which("less") or "") if chosen is None else chosen.strip()


def _shown(pager: str, data: bytes) -> bool:
    import signal
    import subprocess

    environment = SETTINGS | os.environ
    # Ctrl-C is the pager's, as long as it runs.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen(  # PAGER is a command line, as "less -S"
            pager, shell=True, stdin=subprocess.PIPE, env=environment
        ) as process:
            process.communicate(data)  # it may end before all was read
        return process.returncode != NOT_FOUND
    except OSError:  # no shell
        return False
    finally:
        signal.signal(signal.SIGINT, before)
