"""The forms in which a value may be written.

A form reads raw values, as files and Python give them, and says in a JSON Schema what they may
be. The tables of keys, of score functions, masks and normalisers name the form of each value, so
that a new key needs no reader of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.errors import Fault, InputError, KeyPath, collected
from attncli.forms.matrices import dotted, to_array, to_count, to_number, to_vector
from attncli.records import Record
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema, or a part of one."""


class Form(Record):
    """How a value is written: a base for all forms.

    Attributes:
        names_file: whether a text may be the name of a matrix file.
    """

    names_file: ClassVar[bool] = False

    def read(self, raw: object, path: KeyPath) -> object:
        """Return the value that is written.

        Args:
            raw: text, numbers, lists, mappings or arrays.
            path: the key, for messages.

        Raises:
            InputError: for what is not of this form.
        """
        raise NotImplementedError

    def schema(self) -> Schema:
        """Return what a JSON Schema says of it."""
        raise NotImplementedError

    def parts(self) -> Mapping[str, Form]:
        """Return the forms of a mapping's keys; nothing where it is no mapping."""
        return {}


class Text(Form):
    """Free text."""

    def read(self, raw: object, path: KeyPath) -> str:
        """Text, or a number as text."""
        if isinstance(raw, list | dict | np.ndarray):
            raise InputError(Fault(f"{dotted(path)} must be text", path))
        return str(raw)

    def schema(self) -> Schema:
        """A string."""
        return {"type": "string"}


class Labels(Form):
    """A list of words."""

    def read(self, raw: object, path: KeyPath) -> tuple[str, ...]:
        """A list, or words parted by blanks or commas."""
        if isinstance(raw, str):
            raw = raw.replace(",", " ").split()
        if isinstance(raw, np.ndarray):
            raw = raw.tolist()
        if not isinstance(raw, list | tuple):
            raise InputError(Fault(f"{dotted(path)} must be a list of words", path))
        return tuple(Text().read(item, (*path, index)) for index, item in enumerate(raw))

    def schema(self) -> Schema:
        """Words of any kind, or one text."""
        words = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}
        return {"anyOf": [words, {"type": "string"}]}


class Choice(Form):
    """One of several words."""

    choices: tuple[str, ...]

    def read(self, raw: object, path: KeyPath) -> str:
        """One of the words."""
        word = Text().read(raw, path)
        if word not in self.choices:
            message = f"unknown {dotted(path)} {visible(word)}"
            raise InputError(Fault(message, path, did_you_mean(word, self.choices)))
        return word

    def schema(self) -> Schema:
        """The words."""
        return {"enum": list(self.choices)}


class Truth(Form):
    """Yes or no."""

    def read(self, raw: object, path: KeyPath) -> bool:
        """Any pair of words that YAML has had for it."""
        word = str(raw).lower()
        if word not in ("true", "false", "yes", "no", "on", "off", "1", "0"):
            message = f"{dotted(path)} must be true or false, not {visible(word)}"
            raise InputError(Fault(message, path))
        return word in ("true", "yes", "on", "1")

    def schema(self) -> Schema:
        """A boolean."""
        return {"type": "boolean"}


class Count(Form):
    """A whole number, of at least `least` where that is given."""

    least: int | None = 1

    def read(self, raw: object, path: KeyPath) -> int:
        """A whole number, or an expression that is one."""
        return to_count(raw, path, self.least)

    def schema(self) -> Schema:
        """An integer."""
        return {"type": "integer"} | ({} if self.least is None else {"minimum": self.least})


class Number(Form):
    """A number greater than `above`."""

    above: int = 0

    def read(self, raw: object, path: KeyPath) -> float:
        """A number, or an expression."""
        value = to_number(raw, path)
        if value <= self.above:
            raise InputError(Fault(f"{dotted(path)} must be greater than {self.above}", path))
        return value

    def schema(self) -> Schema:
        """As `DEFINITIONS` has it."""
        return {"$ref": "#/$defs/number"}


class ArrayForm(Form):
    """What becomes an array: a base for matrices and vectors.

    Attributes:
        stack: what an axis before its own is: "batch", "head" or "either"; "" where there is none.
        broadcasts: whether an axis of size 1 stands for any size.
        axes: how many axes are its own.
    """

    stack: str = ""
    broadcasts: bool = False
    axes: ClassVar[int] = 2
    names_file = True


class Matrix(ArrayForm):
    """A matrix, or a stack of matrices; `infinite` tells whether −∞ is a value."""

    infinite: bool = False

    def read(self, raw: object, path: KeyPath) -> Array:
        """Nested lists, a text block, an array."""
        return to_array(raw, path, self.infinite)

    def schema(self) -> Schema:
        """As `DEFINITIONS` has it."""
        return {"$ref": "#/$defs/matrix"}


class Vector(ArrayForm):
    """A vector, or a stack of vectors."""

    axes = 1

    def read(self, raw: object, path: KeyPath) -> Array:
        """A flat list, a matrix of one row or one column, or one of these a place of the stack."""
        return to_array(raw, path) if self.stack and _is_stack(raw) else to_vector(raw, path)

    def schema(self) -> Schema:
        """As `DEFINITIONS` has it."""
        return {"$ref": "#/$defs/vector"}


DEFINITIONS: dict[str, Schema] = {
    "number": {
        "type": ["number", "string"],
        "description": "a number, a fraction 1/3, or an expression such as sqrt(2)",
    },
    "vector": {
        "anyOf": [{"type": "array", "items": Number().schema()}, {"type": "string"}],
    },
    "matrix": {
        "description": "nested lists, a text block with one row a line, or a file's name",
        "anyOf": [{"type": "array"}, {"type": "string"}],
    },
}
"""What stands once in a schema and is referred to."""


def known_parts(
    raw: Mapping[str, object], path: KeyPath, known: Collection[str]
) -> dict[str, object]:
    """Return a mapping without what is None.

    Raises:
        InputError: for a key that is not known.
    """
    for key in raw:
        if key not in known:
            message = f"unknown key {visible(str(key))} in {dotted(path)}"
            raise InputError(Fault(message, (*path, str(key)), did_you_mean(str(key), known)))
    return {key: part for key, part in raw.items() if part is not None}


def read_parts(
    raw: Mapping[str, object], path: KeyPath, forms: Mapping[str, Form], faults: list[Fault]
) -> dict[str, object]:
    """Return what the keys of a mapping hold, each read by its form; note every fault."""
    result: dict[str, object] = {}
    for key, part in raw.items():
        with collected(faults):
            result[key] = forms[key].read(part, (*path, key))
    return result


def schema_of_parts(forms: Mapping[str, Form]) -> Schema:
    """Return the schema of a mapping of these keys and no others."""
    properties = {key: form.schema() for key, form in forms.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _is_stack(raw: object) -> bool:
    if isinstance(raw, np.ndarray):
        return raw.ndim == 2 and 1 not in raw.shape
    rows = raw if isinstance(raw, list | tuple) else []
    return len(rows) > 1 and all(isinstance(row, list | tuple) and len(row) > 1 for row in rows)
