"""Accurate formulas for arrays of floats, and outlines, which are arrays without numbers.

The formulas are those whose plain expression would lose digits or overflow. An `Outline` has only a
shape: a calculation with outlines shows how much memory the real one takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import fsum, prod
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, are_elements

SPLITTER = {8: 134217729.0, 4: 4097.0}
"""Veltkamp's constants 2^27 + 1 and 2^12 + 1: they split a float into two exact halves."""


FEW = 256
"""Maximum number of elements for which Python is faster than operations on arrays."""


def all_finite(array: Array) -> bool:
    """Return whether no number is infinite or nan; few numbers are tested without a slow `all`."""
    is_finite = np.isfinite(array)
    return b"\0" not in is_finite.tobytes() if array.size <= FEW else bool(is_finite.all())


MANY = 2**18
"""Maximum number of elements that are summed at a time: 2 MiB, about a processor's cache."""


def largest_exponent(dtype: np.dtype[Any]) -> float:
    """Return x so that e^-x to e^x, and sums of many of them, are ordinary floats."""
    # 20 below ln(max) leaves room for a row of e^20 = 4.8e8 keys.
    return float(np.log(np.finfo(dtype).max)) - 20.0


def power(base: float, scores: Array, shift: Array | float, temperature: float) -> Array:
    """Return base^((scores − shift) / temperature), within about a unit in the last place.

    A rounded exponent x costs the result a relative error of |x| times the rounding unit. The
    part that subtraction and division rounded away is recovered exactly (Dekker 1971) and
    multiplied back in. Scores of −∞ give 0; `shift` broadcasts to them.
    """
    if temperature == 1 and isinstance(shift, float) and shift == 0:  # nothing has been rounded
        return np.exp(scores) if base == np.e else np.power(base, scores)
    difference = scores - shift
    lost = _two_difference_error(scores, shift, difference)
    exponent = difference / temperature
    if temperature != 1:
        lost = (lost + _remainder(difference, exponent, temperature)) / temperature
    result = np.exp(exponent) if base == np.e else np.power(base, exponent)
    # Next to the end of the range the correction itself may be ∞ − ∞; it is then far below a digit.
    correction = 1 + np.where(np.isfinite(lost), lost, 0.0) * np.log(base)
    return np.where(result > 0, result * correction, result).astype(scores.dtype)


