"""The JSON Schema of a problem file, and the types of its keys for type checkers.

The schema comes from the tables that read a file. `Fault.needs` marks the faults that it cannot
express. `ProblemKeys` lists the keys again, as type checkers cannot read tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, TypedDict

from numpy.typing import ArrayLike

from attncli.core.attention.masks import MASKS
from attncli.core.attention.parameters import AXES
from attncli.core.numbers.forms import DEFINITIONS, NOTHING, Schema, any_of, listed, or_nothing
from attncli.core.problem.key_values import names_of, pattern_of
from attncli.core.problem.keys import KEYS, layer_forms
from attncli.core.problem.kinds import KINDS, REPLACES, Kind
from attncli.core.problem.marking import Marking
from attncli.core.problem.rows import WITH_LABELS


def schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of one problem; a list alone is its X.

    >>> schema()["title"]
    'An attention problem'
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An attention problem",
        "type": ["object", "array"],
        "properties": {
            key: {"description": row.meaning}
            | or_nothing(any_of([row.form.schema(), *[BY_LABEL] * (key in WITH_LABELS)]))
            for key, row in KEYS.items()
        }
        | {"layers": {"description": KEYS["layers"].meaning} | _layers()},
        "patternProperties": _other_names(KEYS),
        "additionalProperties": False,
        "allOf": [
            {"if": {"type": "array"}, "then": {"$ref": "#/properties/X", "contains": ROWS}},
            *_one_name(),
            *_replaced(),
            *(_of_kind(name, kind) for name, kind in KINDS.items()),
        ],
        "$defs": DEFINITIONS,
    }


def _other_names(keys: Iterable[str]) -> Schema:
    return {
        f"^(?!{key}$)(?:{pattern_of(key)})$": {"$ref": f"#/properties/{key}"}
        for key in keys
        if pattern_of(key) != key
    }


def _layers() -> Schema:
    properties = {key: {"$ref": f"#/properties/{key}"} for key in layer_forms()}
    layer = {"type": "object", "properties": properties, "additionalProperties": False}
    layer["patternProperties"] = _other_names(properties)
    return {"type": ["array", "object", "null"], "items": layer, "additionalProperties": layer}


ROWS_BY_LABEL: Schema = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"$ref": "#/$defs/vector"},
}
BY_LABEL: Schema = {"anyOf": [ROWS_BY_LABEL, listed(ROWS_BY_LABEL)]}
"""Rows under their labels, in a mapping or in a list of mappings."""

ROWS: Schema = {"type": "array"}
"""A list with a row in it: a file that is a list is X only then."""


def _one_name() -> Iterator[Schema]:
    for key in KEYS:
        if len(names := names_of(key)) > 1:
            others = ([other for other in names if other != name] for name in names)
            yield {"anyOf": [{"properties": dict.fromkeys(o, NOTHING)} for o in others]}


def _replaced() -> Iterator[Schema]:
    """Yield a schema for each key of `REPLACES`: a problem with it must not have the others."""
    for direct, replaced in REPLACES.items():
        yield {"if": _given(direct), "then": _without(replaced)}


def _of_kind(name: str, kind: Kind) -> Schema:
    is_default = name == KEYS["kind"].default
    named = {"properties": {"kind": {"enum": [name, *([None] if is_default else [])]}}}
    rules: list[Schema] = [_without(key for key in KEYS if key not in kind.keys)]
    forms = {f: NOTHING for f, row in MASKS.items() if not kind.takes_mask(f, row.by_position)}
    if forms:
        rules.append(_inside("mask", {"not": {"const": "causal"}, "properties": forms}))
    if others := [axis for axis in AXES if axis not in kind.axes]:
        rules.append(_inside("normalize", {"properties": {"axis": {"not": {"enum": others}}}}))
    rules += map(_given, kind.needs)
    rules += (_given(*keys) for keys in kind.source_groups)
    return {"if": named if is_default else named | {"required": ["kind"]}, "then": {"allOf": rules}}


def _inside(key: str, inner: Schema) -> Schema:
    return {"properties": {key: inner}}


def _given(*keys: str) -> Schema:
    return {"not": {"type": "object"} | _without(keys)}


def _without(keys: Iterable[str]) -> Schema:
    return {"patternProperties": {f"^(?:{'|'.join(map(pattern_of, keys))})$": NOTHING}}


NumberLike: TypeAlias = str | float | Fraction | Decimal | None
MatrixLike: TypeAlias = ArrayLike | Sequence[object] | NumberLike
Words: TypeAlias = str | Sequence[str] | None
NameLike: TypeAlias = str | Mapping[str, object] | None
"""A name, or a mapping of the name and its parameters."""


class ProblemKeys(TypedDict, total=False):
    """The keys of a problem as keyword arguments; `KEYS` gives their meanings.

    A matrix may be nested lists of numbers or of written numbers, a text block, or anything that
    NumPy can read as an array: tensors, tables of pandas, the steps of a trace. None leaves a key
    out.
    """

    title: str | None
    notes: str | None
    student: str | None
    variant: NumberLike
    problem: NumberLike
    kind: str | None
    tokens: Words
    memory_tokens: Words
    X: MatrixLike
    memory: MatrixLike
    W_q: MatrixLike
    W_k: MatrixLike
    W_v: MatrixLike
    W_dq: MatrixLike
    W_uq: MatrixLike
    W_qr: MatrixLike
    W_dkv: MatrixLike
    W_uk: MatrixLike
    W_uv: MatrixLike
    W_kr: MatrixLike
    W_o: MatrixLike
    b_q: MatrixLike
    b_k: MatrixLike
    b_v: MatrixLike
    b_o: MatrixLike
    Q: MatrixLike
    K: MatrixLike
    V: MatrixLike
    scores: MatrixLike
    heads: NumberLike
    kv_heads: NumberLike
    score: NameLike
    gate: Mapping[str, MatrixLike] | None
    differential: Mapping[str, object] | None
    past: Mapping[str, MatrixLike] | None
    qk_norm: NameLike
    scale: NumberLike
    softcap: NumberLike
    bias: MatrixLike
    positions: NameLike | Sequence[str | Mapping[str, object]]
    ids: MatrixLike | Mapping[str, object]
    document: Words
    mask: MatrixLike | Mapping[str, object]
    normalize: NameLike
    online: Mapping[str, NumberLike] | None
    tokens_as: str | None
    weights_as: str | None
    round: NumberLike | Mapping[str, object]
    W_c: MatrixLike
    W: MatrixLike
    A: MatrixLike
    b: MatrixLike
    u: MatrixLike
    h_0: MatrixLike
    c_0: MatrixLike
    cell: str | None
    encoder: Mapping[str, MatrixLike] | None
    decoder: Mapping[str, MatrixLike] | None
    attends: str | None
    reset: str | None
    update: str | None
    alpha: MatrixLike
    W_alpha: MatrixLike
    b_alpha: MatrixLike
    beta: MatrixLike
    W_beta: MatrixLike
    b_beta: MatrixLike
    S_0: MatrixLike
    activation: str | None
    output_activation: str | None
    enhance: bool | str | None
    form: str | None
    latent_norm: str | None
    gain_q: MatrixLike
    gain_kv: MatrixLike
    layers: Sequence[Mapping[str, object]] | Mapping[str, Mapping[str, object]] | None
    norm: str | None
    place: str | None
    eps: NumberLike
    gain_1: MatrixLike
    shift_1: MatrixLike
    gain_2: MatrixLike
    shift_2: MatrixLike
    W_1: MatrixLike
    b_1: MatrixLike
    W_3: MatrixLike
    b_3: MatrixLike
    W_2: MatrixLike
    b_2: MatrixLike
    embedding: Mapping[str, object] | None
    final_norm: Mapping[str, object] | None
    unembedding: str | None
    W_u: MatrixLike
    target: Words
    gradient: MatrixLike | Mapping[str, object]
    learning_rate: NumberLike
    names: Mapping[str, str] | str | None
    answers: Mapping[str, object] | None
    marking: Marking | Mapping[str, object] | None
