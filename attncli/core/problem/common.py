"""The keys of every kind of problem."""

from __future__ import annotations

from collections.abc import Collection

from attncli.core.declare import Declared, Mechanism, Option, declared, key
from attncli.core.numbers.forms import LABELS, SOME_KEYS, TEXT, Form, choice
from attncli.core.problem import values
from attncli.core.problem.marking import COURSE_NAMES, MARKING, Marking


def kinds() -> list[str]:
    """Return what a problem may be."""
    return [name for name, one in declared().items() if isinstance(one, Mechanism)]


def layer_forms() -> dict[str, Form]:
    """Return the forms of the keys of a layer."""
    every = (one for one in declared().values() if isinstance(one, Mechanism) and one.has_layers)
    return {name: one.rows[name].form for one in every for name in one.layer_keys}


class EveryKind(Declared):
    """The keys of every kind of problem."""

    name = "every kind"

    title = key(TEXT, "shown at the top", "")
    notes = key(TEXT, "shown under the title", "")
    student = key(TEXT, "whose problem it is, or whose answers", "", flags=())
    variant = key(TEXT, "which of the variants that `attn vary` writes it is", "", flags=())
    problem = key(TEXT, "its number among the problems of a student", "", flags=())
    kind = key(
        choice(kinds),
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
