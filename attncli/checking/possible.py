"""Whether somebody may have made a change, whatever numbers it gives."""

from __future__ import annotations

from attncli.arithmetic.elements import Array
from attncli.attention.normalizers import Sum
from attncli.mechanisms.trace import Trace
from attncli.tape.operations import Transposed
from attncli.tape.replay import Change, Replay
from attncli.tape.step import Expression, Step
from attncli.tape.walk import evaluate, walk


def is_possible(
    trace: Trace, numbers: Replay[Array], step: Step, change: Change, found: Array
) -> bool:
    """Return whether somebody may have made a change of a step.

    Args:
        trace: the right calculation.
        numbers: the calculation that was changed.
        step: the changed step.
        change: what was calculated instead.
        found: what the step became.
    """
    made = change.get(step.name, step.operation)
    return not (_repeats_lines(found, step, made) or _sums_single_numbers(trace, numbers, made))


def _repeats_lines(found: Array, step: Step, made: Expression | None) -> bool:
    """Return whether numbers of another shape fit a step only because rows or columns repeat.

    Nobody writes a row again and again for the other rows; heads, though, may share what all of
    them are made from, and a sum stands beside everything that it is the sum of.
    """
    return any(
        found.shape[axis] != step.array.shape[axis] and not _is_summed(made, axis)
        for axis in range(-1, 1 - found.ndim, -1)
    )


def _is_summed(made: Expression | None, axis: int) -> bool:
    """Return whether an axis has the size 1 because what stood along it was added up."""
    if isinstance(made, Transposed):
        return _is_summed(made.operand, -3 - axis)
    return isinstance(made, Sum) and (made.along == axis or _is_summed(made.operand, axis))


def _sums_single_numbers(trace: Trace, numbers: Replay[Array], made: Expression | None) -> bool:
    """Return whether a change sums over the other axis than it should where that has one place.

    Weights cannot sum to 1 over the queries where there is only one query.
    """
    right = trace.problem.rules.normalize.along
    sums = (node for node in walk(made) if isinstance(node, Sum)) if made is not None else ()
    return any(
        node.along != right and evaluate(node.operand, numbers).shape[node.along] == 1
        for node in sums
    )
