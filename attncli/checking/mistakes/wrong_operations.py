"""What nobody should do with matrices: what some mistakes calculate in the place of the right one.

Arrays have the axes (batch, head, row, column); each may be one of intervals, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attncli.tape.step import Expression, Operation


class Wrong(Operation):
    """An operation that is any function of its operands' arrays; no formula is written of it."""

    function: Callable[..., Any]
    parts: tuple[Expression, ...]

    @property
    def operands(self) -> tuple[Expression, ...]:
        """Those that it was made with."""
        return self.parts

    def apply(self, *arrays: Any) -> Any:
        """As the function does."""
        return self.function(*arrays)


def wrong(function: Callable[..., Any], *operands: Expression) -> Wrong:
    """Return the operation that a function of arrays is."""
    return Wrong(function, operands)


def negative(array: Any) -> Any:
    """−s for s; what is blocked stays blocked."""
    return np.where(array == -np.inf, array, -array)


def interleaved(array: Any, heads: int) -> Any:
    """Feature i to head i modulo the number of heads: (batch, 1, n, h·d) → (batch, h, n, d)."""
    batch, _, n, width = array.shape
    return np.moveaxis(array.reshape(batch, n, width // heads, heads), 3, 1)


def merged_in_turns(array: Any) -> Any:
    """The first feature of every head, then the second: (batch, h, n, d) → (batch, 1, n, h·d)."""
    batch, heads, n, width = array.shape
    return np.moveaxis(array, 1, 3).reshape(batch, 1, n, heads * width)


def heads_added(array: Any) -> Any:
    """The sum over all heads: (batch, h, n, d) → (batch, 1, n, d)."""
    return array.sum(axis=1, keepdims=True)


def without_head(array: Any, head: int, heads: int) -> Any:
    """0 for the features of one head where all stand side by side, (…, n, h·d)."""
    width = array.shape[-1]
    return array * np.where(np.arange(width) // (width // heads) == head, 0.0, 1.0)


def divided_by_lengths(q: Any, k: Any, times_q: int, times_k: int) -> Any:
    """q·k / (‖q‖^a ‖k‖^b), for a and b of 0 to 2: (…, n, d), (…, m, d) → (…, n, m)."""
    found = q @ np.swapaxes(k, -1, -2)
    lengths_q = np.sqrt((q * q).sum(axis=-1, keepdims=True))
    lengths_k = np.swapaxes(np.sqrt((k * k).sum(axis=-1, keepdims=True)), -1, -2)
    for lengths in (*[lengths_q] * times_q, *[lengths_k] * times_k):
        found = found / lengths
    return found


def unsquared_distance(exponent: Any, width: float) -> Any:
    """−‖q − k‖ / (2·width²), from the exponent of a Gaussian, which is not above 0."""
    over = 2 * width**2
    return np.sqrt(-exponent * over) / -over


def other_half_first(joined: Any, size: int) -> Any:
    """[k; q] for the last axis [q; k], in which q has a size."""
    return np.concatenate([joined[..., size:], joined[..., :size]], axis=-1)
