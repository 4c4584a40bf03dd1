"""What is added to the scores by the places of query and key: ALiBi, relative positions, formulas.

Each rule gives its numbers for a part of the scores, so that tiles need no n × m numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import floor, log2
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from attncli.arithmetic.elements import Array, filled
from attncli.errors import fail
from attncli.notation import tree
from attncli.notation.text import text
from attncli.notation.written import WORK, NumberAsWritten, operation_of
from attncli.notation.written import evaluate as number_of
from attncli.records import Record
from attncli.tape.operations import Add, constant
from attncli.tape.step import Derivatives, Expression, Operation
from attncli.tape.tape import Tape


class PlaceRule(Record, eq=False):
    """A rule for what is added to the score of a query and a key, by their places."""

    def at(self, head: int, rows: slice, keys: slice) -> Array:
        """Return what is added to some scores of a head, (rows, keys)."""
        raise NotImplementedError

    def most(self, n: int, m: int) -> float:
        """Return an upper bound of the magnitudes of n × m numbers, but for negligible ones."""
        return np.inf

    def added(self, tape: Tape, scores: Expression) -> Operation:
        return AddedByPlace(scores, self)

    def written(self, head: int, query: int, key: int) -> tree.Formula:
        """Return the formula of the number that is added to one score."""
        raise NotImplementedError

    @property
    def notation(self) -> tree.Formula:
        raise NotImplementedError


class ByDistance(PlaceRule):
    """A rule for which only j − i counts; the first query has the place `shift` among the keys."""

    shift: int
    is_own_seen: bool  # whether each query surely sees the key at its own place

    def of(self, head: int, distance: Array) -> Array:
        """Return the numbers for some distances j − i."""
        raise NotImplementedError

    def at(self, head: int, rows: slice, keys: slice) -> Array:
        first = keys.start - rows.stop + 1 - self.shift
        distances = np.arange(first, keys.stop - rows.start - self.shift)
        windows = sliding_window_view(self.of(head, distances), keys.stop - keys.start)
        return windows[::-1]


class Alibi(ByDistance):
    """−slope · |i − j| (Press et al. 2022, section 3)."""

    slopes: Array  # one for each head

    def of(self, head: int, distance: Array) -> Array:
        product: Array = -self.slopes[head] * np.abs(distance)
        return product

    def most(self, n: int, m: int) -> float:
        # Far keys may vanish if the nearest, from which nothing is subtracted, is seen.
        is_safe = self.is_own_seen and self.slopes.min() >= 0
        return 0.0 if is_safe else float(np.abs(self.slopes).max()) * (n + m + abs(self.shift))

    def written(self, head: int, query: int, key: int) -> tree.Formula:
        slope = float(self.slopes[head])
        top, bottom = slope.as_integer_ratio()
        shown = tree.Fraction(tree.Number(str(top)), tree.Number(str(bottom)), tight=True)
        distance = tree.Number(str(abs(key - query - self.shift)))
        factor = shown if 1 < bottom < 2**16 else constant(slope)
        return tree.Minus(tree.Times((factor, distance)))

    @property
    def notation(self) -> tree.Formula:
        i, j = tree.Name("i"), tree.Name("j")
        return tree.Minus(tree.Times((tree.Name("slope"), tree.Call("abs", (tree.minus(i, j),)))))


def slopes_of(heads: int) -> list[float]:
    """Return the published slopes; of 2^k heads 2^(−8h/2^k), for other numbers some between.

    >>> slopes_of(3)
    [0.0625, 0.00390625, 0.25]
    """
    power = 2 ** floor(log2(heads))
    between = [2.0 ** (-4 * h / power) for h in range(1, 2 * (heads - power), 2)]
    return [2.0 ** (-8 * h / power) for h in range(1, power + 1)] + between


class Relative(ByDistance):
    """A number from a table for each distance from −k to k; what is farther counts as k."""

    table: Array  # (1, heads or 1, 1, 2k + 1)

    def of(self, head: int, distance: Array) -> Array:
        return self.table[0, min(head, self.table.shape[1] - 1), 0, self.places(distance)]

    def places(self, distance: Array) -> Array:
        """Return the places of distances in the table."""
        k = self.table.shape[-1] // 2
        return np.clip(distance, -k, k) + k

    def most(self, n: int, m: int) -> float:
        return float(np.abs(self.table).max())

    def added(self, tape: Tape, scores: Expression) -> Operation:
        leading = ("head",) if self.table.shape[1] > 1 else ()
        key = "positions.table"
        given = tape.input_of(key) or tape.given(
            "table", self.table, ("distance",), leading, key=key
        )
        return Add(scores, LookedUp(given, scores, self))


class AddedByPlace(Operation):
    """Scores with what a rule gives for the places of query and key added."""

    operand: Expression
    rule: PlaceRule
    why = "What is added tells keys that are near from keys that are far away."

    def apply(self, scores: Array) -> Array:
        """(…, heads, n, m) gives the same shape."""
        _, heads, n, m = scores.shape
        made = [self.rule.at(head, slice(0, n), slice(0, m)) for head in range(heads)]
        numbers = np.stack(made)[None]
        if scores.dtype.kind == "O":
            return filled(scores.shape, lambda at: self.worked(scores[at], numbers, at))
        return scores + (numbers.astype(scores.dtype) if scores.dtype.kind == "f" else numbers)

    def worked(self, score: Any, numbers: Array, at: tuple[int, ...]) -> Any:
        """Return the sum, or the difference, of a score and a number that knows its formula."""
        number, formula = float(numbers[0, *at[1:]]), self.rule.written(*at[1:])
        if isinstance(formula, tree.Minus):
            return score - NumberAsWritten(-number, formula.operand)
        return score + NumberAsWritten(number, formula)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, upstream

    def notation(self, columns: bool) -> tree.Formula:
        (scores,) = self.notations(columns)
        return tree.plus(scores, self.rule.notation)


class LookedUp(Operation):
    """The number of a table for each query and key; the scores tell how many there are."""

    table: Expression
    scores: Expression
    rule: Relative

    @property
    def trailing(self) -> tuple[str, ...]:
        return self.scores.trailing

    @property
    def leading(self) -> tuple[str, ...]:
        return self.table.leading

    def apply(self, table: Array, scores: Array) -> Array:
        """(1, heads, 1, 2k + 1) gives (1, heads, n, m)."""
        return table[..., 0, self.rule.places(distances(scores, self.rule.shift))]

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.table, SummedByDistance(upstream, self.rule)

    def notation(self, columns: bool) -> tree.Formula:
        table, _ = self.notations(columns)
        return tree.Phrase((table, tree.Words("at"), tree.minus(tree.Name("j"), tree.Name("i"))))


class SummedByDistance(Operation):
    """For each distance the sum over the queries and keys that are so far apart."""

    operand: Expression
    rule: Relative
    trailing = ("distance",)

    def apply(self, upstream: Array) -> Array:
        """(…, n, m) gives (…, 1, 2k + 1)."""
        places = self.rule.places(distances(upstream, self.rule.shift))
        sizes = range(self.rule.table.shape[-1])
        sums = [(upstream * (places == d)).sum(axis=-1).sum(axis=-1)[..., None] for d in sizes]
        return np.concatenate(sums, axis=-1)[..., None, :]

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Phrase((*self.notations(columns), tree.Words("summed by j − i")))


def distances(scores: Array, shift: int) -> Array:
    n, m = scores.shape[-2:]
    return np.arange(m) - np.arange(n)[:, None] - shift


class Formulaic(PlaceRule):
    """A bias expression, in which `sizes` gives n, m and heads."""

    formula: tree.Formula
    sizes: Mapping[str, int]

    def at(self, head: int, rows: slice, keys: slice) -> Array:
        i, j = (np.arange(part.start, part.stop) + 1.0 for part in (rows, keys))
        with np.errstate(all="ignore"):
            found = on_grid(self.formula, {"i": i[:, None], "j": j, "h": head + 1.0, **self.sizes})
        numbers = np.broadcast_to(found, (len(i), len(j)))
        if not np.isfinite(numbers).all():
            row, column = np.argwhere(~np.isfinite(numbers))[0]
            place = f"i = {rows.start + row + 1}, j = {keys.start + column + 1}, h = {head + 1}"
            raise fail(f"bias {text(self.formula)} has no value for {place}", "bias")
        return numbers

    def written(self, head: int, query: int, key: int) -> tree.Formula:
        values = {"i": query + 1, "j": key + 1, "h": head + 1, **self.sizes}

        def rule(node: tree.Formula) -> tree.Formula | None:
            known = values.get(text(node)) if isinstance(node, tree.Name) else None
            return None if known is None else tree.Number(str(known))

        return tree.substituted(self.formula, rule)

    @property
    def notation(self) -> tree.Formula:
        return self.formula


ON_ARRAYS = WORK | {"^": np.power, "sqrt": np.sqrt, "exp": np.exp}


def on_grid(formula: tree.Formula, names: Mapping[str, Any]) -> Any:
    """Return the values of an expression for arrays of places."""
    if isinstance(formula, tree.Number | tree.Name):
        return names[text(formula)] if text(formula) in names else number_of(formula)
    parts = [on_grid(part, names) for part in tree.parts(formula)]
    work = ON_ARRAYS[operation_of(formula)]
    return work(*parts) if len(parts) == 1 else reduce(work, parts)
