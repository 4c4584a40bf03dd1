"""The forms in which a value may be written: each reads raw values and has its JSON Schema."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, TypeAlias

from attncli.core import errors
from attncli.core.errors import Fault, InputError, KeyPath, collected, fail, refuse
from attncli.core.numbers import written
from attncli.core.numbers.other_words import OTHER_WORDS, import_named, plain, way_out
from attncli.core.numbers.written import LARGEST_COUNT, TRUTHS, dotted, in_any_case, to_number
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import all_of, visible

Schema: TypeAlias = dict[str, Any]

MATRIX_SUFFIXES = (".csv", ".tsv", ".txt", ".npy", ".xlsx")


SOME_KEYS = "Mapping[str, object]"
"""The type of what is written as a mapping, for type checkers."""

TYPES_OF_MAPPINGS = "Mapping[str, Any]", f"{SOME_KEYS} | None"


class Form(Record, eq=False):
    """How a value is written."""

    read: Callable[[object, KeyPath], Any]  # takes what is written, and the key for messages
    kinds: tuple[Schema, ...] = ()  # the schemas of values of this form, without mappings
    parts: Callable[[], Mapping[str, Form]] = dict  # the forms of its keys, where it is a mapping
    names_file: bool = False  # whether a text may be the name of a matrix file
    either: tuple[str, ...] = ()  # keys of which exactly one is given
    needs: tuple[str, ...] = ()  # keys that are required
    types: tuple[str, str] = ("Any", "object")  # of a value, and of what may be written

    def schema(self) -> Schema:
        parts = self.parts()
        mappings = [schema_of(parts, self.needs, self.either)] if parts else []
        return any_of([*self.kinds, *mappings])

    def words(self) -> list[str]:
        """Return the words to choose from; none if any text will do."""
        return [word for kind in self.kinds for word in kind.get("enum", ())]


class ArrayForm(Form):
    """The form of a value that becomes an array."""

    axes: int = 2  # how many axes are its own: 2 for a matrix, 1 for a vector
    stack: str = ""  # what an axis before these is, if there may be: "batch", "head", "either"
    broadcasts: bool = False  # whether an axis of size 1 fits any size
    is_weight: bool = False  # whether programs store it (out, in), as weights_as can say
    names_file: bool = True
    types: tuple[str, str] = ("Array", "MatrixLike")


def any_of(kinds: Sequence[Schema]) -> Schema:
    flat = [one for kind in kinds for one in (kind["anyOf"] if [*kind] == ["anyOf"] else [kind])]
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def or_nothing(schema: Schema) -> Schema:
    """Return a schema that also takes null, with which a key is left out.

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


def schema_of(
    parts: Mapping[str, Form], required: Collection[str] = (), either: Sequence[str] = ()
) -> Schema:
    """Return the schema of a mapping by the forms of its keys; it has exactly one of `either`."""
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": {}}
    for key, form in parts.items():
        schema["properties"][key] = form.schema() if key in required else or_nothing(form.schema())
    if required:
        schema["required"] = [*required]
    if either:
        is_given = {"not": NOTHING}
        schema["oneOf"] = [{"required": [key], "properties": {key: is_given}} for key in either]
    return schema


def listed(items: Schema, depth: int = 1) -> Schema:
    for _ in range(depth):
        items = {"type": "array", "minItems": 1, "items": items}
    return items


def described(description: str, *kinds: Schema) -> Schema:
    return {"description": description, "anyOf": [*kinds]}


def in_one_line(cell: Schema) -> tuple[Schema, ...]:
    """Return the schemas of a vector as lists: flat, as one row, as one column."""
    row = listed(cell)
    return row, listed(row) | {"maxItems": 1}, listed(row | {"maxItems": 1})


def whole_number(least: int | None, most: int = LARGEST_COUNT) -> Schema:
    """Return the schema of a whole number from `least`, or −`most`, to `most`."""
    lowest = -most if least is None else least
    return any_of([{"type": "integer", "minimum": lowest, "maximum": most}, WRITTEN])


NOTHING: Schema = {"type": "null"}
STRING: Schema = {"type": "string"}
ANY_WORD: Schema = {"type": ["string", "number", "boolean"]}
LIST_OF_WORDS: Schema = {"type": "array", "items": or_nothing(ANY_WORD)}
TEXT_OR_NUMBER: Schema = {"type": ["string", "number"]}  # a matrix of one number at least

NUMBER: Schema = {"$ref": "#/$defs/number"}
WRITTEN: Schema = {"$ref": "#/$defs/written"}
ROW: Schema = {"$ref": "#/$defs/row"}
BIT: Schema = {"$ref": "#/$defs/bit"}
TEXT_ROW: Schema = STRING | {"pattern": rf"^[( ]*{written.SEVERAL}[) ]*$"}
TEXT_ROWS: Schema = {"$ref": "#/$defs/rows_of_text"}
BITS: tuple[Schema, ...] = ({"$ref": "#/$defs/zeros_and_ones"},)
VECTOR: tuple[Schema, ...] = ({"$ref": "#/$defs/vector"},)
ROWS_OF_NUMBERS: tuple[Schema, ...] = (*VECTOR, listed(NUMBER, 2))
STACKS: dict[str, tuple[Schema, ...]] = {
    "": ({"$ref": "#/$defs/matrix"},),
    "batch": ({"$ref": "#/$defs/stack"},),
    "head": ({"$ref": "#/$defs/stack"},),
    "either": ({"$ref": "#/$defs/stacks"},),
}
"""How a matrix is written, by what an axis before its own may be."""

YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
TRUTH_WORDS = STRING | {"pattern": rf"^\s*({'|'.join(map(in_any_case, (*YES, *NO)))})\s*$"}

DEFINITIONS: dict[str, Schema] = {
    "written": {
        "description": "a number as a text: a fraction 1/3, or an expression such as sqrt(2)",
        "type": "string",
        "pattern": written.of_number(),
    },
    "truth": described("true or false", {"type": "boolean"}, {"enum": [0, 1]}, TRUTH_WORDS),
    "number": described("a number, also as a text", {"type": "number"}, WRITTEN),
    "row": listed(NUMBER),
    "rows_of_text": listed({"anyOf": [TEXT_ROW, listed(TEXT_ROW) | {"maxItems": 1}]}),
    "vector": described(
        "a list of numbers, a text of them, or a file's name",
        TEXT_OR_NUMBER,
        *in_one_line(NUMBER),
        TEXT_ROWS,
    ),
    "matrix": described(
        "rows of numbers, a text block with one row per line, or a file's name",
        TEXT_OR_NUMBER,
        ROW,
        listed(ROW),
        TEXT_ROWS,
    ),
    "stack": described("a matrix, or a list of matrices", *STACKS[""], listed(ROW, 2)),
    "stacks": described(
        "a matrix, a list of matrices, or a list of such lists", *STACKS["batch"], listed(ROW, 3)
    ),
    "bit": described(
        "0 or 1, also as a word or an expression", {"enum": [0, 1, True, False, *TRUTHS]}, WRITTEN
    ),
    "zeros_and_ones": described(
        "a matrix of 0 and 1, or lists of matrices",
        {"enum": [0, 1]},
        TEXT_ROWS,
        *(listed(BIT, depth) for depth in range(1, 5)),
    ),
}
"""The parts of a schema to which others refer."""


def _is_array(raw: object) -> bool:
    numpy = sys.modules.get("numpy")  # imported by the code that made an array, if there is one
    return numpy is not None and isinstance(raw, numpy.ndarray)


def as_text(raw: object, path: KeyPath) -> str:
    if isinstance(raw, list | dict) or _is_array(raw):
        raise fail(f"{dotted(path)} must be text", *path)
    return str(raw)


def _labels(raw: Any, path: KeyPath) -> tuple[str, ...]:
    words = raw.replace(",", " ").split() if isinstance(raw, str) else raw
    words = raw.tolist() if _is_array(raw) else words
    if not isinstance(words, list | tuple):
        raise fail(f"{dotted(path)} must be a list of words", *path)
    return tuple(as_text(item, (*path, index)) for index, item in enumerate(words))


def _truth(raw: object, path: KeyPath) -> bool:
    word = str(raw).strip().lower()
    if word not in (*YES, *NO):
        raise fail(f"{dotted(path)} must be true or false, not {visible(word)}", *path)
    return word in YES


TEXT = Form(as_text, (ANY_WORD,), types=("str", "NumberLike"))
LABELS = Form(_labels, (LIST_OF_WORDS, ANY_WORD), types=("tuple[str, ...]", "Words"))
TRUTH = Form(_truth, ({"$ref": "#/$defs/truth"},), types=("bool", "bool | str | None"))


class Choice(Form):
    """The form of one of several words, which may be the keys of a table."""

    known: Callable[[], Collection[str]] = tuple
    types: tuple[str, str] = ("str", "str | None")

    def words(self) -> list[str]:
        return [*self.known()]

    def schema(self) -> Schema:
        words = self.words()
        others = [other for other, word in OTHER_WORDS.items() if word in words]
        return any_of([{"enum": words}, *map(_in_other_words, others)])


def _in_other_words(word: str) -> Schema:
    pattern = in_any_case(word).replace("_", r"[\s_-]+")
    return STRING | {"pattern": rf"^\s*{pattern}([\s_-]+{in_any_case('attention')})?\s*$"}


def choice(words: Collection[str] | Callable[[], Collection[str]]) -> Choice:
    """Return the form of one of some words, or of those that a function looks up when needed."""
    look_up = words if callable(words) else lambda: words

    def read(raw: object, path: KeyPath) -> str:
        word, known = as_text(raw, path), look_up()
        if word in known:
            return word
        other = OTHER_WORDS.get(plain(word).removesuffix("_attention"), "")
        if other in known:
            return other
        if not isinstance(words, tuple | list) and import_named(word) and word in look_up():
            return word
        message = f"unknown {dotted(path)} {visible(word)}"
        raise fail(message, *path, hint=other if " " in other else way_out(word, known))

    return Choice(read, known=look_up)


