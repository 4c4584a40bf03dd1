"""Arrays that do not hold floats: of elements that remember, and those that record calls.

Elements, such as terms, remember their calculation; `because` lets them remember why a value was
chosen, while floats pass through as they are. A `CallRecorder` hands every call of NumPy that is
made with it to one method; the NumPy program (`-f numpy`) makes text of it. `Call` keeps the calls
themselves: a page that recalculates makes them again, and cells are followed back through the calls
that only move numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import getitem
from typing import Any, TypeAlias

import numpy as np

# As `numpy.typing` defines `NDArray[Any]`, whose import would be felt at every start.
Array: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]


JOINS = (np.concatenate, np.stack)
MOVES = {
    *JOINS, getitem, np.broadcast_to, np.diagonal, np.expand_dims, np.flip, np.moveaxis, np.ravel,
    np.repeat, np.reshape, np.roll, np.squeeze, np.swapaxes, np.take, np.tile, np.transpose,
}  # fmt: skip
"""Functions that put numbers in other places, and calculate nothing."""

REDUCTIONS = {
    np.sum: "sum", np.max: "max", np.min: "min", np.any: "max", np.all: "min", np.mean: "",
}  # fmt: skip
"""Functions that make one number of all along an axis, with what they are on truths 0 and 1."""


def _operators(op: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the methods of a binary operator: of its left operand, and of its right one."""

    def from_left(self: Element, other: object) -> Any:
        # NumPy then applies the operator to each element of an array.
        return NotImplemented if isinstance(other, np.ndarray) else self.combined(op, self, other)

    def from_right(self: Element, other: object) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self.combined(op, other, self)

    return from_left, from_right


