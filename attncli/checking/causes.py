"""The nearest of several causes, and two at once: their changes of one calculation, together."""

from __future__ import annotations

from collections.abc import Iterable

from attncli.checking.judging.judged_steps import Finding
from attncli.checking.naming.catalogued import is_like
from attncli.core.calculation.mistake import made_of
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.evaluation import Change, everywhere, walk
from attncli.core.tape.step import Expression, Operation


def said_of(one: Finding, other: Finding) -> Finding:
    """Return what is said of two causes that only together give the numbers."""
    what = f"Two causes at once. {one.message} {other.message}"
    return Finding(one.id, what, f"{one.advice} {other.advice}", together=(one, other))


def both(trace: Trace, one: Change, other: Change) -> Change | None:
    """Return two changes made together; None if they change the same part of an operation."""
    change = {**one, **other}
    for name in one.keys() & other.keys():
        merged = _merged(made_of(trace[name]), one[name], other[name])
        if merged is None:
            return None
        change[name] = merged
    return change


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


def nearest(causes: Iterable[tuple[float, Finding]]) -> Finding | None:
    """Return the nearest cause, with another one that fits as well in the same steps."""
    fitting = sorted((one for one in causes if one[0] <= 1), key=lambda one: one[0])
    if not fitting:
        return None
    (least, first), *rest = fitting
    others = [one for misfit, one in rest if (misfit < 0) == (least < 0)]
    also = [one for one in others if not (one.id == first.id or is_like(one.id, first.id))]
    return replace(first, certain=not also, also=tuple(also[:1]))
