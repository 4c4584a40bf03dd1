"""A step that was filled with one number: nothing was calculated, so nothing explains it."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.judged import MISSING, WRONG, Finding
from attncli.checking.slips.of_cells import number
from attncli.checking.slips.wrong_step import WrongStep
from attncli.tape.walk import sources

ENOUGH_CELLS = 3
"""So many numbers are not all the same by chance."""

EMPTY = (0.0, 1.0)
"""What is written without a calculation even where a step has one number a line, as a sum has."""

LONG = 12
"""A text with more characters is not said as it was written."""


def all_the_same(wrong: WrongStep) -> Finding | None:
    """Every number is the same one, though the right ones are not."""
    judged, step = wrong.judged, wrong.judged.step
    is_given, is_wrong = judged.codes != MISSING, judged.codes == WRONG
    given = wrong.given[is_given]
    if given.size < ENOUGH_CELLS or not (given == given[0]).all():
        return None
    if is_wrong.sum() < ENOUGH_CELLS and 2 * is_wrong.sum() <= given.size:
        return None  # nearly all of the right ones are this number
    # One sum, taken over everything, may stand in every row.
    is_narrow = 1 in step.array.shape[-2:]
    if is_narrow and abs(given[0]) not in EMPTY:
        return None
    # From numbers that are all the same follow such numbers.
    if _is_even(step.array[is_given]) or any(_is_even(one.array) for one in sources(step)):
        return None
    texts = {str(text) for text in judged.written.texts[is_given].ravel()}
    text = min(texts, key=len)
    shown = text if len(texts) == 1 and len(text) <= LONG else number(float(given[0]))
    message = f"Every number of {step.name} is {shown}."
    return Finding("all_the_same", message, "Work each number out.")


def _is_even(numbers: Array) -> bool:
    kept = numbers[np.isfinite(numbers)]
    return bool(kept.size == 0 or (numbers.size > 1 and np.ptp(kept) <= 1e-9 * np.abs(kept).max()))
