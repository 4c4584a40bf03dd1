"""What went wrong in a step: the first of an ordered list of searches that explains it."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking import cell_slips, line_slips
from attncli.checking.catalogued import by_a_mistake
from attncli.checking.findings import Finding
from attncli.checking.hypotheses import Search, WrongStep, explained_by, is_long
from attncli.checking.judged import WRONG, Compared, Judged, Misshapen
from attncli.checking.judging import Judge
from attncli.checking.other_shapes import of_mismatch
from attncli.records import replace
from attncli.tape.cells import cell_name, place_of
from attncli.tape.step import Step
from attncli.text.sentences import all_of

OF_A_NUMBER: tuple[Search, ...] = (
    line_slips.wrong_signs,
    cell_slips.moved_point,
    cell_slips.swapped_digits,
)
"""Slips in writing a number down."""

OF_ONE_CELL: tuple[Search, ...] = (line_slips.mask_slip, *OF_A_NUMBER, cell_slips.other_term)
"""Explanations of one wrong number, in the order of trial."""

OF_SEVERAL: tuple[Search, ...] = (
    line_slips.mask_slip,
    line_slips.wrong_signs,
    line_slips.other_divisor,
    line_slips.common_factor,
    line_slips.other_step,
    line_slips.exchange,
    line_slips.other_score,
    line_slips.like_another_line,
    line_slips.misread_factor,
)
"""Explanations of several wrong numbers, in the order of trial."""

MIN_SHOWN = 4
"""Minimum count of numbers, one of them wrong, that show an understood step. Chosen."""

MAX_FEW = 3
"""Maximum number of wrong cells that are named one by one. Chosen."""

MIN_ROUNDED = 1e-3
"""Minimum size of a number whose 12 decimals hold every digit of handwork."""


def diagnose(judge: Judge, judged: Judged) -> Finding | None:
    """Return what explains the wrong numbers of a step, None for a step that is not wrong.

    The judge has judged every step up to this one. A single wrong number was more likely copied
    wrongly than made by a mistake that no other number shows. Then the mistakes of the catalogue
    are tried, then slips; otherwise only the place is named.
    """
    if isinstance(judged, Misshapen):
        return of_mismatch(judge, judged)
    if not isinstance(judged, Compared) or not judged.has(WRONG):
        return None
    few = too_few_digits(judged, judge.trace.problem.marking.decimals or 0)
    if few and (judged.short == (judged.codes == WRONG)).all():
        return few  # whoever made a mistake is told that first
    wrong = WrongStep(judge, judged)
    if hollow := line_slips.all_the_same(wrong):
        return hollow
    is_one = len(wrong.cells) == 1
    is_alone = is_one and wrong.shown.sum() >= MIN_SHOWN
    found = None
    if is_alone and not _first(wrong, (line_slips.mask_slip,)):
        found = _first(wrong, OF_A_NUMBER)
    if not found and (found := by_a_mistake(wrong, is_alone)) and not is_one:
        return found
    found = found or _first(wrong, OF_ONE_CELL if is_one else OF_SEVERAL) or _where(wrong)
    is_local = found is not None and (is_one or found.place or wrong.is_only_line)
    return _with_worked(found, wrong) if found and is_local else found


def _first(wrong: WrongStep, searches: tuple[Search, ...]) -> Finding | None:
    return next(filter(None, (explained_by(wrong, search) for search in searches)), None)


def _where(wrong: WrongStep) -> Finding | None:
    """Return the place of the wrong cells: one cell, few cells or one line; None otherwise."""
    cells, axis = wrong.cells, wrong.axis
    if len(cells) == 1:
        place = f"Only {wrong.place}"
        return Finding("single_cell_slip", cell_slips.off_by(wrong), wrong.again, place, hint="")
    is_few = len(cells) <= MAX_FEW and 3 * len(cells) <= wrong.shown.sum()
    is_line = axis is not None and not wrong.is_only_line
    if is_few and not (is_line and (wrong.wrong | ~wrong.shown)[wrong.in_line].all()):
        place = f"Only {all_of([wrong.cell(at) for at in cells])} are wrong"
        return Finding("few_cells_slip", "", wrong.again.replace("it", "them"), place)
    if axis is not None and is_line:
        return Finding(f"{wrong.noun(axis)}_slip", "", wrong.again, wrong.place)
    return None


def _with_worked(finding: Finding, wrong: WrongStep) -> Finding:
    """Return a finding with lines that work its cells: each of few cells, the first of a line.

    Only the first wrong step of a report has them: it is the one to be worked again.
    """
    judge, step = wrong.judge, wrong.judged.step
    if not wrong.is_first or is_long(step):
        return finding
    from attncli.explaining.explain import Explainer  # correct submissions never need it

    def numbers(source: Step) -> Array:  # 0.15 instead of 0.15000000000000002
        found = judge.midpoints(source)
        return np.where(np.abs(found) > MIN_ROUNDED, np.round(found, 12), found)

    cells = wrong.cells if finding.id == "few_cells_slip" else wrong.cells[:1]
    places = (place_of(step, at) for at in cells)
    explainer = Explainer(judge.trace, numbers=numbers)
    lines = (explainer.explain(step, place).line for place in places)
    return replace(finding, worked=tuple(lines))


def too_few_digits(judged: Judged, decimals: int) -> Finding | None:
    """Return the finding for numbers with too few decimals, None where there are none."""
    if not isinstance(judged, Compared) or judged.short is None:
        return None
    step = judged.step
    at = [tuple(place) for place in np.argwhere(step.on_paper(judged.short)).tolist()]
    verb = "are" if decimals > 1 else "is"
    if len(at) > 1:
        # Others may have as few, and be right to the digits that are asked all the same.
        right = f"{len(at)} of the numbers are right only to the digits that were written"
        what = f"{right}; {_decimals(decimals)} {verb} asked for."
    else:
        unit = float(step.on_paper(judged.written.unit)[at[0]])
        has = _decimals(max(0, round(-np.log10(unit))))
        what = f"{cell_name(step, at[0])} has {has}, but {decimals} {verb} asked for."
    advice = f"Write {_decimals(decimals)}; keep more of them until the last step."
    return Finding("too_few_digits", what, advice)


def _decimals(count: int) -> str:
    return f"{count or 'no'} decimal{'' if count == 1 else 's'}"
