"""The keys of every kind of problem, and all keys and kinds that are declared.

Flags, the JSON Schema, completion, the manual and the hints for keys of other tools come from
these rows. Importing them imports no NumPy, as flags need none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attncli.core import declare
from attncli.core.declare import Declared, Mechanism, Option, declared, key
from attncli.core.numbers.forms import LABELS, SOME_KEYS, TEXT, Form, choice
from attncli.core.problem import values
from attncli.core.problem.marking import COURSE_NAMES, MARKING, Marking
from attncli.core.problem.tour import STOPS


def layer_forms() -> dict[str, Form]:
    """Return the forms of the keys of a layer."""
    with_layers = (kind for kind in KINDS.values() if kind.has_layers)
    return {name: kind.rows[name].form for kind in with_layers for name in kind.layer_keys}


class EveryKind(Declared):
    """The keys of every kind of problem."""

    name = "every kind"

    title = key(TEXT, "shown at the top", "")
    notes = key(TEXT, "shown under the title", "")
    student = key(TEXT, "whose problem it is, or whose answers", "", flags=())
    variant = key(TEXT, "which of the variants that `attn vary` writes it is", "", flags=())
    problem = key(TEXT, "its number among the problems of a student", "", flags=())
    kind = key(
        choice(lambda: KINDS),
        "which mechanism",
        "self",
        example="self, cross, pooling, …",
        instead={"kind: cross": "context source"},
    )
    tokens = key(
        LABELS,
        "the words of the rows of X",
        (),
        example="I,am,good",
        aliases=("words", "sentence"),
        instead={"tokens: [I, am, good]": "labels token text"},
    )


class Layers(Option):
    """The keys of each of several layers, which are problems within a problem."""

    name = "layers"

    layers = key(
        Form(
            values.read_layers,
            parts=layer_forms,
            types=("tuple[Any, ...]", f"Sequence[{SOME_KEYS}] | Mapping[str, {SOME_KEYS}] | None"),
        ),
        "the keys of each layer of a transformer; those of an only one may stand at the top",
        (),
        at_top=True,
        as_written=True,
        instead={"layers: [{W_q: …}, {W_q: …}], one for each": "n_layers num_layers depth"},
    )
    is_last = True

    def fits(self, kind: Mechanism, keys: Collection[str]) -> bool:
        """It is for kinds that have layers."""
        return kind.has_layers


class EveryKindLast(Declared):
    """The keys of every kind of problem that come last."""

    name = "every kind, last"
    is_last = True

    round = key(
        values.ROUND,
        "round every step, as people do by hand",
        example="2 for two decimals, 3sf for three significant digits",
        flags=("--round-steps", "--round"),
        instead={"round: 2": "decimals precision"},
        suggests=({"decimals": 2},),
    )
    names = key(COURSE_NAMES, "what a course calls the steps", {}, example="a: scores, b: weights")
    answers = key(values.ANSWERS, "hand-worked matrices by step name, for `attn check`", flags=())
    marking = key(MARKING, "what `attn check` asks: digits, steps, points", Marking(), flags=())
    tour = key(STOPS, "what the stage of a live page shows, with a sentence each", (), flags=())


TEXT_KEYS = ("title", "notes", "student", "variant", "problem")
"""Keys of text about a problem and its student, with which nothing is calculated."""

COMMON_OPTIONS = tuple(key for name in declare.EVERY_KIND for key in declared()[name].own)
"""Keys of every kind."""

KEYS: dict[str, declare.Key] = declare.every_key()
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


@declare.WHEN_ADDED.append
def _add(one: Declared) -> None:
    KEYS.update(declare.every_key())
    if isinstance(one, Mechanism):
        KINDS[one.name] = one
    else:
        BESIDE_KINDS.append(one)
        OPTIONS[:] = [one for one in BESIDE_KINDS if isinstance(one, Option)]
    WITH_PARTS[:], OF_TOKENS[:], replaces = _derived()
    REPLACES.update(replaces)


def kind_of_config(values: Collection[str]) -> Mechanism | None:
    """Return the kind that the config of a model becomes, by the key that tells one."""
    kinds = (kind for kind in KINDS.values() if kind.config_key)
    return next((kind for kind in kinds if kind.config_key in values), None)


def meaning_in(kind: str, key: str) -> str:
    """Return what a key means in problems of a kind."""
    return KINDS[kind].rows.get(key, KEYS[key]).meaning


def cutting(values: Mapping[str, Any]) -> Option | None:
    """Return the option of a problem that cuts each head's queries and keys, if there is one."""
    return next((one for one in OPTIONS if one.halves > 1 and values[one.name]), None)


def shapes_with(kind: Mechanism, values: Mapping[str, Any]) -> declare.Shapes:
    """Return the shapes of a problem's matrices, also of those that depend on its values."""
    variant = values.get(kind.variant)
    useless = {key for key, row in kind.own.items() if row.only and variant not in row.only}
    shapes = {key: shape for key, shape in kind.shapes.items() if key not in useless}
    for one in (kind, *BESIDE_KINDS):
        shapes |= one.shapes_with(kind, values, shapes)
    return shapes
