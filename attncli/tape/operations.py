"""The operations that every method is made of, each with its formula.

An operand is an `Expression`: a step of the tape or another operation. Arrays have the axes
(batch, head, row, column). What only heads, score functions, normalisers or masks need stands
in their own rooms.
"""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array, because
from attncli.tape.step import ALL, ATOM, PRODUCT, SUM, Expression, Operation, Part, Writer


class MatMul(Operation):
    """The matrix product: rows of `left` times columns of `right`."""

    left: Expression
    right: Expression
    binds = PRODUCT

    @property
    def trailing(self) -> tuple[str, ...]:
        """The rows of the left factor, the columns of the right one."""
        return (*self.left.trailing[:-1], self.right.trailing[-1])

    def apply(self, *arrays: Array) -> Array:
        """(…, n, d) and (…, d, m) give (…, n, m)."""
        left, right = arrays
        product: Array = left @ right
        return product

    def needs(self, part: Part) -> tuple[Part, ...]:
        """A row of the left factor and a column of the right one for each number."""
        rows, columns = part
        return (rows, ALL), (ALL, columns)

    def notation(self, write: Writer) -> str:
        """`X W_q`; with tokens as columns `W_q X`."""
        factors = [write(self.left, PRODUCT), write(self.right, PRODUCT)]
        return " ".join(reversed(factors) if write.columns else factors)

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """All factors of the product in a row."""
        sides: list[tuple[Expression | str, ...]] = [
            (side.layout(columns) or (side,)) if isinstance(side, MatMul) else (side,)
            for side in (self.left, self.right)
        ]
        first, second = reversed(sides) if columns else sides
        return (*first, "×", *second)


class Transposed(Operation):
    """Rows become columns."""

    operand: Expression

    @property
    def trailing(self) -> tuple[str, ...]:
        """The operand's, the other way round."""
        row, column = self.operand.trailing
        return (column, row)

    def apply(self, *arrays: Array) -> Array:
        """(…, n, d) gives (…, d, n)."""
        return np.swapaxes(arrays[0], -1, -2)

    def needs(self, part: Part) -> tuple[Part, ...]:
        """Columns of the operand for rows."""
        rows, columns = part
        return ((columns, rows),)

    def notation(self, write: Writer) -> str:
        """`Kᵀ`."""
        return write.transposed(self.operand)


def dot(q: Expression, k: Expression) -> MatMul:
    """Return q kᵀ, every row of q with every row of k: (…, n, d) and (…, m, d) give (…, n, m)."""
    return MatMul(q, Transposed(k))


class Add(Operation):
    """The sum of two matrices, or of a matrix and a vector that is added to each row."""

    left: Expression
    right: Expression
    binds = SUM
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Broadcasts."""
        total: Array = arrays[0] + arrays[1]
        return total

    def notation(self, write: Writer) -> str:
        """`X W_q + b_q`."""
        return f"{write(self.left)} + {write(self.right)}"

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """The product and then what is added to it."""
        if isinstance(self.left, Operation):
            before = self.left.layout(columns)
            return (*before, "+", self.right) if before else ()
        return (self.left, "+", self.right)


class Divide(Operation):
    """Division of each number by its row's (or its own) divisor; 0 where that is 0."""

    dividend: Expression
    divisor: Expression
    binds = PRODUCT
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Broadcasts. A row that is wholly blocked has sum 0 and keeps its zeros."""
        dividend, divisor = arrays
        if dividend.dtype.kind != "f":
            quotient: Array = np.where(divisor == 0, 0, dividend / divisor)
            empty = divisor == 0
            return because(quotient, divisor, "{seen}", empty) if empty.any() else quotient
        shape = np.broadcast_shapes(dividend.shape, divisor.shape)
        zeros = np.zeros(shape, np.result_type(dividend, divisor))
        return np.divide(dividend, divisor, out=zeros, where=divisor != 0)

    def notation(self, write: Writer) -> str:
        """`exp / sum`."""
        return f"{write(self.dividend, PRODUCT)} / {write(self.divisor, ATOM)}"


class Scale(Operation):
    """Multiplication of every number by times / over, kept apart so that 1/√3 divides by √3.

    Attributes:
        formula: how the factor is written after the operand, such as `/ √d_k`.
        value: the factor with numbers put in, such as `√d_k = √3 = 1.7321`.
    """

    operand: Expression
    times: float
    over: float
    formula: str
    value: str = ""
    binds = PRODUCT
    pointwise = True

    @property
    def note(self) -> str:
        """The factor with numbers put in."""
        return self.value

    def apply(self, *arrays: Array) -> Array:
        """Any shape."""
        result = arrays[0]
        if self.times != 1:
            result = result * self.times
        return result / self.over if self.over != 1 else result

    def notation(self, write: Writer) -> str:
        """`scores / √d_k`."""
        return f"{write(self.operand, PRODUCT)} {self.formula}"


class Tanh(Operation):
    """The hyperbolic tangent of every number."""

    operand: Expression
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Any shape."""
        result: Array = np.tanh(arrays[0])
        return result

    def notation(self, write: Writer) -> str:
        """`tanh(…)`."""
        return f"tanh({write(self.operand)})"

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """What the tangent is taken of, where that is a product or a sum."""
        if isinstance(self.operand, Operation) and (inside := self.operand.layout(columns)):
            return ("tanh(", *inside, ")")
        return ()


class SoftCap(Operation):
    """c · tanh(s / c): scores stay between −c and c (Gemma 2 report, 2024, section 2)."""

    operand: Expression
    cap: float
    binds = PRODUCT
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Any shape."""
        result: Array = self.cap * np.tanh(arrays[0] / self.cap)
        return result

    def notation(self, write: Writer) -> str:
        """`5·tanh(scaled / 5)`."""
        return f"{self.cap:g}·tanh({write(self.operand, PRODUCT)} / {self.cap:g})"


class Concatenate(Operation):
    """The features of two matrices side by side, row by row."""

    left: Expression
    right: Expression

    @property
    def trailing(self) -> tuple[str, ...]:
        """Rows by all features."""
        return (self.left.trailing[-2], "joined")

    def apply(self, *arrays: Array) -> Array:
        """(…, n, a) and (…, n, b) give (…, n, a + b)."""
        return np.concatenate(_same_leading(*arrays), axis=-1)

    def notation(self, write: Writer) -> str:
        """`[output; X]`."""
        return f"[{write(self.left)}; {write(self.right)}]"


def _same_leading(left: Array, right: Array) -> tuple[Array, Array]:
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    return (
        np.broadcast_to(left, (*lead, *left.shape[-2:])),
        np.broadcast_to(right, (*lead, *right.shape[-2:])),
    )
