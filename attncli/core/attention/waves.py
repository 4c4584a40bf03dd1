"""The angles of positions: sines and cosines that are added, and turned pairs of features."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np

from attncli.core.arithmetic.elements import Array, filled
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import Record, replace
from attncli.core.tape.operations import Add, joined
from attncli.core.tape.step import Derivatives, Expression, Operation

if TYPE_CHECKING:
    from attncli.core.arithmetic.intervals import Interval

BASE = 10000.0
"""The default base of the angles (Vaswani et al. 2017, section 3.5; Su et al. 2021, eq. 15)."""

MAX_PAIRS = 4
"""Maximum number of pairs of features that a note lists."""

PAIRS = ("neighbours", "halves")
"""Which features are a pair: 1 and 2, 3 and 4, …; or the first of each half, the second, …"""


def _plain(number: float) -> tree.Formula:
    """Return the formula of a number with all its digits."""
    return tree.Number(f"{number:.17g}")


class Waves(Record):
    """The angles t / base^(2j/size) of the tokens t = start, start + 1, … and the pairs j."""

    size: int  # number of features that are in pairs
    base: float = BASE
    start: int = 0
    pairs: str = PAIRS[0]

    def angles(self, tokens: int, like: Any = None) -> Any:
        """Return the angles (1, 1, tokens, pairs), in the kind of array of `like`."""
        t = np.arange(self.start, self.start + tokens, dtype=float, like=like)
        angles = t[:, None] / self.base ** (np.arange(0, self.size, 2, like=like) / self.size)
        return angles.reshape(1, 1, tokens, -1)

    def written(self, token: int, pair: int) -> tree.Formula:
        """Return the formula of an angle: `1/100`, or `1/10000^(2/6)` where that has no end."""
        t = self.start + token
        under = self.base ** (2 * pair / self.size)
        if not t or under == 1:
            return tree.Number(str(t))
        whole = np.isclose(under, np.rint(under), rtol=1e-12, atol=0)
        root = tree.Fraction(tree.Number(f"{2 * pair}"), tree.Number(f"{self.size}"), tight=True)
        rounded = tree.Number(f"{np.rint(under):.0f}")
        power = rounded if whole else tree.Power(_plain(self.base), root)
        return tree.Fraction(tree.Number(str(t)), power, tight=True)

    def columns(self) -> tuple[slice, slice]:
        """Return the columns of the first and of the second feature of each pair."""
        if self.pairs == "neighbours":
            return slice(0, self.size, 2), slice(1, self.size, 2)
        half = -(-self.size // 2)
        return slice(0, half), slice(half, self.size)

    def of(self, function: str, angles: Array) -> Array:
        """Return the sines or cosines of angles; to terms each is a constant such as cos 1."""
        if angles.dtype.kind != "O":
            found: Array = getattr(np, function)(angles)
            return found
        own = self.angles(angles.shape[-2])[0, 0]

        def element(at: tuple[int, ...]) -> NumberAsWritten:
            angle = float(getattr(angles[at], "value", angles[at]))
            is_own = isclose(angle, own[at[-2:]], rel_tol=1e-12)
            formula = self.written(*at[-2:]) if is_own else _plain(angle)
            return NumberAsWritten(getattr(np, function)(angle), tree.Call(function, (formula,)))

        return filled(angles.shape, element)

    def paired(self, first: Any, second: Any) -> Any:
        """Return features of which these are the first and the second of each pair."""
        if self.pairs == "halves":
            made = joined([first, second], -1)
        else:
            made = np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)
        return made[..., : self.size]  # an odd size has no last second feature

    @property
    def notation(self) -> tree.Formula:
        """`t / 10000^(2j/4)`."""
        part = tree.Fraction(tree.Name("2j"), tree.Number(str(self.size)), tight=True)
        return tree.Fraction(tree.Name("t"), tree.Power(_plain(self.base), part))


class FromPlaces(Operation):
    """Numbers that follow from the places of tokens alone; the operand tells how many there are."""

    operand: Expression
    waves: Waves
    leading = ()

    @property
    def note(self) -> tree.Formula:
        """`t = i − 1`, for token i; or the number t of a token by itself."""
        start, i = self.waves.start, tree.Name("i")
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


class Angles(FromPlaces):
    """The angle by which each pair of features of each token is turned (Su et al. 2021, eq. 15)."""

    shape = "n' d -> n pair"
    why = "Every pair of features turns at a speed of its own, the first one fastest."

    def apply(self, rows: Array) -> Array:
        """(…, n, d) gives (1, 1, n, pairs)."""
        angles = self.waves.angles(rows.shape[-2], rows)
        if rows.dtype.kind != "O":
            return angles.astype(rows.dtype) if rows.dtype.kind == "f" else angles
        written = self.waves.written
        return filled(angles.shape, lambda at: NumberAsWritten(angles[at], written(*at[-2:])))

    def notation(self, columns: bool) -> tree.Formula:
        return self.waves.notation


class Sinusoids(FromPlaces):
    """The sine and the cosine of each angle side by side (Vaswani et al. 2017, section 3.5)."""

    functions: tuple[str, str] = ("sin", "cos")
    why = "Every position gets a row of its own, and rows of neighbours are alike."

    def apply(self, rows: Array) -> Array:
        """(…, n, d) gives (1, 1, n, d); an odd d has no last cosine."""
        angles = self.waves.angles(rows.shape[-2], rows)
        if rows.dtype.kind == "O":
            angles = angles.astype(object)
        made = self.waves.paired(*(self.waves.of(name, angles) for name in self.functions))
        return made.astype(rows.dtype) if rows.dtype.kind == "f" else made

    def notation(self, columns: bool) -> tree.Formula:
        is_side = self.waves.pairs == "neighbours"
        which = tree.Words("sine and cosine of" if is_side else "sines, then cosines, of")
        return tree.Phrase((which, self.waves.notation))


class Embedded(Add):
    """The tokens with the rows of their positions, which do not change, added."""

    why = "Attention has no order of its own: what is added says where a token stands."

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.left, upstream


class OfAngles(Operation):
    """The cosine or the sine of each angle."""

    angles: Expression
    function: str  # cos or sin
    waves: Waves
    pointwise = True
    unfolds = True

    def apply(self, angles: Array) -> Array:
        return self.waves.of(self.function, angles)

    def bounds(self, angles: Interval) -> Interval:
        """As `apply`; a sine or cosine changes by no more than its angle."""
        off = (angles.high - angles.low) / 2
        middle = self.apply(angles.low + off)
        return type(angles)(np.maximum(middle - off, -1), np.minimum(middle + off, 1))

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Nothing: no number of the problem changes the angles."""
        yield from ()

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call(self.function, self.notations(columns))


