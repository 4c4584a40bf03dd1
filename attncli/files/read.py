"""Readers: bytes of a file to plain values, and where each value stands.

They know files and positions, not mathematics, and not what a key means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from attncli.errors import InputError, KeyPath, Place, fail, located
from attncli.files.document import Document, Options, Raw, Source, error_at
from attncli.files.foreign import refused
from attncli.records import replace
from attncli.text.escapes import lines_of, visible
from attncli.text.suggestions import near_words

STDIN = "<stdin>"

YAML = (".yaml", ".yml", ".json", ".jsonl")
CSV = (".csv", ".tsv")

BINARY = (b"PK", b"\x93N")
"""How the files of NumPy begin, whatever their name."""


def read(
    source: Source,
    stdin: BinaryIO | None = None,
    options: Options | None = None,
    of_class: bool = False,
) -> list[Document]:
    """Read every document of a file; some words are options in a CSV file.

    With `of_class`, for answers, a CSV table may hold those of a class, each of which is a
    document; a document may be empty, and one that cannot be read holds its error.

    Raises:
        InputError: for whatever cannot be read, with its place.
    """
    name = os.fspath(source)
    if name == "-":
        if stdin is None:
            raise fail("standard input is closed", hint="name a file")
        return read_bytes(stdin.read(), STDIN, Path(), "", options, of_class)
    return _read_file(Path(name), name, options, of_class)


def _read_file(
    path: Path, name: str, options: Options | None = None, of_class: bool = False
) -> list[Document]:
    with located(lambda _: Place(name)):
        data = _contents(path)
    return read_bytes(data, name, path.parent, path.suffix.lower(), options, of_class)


def read_bytes(
    data: bytes,
    name: str,
    folder: Path,
    suffix: str = "",
    options: Options | None = None,
    of_class: bool = False,
) -> list[Document]:
    """Read every document of a file's bytes; an unknown suffix is told from the contents.

    Raises:
        InputError: for whatever cannot be read, with its place.
    """
    place = Place(name)
    with located(lambda _: place):
        if error := refused(data, suffix):
            raise error
        if data.startswith(BINARY) or suffix in (".npz", ".npy"):
            from attncli.files import arrays

            values = arrays.read(data)
            bare = data.startswith(BINARY[1])
            return [Document(name, folder, values, lambda _: place, bare=bare)]
        text = _decoded(data)
        if not text.strip():
            found = []
        elif suffix in YAML or (suffix not in CSV and _looks_like_yaml(text)):
            found = _yaml(text, name, folder)
            for one in found:
                if one.error and (not of_class or len(found) == 1):
                    raise one.error
        else:
            found = _of_class(text, name, folder) if of_class else []
            found = found or _csv(text, name, folder, options or {}, of_class)
        if not found and of_class:
            return [Document(name, folder, {}, lambda _: place)]
        if not found:
            hint = "write matrices into it, such as X: [[1, 0], [0, 1]]"
            raise fail("the file is empty", hint=hint)
        return found


def matrix_file(path: Path, name: str) -> Document:
    """Read a CSV or NPY file that holds one matrix; it stands under the key X.

    Raises:
        InputError: for whatever cannot be read, or for several matrices.
    """
    first, *others = _read_file(path, name)
    if others or len(first.values) != 1:
        raise error_at(Place(name), "the file holds more than one matrix")
    ((key, raw),) = first.values.items()
    return replace(
        first,
        values={"X": raw},
        locate=lambda path: first.locate((key, *path[1:])),
        labels={"X": first.labels[key]} if key in first.labels else {},
    )


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        folder = path.parent
        near = near_words(path.name, (p.name for p in folder.glob("*") if p.is_file()))
        hint = f"did you mean {folder / near[0]}?" if near else ""
        raise fail("there is no such file", hint=hint) from None
    except IsADirectoryError:
        raise fail("this is a folder", hint="name a file in it") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise fail(f"cannot be read: {reason}") from None


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


def _yaml(text: str, name: str, folder: Path) -> list[Document]:
    """YAML, and JSON, which is tried first where the text looks like it: it is much faster.

    A document that cannot be read holds its error, and those that follow it are read.
    """
    from attncli.files import json_text, yaml_text

    documents: list[Document] = []
    begin = -1
    while True:
        is_json = text.lstrip()[:1] in ("{", "[")
        if is_json:
            values, at = json_text.documents(text)
            if at == len(text) or text[at] in "{[":
                documents += [
                    _document(raw, name, folder, partial(_locate_json, text, name, start, end))
                    for raw, start, end in values
                ]
                text = _blanked(text, at)
                if not text.strip():
                    return documents
        written = text
        if "?" in text:  # YAML takes it for the start of a key, a person for a cell left out
            text = re.sub(r"(?<=[\[,])(\s*)\?(?=\s*[\],])", r"\1_", text)
        found, error = yaml_text.documents_until(text, name)
        documents += [
            _document(raw, name, folder, partial(_locate_yaml, written, text, name, number))
            for number, raw in enumerate(found)
        ]
        if error is None:
            return documents
        documents.append(_unread(error, name, folder))
        # What follows the next line of dashes, or starts as an object of JSON does, is another; the
        # error may be about that line itself.
        place = error.faults[0].place or Place(name)
        lines = text.splitlines(keepends=True)[: place.line - (place.column == 1)]
        start = max(len("".join(lines)), begin + 1)
        dashes = r"^(---(?=\s)|\{)" if is_json else r"^---(?=\s)"
        after = re.compile(dashes, re.MULTILINE).search(text, start)
        if after is None:
            return documents
        begin = after.start()
        text = _blanked(text, begin)


def _unread(error: InputError, name: str, folder: Path) -> Document:
    return Document(name, folder, {}, lambda _: Place(name), error=error)


def _blanked(text: str, end: int) -> str:
    """Return a text with blanks up to an offset, so that every place after it stays the same."""
    return re.sub(r"[^\r\n]", " ", text[:end]) + text[end:]


def _locate_yaml(written: str, text: str, name: str, number: int, path: KeyPath) -> Place:
    """Return a place in a document of the text, with its line as it was written."""
    from attncli.files import yaml_text

    place = yaml_text.locate(text, name, number, path)
    if written != text:  # they differ in signs that are no ends of lines
        place = replace(place, text=yaml_text.lines_of(written)[place.line - 1])
    return place


def _locate_json(text: str, name: str, start: int, end: int, path: KeyPath) -> Place:
    """Return a place in the JSON value between two offsets of the text; JSON is YAML too."""
    from attncli.files import yaml_text

    # YAML does not join the two halves of a large character, and ends lines at more signs;
    # any other characters will do for the place.
    part = re.sub(r"\\u[dD]\w{3}\\u[dD]\w{3}", "------------", text[:end])
    part = re.sub("[\x85\u2028\u2029]", "-", part)
    place = yaml_text.locate(_blanked(part, start), name, 0, path)
    return replace(place, text=lines_of(text)[place.line - 1])


def _document(raw: Raw, name: str, folder: Path, locate: Callable[[KeyPath], Place]) -> Document:
    """Return a document of a mapping; a bare list is X."""
    if isinstance(raw, list):
        return Document(name, folder, {"X": raw}, lambda path: locate(path[1:]), bare=True)
    if isinstance(raw, dict):
        return Document(name, folder, raw, locate)
    message = f"a problem is a mapping of keys to values, not: {visible(str(raw)[:40])}"
    place = Place(name, locate(()).line)
    error = error_at(place, message, "write such as X: [[1, 0], [0, 1]]")
    return _unread(error, name, folder)


def _csv(
    text: str, name: str, folder: Path, options: Options, named: bool = False
) -> list[Document]:
    """Return the documents of CSV; a word in the corner of a matrix without a key may name it."""
    from attncli.files.csv_text import Table, locate, tables

    def document(table: Table) -> Document:
        place = partial(locate, text, name, table)
        block = table.blocks.get(("X",))
        bare = block is not None and not block.header
        if block is None or not (bare and named and block.corner):
            return Document(name, folder, table.values, place, table.labels, bare=bare)
        key = block.corner
        values = {key if word == "X" else word: raw for word, raw in table.values.items()}
        return Document(
            *(name, folder, values),
            lambda path: place(("X", *path[1:]) if path[:1] == (key,) else path),
            {key: block.labels},
        )

    return [document(table) for table in tables(text, name, options)]


def _of_class(text: str, name: str, folder: Path) -> list[Document]:
    from attncli.files.class_csv import sheets

    return [
        Document(name, folder, one.values, one.locate, heading=one.heading, error=one.error)
        for one in sheets(text, name)
    ]


def _looks_like_yaml(text: str) -> bool:
    """Tell the form of a text without a telling name."""
    # A line that starts with # may be a comment of YAML, or a token such as ##ing.
    start = re.sub(r"\A(\s*#.*(\n|\Z))+", "", text).lstrip()[:1]
    has_key = re.search(r"^(\"[^\"]*\"|'[^']*'|[^\s,;\"'#][^,;\n\r]*):(\s|$)", text, re.MULTILINE)
    return start in ("{", "[", "%") or text.startswith("---\n") or has_key is not None
