"""Keys that do not go together, as faults of a problem and as rules of its JSON Schema.

Most rules are declared with the keys: `needs`, `replaces`, `only`. A test is of one key: whether it
is wrong, and what to say then. `Fault.needs` marks the faults that the schema cannot express.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from attncli.core.attention.masks import MASKS
from attncli.core.attention.parameters import AXES
from attncli.core.declare import KeyTests, Mechanism
from attncli.core.errors import Fault
from attncli.core.formulas.tree import Formula
from attncli.core.numbers import forms
from attncli.core.numbers.forms import NOTHING, Schema
from attncli.core.problem.key_values import pattern_of
from attncli.core.problem.keys import BESIDE_KINDS, KEYS, KINDS, REPLACES, layer_forms
from attncli.core.problem.rows import WITH_LABELS

RECIPROCALS = {
    **dict.fromkeys(("sqrt(d_k)", "√d_k", "√(d_k)", "d_k^0.5", "d_k^(1/2)"), "1/sqrt(d_k)"),
    "sqrt(d_model)": "1/sqrt(d_model)",
    "d_k": "1/d_k",
}
"""The divisors of scores in textbooks, with the scale that divides by them."""

PRODUCTS = ("dot", "scaled_dot", "general")
"""Score functions whose scores grow with d_k: a scale that multiplies by √d_k is a slip."""


def misfits(keys: Collection[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each key that has no use in this kind, excludes another, or is missing."""
    kind = KINDS[values["kind"]]
    yield from _of_no_use(kind, keys, values["kind"])
    tests = [of(kind, keys, values) for of in (_tests_of_pairs, _tests_of_words, _tests_of_options)]
    tests += [one.tests(kind, keys, values) for one in (kind, *BESIDE_KINDS)]
    for is_wrong, key, message, hint in chain(*tests):
        if is_wrong:
            yield Fault(message, tuple(key.split(".")), hint, needs="values")
    yield from _misfits_of_parts(kind, values)
    for key in (key for key in kind.needs if key not in keys):
        yield Fault(f"kind {values['kind']} needs {key}", ("kind",), KEYS[key].about)
    for key, origin, *others in kind.source_groups:
        if not any(name in keys for name in (key, origin, *others)):
            hint = f"{key} is made from {origin}; write {origin}: [[1, 0], [0, 1]]"
            yield Fault(f"there is neither {origin} nor {key}", (origin,), hint)
            return


def _of_no_use(kind: Mechanism, keys: Collection[str], name: str) -> Iterator[Fault]:
    known = kind.keys
    for key in (key for key in keys if key not in known):
        fitting = [name for name, other in KINDS.items() if key in other.keys]
        hint = f"it is for kind: {' or '.join(fitting)}" if fitting else ""
        yield Fault(f"{key} has no use in kind {name}", (key,), hint)
    for direct in filter(keys.__contains__, REPLACES):
        for key in filter(keys.__contains__, REPLACES[direct]):
            hint = f"leave out {key} or {direct}"
            message = f"{direct} is given, so {key} has no use"
            yield Fault(message, (key,), hint, related=(direct,))


