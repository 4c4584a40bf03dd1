"""Opening the files of a run: which ones may be named, and which were read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from attncli.errors import InputError, fail, reason_of
from attncli.records import Record

BYTES_AT_ONCE = 2**16
"""Number of bytes that are read at a time: the size of a pipe."""

_inputs: set[str] = set()
"""The files of the current run of the program; nothing is read back from it but whether one is."""


class Folder(Record):
    """The folder of a file that names others; that of standard input is the current one.

    A file that somebody sent can so read no others than those beside it. Names on the command line
    are the user's own, and not restricted.

    Attributes:
        path: the folder.
        allow_outside: whether files outside it and the folders below it may be named, too.
    """

    path: Path
    allow_outside: bool = False

    def file(self, name: str) -> Path:
        """Return the path of a file of that name.

        Raises:
            InputError: if it lies outside, also by a link, or is a device or a named pipe.
        """
        path = self.path / name
        try:
            found = path.resolve()
            is_inside = found.is_relative_to(self.path.resolve())
            is_file = not found.exists() or found.is_file() or found.is_dir()
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a name too long
            raise unreadable(error) from None
        if not (is_inside or self.allow_outside):
            hint = "name it with -m, move it there, or allow it by --allow-outside"
            raise fail("this lies outside the folder of the file that names it", hint=hint)
        if not is_file:
            raise fail("this is a device or a named pipe, not a file", hint="name it with -m")
        return path


def open_file(path: Path) -> BinaryIO:
    """Open a file, and remember it as an input of this run.

    Raises:
        InputError: if it cannot be opened.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        from attncli.text.suggestions import near_words

        folder = path.parent
        near = near_words(path.name, (p.name for p in folder.glob("*") if p.is_file()))
        hint = f"did you mean {folder / near[0]}?" if near else ""
        raise fail("there is no such file", hint=hint) from None
    except IsADirectoryError:
        raise fail("this is a folder", hint="name a file in it") from None
    except (OSError, ValueError) as error:
        raise unreadable(error) from None
    _inputs.add(os.path.realpath(path))
    return file


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a file as they come.

    Raises:
        InputError: for a file that cannot be read, or is changed while it is read.
    """
    read = getattr(file, "read1", file.read)  # which waits only while there is nothing at all
    try:
        before = _state(file)
        while block := read(BYTES_AT_ONCE):
            yield block
        if _state(file) != before:
            raise fail("changed while it was read", hint="try again when it is whole")
    except OSError as error:
        raise unreadable(error) from None


def _state(file: BinaryIO) -> tuple[int, int] | None:
    """Return the size and time of a file; None for pipes, devices and streams in memory."""
    try:
        found = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def unreadable(error: Exception) -> InputError:
    """Return why a file cannot be read, to be raised by the caller."""
    return fail(f"cannot be read: {reason_of(error)}")


def begin_run(names: Iterable[str]) -> None:
    """Forget the inputs of an earlier run in this process; remember those of a new one."""
    _inputs.clear()
    _inputs.update(os.path.realpath(name) for name in names if "\0" not in name)


def is_input(path: Path) -> bool:
    """Return whether this run reads a file, by whatever name or link."""
    with suppress(OSError, RuntimeError):
        found = path.stat()
        for name in _inputs:
            with suppress(OSError):
                if os.path.samestat(found, os.stat(name)):  # noqa: PTH116 - a name is kept, not a path
                    return True
    return False
