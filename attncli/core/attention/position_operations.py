"""Operations that depend on positions: sines that are added, rotations, and biases of scores.

A bias gives its numbers for a tile of the scores at a time, so that n × m numbers are never needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log2
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, are_elements, are_floats, filled
from attncli.core.attention.angles import MAX_PAIRS, Waves, plain, shortened
from attncli.core.errors import fail
from attncli.core.formulas import tree
from attncli.core.formulas.text import text
from attncli.core.numbers.parser import parse
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import EMPTY, Record, replace
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, constant, joined
from attncli.core.tape.step import Derivatives, Expression, Operation, ShapeError


class FromPositions(Operation):
    """Numbers that depend only on the positions of tokens, whose count is that of the operand."""

    operand: Expression
    waves: Waves
    leading = ()

    @property
    def note(self) -> tree.Formula | None:
        """`t = i − 1`, for token i; or the number t of a token by itself; or every t."""
        start, i = self.waves.start, tree.Name("i")
        if self.waves.ids:
            rows = [tree.Listed(shortened([*map(plain, row)])) for row in self.waves.ids]
            every = rows[0] if len(rows) == 1 else tree.Listed(tuple(rows), ";")
            return tree.Relation((tree.Name("t"), every))
        if len(self.trailing) == 1:
            return tree.Relation((tree.Name("t"), tree.Number(str(start))))
        shift = tree.minus if start < 1 else tree.plus
        t = i if start == 1 else shift(i, tree.Number(str(abs(start - 1))))
        return tree.Relation((tree.Name("t"), t))

    def bounds(self, *operands: Any) -> Any:
        array = self.apply(*(operand.low for operand in operands))
        return type(operands[0])(array, array)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Nothing: no number of the problem changes them."""
        yield from ()


class Angles(FromPositions):
    """The angle by which each pair of features of each token is turned (Su et al. 2021, eq. 15)."""

    shape = "n' d -> n pair"
    why = "Every pair of features turns at a speed of its own, the first one fastest."

    def apply(self, rows: Array) -> Array:
        """(…, n, d) gives (1, 1, n, pairs)."""
        angles = self.waves.angles(rows.shape[-2], rows)
        if not are_elements(rows):
            return angles.astype(rows.dtype) if are_floats(rows) else angles
        written = self.waves.written
        return filled(angles.shape, lambda at: NumberAsWritten(angles[at], written(*at[-2:])))

    def notation(self, columns: bool) -> tree.Formula:
        return self.waves.notation


class Frequencies(FromPositions):
    """The angle from one token to the next of each pair, scaled for long texts (`rope_scaling`)."""

    shape = "n' d -> pair"
    why = "Slower turns keep the angles of long texts as small as those of the training."

    @property
    def note(self) -> tree.Formula | None:
        """`γ = 1, 0.5, 0`, one for each pair; linear scaling has none."""
        if self.waves.scaling and self.waves.scaling.kind == "linear":
            return None
        shown = shortened([tree.Number(f"{share:.4g}") for share in self.waves.shares])
        return tree.Relation((tree.Name("γ"), tree.Listed(shown)))

    def apply(self, rows: Array) -> Array:
        """(…, n, d) gives (1, 1, 1, pairs)."""
        if are_elements(rows):
            numbers, written = self.apply(np.zeros(1)), self.waves.times_frequency
            return filled(
                numbers.shape, lambda at: NumberAsWritten(numbers[at], written(1, at[-1]))
            )
        frequencies = (self.waves.factors / self.waves.powers(rows)).reshape(1, 1, 1, -1)
        return frequencies.astype(rows.dtype) if are_floats(rows) else frequencies

    def notation(self, columns: bool) -> tree.Formula:
        return self.waves.over_power(self.waves.scaled(tree.Name("γ")))


class AtPositions(Angles):
    """The angle of each token and pair: the position times the frequency."""

    frequencies: Expression
    shape = "n' d, pair -> n pair"

    def apply(self, rows: Array, frequencies: Array) -> Array:  # type: ignore[override]
        """(…, n, d) and (1, 1, 1, pairs) give (1, 1, n, pairs)."""
        return self.waves.places(rows.shape[-2], rows) * frequencies

    def bounds(self, rows: Any, frequencies: Any) -> Any:
        return self.waves.places(rows.shape[-2]) * frequencies

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Times((tree.Name("t"), self.notations(columns)[1]), " · ")


