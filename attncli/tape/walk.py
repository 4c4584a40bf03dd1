"""Expressions evaluated, walked through and rewritten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.floats import all_finite
from attncli.records import replace
from attncli.tape.step import ALL, Expression, Operation, Part, Step

ARRAYS = {np.ndarray}


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
    if operation.float_fields:
        # NumPy widens float32 by a number that knows how it was written.
        own = {
            name: (constant or float)(x)
            for name in operation.float_fields
            if isinstance(x := getattr(operation, name), float)
            and (constant is not None or type(x) is not float)
        }
        if own:
            operation = replace(operation, **own)
    kinds = {*map(type, arrays)}
    with np.errstate(all="ignore"):  # what overflows is found, and named, by the tape
        if kinds == ARRAYS:
            return operation.apply(*arrays)
        (interval,) = kinds - ARRAYS
        return operation.bounds(*(a if type(a) is interval else interval(a, a) for a in arrays))


def array_of(expression: Expression) -> Array:
    """Return the array of an expression of recorded values.

    Raises:
        FloatingPointError: with the innermost operation whose result a float cannot hold. Its
            infinity could come out of the next operation as an ordinary number: tanh ∞ = 1.
    """
    if isinstance(expression, Step):
        return expression.array
    operands = [array_of(operand) for operand in expression.operands]
    array: Array = apply_to(expression, operands)
    if array.dtype.kind == "f" and not _is_held(expression, operands, array):
        raise FloatingPointError(expression)
    return array


def _is_held(operation: Operation, operands: list[Array], array: Array) -> bool:
    """Return whether floats hold a result and the operation's own numbers.

    −∞ is a blocked cell only where a mask made it, or where an operand has it already.
    """
    own = [abs(getattr(operation, name)) for name in operation.float_fields]
    if own and max(own) > float(np.finfo(array.dtype).max):
        return False
    if all_finite(array):
        return True
    infinite = array == -np.inf
    if not (infinite | np.isfinite(array)).all():
        return False
    if operation.blocks:
        return True
    blocked = [operand == -np.inf for operand in operands]
    if operation.pointwise:
        return bool((reduce(np.logical_or, blocked) | ~infinite).all())
    return any(cells.any() for cells in blocked)


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


def walk(expression: Expression, into_steps: bool = False) -> Iterator[Expression]:
    """Yield an expression and everything that it is made of, each once, the whole before its parts.

    Args:
        expression: where to begin.
        into_steps: whether to go on to what a step is made of; else a step is the end of a branch,
            as it is in the formula.
    """
    rest, seen = [expression], {id(expression): expression}
    while rest:
        node = rest.pop()
        yield node
        if isinstance(node, Operation):
            parts = node.operands
        else:
            parts = (node.operation,) if into_steps and node.operation is not None else ()
        for part in reversed(parts):
            if id(part) not in seen:
                seen[id(part)] = part
                rest.append(part)


def sources(step: Step) -> list[Step]:
    """Return the steps and inputs that a step is made from at once."""
    nodes = walk(step.operation) if step.operation is not None else ()
    return [node for node in nodes if isinstance(node, Step)]


def transform(expression: Expression, rule: Callable[[Step], Expression]) -> Expression:
    """Return an expression with each step of its formula replaced by what a rule gives for it.

    Where the rule gives every step back, the expression itself is returned.
    """
    if isinstance(expression, Step):
        return rule(expression)
    parts = {name: transform(part, rule) for name, part in _parts(expression)}
    changed = {name: part for name, part in parts.items() if part is not getattr(expression, name)}
    return replace(expression, **changed) if changed else expression


def rewritten(
    expression: Expression, rule: Callable[[Expression], Iterable[Expression]]
) -> Iterator[Expression]:
    """Yield the expressions in which one node is replaced by one of those that a rule gives for it.

    The whole expression comes first, then its parts in order; a step's own making is not entered.
    """
    yield from rule(expression)
    if isinstance(expression, Operation):
        for name, part in _parts(expression):
            for other in rewritten(part, rule):
                yield replace(expression, **{name: other})


def everywhere(expression: Expression, old: Expression, new: Expression) -> Expression:
    """Return an expression with another node in the place of one, wherever that stands in it."""
    if expression is old:
        return new
    if isinstance(expression, Step):
        return expression
    parts = {name: everywhere(part, old, new) for name, part in _parts(expression)}
    changed = {name: part for name, part in parts.items() if part is not getattr(expression, name)}
    return replace(expression, **changed) if changed else expression


def _parts(operation: Operation) -> Iterator[tuple[str, Expression]]:
    """Yield the fields of an operation that hold an expression."""
    for name in operation.fields:
        part = getattr(operation, name)
        if isinstance(part, (Step, Operation)):
            yield name, part
