"""Which files a run of the program reads, so that none of them is overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_names: set[str] = set()


def begin(names: Iterable[str] = ()) -> None:
    """Forget what was read before; these will be read."""
    _names.clear()
    note(*names)


def note(*names: str) -> None:
    """Keep the names of files that are read, or will be."""
    _names.update(os.path.realpath(name) for name in names if "\0" not in name)


def is_input(path: Path) -> bool:
    """Return whether this is one of the files, by whatever name or link."""
    with suppress(OSError, RuntimeError):
        found = path.stat()
        for name in _names:
            with suppress(OSError):
                if os.path.samestat(found, os.stat(name)):  # noqa: PTH116 - a name is kept, not a path
                    return True
    return False
