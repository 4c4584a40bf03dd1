"""The forms in which a value may be written: each reads raw values and has its JSON Schema.

The tables of keys, of score functions, masks and normalisers name the form of each value, so
that a new key needs no reader of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.errors import Fault, KeyPath, collected, fail, refuse
from attncli.forms.matrices import dotted, to_array, to_count, to_number, to_vector
from attncli.records import Record
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema, or a part of one."""


class Form(Record):
    """How a value is written.

    `read` takes what is written (text, numbers, lists, mappings, arrays) and the key, for
    messages; it returns the value, or raises an InputError for what is not of this form. A name
    alone stands for a mapping that has a key `name`.
    """

    read: Callable[[object, KeyPath], Any]
    kinds: tuple[Schema, ...] = ()  # what a JSON Schema says that it may be, a mapping apart
    parts: Callable[[], Mapping[str, Form]] = dict  # the forms of its keys, where it is a mapping
    names_file: bool = False  # whether a text may be the name of a matrix file

    def schema(self) -> Schema:
        """Return its part of a JSON Schema."""
        parts = {key: form.schema() for key, form in self.parts().items()}
        mapping = {"type": "object", "properties": parts, "additionalProperties": False}
        found = [*self.kinds, *([mapping] if parts else [])]
        found[:0] = [parts["name"]] if "name" in parts else []
        return found[0] if len(found) == 1 else {"anyOf": found}


class ArrayForm(Form):
    """The form of what becomes an array."""

    axes: int = 2  # how many axes are its own: 2 for a matrix, 1 for a vector
    stack: str = ""  # what an axis before these is, if there may be: "batch", "head", "either"
    broadcasts: bool = False  # whether an axis of size 1 stands for any size
    names_file: bool = True


def as_text(raw: object, path: KeyPath) -> str:
    """Return text, also of a number; raise an InputError for lists, mappings and arrays."""
    if isinstance(raw, list | dict | np.ndarray):
        raise fail(f"{dotted(path)} must be text", *path)
    return str(raw)


def _labels(raw: object, path: KeyPath) -> tuple[str, ...]:
    words = raw.replace(",", " ").split() if isinstance(raw, str) else raw
    words = words.tolist() if isinstance(words, np.ndarray) else words
    if not isinstance(words, list | tuple):
        raise fail(f"{dotted(path)} must be a list of words", *path)
    return tuple(as_text(item, (*path, index)) for index, item in enumerate(words))


def _truth(raw: object, path: KeyPath) -> bool:
    word = str(raw).lower()
    if word not in ("true", "false", "yes", "no", "on", "off", "1", "0"):
        raise fail(f"{dotted(path)} must be true or false, not {visible(word)}", *path)
    return word in ("true", "yes", "on", "1")


def _vector_or_stack(raw: object, path: KeyPath) -> Array:
    rows = raw if isinstance(raw, list | tuple) else []
    is_stack = len(rows) > 1 and all(isinstance(r, list | tuple) and len(r) > 1 for r in rows)
    if isinstance(raw, np.ndarray):
        is_stack = raw.ndim == 2 and 1 not in raw.shape
    return to_array(raw, path) if is_stack else to_vector(raw, path)


def choice(words: Iterable[str]) -> Form:
    """One of several words."""
    known = tuple(words)

    def read(raw: object, path: KeyPath) -> str:
        word = as_text(raw, path)
        if word not in known:
            message = f"unknown {dotted(path)} {visible(word)}"
            raise fail(message, *path, hint=did_you_mean(word, known))
        return word

    return Form(read, ({"enum": list(known)},))


def count(least: int | None = 1) -> Form:
    """A whole number, of at least `least` where that is given."""
    bound = {} if least is None else {"minimum": least}
    return Form(partial(to_count, least=least), ({"type": "integer"} | bound,))


def number(above: int = 0) -> Form:
    """A number greater than `above`."""

    def read(raw: object, path: KeyPath) -> float:
        value = to_number(raw, path)
        if value <= above:
            raise fail(f"{dotted(path)} must be greater than {above}", *path)
        return value

    return Form(read, ({"$ref": "#/$defs/number"},))


def matrix(stack: str = "", broadcasts: bool = False, infinite: bool = False) -> ArrayForm:
    """A matrix or a stack of matrices; `infinite` tells whether −∞ is a value."""
    read = partial(to_array, infinite=infinite)
    return ArrayForm(read, MATRIX, stack=stack, broadcasts=broadcasts)


def vector(stack: str = "") -> ArrayForm:
    """A vector, or where there is a stack, one a place of it."""
    return ArrayForm(_vector_or_stack if stack else to_vector, VECTOR, axes=1, stack=stack)


MATRIX: tuple[Schema, ...] = ({"$ref": "#/$defs/matrix"},)
VECTOR: tuple[Schema, ...] = ({"$ref": "#/$defs/vector"},)
STRING: Schema = {"type": "string"}
WORDS: Schema = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}

TEXT = Form(as_text, (STRING,))
LABELS = Form(_labels, (WORDS, STRING))
TRUTH = Form(_truth, ({"type": "boolean"},))

DEFINITIONS: dict[str, Schema] = {
    "number": {
        "type": ["number", "string"],
        "description": "a number, a fraction 1/3, or an expression such as sqrt(2)",
    },
    "vector": {"anyOf": [{"type": "array", "items": number().schema()}, STRING]},
    "matrix": {
        "description": "nested lists, a text block with one row a line, or a file's name",
        "anyOf": [{"type": "array"}, STRING],
    },
}
"""What stands once in a schema and is referred to."""


def known_parts(
    raw: Mapping[str, object], path: KeyPath, known: Collection[str]
) -> dict[str, object]:
    """Return a mapping without what is None; raise an InputError for a key that is not known."""
    for key in raw:
        if key not in known:
            message = f"unknown key {visible(str(key))} in {dotted(path)}"
            raise fail(message, *path, str(key), hint=did_you_mean(str(key), known))
    return {key: part for key, part in raw.items() if part is not None}


def read_parts(
    raw: Mapping[str, object],
    path: KeyPath,
    forms: Mapping[str, Form],
    faults: Collection[Fault] = (),
) -> dict[str, object]:
    """Return what the keys of a mapping hold, each read by its form.

    It raises an InputError of all that is not of its form, together with earlier faults.
    """
    found, every = {}, [*faults]
    for key, part in raw.items():
        with collected(every):
            found[key] = forms[key].read(part, (*path, key))
    refuse(every)
    return found
