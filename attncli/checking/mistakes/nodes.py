"""Helpers for the nodes of an expression: how a step is made, and which matrix a node is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeGuard, TypeVar

from attncli.attention.heads import SplitHeads
from attncli.mechanisms.trace import Trace
from attncli.tape.step import Expression, Operation, Step
from attncli.tape.walk import rewritten

N = TypeVar("N", bound=Operation)


def made_of(step: Step) -> Expression:
    assert step.operation is not None  # by a step of the calculation
    return step.operation


def made_by(kind: type[N], expression: Expression) -> N | None:
    """Return the operation of a step that is made by that type of operation; else None."""
    made = expression.operation if isinstance(expression, Step) else None
    return made if isinstance(made, kind) else None


def put(expression: Expression, old: Expression, new: Expression) -> Expression:
    """Return an expression with another one in the place of a part of it, if it has the part."""
    return next(rewritten(expression, lambda node: (new,) if node is old else ()), expression)


def uncut(made: Expression | None) -> Expression | None:
    """Return what is cut into heads; any other expression as it is."""
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
    return isinstance(expression, Step) and expression.name.startswith(name)


def remade(
    trace: Trace, names: Iterable[str], rule: Callable[[Expression], Iterator[Expression]]
) -> dict[str, Expression]:
    """Return how some steps of a trace are made by a rule, each where the rule changes it."""
    steps = [trace[name] for name in names if name in trace]
    return {step.name: made for step in steps for made in rewritten(made_of(step), rule)}
