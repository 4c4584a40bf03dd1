"""Arrays of which only the shape counts: a calculation with them shows how much memory it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import are_elements

BYTES_OF_OBJECT = 32
"""Size of an element that is a float of Python: 8 bytes in the array, and 24 of its own."""

BYTES_OF_RECORDS = 2**10
"""Size of what is kept with an array: its header, its operation, its step. Measured, about."""


class Outline(np.ndarray[Any, Any]):
    """An array in the memory of one number, whose functions return outlines.

    Where one value of the whole array is asked for, every number is 1, and nothing is an exception.
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
        if function in (np.broadcast_to, np.broadcast_arrays):
            options = {**options, "subok": True}
        result = super().__array_function__(function, types, args, options)
        if not isinstance(result, np.ndarray) or (
            isinstance(result, Outline) and result.base is not None
        ):
            return result  # parts of an array, or a view
        return outline(result.shape, result.dtype)

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
    """Return a new outline."""
    number = _Number((), dtype)
    number.fill(1)
    array: Outline = np.broadcast_to(number, shape).view(Outline)
    of_number = BYTES_OF_OBJECT if are_elements(array) else array.itemsize
    number.bytes_of_outline = array.size * of_number + BYTES_OF_RECORDS
    Outline.in_use += number.bytes_of_outline
    Outline.peak = max(Outline.peak, Outline.in_use)
    return array


def _sample(item: Any) -> Any:
    """Return an array of a single 1 for an array."""
    return np.ones((1,) * item.ndim, item.dtype) if isinstance(item, np.ndarray) else item


def _reduced(shape: tuple[int, ...], axis: Any = 0, keepdims: bool = False, **_: Any) -> list[int]:
    """Return the shape of a sum along some axes, by default the first; None is all."""
    every = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    along = {place % len(shape) for place in every}
    sizes = (1 if place in along else size for place, size in enumerate(shape))
    return [size for place, size in enumerate(sizes) if keepdims or place not in along]
