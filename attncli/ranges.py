"""Arrays of ranges: every number is known to lie between a low and a high one.

NumPy hands its functions to the arrays that they are given, so the operations that calculate with
numbers calculate with ranges too. A range may come out wider than it need be, never narrower
(but for the last digits of a float, which nobody writes by hand).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attncli.records import Record
from attncli.trace import Array


class Ranges(Record, np.lib.mixins.NDArrayOperatorsMixin):
    """An array of ranges, with the methods and functions of arrays that operations use.

    Attributes:
        low: the least that each number may be.
        high: the most.
    """

    low: Array
    high: Array

    __hash__ = None  # type: ignore[assignment]  # as of arrays

    dtype = np.dtype(int)
    """What operations ask when they take care of floats, or of objects: these are neither."""

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.low.shape

    @property
    def ndim(self) -> int:
        """As of an array."""
        return self.low.ndim

    def __getitem__(self, place: Any) -> Ranges:
        """The ranges at a place."""
        return Ranges(self.low[place], self.high[place])

    def astype(self, dtype: object) -> Ranges:
        """The same: there is one kind of ranges."""
        del dtype
        return self

    def reshape(self, *shape: Any) -> Ranges:
        """As of an array."""
        return Ranges(self.low.reshape(*shape), self.high.reshape(*shape))

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Ranges:
        """As of an array."""
        return Ranges(
            self.low.sum(axis=axis, keepdims=keepdims), self.high.sum(axis=axis, keepdims=keepdims)
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Calculate with ranges; NumPy calls this for `a + b`, `np.exp(a)` and the like."""
        if method != "__call__" or kwargs or ufunc not in UFUNCS:
            return NotImplemented
        if ufunc is np.multiply and inputs[0] is inputs[1]:
            return _squared(inputs[0])
        with np.errstate(all="ignore"):
            return UFUNCS[ufunc](*(ranges(item) for item in inputs))

    def __array_function__(
        self, function: Callable[..., Any], types: object, args: Any, kwargs: Any
    ) -> Any:
        """Move ranges about; NumPy calls this for `np.swapaxes(a, …)` and the like."""
        del types
        if function not in MOVES:
            return NotImplemented
        low = function(*_parts(args, "low"), **kwargs)
        high = function(*_parts(args, "high"), **kwargs)
        if function is np.broadcast_arrays:
            return tuple(Ranges(a, b) for a, b in zip(low, high, strict=True))
        return Ranges(low, high)


def ranges(numbers: Any) -> Ranges:
    """Return ranges as they are, and numbers as ranges of no width."""
    if isinstance(numbers, Ranges):
        return numbers
    array = np.asarray(numbers)
    return Ranges(array, array)


MOVES = (
    np.swapaxes,
    np.moveaxis,
    np.concatenate,
    np.repeat,
    np.tile,
    np.flip,
    np.broadcast_to,
    np.broadcast_arrays,
    np.where,
)
"""Functions that put numbers elsewhere and change none."""


def _parts(items: Any, end: str) -> Any:
    """Return arguments with one end of every range in them."""
    if isinstance(items, Ranges):
        return getattr(items, end)
    if isinstance(items, list | tuple):
        return type(items)(_parts(item, end) for item in items)
    return items


def _add(a: Ranges, b: Ranges) -> Ranges:
    return Ranges(a.low + b.low, a.high + b.high)


def _negative(a: Ranges) -> Ranges:
    return Ranges(-a.high, -a.low)


def _subtract(a: Ranges, b: Ranges) -> Ranges:
    return Ranges(a.low - b.high, a.high - b.low)


def _multiply(a: Ranges, b: Ranges) -> Ranges:
    products = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
    # 0 · ∞ is 0 here: an infinite end means that there is no bound, not a number.
    ends = [np.where(np.isnan(product), 0.0, product) for product in products]
    return Ranges(np.minimum.reduce(ends), np.maximum.reduce(ends))


def _squared(a: Ranges) -> Ranges:
    ends = np.abs(a.low), np.abs(a.high)
    least = np.where((a.low <= 0) & (a.high >= 0), 0.0, np.minimum(*ends))
    return Ranges(least**2, np.maximum(*ends) ** 2)


def _divide(a: Ranges, b: Ranges) -> Ranges:
    open_ = (b.low <= 0) & (b.high >= 0)
    inverse = Ranges(np.where(open_, -np.inf, 1 / b.high), np.where(open_, np.inf, 1 / b.low))
    # A row that is wholly blocked has the sum 0 and keeps its zeros.
    nothing = (b.low == 0) & (b.high == 0) & (a.low == 0) & (a.high == 0)
    found = _multiply(a, inverse)
    return Ranges(np.where(nothing, 0.0, found.low), np.where(nothing, 0.0, found.high))


def _matmul(a: Ranges, b: Ranges) -> Ranges:
    # Rump 1999: the middle's product, and how far each number may be from its middle.
    middle_a, middle_b = (a.low + a.high) / 2, (b.low + b.high) / 2
    radius_a, radius_b = (a.high - a.low) / 2, (b.high - b.low) / 2
    middle = middle_a @ middle_b
    radius = np.abs(middle_a) @ radius_b + radius_a @ (np.abs(middle_b) + radius_b)
    return Ranges(middle - radius, middle + radius)


def _rising(function: Callable[[Array], Array]) -> Callable[[Ranges], Ranges]:
    """Return what a function that only rises makes of ranges."""
    return lambda a: Ranges(function(a.low), function(a.high))


def _power(base: Ranges, exponent: Ranges) -> Ranges:
    ends = [base.low**exponent.low, base.low**exponent.high]
    return Ranges(np.minimum(*ends), np.maximum(*ends))


UFUNCS: dict[np.ufunc, Callable[..., Ranges | Array]] = {
    np.add: _add,
    np.negative: _negative,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.true_divide: _divide,
    np.matmul: _matmul,
    np.exp: _rising(np.exp),
    np.tanh: _rising(np.tanh),
    np.sqrt: _rising(np.sqrt),
    np.power: _power,
    np.equal: lambda a, b: (a.low == b.low) & (a.high == b.high),
    np.not_equal: lambda a, b: (a.low != b.low) | (a.high != b.high),
}
"""What operations do with numbers. `power` is of a number that is no range, to a range."""


def hull(*parts: Array | Ranges) -> Ranges:
    """Return the ranges that just hold all of the given numbers and ranges."""
    found = [ranges(part) for part in parts]
    return Ranges(
        np.minimum.reduce([part.low for part in found]),
        np.maximum.reduce([part.high for part in found]),
    )
