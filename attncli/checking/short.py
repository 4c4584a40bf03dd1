"""Right numbers with fewer digits than a teacher asks for."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.agreement import agrees, exact_cells, known_cells
from attncli.checking.judged import FOLLOWS, MISSING, WRONG, Compared, Finding, Given, Judged
from attncli.checking.standing import Standing
from attncli.records import replace
from attncli.tape.cells import cell_name

SLACK = 1 + 1e-9
"""Powers of ten with negative exponents are no exact floats."""


def refuse_short(judged: Judged, decimals: int, standing: Standing) -> Judged:
    """Return a step whose right numbers are wrong where they have too few decimals.

    A number that has no more digits is written out, as 14 is for 14.00, and so is a fraction; the
    same holds for what comes out exactly of the student's own numbers. A computer's floats have all
    their digits.

    Args:
        judged: the step.
        decimals: how many digits after the point are asked for.
        standing: what the student's numbers stand for.
    """
    if not isinstance(judged, Given) or judged.written.dtype:
        return judged
    unit, codes = judged.written.unit, judged.codes
    is_short = (unit > 10.0**-decimals * SLACK) & (codes != MISSING) & (codes != WRONG)
    is_short &= np.isfinite(judged.written.values)  # −1e9 in a blocked cell stands for −∞
    if not is_short.any():
        return judged
    yours, follows = standing.from_earlier(judged.step)
    # What only follows from rounded numbers may be a right number that was rounded, too.
    is_known = known_cells(follows, unit) & agrees(judged.written.values, 0.0, yours)
    is_exact = np.where(
        codes == FOLLOWS, exact_cells(yours, unit), is_known | _is_exact(judged, standing)
    )
    short = is_short & ~is_exact
    if not short.any():
        return judged
    codes = np.where(short, WRONG, codes).astype(codes.dtype)
    if isinstance(judged, Compared):
        return replace(judged, codes=codes, short=short)
    return Compared(judged.step, codes, judged.written, judged.unit, yours, follows, short=short)


def _is_exact(judged: Given, standing: Standing) -> Array:
    """Return where no right calculation has more digits than were written."""
    unit, name = judged.written.unit, judged.step.name
    found = exact_cells(judged.step.array, unit)
    for other in standing.right.others:
        found &= exact_cells(other[name].array, unit)
    return found


def too_few_digits(judged: Judged, decimals: int) -> Finding | None:
    """Return what is said of numbers with too few decimals, None where there are none."""
    if not isinstance(judged, Compared) or judged.short is None:
        return None
    step = judged.step
    at = [tuple(place) for place in np.argwhere(step.on_paper(judged.short)).tolist()]
    asked = f"the {decimals} decimals that are" if decimals > 1 else "the 1 decimal that is"
    if len(at) > 1:
        message = f"{len(at)} of the numbers have fewer than {asked} asked for."
    else:
        unit = float(step.on_paper(judged.written.unit)[at[0]])
        has = _decimals(max(0, round(-np.log10(unit))))
        verb = "are" if decimals > 1 else "is"
        message = f"{cell_name(step, at[0])} has {has}, but {decimals} {verb} asked for."
    advice = f"Write {_decimals(decimals)}; keep more of them until the last step."
    return Finding("too_few_digits", message, advice)


def _decimals(count: int) -> str:
    return f"{count or 'no'} decimal{'' if count == 1 else 's'}"