def total(array: Array, along: int) -> Array:
    """Return the sum along an axis (-1 or -2), which stays with size 1, correct to about a unit.

    Up to `FEW` numbers of an element of the batch are summed by `fsum`, which is exact (Shewchuk
    1997). Of more, the digits that stay beside a number above the sum have an exact sum in any
    order; that of the other digits is added (Rump, Ogita, Oishi 2008). So no element of the batch
    changes the sums of another. Of a large array, some rows are summed at a time, to save memory.
    """
    if hasattr(array, "called"):  # it records the calls that are made with it
        recorded: Array = array.called(total, (array, along), {})
        return recorded
    across = -3 - along
    if (parts := min(-(-array.size // MANY), array.shape[across])) > 1:
        if isinstance(array, Outline):
            return array.sum(axis=along, keepdims=True)
        totals = [total(part, along) for part in np.array_split(array, parts, across)]
        return np.concatenate(totals, across)
    high = array.swapaxes(along, -1)
    if array[:1].size <= FEW:
        # A sum beyond a float, and one of ∞ and −∞, are left to the additions below.
        try:
            sums = list(map(fsum, high.reshape(-1, high.shape[-1]).tolist()))
            exact = np.array(sums, array.dtype).reshape(*high.shape[:-1], 1)
            return exact.swapaxes(along, -1)
        except (OverflowError, ValueError):
            if len(array) > 1:
                return np.concatenate([total(part, along) for part in np.split(array, len(array))])
    high = high.astype(float, copy=False)
    much = np.abs(high).max(axis=-1, keepdims=True) * (4.0 * high.shape[-1])
    multiples = (high + much) - much
    sums = multiples.sum(axis=-1, keepdims=True)
    sums += (high - multiples).sum(axis=-1, keepdims=True)
    return sums.astype(array.dtype, copy=False).swapaxes(along, -1)


def of_ordinary_size(rows: Any) -> tuple[Any, Array | None]:
    """Return rows divided by 2^exponent to about 1, which loses no digit, and the exponents.

    The rows are floats or intervals of them; other elements come back as they are, with None.
    """
    if rows.dtype.kind in "Ou":
        return rows, None
    size = np.abs(rows).max(axis=-1, keepdims=True)
    _, exponent = np.frexp(getattr(size, "high", size))
    return np.ldexp(rows, -exponent), exponent


def _two_difference_error(a: Array, b: Array | float, difference: Array) -> Array:
    """Return (a − b) − fl(a − b) exactly (Knuth's two-sum)."""
    b_seen = a - difference
    a_seen = difference + b_seen
    return (a - a_seen) + (b_seen - b)


def _remainder(dividend: Array, quotient: Array, divisor: float) -> Array:
    """Return dividend − quotient · divisor with the product's rounding error included."""
    product = quotient * divisor
    splitter = SPLITTER.get(dividend.dtype.itemsize, SPLITTER[8])
    q_high, q_low = _split(quotient, splitter)
    d_high, d_low = _split(np.multiply(divisor, 1, dtype=dividend.dtype), splitter)
    error = ((q_high * d_high - product) + q_high * d_low + q_low * d_high) + q_low * d_low
    return (dividend - product) - error


def _split(array: Array, splitter: float) -> tuple[Array, Array]:
    scaled = array * splitter
    high = scaled - (scaled - array)
    return high, array - high


MAX_ARRAY_SIZE = 10**18
"""Maximum number of elements of an array, which has at most 2^63 bytes."""

BYTES_OF_OBJECT = 32
"""Size of an element that is a float of Python: 8 bytes in the array, and 24 of the object."""

BYTES_OF_RECORDS = 2**10
"""Approximate size of the records kept with an array: header, operation, step. Measured."""


class Outline(np.ndarray[Any, Any]):
    """An array in the memory of one number, whose functions return outlines.

    A reduction of the whole array to one value treats every number as 1, and raises nothing.
    """

    in_use = 0  # bytes that the outlines in use stand for
    peak = 0  # the most of them

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(hasattr(item, "low") for item in inputs):  # intervals calculate with their ends
            return NotImplemented
        if "out" in options:
            return options["out"][0]
        samples = {name: _sample(item) for name, item in options.items()}
        with np.errstate(all="ignore"):
            sample = getattr(ufunc, method)(*map(_sample, inputs), **samples)
        if method == "reduce" and np.ndim(sample) == 0:
            return np.False_ if ufunc is np.logical_or else sample
        if method == "reduce":
            shape: Sequence[int] = _reduced(inputs[0].shape, **options)
        elif ufunc is np.matmul:
            lead = np.broadcast_shapes(*(item.shape[:-2] for item in inputs))
            shape = (*lead, inputs[0].shape[-2], inputs[1].shape[-1])
        else:
            shape = np.broadcast_shapes(*map(np.shape, inputs))
        if isinstance(sample, tuple):
            return tuple(outline(shape, one.dtype) for one in sample)
        return outline(shape, sample.dtype)

    def __array_function__(
        self, function: Callable[..., Any], types: Iterable[type], args: Any, options: Any
    ) -> Any:
        if not all(issubclass(kind, np.ndarray) for kind in types):
            return NotImplemented
        if function is np.where and len(args) == 3:
            return outline(np.broadcast_shapes(*map(np.shape, args)), np.result_type(*args[1:]))
        if function is np.argwhere:
            return np.empty((0, self.ndim), int)
        if function in (np.sort, np.zeros_like):
            return args[0].copy()
        if function is np.concatenate and "axis" in options:
            size = sum(one.shape[options["axis"]] for one in args[0])
            return _resized(self, options["axis"], size)
        if function is np.repeat and "axis" in options:
            return _resized(self, options["axis"], self.shape[options["axis"]] * args[1])
        if function in (np.broadcast_to, np.broadcast_arrays):
            options = {**options, "subok": True}
        result = super().__array_function__(function, types, args, options)
        if not isinstance(result, np.ndarray) or (
            isinstance(result, Outline) and result.base is not None
        ):
            return result  # parts of an array, or a view
        return outline(result.shape, result.dtype)

    def __getitem__(self, place: Any) -> Any:
        """Return a part; rows in any order, as of a table, are not made of numbers either."""
        if not (isinstance(place, tuple) and place and place[0] is ...):
            return super().__getitem__(place)
        lists = [at for at, one in enumerate(place) if isinstance(one, list)]
        if len(lists) != 1:
            return super().__getitem__(place)
        at = lists[0]
        first = super().__getitem__((*place[:at], slice(1), *place[at + 1 :]))
        return _resized(first, at - len(place), len(place[at]))

    def __setitem__(self, place: Any, value: Any) -> None:
        """Leave the numbers as they are."""

    def astype(  # type: ignore[override]
        self, dtype: Any, *args: Any, copy: bool = True, **options: Any
    ) -> Any:
        return self if not copy and self.dtype == dtype else outline(self.shape, dtype)

    def copy(self, order: Any = "C") -> Any:
        return outline(self.shape, self.dtype)


class _Number(np.ndarray[Any, Any]):
    """The number in whose memory an outline and its views are: it lives as long as they do."""

    bytes_of_outline = 0

    def __del__(self) -> None:
        Outline.in_use -= self.bytes_of_outline


def outline(shape: Sequence[int], dtype: Any) -> Outline:
    """Return a new outline; raise an OverflowError for more numbers than NumPy can count."""
    if prod(shape) > MAX_ARRAY_SIZE:
        raise OverflowError
    number = _Number((), dtype)
    number.fill(1)
    array: Outline = np.broadcast_to(number, shape).view(Outline)
    of_number = BYTES_OF_OBJECT if are_elements(array) else array.itemsize
    number.bytes_of_outline = array.size * of_number + BYTES_OF_RECORDS
    Outline.in_use += number.bytes_of_outline
    Outline.peak = max(Outline.peak, Outline.in_use)
    return array


def _resized(array: Array, axis: int, size: int) -> Outline:
    shape = [*array.shape]
    shape[axis] = size
    return outline(shape, array.dtype)


def _sample(item: Any) -> Any:
    return np.ones((1,) * item.ndim, item.dtype) if isinstance(item, np.ndarray) else item


def _reduced(shape: tuple[int, ...], axis: Any = 0, keepdims: bool = False, **_: Any) -> list[int]:
    """Return the shape of a sum along some axes, by default the first; None is all."""
    every = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    along = {place % len(shape) for place in every}
    sizes = (1 if place in along else size for place, size in enumerate(shape))
    return [size for place, size in enumerate(sizes) if keepdims or place not in along]
