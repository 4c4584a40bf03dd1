"""Rows that were pasted below their key without blanks before them, indented as YAML needs it."""

from __future__ import annotations

import re

KEY_START = r"(?!Parameter containing)(?:[^\W\d]|[\"'∂∇$])"  # of a key; the words are PyTorch's
NEXT_ENTRY = rf"(?:(?:- +)*{KEY_START}.*?:(?!\S)|(?:-|---|\.\.\.)(?!\S))"
ROWS_BELOW_KEY = re.compile(
    rf"^(?P<before> *(?:- +)*)(?P<key>{KEY_START}[^:#\n]*:)[ \t]*+"
    r"(?:(?P<first>[-+−.\d(][^:#\n]*+)|[|>]\S*|"  # a first row, a text block, or
    rf"(?!(?:\s|#.*+)*+(?:[\"'{{&*!%@`]|{NEXT_ENTRY})))[ \t]*(?:#.*)?\r?\n"  # nothing
    rf"(?P<rows>(?:(?!(?!(?P=before) ) *{NEXT_ENTRY})(?:.*\n|.+\Z))++)",
    re.MULTILINE,
)
"""A key and the lines below it, up to one that starts something else and is as far to the left."""


def indented(text: str) -> str:
    r"""Return a text in which the rows below a key are a text block; each keeps its line.

    >>> indented("X:\n1 0\n0 1\nscore: dot\n")
    'X: |1\n 1 0\n 0 1\nscore: dot\n'
    """
    return ROWS_BELOW_KEY.sub(_as_block, text)


def _as_block(found: re.Match[str]) -> str:
    rows = re.sub(r"(?m)(?:^|(?<=\s))#(?!\S)[^|\n]*", "", found["rows"])  # without comments
    depth = len(found["before"])
    starts = [len(blanks) for blanks in re.findall(r"(?m)^( *)[^ \r\n]", rows)]
    if not starts or min(starts) >= max(depth + 1, starts[0]):
        return found[0]
    rows = re.sub("(?m)^(?=.)", " " * (depth + 1), re.sub(r"(?m)^\t", " ", rows))
    return f"{found['before']}{found['key']} {found['first'] or '|1'}\n{rows}"
