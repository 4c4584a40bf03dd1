"""Two causes of arrays that differ, made one."""

from __future__ import annotations

from typing import TypeAlias

from attncli.checking.judging.judged_steps import Finding
from attncli.core.calculation.mistake import made_of
from attncli.core.calculation.trace import Trace
from attncli.core.tape.evaluation import Change, everywhere, walk
from attncli.core.tape.step import Expression, Operation

ChangedSteps: TypeAlias = tuple[Finding, Change]
"""A possible cause that is a change of some steps: its description, and the change."""


def both(trace: Trace, one: ChangedSteps, other: ChangedSteps) -> ChangedSteps | None:
    """Return two causes that only together give the numbers, as one.

    It is None if they change the same part of an operation.
    """
    (first, one_change), (second, other_change) = one, other
    change = {**one_change, **other_change}
    for name in one_change.keys() & other_change.keys():
        merged = _merged(made_of(trace[name]), one_change[name], other_change[name])
        if merged is None:
            return None
        change[name] = merged
    what = f"Two causes at once. {first.message} {second.message}"
    line_or_advice = first.advice.removesuffix(".")  # a line of NumPy ends without a full stop
    advice = f"{line_or_advice}. {second.advice}"
    return Finding(first.id, what, advice, together=(first, second)), change


def _merged(right: Expression, one: Expression, other: Expression) -> Expression | None:
    for first, second in ((one, other), (other, one)):
        parts = _differences(right, first)
        if parts.keys() <= {*walk(second)}:
            return everywhere(second, parts)
    return None


def _differences(right: Expression, other: Expression) -> dict[Expression, Expression]:
    """Return the smallest parts of an expression that are others in another one."""
    if right is other:
        return {}
    if not (isinstance(right, Operation) and isinstance(other, Operation) and _alike(right, other)):
        return {right: other}
    pairs = zip(right.operands, other.operands, strict=True)
    return {old: new for pair in pairs for old, new in _differences(*pair).items()}


def _alike(one: Operation, other: Operation) -> bool:
    """Return True if two operations differ at most in their operands."""
    fields = one.annotated.keys() - {*one.operand_fields}
    is_same = type(one) is type(other) and len(one.operands) == len(other.operands)
    return is_same and all(getattr(one, name) is getattr(other, name) for name in fields)
