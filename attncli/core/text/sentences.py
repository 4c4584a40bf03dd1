"""Sentences put together from words, and names from pieces."""

from __future__ import annotations

from collections.abc import Sequence


def all_of(words: Sequence[str]) -> str:
    """Return words as a list: "1, 2 and 3"."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def small(sentence: str) -> str:
    """Return a sentence that goes on after other words; K and Q stay capitals."""
    is_word = sentence[1:2].islower() or sentence.startswith("A ")
    return sentence[0].lower() + sentence[1:] if is_word else sentence


def whole_names(pieces: Sequence[str]) -> list[list[str]]:
    """Return the pieces of each name; `scores[1,1]`, split at the comma, is in two.

    >>> whole_names(["Q", "scores[am,", "I]", "z_am"])
    [['Q'], ['scores[am,', 'I]'], ['z_am']]
    """
    found: list[list[str]] = []
    for piece in pieces:
        before = "".join(found[-1]) if found else ""
        if before.count("[") > before.count("]"):
            found[-1].append(piece)
        else:
            found.append([piece])
    return found