def count(least: int | None = 1, most: int = LARGEST_COUNT) -> Form:
    """Return the form of a whole number of at most `most`, and of at least `least` where given."""
    read = partial(written.to_count, least=least, most=most)
    return Form(read, (whole_number(least, most),), types=("int", "NumberLike"))


def number(above: int = 0, most: int | None = None, or_equal: bool = False) -> Form:
    """Return the form of a number greater than `above`, of at most `most` where it is given."""

    def read(raw: object, path: KeyPath) -> float:
        value = to_number(raw, path)
        if value < above or (value == above and not or_equal):
            least = f"at least {above}" if or_equal else f"greater than {above}"
            message = f"{dotted(path)} must be {least}"
            raise fail(message, *path, needs="values")
        if most is not None and value > most:
            raise fail(f"{dotted(path)} must be at most {most:,}", *path, needs="values")
        return value

    bounds = {"minimum" if or_equal else "exclusiveMinimum": above}
    bounds |= {} if most is None else {"maximum": most}
    schema = any_of([{"type": "number"} | bounds, WRITTEN])
    return Form(read, (schema,), types=("float", "NumberLike"))


@lru_cache
def matrix(stack: str = "", broadcasts: bool = False, infinite: bool = False) -> ArrayForm:
    """Return the form of a matrix or a stack of matrices; `infinite` allows −∞."""

    def read(raw: object, path: KeyPath) -> Any:
        from attncli.core.numbers.matrices import to_array

        return to_array(raw, path, infinite)

    return ArrayForm(read, STACKS[stack], stack=stack, broadcasts=broadcasts)


@lru_cache
def weight(stack: str = "") -> ArrayForm:
    """Return the form of a matrix of weights, used as X W."""
    return replace(matrix(stack), is_weight=True)


@lru_cache
def vector(stack: str = "", broadcasts: bool = False, infinite: bool = False) -> ArrayForm:
    """Return the form of a vector; with a stack, also of several, written as a matrix."""

    def read(raw: object, path: KeyPath) -> Any:
        from attncli.core.numbers.matrices import to_vector

        try:
            return to_vector(raw, path, infinite, several=bool(stack))
        except InputError:
            if broadcasts:  # one number, of which an expression may have blanks
                with suppress(InputError):
                    return to_vector(to_number(raw, path), path, infinite)
            raise

    kinds = STACKS[""] if stack else VECTOR
    return ArrayForm(read, kinds, axes=1, stack=stack, broadcasts=broadcasts)


def known_parts(
    raw: Mapping[str, object], path: KeyPath, known: Collection[str]
) -> dict[str, object]:
    """Return a mapping without its Nones; refuse unknown keys."""
    faults = list[Fault]()
    for key in (key for key in map(str, raw) if key not in known):
        message = f"unknown key {visible(key)} in {dotted(path)}"
        hint = way_out(key, known) if len(faults) < errors.MAX_SHOWN_FAULTS else ""
        faults.append(Fault(message, (*path, key), hint))
    refuse(faults)
    return {key: part for key, part in raw.items() if part is not None}


def read_parts(
    raw: Mapping[str, object],
    path: KeyPath,
    forms: Mapping[str, Form],
    faults: Collection[Fault] = (),
) -> dict[str, object]:
    """Return the values of a mapping's keys, each read by its form; refuse all faults together."""
    values, every = {}, [*faults]
    for key, part in raw.items():
        with collected(every):
            values[key] = forms[key].read(part, (*path, key))
    refuse(every)
    return values


def mapping(
    parts: Mapping[str, Form],
    such_as: str,
    needs: tuple[str, ...] = (),
    either: tuple[str, ...] = (),
    beside: Mapping[str, tuple[str, ...]] = EMPTY,
) -> Form:
    """Return the form of a mapping of some of these parts, of those that it `needs` at least.

    It has exactly one part of `either`, and those that another part needs `beside` it.
    """

    def read(raw: object, path: KeyPath) -> dict[str, object]:
        hint = f"write {such_as}"
        if not isinstance(raw, Mapping):
            raise fail(f"{dotted(path)} must be a mapping", *path, hint=hint)
        known = known_parts(raw, path, parts)
        if missing := [key for key in needs if key not in known]:
            raise fail(f"{dotted(path)} needs {' and '.join(missing)}", *path, hint=hint)
        for key in known:
            others = beside.get(key, ())
            if missing := [one for one in others if known.keys().isdisjoint(one.split(" or "))]:
                raise fail(f"{dotted((*path, key))} needs {all_of(missing)}", *path, key, hint=hint)
        if either and sum(key in known for key in either) != 1:
            raise fail(f"{dotted(path)} needs either {' or '.join(either)}", *path, hint=hint)
        return read_parts(known, path, parts)

    return Form(read, parts=lambda: parts, needs=needs, either=either, types=TYPES_OF_MAPPINGS)
