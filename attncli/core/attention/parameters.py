"""The open tables of attention, parameters of their rows, and settings that normalisers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import e
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from attncli.core.errors import KeyPath
from attncli.core.numbers.form import Form, choice, matrix, number, vector
from attncli.core.records import EMPTY, Record

AXES = ("keys", "queries")

Row = TypeVar("Row")
Function = TypeVar("Function", bound=Callable[..., Any])
Fields = ParamSpec("Fields")


class Table(dict[str, Row], Generic[Function, Row, Fields]):
    """An open table: a row of one kind by each name, in the order in which they were added."""

    def __init__(self, kind: Callable[Concatenate[Function, Fields], Row]) -> None:
        super().__init__()
        self.kind = kind

    def row(
        self, name: str, *fields: Fields.args, **named: Fields.kwargs
    ) -> Callable[[Function], Function]:
        """Return a decorator that adds a row: the function, and then these fields."""

        def add(function: Function) -> Function:
            self[name] = self.kind(function, *fields, **named)
            return function

        return add


class Parameter(Record):
    """A score function's or a normaliser's own parameter."""

    name: str  # its key
    shape: tuple[str, ...] = ()  # the names of its axes; empty for a number
    meaning: str = ""  # one line for `attn scores`
    default: float | str | None = None  # what it is when left out; None for nothing
    required: bool = False  # whether it must be given
    number: Form = number()  # the form of a parameter without a shape
    vector: Form = vector()  # the form of a parameter of one axis

    @property
    def form(self) -> Form:
        """How it is written: a number, a vector or a matrix, by its number of axes."""
        return (self.number, self.vector, matrix())[len(self.shape)]


def _base(raw: object, path: KeyPath) -> float | str:
    """Return the base of softmax; the letter e stays a letter."""
    return "e" if isinstance(raw, str) and raw.strip() == "e" else number(above=1).read(raw, path)


SETTINGS: dict[str, Form] = {
    "temperature": number(),
    "base": Form(_base, number(above=1).kinds),
    "axis": choice(AXES),
}
"""The keys that every normaliser takes beside its own parameters."""


class Normalize(Record):
    """How to normalise: which function, along which axis, and its numbers."""

    name: str = "softmax"  # a key of `NORMALIZERS`
    temperature: float = 1.0  # positive; the scores are divided by it first
    base: float = e  # greater than 1; what softmax raises to the power of the scores
    axis: str = "keys"  # "keys" (each row) or "queries" (each column)
    parameters: Mapping[str, Any] = EMPTY  # the normaliser's own

    @property
    def along(self) -> int:
        """The axis of the arrays of the calculation, (…, queries, keys)."""
        return -1 if self.axis == "keys" else -2


def settings_of(read: Mapping[str, object]) -> Normalize:
    """Return the settings that the key `normalize` holds."""
    values: dict[str, Any] = {
        k: e if isinstance(part, str) and part == "e" else part for k, part in read.items()
    }
    own = {key: values.pop(key) for key in read if key not in Normalize.fields}
    return Normalize(**values, parameters=own)
