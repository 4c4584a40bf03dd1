"""Other names of keys: what people call the same thing, where it has only one reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from attncli.errors import Fault, refuse
from attncli.text.escapes import visible

ALIASES = {
    "x": "X",
    "q": "Q",
    "k": "K",
    "v": "V",
    "num_heads": "heads",
    "n_heads": "heads",
    "num_kv_heads": "kv_heads",
    "n_kv_heads": "kv_heads",
    "words": "tokens",
    "sentence": "tokens",
}
"""Each with the key that it means. Weights and biases have more: see `key_of`."""

WEIGHTS = {f"{letter}{side}".lower(): f"{letter}_{side}" for letter in "Wb" for side in "qkvo"}
NO_LETTERS = str.maketrans("", "", "_^{}$ ")


@lru_cache(maxsize=1024)
def key_of(word: str) -> str:
    """Return the key that a word means; a word that is no other name is returned as it is.

    >>> [key_of(word) for word in ("Wq", "WQ", "W^Q", "W_{q}", "num_heads", "scores")]
    ['W_q', 'W_q', 'W_q', 'W_q', 'heads', 'scores']
    """
    return ALIASES.get(word) or WEIGHTS.get(word.translate(NO_LETTERS).lower(), word)


def with_key(word: str) -> str:
    """Return the name of a step, a cell or a matrix with the key that it begins with.

    A single letter stays, as it is the name of rows, too: v[am] is one of X where there is no V.

    >>> with_key("W^Q[1, 2]"), with_key("scores[am, I]")
    ('W_q[1, 2]', 'scores[am, I]')
    """
    base, bracket, rest = word.partition("[")
    key = key_of(base.strip())
    return word if key == base.strip() or len(key) == 1 else f"{key}{bracket}{rest}"


def with_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is given under the keys that its names mean.

    Raises:
        InputError: for a key that is given under two names.
    """
    found: dict[str, Any] = {}
    for word, raw in given.items():
        # A sentence is parted at blanks alone; labels in a text may have commas between them.
        is_sentence = word == "sentence" and isinstance(raw, str)
        found[key_of(word)] = raw.split() if is_sentence else raw
    if len(found) < len(given):
        refuse([*_twice(given)])
    return found


def _twice(given: Mapping[str, Any]) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for word in given:
        other = first.setdefault(key_of(word), word)
        if other != word:
            message = f"{visible(other)} and {visible(word)} are the same key"
            yield Fault(message, (word,), "leave one of them out", related=(other,))
