"""What went wrong in a step: the first of an ordered list of searches that explains it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from attncli.checking.judging import judged_steps
from attncli.checking.judging.agreement import CUT_OFF, agrees, is_same
from attncli.checking.judging.equivalent_forms import with_change
from attncli.checking.judging.judge import Judge
from attncli.checking.judging.judged_steps import WRONG, Compared, Finding, Given, Judged, Misshapen
from attncli.checking.judging.readings import Way
from attncli.checking.naming import hypotheses, line_slips
from attncli.checking.naming.catalogued import (
    by_a_mistake,
    by_a_mutation,
    by_mistakes_in_rows,
    mistakes_before,
)
from attncli.checking.naming.hypotheses import SlipSearch, WrongStep, explained_by, is_long
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import interval
from attncli.core.numbers.last_place import numbers_of
from attncli.core.records import EMPTY, replace
from attncli.core.tape.cell_names import cell_name, place_of
from attncli.core.tape.evaluation import Change, Replay, Values, broadcast_to_step
from attncli.core.tape.step import ShapeError, Step
from attncli.core.text.strings import all_of, label_text

MAX_LISTED_LABELS = 6
"""Maximum number of labels that a sentence lists."""


def of_mismatch(judge: Judge, judged: Misshapen) -> Finding:
    """Return the fault of a shape, or the mistake that gives numbers of that shape."""
    fault, step = judged.mismatch.fault, judged.step
    what, advice = _sentence(fault.message), _sentence(fault.hint)
    shape = Finding("wrong_shape", what, advice)
    if judged.mismatch.transposed:
        if _is_transposed(judge, judged):
            what = f"Rows and columns of {step.name} have changed places: {fault.message}."
            return Finding("transposed", what, _line_for_each(step))
        place, what = what.removesuffix("."), "Rows and columns have changed places."
        shape = Finding("transposed", what, _line_for_each(step), place, certain=False)
    mistake = next(_of_other_shape(judge, judged), None)
    return replace(mistake, also=(shape,)) if mistake else shape


def _is_transposed(judge: Judge, judged: Misshapen) -> bool:
    numbers, unit = numbers_of(judged.mismatch.texts)[:2]
    right = judged.step.on_paper(judge.operands.written.result(judged.step)).swapaxes(-1, -2)
    if right.shape != numbers.shape:
        return False
    near = agrees(numbers, unit, right, units=CUT_OFF)
    return bool(2 * near.sum() >= near.size)


def _line_for_each(step: Step) -> str:
    for axis, noun in zip(step.axes[-2:], ("row", "column"), strict=False):
        if axis in ("query", "key", "time"):
            labels = step.labels.get(axis, ())
            names = f": {all_of(list(map(label_text, labels)))}" if labels else ""
            names = "" if len(labels) > MAX_LISTED_LABELS else names
            return f"Write a {noun} for each {axis}{names}."
    return "Let rows and columns change places."


def _of_other_shape(judge: Judge, judged: Misshapen) -> Iterator[Finding]:
    step = judged.step
    numbers, unit = (array.squeeze() for array in numbers_of(judged.mismatch.texts)[:2])
    for mistake in mistakes_before(judge, step):
        result = judge.operands.ranges.changed(step, mistake.change)
        if result is None or result.shape == step.array.shape:
            continue
        if step.columns and result.ndim == 4:
            result = np.swapaxes(result, -1, -2)  # of intervals, too
        result = interval(result.reshape([size for size in result.shape if size != 1]))
        if result.shape != numbers.shape or numbers.size < 2:
            continue
        is_evident = (result.high - result.low <= 0.1 * np.ptp(numbers)).all()
        if is_evident and agrees(numbers, unit, result).all():
            yield mistake.finding(step)


def _sentence(text: str) -> str:
    is_word = text.startswith(("the ", "a ", "row ", "matrix "))
    return f"{text[0].upper()}{text[1:]}." if is_word else f"{text}."


OF_A_NUMBER = (line_slips.wrong_signs, hypotheses.moved_point, hypotheses.swapped_digits)
"""Slips in writing a number down."""

OF_ONE_CELL = (line_slips.mask_slip, *OF_A_NUMBER, hypotheses.other_term)
"""Explanations of one wrong number, in the order of trial."""

OF_SEVERAL = (
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
    """Return what explains the wrong numbers of a step, None for a step that is not wrong."""
    if isinstance(judged, Misshapen):
        return of_mismatch(judge, judged)
    if not isinstance(judged, Compared) or not judged.has(WRONG):
        return None
    few = too_few_digits(judged, judge.trace.problem.marking.decimals or 0)
    if few and (judged.short == (judged.codes == WRONG)).all():
        return few  # else what made other numbers wrong is reported first
    wrong = WrongStep(judge, judged)
    if even := line_slips.all_the_same(wrong):
        return replace(even, gives_all=by_a_mistake(wrong, is_alone=False) is not None)
    is_one = len(wrong.cells) == 1
    is_alone = is_one and wrong.shown.sum() >= MIN_SHOWN
    finding = None
    if is_alone and not _first(wrong, (line_slips.mask_slip,)):
        finding = _first(wrong, OF_A_NUMBER)
    if not finding and (finding := by_a_mistake(wrong, is_alone)) and not is_one:
        swapped = _first(wrong, (line_slips.exchanged_shares,))
        return replace(swapped, certain=False, also=(finding,)) if swapped else finding
    if not finding:
        slip = _first(wrong, OF_ONE_CELL if is_one else OF_SEVERAL)
        has_cause = slip and slip.certain and slip.id != "constant_factor"
        is_open = not is_alone and not has_cause
        finding = (by_a_mutation(wrong) if is_open else None) or slip
    finding = finding or by_mistakes_in_rows(wrong) or _where(wrong)
    is_local = finding is not None and (is_one or finding.place or wrong.is_only_line)
    return _with_worked(finding, wrong) if finding and is_local else finding


def _first(wrong: WrongStep, searches: tuple[SlipSearch, ...]) -> Finding | None:
    return next(filter(None, (explained_by(wrong, search) for search in searches)), None)


def _where(wrong: WrongStep) -> Finding | None:
    cells, axis = wrong.cells, wrong.axis
    if len(cells) == 1:
        place = f"Only {wrong.place}"
        return Finding("single_cell_slip", hypotheses.off_by(wrong), wrong.again, place, hint="")
    is_few = len(cells) <= MAX_FEW and 3 * len(cells) <= wrong.shown.sum()
    is_line = axis is not None and not wrong.is_only_line
    if is_few and not (is_line and (wrong.wrong | ~wrong.shown)[wrong.in_line].all()):
        place = f"Only {all_of([wrong.cell(at) for at in cells])} are wrong"
        return Finding("few_cells_slip", "", wrong.again.replace("it", "them"), place)
    if axis is not None and is_line:
        return Finding(f"{wrong.noun(axis)}_slip", "", wrong.again, wrong.place)
    return None


def _with_worked(finding: Finding, wrong: WrongStep) -> Finding:
    """Return a finding with lines that work its cells: each of few cells, the first of a line."""
    judge, step = wrong.judge, wrong.step
    if not wrong.is_first or is_long(step):
        return finding
    from attncli.core.explaining.explain import Explainer  # correct submissions never need it

    def numbers(source: Step) -> Array:  # 0.15 instead of 0.15000000000000002
        written = judge.operands.written(source)
        return np.where(np.abs(written) > MIN_ROUNDED, np.round(written, 12), written)

    cells = wrong.cells if finding.id == "few_cells_slip" else wrong.cells[:1]
    places = (place_of(step, at) for at in cells)
    explainer = Explainer(judge.trace, numbers=numbers)
    lines = (explainer.explain(step, place).line for place in places)
    return replace(finding, worked=tuple(lines))


def too_few_digits(judged: Judged, decimals: int) -> Finding | None:
    if not isinstance(judged, Compared) or judged.short is None:
        return None
    step = judged.step
    at = [tuple(place) for place in np.argwhere(step.on_paper(judged.short)).tolist()]
    verb = "are" if decimals > 1 else "is"
    if len(at) > 1:
        # Other numbers with as few digits may be right to the wanted decimals: 0.5 for 0.500.
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


def carried_forward(judge: Judge) -> tuple[dict[str, Judged], dict[str, Finding]]:
    """Return all steps, judged, and what explains the wrong ones.

    A student goes on from the wrong numbers as they are written, which the judge knows; or from
    those that the same mistake gives with every digit; or from the right ones, if a number was only
    copied wrongly. The one that leaves the fewest later numbers wrong holds for all later steps.
    """
    steps, findings = dict[str, Judged](), dict[str, Finding]()
    first: dict[str, Judge] = {}  # by which steps are judged in which a known mistake is made, too
    for name in judge.trace.steps:
        known = first.get(name, judge)
        judged = steps[name] = known.judged[name]
        if finding := None if _only_unreadable(judged) else diagnose(known, judged):
            findings[name] = finding
            if isinstance(judged, Compared) and finding.certain and finding.gives_all:
                steps[name] = judged.following(_kept(known, judged, finding.change))
        if not isinstance(judged, Compared) or name in first:
            continue
        if judged.has(WRONG) and judge.wrong_after(name):
            change = finding.change if finding else EMPTY
            others = _after(judge, judged, change)
            first |= dict.fromkeys(change, judge)
            judge = min((judge, *others), key=lambda other: other.wrong_after(name))
    return steps, findings


def _kept(judge: Judge, judged: Compared, change: Change) -> Array:
    """Return the cells of a step that may be right, and that a mistake in it does not change.

    This is tried with the student's numbers, and with steps rounded as the student rounds them.
    """
    step, written = judged.step, judge.operands.written
    left = np.zeros(judged.codes.shape, bool)
    ways: list[tuple[Replay[Any], Values]] = [(written, judged.follows)]
    ways += [(rounded, rounded.result(step)) for rounded in judge.operands.rounded]
    for replay, right in ways:
        other = broadcast_to_step(replay.changed(step, change), step)
        if other is not None:
            left |= is_same(other, replay.result(step)) & judged.agrees(right)
    return left


def _after(judge: Judge, judged: Compared, change: Change) -> Iterator[Judge]:
    """Yield judges by whom the steps after a wrong one follow from other numbers than written."""
    name, copied = judged.step.name, judged.without_wrong_numbers
    yield Judge(judge.reference, {**judge.matrices, name: copied.written}, judge, {name: copied})
    if change:
        try:
            mistaken = judge.reference.changed(partial(with_change, change=change))
        except ShapeError:
            return
        if all(mistaken.trace[step.name].array.shape == step.array.shape for step in judge.trace):
            again = dict.fromkeys((name, *change))
            yield Judge(mistaken, judge.matrices, judge, again)


def _only_unreadable(judged: Judged) -> bool:
    """Return True if all wrong cells of a step are no numbers, which no mistake explains."""
    no_number = judged.written.unreadable if isinstance(judged, Given) else None
    return no_number is not None and not ((judged.codes == WRONG) & ~no_number).any()


def with_another_problem(
    way: Way, steps: Mapping[str, Judged], findings: dict[str, Finding]
) -> dict[str, Finding]:
    """Return findings with what is said of wrong steps if another problem was worked right."""
    first = next((name for name in steps if name in way.wrong), "")
    vague = (*judged_steps.SHAPES, "constant_factor")
    if not first or (first in findings and findings[first].id not in vague):
        return findings
    from attncli.checking.mistakes.conventions import of_another_problem

    if (cause := of_another_problem(way)) is None:
        return findings
    advice = f"Work it again when {first} is right."
    later = replace(cause, what=f"This follows from {first}.", advice=advice)
    return {**dict.fromkeys(way.wrong, later), first: cause}
