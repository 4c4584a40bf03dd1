"""The open tables of attention, parameters of their rows, and the rules of a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import e, isfinite
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from attncli.core.errors import KeyPath, fail
from attncli.core.formulas.text import text as text_of
from attncli.core.formulas.tree import Formula, Fraction, Name, Number, Relation, substituted
from attncli.core.numbers.forms import Form, choice, matrix, number, vector
from attncli.core.numbers.parser import NumberError, parse
from attncli.core.numbers.written import NumberAsWritten, evaluate
from attncli.core.records import EMPTY, Record

if TYPE_CHECKING:
    from attncli.core.arithmetic.elements import Array
    from attncli.core.attention.position_operations import PositionBias

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


SCALE_NAMES = ("d_k", "d_v", "d_model", "n", "m")
"""The sizes that a scale expression may use."""


@lru_cache(maxsize=64)  # without it, a stream of small problems takes 1.2 times as long
def factor(text: str, **sizes: int) -> Factor | None:
    """Return the factor of a scale expression for these sizes; None if it is 1.

    A quotient stays a quotient, so that 1/sqrt(d_k) divides by √d_k with a single rounding.
    """
    names = {name: float(size) for name, size in sizes.items()}

    def with_sizes(formula: Formula) -> NumberAsWritten:
        return NumberAsWritten(evaluate(formula, names), _in_numbers(formula, sizes))

    try:
        symbol = parse(text, SCALE_NAMES)
        times, over = with_sizes(symbol), NumberAsWritten(1.0, Number("1"))
        if isinstance(symbol, Fraction) and isfinite(under := with_sizes(symbol.under)):
            times, over = with_sizes(symbol.over), under
            symbol = symbol.under if float(times) == 1 else symbol
        value = evaluate(symbol, names)
    except NumberError as error:
        raise fail(f"scale: {error}", "scale") from None
    if not isfinite(times / over):
        raise fail("scale must be finite", "scale")
    if times == over:
        return None
    rounded = f"{value:.4f}".rstrip("0").rstrip(".") if 1e-4 < abs(value) < 1e9 else f"{value:.4g}"
    chain = (symbol, _in_numbers(symbol, sizes), Number(rounded))
    distinct = {text_of(formula): formula for formula in chain}  # √d_k = √3 = 1.7321
    shown = Relation(tuple(distinct.values())) if len(distinct) > 1 else None
    return Factor(times, over, symbol, shown)


def _in_numbers(formula: Formula, sizes: Mapping[str, int]) -> Formula:
    def rule(node: Formula) -> Formula | None:
        word = text_of(node) if isinstance(node, Name) else ""
        return Number(str(sizes[word])) if word in sizes else None

    return substituted(formula, rule)


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
    by_place: tuple[PositionBias, ...] = ()  # what is added to the scores beside the bias
    tile: int = 0  # number of keys that softmax takes at a time; 0 for all at once
