"""JSON, read by the standard library for speed; digits stay as written."""

from __future__ import annotations

import json
import re
from typing import Any

from attncli.reading.document import Raw

MAX_DEPTH = 63
"""Of lists inside each other; what is deeper is left to the YAML reader, which tells the place."""

SURROGATE = re.compile(r"\\u[dD][89abAB]\w\w(?!\\u[dD][c-fC-F])|(?<!\w{4})\\u[dD][c-fC-F]\w\w")
"""Half of a character, which no file can hold."""


class NotJsonError(Exception):
    """The text is no JSON from a place on; it may be YAML that starts with a bracket."""

    def __init__(self, at: int = 0) -> None:
        super().__init__()
        self.at = at


def documents(text: str) -> list[tuple[Raw, int, int]]:
    """Return each JSON value of a text, one after the other, and where it starts and ends.

    Raises:
        NotJsonError: if it is none, or has a fault whose place the YAML reader will tell.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_mapping,
        parse_float=str,
        parse_int=str,
        parse_constant=str,
    )
    if SURROGATE.search(text):
        raise NotJsonError
    found = []
    at = 0
    try:
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            value, end = decoder.raw_decode(text, at)
            found.append((_text(value), at, end))
            at = end
    except (ValueError, RecursionError, NotJsonError):
        raise NotJsonError(at) from None
    return found


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Raw]:
    result = {key: _text(value) for key, value in pairs if value is not None}
    if len({key for key, _ in pairs}) < len(pairs):
        raise NotJsonError
    return result


def _text(value: Any, depth: int = 0) -> Raw:
    """Return a value with true, false and null as the words that they are in YAML."""
    if depth > MAX_DEPTH:
        raise NotJsonError
    if isinstance(value, list):
        # Rows of numbers, nearly all of every file, hold nothing but text already.
        if all(type(item) is str for item in value):
            return value
        return [_text(item, depth + 1) for item in value]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value  # text, or a mapping that is done
