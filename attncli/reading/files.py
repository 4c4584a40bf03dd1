"""The files of a run: which may be named, which were read; folders and zip files alike; samples.

`class.zip/Ada/hw.yaml` is the file `Ada/hw.yaml` of `class.zip`, which may be in another zip file.
A zip file that cannot be read is a file, and not a folder: opening it raises the reason.
"""

from __future__ import annotations

import io
import os
import posixpath
import re
import stat
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from attncli.core.arithmetic.machine import of_bytes
from attncli.core.errors import InputError, Place, as_damage, fail, located, reason_of
from attncli.core.records import Record
from attncli.core.text.strings import near_words, regex, visible

if TYPE_CHECKING:
    from zipfile import ZipInfo


BYTES_AT_ONCE = 2**16
"""Number of bytes that are read at a time: the size of a pipe."""

_inputs: set[str] = set()
"""The files of the current run of the program: those named at its start, and those read since."""


class Folder(Record):
    """The folder of a file that names others; that of standard input is the current one.

    So a file can name only files beside it and below, and `others`, unless `allow_outside`; an
    error names the `way_out`.
    """

    path: Path
    allow_outside: bool = False
    others: Sequence[Path] = ()
    way_out: str = "name it with -m, move it there"

    def file(self, name: str) -> Path:
        """Return the path of a file; refuse one outside, also by a link, and what is no file."""
        path = self.path / name
        try:
            resolved = path.resolve()
            allowed = (one.resolve() for one in (self.path, *self.others))
            is_inside = any(map(resolved.is_relative_to, allowed))
            is_file = not resolved.exists() or resolved.is_file() or resolved.is_dir()
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a name too long
            raise unreadable(error) from None
        if not (is_inside or self.allow_outside):
            hint = f"{self.way_out}, or allow it by --allow-outside"
            raise fail("this lies outside the folder of the file that names it", hint=hint)
        if not is_file:
            raise fail("this is a device or a named pipe, not a file", hint="name it with -m")
        return path


def open_file(path: Path) -> BinaryIO:
    try:
        _inputs.add(os.path.realpath(path))
        archive, inner = _within(str(path))
        if archive is None:
            return path.open("rb")
        if inner not in archive.files:
            raise IsADirectoryError if inner in archive.folders else FileNotFoundError
        with _errors_at(str(path)):
            return io.BytesIO(archive.read(inner))
    except FileNotFoundError:
        folder = path.parent
        names = [name for name in _names_in(str(folder)) if is_file(str(folder / name))]
        near = near_words(path.name, names)
        hint = f"did you mean {folder / near[0]}?" if near else ""
        raise fail("there is no such file", hint=hint) from None
    except IsADirectoryError:
        inside = (one.path for one in entries_in(str(path)) if not one.is_folder)
        such = next((f", such as {one}" for one in inside if not is_hidden(Path(one).name)), "")
        raise fail("this is a folder", hint=f"name a file in it{such}") from None
    except (OSError, ValueError) as error:
        raise unreadable(error) from None


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
        status = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def unreadable(error: Exception) -> InputError:
    return fail(f"cannot be read: {reason_of(error)}")


def begin_run(names: Iterable[str]) -> None:
    """Forget the inputs of an earlier run in this process; remember those of a new one."""
    _inputs.clear()
    _inputs.update(os.path.realpath(name) for name in names if "\0" not in name)


def inputs() -> list[Path]:
    return [Path(name) for name in _inputs]


def is_input(path: Path) -> bool:
    """Return whether this run reads a file, or from a zip file, by whatever name or link."""
    with suppress(OSError, RuntimeError):
        status, real = path.stat(), Path(os.path.realpath(path))
        for name in _inputs:
            if stat.S_ISREG(status.st_mode) and real in Path(name).parents:
                return True
            with suppress(OSError):
                if os.path.samestat(status, os.stat(name)):  # noqa: PTH116 - it is a name
                    return True
    return False


SUFFIX = ".zip"
ZIP_NAME_END = regex(r"(?<=[^/])\.zip(?=/|\Z)", re.IGNORECASE)

MAX_FILE = 100_000_000
"""Maximum size in bytes of a file in a zip file, and of all that is read of a zip file in another:
what one student hands in must not use up `MAX_READ`, that of all that is read for a class."""
MAX_READ = 4_000_000_000
MIN_FILE = 4096  # bytes that a file counts as at least, as on a disk
MAX_LIST = 4_000_000  # bytes of the list of the files in a zip file, some 40,000
MAX_FILES = 10_000
"""Maximum number of files in a zip file, twice that of a class of 1,000 with five problems. Even if
it is empty, each takes 0.6 ms to judge."""
MAX_ZIPS = 3  # inside each other
MAX_FOLDERS = 32  # inside each other in one zip file
KEPT = 4  # zip files that stay open

