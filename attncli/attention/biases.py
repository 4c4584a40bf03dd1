"""What is added to the scores by the places of query and key.

Each rule gives its numbers for a part of the scores, so that tiles need no n × m numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import floor, log2
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array, filled
from attncli.errors import fail
from attncli.notation import tree
from attncli.notation.parser import parse
from attncli.notation.text import text
from attncli.notation.written import WORK, NumberAsWritten, operation_of
from attncli.notation.written import evaluate as number_of
from attncli.records import EMPTY, Record
from attncli.tape.operations import Add, constant
from attncli.tape.step import Derivatives, Expression, Operation
from attncli.tape.tape import Tape

ON_ARRAYS = WORK | {"^": np.power, "sqrt": np.sqrt, "exp": np.exp}


def on_arrays(formula: tree.Formula, names: Mapping[str, Any]) -> Any:
    """Return the values of an expression in which names are arrays."""
    if isinstance(formula, tree.Number | tree.Name):
        return names[text(formula)] if text(formula) in names else number_of(formula)
    parts = [on_arrays(part, names) for part in tree.parts(formula)]
    work = ON_ARRAYS[operation_of(formula)]
    return work(*parts) if len(parts) == 1 else reduce(work, parts)


class Formulaic(Record, eq=False):
    """An expression in i, j, h and `sizes`; with slopes, one for each head, of j − i alone."""

    formula: tree.Formula
    sizes: Mapping[str, int] = EMPTY
    slopes: Array | None = None
    shift: int = 0  # the place of the first query among the keys
    is_own_seen: bool = False  # whether each query surely sees the key at its own place

    def at(self, head: int, rows: slice, keys: slice) -> Array:
        """Return what is added to some scores of a head, (rows, keys)."""
        i, j = (np.arange(part.start, part.stop) + 1.0 for part in (rows, keys))
        names = {"i": i[:, None], "j": j, "h": head + 1.0, **self.sizes}
        if self.slopes is not None:  # a line of numbers, by distance, is seen through windows
            distances = np.arange(j[0] - i[-1], j[-1] - i[0] + 1) - self.shift
            names = {"i": 0.0, "j": distances, "slope": self.slopes[head]}
        with np.errstate(all="ignore"):
            found = np.asarray(on_arrays(self.formula, names))
        if not np.isfinite(found).all():
            raise fail(f"bias {text(self.formula)} has no value for some i and j", "bias")
        if self.slopes is None:
            return np.broadcast_to(found, (len(i), len(j)))
        size = found.itemsize
        return np.ndarray((len(i), len(j)), float, found, (len(i) - 1) * size, (-size, size))

    def most(self, n: int, m: int) -> float:
        """Return an upper bound of the magnitudes of n × m numbers, but for negligible ones."""
        if self.slopes is None:
            return np.inf
        # Far keys may vanish if the nearest, from which nothing is subtracted, is seen.
        is_safe = self.is_own_seen and self.slopes.min() >= 0
        return 0.0 if is_safe else float(np.abs(self.slopes).max()) * (n + m + abs(self.shift))

    def added(self, tape: Tape, scores: Expression) -> Operation:
        return AddedByPlace(scores, self)

    def written(self, head: int, query: int, key: int) -> tree.Formula:
        """Return the formula of the number that is added to one score."""
        values = {"i": query + 1 + self.shift, "j": key + 1, "h": head + 1, **self.sizes}
        known = {name: tree.Number(str(value)) for name, value in values.items()}
        if self.slopes is not None:
            known["slope"] = tree.Number(f"{self.slopes[head]:.17g}")
        return tree.substituted(
            self.formula,
            lambda part: known.get(text(part)) if isinstance(part, tree.Name) else None,
        )


ALIBI = parse("-slope*abs(i - j)", ("slope", "i", "j"))


def slopes_of(heads: int) -> list[float]:
    """Return the published slopes; of 2^k heads 2^(−8h/2^k), for other numbers some between.

    >>> slopes_of(3)
    [0.0625, 0.00390625, 0.25]
    """
    power = 2 ** floor(log2(heads))
    between = [2.0 ** (-4 * h / power) for h in range(1, 2 * (heads - power), 2)]
    return [2.0 ** (-8 * h / power) for h in range(1, power + 1)] + between


class AddedByPlace(Operation):
    """Scores with what a rule gives for the places of query and key added."""

    operand: Expression
    rule: Formulaic
    why = "What is added tells keys that are near from keys that are far away."

    @property
    def note(self) -> tree.Formula | None:
        """`slope = 0.0625, 0.00390625`, one for each head."""
        numbers = () if self.rule.slopes is None else tuple(map(constant, self.rule.slopes))
        return tree.Relation((tree.Name("slope"), tree.Listed(numbers))) if numbers else None

    def apply(self, scores: Array) -> Array:
        """(…, heads, n, m) gives the same shape."""
        _, heads, n, m = scores.shape
        numbers = np.stack([self.rule.at(h, slice(0, n), slice(0, m)) for h in range(heads)])
        if scores.dtype.kind == "O":
            return filled(scores.shape, lambda at: self.worked(scores[at], numbers, at[1:]))
        return scores + (numbers.astype(scores.dtype) if scores.dtype.kind == "f" else numbers)

    def worked(self, score: Any, numbers: Array, at: tuple[int, ...]) -> Any:
        """Return the sum, or the difference, of a score and a number that knows its formula."""
        formula = self.rule.written(*at)
        if isinstance(formula, tree.Minus):
            return score - NumberAsWritten(-float(numbers[at]), formula.operand)
        return score + NumberAsWritten(float(numbers[at]), formula)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, upstream

    def notation(self, columns: bool) -> tree.Formula:
        (scores,) = self.notations(columns)
        return tree.plus(scores, self.rule.formula)


class Relative(Record, eq=False):
    """A number from a table for each distance from −k to k; what is farther counts as k."""

    table: Array  # (1, heads or 1, 1, 2k + 1)
    shift: int = 0  # the place of the first query among the keys

    def at(self, head: int, rows: slice, keys: slice) -> Array:
        head = min(head, self.table.shape[1] - 1)
        found: Array = self.table[
            0, head, 0, self.places(range(rows.start, rows.stop), range(keys.start, keys.stop))
        ]
        return found

    def places(self, rows: range, keys: range) -> Array:
        """Return the place in the table for each of some queries and keys."""
        k = self.table.shape[-1] // 2
        return np.clip(np.array(keys) - np.array(rows)[:, None] - self.shift, -k, k) + k

    def most(self, n: int, m: int) -> float:
        return float(np.abs(self.table).max())

    def added(self, tape: Tape, scores: Expression) -> Operation:
        leading, key = ("head",) if self.table.shape[1] > 1 else (), "positions.table"
        table = tape.given("table", self.table, ("distance",), leading, key=key)
        return Add(scores, LookedUp(table, scores, self))


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
        return table[..., 0, self.rule.places(*map(range, scores.shape[-2:]))]

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
        places = self.rule.places(*map(range, upstream.shape[-2:]))
        parts = (upstream * (places == d) for d in range(self.rule.table.shape[-1]))
        sums = [part.sum(axis=-1).sum(axis=-1)[..., None, None] for part in parts]
        return np.concatenate(sums, axis=-1)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Phrase((*self.notations(columns), tree.Words("summed by j − i")))
