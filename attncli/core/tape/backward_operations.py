"""The operations that only backward passes need, beside products, sums and factors.

`Operation.derivative` composes them into derivatives; most have none themselves. The classes at the
top are bases of other operations, too.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from attncli.core.arithmetic.elements import Array, because
from attncli.core.formulas import tree
from attncli.core.tape import step
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.step import LEADING, Derivatives, Expression, Operation


class Pointwise(Operation):
    """A function of each number of one operand."""

    operand: Expression
    pointwise = True
    function: ClassVar[str] = ""  # what formulas call it

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Call(self.function, self.notations(columns))

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """The layout of the argument, where that is a product or a sum, between `tanh(` and `)`."""
        inside = self.operand.layout(columns) if isinstance(self.operand, Operation) else ()
        return (f"{self.function}(", *inside, ")") if inside and self.function else ()


class OfTwo(Operation):
    """An operation on two matrices."""

    left: Expression
    right: Expression


class Hadamard(OfTwo):
    """The product number by number."""

    pointwise = True

    def apply(self, left: Array, right: Array) -> Array:
        return left * right

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.left, Hadamard(upstream, self.right)
        yield self.right, Hadamard(upstream, self.left)

    def notation(self, columns: bool) -> tree.Formula:
        """`weights ⊙ (d_weights − delta)`."""
        return tree.Times(self.notations(columns), " ⊙ ")

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return (self.left, "⊙", self.right)


class Subtract(OfTwo):
    """The difference of two matrices, or of a matrix and a number for each row."""

    pointwise = True

    def apply(self, left: Array, right: Array) -> Array:
        return left - right

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.left, upstream
        yield self.right, Negative(upstream)

    def notation(self, columns: bool) -> tree.Formula:
        """`d_weights − delta`."""
        return tree.minus(*self.notations(columns))

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return (self.left, "−", self.right)


def count_apart(expression: Expression, array: Any) -> int:
    """Return the number of calculations along the axis of the batch, if the problem has none."""
    count: int = array.shape[0]
    return 1 if count == 1 or "batch" in expression.leading else count


class Loss(Operation):
    """One number for a whole result."""

    leading = ()
    shape = "-> sum"

    def apply(self, *arrays: Array) -> Array:
        """Any shapes give (1, 1, 1, 1).

        Several calculations along the axis of the batch, if no operand has one, stay apart.
        """
        count = max(count_apart(*pair) for pair in zip(self.operands, arrays, strict=True))
        if count == 1:
            return self.total(*arrays)
        rows = ([a if a.shape[0] == 1 else a[i:][:1] for a in arrays] for i in range(count))
        return np.concatenate([self.total(*row) for row in rows])

    def total(self, *arrays: Any) -> Any:
        """Return the loss of one calculation."""
        raise NotImplementedError

    def slopes(self) -> Derivatives:
        """Yield what `derivative` does, for an upstream gradient of 1."""
        raise NotImplementedError

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        for operand, slope in self.slopes():
            yield operand, Hadamard(slope, upstream)


class Negative(Pointwise):
    """−x of every number."""

    def apply(self, array: Array) -> Array:
        return -array

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Minus(*self.notations(columns))


class OneMinus(Pointwise):
    """1 − x of every number: what a gate keeps, where x is what it lets through."""

    def apply(self, array: Array) -> Array:
        return 1 - array

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, Negative(upstream)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.minus(tree.Number("1"), *self.notations(columns))


class OneMinusSquare(Pointwise):
    """1 − y², the slope of the hyperbolic tangent where it is y."""

    def apply(self, y: Array) -> Array:
        return 1 - y * y

    def notation(self, columns: bool) -> tree.Formula:
        """`1 − hidden²`."""
        return tree.minus(tree.Number("1"), tree.Squared(*self.notations(columns)))


class ThroughTanh(Hadamard):
    """The derivative with regard to tanh's argument, a unit's net input (Rumelhart et al. 1986)."""

    line = "d_net_"
    why = "Where tanh is flat, nothing that goes into it changes the loss: its slope is 1 − tanh²."


class Passed(Operation):
    """The upstream gradient where the forward pass let a number through, 0 where it blocked it."""

    upstream: Expression
    seen: Expression
    infinite: bool = False  # whether `seen` is −∞ where it blocked, not 0
    pointwise = True

    @property
    def blocked(self) -> float:
        """The value at cells that the forward pass blocked."""
        return -np.inf if self.infinite else 0.0

    def apply(self, upstream: Array, seen: Array) -> Array:
        where = seen == self.blocked
        passed = np.where(where, 0.0, upstream).astype(upstream.dtype)
        return because(passed, seen, "{seen}", where)

    def notation(self, columns: bool) -> tree.Formula:
        """`d_masked, 0 where mask = 0`."""
        upstream, seen = self.notations(columns)
        sign = tree.Minus(tree.Number("∞")) if self.infinite else tree.Number("0")
        where = tree.Words("where"), tree.Relation((seen, sign))
        return tree.Listed((upstream, tree.Phrase((tree.Number("0"), *where))))


class Columns(Operation):
    """Some columns of a matrix: those of one of several matrices that are side by side."""

    operand: Expression
    start: int
    stop: int
    shape = "n d' -> n d"

    def apply(self, matrix: Array) -> Array:
        return matrix[..., self.start : self.stop]

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        count = array_of(self.operand).shape[-1]
        yield self.operand, InLines(upstream, self.start, count, axis=-1)

    def notation(self, columns: bool) -> tree.Formula:
        """`columns 3 to 4 of d_net W_c`; with tokens as columns they are rows."""
        which = lines("row" if columns else "column", self.start, self.stop)
        return tree.Phrase((tree.Words(f"{which} of"), *self.notations(columns)))


def lines(word: str, start: int, stop: int) -> str:
    """Return words for some rows or columns: `rows 3 to 4`, `row 3`."""
    return f"{word} {stop}" if stop - start == 1 else f"{word}s {start + 1} to {stop}"


class InLines(Operation):
    """A vector or a matrix as some rows, or columns, of a matrix whose others are 0."""

    operand: Expression
    start: int
    count: int
    axis: int = -2  # that of rows; -1 is that of columns

    @property
    def shape(self) -> str:
        return "n d -> n d" if len(self.operand.trailing) > 1 else "d -> time feature"

    def apply(self, array: Array) -> Array:
        sizes, parts = [*array.shape], [array]
        for at, size in ((0, self.start), (2, self.count - self.start - sizes[self.axis])):
            sizes[self.axis] = size
            parts.insert(at, np.zeros(sizes, array.dtype))
        return np.concatenate(parts, axis=self.axis)

    def notation(self, columns: bool) -> tree.Formula:
        stop = self.start + array_of(self.operand).shape[self.axis]
        word = "row" if (self.axis == -2) != columns else "column"
        where = tree.Words(f"in {lines(word, self.start, stop)}")
        return tree.Fence(tree.Phrase((*self.notations(columns), where)))


class Outer(OfTwo):
    """y xᵀ of two vectors, or its sum over pairs of vectors."""

    shape = "n a, n b -> a b"

    def apply(self, left: Array, right: Array) -> Array:
        return np.swapaxes(left, -1, -2) @ right

    def notation(self, columns: bool) -> tree.Formula:
        left, right = self.notations(columns)
        return tree.Times((left, tree.Transpose(right)), " ")


def columns_of_operands(upstream: Expression, *operands: Expression) -> Derivatives:
    """Yield, for each of several operands that are side by side, the columns that belong to it."""
    start = 0
    for operand in operands:
        stop = start + array_of(operand).shape[-1]
        yield operand, Columns(upstream, start, stop)
        start = stop


class Summed(Operation):
    """The sum of a derivative along the axes along which its value was broadcast."""

    operand: Expression
    sizes: tuple[int, ...]  # of the value
    over: tuple[str, ...]  # the names of these axes

    def apply(self, array: Array) -> Array:
        """Any shape gives `sizes`; axes of size 1 in it, and those that it lacks, are summed.

        Several calculations along the axis of the batch, if that is not one of `over`, stay apart.
        """
        stays = "batch" not in self.over and array.shape[0] > 1
        sizes = (array.shape[0], *self.sizes[1:]) if stays else self.sizes
        wide = (sizes[0], *(1,) * (array.ndim - len(sizes)), *sizes[1:])
        pairs = enumerate(zip(wide, array.shape, strict=True))
        axes = tuple(i - array.ndim for i, (size, length) in pairs if size == 1 != length)
        return array.sum(axis=axes, keepdims=True).reshape(sizes)

    def notation(self, columns: bool) -> tree.Formula:
        """`d_Q summed over queries`."""
        over = tree.Words(f"summed over {' and '.join(map(plural, self.over))}")
        return tree.Phrase((*self.notations(columns), over))


def plural(axis: str) -> str:
    """Return the name of the places along an axis: `queries`."""
    known = {"query": "queries", "batch": "the batch", "vocabulary": "words"}
    words = known.get(axis, f"{axis}s".replace("_", " "))
    return "features" if axis in ("model", "inner") else words


class Rearranged(Operation):
    """The operand with its numbers rearranged, which formulas do not show."""

    operand: Expression

    def notation(self, columns: bool) -> tree.Formula:
        return step.notation_of(self.operand, columns)

    def transposed_notation(self, columns: bool) -> tree.Formula:
        return step.notation_of(self.operand, columns, transposed=True)


class Spread(Rearranged):
    """A derivative repeated along axes, for each number that it belongs to."""

    sizes: tuple[int, ...]

    def apply(self, array: Array) -> Array:
        return np.broadcast_to(array, np.broadcast_shapes(array.shape, self.sizes))


def summed_to_shape(
    derivative: Expression, value: Expression, held: dict[Expression, Array]
) -> Expression:
    """Return a derivative in the shape of the value that it belongs to.

    A value that was used along a whole axis gets the sum along it. The array of the derivative is
    put into `held`.
    """
    array = array_of(derivative, held)
    if isinstance(derivative, Operation):
        held[derivative] = array
    shape, used = array_of(value).shape, array.shape
    if used == shape:
        return derivative
    if len(shape) == len(used) and all(a in (1, b) for a, b in zip(used, shape, strict=True)):
        return Spread(derivative, shape)
    wide = (1,) * (len(used) - len(shape)) + shape
    trailing = derivative.trailing
    names = (*LEADING, *("",) * (len(used) - 2 - len(trailing)), *trailing)
    over = [name for name, a, b in zip(names, used, wide, strict=True) if a != b]
    return Summed(derivative, shape, tuple(over))
