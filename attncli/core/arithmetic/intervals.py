"""Arrays of intervals: every number is known to lie between a low and a high one.

NumPy's functions work on them, and so do the operations. An interval may come out wider than
necessary, never narrower, but for the last digits of a float. Where intervals leave open whether a
comparison is true, it is an interval from False to True, and `np.where` holds both results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import ERF, MOVES, REDUCTIONS, Array, erf
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

    @property
    def size(self) -> int:
        return self.low.size

    def __getitem__(self, place: Any) -> Interval:
        return Interval(self.low[place], self.high[place])

    def __getattr__(self, name: str) -> Any:
        """Return a method of arrays that is a function of NumPy, too, such as `min`."""
        function = getattr(np, name, None)
        if function not in RISING:
            raise AttributeError(f"intervals have no {name}")
        return partial(function, self)

    def __bool__(self) -> bool:
        if (self.low != self.high).any():
            raise TypeError("intervals leave open what is true: use np.where, not if")
        return bool(self.low)

    def astype(self, dtype: object) -> Interval:
        """Return the same, as intervals have one type; truths become 0 and 1."""
        return self * 1.0 if self.low.dtype == bool else self

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
            raise NotImplementedError(f"intervals have no np.{ufunc.__name__}")
        if ufunc is np.multiply and inputs[0] is inputs[1]:
            return _squared(inputs[0])
        with np.errstate(all="ignore"):
            return UFUNCS[ufunc](*(interval(item) for item in inputs))

    def __array_function__(
        self, function: Callable[..., Any], types: object, args: Any, kwargs: Any
    ) -> Any:
        """Rearrange intervals; NumPy calls this for `np.swapaxes(a, …)` and the like."""
        if function is np.where:
            return where(*args)
        if function not in RISING:
            raise NotImplementedError(f"intervals have no np.{function.__name__}")
        low, high = (function(*_ends(args, end), **kwargs) for end in ("low", "high"))
        if function is np.broadcast_arrays:
            return tuple(Interval(a, b) for a, b in zip(low, high, strict=True))
        return Interval(low, high)


def interval(numbers: Any) -> Interval:
    """Return intervals as they are, and numbers as intervals of no width."""
    if isinstance(numbers, Interval):
        return numbers
    array = numbers if hasattr(numbers, "called") else np.asarray(numbers)  # or it records calls
    return Interval(array, array)


RISING = {*MOVES, *REDUCTIONS, np.broadcast_arrays, np.cumsum, np.sort}
"""Functions whose results rise with every number, or only stand in other places."""


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


def _absolute(a: Interval) -> Interval:
    ends = np.abs(a.low), np.abs(a.high)
    least = np.where((a.low <= 0) & (a.high >= 0), 0.0, np.minimum(*ends))
    return Interval(least, np.maximum(*ends))


def _squared(a: Interval) -> Interval:
    size = _absolute(a)
    return Interval(size.low**2, size.high**2)


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
    return _bounded(middle - radius, middle + radius)


def _bounded(low: Array, high: Array) -> Interval:
    """Return intervals without a bound where an end is not a number."""
    if not np.isnan(low + high).any():
        return Interval(low, high)
    return Interval(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def _increasing(function: Callable[[Array], Array]) -> Callable[[Interval], Interval]:
    return lambda a: _bounded(function(a.low), function(a.high))


def _wave(function: Callable[[Array], Array]) -> Callable[[Interval], Interval]:
    """Return a sine or cosine, which changes by no more than its angle."""

    def wave(a: Interval) -> Interval:
        radius = (a.high - a.low) / 2
        middle = function(a.low + radius)
        return Interval(np.maximum(middle - radius, -1.0), np.minimum(middle + radius, 1.0))

    return wave


def _truths(surely: Array, possibly: Array) -> Interval | Array:
    """Return whether each comparison is true: plain truths where none is open."""
    return surely if np.array_equal(surely, possibly) else Interval(surely, possibly)


def _equal(a: Interval, b: Interval) -> Interval | Array:
    may_be = (a.low <= b.high) & (b.low <= a.high)
    return _truths(may_be & (a.low == a.high) & (b.low == b.high), may_be)


def _power(base: Interval, exponent: Interval) -> Interval:
    ends = [base.low**exponent.low, base.low**exponent.high]
    return Interval(np.minimum(*ends), np.maximum(*ends))


INCREASING = (
    np.exp, np.expm1, np.log, np.log1p, np.tanh, np.sinh, np.sqrt, np.sign, np.floor, np.ceil,
    np.radians, np.degrees,
)  # fmt: skip
"""Functions of a number that nowhere fall."""

UFUNCS: dict[np.ufunc, Callable[..., Interval | Array]] = {
    np.add: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    np.maximum: lambda a, b: Interval(np.maximum(a.low, b.low), np.maximum(a.high, b.high)),
    np.minimum: lambda a, b: Interval(np.minimum(a.low, b.low), np.minimum(a.high, b.high)),
    np.negative: lambda a: Interval(-a.high, -a.low),
    np.subtract: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    np.multiply: _multiply,
    np.true_divide: _divide,
    np.matmul: _matmul,
    **{function: _increasing(function) for function in INCREASING},
    ERF: _increasing(erf),
    np.power: _power,
    np.ldexp: lambda a, n: Interval(np.ldexp(a.low, n.low), np.ldexp(a.high, n.high)),
    np.absolute: _absolute,
    np.square: _squared,
    np.cos: _wave(np.cos),
    np.sin: _wave(np.sin),
    np.less: lambda a, b: _truths(a.high < b.low, a.low < b.high),
    np.greater: lambda a, b: _truths(a.low > b.high, a.high > b.low),
    np.less_equal: lambda a, b: _truths(a.high <= b.low, a.low <= b.high),
    np.greater_equal: lambda a, b: _truths(a.low >= b.high, a.high >= b.low),
    np.equal: _equal,
    np.not_equal: lambda a, b: ~_equal(a, b),
    np.invert: lambda a: _truths(~a.high, ~a.low),
    np.bitwise_and: lambda a, b: _truths(a.low & b.low, a.high & b.high),
    np.bitwise_or: lambda a, b: _truths(a.low | b.low, a.high | b.high),
}
"""The functions of operations, for intervals; the base of a power is a number."""


def hull(*parts: Array | Interval) -> Interval:
    """Return the smallest intervals that hold all of some numbers and intervals."""
    ends = [interval(part) for part in parts]
    lows, highs = [end.low for end in ends], [end.high for end in ends]
    return Interval(reduce(np.minimum, lows), reduce(np.maximum, highs))


def where(chosen: Array | Interval, one: Array | Interval, other: Array | Interval) -> Interval:
    """Return the intervals of one array where `chosen` is true, else of another, or of both."""
    a, b, truths = interval(one), interval(other), interval(chosen)
    if not isinstance(chosen, Interval):
        return Interval(np.where(chosen, a.low, b.low), np.where(chosen, a.high, b.high))
    if truths.low.dtype != bool:
        return where(chosen != 0, one, other)
    rest = where(truths.high, hull(a, b), b)
    return where(truths.low, a, rest)


def is_equal(one: Array | Interval, other: Array | Interval) -> bool:
    """Return True if numbers, or intervals, are the same, nan too."""
    a, b = interval(one), interval(other)
    ends = (a.low, b.low), (a.high, b.high)
    return all(np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in ends)
