"""How wrong numbers are worked out from the student's own earlier ones."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.findings import Finding
from attncli.checking.hypotheses import WrongStep, is_long
from attncli.records import replace
from attncli.tape.cells import place_of
from attncli.tape.step import Step

SMALLEST = 1e-3
"""Smallest number of which 12 decimals hold every digit of a hand."""


def with_worked(finding: Finding, wrong: WrongStep) -> Finding:
    """Return a finding with lines that work its cells: of few each, of a line the first.

    Only the first wrong step of a report has them: it is the one to be worked again.
    """
    judge, step = wrong.judge, wrong.judged.step
    if not wrong.is_first or is_long(step):
        return finding
    from attncli.explaining.explain import explain_with  # not needed for who is right

    def numbers(source: Step) -> Array:
        return without_noise(judge.midpoints(source))

    cells = wrong.cells if finding.id == "few_cells_slip" else wrong.cells[:1]
    places = (place_of(step, at) for at in cells)
    lines = (explain_with(judge.trace, step, place, numbers).line for place in places)
    return replace(finding, worked=tuple(lines))


def without_noise(numbers: Array) -> Array:
    """Return numbers without what floats add to them: 0.15 for 0.15000000000000002."""
    return np.where(np.abs(numbers) > SMALLEST, np.round(numbers, 12), numbers)
