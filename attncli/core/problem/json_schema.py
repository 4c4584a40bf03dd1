"""The JSON Schema of a problem file, from the tables that read it.

`Fault.needs` marks the faults that it cannot express.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attncli.core.attention.masks import MASKS
from attncli.core.attention.parameters import AXES
from attncli.core.declare import Mechanism
from attncli.core.numbers.forms import DEFINITIONS, NOTHING, Schema, any_of, listed, or_nothing
from attncli.core.problem.common import layer_forms
from attncli.core.problem.key_values import names_of, pattern_of
from attncli.core.problem.keys import KEYS, KINDS, REPLACES
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
            key: {"description": row.about}
            | or_nothing(any_of([row.form.schema(), *[BY_LABEL] * (key in WITH_LABELS)]))
            for key, row in KEYS.items()
        }
        | {"layers": {"description": KEYS["layers"].about} | _layers()},
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


def _of_kind(name: str, kind: Mechanism) -> Schema:
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
