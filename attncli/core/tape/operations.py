"""The operations that every method is made of, each with its formula.

What only heads, score functions, normalisers or masks need is in their modules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import count
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, are_floats, because
from attncli.core.formulas import tree
from attncli.core.numbers.written import NumberAsWritten
from attncli.core.records import replace
from attncli.core.tape import step
from attncli.core.tape.backward_operations import (
    Hadamard,
    InLines,
    Negative,
    OfTwo,
    OneMinusSquare,
    Outer,
    Pointwise,
    Rearranged,
    ThroughTanh,
    columns_of_operands,
    lines,
)
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.step import Derivatives, Expression, Operation, Step, row_letter

TOKEN_AXES = {"query", "key", "state", "time"}
"""The axes along which each place is a token, not a feature."""

BIAS = "The bias moves each score by a number of its own, such as for how far apart two are."
MIXED = "The weights tell how much of each value goes into the result."


class MatMul(OfTwo):
    """The matrix product: rows of `left` times columns of `right`."""

    shape = "n d, d m -> n m"

    @property
    def why(self) -> str:
        if self.left.trailing[-1] in TOKEN_AXES:
            return MIXED
        if self.right.trailing[-1] in TOKEN_AXES:
            return "A dot product is large where a query and a key point the same way."
        return "A learned matrix makes new features, each a weighted sum of the old ones."

    def apply(self, left: Array, right: Array) -> Array:
        return left @ right

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """DA = dC Bᵀ and dB = Aᵀ dC, for C = A B."""
        yield self.left, MatMul(upstream, transposed(self.right))
        yield self.right, MatMul(transposed(self.left), upstream)

    def notation(self, columns: bool) -> tree.Formula:
        """`X W_q`; with tokens as columns `W_q X`."""
        factors = self.notations(columns)
        return tree.Times(factors[::-1] if columns else factors, " ")

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """All factors of the product in a row."""
        sides = [
            side.layout(columns) if isinstance(side, MatMul) else (side,)
            for side in (self.left, self.right)
        ]
        first, second = reversed(sides) if columns else sides
        return (*first, "×", *second)


VALUES = {"key": "v", "query": "x", "state": ""}
"""Letters of the values that weights multiply, by the last axis of the weights."""


def mixes_values(step: Step) -> bool:
    """Whether a step is values mixed by weights: z_am = 0.9·v_I + 0.1·v_am."""
    operation = step.operation
    is_mixed = isinstance(operation, MatMul) and operation.left.trailing[-1] in VALUES
    return is_mixed and not step.backward


class Transposed(Operation):
    """Rows become columns."""

    operand: Expression

    @property
    def shape(self) -> str:
        """A vector, which is held as a row, has one place along the axis `now`."""
        return "n d -> d n" if len(self.operand.trailing) > 1 else "d -> d now"

    def apply(self, matrix: Array) -> Array:
        return np.swapaxes(matrix, -1, -2)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, transposed(upstream)

    def notation(self, columns: bool) -> tree.Formula:
        """`Kᵀ`."""
        return step.notation_of(self.operand, columns, transposed=True)


def dot(q: Expression, k: Expression) -> MatMul:
    """Return q kᵀ, every row of q with every row of k: (…, n, d) and (…, m, d) give (…, n, m)."""
    return MatMul(q, Transposed(k))


def transposed(expression: Expression) -> Expression:
    """Return the transpose, as it is written on paper: (Aᵀ)ᵀ = A and (A B)ᵀ = Bᵀ Aᵀ."""
    if isinstance(expression, Transposed):
        return expression.operand
    if isinstance(expression, MatMul):
        return MatMul(transposed(expression.right), transposed(expression.left))
    return Transposed(expression)


class Add(OfTwo):
    """The sum of two matrices, or of a matrix and a vector that is added to each row."""

    pointwise = True

    @property
    def why(self) -> str:
        return self.left.why if isinstance(self.left, Operation) else BIAS

    def apply(self, left: Array, right: Array) -> Array:
        return left + right

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Both as they are; a vector that is added to each row gets the sum of the rows."""
        yield self.left, upstream
        yield self.right, upstream

    def notation(self, columns: bool) -> tree.Formula:
        """`X W_q + b_q`."""
        return tree.plus(*self.notations(columns))

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """The product and then what is added to it, also another product with a vector."""
        before = self.left.layout(columns) if isinstance(self.left, Operation) else (self.left,)
        right = self.right
        is_plain = type(right) in (MatVec, Hadamard)  # of which no other sign is written
        added = right.layout(columns) if isinstance(right, Operation) and is_plain else (right,)
        return (*before, "+", *added) if before else ()


FEW_PARTS = 8
"""Number of parts of a sum up to which they are added from left to right, as a formula is read."""


