"""JSON, read by the standard library for speed; digits stay as written."""

from __future__ import annotations

import json
import re
from typing import Any

from attncli.files.document import PAIRS, Raw

MAX_DEPTH = 63
"""Of lists inside each other; what is deeper is left to the YAML reader, which tells the place."""

ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(u[dD][89a-fA-F])|.)", re.DOTALL)
"""An escape, taken whole, so that each is told from what follows; its group is half a character."""


class NotJsonError(Exception):
    """The text is no JSON; it may be YAML that starts with a bracket."""


def documents(text: str) -> tuple[list[tuple[Raw, int, int]], int]:
    """Return the JSON values that stand one after the other, and where what is no JSON starts.

    Each value is given with where it starts and ends. What is no JSON, or has a fault, is left to
    the YAML reader, which tells the place; it starts at the text's length where there is none.
    """
    found = []
    at = 0
    try:
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            value, end = DECODER.raw_decode(text, at)
            if _has_half_a_character(text[at:end]) or PAIRS.search(text, at, end):
                break
            found.append((_text(value), at, end))
            at = end
    except (NotJsonError, ValueError, RecursionError):
        pass
    return found, at


def _has_half_a_character(text: str) -> bool:
    """Whether a text escapes a surrogate without its other half, which no file can hold."""
    if "\\ud" not in text and "\\uD" not in text:
        return False
    return any(escape[1] for escape in ESCAPE.finditer(text))


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Raw]:
    result = {key: _text(value) for key, value in pairs if value is not None}
    if len(dict(pairs)) < len(pairs):
        raise NotJsonError
    return result


DECODER = json.JSONDecoder(
    object_pairs_hook=_mapping, parse_float=str, parse_int=str, parse_constant=str
)


TEXT = {str}


def _text(value: Any, depth: int = 0) -> Raw:
    """Return a value with true, false and null as the words that they are in YAML."""
    if depth > MAX_DEPTH:
        raise NotJsonError
    if isinstance(value, list):
        # Rows of numbers, nearly all of every file, hold nothing but text already.
        if {*map(type, value)} == TEXT:
            return value
        return [_text(item, depth + 1) for item in value]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value  # text, or a mapping that is done
