"""JSON, read by the standard library for speed; every scalar stays the text that was written."""

from __future__ import annotations

import json
import re
from typing import Any

from attncli.files.document import DECIMAL_PAIRS, Raw

MAX_LISTS = 63
"""Maximum number of lists inside each other; the YAML reader refuses deeper ones, with a place."""

ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(u[dD][89a-fA-F])|.)", re.DOTALL)
"""An escape sequence; its group matches a surrogate without its other half."""


class NotJsonError(Exception):
    """The text is no JSON; it may be YAML that starts with a bracket."""


def documents(text: str) -> tuple[list[tuple[Raw, int, int]], int]:
    """Return the JSON values of a text, and the offset at which no further one can be read.

    Each value comes with the offsets of its start and end. The rest of the text is for the YAML
    reader, which also says what is wrong with it; without a rest, the offset is the text's length.
    """
    found = []
    at = 0
    try:
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            value, end = DECODER.raw_decode(text, at)
            if _has_lone_surrogate(text[at:end]) or DECIMAL_PAIRS.search(text, at, end):
                break
            found.append((_as_text(value), at, end))
            at = end
    except (NotJsonError, ValueError, RecursionError):
        pass
    return found, at


def _has_lone_surrogate(text: str) -> bool:
    if "\\ud" not in text and "\\uD" not in text:
        return False
    return any(escape[1] for escape in ESCAPE.finditer(text))


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Raw]:
    result = {key: _as_text(value) for key, value in pairs if value is not None}
    if len(dict(pairs)) < len(pairs):
        raise NotJsonError
    return result


DECODER = json.JSONDecoder(
    object_pairs_hook=_mapping, parse_float=str, parse_int=str, parse_constant=str
)


def _as_text(value: Any, depth: int = 0) -> Raw:
    """Return a value with true, false and null as the words that they are in YAML."""
    if depth > MAX_LISTS:
        raise NotJsonError
    if isinstance(value, list):
        if set(map(type, value)) == {str}:  # rows of numbers, nearly all of every file
            return value
        return [_as_text(item, depth + 1) for item in value]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value  # text, or a mapping whose values are text already
