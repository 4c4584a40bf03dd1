"""The correct calculations of a problem, and joint intervals for them."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from attncli.core.arithmetic.intervals import Interval
from attncli.core.attention.normalizers import Hardmax, Sparsemax
from attncli.core.attention.softmax import ALONG_KEYS, Exp, Sum
from attncli.core.mechanisms.trace import Trace
from attncli.core.records import Record
from attncli.core.tape.operations import Divide, MatMul
from attncli.core.tape.replay import Change
from attncli.core.tape.step import Expression, Operation, Step

T = TypeVar("T")

MAX_KEPT_NUMBERS = 5_000
"""Maximum number of numbers of a calculation for which results are kept in memory. Chosen."""


class Reference(Record, eq=False):
    """The correct calculations of a problem, with which submissions are compared."""

    trace: Trace  # the calculation by which a submission is judged
    others: tuple[Trace, ...] = ()  # that are correct as well, such as one without rounding

    @cached_property
    def is_small(self) -> bool:
        return sum(step.array.size for step in self.trace) <= MAX_KEPT_NUMBERS

    def kept(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """Return a result that depends on the problem and a key alone; work it out only once.

        Where the students of a class hand in only the output, this makes judging a wrong one three
        times as fast (benchmarks/checking.py).
        """
        return self.trace.kept(key, make) if self.is_small else make()

    def changed(self, change: Callable[[Trace], Trace]) -> Reference:
        return Reference(change(self.trace), tuple(map(change, self.others)))


def together(trace: Trace, given: Container[str]) -> Change:
    """Return operations with joint intervals for those whose operands depend on each other.

    Of two powers in [1, 2] each, a share is between 1/3 and 2/3; the intervals of the powers and of
    their sum, taken as independent, would give 1/4 to 1. A given sum is an ordinary divisor.
    """
    found: dict[str, Expression] = {}
    for step in trace:
        made, total = step.operation, shares_of(step.operation)
        if isinstance(made, Divide) and isinstance(made.divisor, Step):
            if total is not None and made.divisor.name not in given:
                found[step.name] = Share(made.dividend, total.along, made.divisor)
        elif isinstance(made, MatMul) and axis_of_shares(made.left) == ALONG_KEYS:
            found[step.name] = Mixture(made.left, made.right)
    return found


def shares_of(made: Expression | None) -> Sum | None:
    """Return the sum by which each number is divided, if it is the sum of the same numbers."""
    if isinstance(made, Divide) and isinstance(made.divisor, Step):
        total = made.divisor.operation
        if isinstance(total, Sum) and total.operand is made.dividend:
            return total
    return None


def axis_of_shares(step: Expression) -> int | None:
    """Return the axis along which a step's numbers are parts of 1, or all 0; else None."""
    made = step.operation if isinstance(step, Step) else None
    if isinstance(made, Hardmax | Sparsemax):
        return made.along
    total = shares_of(made)
    powers = total.operand if total is not None else None
    is_softmax = isinstance(powers, Step) and isinstance(powers.operation, Exp)
    return total.along if total is not None and is_softmax else None


class Share(Operation):
    """Each number divided by the sum of its line, which may have been rounded."""

    part: Expression
    along: int
    total: Expression

    def apply(self, *arrays: Any) -> Any:
        return Divide(self.part, self.total).apply(*arrays)

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

    def apply(self, *arrays: Any) -> Any:
        return arrays[0] @ arrays[1]

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
