"""Heads: features cut into pieces, shared between query heads, and put side by side again."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.tape.step import ATOM, Expression, Operation, Writer


class SplitHeads(Operation):
    """The features cut into contiguous pieces, one for each head."""

    operand: Expression
    heads: int

    @property
    def binds(self) -> int:  # type: ignore[override]
        """As the operand, for it is written like it."""
        return self.operand.binds if isinstance(self.operand, Operation) else ATOM

    @property
    def leading(self) -> tuple[str, ...]:
        """The operand's and heads."""
        return (*self.operand.leading, "head")

    @property
    def note(self) -> str:
        """Said in words: it changes no number."""
        return f"cut into {self.heads} heads"

    def apply(self, *arrays: Array) -> Array:
        """(batch, 1, n, heads · d) gives (batch, heads, n, d)."""
        batch, _, n, width = arrays[0].shape
        pieces = arrays[0].reshape(batch, n, self.heads, width // self.heads)
        return np.moveaxis(pieces, 2, 1)

    def notation(self, write: Writer) -> str:
        """As the operand."""
        return write(self.operand)

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        """As the operand."""
        return self.operand.layout(columns) if isinstance(self.operand, Operation) else ()


class RepeatHeads(Operation):
    """Each key/value head repeated for the query heads that read it (grouped-query attention)."""

    operand: Expression
    times: int

    def apply(self, *arrays: Array) -> Array:
        """(batch, kv_heads, n, d) gives (batch, kv_heads · times, n, d)."""
        return np.repeat(arrays[0], self.times, axis=1)

    def notation(self, write: Writer) -> str:
        """As the operand."""
        return write(self.operand)

    def transposed_notation(self, write: Writer) -> str:
        """As the operand."""
        return write.transposed(self.operand)


class MergeHeads(Operation):
    """The heads' features side by side, the inverse of `SplitHeads`."""

    operand: Expression

    @property
    def leading(self) -> tuple[str, ...]:
        """The operand's without heads."""
        return tuple(name for name in self.operand.leading if name != "head")

    def apply(self, *arrays: Array) -> Array:
        """(batch, heads, n, d) gives (batch, 1, n, heads · d)."""
        batch, heads, n, width = arrays[0].shape
        return np.moveaxis(arrays[0], 1, 2).reshape(batch, 1, n, heads * width)

    def notation(self, write: Writer) -> str:
        """`the heads of context side by side`."""
        where = "one above the other" if write.columns else "side by side"
        return f"the heads of {write(self.operand)} {where}"
