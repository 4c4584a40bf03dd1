"""The files in a folder and below."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from attncli.files import archives


def files_in(folder: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the path of every file in a folder and below, and its parts without the suffix.

    Files come in the order of their names. A hidden folder is yielded, but not what is in it.
    """
    for at, parts, hidden, names in _walked(folder):
        for name in sorted([*names, *hidden], key=natural):
            yield str(Path(at) / name), (*parts, Path(name).stem)


def folders_in(folder: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the path of every folder in a folder and below, and its parts."""
    for at, parts, _, _ in _walked(folder):
        if parts:
            yield str(Path(at)), parts


def folder_name(folder: str) -> str:
    return without_zip(Path(folder).resolve().name)


def without_zip(name: str) -> str:
    """Return the name of a folder; that of a zip file is without its suffix."""
    return name[: -len(archives.SUFFIX)] if name.lower().endswith(archives.SUFFIX) else name


def _walked(folder: str) -> Iterator[tuple[str, tuple[str, ...], list[str], list[str]]]:
    """Yield a folder and each one below it: its parts, its hidden folders, and its files.

    A zip file that is alone in a folder, as `Ada/upload.zip` is, has the parts of that folder.
    """
    parts: dict[str, tuple[str, ...]] = {}
    for at, folders, names in archives.walk(folder):
        hidden = [name for name in folders if is_hidden(name)]
        folders[:] = sorted(set(folders) - set(hidden), key=natural)
        own = parts.get(at, ())
        is_alone = own and len(folders) == 1 and all(map(is_hidden, names))
        for name in folders:
            is_same = is_alone and without_zip(name) != name
            parts[posixpath.join(at, name)] = own if is_same else (*own, without_zip(name))
        yield at, own, hidden, names


def is_hidden(name: str) -> bool:
    """Return True for a file that operating systems make, and not people."""
    others = ("__MACOSX", "Thumbs.db", "desktop.ini")
    return name.startswith((".", "~$")) or name in others


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names as people do: hw2 before hw10.

    >>> sorted(["hw10", "hw2"], key=natural)
    ['hw2', 'hw10']
    """
    parts = re.split(r"(\d+)", unicodedata.normalize("NFC", name).casefold())
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
