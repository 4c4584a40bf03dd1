"""The documents of a part of a text in YAML or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from attncli.errors import InputError, KeyPath, Place
from attncli.files.document import Chunk, Document, Raw, error_at
from attncli.records import replace
from attncli.text.escapes import lines_of, visible


def documents(chunk: Chunk, folder: Path) -> Iterator[Document]:
    """Yield each document; one that cannot be read holds its error, and ends the text.

    Plain lines and JSON are tried first, as they are read much faster.
    """
    from attncli.files import plain_yaml

    text = chunk.text
    if (plain := plain_yaml.mapping(text)) is not None:
        yield from _of_value(plain, chunk.name, folder, partial(_locate_yaml, chunk, 0))
        return
    if text.lstrip()[:1] in ("{", "["):
        from attncli.files import json_text

        values, at = json_text.documents(text)
        if at == len(text) or text[at] in "{[":
            for raw, start, end in values:
                place = partial(_locate_json, chunk, start, end)
                yield from _of_value(raw, chunk.name, folder, place)
            if at == len(text):
                return
            text = _blanked(text, at)
    yield from _of_yaml(chunk, text, folder)


def _of_yaml(chunk: Chunk, written: str, folder: Path) -> Iterator[Document]:
    """Yield the documents of YAML; rows that lack the blanks before them are indented."""
    from attncli.files import yaml_text

    text = written.replace("\u00a0", " ")  # Word and web pages have no-break spaces for blanks
    if "?" in text:  # YAML takes it for the start of a key, people for a cell left out
        text = re.sub(r"(?<=[\[,])(\s*)\?(?=\s*[\],])", r"\1_", text)
    part = replace(chunk, text=text, original=written)
    found, error = yaml_text.documents_until(part)
    if error is not None:
        from attncli.files import unindented

        part = replace(part, text=unindented.indented(text))
        found, error = yaml_text.documents_until(part)
    for number, raw in enumerate(found):
        if raw is not None:
            yield from _of_value(raw, chunk.name, folder, partial(_locate_yaml, part, number))
    if error is not None:
        from attncli.files import yaml_places

        yield unread(yaml_places.explained(error, part), chunk.name, folder)


def unread(error: InputError, name: str, folder: Path) -> Document:
    """Return a document that holds nothing but why it could not be read."""
    return Document(name, folder, {}, lambda _: Place(name), error=error)


def _blanked(text: str, end: int) -> str:
    """Return a text with blanks up to an offset, so that every place after it stays the same."""
    return re.sub(r"[^\r\n]", " ", text[:end]) + text[end:]


def _locate_yaml(chunk: Chunk, number: int, path: KeyPath) -> Place:
    from attncli.files import yaml_places

    return yaml_places.locate(chunk, number, path)


def _locate_json(chunk: Chunk, start: int, end: int, path: KeyPath) -> Place:
    """Return the place in the JSON value between two offsets of the text; JSON is YAML too."""
    # YAML does not join the two halves of a large character, and ends lines at more characters;
    # any others will do for the place.
    part = re.sub(r"\\u[dD]\w{3}\\u[dD]\w{3}", "------------", chunk.text[:end])
    part = part if part.isascii() else re.sub("[\x85\u2028\u2029]", "-", part)
    place = _locate_yaml(replace(chunk, text=_blanked(part, start)), 0, path)
    return replace(place, text=lines_of(chunk.text)[place.line - chunk.before - 1])


def _of_value(
    raw: Raw, name: str, folder: Path, locate: Callable[[KeyPath], Place]
) -> Iterator[Document]:
    """Yield the document of a mapping, or those of a list of mappings; any other list is X."""
    if isinstance(raw, list) and any(isinstance(item, dict) for item in raw):
        for number, item in enumerate(raw):
            in_item = partial(lambda number, path: locate((number, *path)), number)
            if isinstance(item, dict):
                yield Document(name, folder, item, in_item)
            else:
                message = f"item {number + 1} of the list must be a mapping of keys to values"
                yield unread(error_at(in_item(()), message), name, folder)
    elif isinstance(raw, list):
        yield Document(name, folder, {"X": raw}, lambda path: locate(path[1:]), bare=True)
    elif isinstance(raw, dict):
        yield Document(name, folder, raw, locate)
    else:
        message = f"a problem is a mapping of keys to values, not: {visible(str(raw)[:40])}"
        place = Place(name, locate(()).line)
        yield unread(error_at(place, message, "write such as X: [[1, 0], [0, 1]]"), name, folder)
