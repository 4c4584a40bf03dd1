"""Every key that a problem may have, and every kind of problem.

Flags, the JSON Schema, completion, the manual and the hints for keys of other tools come from
these rows. Importing them imports no NumPy, as flags need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attncli.core.declare import (
    EVERY_KIND,
    WHEN_ADDED,
    Declared,
    Key,
    Mechanism,
    Option,
    Shapes,
    declared,
    every_key,
)

TEXT_KEYS = ("title", "notes", "student", "variant", "problem")
"""Keys of text about a problem and its student, with which nothing is calculated."""

COMMON_OPTIONS = tuple(key for name in EVERY_KIND for key in declared()[name].own)
"""Keys of every kind."""

KEYS: dict[str, Key] = every_key()
"""Every row by its key."""

KINDS: dict[str, Mechanism] = {
    name: one for name, one in declared().items() if isinstance(one, Mechanism)
}
"""Every mechanism, by the value of `kind` that asks for it."""

OF_TWO_TEXTS = next(name for name, kind in KINDS.items() if kind.source == "memory")
"""The kind whose keys and values are made from another text than the queries."""

BESIDE_KINDS = [one for one in declared().values() if not isinstance(one, Mechanism)]
"""All other declarations: they are asked in problems of every kind."""

OPTIONS = [one for one in BESIDE_KINDS if isinstance(one, Option)]


def _derived() -> tuple[list[str], list[str], dict[str, tuple[str, ...]]]:
    """Return what the tables below hold."""
    pairs = [(key, other) for key, row in KEYS.items() for other in row.replaces]
    cutting = [one.name for one in OPTIONS if one.halves > 1]
    for name, row in KEYS.items():
        for other in row.not_beside:
            pairs += [(one, name) for one in (cutting if other == "halves" else [other])]
    return (
        [key for key, row in KEYS.items() if isinstance(row.default, dict)],
        [key for key, row in KEYS.items() if row.is_of_tokens],
        {name: tuple(other for one, other in pairs if one == name) for name, _ in pairs},
    )


WITH_PARTS, OF_TOKENS, REPLACES = _derived()
"""Keys that are mappings, in which there may be matrices: their defaults are copied, so that
changing those of one problem changes no other. Keys whose numbers are those of tokens. Keys of
results that a problem may set directly, each with the keys that it makes useless."""


@WHEN_ADDED.append
def _add(one: Declared) -> None:
    KEYS.update(every_key())
    if isinstance(one, Mechanism):
        KINDS[one.name] = one
    else:
        BESIDE_KINDS.append(one)
        OPTIONS[:] = [one for one in BESIDE_KINDS if isinstance(one, Option)]
    WITH_PARTS[:], OF_TOKENS[:], replaces = _derived()
    REPLACES.update(replaces)


def meaning_in(kind: str, key: str) -> str:
    """Return what a key means in problems of a kind."""
    return KINDS[kind].rows.get(key, KEYS[key]).meaning


def cutting(values: Mapping[str, Any]) -> Option | None:
    """Return the option of a problem that cuts each head's queries and keys, if there is one."""
    return next((one for one in OPTIONS if one.halves > 1 and values[one.name]), None)


def shapes_with(kind: Mechanism, values: Mapping[str, Any]) -> Shapes:
    """Return the shapes of a problem's matrices, also of those that depend on its values."""
    variant = values.get(kind.variant)
    useless = {key for key, row in kind.own.items() if row.only and variant not in row.only}
    shapes = {key: shape for key, shape in kind.shapes.items() if key not in useless}
    for one in (kind, *BESIDE_KINDS):
        shapes |= one.shapes_with(kind, values, shapes)
    return shapes
