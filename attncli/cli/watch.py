"""`attn compute --watch`: the calculation again, each time that one of its files was saved."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

import typer

from attncli.cli.output import (
    READER_WENT_AWAY,
    print_bytes,
    status_of,
    tell,
    undone_at_end,
    write_bytes,
)
from attncli.cli.terminal import is_terminal
from attncli.core.errors import fail
from attncli.core.text.strings import count_of, visible
from attncli.reading import files

INTERVAL = 0.1
"""Time in seconds between looks at the files. Chosen: ten looks take 2 ms, so that no library needs
to be installed that waits for messages of the system, which disks of a network do not send."""

CLEAR = b"\x1b[2J\x1b[H"
"""What clears the screen of a terminal."""

States = Mapping[Path, tuple[int, int, int] | None]
"""The time, size and number of each file; None of one that is not there."""


def repeat(
    work: Callable[[], object], sources: Sequence[str], prints: bool, page: Path | None
) -> NoReturn:
    """Do some work, and again whenever a file that it reads was saved, until a signal ends it.

    Args:
        work: what may raise errors, which are printed.
        sources: the files that the user named.
        prints: whether it writes to standard output.
        page: what it writes, if that is a page which loads itself anew by `reload.js`.

    Raises:
        InputError: for sources that are no files, such as standard input.
        typer.Exit: if the reader of standard output went away.
    """
    for name in sources:
        if name == "-" or (Path(name).exists() and not Path(name).is_file()):
            what = "standard input" if name == "-" else visible(name)
            hint = "save the problem as a file, and give its name"
            raise fail(f"--watch is for files, and {what} is none", hint=hint)
    gc.enable()  # which `__main__` turns off, as a short run does not need it
    note = page.with_name(f".{page.name}.js") if page else None
    before = _states()
    with undone_at_end(partial(note.unlink, missing_ok=True)) if note else nullcontext():
        while status_of(work) != READER_WENT_AWAY:
            if page and note and page.is_file():
                text = f"document.documentElement.dataset.written = {page.stat().st_mtime_ns};\n"
                write_bytes([text.encode()], note)
            before = _next_states(before)
            if is_terminal() or prints:
                print_bytes(CLEAR if is_terminal() else b"\n")
    raise typer.Exit(READER_WENT_AWAY)


def _next_states(before: States) -> States:
    """Return the states of the files after one has changed, when none changes any more.

    `before` are those before the calculation, so that what was saved meanwhile is not missed.
    """
    now = _states()
    tell(f"{time.strftime('%H:%M:%S')}  watching {count_of(len(now), 'file')}; Ctrl-C ends")
    known = {path: before.get(path, state) for path, state in now.items()}
    last: States = {}
    while now == known or now != last:  # an editor may empty a file, or rename it, and then write
        time.sleep(INTERVAL)
        last, now = now, _states()
    return now


def _states() -> States:
    """Return the state of each file of the run; of one in a zip file, that of the zip file."""
    states = dict[Path, tuple[int, int, int] | None]()
    for path in files.inputs():
        states[path] = None
        with suppress(OSError):
            about = next(filter(Path.is_file, (path, *path.parents)), path).stat()
            states[path] = about.st_mtime_ns, about.st_size, about.st_ino
    return states