class Sinusoids(FromPositions):
    """The sine and the cosine of each angle side by side (Vaswani et al. 2017, section 3.5)."""

    functions: tuple[str, str] = ("sin", "cos")
    why = "Every position gets a row of its own, and rows of neighbours are alike."

    def apply(self, rows: Array) -> Array:
        """(…, n, d) gives (1, 1, n, d); an odd d has no last cosine."""
        angles = self.waves.angles(rows.shape[-2], rows)
        if are_elements(rows):
            angles = angles.astype(object)
        features = self.waves.paired(*(self.waves.of(name, angles) for name in self.functions))
        return features.astype(rows.dtype) if are_floats(rows) else features

    def notation(self, columns: bool) -> tree.Formula:
        is_side = self.waves.pairs == "neighbours"
        which = tree.Words("sine and cosine of" if is_side else "sines, then cosines, of")
        return tree.Phrase((which, self.waves.notation))


class Embedded(Add):
    """The sum of the tokens and the rows of their positions, which are constant."""

    why = "Attention has no order of its own: what is added says where a token stands."

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.left, upstream


class OfAngles(Operation):
    """The cosine or the sine of each angle, whose formula depends on its place."""

    angles: Expression
    function: str  # cos or sin
    waves: Waves
    unfolds = True

    @property
    def note(self) -> tree.Formula | None:
        """`0.1·ln 4 + 1 = 1.1386`, by which they are multiplied."""
        factor = self.waves.amplitude
        if factor == 1:
            return None
        return tree.Relation((constant(factor), tree.Number(f"{factor:.5g}")))

    def apply(self, angles: Array) -> Array:
        return self.waves.of(self.function, angles)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Nothing: no number of the problem changes the angles."""
        yield from ()

    def notation(self, columns: bool) -> tree.Formula:
        return self.waves.times_amplitude(tree.Call(self.function, self.notations(columns)))


class Rotated(Operation):
    """Each pair (x, y) of features, rotated: (x cos θ − y sin θ, x sin θ + y cos θ).

    Su et al. 2021, section 3.4.2. Features that are in no pair stay as they are.
    """

    operand: Expression
    cos: Expression
    sin: Expression
    waves: Waves
    back: bool = False  # whether the pairs are turned by −θ
    shape = "n d', n p', n p' -> n d"
    why = "Turned by its position, a query meets a key by how far apart the two are."

    @property
    def note(self) -> tree.Formula:
        """`pairs (1, 2), (3, 4)`, the features that are turned together."""
        first, second = (range(self.waves.size)[part] for part in self.waves.columns())
        pairs = [f"({x + 1}, {y + 1})" for x, y in zip(first, second, strict=False)]
        shown = pairs if len(pairs) <= MAX_PAIRS else [*pairs[: MAX_PAIRS - 1], "…", pairs[-1]]
        return tree.Words(f"pairs {', '.join(shown)}")

    def apply(self, rows: Array, cos: Array, sin: Array) -> Array:
        """(…, n, d) and twice (1, 1, n, pairs) give (…, n, d)."""
        first, second = self.waves.columns()
        if rows.shape[-1] < self.waves.size:
            raise ShapeError
        x, y = rows[..., first], rows[..., second]
        if self.back:
            pairs = self.waves.paired(x * cos + y * sin, y * cos - x * sin)
        else:
            pairs = self.waves.paired(x * cos - y * sin, x * sin + y * cos)
        others = rows[..., self.waves.size :]
        return joined([pairs, others], -1) if others.shape[-1] else pairs

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Dx is dy, rotated back: the inverse of a rotation is its transpose."""
        yield self.operand, replace(self, operand=upstream, back=not self.back)

    def notation(self, columns: bool) -> tree.Formula:
        operand, cos, sin = self.notations(columns)
        turned = tree.Words(f"turned {'back ' * self.back}by")
        return tree.Phrase((operand, turned, cos, tree.Words("and"), sin))


