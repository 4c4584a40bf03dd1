"""Arrays of intervals: every number is known to lie between a low and a high one.

NumPy's functions work on them, and so do the operations. An interval may come out wider than
necessary, never narrower, but for the last digits of a float.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import ERF, Array, erf
from attncli.core.records import Record


class Interval(np.lib.mixins.NDArrayOperatorsMixin, Record):
    """An array of intervals, with the methods and functions of arrays that operations use."""

    low: Array
    high: Array

    def __init__(self, low: Array, high: Array) -> None:
        fields = self.__dict__  # judging makes thousands, in a third of the time of other records
        fields["low"], fields["high"] = low, high

    __hash__ = None  # type: ignore[assignment]  # as of arrays

    dtype = np.dtype(int)  # neither of floats nor of objects, which operations treat in other ways

    @property
    def shape(self) -> tuple[int, ...]:
        return self.low.shape

    @property
    def ndim(self) -> int:
        return self.low.ndim

    def __getitem__(self, place: Any) -> Interval:
        return Interval(self.low[place], self.high[place])

    def astype(self, dtype: object) -> Interval:
        """Return the same: intervals have one type."""
        return self

    def reshape(self, *shape: Any) -> Interval:
        return Interval(self.low.reshape(*shape), self.high.reshape(*shape))

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Interval:
        ends = (end.sum(axis=axis, keepdims=keepdims) for end in (self.low, self.high))
        return Interval(*ends)

    def max(self, axis: int | None = None, keepdims: bool = False) -> Interval:
        ends = (end.max(axis=axis, keepdims=keepdims) for end in (self.low, self.high))
        return Interval(*ends)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Calculate with intervals; NumPy calls this for `a + b`, `np.exp(a)` and the like."""
        if method != "__call__" or kwargs or ufunc not in UFUNCS:
            return NotImplemented
        if ufunc is np.multiply and inputs[0] is inputs[1]:
            return _squared(inputs[0])
        with np.errstate(all="ignore"):
            return UFUNCS[ufunc](*(interval(item) for item in inputs))

    def __array_function__(
        self, function: Callable[..., Any], types: object, args: Any, kwargs: Any
    ) -> Any:
        """Rearrange intervals; NumPy calls this for `np.swapaxes(a, …)` and the like."""
        if function not in REARRANGING:
            return NotImplemented
        low, high = (function(*_ends(args, end), **kwargs) for end in ("low", "high"))
        if function is np.broadcast_arrays:
            return tuple(Interval(a, b) for a, b in zip(low, high, strict=True))
        return Interval(low, high)


def interval(numbers: Any) -> Interval:
    """Return intervals as they are, and numbers as intervals of no width."""
    if isinstance(numbers, Interval):
        return numbers
    array = np.asarray(numbers)
    return Interval(array, array)


REARRANGING = (
    np.swapaxes,
    np.moveaxis,
    np.concatenate,
    np.stack,
    np.repeat,
    np.tile,
    np.flip,
    np.broadcast_to,
    np.broadcast_arrays,
    np.where,
)
"""Functions that rearrange numbers and change none."""


def _ends(items: Any, end: str) -> Any:
    if isinstance(items, Interval):
        return getattr(items, end)
    if isinstance(items, list | tuple):
        return type(items)(_ends(item, end) for item in items)
    return items


def _multiply(a: Interval, b: Interval) -> Interval:
    products = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
    # 0 · ∞ is 0 here: an infinite end means that there is no bound, not a number.
    ends = [np.where(np.isnan(product), 0.0, product) for product in products]
    return Interval(reduce(np.minimum, ends), reduce(np.maximum, ends))


def _squared(a: Interval) -> Interval:
    ends = np.abs(a.low), np.abs(a.high)
    least = np.where((a.low <= 0) & (a.high >= 0), 0.0, np.minimum(*ends))
    return Interval(least**2, np.maximum(*ends) ** 2)


def _divide(a: Interval, b: Interval) -> Interval:
    open_ = (b.low <= 0) & (b.high >= 0)
    inverse = Interval(np.where(open_, -np.inf, 1 / b.high), np.where(open_, np.inf, 1 / b.low))
    # A row that is wholly blocked has the sum 0 and keeps its zeros.
    nothing = (b.low == 0) & (b.high == 0) & (a.low == 0) & (a.high == 0)
    quotient = _multiply(a, inverse)
    return Interval(np.where(nothing, 0.0, quotient.low), np.where(nothing, 0.0, quotient.high))


def _matmul(a: Interval, b: Interval) -> Interval:
    # Rump 1999: the middle's product, and how far each number may be from its middle.
    middle_a, middle_b = (a.low + a.high) / 2, (b.low + b.high) / 2
    radius_a, radius_b = (a.high - a.low) / 2, (b.high - b.low) / 2
    middle = middle_a @ middle_b
    radius = np.abs(middle_a) @ radius_b + radius_a @ (np.abs(middle_b) + radius_b)
    return Interval(middle - radius, middle + radius)


def _increasing(function: Callable[[Array], Array]) -> Callable[[Interval], Interval]:
    return lambda a: Interval(function(a.low), function(a.high))


def _power(base: Interval, exponent: Interval) -> Interval:
    ends = [base.low**exponent.low, base.low**exponent.high]
    return Interval(np.minimum(*ends), np.maximum(*ends))


UFUNCS: dict[np.ufunc, Callable[..., Interval | Array]] = {
    np.add: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    np.maximum: lambda a, b: Interval(np.maximum(a.low, b.low), np.maximum(a.high, b.high)),
    np.negative: lambda a: Interval(-a.high, -a.low),
    np.subtract: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    np.multiply: _multiply,
    np.true_divide: _divide,
    np.matmul: _matmul,
    np.exp: _increasing(np.exp),
    np.tanh: _increasing(np.tanh),
    np.sqrt: _increasing(np.sqrt),
    np.log: _increasing(np.log),
    ERF: _increasing(erf),
    np.power: _power,
    np.ldexp: lambda a, n: Interval(np.ldexp(a.low, n.low), np.ldexp(a.high, n.high)),
    # The magnitude of an interval, which is a number: the largest absolute value in it.
    np.absolute: lambda a: np.maximum(np.abs(a.low), np.abs(a.high)),
    np.equal: lambda a, b: (a.low == b.low) & (a.high == b.high),
    np.not_equal: lambda a, b: (a.low != b.low) | (a.high != b.high),
}
"""The functions of operations, for intervals; the base of a power is a number."""


def hull(*parts: Array | Interval) -> Interval:
    """Return the smallest intervals that hold all of some numbers and intervals."""
    ends = [interval(part) for part in parts]
    lows, highs = [end.low for end in ends], [end.high for end in ends]
    return Interval(reduce(np.minimum, lows), reduce(np.maximum, highs))


def where(chosen: Array, one: Array | Interval, other: Array | Interval) -> Interval:
    """Return the intervals of one array where `chosen` is true, else of another."""
    chosen_ends: Interval = np.where(chosen, interval(one), interval(other))  # type: ignore[call-overload]
    return chosen_ends


def is_equal(one: Array | Interval, other: Array | Interval) -> bool:
    """Return True if numbers, or intervals, are the same, nan too."""
    a, b = interval(one), interval(other)
    ends = (a.low, b.low), (a.high, b.high)
    return all(np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in ends)
