"""Readers: bytes of a file to plain values, and where each value stands.

They know files and positions, not mathematics, and not what a key means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from attncli.errors import Fault, InputError, KeyPath, Place, fail
from attncli.files.document import Document, Raw
from attncli.records import replace
from attncli.text.escapes import lines_of, visible
from attncli.text.suggestions import near_words

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
            raise fail(
                "the file is empty", hint="write matrices into it, such as X: [[1, 0], [0, 1]]"
            )
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
        from attncli.files import json_text

        found, at = json_text.documents(text)
        if at == len(text) or text[at] in "{[":
            documents = [
                _document(raw, name, folder, _json_locator(text, name, start, end))
                for raw, start, end in found
            ]
            if at < len(text):
                documents += _yaml_only(_blanked(text, at), name, folder)
            return documents
    return _yaml_only(text, name, folder)


def _yaml_only(text: str, name: str, folder: Path) -> list[Document]:
    from attncli.files import yaml_text

    if "?" in text:  # YAML takes it for the start of a key, a person for a cell left out
        text = re.sub(r"(?<=[\[,])(\s*)\?(?=\s*[\],])", r"\1_", text)

    def locator(number: int) -> Callable[[KeyPath], Place]:
        return lambda path: yaml_text.locate(text, name, number, path)

    return [
        _document(raw, name, folder, locator(number))
        for number, raw in enumerate(yaml_text.documents(text, name))
    ]


def _blanked(text: str, end: int) -> str:
    """Return a text with blanks up to an offset, so that every place after it stays the same."""
    return re.sub(r"[^\r\n]", " ", text[:end]) + text[end:]


def _json_locator(text: str, name: str, start: int, end: int) -> Callable[[KeyPath], Place]:
    """Return a locator for the JSON value between two places of the text; JSON is YAML too."""

    def locate(path: KeyPath) -> Place:
        from attncli.files import yaml_text

        # YAML does not join the two halves of a large character, and ends lines at more signs;
        # any other characters will do for the place.
        part = re.sub(r"\\u[dD]\w{3}\\u[dD]\w{3}", "------------", text[:end])
        part = re.sub("[\x85\u2028\u2029]", "-", part)
        path = path if text[start] == "{" else path[1:]
        place = yaml_text.locate(_blanked(part, start), name, 0, path)
        return replace(place, text=lines_of(text)[place.line - 1])

    return locate


def _document(raw: Raw, name: str, folder: Path, locate: Callable[[KeyPath], Place]) -> Document:
    """Return a document of a mapping; a bare list is X."""
    if isinstance(raw, list):
        raw = {"X": raw}
    if isinstance(raw, dict):
        return Document(name, folder, raw, locate)
    hint = "write such as X: [[1, 0], [0, 1]]"
    shown = visible(str(raw)[:40])
    message = f"a problem is a mapping of keys to values, not: {shown}"
    raise InputError(Fault(message, hint=hint, place=Place(name, locate(()).line)))


def _csv(text: str, name: str, folder: Path, options: Mapping[str, bool]) -> list[Document]:
    from attncli.files import csv_text

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
        from attncli.files import arrays

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
    # A line that starts with # may be a comment of YAML, or a token such as ##ing.
    start = re.sub(r"\A(\s*#.*(\n|\Z))+", "", text).lstrip()[:1]
    has_key = re.search(r"^(\"[^\"]*\"|'[^']*'|[^\s,;\"'#][^,;\n\r]*):(\s|$)", text, re.MULTILINE)
    is_yaml = start in ("{", "[", "%") or text.startswith("---\n") or has_key
    return _yaml if is_yaml else _csv
