"""Hints for misspelt words."""

from __future__ import annotations

from collections.abc import Iterable

SHORT_WORD = 2
"""Maximum length of a word that must be very like a known one: dk is no slip for K."""

MIN_SIMILARITY, MIN_OF_SHORT = 0.6, 0.8
"""Minimum similarity (of `difflib`) of a word to one that may be meant."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint for a misspelt word: the nearest known one, or all where none is near."""
    words = list(known)
    near = near_words(word, words)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(words)}"


def near_words(word: str, known: Iterable[str]) -> list[str]:
    """Return the known word that is most like a misspelt one, or nothing."""
    import difflib
    import re

    lower = {w.lower(): w for w in known}
    plain = re.sub(r"[\s_-]+", "_", word.lower())
    for same in (plain, plain.removesuffix("_attention"), plain.removesuffix("_a")):
        if same in lower:
            return [lower[same]]
    least = MIN_SIMILARITY if len(word) > SHORT_WORD else MIN_OF_SHORT
    return [lower[w] for w in difflib.get_close_matches(word.lower(), lower, n=1, cutoff=least)]
