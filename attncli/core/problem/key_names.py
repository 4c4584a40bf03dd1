"""What people call the keys: other names of a key, and what other tools call something else."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from attncli.core.errors import Fault, refuse
from attncli.core.numbers.form import OTHER_WORDS
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import PROJECTIONS
from attncli.core.records import EMPTY
from attncli.core.text.escapes import visible
from attncli.core.text.sentences import OF_LAYER, called_by, did_you_mean

WEIGHTS = {
    f"{letter}{key[-1]}".lower(): f"{letter}{key[1:]}" for letter in "Wb" for key in PROJECTIONS
}
"""Weights and biases by their two letters; they have more names than can be listed."""

IGNORED_IN_WEIGHTS = "_^{}$ "
"""Signs that may be written between, before and after the two letters of a weight."""

DERIVATIVE = re.compile(r"(d|new)_(?=[Wb])|(?:[d∂](?:L|J|[Ll]oss)/[d∂]|∇|grad(?=[_ ]))[_ ]?(?=\w)")
"""The start of the name of a derivative, as in dL/dV, and of an updated weight, as in new_W_q."""

STORED = re.compile(
    r"(?:.*\.)?(?:(?P<letter>[qkvo])(?:ut)?_(?:proj|lin)(?:[._]weight)?"
    r"|(?P<word>[qkvo]|query|key|value|output\.dense)\.weight)"
)
"""The name of a weight of `nn.Linear` in a state_dict: self_attn.q_proj.weight, query.weight."""

WITHOUT_KEY = {
    "leave it out, sizes follow from the matrices; 1/sqrt(d_k) in scale knows d_k": (
        "dk d_k dq d_q dv d_v d_model dmodel embed_dim emb_dim hidden_size head_dim d_head d "
        "seq_len n m"
    ),
    "leave it out; nothing is dropped here": "dropout dropout_p",
    "write W_q, W_k and W_v, its columns in three equal parts": "c_attn",
    "write W_q, W_k and W_v, its rows in three equal parts, and weights_as: out_in": (
        "in_proj_weight"
    ),
    "write b_q, b_k and b_v, its three equal parts": "in_proj_bias c_attn.bias",
    "write it under W_o, as Conv1D stores (in, out)": "c_proj",
    "write it under b_o": "c_proj.bias",
    OTHER_WORDS["seq2seq"]: "s h",
}
"""Hints for keys of other tools that no one key replaces; the rows of `KEYS` have the rest."""


def key_of(word: str) -> str:
    """Return the key that a word means; a word that is no other name is returned as it is.

    >>> [key_of(word) for word in ("Wq", "WQ", "W^Q", "W_{q}", "num_heads", "dL/dV")]
    ['W_q', 'W_q', 'W_q', 'W_q', 'heads', 'd_V']
    """
    if word in KEYS:
        return word
    if layer := OF_LAYER.match(word):
        return layer[0] + key_of(word[layer.end() :])
    if derivative := DERIVATIVE.match(word):
        return f"{derivative[1] or 'd'}_{_weight(word[derivative.end() :])}"
    return next((key for key, row in KEYS.items() if word in row.aliases), _weight(word))


def _weight(word: str) -> str:
    letters = "".join(sign for sign in word if sign not in IGNORED_IN_WEIGHTS)
    return WEIGHTS.get(letters.lower(), word)


def keys_of(words: str | Iterable[str] | None, names: Mapping[str, str] = EMPTY) -> tuple[str, ...]:
    """Return the keys, or the steps by a course's names, that words mean; a text is one word."""
    every = [words] if isinstance(words, str) else words or ()
    return tuple(called_by(word, names) or key_of(word) for word in every)


def names_of(key: str) -> tuple[str, ...]:
    """Return a key and its listed other names."""
    return key, *KEYS[key].aliases


def pattern_of(key: str) -> str:
    """Return a regular expression of all names of a key, for a JSON Schema.

    >>> pattern_of("heads"), pattern_of("W_q")
    ('heads|num_heads|n_heads', '[_^{}$ ]*[Ww][_^{}$ ]*[Qq][_^{}$ ]*')
    """
    if key not in WEIGHTS.values():
        return "|".join(names_of(key))
    letters = (f"[{letter.upper()}{letter.lower()}]" for letter in key.replace("_", ""))
    between = f"[{IGNORED_IN_WEIGHTS}]*"
    return between + "".join(letter + between for letter in letters)


def with_key(word: str, known: Collection[str] = ()) -> str:
    """Return the name of a step, a cell or a matrix with the key that it begins with.

    A single letter is kept, as it also names rows: v[am] is a row of X where there is no V. So are
    the `known` names of a course.

    >>> with_key("W^Q[1, 2]"), with_key("scores[am, I]")
    ('W_q[1, 2]', 'scores[am, I]')
    """
    base, bracket, rest = word.partition("[")
    key = key_of(base.strip())
    is_kept = base.strip() in (key, *known) or len(key) == 1
    return word if is_kept else f"{key}{bracket}{rest}"


def with_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values under the keys that their names mean; refuse one key under two names."""
    found: dict[str, Any] = {}
    for word, raw in given.items():
        # A sentence is split at blanks alone; labels in a text may have commas between them.
        is_sentence = word == "sentence" and isinstance(raw, str)
        found[key_of(word)] = raw.split() if is_sentence else raw
    if len(found) < len(given):
        refuse([*_given_twice(given)])
    return found


def _given_twice(given: Mapping[str, Any]) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for word in given:
        key = key_of(word)
        other = first.setdefault(key, word)
        if other != word:
            message = f"{visible(other)} and {visible(word)} are the same key"
            needs = "" if key in KEYS and {word, other}.issubset(names_of(key)) else "names"
            yield Fault(message, (word,), "leave one of them out", related=(other,), needs=needs)


def hint_for(word: str) -> str:
    """Return a hint for an unknown key: what to write here instead, or the key that is like it.

    >>> hint_for("is_causal"), hint_for("maks")
    ('write mask: causal where the future is blocked, else leave it out', 'did you mean mask?')
    >>> hint_for("layers.0.self_attn.q_proj.weight")
    'write it under W_q, and weights_as: out_in, as nn.Linear stores (out, in)'
    """
    plain = word.lower().replace("-", "_")
    stem, _, part = plain.rpartition(".")
    if match := STORED.fullmatch(plain if part != "bias" else f"{stem}.weight"):
        letter = (match["letter"] or match["word"])[0]
        as_stored = f"W_{letter}, and weights_as: out_in, as nn.Linear stores (out, in)"
        return f"write it under {f'b_{letter}' if part == 'bias' else as_stored}"
    pieces = plain.removesuffix(".weight").rsplit(".", 2)[-2:]  # no word below has more
    ends = {".".join(pieces[start:]) for start in range(len(pieces))}
    rows = [
        (f"write {hint}", words) for row in KEYS.values() for hint, words in row.instead.items()
    ]
    found = (hint for hint, words in (*rows, *WITHOUT_KEY.items()) if ends & {*words.split()})
    return next(found, "") or did_you_mean(word, KEYS)
