"""Helpers for expressions: the operation of a step, its parts, and the kinds of its matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeGuard, TypeVar

from attncli.core.attention.heads import SplitHeads
from attncli.core.mechanisms.trace import Trace
from attncli.core.tape.step import Expression, Operation, Step
from attncli.core.tape.walk import rewritten

N = TypeVar("N", bound=Operation)


def made_of(step: Step) -> Expression:
    """Return the operation of a step of the calculation."""
    assert step.operation is not None  # as it is no input
    return step.operation


def made_by(kind: type[N], expression: Expression) -> N | None:
    """Return the operation of a step if it is of a type; else None."""
    made = expression.operation if isinstance(expression, Step) else None
    return made if isinstance(made, kind) else None


def put(expression: Expression, old: Expression, new: Expression) -> Expression:
    """Return an expression with its part `old` replaced by `new`, if it has that part."""
    return next(rewritten(expression, lambda node: (new,) if node is old else ()), expression)


def uncut(made: Expression | None) -> Expression | None:
    """Return the operand of `SplitHeads`; any other expression unchanged."""
    return made.operand if isinstance(made, SplitHeads) else made


def is_bias(expression: Expression) -> bool:
    """Return True for a matrix or vector of the problem, perhaps cut into heads."""
    whole = uncut(expression)
    return isinstance(whole, Step) and whole.operation is None


def is_projection(expression: Expression) -> bool:
    """Return True for a matrix or vector of the problem that is applied to tokens."""
    is_input = isinstance(expression, Step) and expression.operation is None
    return is_input and expression.trailing[0] not in ("query", "key", "time")


def is_named(expression: object, name: str | tuple[str, ...]) -> TypeGuard[Step]:
    """Return True for a step or input whose name starts with one of some words."""
    return isinstance(expression, Step) and expression.plain.startswith(name)


def rewritten_steps(
    trace: Trace, names: Iterable[str], rule: Callable[[Expression], Iterator[Expression]]
) -> dict[str, Expression]:
    """Return the operations that a rule makes of those of some steps, where it changes them."""
    steps = [trace[name] for name in names if name in trace]
    return {step.name: made for step in steps for made in rewritten(made_of(step), rule)}
