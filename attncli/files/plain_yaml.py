"""The YAML of most files, read many times faster than by a parser.

That is a mapping of words to one word, one quoted line, or lists of words in brackets. What is
anything else, also what is wrong, is left to `yaml_text`; what is read is the same in both.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress

from attncli.files.document import PAIRS, Raw

IN_LISTS = r"[\w.+\-*/^()%~\[\], ]*"
LINE = re.compile(
    r"([A-Za-z_]\w*(?:\.\w+)?):[ ]+"  # a key
    r"(?:"
    r'"([^"\\\n]*)"'
    r"|([A-Za-z0-9.][A-Za-z0-9_ .+*/^()-]*)"  # words without a colon or a comment
    rf"|(\[{IN_LISTS}(?:\n[ ]{IN_LISTS})*\])"  # lists, on one line or on indented ones
    r")[ ]*(?:\n|\Z)",
    re.ASCII,
)
BLANK = re.compile(r"(?:[ ]*\n|#[^\n]*\n)*")
START = re.compile(rf"{BLANK.pattern}(?:---[ ]*\n{BLANK.pattern})?")
WORD = r"(?:~|[-+]?[A-Za-z0-9_.(][\w.+\-*/^()%]*+)"
WORDS = re.compile(rf"\[++{WORD}(?:\]*+,\[*+{WORD})*+\]++", re.ASCII)
"""Lists of words that mean nothing else to YAML; whether the brackets fit is for JSON to say."""

NUMBERS = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)

QUOTED = ((",", '","'), ("[", '["'), ("]", '"]'), ('"[', "["), (']"', "]"))
"""What puts words between quotes: a quote at each side of a sign, but none beside a bracket's."""

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
    """Return lists of words in brackets; None for any other text.

    Most are lists of numbers, which JSON reads at once, and as they were written.
    """
    if "u" not in text and "a" not in text:  # as in true, false and null, which are words here
        with suppress(ValueError):
            return NUMBERS.decode(text)
    text = text.replace(", ", ",")
    if " " in text or "\n" in text:
        text = " ".join(text.split())
        for sign in "[],":
            text = text.replace(f"{sign} ", sign).replace(f" {sign}", sign)
    if not WORDS.fullmatch(text):
        return None
    # A quote on both sides of every sign, but between two brackets of a kind.
    for sign, quoted in QUOTED:
        text = text.replace(sign, quoted)
    try:
        return json.loads(text)
    except ValueError:
        return None