PACKED_BY = 0, 8  # stored and deflated: of no other does `zipfile` bound what it unpacks at once
IS_ENCRYPTED, IS_UTF8 = 0x1, 0x800  # flags of a file in a zip file


def _refused(message: str) -> InputError:
    return fail(message, hint="unpack the zip file, and give the folder")


class ZipBytes(io.BufferedReader):
    """The bytes of a zip file, of which `zipfile` reads the list of files all at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_LIST:
            raise _refused(f"the list of the files in the zip file takes {of_bytes(size)}")
        return super().read(size)


class _Zip:
    """A zip file: the names of what is in each folder, and its files; "" is the zip file itself.

    Paths are as `zipfile` extracts them: relative, and without `..`.
    """

    def __init__(self, path: str, raw: io.FileIO | io.BytesIO, *around: _Zip) -> None:
        from zipfile import ZipFile

        self.path, self.around = path, around
        self._sizes: Counter[str] = around[0]._sizes if around else Counter()
        self._counted: set[str] = around[0]._counted if around else set()
        self.folders = defaultdict[str, set[str]](set, {"": set()})
        self.files = defaultdict[str, list["ZipInfo"]](list)
        file = ZipBytes(raw)
        weakref.finalize(self, file.close)
        if len(around) >= MAX_ZIPS:
            raise _refused(f"more than {MAX_ZIPS} zip files are inside each other")
        self._zip = ZipFile(file)
        every = self._zip.infolist()
        if len(every) > MAX_FILES:
            raise _refused(f"more than {MAX_FILES:,} files are in the zip file")
        self._count(f"{path}/", MIN_FILE * len(every))
        for info in every:
            self._add(info)

    def _add(self, info: ZipInfo) -> None:
        name = info.filename
        if not info.flag_bits & IS_UTF8:
            with suppress(UnicodeError):  # many programs write UTF-8, and do not say so
                name = name.encode("cp437").decode()
        name = name.replace("\\", "/")
        parts = [part for part in name.split("/") if part not in ("", ".", "..")]
        if len(parts) > MAX_FOLDERS:
            raise _refused(f"more than {MAX_FOLDERS} folders in the zip file are inside each other")
        for end, part in enumerate(parts):
            self.folders["/".join(parts[:end])].add(part)
        if name.endswith("/"):
            self.folders["/".join(parts)].update()  # which may be empty
        elif parts:
            self.files["/".join(parts)].append(info)

    def read(self, inner: str) -> bytes:
        info, *others = self.files[inner]
        reasons = {
            "several files in the zip file have this name": others,
            "this file is locked with a password": info.flag_bits & IS_ENCRYPTED,
            "this is a link, which is not followed": stat.S_ISLNK(info.external_attr >> 16),
            "this file is packed by an uncommon method": info.compress_type not in PACKED_BY,
            f"this file unpacks to {of_bytes(info.file_size)}": info.file_size > MAX_FILE,
        }
        if refused := [reason for reason, is_so in reasons.items() if is_so]:
            raise _refused(refused[0])
        self._count(f"{self.path}/{inner}", info.file_size)
        with self._zip.open(info) as file:  # which gives no more than the size that was counted
            return b"".join(iter(lambda: file.read(MIN_FILE), b""))

    def _count(self, path: str, size: int) -> None:
        """Count what is read for the first time, in this zip file and in those around it."""
        for one in () if path in self._counted else (self, *reversed(self.around)):
            self._sizes[one.path] += max(size, MIN_FILE)
            most = MAX_FILE if one.around else MAX_READ
            if self._sizes[one.path] > most:
                raise _refused(f"more than {of_bytes(most)} of the zip file would be read")
        self._counted.add(path)


@contextmanager
def _errors_at(path: str) -> Iterator[None]:
    damage = "the zip file is damaged", "zip the folder anew, or give it"
    with located(lambda _: Place(path)), as_damage(*damage):
        yield


@lru_cache(KEPT)
def _opened(path: str, _changed: int, *around: _Zip) -> _Zip:
    with _errors_at(path):
        if not around:
            return _Zip(path, io.FileIO(path))
        inner = path.removeprefix(f"{around[-1].path}/")
        return _Zip(path, io.BytesIO(around[-1].read(inner)), *around)


def _within(path: str) -> tuple[_Zip | None, str]:
    """Return the innermost zip file that a path leads to or through, and the rest of the path."""
    is_named_so = SUFFIX in path.casefold()  # which few are: the pattern takes time to be compiled
    ends = (match.end() for match in ZIP_NAME_END.finditer(path)) if is_named_so else ()
    end = next((end for end in ends if Path(path[:end]).is_file()), None)
    if end is None:
        return None, path
    archive = _opened(path[:end], Path(path[:end]).stat().st_mtime_ns)
    inner = posixpath.normpath(f"/{path[end:]}").strip("/")  # a `..` before it may follow a link
    start = 0
    for match in ZIP_NAME_END.finditer(inner):
        if (name := inner[start : match.end()]) in archive.files:
            archive = _opened(f"{archive.path}/{name}", 0, *archive.around, archive)
            start = match.end() + 1
    return archive, inner[start:]


def is_folder(path: str) -> bool:
    with suppress(InputError, OSError):
        archive, inner = _within(path)
        return inner in archive.folders if archive else Path(path).is_dir()
    return False


def is_file(path: str, within: str = "") -> bool:
    """Return True for a file, but not for a link that leads out of the folder `within`."""
    with suppress(InputError, OSError):
        archive, inner = _within(path)
        if archive:
            return inner in archive.files
        file = Path(path)
        if within and file.is_file() and file.is_symlink():
            return file.resolve().is_relative_to(Path(within).resolve())
        return file.is_file()
    return True


class Entry(NamedTuple):
    """A file or a folder below another one; `parts` are the names on the way, without suffixes."""

    path: str
    parts: tuple[str, ...]
    is_folder: bool = False


def entries_in(folder: str) -> Iterator[Entry]:
    """Yield what is in a folder and below: of each folder its files, then the folders in it.

    A zip file is a folder; one that is alone in a folder, as `Ada/upload.zip` is, has the parts of
    that folder. A link to a folder is a file, as it leads elsewhere, and so is a hidden folder.
    """
    left = [(folder, tuple[str, ...]())]
    while left:
        at, parts = left.pop()
        if parts:
            yield Entry(str(Path(at)), parts, is_folder=True)
        names = _names_in(at)
        paths = {name: posixpath.join(at, name) for name in names if not is_hidden(name)}
        inside = ((name, path) for name, path in paths.items() if is_folder(path))
        folders = {name: path for name, path in inside if not Path(path).is_symlink()}
        files = [name for name in names if name not in folders]
        for name in files:
            yield Entry(str(Path(at, name)), (*parts, Path(name).stem))
        is_alone = parts and len(folders) == 1 and all(map(is_hidden, files))
        for name, path in reversed(folders.items()):
            is_same = is_alone and without_zip(name) != name
            left.append((path, parts if is_same else (*parts, without_zip(name))))


def _names_in(folder: str) -> list[str]:
    """Return the names of what is in a folder, hw2 before hw10; none if it cannot be read."""
    with suppress(OSError):
        archive, inner = _within(folder)
        names = archive.folders.get(inner, ()) if archive else os.listdir(folder)  # noqa: PTH208
        return sorted(sorted(names), key=natural)
    return []


def folder_name(folder: str) -> str:
    return without_zip(Path(folder).resolve().name)


def without_zip(name: str) -> str:
    """Return the name of a folder; that of a zip file is without its suffix."""
    return name[: -len(SUFFIX)] if name.lower().endswith(SUFFIX) else name


def is_hidden(name: str) -> bool:
    """Return True for a file that operating systems make, and not people."""
    others = ("__MACOSX", "Thumbs.db", "desktop.ini")
    return name.startswith((".", "~$")) or name in others


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names as people do: hw2 before hw10.

    >>> sorted(["hw10", "hw2"], key=natural)
    ['hw2', 'hw10']
    """
    from unicodedata import normalize

    parts = re.split(r"(\d+)", normalize("NFC", name).casefold())
    shortest = [part.lstrip("0") if part.isdecimal() else part for part in parts]
    # Of two numbers the longer one is greater; texts and numbers are never at the same place.
    return [(len(x) if at % 2 else 0, x) for at, x in enumerate(shortest)]


PACKAGE = Path(__file__).parent.parent


def sample_files() -> dict[str, Path]:
    """Return the path of each sample by its name, the file's name without `.yaml`."""
    installed, in_checkout = PACKAGE / "sample_inputs", PACKAGE.parent / "sample_inputs"
    folder = installed if installed.is_dir() else in_checkout
    files = (path for path in folder.glob("*") if path.suffix in (".yaml", ".csv"))
    return dict(sorted((path.name.removesuffix(".yaml"), path) for path in files))


def sample_path(name: str) -> Path:
    samples = sample_files()
    path = samples.get(name.removesuffix(".yaml"))
    if path is None:
        near = near_words(name, samples)
        hint = f"did you mean {near[0]}?" if near else "attn samples lists them"
        raise fail(f"there is no sample {visible(name)}", hint=hint)
    return path


def title(path: Path) -> str:
    """Return the title of a sample, from its first line, or nothing.

    >>> title(sample_files()["mask_window"])
    'Sliding window'
    """
    first = re.match(r"title(?:: |,)(.*)", path.read_text(encoding="utf-8"))
    return first[1] if first else ""
