"""The search for a slip, where no mistake of the catalogue gives a student's numbers."""

from __future__ import annotations

from attncli.checking.judged import Compared, Finding
from attncli.checking.judging import Judge
from attncli.checking.slips.of_cells import of_cell
from attncli.checking.slips.of_lines import of_line
from attncli.checking.slips.of_matrices import of_exchange, of_factor, of_other_step, of_signs
from attncli.checking.slips.wrong_step import WrongStep


def slip(judge: Judge, judged: Compared) -> Finding | None:
    """Return the slip that a step's wrong cells are, if they are one.

    The judge has judged every step up to this one.
    """
    wrong = WrongStep(judge, judged)
    if len(wrong.cells) == 1:
        return of_cell(wrong)
    for search in (of_signs, of_factor, of_other_step, of_exchange):
        if found := search(wrong):
            return found
    for axis in (-2, -1):
        if judged.codes.ndim == 4 and len({(*at[:2], at[axis]) for at in wrong.cells}) == 1:
            return of_line(wrong, axis)
    return None
