"""Numbers that are added to the scores by the places of query and key.

Each rule gives its numbers for a part of the scores, so that tiles need no n × m numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import floor, log2
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, filled
from attncli.core.errors import fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text
from attncli.core.numbers.parser import parse
from attncli.core.numbers.written import WORK, NumberAsWritten, operation_of
from attncli.core.numbers.written import evaluate as number_of
from attncli.core.records import EMPTY, Record
from attncli.core.tape.operations import constant, joined
from attncli.core.tape.step import Derivatives, Expression, Operation
from attncli.core.tape.walk import array_of

ON_ARRAYS = WORK | {"^": np.power, "sqrt": np.sqrt, "exp": np.exp}

ALIBI = parse("-slope*abs(i - j)", ("slope", "i", "j"))


def on_arrays(formula: tree.Formula, names: Mapping[str, Any]) -> Any:
    """Return the values of an expression in which names are arrays."""
    if isinstance(formula, tree.Number | tree.Name):
        return names[text(formula)] if text(formula) in names else number_of(formula)
    parts = [on_arrays(part, names) for part in tree.parts(formula)]
    work = ON_ARRAYS[operation_of(formula)]
    return work(*parts) if len(parts) == 1 else reduce(work, parts)


def slopes_of(heads: int) -> list[float]:
    """Return the published slopes; of 2^k heads 2^(−8h/2^k), for other numbers some between.

    >>> slopes_of(3)
    [0.0625, 0.00390625, 0.25]
    """
    power = 2 ** floor(log2(heads))
    between = [2.0 ** (-4 * h / power) for h in range(1, 2 * (heads - power), 2)]
    return [2.0 ** (-8 * h / power) for h in range(1, power + 1)] + between


class ByPlace(Record, eq=False):
    """A number for each head h, query i and key j: an expression, or one of a line of numbers."""

    formula: tree.Formula
    names: Mapping[str, Any] = EMPTY  # what other names are: a number, or one for each head
    line: Array | None = None  # by distance j − i, as far as there are any, (heads, 2k + 1)
    shift: int = 0  # the place of the first query among the keys
    key: str = ""  # of a table that the problem gives
    is_negligible: bool = False  # whether it only makes scores so small that they may vanish

    def at(self, head: int, rows: slice, keys: slice) -> Array:
        """Return what is added to some scores of a head, (rows, keys)."""
        if self.line is not None:
            zero = self.line.shape[1] // 2 - self.shift  # the place of j − i = 0
            first, stop = zero + keys.start - rows.stop + 1, zero + keys.stop - rows.start
            part = self.line[head, first:stop]
            windows = np.lib.stride_tricks.sliding_window_view(part, keys.stop - keys.start)
            return windows[::-1]  # a later query sees each key farther back
        i, j = (np.arange(part.start, part.stop) + 1.0 for part in (rows, keys))
        names = {"i": i[:, None], "j": j, "h": head + 1.0, **self.names}
        with np.errstate(all="ignore"):
            found = np.asarray(on_arrays(self.formula, names))
        if not np.isfinite(found).all():
            raise fail(f"bias {text(self.formula)} has no value for some i and j", "bias")
        return np.broadcast_to(found, (len(i), len(j)))

    def near(self, head: int, rows: slice, least: float) -> slice:
        """Return the keys to which more than `least` is added, for some queries."""
        assert self.line is not None  # or none are negligible
        places = np.flatnonzero(self.line[head] > least) - self.line.shape[1] // 2 + self.shift
        return slice(rows.start + int(places[0]), rows.stop + int(places[-1]))

    @property
    def most(self) -> float:
        """An upper bound of the magnitudes of the numbers, but for negligible ones."""
        if self.line is None:
            return np.inf
        return 0.0 if self.is_negligible else float(np.abs(self.line).max())

    def written(self, head: int, query: int, key: int) -> tree.Formula:
        """Return the formula of the number that is added to one score."""
        values = {"i": query + 1 + self.shift, "j": key + 1, "h": head + 1}
        values |= {name: np.ravel(x)[head * (np.size(x) > 1)] for name, x in self.names.items()}
        known = {name: tree.Number(f"{value:.17g}") for name, value in values.items()}
        return tree.substituted(
            self.formula,
            lambda part: known.get(text(part)) if isinstance(part, tree.Name) else None,
        )


class AddedByPlace(Operation):
    """Scores with what a rule gives for the places of query and key added."""

    operand: Expression
    rule: ByPlace
    why = "What is added tells keys that are near from keys that are far away."

    @property
    def note(self) -> tree.Formula | None:
        """`slope = 0.0625, 0.00390625`, one for each head."""
        for name, numbers in self.rule.names.items():
            if np.ndim(numbers):
                shown = tuple(map(constant, np.ravel(numbers)))
                return tree.Relation((tree.Name(name), tree.Listed(shown)))
        return None

    def apply(self, scores: Array) -> Array:
        """(…, heads, n, m) gives the same shape."""
        numbers = self.numbers(*scores.shape[1:])
        if scores.dtype.kind == "O":
            return filled(scores.shape, lambda at: self.worked(scores[at], numbers, at[1:]))
        return scores + (numbers.astype(scores.dtype) if scores.dtype.kind == "f" else numbers)

    def numbers(self, heads: int, n: int, m: int) -> Array:
        """Return what is added, (heads, n, m)."""
        return np.stack([self.rule.at(h, slice(0, n), slice(0, m)) for h in range(heads)])

    def worked(self, score: Any, numbers: Array, at: tuple[int, ...]) -> Any:
        """Return the sum, or the difference, of a score and a number that knows its formula."""
        number = float(numbers[at])
        formula = self.rule.written(*at)
        if isinstance(formula, tree.Minus):
            return score - NumberAsWritten(-number, formula.operand)
        return score + NumberAsWritten(number, formula)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, upstream

    def notation(self, columns: bool) -> tree.Formula:
        (scores,) = self.notations(columns)
        return tree.plus(scores, self.rule.formula)


class AtDistances(Operation):
    """The number of a table for the distance j − i of each query and key, within −k … k."""

    table: Expression
    size: tuple[int, int]  # number of queries, and of keys
    shift: int  # the place of the first query among the keys

    @property
    def which(self) -> Array:
        """The place in the table for each query and key, (n, m)."""
        (n, m), k = self.size, array_of(self.table).shape[-1] // 2
        distances = np.arange(m) - np.arange(n)[:, None] - self.shift
        which: Array = np.clip(distances, -k, k) + k
        return which

    def apply(self, table: Array) -> Array:
        """(1, heads, 1, 2k + 1) gives (1, heads, n, m)."""
        return table[..., 0, self.which]

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.table, SumOfDistances(upstream, self)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Phrase((*self.notations(columns), tree.Words("at"), parse("j - i", "ij")))


class SumOfDistances(Operation):
    """For each number of a table, the sum over the queries and keys to which it is added."""

    upstream: Expression
    added: AtDistances
    shape = "n m -> distance"

    def apply(self, upstream: Array) -> Array:
        which = self.added.which
        every = [which == place for place in range(array_of(self.added.table).shape[-1])]
        return joined([upstream[..., own].sum(axis=-1)[..., None, None] for own in every], -1)

    def notation(self, columns: bool) -> tree.Formula:
        where = tree.Phrase((tree.Words("summed over equal"), parse("j - i", "ij")))
        return tree.Phrase((*self.notations(columns), where))