class Element:
    """A number that NumPy's functions can be applied to; `combined` applies an operator to two."""

    __slots__ = ()

    @staticmethod
    def combined(op: str, left: Any, right: Any) -> Any:
        """Return left op right, where one is such an element and op one of + - * / ^."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        """Return what says so where NumPy looks for a function that these elements do not have."""
        if not isinstance(getattr(np, name, None), np.ufunc):
            raise AttributeError(name)

        def missing(*_: object) -> None:
            raise NotImplementedError(f"elements have no np.{name}")

        return missing

    __add__, __radd__ = _operators("+")
    __sub__, __rsub__ = _operators("-")
    __mul__, __rmul__ = _operators("*")
    __truediv__, __rtruediv__ = _operators("/")
    __pow__, __rpow__ = _operators("^")


Words: TypeAlias = str | Callable[[Any], str]
"""Why a value was chosen; or a function that says so for a deciding value."""


def because(
    result: Array, seen: Array, words: Words, where: Array | None = None, along: int | None = None
) -> Array:
    """Return the result, whose elements remember the values that decided them.

    Args:
        result: any shape.
        seen: the deciding values; broadcasts to the result.
        words: the reason, with `{seen}` for the deciding value ("mask[am, I] = 0"), or `{all}`
            for all the numbers of a line, `{largest}` for the largest of them and `{which}` for
            "the largest", or "the first largest" where there are several. Or a function that
            returns them for a deciding value.
        where: which elements have a reason; all by default. It broadcasts.
        along: an axis, if a whole line of `seen` decided.
    """
    if not are_elements(result) and not are_elements(seen):
        return result
    shape = np.broadcast_shapes(result.shape, seen.shape)
    all_where = np.broadcast_to(True if where is None else where, shape)
    results, values = np.broadcast_to(result, shape), np.broadcast_to(seen, shape)

    def decided(place: tuple[int, ...]) -> Any:
        line: list[Any] = [values[place]]
        if along is not None:
            index: tuple[Any, ...] = (*place[:along], slice(None), *place[along:][1:])
            line = list(values[index])
        return line[0].decides(results[place], line, words if all_where[place] else "")

    return filled(shape, decided)


def are_floats(array: Any) -> bool:
    """Return whether an array holds floats, not elements, intervals or the names of calls."""
    return bool(array.dtype.kind == "f")


def are_elements(array: Any) -> bool:
    """Return whether an array holds elements, or other objects of Python."""
    return bool(array.dtype.kind == "O")


def filled(shape: tuple[int, ...], element: Callable[[tuple[int, ...]], Any]) -> Array:
    """Return an array of objects: what a function gives for each place."""
    array = np.empty(shape, object)
    for place in np.ndindex(shape):
        array[place] = element(place)
    return array


def named(array: Array, symbol: str) -> Array:
    """Return an array whose elements are called by a letter in formulas, such as τ."""
    if not are_elements(array):
        return array
    return _each(array, lambda x: x.called(symbol) if hasattr(x, "called") else x)


def at_least_zero(array: Array) -> Array:
    """Return max(x, 0) of every number."""
    if not are_elements(array):
        return np.maximum(array, 0.0)
    return _each(array, lambda x: x.at_least_zero() if hasattr(x, "called") else max(x, 0.0))


ERF = np.frompyfunc(math.erf, 1, 1)


def erf(array: Any) -> Any:
    """Return the error function of every number, also of intervals."""
    if not are_elements(array):
        return ERF(array).astype(array.dtype)
    return _each(array, lambda x: x.erf() if hasattr(x, "called") else math.erf(x))


def _each(array: Array, function: Callable[[Any], Any]) -> Array:
    results: Array = np.frompyfunc(function, 1, 1)(array)  # also of plain numbers among elements
    return results


class CallRecorder(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose functions, operators and methods are all calls of `called`."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def called(self, function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
        """Return what a function of NumPy gives, with the call that gives it."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":  # such as `np.add.reduce`
            raise NotImplementedError(f"calls have no np.{ufunc.__name__}.{method}")
        result = self.called(ufunc, inputs, {})
        if "out" not in options:
            return result
        return self.called(np.where, (options["where"], result, options["out"][0]), {})

    def __array_function__(self, function: Any, types: object, args: Any, options: Any) -> Any:
        return self.called(function, args, options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(np, name)
        return lambda *args, **options: self.called(function, (self, *args), options)

    def __getitem__(self, key: Any) -> Any:
        return self.called(getitem, (self, key if isinstance(key, tuple) else (key,)), {})

    def reshape(self, *shape: Any) -> Any:
        return self.called(np.reshape, (self, shape[0] if len(shape) == 1 else shape), {})

    def astype(self, dtype: object) -> Any:  # operations change it only to that of an operand
        return self


def each(items: Any, kind: type | tuple[type, ...], rule: Callable[[Any], Any]) -> Any:
    """Return nested lists and tuples with a rule applied to everything of a kind in them."""
    if isinstance(items, list | tuple):
        return type(items)([each(item, kind, rule) for item in items])
    return rule(items) if isinstance(items, kind) else items


OPERANDS_ALONG_AXIS = {"total": 1, "cumsum": 1, "sort": 1, "take_along_axis": 2}
"""Other functions along one axis, which stays, with the number of their operands."""

SMOOTH = {
    *("", "move", "add", "subtract", "multiply", "divide", "negative", "square", "power", "matmul"),
    *("total", "sum", "exp", "log", "sqrt", "tanh", "erf"),
}
"""Names of functions by which elements are combined in the same way, whatever their numbers."""


class Call(CallRecorder):
    """An array with the call that gives it: of a function, on other calls, numbers and arrays.

    A choice that depends on numbers is made so that the calls are right for all of them: a number
    of an operation may be any (it is `!= 1`), an array may hold a 0 (`all()` is false).

    Attributes:
        array: the numbers, shaped as operations take them.
        name: that of the function; "move" if the numbers are those at some places of the operands,
            which are counted through all of them; nothing if `source` gives the array.
        operands: calls, arrays and numbers.
        options: an axis; of a move, the places, shaped as the result.
        source: what gives the array if no call does, such as a step.
    """

    dtype = np.dtype(float)

    def __init__(
        self,
        array: Array,
        name: str = "",
        operands: tuple[Any, ...] = (),
        options: tuple[Any, ...] = (),
        source: Any = None,
    ) -> None:
        self.array, self.name, self.operands = array, name, operands
        self.options, self.source = options, source
        self.shape = array.shape

    def origin(self) -> tuple[tuple[Call, ...], Array]:
        """Return the calls whose numbers these are, in other places; and the places."""
        if self.name == "move":
            return self.operands, self.options[0]
        return (self,), np.arange(self.size).reshape(self.shape)

    @property
    def chooses(self) -> bool:
        """True if numbers may decide which elements a result is made of."""
        parts = (one for one in self.operands if isinstance(one, Call))
        return self.name not in SMOOTH or any(one.chooses for one in parts)

    def called(self, function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
        if function is np.result_type:
            return self.dtype
        if function in MOVES:
            return _moved(function, each(args, np.generic, np.generic.item), options)
        if function is np.frexp:
            exponent = _called("exponent", lambda x: np.frexp(x)[1], args)
            return self.called(np.ldexp, (*args, -exponent), {}), exponent
        args = [one.item() if isinstance(one, np.generic) else one for one in args]
        name = "erf" if function is ERF else function.__name__
        if isinstance(function, np.ufunc) or function is np.where:
            return _called(name, function, args)
        if function in REDUCTIONS:
            return _reduced(function, *args, **options)
        if name in OPERANDS_ALONG_AXIS:
            count = OPERANDS_ALONG_AXIS[name]
            (along,) = args[count:] or (options.get("axis", None if name == "cumsum" else -1),)
            if along is not None:
                return _called(name, function, args[:count], along)
        if function in (np.zeros_like, np.ones_like):
            return function(args[0].array, float)
        if function is np.arange:  # in the kind of an array
            return function(*args, **options)
        raise NotImplementedError(f"a page cannot call np.{name}")

    def __bool__(self) -> bool:
        if self.name not in ("equal", "not_equal"):
            raise NotImplementedError("calls are right for any numbers: use np.where, not if")
        return self.name == "not_equal"


class PlainCall(Call):
    """A call of operations that are as plain as their formulas, without what floats need."""

    dtype = np.dtype(np.uint64)  # neither of floats nor of objects


def _kind(operands: Any) -> type[Call]:
    kinds = [type(one) for one in operands if isinstance(one, Call)]
    return next((kind for kind in kinds if kind is not Call), Call)


def _called(name: str, function: Callable[..., Any], operands: Any, *options: Any) -> Call:
    arrays = [one.array if isinstance(one, Call) else one for one in operands]
    array = np.asarray(function(*arrays, *options))
    numbers = array.astype(float) if array.dtype == object else array
    return _kind(operands)(numbers, name, tuple(operands), options)


def _reduced(
    function: Callable[..., Any], call: Call, axis: Any = None, keepdims: bool = False
) -> Any:
    if axis is None and function in (np.any, np.all):
        return function is np.any
    if function is np.mean:
        total = np.sum(call, axis, keepdims=keepdims)
        return total / (call.size / total.size)
    axes = range(call.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)

    def along(array: Array, axis: int) -> Any:
        return function(array, axis, keepdims=True)

    for one in axes:
        if call.shape[one] != 1:
            call = _called(REDUCTIONS[function], along, (call,), one)
    return call if keepdims else np.squeeze(call, tuple(axes))


def _refuse_as_place(call: Call) -> None:
    raise NotImplementedError("a page cannot take numbers for places")


def _moved(function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Call:
    """Return a move, which includes those that gave the operands."""
    first, *others = args
    each([*others, *options.values()], Call, _refuse_as_place)
    if function in JOINS:
        first = [part for part in each(first, np.ndarray, Call) if part.size]
    operands: list[Call] = []

    def placed(call: Call) -> Array:
        parts, places = call.origin()
        before = sum(part.size for part in operands)
        operands.extend(parts)
        return places + before

    places = function(each(first, Call, placed), *others, **options)
    numbers = np.concatenate([part.array.ravel() for part in operands])
    return _kind(operands)(numbers[places], "move", tuple(operands), (places,))
