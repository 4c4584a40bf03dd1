"""What a mistake is: a way in which a step may be calculated otherwise, with its sentence.

A mistake looks at how a step is made and yields what somebody would calculate instead; whether
that is what a student did is for the numbers to say. It is one decorated function, whose name is
the mistake's id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, TypeGuard

from attncli.mechanisms.trace import Trace
from attncli.records import Record
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Step
from attncli.tape.walk import rewritten

Rule: TypeAlias = Callable[[Expression], Iterator[Expression]]
"""What may wrongly stand in the place of one node of an expression."""

Words: TypeAlias = Mapping[str, str]
"""What fills the blanks of a mistake's sentence and advice."""

Changes: TypeAlias = Callable[[Step, Trace], Iterator[tuple[Change, Words]]]
"""What a mistake may make of a step, each with the words for its sentence."""

NO_WORDS: Words = {}


class Mistake(Record):
    """One row of the catalogue.

    In its sentence and advice `{step}` and `{formula}` are those of the step in which it was made;
    other blanks are filled by the words that come with a change.

    Attributes:
        id: its public name.
        sentence: what was done.
        advice: what to do.
        changes: yields what would be calculated instead in a step.
    """

    id: str
    sentence: str
    advice: str
    changes: Changes


def mistake(sentence: str, advice: str) -> Callable[[Rule], Mistake]:
    """Return a decorator for a mistake that is a rule: another node for a node of an expression.

    The rule is tried on every node of how a step is made. Its sentence may speak of the lines that
    sum to 1: `{line}` is a row or a column on paper, `{one}` whose it is, `{other}` whose not.
    """

    def decorated(rule: Rule) -> Mistake:
        def changes(step: Step, trace: Trace) -> Iterator[tuple[Change, Words]]:
            for made in rewritten(made_of(step), rule):
                yield {step.name: made}, _words_of_lines(step, trace)

        return Mistake(rule.__name__, sentence, advice, changes)

    return decorated


def step_mistake(sentence: str, advice: str) -> Callable[[Changes], Mistake]:
    """Return a decorator for a mistake that looks at a whole step, or changes several at once."""
    return lambda changes: Mistake(changes.__name__, sentence, advice, changes)


def _words_of_lines(step: Step, trace: Trace) -> Words:
    by_query = trace.problem.rules.normalize.axis == "keys"
    one, other = ("query", "key") if by_query else ("key", "query")
    return {"line": "row" if by_query != step.columns else "column", "one": one, "other": other}


def made_of(step: Step) -> Expression:
    """Return what a step of the calculation is made of."""
    assert step.operation is not None  # by a step of the calculation
    return step.operation


def is_input(expression: Expression) -> bool:
    """Return whether it is a matrix or vector that the problem gives."""
    return isinstance(expression, Step) and expression.operation is None


def is_projection(expression: Expression) -> bool:
    """Return whether it is a matrix or vector of the problem that is applied to tokens."""
    return is_input(expression) and expression.trailing[0] not in ("query", "key", "time")


def is_named(expression: object, name: str | tuple[str, ...]) -> TypeGuard[Step]:
    """Return whether it is a step or input whose name starts so, or in one of several ways."""
    return isinstance(expression, Step) and expression.name.startswith(name)


def is_w_o(expression: Expression) -> bool:
    """Return whether it is the projection after the heads."""
    return is_named(expression, "W_o")
