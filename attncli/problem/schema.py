"""A JSON Schema of the problem file, made from the same tables that read it."""

from __future__ import annotations

from typing import Any

from attncli.attention.normalizers import NORMALIZERS
from attncli.attention.scores import SCORES
from attncli.problem.keys import ALIGNMENTS, AXES, HALVES, KEYS, Key

NUMBER: dict[str, Any] = {
    "type": ["number", "string"],
    "description": "a number, a fraction 1/3, or an expression such as sqrt(2)",
}
ROW: dict[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/number"}}


def problem_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12) of one problem."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An attention problem",
        "type": "object",
        "additionalProperties": False,
        "$defs": {
            "number": NUMBER,
            "vector": {"anyOf": [ROW, {"type": "string"}]},
            "matrix": {
                "description": "nested lists, a text block with one row a line, or a file's name",
                "anyOf": [{"type": "array"}, {"type": "string"}],
            },
        },
        "properties": {key: _property(row) for key, row in KEYS.items()},
    }


def _property(row: Key) -> dict[str, Any]:
    return {"description": row.meaning} | (
        {"enum": list(row.choices)} if row.form == "choice" else FORMS[row.form]
    )


def _score() -> dict[str, Any]:
    parameters = {p.name: p for function in SCORES.values() for p in function.parameters}
    forms = {0: "number", 1: "vector", 2: "matrix"}
    properties = {name: _ref(forms[len(p.shape)]) for name, p in parameters.items()}
    return _named(list(SCORES), properties)


def _named(names: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a name, or of a mapping with that name and more."""
    mapping = {
        "type": "object",
        "properties": {"name": {"enum": names}} | properties,
        "additionalProperties": False,
    }
    return {"anyOf": [{"enum": names}, mapping]}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _mask() -> dict[str, Any]:
    properties: dict[str, Any] = {
        "causal": {"type": "boolean"},
        "align": {"enum": list(ALIGNMENTS)},
        "offset": {"type": "integer"},
        "keep": _ref("matrix"),
        "block": _ref("matrix"),
        "lengths": {"anyOf": [{"type": "integer"}, _ref("vector")]},
        "window": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
    }
    mapping = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"anyOf": [{"enum": ["causal", "none"]}, _ref("matrix"), mapping]}


FORMS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "truth": {"type": "boolean"},
    "labels": {
        "anyOf": [
            {"type": "array", "items": {"type": ["string", "number", "boolean"]}},
            {"type": "string"},
        ]
    },
    "count": {"type": "integer", "minimum": 1},
    "number": _ref("number"),
    "scale": {"type": ["number", "string"]},
    "vector": _ref("vector"),
    "matrix": _ref("matrix"),
    "answers": {"type": "object"},
    "score": _score(),
    "mask": _mask(),
    "normalize": _named(
        list(NORMALIZERS),
        {"temperature": _ref("number"), "base": _ref("number"), "axis": {"enum": list(AXES)}},
    ),
    "round": {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^[0-9]+(sf)?$"},
            {
                "type": "object",
                "properties": {
                    "decimals": {"type": "integer", "minimum": 0},
                    "significant": {"type": "integer", "minimum": 1},
                    "half": {"enum": list(HALVES)},
                },
                "additionalProperties": False,
            },
        ]
    },
}