def added(parts: Sequence[Expression]) -> Expression:
    """Return the sum of one or more matrices; of many, one as deep as a tree, not as a chain."""
    if len(parts) <= FEW_PARTS:
        return reduce(Add, parts)
    middle = len(parts) // 2
    return Add(added(parts[:middle]), added(parts[middle:]))


class Divide(Operation):
    """Division of each number by the divisor of its row, or of itself; 0 where that is 0."""

    dividend: Expression
    divisor: Expression
    pointwise = True
    why = "Divided by their sum, the numbers are shares of 1."

    def apply(self, dividend: Array, divisor: Array) -> Array:
        """A row that is wholly blocked has the sum 0 and keeps its zeros."""
        if not are_floats(dividend):
            empty = divisor == 0
            if not empty.any():
                return dividend / divisor
            quotient = np.where(empty, 0, dividend / np.where(empty, 1, divisor))
            return because(quotient, divisor, "{seen}", empty)
        if divisor.all():
            return np.divide(dividend, divisor)
        shape = np.broadcast_shapes(dividend.shape, divisor.shape)
        zeros = np.zeros(shape, np.result_type(dividend, divisor))
        return np.divide(dividend, divisor, out=zeros, where=divisor != 0)

    def bounds(self, dividend: Any, divisor: Any) -> Any:
        return np.where(divisor == 0, 0.0, dividend / divisor)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Da = dc / b and db = −dc ⊙ c / b, for c = a / b."""
        yield self.dividend, Divide(upstream, self.divisor)
        product = Hadamard(upstream, result)
        yield self.divisor, Negative(Divide(product, self.divisor))

    def notation(self, columns: bool) -> tree.Formula:
        """`exp / sum`."""
        dividend, divisor = self.notations(columns)
        return tree.Fraction(dividend, divisor)


class Scale(Pointwise):
    """Multiplication of every number by times / over, kept apart so that 1/√3 divides by √3.

    Attributes:
        times: the factor.
        over: the divisor.
        symbol: the factor (or, where `times` is 1, the divisor) as the formula has it, such as
            √d_k; by default the number.
        value: the symbol with numbers put in, such as `√d_k = √3 = 1.7321`.
    """

    times: float = 1.0
    over: float = 1.0
    symbol: tree.Formula | None = None
    value: tree.Formula | None = None
    why = "Long vectors give large scores; scaled down, they do not push softmax to a single key."

    @property
    def note(self) -> tree.Formula | None:
        return self.value

    def apply(self, array: Array) -> Array:
        if self.times != 1:
            array = array * self.times
        return array / self.over if self.over != 1 else array

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, replace(self, operand=upstream)

    def notation(self, columns: bool) -> tree.Formula:
        """`scores / √d_k`."""
        (operand,) = self.notations(columns)
        if self.times == 1:
            return tree.Fraction(operand, self.symbol or constant(self.over))
        return tree.Times((operand, self.symbol or constant(self.times / self.over)), " · ")


class Tanh(Pointwise):
    """The hyperbolic tangent of every number."""

    function = "tanh"
    why = "tanh keeps every number between −1 and 1."

    def apply(self, array: Array) -> Array:
        return np.tanh(array)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Dx = dy ⊙ (1 − y²), for y = tanh x."""
        yield self.operand, ThroughTanh(upstream, OneMinusSquare(result))


class SoftCap(Pointwise):
    """c · tanh(s / c): scores stay between −c and c (Gemma 2 report, 2024, section 2)."""

    cap: float
    why = "The cap keeps scores between −c and c, and hardly moves small ones."

    def apply(self, scores: Array) -> Array:
        return self.cap * np.tanh(scores / self.cap)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Ds = dy ⊙ (1 − (y/c)²), for y = c·tanh(s/c)."""
        yield self.operand, ThroughTanh(upstream, OneMinusSquare(Scale(result, over=self.cap)))

    def notation(self, columns: bool) -> tree.Formula:
        """`5·tanh(scaled / 5)`."""
        (operand,), cap = self.notations(columns), constant(self.cap)
        return tree.Times((cap, tree.Call("tanh", (tree.Fraction(operand, cap),))))


class Concatenate(OfTwo):
    """The features of two matrices side by side, row by row."""

    shape = "n a, n b -> n joined"

    def apply(self, *arrays: Array) -> Array:
        return joined(arrays, -1)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Each gets the columns that it has in the result."""
        yield from columns_of_operands(upstream, self.left, self.right)

    def notation(self, columns: bool) -> tree.Formula:
        """`[output; X]`."""
        return tree.Stack(self.notations(columns))


