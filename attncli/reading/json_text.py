"""JSON, read by the standard library for speed; digits stay as written."""

from __future__ import annotations

import json
from typing import Any

from attncli.reading.document import Raw


class NotJsonError(Exception):
    """The text is no JSON; it may be YAML that starts with a bracket."""


def documents(text: str) -> list[tuple[Raw, int]]:
    """Return each JSON value of a text, one after the other, and the offset where it starts.

    Raises:
        NotJsonError: if it is none, or has a fault whose place the YAML reader will tell.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_mapping,
        parse_float=str,
        parse_int=str,
        parse_constant=str,
    )
    found = []
    at = 0
    try:
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            value, end = decoder.raw_decode(text, at)
            found.append((_text(value), at))
            at = end
    except (ValueError, RecursionError):
        raise NotJsonError from None
    return found


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Raw]:
    result: dict[str, Raw] = {}
    for key, value in pairs:
        if key in result:
            raise NotJsonError
        if value is not None:
            result[key] = _text(value)
    return result


def _text(value: Any) -> Raw:
    """Return a value with true, false and null as the words that they are in YAML."""
    if isinstance(value, list):
        # Rows of numbers, nearly all of every file, hold nothing but text already.
        if all(type(item) is str for item in value):
            return value
        return [_text(item) for item in value]
    if value is None:
        return "~"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value  # text, or a mapping that is done
