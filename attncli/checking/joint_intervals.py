"""Operations whose operands depend on each other, with joint intervals.

The intervals of powers and of their sum, taken as independent, are too wide: of two powers in
[1, 2] each, a share would be between 1/4 and 1. As one operation it is between 1/3 and 2/3.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval
from attncli.attention.normalizers import ALONG_KEYS, Exp, Hardmax, Sparsemax, Sum
from attncli.mechanisms.trace import Trace
from attncli.tape.operations import Divide, MatMul
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Operation, Step


def together(trace: Trace, given: Container[str]) -> Change:
    """Return operations with joint intervals for those whose operands depend on each other.

    Args:
        trace: the calculation.
        given: the names of the steps whose numbers are known; a known sum is an ordinary divisor.
    """
    found: dict[str, Expression] = {}
    for step in trace:
        made, total = step.operation, shares_of(step.operation)
        if isinstance(made, Divide) and isinstance(made.divisor, Step):
            if total is not None and made.divisor.name not in given:
                found[step.name] = Share(made.dividend, total.along, made.divisor)
        elif isinstance(made, MatMul) and _axis_of(made.left) == ALONG_KEYS:
            found[step.name] = Mixture(made.left, made.right)
    return found


def shares_of(made: Expression | None) -> Sum | None:
    """Return the sum by which each number is divided, if it is the sum of the same numbers."""
    if isinstance(made, Divide) and isinstance(made.divisor, Step):
        total = made.divisor.operation
        if isinstance(total, Sum) and total.operand is made.dividend:
            return total
    return None


def axis_of_shares(step: Step) -> int | None:
    """Return the axis along which a step's numbers are parts of 1; None where they are not.

    In a line that is wholly blocked, they are all 0.
    """
    made = step.operation
    if isinstance(made, Hardmax | Sparsemax):
        return made.along
    total = shares_of(made)
    powers = total.operand if total is not None else None
    is_softmax = isinstance(powers, Step) and isinstance(powers.operation, Exp)
    return total.along if total is not None and is_softmax else None


def _axis_of(weights: Expression) -> int | None:
    return axis_of_shares(weights) if isinstance(weights, Step) else None


class Share(Operation):
    """Each number divided by the sum of its line, which may have been rounded."""

    part: Expression
    along: int
    total: Expression

    def apply(self, *arrays: Array) -> Array:
        """Any shape; a line of zeros keeps them."""
        part, total = arrays
        return Divide(self.part, self.total).apply(part, total)

    def bounds(self, *operands: Any) -> Any:
        """A positive number has its least share where it is least and all others are largest."""
        part, total = operands
        if (part.low < 0).any():
            return part / total
        lows, highs = (end.sum(axis=self.along, keepdims=True) for end in (part.low, part.high))
        least, most = part.low + (highs - part.high), part.high + (lows - part.low)
        low = np.where(least > 0, part.low / least, part.high > 0)
        high = np.where(most > 0, part.high / most, 0.0)
        # By which part of itself the sum may have been rounded, if it was.
        off = np.maximum(total.high - lows, highs - total.low)
        is_rounded = (total.high > highs) | (total.low < lows)
        by = np.where(is_rounded & (lows > 0), off / lows, 0.0)
        return Interval(low / (1 + by), high * (1 + by))


class Mixture(Operation):
    """Values mixed by weights whose rows sum to 1, so between the least and the largest value."""

    weights: Expression
    values: Expression

    def apply(self, *arrays: Array) -> Array:
        """(…, n, m) and (…, m, d) give (…, n, d)."""
        product: Array = arrays[0] @ arrays[1]
        return product

    def bounds(self, *operands: Any) -> Any:
        """As the product, but within the range of the values, times the sums of the weights."""
        weights, values = operands
        plain = weights @ values
        if (weights.low + weights.high < 0).any():  # no shares, by a mistake
            return plain
        least = values.low.min(axis=-2, keepdims=True)
        most = values.high.max(axis=-2, keepdims=True)
        inside = weights.sum(axis=-1, keepdims=True) * Interval(least, most)
        low, high = np.maximum(plain.low, inside.low), np.minimum(plain.high, inside.high)
        return Interval(np.minimum(low, high), np.maximum(low, high))
