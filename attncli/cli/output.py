"""Files written whole or not at all, standard output and error, and the end of the process."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn, TypeVar

import typer

from attncli.core.errors import InputError, fail, reason_of
from attncli.core.text.strings import visible

Item = TypeVar("Item")

WRONG_ANSWER = 1
BAD_INPUT = 2

READER_WENT_AWAY = 141
"""The exit status that a shell reports for a program ended by SIGPIPE: 128 + 13."""

END_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end the program at once, without an exception and so without a traceback."""

FIRST_SECONDS = 1.0
"""Time in seconds until the line of progress appears. Chosen."""

NEXT_SECONDS = 0.2
"""Time in seconds between changes of the line of progress. Chosen."""


SILENT = ("ignore", None, UnicodeWarning, None, 0)
"""The filter of `warnings` that `-q` adds: there are no notes on how a file was read."""


class ReaderWentAwayError(Exception):
    """The reader of standard output is gone, so the command ends silently."""


@contextmanager
def undone_at_end(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` if a signal or an exception ends the block."""

    def end(number: int, frame: object) -> None:
        undo()
        signal.signal(number, before[number])
        signal.raise_signal(number)

    known = [getattr(signal, name) for name in END_SIGNALS if hasattr(signal, name)]
    # Signals that are ignored, as by `nohup`, stay so.
    before = {number: signal.getsignal(number) for number in known}
    handled = [number for number in known if before[number] is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    except BaseException:
        undo()
        raise
    finally:
        for number in handled:
            signal.signal(number, before[number])


def write_bytes(
    pieces: Iterable[bytes], out: Path | None, binary: bool = False, overwrite: bool = True
) -> None:
    """Write a file whole or not at all; without one, write each piece to standard output at once.

    A ReaderWentAwayError is raised if the reader of standard output is gone.
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


def print_lines(lines: Iterable[str]) -> None:
    write_bytes(["".join(f"{line}\n" for line in lines).encode(errors="replace")], None)


def _write_file(pieces: Iterable[bytes], out: Path) -> None:
    try:
        if out.is_dir():
            raise fail(f"{visible(str(out))} is a folder", hint="name a file in it")
        if out.exists() and not out.is_file():
            with out.open("wb") as file:  # a device or a named pipe cannot be replaced
                file.writelines(pieces)
        elif out.exists() and sys.stdout and out.samefile(f"/dev/fd/{sys.stdout.fileno()}"):
            write_bytes(pieces, None)
        else:
            refuse_input(out)
            if not out.parent.exists():
                out.parent.mkdir(parents=True, exist_ok=True)
            _replace(out.resolve(), pieces)  # for a link, the file that it points to
    except typer.Exit:  # which is a RuntimeError
        raise
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
                old = out.stat()
                beside.chmod(0o600)  # until its owner is known
                with suppress(OSError, AttributeError):  # Windows has no owners
                    os.chown(beside, old.st_uid, old.st_gid)
                beside.chmod(old.st_mode & 0o777)
            file.writelines(pieces)
        refuse_input(out)  # the pieces may have been read from it
        beside.replace(out)


def refuse_input(out: Path) -> None:
    """Raise an InputError for a file that this run reads."""
    from attncli.reading import files

    if files.is_input(out):
        message = f"{visible(str(out))} is read here, and would be overwritten"
        raise fail(message, hint="name another file with -o")


class ProgressLine:
    """The last line of standard error; there is one in a process."""

    is_shown = False

    @classmethod
    def show(cls, text: str) -> None:
        """Replace the line by this text, or remove it."""
        if cls.is_shown or text:
            sys.stderr.write(f"\r\x1b[K{text}")  # which clears the line first
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


def quoted(name: object) -> str:
    """Return a file's name as a shell reads it."""
    from shlex import quote  # a millisecond that most runs do not need

    return quote(visible(str(name)))


def tell_written(paths: Sequence[Path], next_step: str = "") -> None:
    """Say which files were written, and what to do next with them; nothing of devices and pipes.

    In the next step, {} is the word for them, and {files} their names.
    """
    paths = [path for path in dict.fromkeys(paths) if path.is_file()]
    if not paths:
        return
    files, count, pronoun = quoted(paths[0]), "", "it"
    if len(paths) > 1:
        folder = os.path.commonpath([path.parent for path in paths])
        files, count, pronoun = f"{quoted(folder or '.')}/", f"{len(paths)} files to ", "them"
    said = next_step.replace("{}", pronoun).replace("{files}", files)
    tell(f"wrote {count}{files}{said and f'; {said}'}")


def complain(error: InputError) -> int:
    """Print an error's message; return the exit status of bad input."""
    tell(str(error))
    return BAD_INPUT


def warn(warnings: Iterable[str], title: str = "") -> None:
    """Print warnings, after the title of their problem if it has one."""
    name = f"{visible(title)}: " if title else ""
    for warning in warnings:
        tell(f"warning: {name}{visible(warning)}")


def counted(items: Iterable[Item], noun: str, prints: bool = True) -> Iterator[Item]:
    """Yield the items, and show how many there were, None apart, while a person waits for them.

    That is if standard error is a terminal, and what is printed (with `prints`) goes elsewhere.
    """
    streams = sys.stdout, sys.stderr
    is_shown = None not in streams and sys.stderr.isatty() and not (prints and sys.stdout.isatty())
    next_time = time.monotonic() + FIRST_SECONDS
    try:
        number = 0
        for item in items:
            number += item is not None
            if number == 2 and not gc.isenabled():
                gc.freeze()  # imported objects are never collected
                gc.enable()  # which `__main__` turns off, as a short run does not need it
            yield item
            if is_shown and (now := time.monotonic()) >= next_time:
                next_time = now + NEXT_SECONDS
                ProgressLine.show(f"{number:,} {noun}")
    finally:
        if is_shown:
            ProgressLine.show("")


def status_of(work: Callable[[], object]) -> int:
    """Return the exit status that some work returns, or that an error has, after its message."""
    try:
        with warnings.catch_warnings():
            if SILENT not in warnings.filters:
                warnings.simplefilter("default", UnicodeWarning)  # a file is not in UTF-8
            warnings.showwarning = lambda message, *_, **__: tell(f"note: {message}")
            status = work()
    except typer.Exit as end:
        return end.exit_code
    except ReaderWentAwayError:
        return READER_WENT_AWAY
    except (OSError, UnicodeEncodeError) as error:
        return complain(_of_a_file(error))
    except InputError as error:
        return complain(error)
    except (MemoryError, RuntimeError) as error:
        if not (isinstance(error, MemoryError) or "can't start new thread" in str(error)):
            raise
        hint = "raise the limit; attn compute --only output keeps no step of n × n numbers"
        return complain(fail("the calculation does not fit into memory", hint=hint))
    except ImportError as error:
        # NumPy's error is a page of advice; its cause says what happened.
        while isinstance(error.__cause__, ImportError):
            error = error.__cause__
        message = f"a library cannot be loaded: {str(error).strip().splitlines()[0]}"
        return complain(fail(message, hint="is there enough memory? if there is, install it again"))
    return status if isinstance(status, int) else 0


def _of_a_file(error: OSError | UnicodeEncodeError) -> InputError:
    """Return why a file cannot be used; all but the names of files is written in UTF-8."""
    if isinstance(error, UnicodeEncodeError):
        message = f"no file can be called {visible(str(error.object))} in this locale"
        hint = f"it names files in {error.encoding}; write LC_ALL=C.UTF-8 before the command"
        return fail(message, hint=hint)
    name = visible(str(error.filename or "standard output"))  # a help page names no file
    return fail(f"{name} cannot be used: {reason_of(error)}")


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
