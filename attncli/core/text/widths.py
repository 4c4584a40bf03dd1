"""How many terminal columns a text takes."""

from __future__ import annotations

SIGNS = str.maketrans("", "", "·×ᵀ²√∞−→…‖⊙⎡⎢⎣⎤⎥⎦│─")
"""The signs that the tables of nearly every problem hold; each takes one column."""


def cell_width(text: str) -> int:
    """Return how many terminal columns a text takes: 2 for a wide character, 0 for a joiner."""
    if text.translate(SIGNS).isascii():
        return len(text)
    from rich.cells import cell_len  # a millisecond that few labels need

    return cell_len(text)


def label_width(text: str) -> int:
    return cell_width(text.strip("\u2068\u2069"))
