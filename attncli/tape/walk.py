"""Expressions evaluated on arrays of any elements, whole or in part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.records import replace
from attncli.tape.step import ALL, Expression, Operation, Part, Step


def evaluate(
    expression: Expression,
    value_of: Callable[[Step], Any],
    constant: Callable[[float], Any] | None = None,
) -> Any:
    """Return the array of an expression; where a value is one of ranges, so is the result.

    Args:
        expression: what to evaluate.
        value_of: gives the array of each named value.
        constant: gives the element that stands for a number of an operation's own, such as a
            temperature, where arrays do not hold floats.
    """
    if isinstance(expression, Step):
        return value_of(expression)
    arrays = [evaluate(operand, value_of, constant) for operand in expression.operands]
    return apply_to(expression, arrays, constant)


def apply_to(
    operation: Operation, arrays: list[Any], constant: Callable[[float], Any] | None = None
) -> Any:
    """Apply an operation to arrays, with other elements for its own numbers if asked."""
    numbers = {name: getattr(operation, name) for name in operation.fields}
    own = {name: x for name, x in numbers.items() if isinstance(x, float)}
    if constant is None:  # NumPy widens float32 by a number that knows how it was written
        own = {name: x for name, x in own.items() if type(x) is not float}
    if own:
        made = constant or float
        operation = replace(operation, **{name: made(x) for name, x in own.items()})
    with np.errstate(all="ignore"):  # what overflows is found, and named, by the tape
        kinds = {type(array) for array in arrays} - {np.ndarray}
        if not kinds:
            return operation.apply(*arrays)
        (interval,) = kinds
        return operation.bounds(*(a if type(a) is interval else interval(a, a) for a in arrays))


def array_of(expression: Expression) -> Array:
    """Return the array of an expression of recorded values."""
    array: Array = evaluate(expression, lambda step: step.array)
    return array


def evaluate_part(
    expression: Expression,
    part: Part,
    value_of: Callable[[Step, Part], Array],
    constant: Callable[[float], Any] | None = None,
) -> Array:
    """Return some rows and columns of an expression's array; the arguments are as for `evaluate`.

    An axis of size 1 stays, as it broadcasts.
    """
    if isinstance(expression, Step):
        return value_of(expression, part)
    parts = expression.needs(part)
    if parts is None:
        whole = evaluate(expression, lambda step: value_of(step, (ALL, ALL)), constant)
        return cut(whole, part)
    arrays = [
        evaluate_part(operand, inner, value_of, constant)
        for operand, inner in zip(expression.operands, parts, strict=True)
    ]
    found: Array = apply_to(expression, arrays, constant)
    return found


def cut(array: Array, part: Part) -> Array:
    """Return some rows and columns of an array; an axis of size 1 stays, as it broadcasts."""
    rows, columns = (p if n > 1 else ALL for p, n in zip(part, array.shape[2:4], strict=True))
    return array[:, :, rows, columns]


def sources(step: Step) -> list[Step]:
    """Return the steps and inputs that a step is made from at once."""
    found: list[Step] = []
    rest = [step.operation]
    while rest:
        part = rest.pop()
        if isinstance(part, Step):
            found.append(part)
        elif part is not None:
            rest.extend(part.operands)
    return found
