"""Sentences put together from words."""

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
