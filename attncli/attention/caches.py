"""Keys and values that are kept for the queries of later tokens."""

from __future__ import annotations

from attncli.arithmetic.elements import Array
from attncli.notation import tree
from attncli.tape.operations import joined
from attncli.tape.step import Derivatives, Expression, Operation
from attncli.tape.walk import array_of


class Appended(Operation):
    """The rows of new tokens below those of earlier ones."""

    past: Expression
    new: Expression
    why = "Keys and values of earlier tokens do not change, so they are kept, not worked again."

    @property
    def trailing(self) -> tuple[str, ...]:
        return self.past.trailing

    def apply(self, *arrays: Array) -> Array:
        """(…, p, d) and (…, m, d) give (…, p + m, d)."""
        return joined(arrays, -2)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Each gets the rows that it has in the result."""
        p, every = (array_of(side).shape[-2] for side in (self.past, result))
        yield self.past, Rows(upstream, 0, p)
        yield self.new, Rows(upstream, p, every)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Stack(self.notations(columns))


class Rows(Operation):
    """Some rows of a matrix: those of one of two matrices that are one below the other."""

    operand: Expression
    start: int
    stop: int

    def apply(self, matrix: Array) -> Array:
        """(…, n, d) gives (…, stop − start, d)."""
        return matrix[..., self.start : self.stop, :]

    def notation(self, columns: bool) -> tree.Formula:
        what = "column" if columns else "row"
        first, last = self.start + 1, self.stop
        which = f"{what} {last} of" if first == last else f"{what}s {first} to {last} of"
        return tree.Phrase((tree.Words(which), *self.notations(columns)))
