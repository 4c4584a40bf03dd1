"""What is calculated instead: changes of steps, and rules that rewrite how a step is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, TypeGuard

from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.step import Expression, Operation, Step

Change: TypeAlias = Mapping[str, Expression]
"""What is calculated instead, by the name of the step."""

Rule: TypeAlias = Callable[[Expression], Iterator[Expression]]
"""What may wrongly stand in the place of one expression."""

Words: TypeAlias = Mapping[str, str]
"""What fills the blanks of a mistake's sentence."""

Changes: TypeAlias = Callable[[Step, Trace], Iterator[tuple[Change, Words]]]
"""What a mistake may make of a step, each with the words for its sentence."""

NO_WORDS: Words = {}


def rewritten(expression: Expression, rule: Rule) -> Iterator[Expression]:
    """Yield an expression with one place of it changed by a rule."""
    yield from rule(expression)
    if isinstance(expression, Step):
        return
    for name in expression.fields:
        part = getattr(expression, name)
        if isinstance(part, Step | Operation):
            for other in rewritten(part, rule):
                yield replace(expression, **{name: other})


def by_rule(rule: Rule) -> Changes:
    """Return the changes that a rule makes in how a step is made."""

    def changes(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
        del trace
        for other in rewritten(made_of(step), rule):
            yield {step.name: other}, NO_WORDS

    return changes


def by_line(rule: Rule) -> Changes:
    """Return the changes that a rule makes, with words for the lines that sum to 1.

    `{line}` is a row or a column as it stands on paper, `{one}` whose it is, `{other}` not.
    """

    def changes(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
        by_query = trace.problem.rules.normalize.axis == "keys"
        line = "row" if by_query != step.columns else "column"
        one, other = ("query", "key") if by_query else ("key", "query")
        for made in rewritten(made_of(step), rule):
            yield {step.name: made}, {"line": line, "one": one, "other": other}

    return changes


def made_of(step: Step) -> Expression:
    """Return what a step of the calculation is made of."""
    assert step.operation is not None  # by a step of the calculation
    return step.operation


def is_input(expression: Expression) -> bool:
    """Whether it is a matrix or vector that the problem gives."""
    return isinstance(expression, Step) and expression.operation is None


def is_projection(expression: Expression) -> bool:
    """Whether it is a matrix or vector of the problem that is applied to tokens."""
    return is_input(expression) and expression.trailing[0] not in ("query", "key", "time")


def is_named(expression: object, name: str | tuple[str, ...]) -> TypeGuard[Step]:
    """Whether it is a step or input whose name starts so, or in one of several ways."""
    return isinstance(expression, Step) and expression.name.startswith(name)


def is_w_o(expression: Expression) -> bool:
    """Whether it is the projection after the heads."""
    return is_named(expression, "W_o")
