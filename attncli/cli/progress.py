"""Standard error: messages, and on a terminal a line that says how far a long run is."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

import typer

Item = TypeVar("Item")

FIRST_SECONDS = 1.0
"""How long a run takes before the line appears."""

NEXT_SECONDS = 0.2
"""How long the line stays before it changes."""

CLEAR_LINE = "\r\x1b[K"


class ProgressLine:
    """The last line of standard error; there is one in a process."""

    is_shown = False

    @classmethod
    def show(cls, text: str) -> None:
        """Replace the line by this text; without one, remove it."""
        if cls.is_shown or text:
            sys.stderr.write(f"{CLEAR_LINE}{text}")
            sys.stderr.flush()
            cls.is_shown = bool(text)


def tell(text: str) -> None:
    """Print a message to standard error; it is lost if that cannot be written."""
    try:
        ProgressLine.show("")
        typer.echo(text, err=True)
    except BrokenPipeError:
        raise
    except OSError:
        pass


def counted(items: Iterable[Item], noun: str, prints: bool = True) -> Iterator[Item]:
    """Yield the items, and show how many there were while a person waits for them.

    That is if standard error is a terminal, and what is printed (with `prints`) goes elsewhere.
    From the second item on, cycles of objects are collected; `__main__` turns that off, as a short
    run does not need it.
    """
    streams = sys.stdout, sys.stderr
    is_shown = None not in streams and sys.stderr.isatty() and not (prints and sys.stdout.isatty())
    next_time = time.monotonic() + FIRST_SECONDS
    try:
        for number, item in enumerate(items, 1):
            if number == 2 and not gc.isenabled():
                gc.freeze()  # imported objects are never collected
                gc.enable()
            yield item
            if is_shown and (now := time.monotonic()) >= next_time:
                next_time = now + NEXT_SECONDS
                ProgressLine.show(f"{number:,} {noun}")
    finally:
        if is_shown:
            ProgressLine.show("")
