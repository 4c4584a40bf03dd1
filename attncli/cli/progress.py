"""Standard error: messages, and on a terminal a line that tells how far a long run is."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

import typer

T = TypeVar("T")

PATIENCE = 1.0
"""So many seconds pass before anything is told."""

EVERY = 0.2
"""And so many between two lines."""

CLEAR = "\r\x1b[K"


class Line:
    """The last line of standard error, where it tells how far the run is."""

    is_shown = False

    @classmethod
    def show(cls, text: str) -> None:
        """Write over the line."""
        sys.stderr.write(f"{CLEAR}{text}")
        sys.stderr.flush()
        cls.is_shown = True

    @classmethod
    def clear(cls) -> None:
        """Take the line away, if there is one."""
        if cls.is_shown:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
            cls.is_shown = False


def tell(text: str) -> None:
    """Print a message to standard error.

    One that cannot be written, as to a full disk, is lost, and nothing else with it.
    """
    try:
        Line.clear()
        typer.echo(text, err=True)
    except BrokenPipeError:
        raise
    except OSError:
        pass


def counted(items: Iterable[T], noun: str, prints: bool = True) -> Iterator[T]:
    """Yield the same items, and tell how many there were, where a person waits for them.

    That is where standard error is a terminal and what is printed, if anything is, goes elsewhere.
    From the second item on, cycles of objects are collected, where the process leaves them to its
    end (`__main__`), as a short run may.
    """
    return _told(_collected(items), noun, prints)


def _collected(items: Iterable[T]) -> Iterator[T]:
    for number, item in enumerate(items):
        if number == 1 and not gc.isenabled():
            gc.freeze()  # what was imported stays
            gc.enable()
        yield item


def _told(items: Iterable[T], noun: str, prints: bool) -> Iterator[T]:
    streams = sys.stdout, sys.stderr
    if None in streams or (prints and sys.stdout.isatty()) or not sys.stderr.isatty():
        yield from items
        return
    next_time = time.monotonic() + PATIENCE
    try:
        for number, item in enumerate(items, 1):
            yield item
            if (now := time.monotonic()) >= next_time:
                next_time = now + EVERY
                Line.show(f"{number:,} {noun}")
    finally:
        Line.clear()
