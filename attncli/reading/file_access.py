"""Opening the files of a run: which ones may be named, which were read, and which cannot be."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from attncli.core.errors import InputError, fail, reason_of
from attncli.core.records import Record

BYTES_AT_ONCE = 2**16
"""Number of bytes that are read at a time: the size of a pipe."""

_inputs: set[str] = set()
"""The files of the current run of the program; nothing is read back from it but whether one is."""

SPREADSHEET = "a spreadsheet, which is not read as it is"
AS_CSV = "save it as CSV: {} and give that file"
DOCUMENT = "not a file of answers or of a problem"
AS_TEXT = "write the matrices into a YAML, JSON or CSV file"

EXCEL = SPREADSHEET, AS_CSV.format("in Excel by File, Save As, CSV UTF-8,")
LIBREOFFICE = SPREADSHEET, AS_CSV.format("in LibreOffice by File, Save As, Text CSV,")
APPLE_NUMBERS = SPREADSHEET, AS_CSV.format("in Numbers by File, Export To, CSV,")
WORD_PROCESSOR = f"a text document, {DOCUMENT}", AS_TEXT
PDF = f"a PDF, {DOCUMENT}", AS_TEXT
PICTURE = f"a picture, {DOCUMENT}", AS_TEXT
PAGE = f"a web page, {DOCUMENT}", "a practice page saves what was typed: give that file"
ARCHIVE = f"an archive, {DOCUMENT}", "unpack it, and give the files in it"

BY_SUFFIX = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm"), EXCEL),
    ".ods": LIBREOFFICE,
    ".numbers": APPLE_NUMBERS,
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".pages"), WORD_PROCESSOR),
    ".pdf": PDF,
    **dict.fromkeys((".html", ".htm"), PAGE),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".heic", ".webp"), PICTURE),
    **dict.fromkeys((".zip", ".gz", ".tar", ".7z", ".rar"), ARCHIVE),
}
FIRST_BYTES = {
    b"%PDF-": PDF,
    b"\x89PNG": PICTURE,
    b"\xff\xd8\xff": PICTURE,
    b"{\\rtf": WORD_PROCESSOR,
    b"\x1f\x8b": ARCHIVE,
}
ZIP_PARTS = {
    b"xl/": EXCEL,
    b"spreadsheet": LIBREOFFICE,
    b"Index/": APPLE_NUMBERS,
    b"word/": WORD_PROCESSOR,
    b"opendocument.text": WORD_PROCESSOR,
}
"""Names of parts near the start of the zip files that these programs write."""

START_BYTES = 4096
"""Number of bytes that are searched for these names."""


class Folder(Record):
    """The folder of a file that names others; that of standard input is the current one.

    So a file can name only files beside it and below, unless `allow_outside`.
    """

    path: Path
    allow_outside: bool = False

    def file(self, name: str) -> Path:
        """Return the path of a file; refuse one outside, also by a link, and what is no file."""
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
    from attncli.reading import archives

    try:
        file = archives.opened(str(path))
    except FileNotFoundError:
        from attncli.core.text.sentences import near_words

        folder = path.parent
        near = near_words(path.name, next(archives.walk(str(folder)))[2])
        hint = f"did you mean {folder / near[0]}?" if near else ""
        raise fail("there is no such file", hint=hint) from None
    except IsADirectoryError:
        inside = (Path(at, name) for at, _, files in archives.walk(str(path)) for name in files)
        such = next((f", such as {one}" for one in inside if not one.name.startswith(".")), "")
        raise fail("this is a folder", hint=f"name a file in it{such}") from None
    except (OSError, ValueError) as error:
        raise unreadable(error) from None
    _inputs.add(os.path.realpath(path))
    return file


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a file as they come; a file that changes meanwhile is an error."""
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
    return fail(f"cannot be read: {reason_of(error)}")


def begin_run(names: Iterable[str]) -> None:
    """Forget the inputs of an earlier run in this process; remember those of a new one."""
    _inputs.clear()
    _inputs.update(os.path.realpath(name) for name in names if "\0" not in name)


def is_input(path: Path) -> bool:
    """Return whether this run reads a file, or from a zip file, by whatever name or link."""
    with suppress(OSError, RuntimeError):
        found, real = path.stat(), Path(os.path.realpath(path))
        for name in _inputs:
            if stat.S_ISREG(found.st_mode) and real in Path(name).parents:
                return True
            with suppress(OSError):
                if os.path.samestat(found, os.stat(name)):  # noqa: PTH116 - a name is kept, not a path
                    return True
    return False


def unsupported(data: bytes, suffix: str) -> InputError | None:
    """Return the error for a file of another program, known by its suffix or its first bytes."""
    found = BY_SUFFIX.get(suffix)
    if found is None:
        start = data[:START_BYTES]
        found = next((what for sign, what in FIRST_BYTES.items() if start.startswith(sign)), None)
        if start.startswith(b"PK") and suffix not in (".npz", ".npy"):
            found = next((what for sign, what in ZIP_PARTS.items() if sign in start), None)
    return fail(f"this is {found[0]}", hint=found[1]) if found else None
