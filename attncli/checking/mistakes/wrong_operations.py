"""Operations that nobody should do: what some mistakes calculate in the place of the right one."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.notation.tree import Call, Formula
from attncli.tape.step import Expression, Operation, notation_of


class Wrong(Operation):
    """A base for what no formula is ever written of."""

    def notation(self, columns: bool) -> Formula:
        """The name of what is done, with its operands."""
        arguments = tuple(notation_of(part, columns) for part in self.operands)
        return Call(type(self).__name__, arguments)


class Product(Wrong):
    """Each number times the number at its own place."""

    left: Expression
    right: Expression

    def apply(self, *arrays: Array) -> Array:
        """Broadcasts; −∞ times 0 is 0."""
        product: Array = arrays[0] * arrays[1]
        return product


class Negative(Wrong):
    """−s for s; what is blocked stays blocked."""

    operand: Expression

    def apply(self, *arrays: Array) -> Array:
        """Any shape."""
        return np.where(arrays[0] == -np.inf, arrays[0], -arrays[0])


class Opposite(Wrong):
    """1 for 0 and 0 for 1."""

    mask: Expression

    def apply(self, *arrays: Array) -> Array:
        """Any shape."""
        other: Array = 1 - arrays[0]
        return other


class Instead(Wrong):
    """Other numbers in the place of those that stand there."""

    operand: Expression
    numbers: Array

    def apply(self, *arrays: Array) -> Array:
        """What was given, whatever the operand."""
        del arrays
        return self.numbers


class InterleavedSplit(Wrong):
    """Feature i to head i modulo the number of heads."""

    operand: Expression
    heads: int

    def apply(self, *arrays: Array) -> Array:
        """(batch, 1, n, heads · d) gives (batch, heads, n, d)."""
        batch, _, n, width = arrays[0].shape
        pieces = arrays[0].reshape(batch, n, width // self.heads, self.heads)
        return np.moveaxis(pieces, 3, 1)


class InterleavedMerge(Wrong):
    """The first feature of every head, then the second of every head, and so on."""

    operand: Expression

    def apply(self, *arrays: Array) -> Array:
        """(batch, heads, n, d) gives (batch, 1, n, heads · d)."""
        batch, heads, n, width = arrays[0].shape
        return np.moveaxis(arrays[0], 1, 3).reshape(batch, 1, n, heads * width)


class LastHeadFirst(Wrong):
    """The heads in the opposite order."""

    operand: Expression

    def apply(self, *arrays: Array) -> Array:
        """(batch, heads, n, d)."""
        return np.flip(arrays[0], axis=1)


class HeadsSummed(Wrong):
    """The numbers of all heads added up."""

    operand: Expression

    def apply(self, *arrays: Array) -> Array:
        """(batch, heads, n, d) gives (batch, 1, n, d)."""
        total: Array = arrays[0].sum(axis=1, keepdims=True)
        return total


class WithoutHead(Wrong):
    """0 for the features of one head, where all stand side by side."""

    operand: Expression
    head: int
    heads: int

    def apply(self, *arrays: Array) -> Array:
        """(…, n, heads · d)."""
        width = arrays[0].shape[-1]
        own = np.arange(width) // (width // self.heads) == self.head
        without: Array = arrays[0] * np.where(own, 0.0, 1.0)
        return without


class Equal(Wrong):
    """As much for every key."""

    weights: Expression

    def apply(self, *arrays: Array) -> Array:
        """(…, n, m)."""
        shape = arrays[0].shape
        return np.full(shape, 1 / shape[-1])


class DividedByLengths(Wrong):
    """q·k / (‖q‖^a ‖k‖^b), for a and b of 0 to 2."""

    q: Expression
    k: Expression
    times_q: int
    times_k: int

    def apply(self, *arrays: Array) -> Array:
        """(…, n, d) and (…, m, d) give (…, n, m)."""
        q, k = arrays
        found = q @ np.swapaxes(k, -1, -2)
        lengths_q = np.sqrt((q * q).sum(axis=-1, keepdims=True))
        lengths_k = np.swapaxes(np.sqrt((k * k).sum(axis=-1, keepdims=True)), -1, -2)
        for _ in range(self.times_q):
            found = found / lengths_q
        for _ in range(self.times_k):
            found = found / lengths_k
        return found


class UnsquaredDistance(Wrong):
    """−‖q − k‖ / (2·width²), from the exponent of a Gaussian."""

    exponent: Expression
    width: float

    def apply(self, *arrays: Array) -> Array:
        """Any shape; no exponent is above 0."""
        over = 2 * self.width**2
        distance: Array = np.sqrt(-arrays[0] * over) / -over
        return distance


class TakingTurns(Wrong):
    """Key/value heads in turns: 1, 2, 1, 2 for 1, 1, 2, 2."""

    operand: Expression
    times: int

    def apply(self, *arrays: Array) -> Array:
        """(batch, kv_heads, n, d) gives (batch, kv_heads · times, n, d)."""
        return np.concatenate([arrays[0]] * self.times, axis=1)


class Reversed(Wrong):
    """[k; q] for [q; k]: the two parts of every joined vector the other way round."""

    pairs: Operation

    @property
    def operands(self) -> tuple[Expression, ...]:
        """Those of the pairs."""
        return self.pairs.operands

    def apply(self, *arrays: Array) -> Array:
        """As `ConcatenatePairs`, (…, n, d_q) and (…, m, d_k) give (…, n, m, d_k + d_q)."""
        size = arrays[0].shape[-1]
        joined = self.pairs.apply(*arrays)
        return np.concatenate([joined[..., size:], joined[..., :size]], axis=-1)