class Rotated(Operation):
    """Each pair (x, y) of features turned: (x cos θ − y sin θ, x sin θ + y cos θ).

    Su et al. 2021, section 3.4.2. Features that are in no pair stay as they are.
    """

    operand: Expression
    cos: Expression
    sin: Expression
    waves: Waves
    back: bool = False  # whether the pairs are turned by −θ
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
        return self.turned(rows, cos, sin)

    def turned(self, rows: Any, cos: Any, sin: Any) -> Any:
        first, second = self.waves.columns()
        if rows.shape[-1] < self.waves.size:
            raise ValueError  # as NumPy does, for shapes that do not go together
        x, y = rows[..., first], rows[..., second]
        if self.back:
            pairs = self.waves.paired(x * cos + y * sin, y * cos - x * sin)
        else:
            pairs = self.waves.paired(x * cos - y * sin, x * sin + y * cos)
        others = rows[..., self.waves.size :]
        return joined([pairs, others], -1) if others.shape[-1] else pairs

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Dx is dy turned back: the inverse of a rotation is its transpose."""
        yield self.operand, replace(self, operand=upstream, back=not self.back)

    def notation(self, columns: bool) -> tree.Formula:
        operand, cos, sin = self.notations(columns)
        turned = tree.Words(f"turned {'back ' * self.back}by")
        return tree.Phrase((operand, turned, cos, tree.Words("and"), sin))
