"""Other names of keys: what people call the same thing, where it has only one reading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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
DERIVED = re.compile(r"(d|new)_(?=[Wb])|(?:[d∂](?:L|J|[Ll]oss)/[d∂]|∇|grad(?=[_ ]))[_ ]?(?=\w)")
"""The start of the name of a derivative, as in dL/dV, and of what a weight becomes."""
NO_LETTERS = "_^{}$ "
"""What may stand between, before and behind the two letters of a weight."""
REMOVED = str.maketrans("", "", NO_LETTERS)


@lru_cache(maxsize=1024)
def key_of(word: str) -> str:
    """Return the key that a word means; a word that is no other name is returned as it is.

    >>> [key_of(word) for word in ("Wq", "WQ", "W^Q", "W_{q}", "num_heads", "dL/dV")]
    ['W_q', 'W_q', 'W_q', 'W_q', 'heads', 'd_V']
    """
    known = ALIASES.get(word) or WEIGHTS.get(_letters(word), word)
    if known == word and (derived := DERIVED.match(word)):
        rest = word[derived.end() :]
        return f"{derived[1] or 'd'}_{WEIGHTS.get(_letters(rest), rest)}"
    return known


def keys_of(words: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the keys that words mean; a text is one word, and None is no words."""
    return tuple(map(key_of, [words] if isinstance(words, str) else words or ()))


def _letters(word: str) -> str:
    return word.translate(REMOVED).lower()


def names_of(key: str) -> tuple[str, ...]:
    """Return a key and its other names; of a weight's, which are without end, none.

    >>> names_of("tokens")
    ('tokens', 'words', 'sentence')
    """
    return (key, *(word for word, meant in ALIASES.items() if meant == key))


def pattern_of(key: str) -> str:
    """Return a regular expression of all names of a key, for a JSON Schema.

    >>> pattern_of("heads"), pattern_of("W_q")
    ('heads|num_heads|n_heads', '[_^{}$ ]*[Ww][_^{}$ ]*[Qq][_^{}$ ]*')
    """
    if key not in WEIGHTS.values():
        return "|".join(names_of(key))
    letters = (f"[{letter.upper()}{letter.lower()}]" for letter in key.replace("_", ""))
    between = f"[{NO_LETTERS}]*"
    return between + "".join(letter + between for letter in letters)


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
            needs = "" if {word, other}.issubset(names_of(key_of(word))) else "names"
            yield Fault(message, (word,), "leave one of them out", related=(other,), needs=needs)
