"""The documents of a part of a text in YAML or JSON; every scalar stays the text that was written.

JSON is decoded without `yaml_text`, which also tells where a value is written and what is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from attncli.core.errors import KeyPath, Place
from attncli.core.records import replace
from attncli.core.text.escapes import lines_of, visible
from attncli.reading.document import DECIMAL_PAIRS, Chunk, Document, Raw, error_at, unread

MAX_LISTS = 63
"""Maximum number of lists inside each other in JSON; the YAML reader refuses deeper ones."""


def documents(chunk: Chunk, folder: Path) -> Iterator[Document]:
    """Yield each document; one that cannot be read holds its error, and ends the text."""
    text = chunk.text
    if text.lstrip()[:1] in ("{", "["):
        values, at = _json_values(text)
        if at == len(text) or text[at] in "{[":
            for raw, start, end in values:
                place = partial(_locate_json, chunk, start, end)
                yield from _of_value(raw, chunk.name, folder, place)
            if at == len(text):
                return
            text = _blanked(text, at)
    yield from _of_yaml(chunk, text, folder)


def _json_values(text: str) -> tuple[list[tuple[Raw, int, int]], int]:
    """Return JSON values, each with the offsets of its start and end, and where no more is read."""
    found = []
    at = 0
    with suppress(ValueError, RecursionError):
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            value, end = JSON_DECODER.raw_decode(text, at)
            if DECIMAL_PAIRS.search(text, at, end):
                break
            if text.find("\\u", at, end) >= 0:  # half of a large character raises a ValueError
                json.dumps(value, ensure_ascii=False).encode()
            found.append((_as_text(value), at, end))
            at = end
    return found, at


def _json_mapping(pairs: list[tuple[str, Any]]) -> dict[str, Raw]:
    result = {key: _as_text(value) for key, value in pairs if value is not None}
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return result


JSON_DECODER = json.JSONDecoder(
    object_pairs_hook=_json_mapping, parse_float=str, parse_int=str, parse_constant=str
)


def _as_text(value: Any, depth: int = 0) -> Raw:
    """Return a value with true, false and null as the words that they are in YAML."""
    if depth > MAX_LISTS:
        raise ValueError
    if isinstance(value, list):
        if set(map(type, value)) == {str}:  # rows of numbers, nearly all of every file
            return value
        return [_as_text(item, depth + 1) for item in value]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value  # text, or a mapping whose values are text already


def _of_yaml(chunk: Chunk, written: str, folder: Path) -> Iterator[Document]:
    """Yield the documents of YAML; rows that lack the blanks before them are indented."""
    from attncli.reading import yaml_text

    text = written.replace("\u00a0", " ")  # Word and web pages have no-break spaces for blanks
    if "?" in text:  # YAML takes it for the start of a key, people for a cell left out
        text = re.sub(r"(?<=[\[,])(\s*)\?(?=\s*[\],])", r"\1_", text)
    part = replace(chunk, text=text, original=written)
    found, error = yaml_text.documents_until(part)
    if error is not None:
        part = replace(part, text=yaml_text.indented(text))
        found, error = yaml_text.documents_until(part)
    for number, raw in enumerate(found):
        if raw is not None:
            yield from _of_value(raw, chunk.name, folder, partial(_locate_yaml, part, number))
    if error is not None:
        from attncli.reading import yaml_errors

        yield unread(yaml_errors.explained(error, part), chunk.name, folder)


def _blanked(text: str, end: int) -> str:
    """Return a text with blanks up to an offset, so that every place after it stays the same."""
    return re.sub(r"[^\r\n]", " ", text[:end]) + text[end:]


def _locate_yaml(chunk: Chunk, number: int, path: KeyPath) -> Place:
    from attncli.reading import yaml_text

    return yaml_text.locate(chunk, number, path)


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
    if isinstance(raw, dict):
        yield Document(name, folder, raw, locate)
    elif not isinstance(raw, list):
        message = f"a problem is a mapping of keys to values, not: {visible(str(raw)[:40])}"
        place = Place(name, locate(()).line)
        yield unread(error_at(place, message, "write such as X: [[1, 0], [0, 1]]"), name, folder)
    elif not any(isinstance(item, dict) for item in raw):
        yield Document(name, folder, {"X": raw}, lambda path: locate(path[1:]), bare=True)
    else:
        for number, item in enumerate(raw):
            in_item = partial(lambda number, path: locate((number, *path)), number)
            if isinstance(item, dict):
                yield Document(name, folder, item, in_item)
            else:
                message = f"item {number + 1} of the list must be a mapping of keys to values"
                yield unread(error_at(in_item(()), message), name, folder)
