"""The forms in which a value may be written: each reads raw values and has its JSON Schema.

The tables of keys, of score functions, masks and normalisers name the form of each value, so
that a new key needs no reader of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.errors import Fault, KeyPath, collected, fail, refuse
from attncli.forms.matrices import (
    LARGEST_COUNT,
    TRUTHS,
    dotted,
    to_array,
    to_count,
    to_number,
    to_vector,
)
from attncli.notation.pattern import in_any_case, of_number
from attncli.notation.written import SEVERAL
from attncli.records import Record
from attncli.text.escapes import visible
from attncli.text.suggestions import did_you_mean

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema, or a part of one."""


class Form(Record, eq=False):
    """How a value is written.

    `read` takes what is written (text, numbers, lists, mappings, arrays) and the key, for
    messages; it returns the value, or raises an InputError for what is not of this form. A name
    alone stands for a mapping that has a key `name`.
    """

    read: Callable[[object, KeyPath], Any]
    kinds: tuple[Schema, ...] = ()  # what a JSON Schema says that it may be, a mapping apart
    parts: Callable[[], Mapping[str, Form]] = dict  # the forms of its keys, where it is a mapping
    names_file: bool = False  # whether a text may be the name of a matrix file
    either: tuple[str, ...] = ()  # keys of which exactly one is given

    def schema(self) -> Schema:
        """Return its part of a JSON Schema."""
        parts = self.parts()
        return any_of([*self.kinds, *([schema_of(parts, either=self.either)] if parts else [])])

    def words(self) -> list[str]:
        """Return the words that there are to choose from, if there are."""
        return [word for kind in self.kinds for word in kind.get("enum", ())]


class ArrayForm(Form):
    """The form of what becomes an array."""

    axes: int = 2  # how many axes are its own: 2 for a matrix, 1 for a vector
    stack: str = ""  # what an axis before these is, if there may be: "batch", "head", "either"
    broadcasts: bool = False  # whether an axis of size 1 stands for any size
    names_file: bool = True


def any_of(kinds: Sequence[Schema]) -> Schema:
    """Return the schema of what is of one of several kinds, each of which may be several."""
    flat = [one for kind in kinds for one in (kind["anyOf"] if [*kind] == ["anyOf"] else [kind])]
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def or_nothing(schema: Schema) -> Schema:
    """Return a schema that also takes null: a key with nothing behind it is left out.

    >>> or_nothing({"type": "boolean"}), or_nothing({"$ref": "#/$defs/number"})
    ({'type': ['boolean', 'null']}, {'anyOf': [{'$ref': '#/$defs/number'}, {'type': 'null'}]})
    """
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], NOTHING]}
    if "enum" in schema:
        return schema | {"enum": [*schema["enum"], None]}
    if "type" not in schema:
        return {"anyOf": [schema, NOTHING]}
    types = schema["type"]
    return schema | {"type": [*([types] if isinstance(types, str) else types), "null"]}


def given(key: str) -> Schema:
    """Return the schema of mappings in which a key is given."""
    return {"required": [key], "properties": {key: {"not": NOTHING}}}


def schema_of(
    parts: Mapping[str, Form], required: Collection[str] = (), either: Sequence[str] = ()
) -> Schema:
    """Return the schema of a mapping: the forms of its keys, and which of them must be given.

    Of the keys in `either` it has exactly one.
    """
    found: Schema = {"type": "object", "additionalProperties": False, "properties": {}}
    for key, form in parts.items():
        found["properties"][key] = form.schema() if key in required else or_nothing(form.schema())
    if required:
        found["required"] = [*required]
    if either:
        found["oneOf"] = [*map(given, either)]
    return found


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
    word = str(raw).strip().lower()
    if word not in (*YES, *NO):
        raise fail(f"{dotted(path)} must be true or false, not {visible(word)}", *path)
    return word in YES


