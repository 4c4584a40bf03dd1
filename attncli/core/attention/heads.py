"""Heads: features cut into pieces, shared between query heads, and put side by side again."""

from __future__ import annotations

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.formulas.tree import Formula, Number, Phrase, Words
from attncli.core.tape.derivatives import Rearranged
from attncli.core.tape.step import Derivatives, Expression, Operation
from attncli.core.tape.walk import array_of


class SplitHeads(Rearranged):
    """The features cut into contiguous pieces, one for each head."""

    heads: int
    why = "Each head gets features of its own, so that it can look for something else."

    @property
    def leading(self) -> tuple[str, ...]:
        return (*self.operand.leading, "head")

    @property
    def note(self) -> Formula:
        return Phrase((Words("cut into"), Number(str(self.heads)), Words("heads")))

    def apply(self, features: Array) -> Array:
        """(batch, 1, n, heads · d) gives (batch, heads, n, d)."""
        batch, _, n, width = features.shape
        pieces = features.reshape(batch, n, self.heads, width // self.heads)
        return np.swapaxes(pieces, -3, -2)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, SideBySide(upstream)

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return self.operand.layout(columns) if isinstance(self.operand, Operation) else ()


class RepeatHeads(Rearranged):
    """Each key/value head repeated for the query heads that read it (grouped-query attention)."""

    times: int

    def apply(self, heads: Array) -> Array:
        """(batch, kv_heads, n, d) gives (batch, kv_heads · times, n, d)."""
        return np.repeat(heads, self.times, axis=-3)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """Yield the sum over the query heads that read a head."""
        yield self.operand, SumSharedHeads(upstream, self.times)


class SideBySide(Rearranged):
    """The heads' features side by side, the inverse of `SplitHeads`."""

    @property
    def leading(self) -> tuple[str, ...]:
        return tuple(name for name in self.operand.leading if name != "head")

    def apply(self, heads: Array) -> Array:
        """(batch, heads, n, d) gives (batch, 1, n, heads · d)."""
        batch, count, n, width = heads.shape
        return np.swapaxes(heads, -3, -2).reshape(batch, 1, n, count * width)


class MergeHeads(SideBySide):
    """`SideBySide` in the forward pass: its formula is in words, and says how heads are joined."""

    why = "The results of the heads are put side by side: again one row per token."
    transposed_notation = Operation.transposed_notation

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, SplitHeads(upstream, array_of(self.operand).shape[1])

    def notation(self, columns: bool) -> Formula:
        where = Words("one above the other" if columns else "side by side")
        return Phrase((Words("the heads of"), *self.notations(columns), where))


class SumSharedHeads(Operation):
    """For each key/value head the sum of the query heads that read it."""

    operand: Expression
    times: int

    def apply(self, heads: Array) -> Array:
        """(batch, kv_heads · times, n, d) gives (batch, kv_heads, n, d)."""
        batch, count, n, width = heads.shape
        return heads.reshape(batch, count // self.times, self.times, n, width).sum(axis=-3)

    def notation(self, columns: bool) -> Formula:
        where = Words("summed over the heads that read it")
        return Phrase((*self.notations(columns), where))
