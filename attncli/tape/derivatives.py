"""The operations that backward passes are made of, beside products, sums and factors.

`Operation.derivative` puts them together; they have no derivatives of their own.
"""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array, because
from attncli.notation.tree import (
    Formula,
    Listed,
    Minus,
    Number,
    Phrase,
    Relation,
    Squared,
    Times,
    Words,
    minus,
)
from attncli.tape.step import LEADING, Derivatives, Expression, Operation, notation_of
from attncli.tape.walk import array_of


class Hadamard(Operation):
    """The product number by number."""

    left: Expression
    right: Expression
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Broadcasts."""
        product: Array = arrays[0] * arrays[1]
        return product

    def notation(self, columns: bool) -> Formula:
        """`weights ⊙ (d_weights − delta)`."""
        return Times((notation_of(self.left, columns), notation_of(self.right, columns)), " ⊙ ")

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """Both factors."""
        return (self.left, "⊙", self.right)


class Subtract(Operation):
    """The difference of two matrices, or of a matrix and a number for each row."""

    left: Expression
    right: Expression
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Broadcasts."""
        difference: Array = arrays[0] - arrays[1]
        return difference

    def notation(self, columns: bool) -> Formula:
        """`d_weights − delta`."""
        return minus(notation_of(self.left, columns), notation_of(self.right, columns))


class OneMinusSquare(Operation):
    """1 − y², the slope of the hyperbolic tangent where it is y."""

    operand: Expression
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Number by number."""
        (y,) = arrays
        slope: Array = 1 - y * y
        return slope

    def notation(self, columns: bool) -> Formula:
        """`1 − hidden²`."""
        return minus(Number("1"), Squared(notation_of(self.operand, columns)))


class ThroughTanh(Hadamard):
    """A derivative times the slope of tanh: the derivative with regard to what tanh was taken of.

    What a unit sums up before its tanh is its net input (Rumelhart, Hinton and Williams 1986).
    """

    line = "d_net_{name}"
    why = "Where tanh is flat, nothing that goes into it changes the loss: its slope is 1 − tanh²."


class Passed(Operation):
    """A derivative where the forward pass let numbers through, 0 where it blocked them."""

    upstream: Expression
    seen: Expression
    infinite: bool = False  # whether −∞ stands in `seen` where it blocked, not 0
    pointwise = True

    @property
    def blocked(self) -> float:
        """The value at cells that the forward pass blocked."""
        return -np.inf if self.infinite else 0.0

    def apply(self, *arrays: Array) -> Array:
        """Broadcasts."""
        upstream, seen = arrays
        where = seen == self.blocked
        passed = np.where(where, 0.0, upstream).astype(upstream.dtype)
        return because(passed, seen, "{seen}", where)

    def notation(self, columns: bool) -> Formula:
        """`d_masked, 0 where mask = 0`."""
        sign = Minus(Number("∞")) if self.infinite else Number("0")
        blocked = Relation((notation_of(self.seen, columns), sign))
        where = Phrase((Number("0"), Words("where"), blocked))
        return Listed((notation_of(self.upstream, columns), where))


def passed(upstream: Expression, seen: Expression, infinite: bool = False) -> Expression:
    """Return `Passed`, or the derivative itself where that is 0 already at all that is blocked."""
    found = Passed(upstream, seen, infinite)
    changes = ((array_of(seen) == found.blocked) & (array_of(upstream) != 0)).any()
    return found if changes else upstream


class Columns(Operation):
    """Some columns of a matrix: the features of one of several that stand side by side."""

    operand: Expression
    start: int
    stop: int

    def apply(self, *arrays: Array) -> Array:
        """(…, n, d) gives (…, n, stop − start)."""
        return arrays[0][..., self.start : self.stop]

    def notation(self, columns: bool) -> Formula:
        """`columns 3 to 4 of d_net W_c`; with tokens as columns they are rows."""
        what = "row" if columns else "column"
        first, last = self.start + 1, self.stop
        which = f"{what} {last} of" if first == last else f"{what}s {first} to {last} of"
        return Phrase((Words(which), notation_of(self.operand, columns)))


def features(upstream: Expression, *operands: Expression) -> Derivatives:
    """Yield for each of several that stand side by side the columns that belong to it."""
    start = 0
    for operand in operands:
        stop = start + array_of(operand).shape[-1]
        yield operand, Columns(upstream, start, stop)
        start = stop


class Summed(Operation):
    """The sum along the axes along which a value was used again and again."""

    operand: Expression
    shape: tuple[int, ...]  # of the value
    over: tuple[str, ...]  # the names of these axes

    def apply(self, *arrays: Array) -> Array:
        """Any shape gives `shape`; axes of size 1 in it, and those that it lacks, are summed."""
        array, missing = arrays[0], arrays[0].ndim - len(self.shape)
        wide = (1,) * missing + self.shape
        axes = tuple(i for i, size in enumerate(wide) if size == 1 != array.shape[i])
        total: Array = array.sum(axis=axes, keepdims=True)
        return total.reshape(self.shape)

    def notation(self, columns: bool) -> Formula:
        """`d_Q summed over queries`."""
        over = " and ".join(plural(axis) for axis in self.over)
        return Phrase((notation_of(self.operand, columns), Words(f"summed over {over}")))


def plural(axis: str) -> str:
    """Return what the places along an axis are called: `queries`."""
    return {"query": "queries", "batch": "the batch"}.get(axis, f"{axis}s")


class Spread(Operation):
    """A value repeated along axes, for each that it is the derivative of."""

    operand: Expression
    shape: tuple[int, ...]

    def apply(self, *arrays: Array) -> Array:
        """What broadcasts to `shape` gives that."""
        return np.broadcast_to(arrays[0], self.shape)

    def notation(self, columns: bool) -> Formula:
        """That of the value."""
        return notation_of(self.operand, columns)


def fitted(derivative: Expression, value: Expression) -> Expression:
    """Return a derivative in the shape of the value that it belongs to.

    A value that was used along a whole axis gets the sum along it.
    """
    shape, found = array_of(value).shape, array_of(derivative).shape
    if found == shape:
        return derivative
    if len(shape) == len(found) and all(a in (1, b) for a, b in zip(found, shape, strict=True)):
        return Spread(derivative, shape)
    wide = (1,) * (len(found) - len(shape)) + shape
    own = derivative.trailing
    names = (*LEADING, *("",) * (len(found) - 2 - len(own)), *own)
    over = [name for name, a, b in zip(names, found, wide, strict=True) if a != b]
    return Summed(derivative, shape, tuple(over))