def _vector_or_stack(raw: object, path: KeyPath) -> Array:
    rows = raw if isinstance(raw, list | tuple) else []
    is_stack = len(rows) > 1 and all(isinstance(r, list | tuple) and len(r) > 1 for r in rows)
    if isinstance(raw, np.ndarray):
        is_stack = raw.ndim == 2 and 1 not in raw.shape
    return to_array(raw, path) if is_stack else to_vector(raw, path)


def choice(words: Iterable[str]) -> Form:
    """One of several words."""
    known = tuple(words)
    others = {other: word for other, word in OTHER_WORDS.items() if word in known}

    def read(raw: object, path: KeyPath) -> str:
        word = as_text(raw, path)
        plain = re.sub(r"[\s_-]+", "_", word.strip().lower()).removesuffix("_attention")
        word = others.get(plain, word)
        if word not in known:
            message = f"unknown {dotted(path)} {visible(word)}"
            hint = OTHER_WORDS.get(plain, "")
            raise fail(message, *path, hint=hint if " " in hint else did_you_mean(word, known))
        return word

    return Form(read, ({"enum": list(known)}, *map(_in_other_words, others)))


def _in_other_words(word: str) -> Schema:
    pattern = in_any_case(word).replace("_", r"[\s_-]+")
    return STRING | {"pattern": rf"^\s*{pattern}([\s_-]+{in_any_case('attention')})?\s*$"}


OTHER_WORDS = {
    "bahdanau": "additive",
    "dot_product": "dot",
    "scaled_dot_product": "scaled_dot",
    "mse": "mean_squared_error",
    "luong": "Luong et al. have three: write dot, general or concat",
    "seq2seq": "write kind: cross, X: the decoder's states (queries), memory: the encoder's (keys)",
}
"""What else people call a score function, a loss or a kind: the word for it, or a hint."""


def listed(items: Schema) -> Schema:
    """Return the schema of a list that is not empty."""
    return {"type": "array", "minItems": 1, "items": items}


def in_one_line(cell: Schema) -> tuple[Schema, ...]:
    """Return the schemas of a vector as lists: flat, as one row, as one column."""
    row = listed(cell)
    return row, listed(row) | {"maxItems": 1}, listed(row | {"maxItems": 1})


def whole_number(least: int | None, most: int = LARGEST_COUNT) -> Schema:
    """Return the schema of a whole number within bounds; −`most` is the least where none is."""
    lowest = -most if least is None else least
    return any_of([{"type": "integer", "minimum": lowest, "maximum": most}, WRITTEN])


def number_above(above: int, most: int | None = None) -> Schema:
    """Return the schema of a number greater than `above`, of at most `most` where there is one."""
    bounds = {"exclusiveMinimum": above} | ({} if most is None else {"maximum": most})
    return any_of([{"type": "number"} | bounds, WRITTEN])


def count(least: int | None = 1) -> Form:
    """A whole number, of at least `least` where that is given."""
    return Form(partial(to_count, least=least), (whole_number(least),))


def number(above: int = 0) -> Form:
    """A number greater than `above`."""

    def read(raw: object, path: KeyPath) -> float:
        value = to_number(raw, path)
        if value <= above:
            message = f"{dotted(path)} must be greater than {above}"
            raise fail(message, *path, needs="values")
        return value

    return Form(read, (number_above(above),))


def matrix(stack: str = "", broadcasts: bool = False, infinite: bool = False) -> ArrayForm:
    """A matrix or a stack of matrices; `infinite` tells whether −∞ is a value."""
    read = partial(to_array, infinite=infinite)
    return ArrayForm(read, STACKS[stack], stack=stack, broadcasts=broadcasts)


def vector(stack: str = "") -> ArrayForm:
    """A vector, or where there is a stack, one a place of it."""
    if stack:  # of vectors it is written as a matrix
        return ArrayForm(_vector_or_stack, STACKS[""], axes=1, stack=stack)
    return ArrayForm(to_vector, VECTOR, axes=1)


YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")

