"""How wrong numbers are worked out from the student's own earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.judged import WRONG, Finding
from attncli.checking.slips.of_cells import FEW
from attncli.checking.slips.wrong_step import WrongStep
from attncli.records import replace
from attncli.tape.cells import Index, place_of
from attncli.tape.step import Operation, Step
from attncli.tape.walk import walk

LARGE = 500
"""A step of more numbers than this is not worked as a whole for the sake of one."""

LEAST = 1e-3
"""Smaller numbers have too few digits among 12 decimals."""


def with_worked(finding: Finding, wrong: WrongStep, cells: Sequence[Index] = ()) -> Finding:
    """Return a finding with the worked lines of its cells: of few each, of a line the first.

    Its cells are those given, or else all that are wrong. Only the first wrong step of a report has
    them: it is the one to be worked again.
    """
    judge, step = wrong.judge, wrong.judged.step
    before = takewhile(lambda other: other is not wrong.judged, judge.judged.values())
    if any(other.has(WRONG) for other in before) or _is_long(step):
        return finding
    from attncli.explaining.explain import explain_with  # not needed for who is right

    def numbers(source: Step) -> Array:
        return without_noise(judge.midpoints(source))

    is_few = finding.id == "few_cells_slip"
    places = (place_of(step, at) for at in (cells or wrong.cells)[: FEW if is_few else 1])
    lines = (explain_with(judge.trace, step, place, numbers).line for place in places)
    return replace(finding, worked=tuple(lines))


def _is_long(step: Step) -> bool:
    """Return whether one number of a large step cannot be worked without all others."""
    nodes = walk(step.operation) if step.operation is not None else ()
    first = (slice(0, 1), slice(0, 1))
    is_whole = any(isinstance(node, Operation) and node.needs(first) is None for node in nodes)
    return is_whole and step.array.size > LARGE


def without_noise(numbers: Array) -> Array:
    """Return numbers without what floats add to them: 0.15 for 0.15000000000000002."""
    return np.where(np.abs(numbers) > LEAST, np.round(numbers, 12), numbers)
