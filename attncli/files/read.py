"""Readers: bytes of a file to plain values, and where each value stands.

They know files and positions, not mathematics, and not what a key means.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from attncli.errors import InputError, KeyPath, Place, fail, located
from attncli.files import opened, stream
from attncli.files.document import (
    ArrayKeys,
    Chunk,
    Document,
    Headings,
    Options,
    Raw,
    Source,
    error_at,
)
from attncli.files.folder import unreadable
from attncli.files.foreign import refused
from attncli.records import replace
from attncli.text.escapes import lines_of, visible
from attncli.text.suggestions import near_words

STDIN = "<stdin>"

YAML = (".yaml", ".yml", ".json", ".jsonl")
CSV = (".csv", ".tsv")
WORKSHEETS = (".md", ".markdown", ".tex")
"""Of answers: what `attn worksheet` writes, filled in."""

BINARY = (b"PK", b"\x93N")
"""How the files of NumPy begin, whatever their name."""

TABBED = re.compile(r"[^\s:]+\t(?!\s*:)")
"""How TSV begins, and YAML does not: a first word, which is no key of YAML, and a tab."""


def read(
    source: Source,
    stdin: BinaryIO | None = None,
    options: Options | None = None,
    of_class: Headings | None = None,
    as_arrays: ArrayKeys | None = None,
) -> Iterator[Document]:
    """Yield every document of a file as it comes; some words are options in a CSV file.

    One that cannot be read holds its error. With `of_class`, for answers, a CSV table may hold
    those of a class, each of which is a document, and columns that it names have other headings;
    and a document may be empty. A large matrix of plain numbers is an array under such a key as
    `as_arrays` allows.

    Raises:
        InputError: for a file that cannot be read, with its place.
    """
    name = os.fspath(source)
    if name == "-":
        if stdin is None:
            raise fail("standard input is closed", hint="name a file")
        yield from _documents(stdin, STDIN, Path(), "", options, of_class, as_arrays)
    else:
        yield from _read_file(Path(name), name, options, of_class, as_arrays)


def read_text(source: Source, stdin: BinaryIO | None = None) -> str:
    """Return the text of a file, or of standard input for "-".

    Raises:
        InputError: for a file that cannot be read, or is no text.
    """
    name = os.fspath(source)
    if name == "-" and stdin is None:
        raise fail("standard input is closed", hint="name a file")
    with located(lambda _: Place(STDIN if name == "-" else name)):
        if name == "-" and stdin is not None:
            return "".join(stream.decoded(_blocks(stdin)))
        path = Path(name)
        with _opened(path) as file:
            data = _blocks(file)
            start = next(data, b"")
            if error := refused(start, path.suffix.lower()):
                raise error
            return "".join(stream.decoded(chain([start], data)))


def _read_file(
    path: Path,
    name: str,
    options: Options | None = None,
    of_class: Headings | None = None,
    as_arrays: ArrayKeys | None = None,
) -> Iterator[Document]:
    with located(lambda _: Place(name)), _opened(path) as file:
        suffix = path.suffix.lower()
        yield from _documents(file, name, path.parent, suffix, options, of_class, as_arrays)


def read_bytes(
    data: bytes, name: str, folder: Path, suffix: str = "", options: Options | None = None
) -> Iterator[Document]:
    """Yield every document of a file's bytes; an unknown suffix is told from the contents.

    Raises:
        InputError: for what cannot be read, with its place.
    """
    return _documents(io.BytesIO(data), name, folder, suffix, options)


def _documents(
    file: BinaryIO,
    name: str,
    folder: Path,
    suffix: str = "",
    options: Options | None = None,
    of_class: Headings | None = None,
    as_arrays: ArrayKeys | None = None,
) -> Iterator[Document]:
    place = Place(name)
    with located(lambda _: place):
        data = _blocks(file)
        start = next(data, b"")
        if error := refused(start, suffix):
            raise error
        if start.startswith(BINARY) or suffix in (".npz", ".npy"):
            from attncli.files import arrays

            if name == STDIN or not file.seekable():
                values = arrays.read(io.BytesIO(b"".join([start, *data])))
            else:
                values = arrays.read(file)
                file.seek(0, os.SEEK_END)
                next(data, None)  # which tells of a file that was changed
            bare = start.startswith(BINARY[1])
            yield Document(name, folder, values, lambda _: place, bare=bare)
            return
        texts = stream.decoded(chain([start], data))
        if of_class is not None and suffix in (*WORKSHEETS, ".txt", ""):
            from attncli.files import worksheets

            if suffix in WORKSHEETS or worksheets.is_plain_text(start):
                yield from worksheets.sheets(_whole(texts), name, folder, suffix)
                return
        parts = stream.chunks(texts, name, as_arrays is not None)
        is_empty = True
        for one in _of_text(parts, name, folder, suffix, options or {}, of_class, as_arrays):
            is_empty = False
            yield one
        if is_empty and of_class is not None:
            yield Document(name, folder, {}, lambda _: place)
        elif is_empty:
            hint = "write matrices into it, such as X: [[1, 0], [0, 1]]"
            raise fail("the file is empty", hint=hint)


def _of_text(
    parts: Iterator[Chunk],
    name: str,
    folder: Path,
    suffix: str,
    options: Options,
    of_class: Headings | None,
    as_arrays: ArrayKeys | None,
) -> Iterator[Document]:
    first = next((part for part in parts if part.text.strip()), None)
    if first is None:
        return
    is_yaml = suffix in YAML or (suffix not in CSV and _looks_like_yaml(first.text))
    if not is_yaml and suffix not in CSV and (second := next(parts, None)) is not None:
        is_yaml = stream.LINE_OF_JSON.match(second.text) is not None  # the first line is no JSON
        parts = chain([second], parts)
    if is_yaml:
        for part in chain([first], parts):
            yield from _documents_of(part, partial(_yaml, folder=folder), as_arrays)
        return
    # What a column means can only be told from the whole of a table.
    whole = _joined(chain([first], parts))
    if of_class is not None:
        from attncli.files.class_csv import sheets

        found = sheets(whole.text, name, folder, of_class)
        if (table := next(found, None)) is not None:
            yield table
            yield from found
            return
    reader = partial(_csv, folder=folder, options=options, named=of_class is not None)
    yield from _documents_of(whole, reader, as_arrays)


def _whole(texts: Iterator[str]) -> str:
    """Return a text that is read as one, and is no longer than that may be."""
    found: list[str] = []
    length = 0
    for text in texts:
        found.append(text)
        length += len(text)
        stream.check_length(length)
    return "".join(found)


def _joined(parts: Iterator[Chunk]) -> Chunk:
    """Return the rest of a text as one part."""
    found: list[Chunk] = []
    length = 0
    for part in parts:
        found.append(part)
        length += part.length
        stream.check_length(length)
    text = "\n" * found[0].before + "".join(part.text for part in found)
    return Chunk(found[0].name, text, 0, tuple(chain.from_iterable(p.lifted for p in found)))


def _documents_of(
    chunk: Chunk, reader: Callable[[Chunk], Iterable[Document]], as_arrays: ArrayKeys | None
) -> Iterable[Document]:
    """Return the documents of a part of a text, with arrays for matrices that were lifted out."""
    if not chunk.lifted or as_arrays is None:
        return reader(chunk)
    from attncli.files import lifted

    return lifted.documents(chunk, reader, as_arrays)


def matrix_file(path: Path, name: str, as_arrays: ArrayKeys | None = None) -> Document:
    """Read a CSV or NPY file that holds one matrix; it stands under the key X.

    `as_arrays` is as for `read`.

    Raises:
        InputError: for whatever cannot be read, or for several matrices.
    """
    first, *others = _read_file(path, name, as_arrays=as_arrays)
    if first.error:
        raise first.error
    if others or len(first.values) != 1:
        raise error_at(Place(name), "the file holds more than one matrix")
    ((key, raw),) = first.values.items()
    return replace(
        first,
        values={"X": raw},
        locate=lambda path: first.locate((key, *path[1:])),
        labels={"X": first.labels[key]} if key in first.labels else {},
    )


def _opened(path: Path) -> BinaryIO:
    try:
        file = path.open("rb")
        opened.note(str(path))
        return file
    except FileNotFoundError:
        folder = path.parent
        near = near_words(path.name, (p.name for p in folder.glob("*") if p.is_file()))
        hint = f"did you mean {folder / near[0]}?" if near else ""
        raise fail("there is no such file", hint=hint) from None
    except IsADirectoryError:
        raise fail("this is a folder", hint="name a file in it") from None
    except (OSError, ValueError) as error:
        raise unreadable(error) from None


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    try:
        before = _state(file)
        yield from stream.blocks(file)
        if _state(file) != before:
            raise fail("changed while it was read", hint="try again when it is whole")
    except OSError as error:
        raise unreadable(error) from None


def _state(file: BinaryIO) -> tuple[int, int] | None:
    """Return what tells that somebody writes a file; None for pipes, devices and streams."""
    try:
        found = os.fstat(file.fileno())
    except (OSError, ValueError):  # a stream in memory has no number
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _yaml(chunk: Chunk, folder: Path) -> Iterator[Document]:
    """YAML, and JSON; what most files are written in is tried first, as it is read much faster.

    A document that cannot be read holds its error, and those before it are whole.
    """
    from attncli.files import plain_yaml

    text = chunk.text
    if (plain := plain_yaml.mapping(text)) is not None:
        yield from _document(plain, chunk.name, folder, partial(_locate_yaml, chunk, 0))
        return
    if text.lstrip()[:1] in ("{", "["):
        from attncli.files import json_text

        values, at = json_text.documents(text)
        if at == len(text) or text[at] in "{[":
            for raw, start, end in values:
                place = partial(_locate_json, chunk, start, end)
                yield from _document(raw, chunk.name, folder, place)
            if at == len(text):
                return
            text = _blanked(text, at)
    yield from _parsed(chunk, text, folder)


def _parsed(chunk: Chunk, written: str, folder: Path) -> Iterator[Document]:
    """YAML that takes a parser; rows without the blanks that it needs are read all the same."""
    from attncli.files import unindented, yaml_text

    text = written.replace("\u00a0", " ")  # Word and web pages have no-break spaces for blanks
    if "?" in text:  # YAML takes it for the start of a key, a person for a cell left out
        text = re.sub(r"(?<=[\[,])(\s*)\?(?=\s*[\],])", r"\1_", text)
    part = replace(chunk, text=text, written=written)
    found, error = yaml_text.documents_until(part)
    if error is not None:
        part = replace(part, text=unindented.indented(text))
        found, error = yaml_text.documents_until(part)
    for number, raw in enumerate(found):
        yield from _document(raw, chunk.name, folder, partial(_locate_yaml, part, number))
    if error is not None:
        yield _unread(error, chunk.name, folder)


def _unread(error: InputError, name: str, folder: Path) -> Document:
    return Document(name, folder, {}, lambda _: Place(name), error=error)


def _blanked(text: str, end: int) -> str:
    """Return a text with blanks up to an offset, so that every place after it stays the same."""
    return re.sub(r"[^\r\n]", " ", text[:end]) + text[end:]


def _locate_yaml(chunk: Chunk, number: int, path: KeyPath) -> Place:
    from attncli.files import yaml_text

    return yaml_text.locate(chunk, number, path)


def _locate_json(chunk: Chunk, start: int, end: int, path: KeyPath) -> Place:
    """Return the place in the JSON value between two offsets of the text; JSON is YAML too."""
    from attncli.files import yaml_text

    # YAML does not join the two halves of a large character, and ends lines at more signs;
    # any other characters will do for the place.
    part = re.sub(r"\\u[dD]\w{3}\\u[dD]\w{3}", "------------", chunk.text[:end])
    part = part if part.isascii() else re.sub("[\x85\u2028\u2029]", "-", part)
    place = yaml_text.locate(replace(chunk, text=_blanked(part, start)), 0, path)
    return replace(place, text=lines_of(chunk.text)[place.line - chunk.before - 1])


def _document(
    raw: Raw, name: str, folder: Path, locate: Callable[[KeyPath], Place]
) -> Iterator[Document]:
    """Yield the document of a mapping, and those of a list of mappings; any other list is X."""
    if isinstance(raw, list) and any(isinstance(item, dict) for item in raw):
        for number, item in enumerate(raw):
            in_item = partial(lambda number, path: locate((number, *path)), number)
            if isinstance(item, dict):
                yield Document(name, folder, item, in_item)
            else:
                message = f"item {number + 1} of the list must be a mapping of keys to values"
                yield _unread(error_at(in_item(()), message), name, folder)
    elif isinstance(raw, list):
        yield Document(name, folder, {"X": raw}, lambda path: locate(path[1:]), bare=True)
    elif isinstance(raw, dict):
        yield Document(name, folder, raw, locate)
    else:
        message = f"a problem is a mapping of keys to values, not: {visible(str(raw)[:40])}"
        place = Place(name, locate(()).line)
        yield _unread(error_at(place, message, "write such as X: [[1, 0], [0, 1]]"), name, folder)


def _csv(chunk: Chunk, folder: Path, options: Options, named: bool = False) -> list[Document]:
    """Return the documents of CSV; a word in the corner of a matrix without a key may name it."""
    from attncli.files.csv_text import Table, tables

    text, name = chunk.text, chunk.name

    def document(table: Table) -> Document:
        place = table.locate
        if named and table.remarks:
            table.values = {k: raw for k, raw in table.values.items() if k not in table.remarks}
            said = table.values.get("comment", [])
            own = said if isinstance(said, list) else [said]
            table.values["comment"] = [*table.remarks.values(), *own]
        block = table.blocks.get(("X",))
        bare = block is not None and not block.header
        if block is None or not (bare and named and block.edges.corner):
            return Document(name, folder, table.values, place, table.labels, bare=bare)
        key = block.edges.corner
        values = {key if word == "X" else word: raw for word, raw in table.values.items()}
        return Document(
            *(name, folder, values),
            lambda path: place(("X", *path[1:]) if path[:1] == (key,) else path),
            {key: block.edges.labels},
        )

    return [document(table) for table in tables(text, name, options)]


def _looks_like_yaml(text: str) -> bool:
    """Tell the form of a text without a telling name."""
    # A line that starts with # may be a comment of YAML, or a token such as ##ing.
    content = re.sub(r"\A(\s*#.*(\n|\Z))+", "", text).lstrip()
    if content.startswith(("{", "[", "%", "- ")) or text.startswith("---\n"):
        return True
    if TABBED.match(content):  # what follows may be a sentence with a colon
        return False
    has_key = re.search(r"^(\"[^\"]*\"|'[^']*'|[^\s,;\"'#][^,;\n\r]*):(\s|$)", text, re.MULTILINE)
    return has_key is not None
