"""Rows by themselves: one vector per token, such as k_1, and rows under their labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.errors import Fault, InputError, KeyPath, fail
from attncli.core.numbers.matrices import as_raw, labelled_texts
from attncli.core.numbers.written import shape_words
from attncli.core.problem.keys import KEYS, KINDS, OF_TWO_TEXTS
from attncli.core.text.strings import count_in, count_of, regex, visible

ROW = regex(r"([qkvxhs])[_^{(]*(\d{1,4})[)}]*")
"""The name of a row: its letter and its number."""

COLUMN = regex(r"([qkv])(?:_?\d{1,3})?", re.IGNORECASE)
"""The heading of a column of queries, keys or values: Q1, or Q."""

PATTERNS = {
    key: rf"{letters}[_^{{(]*(?:\d{{1,4}}|[₀-₉]+)[)}}]*{alone}"
    for key, letters, alone in (
        *((letter.upper(), letter, "") for letter in "qkv"),
        ("X", "(?!h_0$)[xhs]", "|s"),
    )
}
"""Patterns of the names of rows by the key of their matrix, for a JSON Schema."""

LABELLED = {
    **dict.fromkeys(("X", "Q"), ("tokens", "")),
    **dict.fromkeys(("memory", "K", "V"), ("memory_tokens", "")),
    **dict.fromkeys(("scores", "bias", "mask"), ("tokens", "memory_tokens")),
}
"""The keys that hold the labels of a matrix's rows and of its columns."""

WITH_LABELS = ("X", "Q", "memory", "K", "V", "scores")
"""The keys of matrices that may be written as a mapping of labels to rows."""

Rows: TypeAlias = dict[str, KeyPath]
"""The paths of the rows of a matrix, by their numbers or labels."""


def row_name(word: str) -> str:
    """Return the name of a row in one form; "" for another word.

    >>> row_name("k1"), row_name("k_{01}"), row_name("x^(2)"), row_name("K_1")
    ('k_1', 'k_1', 'x_2', '')
    """
    match = ROW.fullmatch(word)
    return f"{match[1]}_{int(match[2])}" if match else ""


def with_rows(named: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[KeyPath]]]:
    """Return values by key, with each matrix whose rows are by themselves, and the rows' paths.

    Raises:
        InputError: for a number that is left out, for rows of several lengths, for a matrix beside
            its own rows, and for labels in another order than that of the tokens.
    """
    values, paths = dict(named), dict[str, list[KeyPath]]()
    kind = KINDS.get(str(named.get("kind", "self")))
    for key, rows in _rows_by_key(named, kind.keys if kind else ()):
        if not all(count_in(label) >= 0 for label in rows):
            name, _ = LABELLED[key]
            refuse_other_order(key, [*rows], named.get(name))
            if kind and name in kind.keys:
                values.setdefault(name, [*rows])
        else:
            rows = _in_order(key, rows)  # noqa: PLW2901 – the same rows
        paths[key] = [*rows.values()]
        for path in paths[key]:
            values.pop(str(path[0]), None)
        if key in values:
            message = f"{_word(path)} is a row of {key}, which is written beside it"
            raise InputError(Fault(message, path, "leave one of them out", (key,), needs="names"))
        vectors = [_vector(key, path, named) for path in paths[key]]
        for path, vector in zip(paths[key], vectors, strict=True):
            if vector.size != vectors[0].size:
                first, size = _word(paths[key][0]), count_of(vector.size, "number")
                message = f"{_word(path)} has {size}, but {first} has {vectors[0].size}"
                hint = f"each is a row of {key}, and all rows are of one length"
                raise fail(message, *path, hint=hint, needs="sizes")
        values[key] = np.stack(vectors, axis=int(named.get("tokens_as") == "columns"))
    if ("s" in named or "s_1" in named) and "memory" in paths:
        values.setdefault("kind", OF_TWO_TEXTS)
    return values, paths


