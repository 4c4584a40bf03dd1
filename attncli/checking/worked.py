"""How wrong numbers are worked out from the student's own earlier ones."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.findings import Finding
from attncli.checking.hypotheses import WrongStep
from attncli.records import replace
from attncli.tape.cells import place_of
from attncli.tape.step import Operation, Step
from attncli.tape.walk import walk

MAX_SIZE = 500
"""Maximum size of a step that is worked as a whole for the sake of one number."""

SMALLEST = 1e-3
"""Smallest number of which 12 decimals hold every digit of a hand."""


def with_worked(finding: Finding, wrong: WrongStep) -> Finding:
    """Return a finding with lines that work its cells: of few each, of a line the first.

    Only the first wrong step of a report has them: it is the one to be worked again.
    """
    judge, step = wrong.judge, wrong.judged.step
    if not wrong.is_first or _is_long(step):
        return finding
    from attncli.explaining.explain import explain_with  # not needed for who is right

    def numbers(source: Step) -> Array:
        return without_noise(judge.midpoints(source))

    cells = wrong.cells if finding.id == "few_cells_slip" else wrong.cells[:1]
    places = (place_of(step, at) for at in cells)
    lines = (explain_with(judge.trace, step, place, numbers).line for place in places)
    return replace(finding, worked=tuple(lines))


def _is_long(step: Step) -> bool:
    """Return True if one number of a large step cannot be worked without all others."""
    nodes = walk(step.operation) if step.operation is not None else ()
    first = (slice(0, 1), slice(0, 1))
    is_whole = any(isinstance(node, Operation) and node.needs(first) is None for node in nodes)
    return is_whole and step.array.size > MAX_SIZE


def without_noise(numbers: Array) -> Array:
    """Return numbers without what floats add to them: 0.15 for 0.15000000000000002."""
    return np.where(np.abs(numbers) > SMALLEST, np.round(numbers, 12), numbers)
