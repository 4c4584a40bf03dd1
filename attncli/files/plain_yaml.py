"""YAML documents of plain lines, read without a parser.

Most files have only lines such as `score: dot`, `tokens: [I, am]` and `X: [[1, 0], [0, 1]]`.
Checking 300 of them takes less than half the time that it takes with the parser
(`benchmarks/checking.py`). All other documents, and all errors, are left to `yaml_text`; both give
the same values.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress

from attncli.files.document import DECIMAL_PAIRS, Raw

LINE = re.compile(
    r"([A-Za-z_]\w*(?:\.\w+)?):[ ]+"  # a key
    r"(?:"
    r'"([^"\\\n]*)"'
    r"|([A-Za-z0-9.][A-Za-z0-9_ .+*/^()-]*)"  # words without a colon or a comment
    r"|\[([A-Za-z]\w*(?:,[ ]*[A-Za-z]\w*)*)\]"  # a list of words
    r"|(\[[0-9.eE+\-\[\], ]*(?:\n[ ][0-9.eE+\-\[\], ]*)*\])"  # lists of numbers
    r")[ ]*(?:\n|\Z)",
    re.ASCII,
)
BLANK_LINES = re.compile(r"(?:[ ]*\n|#[^\n]*\n)*")
START = re.compile(rf"{BLANK_LINES.pattern}(?:---[ ]*\n{BLANK_LINES.pattern})?")

MAX_NESTED = "[[[[[["
"""Lists as deep as this are left to the parser, which limits them."""

NUMBERS = json.JSONDecoder(parse_float=str, parse_int=str)
NULL_WORDS = ("null", "Null", "NULL")


def mapping(text: str) -> dict[str, Raw] | None:
    r"""Return the values of a document by key, scalars as written; None if it takes a parser.

    >>> mapping("score: dot\nX: [[1, 0],\n    [0, 0.5]]\n")
    {'score': 'dot', 'X': [['1', '0'], ['0', '0.5']]}
    >>> mapping("X: |\n  1 0\n")
    """
    if MAX_NESTED in text or DECIMAL_PAIRS.search(text) or not text.replace("\n", "").isprintable():
        return None
    found: dict[str, Raw] = {}
    at, end = START.match(text).end(), len(text)  # type: ignore[union-attr]  # it matches ""
    while at < end:
        line = LINE.match(text, at)
        if line is None or line[1] in found:
            return None
        value = _value(*line.groups()[1:])
        if value is None:
            return None
        found[line[1]] = value
        at = BLANK_LINES.match(text, line.end()).end()  # type: ignore[union-attr]  # the same
    return found or None


def _value(quoted: str | None, words: str | None, listed: str | None, numbers: str | None) -> Raw:
    """Return the value of the group of `LINE` that matched; None if it takes a parser."""
    if numbers is not None:
        with suppress(ValueError):
            return NUMBERS.decode(numbers)
        return None
    if listed is not None:
        return [word.strip() for word in listed.split(",")]
    text = quoted if words is None else words.rstrip()
    return None if words is not None and text in NULL_WORDS else text
