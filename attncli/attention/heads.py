"""Heads: features cut into pieces, shared between query heads, and put side by side again."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.notation.tree import Formula, Number, Phrase, Words
from attncli.tape.step import Derivatives, Expression, Operation, notation_of, transposed_of
from attncli.tape.walk import array_of


class SplitHeads(Operation):
    """The features cut into contiguous pieces, one for each head."""

    operand: Expression
    heads: int
    why = "Each head gets features of its own, so that it can look for something else."

    @property
    def leading(self) -> tuple[str, ...]:
        return (*self.operand.leading, "head")

    @property
    def note(self) -> Formula:
        return Phrase((Words("cut into"), Number(str(self.heads)), Words("heads")))

    def apply(self, *arrays: Array) -> Array:
        """(batch, 1, n, heads · d) gives (batch, heads, n, d)."""
        batch, _, n, width = arrays[0].shape
        pieces = arrays[0].reshape(batch, n, self.heads, width // self.heads)
        return np.swapaxes(pieces, 1, 2)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, SideBySide(upstream)

    def notation(self, columns: bool) -> Formula:
        return notation_of(self.operand, columns)

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return self.operand.layout(columns) if isinstance(self.operand, Operation) else ()


class RepeatHeads(Operation):
    """Each key/value head repeated for the query heads that read it (grouped-query attention)."""

    operand: Expression
    times: int

    def apply(self, *arrays: Array) -> Array:
        """(batch, kv_heads, n, d) gives (batch, kv_heads · times, n, d)."""
        return np.repeat(arrays[0], self.times, axis=1)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """The sum over the query heads that read a head."""
        yield self.operand, SumSharedHeads(upstream, self.times)

    def notation(self, columns: bool) -> Formula:
        return notation_of(self.operand, columns)

    def transposed_notation(self, columns: bool) -> Formula:
        return transposed_of(self.operand, columns)


class MergeHeads(Operation):
    """The heads' features side by side, the inverse of `SplitHeads`."""

    operand: Expression
    why = "What the heads found stands side by side, one row a token again."

    @property
    def leading(self) -> tuple[str, ...]:
        return tuple(name for name in self.operand.leading if name != "head")

    def apply(self, *arrays: Array) -> Array:
        """(batch, heads, n, d) gives (batch, 1, n, heads · d)."""
        batch, heads, n, width = arrays[0].shape
        return np.swapaxes(arrays[0], 1, 2).reshape(batch, 1, n, heads * width)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, SplitHeads(upstream, array_of(self.operand).shape[1])

    def notation(self, columns: bool) -> Formula:
        where = Words("one above the other" if columns else "side by side")
        return Phrase((Words("the heads of"), notation_of(self.operand, columns), where))


class SideBySide(MergeHeads):
    """The heads' features side by side, in a formula that means all heads by their name."""

    def notation(self, columns: bool) -> Formula:
        return notation_of(self.operand, columns)

    def transposed_notation(self, columns: bool) -> Formula:
        return transposed_of(self.operand, columns)


class SumSharedHeads(Operation):
    """For each key/value head the sum of the query heads that read it."""

    operand: Expression
    times: int

    def apply(self, *arrays: Array) -> Array:
        """(batch, kv_heads · times, n, d) gives (batch, kv_heads, n, d)."""
        batch, heads, n, width = arrays[0].shape
        shared = arrays[0].reshape(batch, heads // self.times, self.times, n, width)
        total: Array = shared.sum(axis=2)
        return total

    def notation(self, columns: bool) -> Formula:
        where = Words("summed over the heads that read it")
        return Phrase((notation_of(self.operand, columns), where))
