"""The search for a slip, where no mistake of the catalogue gives a student's numbers."""

from __future__ import annotations

from attncli.checking.judged import Finding
from attncli.checking.slips.of_cells import of_cell, of_few_cells, of_number
from attncli.checking.slips.of_lines import of_divisor, of_line
from attncli.checking.slips.of_masks import of_mask
from attncli.checking.slips.of_matrices import of_exchange, of_factor, of_other_step, of_signs
from attncli.checking.slips.worked import with_worked
from attncli.checking.slips.wrong_step import WrongStep


def copied_wrongly(wrong: WrongStep) -> Finding | None:
    """Return what happened to the one wrong number when it was written down, such as a moved point.

    It is likelier than a mistake that would be seen in no other number.
    """
    found = None if of_mask(wrong) else of_number(wrong)
    return with_worked(found, wrong) if found else None


def slip(wrong: WrongStep) -> Finding | None:
    """Return the slip that a step's wrong cells are, if they are one.

    The judge has judged every step up to this one. Of the first wrong step it is told how a
    number comes about that is wrong alone, or among few.
    """
    if of_the_mask := of_mask(wrong):
        return with_worked(of_the_mask[0], wrong, of_the_mask[1])
    if len(wrong.cells) == 1:
        return with_worked(of_cell(wrong), wrong)
    for search in (of_signs, of_divisor, of_factor, of_other_step, of_exchange):
        if found := search(wrong):
            return found
    for axis in (-2, -1):
        if wrong.is_one_along(axis) and (found := of_line(wrong, axis)):
            return with_worked(found, wrong)
    found = of_few_cells(wrong)
    return with_worked(found, wrong) if found else None
