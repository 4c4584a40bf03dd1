"""Every key that a problem may have, and every kind of problem.

Flags, the JSON Schema, completion, the manual and the hints for keys of other tools come from
these rows. Importing them imports no NumPy, as flags need none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attncli.core.declare import Declared, Key, Mechanism, Option, Shapes, declared, every_key, key
from attncli.core.numbers.forms import LABELS, SOME_KEYS, TEXT, Form, choice
from attncli.core.problem import values
from attncli.core.problem.marking import COURSE_NAMES, MARKING, Marking


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


class Layers(Option):
    """The keys of each of several layers, which are problems within a problem."""

    layers = key(
        Form(
            values.read_layers,
            parts=lambda: layer_forms(),  # noqa: PLW0108 – it is defined below
            types=("tuple[Any, ...]", f"Sequence[{SOME_KEYS}] | Mapping[str, {SOME_KEYS}] | None"),
        ),
        "transformer: the keys of each layer; those of an only one may stand at the top",
        (),
        at_top=True,
        as_written=True,
        instead={"layers: [{W_q: …}, {W_q: …}], one for each": "n_layers num_layers depth"},
    )

    def fits(self, kind: Mechanism, keys: Collection[str]) -> bool:
        """It is for kinds that have layers."""
        return kind.has_layers


TEXT_KEYS = ("title", "notes", "student", "variant", "problem")
"""Keys of text about a problem and its student, with which nothing is calculated."""

COMMON_OPTIONS = (*declared()["every kind"].own,)
"""Keys of every kind."""

KEYS: dict[str, Key] = every_key()
"""Every row by its key."""

KINDS: dict[str, Mechanism] = {
    name: one for name, one in declared().items() if isinstance(one, Mechanism)
}
"""What a problem may be, by the value of `kind`."""

OF_TWO_TEXTS = next(name for name, kind in KINDS.items() if kind.source == "memory")
"""The kind whose keys and values are made from another text than the queries."""

BESIDE_KINDS = [one for one in declared().values() if not isinstance(one, Mechanism)]
"""What is declared beside the kinds, and asked in problems of every kind."""

OPTIONS = [one for one in BESIDE_KINDS if isinstance(one, Option)]

WITH_PARTS = [key for key, row in KEYS.items() if isinstance(row.default, dict)]
"""Keys that are mappings, in which there may be matrices.

Their defaults are copied, so that changing those of one problem changes no other."""


OF_TOKENS = [key for key, row in KEYS.items() if row.is_of_tokens]
"""Keys whose numbers are those of tokens."""


def _replaces() -> dict[str, tuple[str, ...]]:
    """Return the keys that have no use beside each key, by that key."""
    pairs = [(key, other) for key, row in KEYS.items() for other in row.replaces]
    cutting = [one.name for one in OPTIONS if one.halves > 1]
    for name, row in KEYS.items():
        for other in row.not_beside:
            pairs += [(one, name) for one in (cutting if other == "halves" else [other])]
    return {name: tuple(other for one, other in pairs if one == name) for name, _ in pairs}


REPLACES = _replaces()
"""Keys of results that a problem may set directly, each with the keys that it makes useless."""


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


def layer_forms() -> dict[str, Form]:
    """Return the forms of the keys of a layer."""
    kinds = (kind for kind in KINDS.values() if kind.has_layers)
    return {key: KEYS[key].form for kind in kinds for key in kind.layer_keys}
