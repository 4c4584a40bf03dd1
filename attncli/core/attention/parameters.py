"""The open tables of attention, parameters of their rows, and the rules of a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import e
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from attncli.core.errors import KeyPath
from attncli.core.numbers.value_forms import Form, choice, matrix, number, vector
from attncli.core.records import EMPTY, Record

if TYPE_CHECKING:
    from attncli.core.arithmetic.elements import Array
    from attncli.core.attention.position_operations import ByPlace
    from attncli.core.formulas.tree import Formula

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
    """A parameter of a score function or a normaliser."""

    name: str  # its key
    shape: tuple[str, ...] = ()  # the names of its axes; empty for a number
    meaning: str = ""  # one line for `attn scores`
    default: float | str | None = None  # what it is when left out; None for nothing
    required: bool = False  # whether it must be written
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
"""The keys that every normaliser takes beside its parameters."""


class Normalize(Record):
    """How to normalise: which function, along which axis, and its numbers."""

    name: str = "softmax"  # a key of `NORMALIZERS`
    temperature: float = 1.0  # positive; the scores are divided by it first
    base: float = e  # greater than 1; what softmax raises to the power of the scores
    axis: str = "keys"  # "keys" (each row) or "queries" (each column)
    parameters: Mapping[str, Any] = EMPTY  # those of the normaliser

    @property
    def along(self) -> int:
        """The axis of the arrays of the calculation, (…, queries, keys)."""
        return -1 if self.axis == "keys" else -2


def settings_of(read: Mapping[str, object]) -> Normalize:
    """Return the settings that the key `normalize` holds."""
    values: dict[str, Any] = {
        k: e if isinstance(part, str) and part == "e" else part for k, part in read.items()
    }
    parameters = {key: values.pop(key) for key in read if key not in Normalize.fields}
    return Normalize(**values, parameters=parameters)


class Factor(Record):
    """The factor of the scores, times / over as for `Scale`, and its formula."""

    times: float
    over: float
    symbol: Formula
    value: Formula | None = None


class Rules(Record, eq=False):
    """How scores come about and become weights; arrays are (batch, head, row, column)."""

    score: str = "scaled_dot"  # a key of `SCORES`
    parameters: Mapping[str, Array | float] = EMPTY  # those of the score function
    scale: Factor | None = None  # None where it is 1
    softcap: float | None = None  # c of c·tanh(s/c), or None
    bias: Array | None = None  # added to the scores, broadcasting to (batch, head, n, m), or None
    mask: Mapping[str, Any] = EMPTY  # what may be attended to
    normalize: Normalize = Normalize()  # how scores become weights
    qk_norm: Mapping[str, Any] = EMPTY  # the norm of queries and keys, and its parameters
    positions: Mapping[str, Any] = EMPTY  # parameters by the rows of `POSITIONS`, and arrays
    by_place: tuple[ByPlace, ...] = ()  # what is added to the scores beside the bias
