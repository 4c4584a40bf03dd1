"""Words in sentences: lists of them, words that may be meant, and names of steps and layers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence


def all_of(words: Sequence[str]) -> str:
    """Return words as a list: "1, 2 and 3"."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun: "1 file", "2 files"."""
    return f"{count} {noun}{'s'[: count != 1]}"


def small(sentence: str) -> str:
    """Return a sentence that goes on after other words; K and Q stay capitals."""
    is_word = sentence[1:2].islower() or sentence.startswith("A ")
    return sentence[0].lower() + sentence[1:] if is_word else sentence


def whole_names(pieces: Sequence[str]) -> list[list[str]]:
    """Return the pieces of each name; `scores[1,1]`, split at the comma, is in two.

    >>> whole_names(["Q", "scores[am,", "I]", "z_am"])
    [['Q'], ['scores[am,', 'I]'], ['z_am']]
    """
    names: list[list[str]] = []
    for piece in pieces:
        before = "".join(names[-1]) if names else ""
        if before.count("[") > before.count("]"):
            names[-1].append(piece)
        else:
            names.append([piece])
    return names


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
    import difflib  # which only a misspelt word needs

    lower = {w.lower(): w for w in known}
    plain = re.sub(r"[\s_-]+", "_", word.lower())
    for same in (plain, plain.removesuffix("_attention"), plain.removesuffix("_a")):
        if same in lower:
            return [lower[same]]
    least = MIN_SIMILARITY if len(word) > SHORT_WORD else MIN_OF_SHORT
    return [lower[w] for w in difflib.get_close_matches(word.lower(), lower, n=1, cutoff=least)]


OF_LAYER = re.compile(r"(?<![^_])layers\.(\d+)\.")
"""What begins the name of a step, an input or a key that is of one of several layers."""

OF_COURSE = re.compile(rf"(?P<before>(?:d_)?(?:{OF_LAYER.pattern})?)(?P<name>.+?)(?P<time>_\d+)?")
"""The name of a step, with what a course's name of it keeps before and behind."""


def called_by(name: str, called: Mapping[str, str]) -> str:
    """Return what a course calls a step, by what it calls some steps; "" if there is no such word.

    >>> called_by("d_layers.2.scores", {"scores": "a"}), called_by("scores_3", {"scores": "a"})
    ('d_layers.2.a', 'a_3')
    """
    match = OF_COURSE.fullmatch(name) if called else None
    if match is None:
        return ""
    whole = match["name"] + (match["time"] or "")
    time = "" if whole in called else match["time"] or ""
    word = called.get(whole) or called.get(match["name"], "")
    return word and f"{match['before']}{word}{time}"
