"""Sentences on the numbers of a step that are not right, or not quite, and what was written."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.diagnosis import too_few_digits
from attncli.checking.findings import Finding
from attncli.checking.judged import (
    CORRECT,
    LAST_DIGIT,
    MISSING,
    ROUNDED_EARLY,
    WRONG,
    Compared,
    Given,
    Judged,
)
from attncli.checking.numerals import number_of
from attncli.notation.parser import NumberError
from attncli.tape.cells import Index, cell_name
from attncli.text.escapes import label_text

MOST_CELLS = 12
"""How many cells are told one by one before the rest is only counted."""


def places(chosen: Array) -> list[Index]:
    """Return where an array of truth values is true."""
    return [tuple(place) for place in np.argwhere(chosen).tolist()]


def _count(cells: Array) -> str:
    count = int(cells.sum())
    return "1 number is" if count == 1 else f"{count} numbers are"


def unexplained(judged: Judged, finding: Finding | None, decimals: int) -> Iterator[str]:
    """Yield sentences for the wrong numbers that are not what the finding explains.

    `decimals` is how many are asked for.
    """
    wrong, few = judged.codes == WRONG, too_few_digits(judged, decimals)
    if isinstance(judged, Compared) and judged.short is not None:
        wrong &= ~judged.short
    no_numbers = list(unreadable(judged).items())
    if isinstance(judged, Given) and judged.written.unreadable is not None:
        wrong &= ~judged.written.unreadable
    if finding is None and wrong.any():
        them = "it" if wrong.sum() == 1 else "them"
        yield f"{_count(wrong)} wrong; no usual mistake gives {them}."
    if few is not None and (finding is None or finding.id != few.id):
        yield few.message
    yield from (f"{cell_name(judged.step, at)}: {why}" for at, why in no_numbers[:MOST_CELLS])
    if len(no_numbers) > MOST_CELLS:
        yield f"… and {len(no_numbers) - MOST_CELLS} more that are no numbers"


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
    """Return with what rounding on the way numbers are right; strictly, that it was rounded."""
    early, right = judged.codes == ROUNDED_EARLY, judged.codes == CORRECT
    if not early.any():
        return ""
    what = judged.rounding or "something on the way rounded"
    if strict:
        return f"rounded early: {what}"
    every = (early | right | (judged.codes == MISSING)).all()
    return f"right, with {what}" if every else f"{_count(early)} right, with {what}"


def last_digits(judged: Given) -> Iterator[str]:
    """Yield the cells that are off in their last digit, and how they came about."""
    step = judged.step
    codes, texts = step.on_paper(judged.codes), written_texts(judged)
    units, values = step.on_paper(judged.unit), step.on_paper(judged.written.values)
    found = places(codes == LAST_DIGIT)
    expected = step.on_paper(judged.expected)
    cut_off = all(
        np.trunc(expected[at] / units[at]) * units[at] - values[at] < 1e-9
        and abs(values[at]) <= abs(expected[at])
        for at in found
    )
    note = " (cut off, not rounded)" if cut_off else ""
    yield f"{_count(codes == LAST_DIGIT)} off in the last digit{note}:"
    for at in found[:MOST_CELLS]:
        should_be = rounded_like(float(expected[at]), float(units[at]))
        yield f"{cell_name(step, at)} is {label_text(texts[at])}, should be {should_be}"
    if len(found) > MOST_CELLS:
        yield f"… and {len(found) - MOST_CELLS} more"


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
    """Return what was written, as it stands on paper; `_` for a cell that was left out."""
    return judged.step.on_paper(np.where(judged.written.missing, "_", judged.written.texts))
