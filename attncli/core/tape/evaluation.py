"""Functions that evaluate, walk through and rewrite expressions, and replays of calculations.

A `Replay` calculates again with other numbers, or other operations, in some of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, reduce
from operator import is_not
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

import numpy as np

from attncli.core.arithmetic.elements import Array, are_floats
from attncli.core.arithmetic.floats import all_finite
from attncli.core.errors import fail
from attncli.core.records import EMPTY, replace
from attncli.core.tape.step import Expression, Operation, ShapeError, Step

if TYPE_CHECKING:
    from attncli.core.arithmetic.intervals import Interval


def evaluate(
    expression: Expression,
    value_of: Callable[[Step], Any],
    constant: Callable[[float], Any] | None = None,
) -> Any:
    """Return the array of an expression; an interval if the value of any of its steps is one.

    `value_of` gives the array of each step; `constant`, where arrays do not hold floats, the
    element for a number of an operation, such as a temperature.

    Raises:
        ShapeError: if an operation has no result for its operands.
    """
    if isinstance(expression, Step):
        return value_of(expression)
    arrays = [evaluate(operand, value_of, constant) for operand in expression.operands]
    return apply_to(expression, arrays, constant)


def apply_to(
    operation: Operation, arrays: list[Any], constant: Callable[[float], Any] | None = None
) -> Any:
    """Apply an operation to arrays; `constant` is as for `evaluate`.

    The result has the type of an operand, also where `apply` made truths, or wider floats.

    Raises:
        ShapeError: if the operation has no result for them.
        InputError: if `apply` does with elements, intervals or calls what only floats can do.
    """
    operation = with_plain_floats(operation, constant)
    # Arrays that record calls are arrays, too; few commands import them.
    kinds = {*map(type, arrays)} - {np.ndarray}
    others: list[Any] = [
        kind for kind in kinds if not issubclass(kind, np.ndarray) and not hasattr(kind, "called")
    ]
    with np.errstate(all="ignore"):  # an overflow is noticed, and named, by the tape
        try:
            if others:
                (interval,) = others
                ends = [a if type(a) is interval else interval(a, a) for a in arrays]
                found = operation.bounds(*ends)
                return (found if type(found) is interval else interval(found, found)).astype(float)
            result = operation.apply(*arrays)
            if result.dtype == arrays[0].dtype:
                return result
            types = {array.dtype for array in arrays}
            return result if result.dtype in types else result.astype(np.result_type(*types))
        except ValueError as error:  # NumPy's, for shapes that do not go together
            raise ShapeError(*error.args) from error
        except (AttributeError, NotImplementedError, TypeError) as error:
            if all(map(are_floats, arrays)):
                raise
            hint = "An operation, in docs/extending.md, lists the functions that apply may use"
            raise fail(f"{type(operation).__name__} needs floats: {error}", hint=hint) from error


def with_plain_floats(
    operation: Operation, constant: Callable[[float], Any] | None = None
) -> Operation:
    """Return an operation whose own numbers are floats, or elements as for `evaluate`.

    A number that knows how it was written would make NumPy widen float32.
    """
    if not operation.float_fields:
        return operation
    plain = {
        name: (constant or float)(x)
        for name in operation.float_fields
        if isinstance(x := getattr(operation, name), float)
        and (constant is not None or type(x) is not float)
    }
    return replace(operation, **plain) if plain else operation


def array_of(expression: Expression, held: dict[Expression, Array] | None = None) -> Array:
    """Return the array of an expression of recorded values.

    `held` has arrays of expressions that were evaluated before; one that is used is dropped.

    Raises:
        FloatingPointError: with the innermost operation whose result a float cannot hold. Its
            infinity could come out of the next operation as an ordinary number: tanh ∞ = 1.
    """
    if isinstance(expression, Step) or "array" in vars(expression):
        return expression.array
    if held and expression in held:
        return held.pop(expression)
    operands = [array_of(operand, held) for operand in expression.operands]
    array: Array = apply_to(expression, operands)
    if are_floats(array) and not _is_held(expression, operands, array):
        raise FloatingPointError(expression)
    return array


def _is_held(operation: Operation, operands: list[Array], array: Array) -> bool:
    """Return whether floats hold a result and the operation's numbers.

    −∞ is a blocked cell only where a mask put it, or where an operand has it already.
    """
    if operation.float_fields:
        numbers = [abs(getattr(operation, name)) for name in operation.float_fields]
        if max(numbers) > float(np.finfo(array.dtype).max):
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


Region = tuple[slice, slice]
"""Some rows and columns of an array."""

ALL = slice(None)


def cut(array: Array, region: Region) -> Array:
    """Return some rows and columns of an array; an axis of size 1 stays, as it broadcasts."""
    rows, columns = (p if n > 1 else ALL for p, n in zip(region, array.shape[2:4], strict=True))
    return array[:, :, rows, columns]


def walk(expression: Expression, into_steps: bool = False) -> Iterator[Expression]:
    """Yield an expression and all its parts, each once, the whole before its parts.

    A step is the end of a branch, as it is in the formula, unless `into_steps` is true.
    """
    rest, seen = [expression], {expression}
    while rest:
        node = rest.pop()
        yield node
        if isinstance(node, Operation):
            parts = node.operands
        else:
            parts = (node.operation,) if into_steps and node.operation is not None else ()
        for part in reversed(parts):
            if part not in seen:
                seen.add(part)
                rest.append(part)


def sources(step: Step) -> list[Step]:
    """Return the steps and inputs in the formula of a step."""
    nodes = walk(step.operation) if step.operation is not None else ()
    return [node for node in nodes if isinstance(node, Step)]


def transform(expression: Expression, rule: Callable[[Step], Expression]) -> Expression:
    """Return an expression with each step of its formula replaced by what a rule gives for it.

    If the rule gives every step back, the expression itself is returned.
    """
    if isinstance(expression, Step):
        return rule(expression)
    return with_operands(expression, lambda part: transform(part, rule))


def with_steps(expression: Expression, read: Mapping[str, Step]) -> Expression:
    """Return an expression with other steps for those of some names; inputs may have the same."""
    return transform(expression, lambda part: read.get(part.name, part) if part.operation else part)


def mapped(expression: Expression, rule: Callable[[Operation], Expression]) -> Expression:
    """Return an expression with each operation replaced by what a rule gives for it, parts first.

    If the rule gives every operation back, the expression itself is returned.
    """
    if isinstance(expression, Step):
        return expression
    return rule(with_operands(expression, lambda part: mapped(part, rule)))


def everywhere(expression: Expression, others: Mapping[Expression, Expression]) -> Expression:
    """Return an expression with others for some of its nodes, wherever these occur."""
    if expression in others or isinstance(expression, Step):
        return others.get(expression, expression)
    return with_operands(expression, lambda part: everywhere(part, others))


def with_operands(operation: Operation, rule: Callable[[Expression], Expression]) -> Operation:
    """Return an operation with other operands; itself if the rule gives every one of them back."""
    changed: dict[str, Any] = {}
    for name in operation.operand_fields:
        old = getattr(operation, name)
        if old is None:
            continue
        several = old if isinstance(old, tuple) else (old,)
        others = tuple(map(rule, several))
        if any(map(is_not, others, several)):
            changed[name] = others if old is several else others[0]
    return replace(operation, **changed) if changed else operation


def rewritten(
    expression: Expression, rule: Callable[[Expression], Iterable[Expression]]
) -> Iterator[Expression]:
    """Yield each expression in which one node is replaced by an alternative that the rule gives.

    The whole expression comes first, then its parts in order, but not the operations of steps.
    """
    yield from rule(expression)
    if isinstance(expression, Operation):
        for place, operand in enumerate(expression.operands):
            for other in rewritten(operand, rule):
                others = iter([*expression.operands[:place], other])
                yield with_operands(expression, partial(next, others))  # then each as it is


Values: TypeAlias = "Array | Interval"
"""The values of a step in a replay, in the layout of its array."""

V = TypeVar("V", bound="Values")

Change: TypeAlias = Mapping[str, Expression]
"""Other operations for some steps, by the name of the step."""


class Replay(Generic[V]):
    """A calculation worked again on other numbers, such as those of a student.

    The value of a step, `replay(step)`, is the known one, or else the result of its operation on
    the replay's values of the steps before it. Values may be numbers or intervals. Each is worked
    out once, when it is first needed, in the order of computation (recursion could not reach
    through a thousand time steps).

    Args:
        steps: the calculation, in the order of computation.
        known: gives the value of a step whose numbers are known, None for any other.
        settle: takes a step and its result, and returns the value that later steps use; it may
            raise a ShapeError for the result of a mistake.
        worked: values of steps that are not known, if they have been worked out before.
        instead: operations that replace those of some steps.
        of_input: gives the value of an input, by default its array.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        known: Callable[[Step], V | None] = lambda step: None,
        settle: Callable[[Step, V], V] = lambda step, value: value,
        worked: Mapping[str, V] | None = None,
        instead: Change = EMPTY,
        of_input: Callable[[Step], V] = lambda step: cast(V, step.array),  # taken with intervals
    ) -> None:
        self._steps = list(steps)
        self._rest = iter(self._steps)
        self._is_walking = False
        self._known = known
        self._settle = settle
        self._instead = instead
        self._of_input = of_input
        self._values: dict[str, V] = dict(worked or {})
        self._inputs: dict[str, V] = {}  # an input may have the name of a step
        self._results: dict[str, V] = {}
        self._used: dict[str, list[Step]] = {}
        self._unknown: dict[str, list[Step]] = {}

    def __call__(self, step: Step) -> V:
        """Return the value of a step, or of an input."""
        if step.operation is None:
            if step.name not in self._inputs:
                self._inputs[step.name] = self._of_input(step)
            return self._inputs[step.name]
        if step.name not in self._values and not self._is_walking:
            self._is_walking = True
            try:
                for following in self._rest:
                    if following.name not in self._values:
                        self._work(following)
                    if following.name == step.name:
                        break
            finally:
                self._is_walking = False
        if step.name not in self._values:
            self._work(step)  # a later step, from which another operation goes on
        return self._values[step.name]

    def _work(self, step: Step) -> None:
        value = self._known(step)
        self._values[step.name] = self._settle(step, self.result(step)) if value is None else value

    def start_from(self, other: Replay[V]) -> None:
        """Take over what another replay of the calculation has worked out."""
        self._values |= other._values
        self._results |= other._results

    def forget(self, step: Step) -> None:
        """Work a step out again when it is needed; every step before it must be up to date."""
        self._values.pop(step.name, None)
        self._results.pop(step.name, None)

    def result(self, step: Step) -> V:
        """Return the result of a step's operation on the values before it, even if it is known."""
        if step.name not in self._results:
            new = self._instead.get(step.name, step.operation)
            self._results[step.name] = self(step) if new is None else evaluate(new, self)
        return self._results[step.name]

    def changed(self, step: Step, change: Change) -> V | None:
        """Return the result of a step if it, or steps before it, are made by other operations.

        The steps that the change names and those that depend on them are worked again, but no step
        before this one whose numbers are known. The result itself is not settled. It is None if
        nothing changes, or if the shapes of the operands do not go together.
        """
        before = self.unknown_before(step) if change.keys() - {step.name} else []
        results: dict[str, V] = {}

        def is_changed(source: Step) -> bool:
            return source.operation is not None and source.name in results

        def value(source: Step) -> V:
            return results[source.name] if is_changed(source) else self(source)

        try:
            for source in (*before, step):
                expression = change.get(source.name)
                if expression is None and any(map(is_changed, self._sources(source))):
                    expression = source.operation
                if expression is not None:
                    result = evaluate(expression, value)
                    is_last = source is step
                    results[source.name] = result if is_last else self._settle(source, result)
        except ShapeError:
            return None
        return results.get(step.name)

    def unknown_before(self, step: Step) -> list[Step]:
        """Return the steps between a step and those that are known, in the order of computation."""
        if step.name not in self._unknown:
            wanted = {source.name for source in self._sources(step)}
            unknown: list[Step] = []
            places = [other.name for other in self._steps]
            for other in reversed(self._steps[: places.index(step.name)]):
                if other.name in wanted and self._known(other) is None:
                    unknown.append(other)
                    wanted.update(source.name for source in self._sources(other))
            self._unknown[step.name] = unknown[::-1]
        return self._unknown[step.name]

    def _sources(self, step: Step) -> list[Step]:
        """Return the sources of a step, looked up once: mistakes are tried by the hundred."""
        if step.name not in self._used:
            self._used[step.name] = sources(step)
        return self._used[step.name]


def broadcast_to_step(values: V | None, step: Step) -> V | None:
    """Return values in the shape of a step's array, repeated along axes of size 1.

    None is returned for None, and for values of another shape or number of axes.
    """
    if values is None or values.shape == step.array.shape:
        return values
    sizes = zip(values.shape, step.array.shape, strict=False)
    if values.ndim != step.array.ndim or any(size not in (1, wide) for size, wide in sizes):
        return None
    return np.broadcast_to(values, step.array.shape)  # type: ignore[return-value]