def slopes_of(heads: int) -> list[float]:
    """Return the published slopes: 2^(−8h/2^k) of 2^k heads; of other counts, also some between.

    >>> slopes_of(3)
    [0.0625, 0.00390625, 0.25]
    """
    power = 2 ** floor(log2(heads))
    between = [2.0 ** (-4 * h / power) for h in range(1, 2 * (heads - power), 2)]
    return [2.0 ** (-8 * h / power) for h in range(1, power + 1)] + between


class PositionBias(Record, eq=False):
    """A summand of the score of head h, query i and key j: an expression, or from `line`."""

    formula: tree.Formula
    names: Mapping[str, Any] = EMPTY  # the values of other names: a number, or one for each head
    lists: Mapping[str, tuple[str, ...]] = EMPTY  # of which there are entries, such as document[i]
    line: Array | None = None  # a number for each distance j − i from −k to k, (heads, 2k + 1)
    shift: int = 0  # the place of the first query among the keys
    key: str = ""  # the key of the problem that holds the table, if one does
    is_negligible: bool = False  # whether it makes scores so small that tiles may skip them

    def at(self, head: int, rows: slice, keys: slice) -> Array:
        """Return what is added to some scores of a head, (rows, keys)."""
        if self.line is not None:
            zero = self.line.shape[1] // 2 - self.shift  # the place of j − i = 0
            first, stop = zero + keys.start - rows.stop + 1, zero + keys.stop - rows.start
            part = self.line[head, first:stop]
            windows = np.lib.stride_tricks.sliding_window_view(part, keys.stop - keys.start)
            return windows[::-1]  # a later query sees each key farther back
        from attncli.core.attention.expressions import of_entries, on_arrays  # few have one

        i, j = (np.arange(part.start, part.stop) + 1.0 for part in (rows, keys))
        names = {"i": i[:, None], "j": j, "h": head + 1.0, **self.names}
        names |= of_entries(self.formula, self.lists, names)
        with np.errstate(all="ignore"):
            numbers = np.asarray(on_arrays(self.formula, names))
        numbers = np.broadcast_to(numbers, (len(i), len(j)))
        if not (finite := np.isfinite(numbers)).all():
            query, key = np.argwhere(~finite)[0]
            where = f"i = {i[query]:g} and j = {j[key]:g}"
            raise fail(f"bias {text(self.formula)} has no value for {where}", "bias")
        return numbers

    def near(self, head: int, rows: slice, least: float) -> slice:
        """Return the range of keys to whose scores more than `least` is added, for some queries."""
        assert self.line is not None  # as for every negligible bias
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
        from attncli.core.attention.expressions import with_values  # as above

        values = {"i": query + 1 + self.shift, "j": key + 1, "h": head + 1}
        values |= {name: np.ravel(x)[head * (np.size(x) > 1)] for name, x in self.names.items()}
        return with_values(self.formula, values, self.lists)


class BiasAdded(Operation):
    """The sum of the scores and a bias for the positions of query and key."""

    operand: Expression
    rule: PositionBias
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
        if not are_elements(scores):
            return scores + (numbers.astype(scores.dtype) if are_floats(scores) else numbers)

        def worked(at: tuple[int, ...]) -> Any:  # with a number that knows its formula
            number, formula = float(numbers[at[1:]]), self.rule.written(*at[1:])
            if isinstance(formula, tree.Minus):
                return scores[at] - NumberAsWritten(-number, formula.operand)
            return scores[at] + NumberAsWritten(number, formula)

        return filled(scores.shape, worked)

    def numbers(self, heads: int, n: int, m: int) -> Array:
        """Return what is added, (heads, n, m).

        Raises:
            ShapeError: for another number of heads, as after a mistake.
        """
        if self.rule.line is not None and len(self.rule.line) != heads:
            raise ShapeError
        return np.stack([self.rule.at(h, slice(0, n), slice(0, m)) for h in range(heads)])

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, upstream

    def notation(self, columns: bool) -> tree.Formula:
        (scores,) = self.notations(columns)
        return tree.plus(scores, self.rule.formula)


class AtDistances(Operation):
    """For each query and key, the number of a table for their distance j − i, clipped to −k … k."""

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
        return joined([upstream[..., at].sum(axis=-1)[..., None, None] for at in every], -1)

    def notation(self, columns: bool) -> tree.Formula:
        where = tree.Phrase((tree.Words("summed over equal"), parse("j - i", "ij")))
        return tree.Phrase((*self.notations(columns), where))
