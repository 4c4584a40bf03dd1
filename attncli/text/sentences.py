"""Sentences put together from words."""

from __future__ import annotations

from collections.abc import Sequence


def all_of(words: Sequence[str]) -> str:
    """Return words as a list.

    >>> all_of(["1"]), all_of(["1", "2", "3"])
    ('1', '1, 2 and 3')
    """
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def small(sentence: str) -> str:
    """Return a sentence that goes on after other words; K and Q stay capitals.

    >>> small("The mask was left out."), small("Q and K have changed places.")
    ('the mask was left out.', 'Q and K have changed places.')
    >>> small("A path was forgotten.")
    'a path was forgotten.'
    """
    is_word = sentence[1:2].islower() or sentence.startswith("A ")
    return sentence[0].lower() + sentence[1:] if is_word else sentence
