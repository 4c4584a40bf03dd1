"""The YAML of most files, read many times faster than by a parser.

That is a mapping of words to one word, one quoted line, or lists of words in brackets. What is
anything else, also what is wrong, is left to `yaml_text`; what is read is the same in both.
"""

from __future__ import annotations

import json
import re

from attncli.files.document import PAIRS, Raw

LINE = re.compile(
    r"([A-Za-z_]\w*(?:\.\w+)?):[ ]+"  # a key
    r"(?:"
    r'"([^"\\\n]*)"'
    r"|([A-Za-z0-9.][A-Za-z0-9_ .+*/^()-]*)"  # words without a colon or a comment
    r"|(\[[\w.+\-*/^()%~\[\], ]*(?:\n(?=[ ])[\w.+\-*/^()%~\[\], ]*)*\])"  # lists, on lines indented
    r")[ ]*(?:\n|\Z)",
    re.ASCII,
)
BLANK = re.compile(r"(?:[ ]*\n|#[^\n]*\n)*")
START = re.compile(rf"{BLANK.pattern}(?:---[ ]*\n{BLANK.pattern})?")
SIGNS = re.compile(r"([\[\], \n]+)")
WORDS = re.compile(r"(?:(?:~|[-+]?[A-Za-z0-9_.(][\w.+\-*/^()%]*)(?: |\Z))*", re.ASCII)
"""Words that mean nothing else to YAML."""

DEEPEST = "[[[[[["
NOT_WORDS = frozenset(("", "~", "null", "Null", "NULL"))
"""What stands for nothing where it is the value of a key."""


def mapping(text: str) -> dict[str, Raw] | None:
    r"""Return what a document holds, each scalar as it was written; None where it takes a parser.

    >>> mapping("score: dot\nX: [[1, 0],\n    [0, 1/2]]\n")
    {'score': 'dot', 'X': [['1', '0'], ['0', '1/2']]}
    >>> mapping("X: |\n  1 0\n")
    """
    if DEEPEST in text or PAIRS.search(text) or not text.replace("\n", "").isprintable():
        return None
    found: dict[str, Raw] = {}
    at, end = START.match(text).end(), len(text)  # type: ignore[union-attr]  # it may be empty
    while at < end:
        line = LINE.match(text, at)
        if line is None:
            return None
        key, quoted, words, lists = line.groups()
        if key in found:
            return None
        if lists is not None:
            value = _lists(lists)
            if value is None:
                return None
            found[key] = value
        elif words is not None:
            found[key] = words.rstrip()
            if found[key] in NOT_WORDS:
                return None
        else:
            found[key] = quoted
        at = BLANK.match(text, line.end()).end()  # type: ignore[union-attr]  # it may be empty
    return found or None


def _lists(text: str) -> Raw | None:
    """Return lists of words in brackets; None for any other text."""
    parts = SIGNS.split(text)  # every other one is a word
    words = parts[2:-1:2]
    if not WORDS.fullmatch(" ".join(words)):
        return None
    parts[2:-1:2] = [f'"{word}"' for word in words]
    try:
        return json.loads("".join(parts))
    except ValueError:
        return None