NOTHING: Schema = {"type": "null"}
STRING: Schema = {"type": "string"}
WORD: Schema = {"type": ["string", "number", "boolean"]}
WORDS: Schema = {"type": "array", "items": or_nothing(WORD)}
BLOCK: Schema = {"type": ["string", "number"]}
"""A matrix as a text, of one number at least."""

NUMBER: Schema = {"$ref": "#/$defs/number"}
WRITTEN: Schema = {"$ref": "#/$defs/written"}
ROW: Schema = {"$ref": "#/$defs/row"}
BIT: Schema = {"$ref": "#/$defs/bit"}
TEXT_ROW: Schema = STRING | {"pattern": rf"^[( ]*{SEVERAL}[) ]*$"}
TEXTS: Schema = {"$ref": "#/$defs/rows_of_text"}
VECTOR: tuple[Schema, ...] = ({"$ref": "#/$defs/vector"},)
MATRIX: tuple[Schema, ...] = ({"$ref": "#/$defs/matrix"},)
STACK: tuple[Schema, ...] = ({"$ref": "#/$defs/stack"},)
STACKS = {"": MATRIX, "batch": STACK, "head": STACK, "either": ({"$ref": "#/$defs/stacks"},)}
"""How a matrix is written, by what an axis before its own may be."""

BITS: tuple[Schema, ...] = ({"$ref": "#/$defs/zeros_and_ones"},)

TEXT = Form(as_text, (WORD,))
LABELS = Form(_labels, (WORDS, WORD))
TRUTH = Form(_truth, ({"$ref": "#/$defs/truth"},))

DEFINITIONS: dict[str, Schema] = {
    "written": {
        "description": "a number as a text: a fraction 1/3, or an expression such as sqrt(2)",
        "type": "string",
        "pattern": of_number(),
    },
    "truth": {
        "description": "true or false",
        "anyOf": [
            {"type": "boolean"},
            {"enum": [0, 1]},
            {"type": "string", "pattern": rf"^\s*({'|'.join(map(in_any_case, (*YES, *NO)))})\s*$"},
        ],
    },
    "number": {"description": "a number, also as a text", "anyOf": [{"type": "number"}, WRITTEN]},
    "row": listed(NUMBER),
    "rows_of_text": listed({"anyOf": [TEXT_ROW, listed(TEXT_ROW) | {"maxItems": 1}]}),
    "vector": {
        "description": "a list of numbers, a text of them, or a file's name",
        "anyOf": [BLOCK, *in_one_line(NUMBER), TEXTS],
    },
    "matrix": {
        "description": "rows of numbers, a text block with one row a line, or a file's name",
        "anyOf": [BLOCK, ROW, listed(ROW), TEXTS],
    },
    "stack": {
        "description": "a matrix, or a list of matrices",
        "anyOf": [*MATRIX, listed(listed(ROW))],
    },
    "stacks": {
        "description": "a matrix, a list of matrices, or a list of such lists",
        "anyOf": [*STACK, listed(listed(listed(ROW)))],
    },
    "bit": {
        "description": "0 or 1, also as a word or an expression",
        "anyOf": [{"enum": [0, 1, True, False, *TRUTHS]}, WRITTEN],
    },
    "zeros_and_ones": {
        "description": "a matrix of 0 and 1, or lists of matrices",
        "anyOf": [
            {"enum": [0, 1]},
            TEXTS,
            listed(BIT),
            listed(listed(BIT)),
            listed(listed(listed(BIT))),
            listed(listed(listed(listed(BIT)))),
        ],
    },
}
"""What stands once in a schema and is referred to."""


def known_parts(
    raw: Mapping[str, object], path: KeyPath, known: Collection[str]
) -> dict[str, object]:
    """Return a mapping without what is None; raise an InputError for a key that is not known."""
    faults = []
    for key in (key for key in map(str, raw) if key not in known):
        message = f"unknown key {visible(key)} in {dotted(path)}"
        faults.append(Fault(message, (*path, key), did_you_mean(key, known)))
    refuse(faults)
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