class Together(Operation):
    """Several values put together."""

    parts: tuple[Expression, ...]

    def notation(self, columns: bool) -> tree.Formula:
        names = self.notations(columns)
        return tree.Stack(names if len(names) <= 3 else (names[0], tree.Dots(), names[-1]))


class Stacked(Together):
    """One vector of the numbers of several."""

    shape = "-> joined"

    def apply(self, *arrays: Array) -> Array:
        """(…, 1, a), (…, 1, b), … give (…, 1, a + b + …)."""
        return joined(arrays, -1)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield from columns_of_operands(upstream, *self.parts)


class Below(Together):
    """A matrix with a vector in each row, or the rows of several matrices."""

    shape = "-> state feature"
    why = "The states of all times, a row each."

    def apply(self, *arrays: Array) -> Array:
        """Vectors (…, 1, d) give (…, their number, d)."""
        return joined(arrays, -2)

    def with_row(self, row: Step, room: int) -> Below:
        """Return the stack with another row, once; `room` such stacks at most share one array."""
        longer, both = Below((*self.parts, row)), Below((self, row))
        grow = self.__dict__.get("grow") or growing(array_of(self), room)
        longer.__dict__.update(grow=grow, array=grow(row.array), leading=both.leading)
        return longer

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        place = 0
        for part in self.parts:
            count = array_of(part).shape[-2]
            yield part, Row(upstream, place, count if len(part.trailing) > 1 else 0)
            place += count


class Row(Operation):
    """One token of X, a vector; or some rows of a matrix."""

    operand: Expression
    place: int
    count: int = 0  # number of rows of a matrix; 0 for a vector

    @property
    def shape(self) -> str:
        return "n' d -> n d" if self.count else "n d -> feature"

    def apply(self, matrix: Array) -> Array:
        return matrix[..., self.place : self.place + (self.count or 1), :]

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, InLines(upstream, self.place, array_of(self.operand).shape[-2])

    def notation(self, columns: bool) -> tree.Formula:
        if self.count:
            stop = self.place + self.count
            which = lines("column" if columns else "row", self.place, stop)
            return tree.Phrase((tree.Words(f"{which} of"), *self.notations(columns)))
        if isinstance(self.operand, Step):
            return tree.named(f"{row_letter(self.operand)}_{self.place + 1}")
        return tree.Phrase((tree.Words(f"row {self.place + 1} of"), *self.notations(columns)))


class AsRow(Rearranged):
    """A vector as a matrix of one row, a single query."""

    shape = "d -> now d"

    def apply(self, vector: Array) -> Array:
        return vector

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, upstream


class AsColumn(Rearranged):
    """A vector as a column, as in the formula."""

    shape = "d -> d now"

    def apply(self, vector: Array) -> Array:
        return np.swapaxes(vector, -1, -2)


class MatVec(Operation):
    """A matrix times a vector from the left, or times each of several vectors."""

    matrix: Expression
    vectors: Expression
    shape = "a b, n b -> n a"

    def apply(self, matrix: Array, vectors: Array) -> Array:
        return vectors @ np.swapaxes(matrix, -1, -2)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """DA = dy xᵀ and dx = Aᵀ dy, for y = A x."""
        yield self.matrix, Outer(upstream, self.vectors)
        yield self.vectors, MatVec(Transposed(self.matrix), upstream)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Times(self.notations(columns), " ")

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return (self.matrix, "×", AsColumn(self.vectors))


def constant(number: float) -> tree.Formula:
    """Return the formula of a number of an operation: as it was written, if that is known."""
    return number.formula if isinstance(number, NumberAsWritten) else tree.Number(f"{number:g}")


def joined(arrays: Sequence[Array], axis: int) -> Array:
    """Return matrices joined along their rows (-2) or columns (-1); leading axes broadcast."""
    leads = [array.shape[:-2] for array in arrays]
    if len(set(leads)) > 1:
        lead = np.broadcast_shapes(*leads)
        arrays = [np.broadcast_to(array, (*lead, *array.shape[-2:])) for array in arrays]
    return np.concatenate([*arrays], axis=axis)


def growing(rows: Array, room: int) -> Callable[[Array], Array]:
    """Return a function that adds a row below some rows, up to `room` times, and returns all."""
    ends, every = count(rows.shape[-2] + 1), list[Array]()

    def apply(row: Array) -> Array:
        end = next(ends)
        if not every:  # rows that follow each other in memory, as products round by that
            lead = np.broadcast_shapes(rows.shape[:-2], row.shape[:-2])
            every.append(np.empty((*lead, end - 1 + room, row.shape[-1]), row.dtype))
            every[0][..., : end - 1, :] = rows
        every[0][..., end - 1 : end, :] = row
        return every[0][..., :end, :]

    return apply
