"""Sentences on the numbers of a step that are not right, or not quite, and what was written."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from itertools import takewhile

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking import judged as status
from attncli.checking.agreement import only_unit
from attncli.checking.check import Report
from attncli.checking.diagnosis import too_few_digits
from attncli.checking.judged import Compared, Given, Judged
from attncli.notation.last_place import number_of
from attncli.notation.parser import NumberError
from attncli.tape.cells import Index, cell_name
from attncli.tape.step import Step
from attncli.tape.walk import sources
from attncli.text.escapes import label_text
from attncli.text.sentences import all_of

MOST_CELLS = 12
"""Maximum number of cells that are named one by one; the others are counted. Chosen."""

MOST_STEPS = 4
"""Maximum number of hidden steps that are named, the last before a wrong one. Chosen."""

MANY_CUT_OFF = 4
"""Minimum number of cells that were cut off to be reported in one line. Chosen."""


def places(chosen: Array) -> list[Index]:
    return [tuple(place) for place in np.argwhere(chosen).tolist()]


def _count(cells: Array) -> str:
    count = int(cells.sum())
    return "1 number is" if count == 1 else f"{count} numbers are"


def unexplained(report: Report, judged: Judged, solution: bool = True) -> Iterator[str]:
    """Yield sentences on the wrong numbers that the finding does not explain.

    `solution` is True if the reader sees the right numbers.
    """
    step = judged.step
    finding = report.findings.get(step.name)
    wrong, few = judged.codes == status.WRONG, too_few_digits(judged, report.marking.decimals or 0)
    if isinstance(judged, Compared) and judged.short is not None:
        wrong &= ~judged.short
    if isinstance(judged, Given) and judged.written.unreadable is not None:
        wrong &= ~judged.written.unreadable
    if wrong.any() and _is_unexplained(report, step):
        hint = _what_to_compare(report, step, solution)
        if finding is None:
            them = "it" if wrong.sum() == 1 else "them"
            first = cell_name(step, places(step.on_paper(wrong))[0])
            hint = hint or f"Work {first} again first."
            yield f"{_count(wrong)} wrong; no single usual mistake gives {them}. {hint}"
        elif hint:
            yield hint
    if few is not None and (finding is None or finding.id != few.id):
        yield few.message
    no_numbers = [f"{cell_name(step, at)}: {why}" for at, why in unreadable(judged).items()]
    yield from no_numbers[:MOST_CELLS]
    if len(no_numbers) > MOST_CELLS:
        yield f"… and {len(no_numbers) - MOST_CELLS} more that are no numbers"


def _is_unexplained(report: Report, step: Step) -> bool:
    """Return True if a step is wrong and no finding says what was done, but perhaps where."""
    finding = report.findings.get(step.name)
    return report.steps[step.name].has(status.WRONG) and (finding is None or not finding.what)


def _what_to_compare(report: Report, step: Step, solution: bool) -> str:
    """Return which hidden step to compare, or which to hand in, to find what is wrong; or "".

    Where several wrong steps depend on the same hidden step, that is where to look.
    """
    hidden = _hidden_before(report, step)
    together = {
        other.step.name: _hidden_before(report, other.step)
        for other in report.steps.values()
        if _is_unexplained(report, other.step)
    }
    together = {name: before for name, before in together.items() if {*before} & {*hidden}}
    common = [one for one in hidden if all(one in before for before in together.values())]
    if len(together) > 1 and common:
        if step.name != next(iter(together)):
            return ""  # it is written at the first of them
        both = "both" if len(together) == 2 else "all"
        where = f"{common[-1].name}, which was not handed in"
        return f"{all_of(list(together))} {both} depend on {where}: compare it next."
    if not hidden or report.findings.get(step.name):
        return ""
    *others, last = [one.name for one in hidden[-MOST_STEPS:]]
    names = f"{', '.join(others)} or {last}" if others else last
    or_compare = ", or compare yours with the right numbers" if solution else ""
    return f"Hand in {names} too{or_compare}."


def _hidden_before(report: Report, step: Step) -> list[Step]:
    """Return the steps, in the order of computation, that were not handed in and lead to a step.

    Steps that are made of nothing, such as h_0 = 0, and other names of an input are left out.
    """
    found, wanted = list[Step](), {source.name for source in sources(step)}
    before = takewhile(lambda other: other is not step, report.trace)
    for other in reversed(list(before)):
        if other.name in wanted and report.steps[other.name].status == "missing":
            if sources(other) and not isinstance(other.operation, Step):
                found.append(other)
            wanted |= {source.name for source in sources(other)}
    return found[::-1]


def unreadable(judged: Judged) -> dict[Index, str]:
    """Return the cells on paper that are no numbers, each with the reason."""
    if not isinstance(judged, Given) or judged.written.unreadable is None:
        return {}
    step, found = judged.step, dict[Index, str]()
    texts = step.on_paper(judged.written.texts)
    for at in places(step.on_paper(judged.written.unreadable)):
        try:
            number_of(texts[at])
        except NumberError as error:
            found[at] = str(error)
    return found


def early_words(judged: Compared, strict: bool) -> str:
    """Return which rounding of earlier steps makes numbers right, or that it was done; or ""."""
    early, right = judged.codes == status.ROUNDED_EARLY, judged.codes == status.CORRECT
    if not early.any():
        return ""
    what = judged.rounding or "something on the way rounded"
    if strict:
        return f"rounded early: {what}"
    every = (early | right | (judged.codes == status.MISSING)).all()
    return f"right, with {what}" if every else f"{_count(early)} right, with {what}"


def last_digits(judged: Given, solution: bool = True) -> Iterator[str]:
    """Yield the cells that are off in their last digit, and how they came about.

    Without the solution only the cells are named.
    """
    step, off = judged.step, judged.codes == status.LAST_DIGIT
    texts, values = written_texts(judged), step.on_paper(judged.written.values)
    units, expected = step.on_paper(judged.unit), step.on_paper(judged.expected)
    found = places(step.on_paper(off))
    cut_off = all(
        np.trunc(expected[at] / units[at]) * units[at] - values[at] < 1e-9
        and abs(values[at]) <= abs(expected[at])
        for at in found
    )
    if cut_off and len(found) >= MANY_CUT_OFF:
        at, unit = found[0], only_unit(judged.unit)
        after = f" after {_decimals(unit)}" if unit and unit < 1 else ""
        finer = rounded_like(float(expected[at]), float(units[at]) / 10)
        example = f", such as {cell_name(step, at)}: {label_text(texts[at])} for {finer}"
        cut = f"{len(found)} numbers were cut off{after}, not rounded"
        yield f"{cut}{example if solution else ''}"
        return
    note = " (cut off, not rounded)" if cut_off else ""
    yield f"{_count(off)} off in the last digit{note}:"
    if not solution:
        yield ", ".join(cell_name(step, at) for at in found)
        return
    for at in found[:MOST_CELLS]:
        should_be = rounded_like(float(expected[at]), float(units[at]))
        yield f"{cell_name(step, at)} is {label_text(texts[at])}, should be {should_be}"
    if len(found) > MOST_CELLS:
        yield f"… and {len(found) - MOST_CELLS} more"


def _decimals(unit: float) -> str:
    count = round(-np.log10(unit))
    return f"{count} decimal{'s'[: count != 1]}"


def rounded_like(value: float, unit: float) -> str:
    """Return a number rounded to a unit as people round.

    >>> rounded_like(0.975559, 0.01)
    '0.98'
    """
    if not np.isfinite(value):
        return str(value)
    exponent = Decimal(1).scaleb(round(float(np.log10(unit))))
    rounded = Decimal(repr(value)).quantize(exponent, rounding=ROUND_HALF_UP)
    return f"{rounded:f}"


def written_texts(judged: Given) -> Array:
    """Return what was written, as on paper; `_` for a cell that was left out."""
    return judged.step.on_paper(np.where(judged.written.missing, "_", judged.written.texts))