def _rows_by_key(named: Mapping[str, Any], keys: Collection[str]) -> Iterator[tuple[str, Rows]]:
    """Yield each key of which there are rows by themselves, and these; `keys` are of the kind."""
    of_letter = dict[str, Rows]()
    for word in [word for word in named if word not in KEYS]:
        letter, _, number = row_name(word if word != "s" else "s_1").partition("_")
        if letter and f"{letter}_0" not in keys:
            of_letter.setdefault(letter, {})[number] = (word,)
    states = {"s", "h"} & of_letter.keys()  # of a decoder, and of an encoder
    of_states = {"h": "memory", "s": "X"} if len(states) > 1 else {"h": "X", "s": ""}
    for letter, rows in of_letter.items():
        key = of_states.get(letter, letter.upper())
        if key and (letter, [*rows]) != ("h", ["0"]):  # that is a key of other kinds
            yield key, rows
    for key in WITH_LABELS:
        raw = named.get(key)
        paths: list[KeyPath] = []
        if isinstance(raw, Mapping):
            paths = [(key, label) for label in raw]
        elif isinstance(raw, list) and all(isinstance(one, Mapping) for one in raw):
            paths = [(key, place, label) for place, one in enumerate(raw) for label in one]
        labelled = {str(path[-1]): path for path in paths}
        if len(labelled) < len(paths):
            hint = "write the rows without labels, and the words under tokens"
            raise fail(f"a label of {key} is there twice", key, hint=hint, needs="names")
        if paths:
            yield key, labelled


def _in_order(key: str, rows: Rows) -> Rows:
    """Return numbered rows in their order; refuse a gap."""
    ordered = sorted(rows.items(), key=lambda row: count_in(row[0]))
    for place, (number, path) in enumerate(ordered, min(count_in(ordered[0][0]), 1)):
        if count_in(number) != place:
            message = f"{_word(path)} is a row of {key}, but row {place} is missing"
            hint = "number the rows without a gap, from 1 or from 0"
            raise fail(message, *path, hint=hint, needs="names")
    return dict(ordered)


def _vector(key: str, path: KeyPath, named: Mapping[str, Any]) -> Array:
    """Return the numbers of a row, which may be written as a column, too, as they were written."""
    raw: Any = named
    for part in path:
        raw = raw[part]
    is_array = hasattr(raw, "__array__")
    vector: Array = as_raw(raw, path) if is_array else labelled_texts(raw, path, ragged=False)[0]
    if vector.size != max(vector.shape, default=1):
        message = f"{_word(path)} has the shape {shape_words(vector.shape)}, but is a row of {key}"
        raise fail(message, *path, hint="write one flat list of numbers", needs="sizes")
    return vector.reshape(-1)


def _word(path: KeyPath) -> str:
    return visible(str(path[-1]))


def refuse_columns_of_several(key: str, heads: Sequence[str]) -> None:
    """Refuse a matrix whose columns are those of queries, keys and values: Q1, Q2, K1, K2."""
    columns = [match for match in map(COLUMN.fullmatch, heads) if match]
    if len({match[1].upper() for match in columns}) > 1:
        words = ", ".join(match[0] for match in columns)
        message = f"the columns {visible(words)} of {key} are those of several matrices"
        raise fail(message, key, hint="write each matrix under its name", needs="text")


def refuse_other_order(key: str, labels: Sequence[str], tokens: Any) -> None:
    """Refuse the labels of rows that are those of the tokens in another order."""
    words = tokens.replace(",", " ").split() if isinstance(tokens, str) else tokens or []
    if [*words] != labels and sorted(map(str, words)) == sorted(labels):
        name = LABELLED[key][0]
        message = f"the rows of {key} are {', '.join(labels)}, but {name} are {', '.join(words)}"
        fault = Fault(message, (key,), "write both in one order", (name,), needs="text")
        raise InputError(fault)