def _misfits_of_parts(kind: Mechanism, values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each part of the mask and the normaliser, and both conventions at once."""
    name = values["kind"]
    fitting = [form for form, row in MASKS.items() if kind.takes_mask(form, row.by_position)]
    for form in values["mask"]:
        if form in MASKS and form not in fitting:
            message = f"the mask {form} has no use in kind {name}"
            verb = "have" if fitting[1:] else "has"
            yield Fault(message, ("mask", form), f"{', '.join(fitting)} {verb}")
    settings = values["normalize"]
    axis = settings.get("axis", kind.axes[0])
    if axis not in kind.axes:
        message = f"normalize.axis has no use in kind {name}"
        yield Fault(message, ("normalize", "axis"), "leave it out")
    if values["weights_as"] == "out_in" and values["tokens_as"] == "columns":
        message = "tokens_as: columns has weights of (out, in), so weights_as: out_in has no use"
        yield Fault(message, ("weights_as",), "leave one of them out", related=("tokens_as",))


def _tests_of_pairs(kind: Mechanism, keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    """Yield tests of keys that have no use without others, which a layer may have."""
    for key in keys:
        row = kind.rows.get(key)
        others = row.needs if row and not (values["layers"] and key in kind.layer_keys) else ()
        for other in others:
            message = f"{key} has no use without {other}"
            is_lost = other not in (*keys, *kind.makes)
            yield is_lost, key, message, f"write {other}, or leave out {key}"


def _tests_of_words(kind: Mechanism, keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    """Yield tests of words that this kind does not know, and of keys that need another one."""
    for key, row in kind.own.items():
        words = row.form.words() if isinstance(row.form, forms.Choice) else ()
        message = f"{key} {values[key]} has no use in kind {kind.name}"
        hint = f"write {key}: {' or '.join(words)}"
        yield bool(words) and values[key] not in (*words, None), key, message, hint
    variant = values[kind.variant] if kind.variant else ""
    for key in keys if variant in kind.variants else ():
        only = kind.rows[key].only if key in kind.rows else ()
        message = f"{key} has no use with {kind.variant}: {variant}"
        hint = f"it is for {kind.variant}: {' or '.join(only)}"
        yield bool(only) and variant not in only, key, message, hint


def _tests_of_options(
    kind: Mechanism, keys: Collection[str], values: Mapping[str, Any]
) -> KeyTests:
    has_expression = "when" in values["mask"] or isinstance(values.get("bias"), Formula)
    is_lost = "document" in keys and not has_expression and not kind.has_layers  # one may use it
    message = "document has no use without a condition of the mask, or a bias, that has it"
    yield is_lost, "document", message, "write mask: {when: document[i] == document[j]}"
    scale, score = values["scale"], values["score"]["name"]
    right = RECIPROCALS.get(scale.replace(" ", ""), "")
    message = f"scale is what scores are multiplied by, and {scale} makes products larger"
    hint = f"write scale: {right}; to multiply all the same, write 1*{scale}"
    yield bool(right) and score in PRODUCTS, "scale", message, hint


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
            | forms.or_nothing(
                forms.any_of([row.form.schema(), *[BY_LABEL] * (key in WITH_LABELS)])
            )
            for key, row in KEYS.items()
        }
        | {"layers": {"description": KEYS["layers"].about} | _layers()},
        "patternProperties": _other_names(KEYS),
        "additionalProperties": False,
        "allOf": [
            {"if": {"type": "array"}, "then": {"$ref": "#/properties/X", "contains": ROWS}},
            *_one_name(),
            *({"if": _given(key), "then": _without(others)} for key, others in REPLACES.items()),
            *(_of_kind(name, kind) for name, kind in KINDS.items()),
        ],
        "$defs": forms.DEFINITIONS,
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
BY_LABEL: Schema = {"anyOf": [ROWS_BY_LABEL, forms.listed(ROWS_BY_LABEL)]}
"""Rows under their labels, in a mapping or in a list of mappings."""

ROWS: Schema = {"type": "array"}
"""A list with a row in it: a file that is a list is X only then."""


def _one_name() -> Iterator[Schema]:
    for key, row in KEYS.items():
        if row.aliases:
            names = (key, *row.aliases)
            others = ([other for other in names if other != name] for name in names)
            yield {"anyOf": [{"properties": dict.fromkeys(o, NOTHING)} for o in others]}


def _of_kind(name: str, kind: Mechanism) -> Schema:
    is_default = name == KEYS["kind"].default
    named = {"properties": {"kind": {"enum": [name, *([None] if is_default else [])]}}}
    rules: list[Schema] = [_without(key for key in KEYS if key not in kind.keys)]
    masks = {f: NOTHING for f, row in MASKS.items() if not kind.takes_mask(f, row.by_position)}
    if masks:
        rules.append(_inside("mask", {"not": {"const": "causal"}, "properties": masks}))
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
