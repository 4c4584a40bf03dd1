"""Files that are written whole or not at all, standard output, and the end of the process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from attncli.errors import fail, reason_of
from attncli.files import file_access
from attncli.text.escapes import visible

WRONG_ANSWER = 1
BAD_INPUT = 2

READER_WENT_AWAY = 141
"""The exit status that a shell reports for a program ended by SIGPIPE: 128 + 13."""

END_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end the program at once, without an exception and so without a traceback."""


class ReaderWentAwayError(Exception):
    """The reader of standard output is gone, so the command ends silently."""


@contextmanager
def undone_at_end(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` if a signal or an exception ends the block."""

    def end(number: int, frame: FrameType | None) -> None:
        undo()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    known = [getattr(signal, name) for name in END_SIGNALS if hasattr(signal, name)]
    # Signals with a handler, or ignored as by `nohup`, stay as they are.
    taken = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    except BaseException:
        undo()
        raise
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def write_bytes(
    pieces: Iterable[bytes], out: Path | None, binary: bool = False, overwrite: bool = True
) -> None:
    """Write a file whole or not at all; without one, write each piece to standard output at once.

    Missing folders of the file are made.

    Raises:
        InputError: if the file cannot be written, or exists and is not to be overwritten, or if
            binary data would go to a terminal.
        ReaderWentAwayError: if the reader of standard output is gone.
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
        print_bytes(piece)


def print_bytes(data: bytes) -> None:
    """Write to standard output at once.

    Raises:
        InputError: if it cannot be written.
        ReaderWentAwayError: if its reader is gone.
    """
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


def leave(status: int) -> NoReturn:
    """End the process at once: to take NumPy down in order takes longer than a homework."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            status = READER_WENT_AWAY
        except OSError:  # a lost message changes no status
            status = (status or BAD_INPUT) if stream is sys.stdout else status
    os._exit(status)


def _write_file(pieces: Iterable[bytes], out: Path) -> None:
    try:
        if out.is_dir():
            raise fail(f"{visible(str(out))} is a folder", hint="name a file in it")
        if out.exists() and not out.is_file():
            with out.open("wb") as file:  # a device or a named pipe cannot be replaced
                file.writelines(pieces)
        elif out.exists() and sys.stdout and out.samefile(f"/dev/fd/{sys.stdout.fileno()}"):
            for piece in pieces:
                print_bytes(piece)
        else:
            _refuse_input(out)
            if not out.parent.exists():
                out.parent.mkdir(parents=True, exist_ok=True)
            _replace(out.resolve(), pieces)  # for a link, the file that it points to
    except (OSError, RuntimeError) as error:  # RuntimeError: links that form a circle
        raise fail(f"{visible(str(out))} cannot be written: {reason_of(error)}") from None


def _replace(out: Path, pieces: Iterable[bytes]) -> None:
    """Write a temporary file beside the wanted one, then rename it.

    A file that exists keeps its mode, and its owner where that is allowed.
    """
    beside = out.with_name(f".{out.name[:40]}.{os.urandom(6).hex()}")
    with undone_at_end(partial(beside.unlink, missing_ok=True)):
        with beside.open("xb") as file:
            if out.exists():
                _copy_owner_and_mode(out.stat(), beside)
            file.writelines(pieces)
        _refuse_input(out)  # the pieces may have been read from it
        beside.replace(out)


def _copy_owner_and_mode(old: os.stat_result, file: Path) -> None:
    file.chmod(0o600)  # until its owner is known
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(file, old.st_uid, old.st_gid)
    file.chmod(old.st_mode & 0o777)


def _refuse_input(out: Path) -> None:
    if file_access.is_input(out):
        message = f"{visible(str(out))} is read here, and would be overwritten"
        raise fail(message, hint="name another file with -o")
