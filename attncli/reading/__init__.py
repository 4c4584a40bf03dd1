"""Readers: bytes of a file to plain values, and where each value stands.

They know files and positions, not mathematics, and not what a key means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from attncli.errors import Fault, InputError, KeyPath, Place, fail, lines_of, near_words, visible
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
            raise fail("standard input is closed", hint="name a file")
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
    form = MAGIC.get(data[:2]) or FORMS.get(suffix)
    try:
        if isinstance(form, _Binary):
            place = Place(name)
            return [Document(name, folder, form.read(data), lambda path: place)]
        text = _decoded(data)
        read_text = form or _sniffed(text)
        found = read_text(text, name, folder, options or {}) if text.strip() else []
        if not found:
            raise fail("the file is empty", hint="write X: [[1, 0], [0, 1]] into it")
        return found
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
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        if wide:
            raise fail("the file is broken UTF-16", hint="save it as UTF-8") from None
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"line {line} is not in UTF-8 (byte 0x{error.object[error.start]:02x})"
        raise fail(message, hint="save the file as UTF-8") from None


def _yaml(text: str, name: str, folder: Path, options: Mapping[str, bool]) -> list[Document]:
    """YAML, and JSON, which is tried first where the text looks like it: it is much faster."""
    del options
    if text.lstrip()[:1] in ("{", "["):
        from attncli.reading import json_text

        try:
            found = json_text.documents(text)
        except json_text.NotJsonError as error:
            if error.at:  # JSON lines, of which a later one is wrong
                _complain_of_part(text, name, error.at)
        else:
            return [
                Document(name, folder, _mapping(raw, name), _json_locator(text, name, start, end))
                for raw, start, end in found
            ]
    from attncli.reading import yaml_text

    def locator(number: int) -> Callable[[KeyPath], Place]:
        return lambda path: yaml_text.locate(text, name, number, path)

    values = yaml_text.documents(text, name)
    return [
        Document(name, folder, _mapping(raw, name, locator(number)(())), locator(number))
        for number, raw in enumerate(values)
    ]


def _complain_of_part(text: str, name: str, at: int) -> None:
    """Raise what the YAML reader finds wrong with a text from a place on, if anything."""
    from attncli.reading import yaml_text

    try:
        yaml_text.documents(text[at:], name)
    except InputError as error:
        moved = (replace(f, place=_moved(f.place, text, at)) for f in error.faults)
        raise InputError(*moved) from None


def _moved(place: Place | None, text: str, at: int) -> Place | None:
    """Return a place in a part of a text as the place in the whole text."""
    if place is None or not place.line:
        return place
    above = lines_of(text[:at])
    column = place.column + len(above[-1]) if place.line == 1 and place.column else place.column
    line = place.line + len(above) - 1
    lines = lines_of(text)
    return Place(place.file, line, column, lines[line - 1] if line <= len(lines) else "")


def _json_locator(text: str, name: str, start: int, end: int) -> Callable[[KeyPath], Place]:
    """Return a locator for the JSON value between two places of the text; JSON is YAML too."""

    def locate(path: KeyPath) -> Place:
        from attncli.reading import yaml_text

        part = text[start:end]
        # YAML does not join the two halves of a large character; any other will do for the place.
        part = re.sub(r"\\u[dD]\w{3}\\u[dD]\w{3}", "------------", part)
        place = yaml_text.locate(part, name, 0, path if part.startswith("{") else path[1:])
        return _moved(place, text, start) or place

    return locate


def _mapping(raw: Raw, name: str, place: Place | None = None) -> dict[str, Raw]:
    """Return the mapping that a document is; a bare list is X."""
    if isinstance(raw, dict):
        return raw
    if isinstance(raw, list):
        return {"X": raw}
    hint = "write such as X: [[1, 0], [0, 1]]"
    shown = visible(str(raw)[:40])
    message = f"a problem is a mapping of keys to values, not: {shown}"
    raise InputError(Fault(message, hint=hint, place=Place(name, place.line if place else 1)))


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


MAGIC: dict[bytes, _Binary] = {b"PK": NPZ, b"\x93N": NPY}
"""How the files begin that are told by their contents, whatever their name."""


def _sniffed(text: str) -> TextReader:
    """Tell the form of a text without a telling name."""
    start = text.lstrip()[:1]
    has_key = re.search(r"^(\"[^\"]*\"|[^\s,;\"'][^,;\n\r]*):(\s|$)", text, re.MULTILINE)
    is_yaml = start in ("{", "[", "%", "#") or text.startswith("---\n") or has_key
    return _yaml if is_yaml else _csv
