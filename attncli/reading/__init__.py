"""Readers: bytes of a file to plain values, and where each value stands.

They know files and positions, not mathematics, and not what a key means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from attncli.errors import Fault, InputError, KeyPath, Place, fail, near_words, visible
from attncli.reading.document import Document, Raw
from attncli.records import replace

STDIN = "<stdin>"


def read(
    source: str | os.PathLike[str],
    stdin: BinaryIO | None = None,
    options: Mapping[str, bool] | None = None,
) -> list[Document]:
    """Read every document of a file; "-" is standard input.

    Args:
        source: the file's name.
        stdin: what to read for "-".
        options: words that make a leading line of a CSV file an option, not numbers, and whether
            the option is a list.

    Raises:
        InputError: for whatever cannot be read, with its place.
    """
    name = os.fspath(source)
    if name == "-":
        if stdin is None:
            import sys

            stdin = sys.stdin.buffer
        return read_bytes(stdin.read(), STDIN, Path(), "", options)
    path = Path(name)
    return read_bytes(_contents(path, name), name, path.parent, path.suffix.lower(), options)


def read_bytes(
    data: bytes,
    name: str,
    folder: Path,
    suffix: str = "",
    options: Mapping[str, bool] | None = None,
) -> list[Document]:
    """Read every document of a file's bytes; an unknown suffix is told from the contents.

    Raises:
        InputError: for whatever cannot be read, with its place.
    """
    form = FORMS.get(suffix) or _sniffed(data)
    try:
        if isinstance(form, _Binary):
            place = Place(name)
            return [Document(name, folder, form.read(data), lambda path: place)]
        text = _decoded(data)
        if not text.strip():
            raise fail("the file is empty", hint="write X: [[1, 0], [0, 1]] into it")
        return form(text, name, folder, options or {})
    except InputError as error:
        raise InputError(
            *(f if f.place else replace(f, place=Place(name)) for f in error.faults)
        ) from None


def matrix_file(path: Path, name: str) -> Document:
    """Read a CSV or NPY file that holds one matrix; it stands under the key X.

    Raises:
        InputError: for whatever cannot be read, or for several matrices.
    """
    documents = read_bytes(_contents(path, name), name, path.parent, path.suffix.lower())
    first = documents[0]
    if len(documents) == 1 and list(first.values) == ["X"]:
        return first
    if len(documents) == 1 and len(first.values) == 1:
        (key,) = first.values
        return replace(
            first,
            values={"X": first.values[key]},
            locate=lambda path: first.locate((key, *path[1:])),
            labels={"X": first.labels[key]} if key in first.labels else {},
        )
    raise InputError(Fault("the file holds more than one matrix", place=Place(name)))


def _contents(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        message = "there is no such file"
        near: list[str] = []
        if path.parent.is_dir():
            names = [p.name for p in path.parent.iterdir() if p.is_file()]
            near = near_words(path.name, names)
        hint = f"did you mean {path.parent / near[0]}?" if near else ""
        raise InputError(Fault(message, hint=hint, place=Place(name))) from None
    except IsADirectoryError:
        message = "this is a folder"
        raise InputError(Fault(message, hint="name a file in it", place=Place(name))) from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(Fault(f"cannot be read: {reason}", place=Place(name))) from None


def _decoded(data: bytes) -> str:
    """Return the text of UTF-8, or of UTF-16 with a byte order mark, as Excel writes it."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"line {line} is not in UTF-8 (byte 0x{data[error.start]:02x})"
        raise fail(message, hint="save the file as UTF-8") from None


def _yaml(text: str, name: str, folder: Path, options: Mapping[str, bool]) -> list[Document]:
    """YAML, and JSON, which is tried first where the text looks like it: it is much faster."""
    del options
    if text.lstrip()[:1] in ("{", "["):
        from attncli.reading import json_text

        try:
            found = json_text.documents(text)
        except json_text.NotJsonError:
            pass
        else:
            return [
                Document(name, folder, _mapping(raw, name), _json_locator(text, name, at))
                for raw, at in found
            ]
    from attncli.reading import yaml_text

    def locator(number: int) -> Callable[[KeyPath], Place]:
        return lambda path: yaml_text.locate(text, name, number, path)

    values = yaml_text.documents(text, name)
    if not values:
        raise fail("the file is empty", hint="write X: [[1, 0], [0, 1]] into it")
    return [
        Document(name, folder, _mapping(raw, name), locator(number))
        for number, raw in enumerate(values)
    ]


def _json_locator(text: str, name: str, at: int) -> Callable[[KeyPath], Place]:
    """Return a locator for a JSON value that starts at a place of the text; JSON is YAML too."""

    def locate(path: KeyPath) -> Place:
        from attncli.reading import yaml_text

        end = text.find("\n{", at + 1)
        part = text[at : end if end > 0 else None]
        place = yaml_text.locate(part, name, 0, path if _is_mapping(part) else path[1:])
        before = text.count("\n", 0, at)
        return replace(place, line=place.line + before)

    return locate


def _is_mapping(text: str) -> bool:
    return text.lstrip().startswith("{")


def _mapping(raw: Raw, name: str) -> dict[str, Raw]:
    """Return the mapping that a document is; a bare list is X."""
    if isinstance(raw, dict):
        return raw
    if isinstance(raw, list):
        return {"X": raw}
    hint = "write such as X: [[1, 0], [0, 1]]"
    shown = visible(str(raw)[:40])
    message = f"a problem is a mapping of keys to values, not: {shown}"
    raise InputError(Fault(message, hint=hint, place=Place(name, 1)))


def _csv(text: str, name: str, folder: Path, options: Mapping[str, bool]) -> list[Document]:
    from attncli.reading import csv_text

    def locator(table: csv_text.Table) -> Callable[[KeyPath], Place]:
        return lambda path: csv_text.locate(text, name, table, path)

    return [
        Document(name, folder, table.values, locator(table), table.labels)
        for table in csv_text.tables(text, name, options)
    ]


class _Binary:
    """A reader of bytes, named here and imported when it is used."""

    def __init__(self, function: str) -> None:
        self.function = function

    def read(self, data: bytes) -> dict[str, Raw]:
        """Return the values of a file."""
        from attncli.reading import arrays

        values: dict[str, Raw] = getattr(arrays, self.function)(data)
        return values


TextReader = Callable[[str, str, Path, Mapping[str, bool]], list[Document]]
NPZ, NPY = _Binary("read_npz"), _Binary("read_npy")

FORMS: dict[str, TextReader | _Binary] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _yaml,
    ".jsonl": _yaml,
    ".csv": _csv,
    ".tsv": _csv,
    ".npz": NPZ,
    ".npy": NPY,
}


def _sniffed(data: bytes) -> TextReader | _Binary:
    """Tell the form of a file from its contents."""
    if data.startswith(b"PK\x03\x04"):
        return NPZ
    if data.startswith(b"\x93NUMPY"):
        return NPY
    start = data.lstrip()[:1]
    has_key = re.search(rb"^[^\s,;\"'][^,;\n]*:(\s|$)", data, re.MULTILINE)
    is_yaml = start in (b"{", b"[", b"%", b"#") or data.startswith(b"---") or has_key
    return _yaml if is_yaml else _csv
