"""Slips all over a matrix: signs, a factor, the numbers of another step, an exchange."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import hull
from attncli.checking.agreement import float_error, is_exact
from attncli.checking.judged import MISSING, WRONG, Finding, Given
from attncli.checking.slips.wrong_step import WrongStep
from attncli.checking.thresholds import ROUNDED

ENOUGH_CELLS = 3
"""From so many wrong cells on a common factor is no coincidence."""

NEARLY_ONE = 1.02
"""A factor nearer to 1 than this is none: something small was done to every number."""


def of_signs(wrong: WrongStep) -> Finding | None:
    """Every wrong cell has the wrong sign."""
    chosen = wrong.judged.codes == WRONG
    if not wrong.given[chosen].any() or not wrong.would_be_right(-wrong.given):
        return None
    count = int(chosen.sum())
    has = f"{wrong.every} {wrong.have}" if chosen.all() else f"{count} of the numbers have"
    return Finding("sign_slip", f"{has} the wrong sign.", "Mind the signs.")


def of_factor(wrong: WrongStep) -> Finding | None:
    """Every number is the same multiple of the right one.

    Each number allows the factors with which the right one rounds to it, and so a range. What all
    ranges have in common is the factor. A number that is right contradicts any.
    """
    judged = wrong.judged
    codes, unit, share = judged.codes, judged.unit, judged.written.share
    is_given = codes != MISSING
    if not np.isfinite([judged.yours[is_given], wrong.given[is_given]]).all():
        return None
    # Somebody may have multiplied what was rounded already.
    blurred = 0.0 if is_exact(judged.follows, unit, share) else unit / 2
    least, most = judged.follows.low - blurred, judged.follows.high + blurred
    kept = is_given & (least * most > 0)  # what may be 0 says nothing of a factor
    if kept.sum() < ENOUGH_CELLS or (codes[kept] != WRONG).any():
        return None
    given = wrong.given[kept]
    more = ROUNDED * unit[kept] + float_error(given, share)
    ends = [(given + way * more) / end[kept] for way in (-1, 1) for end in (least, most)]
    low, high = np.minimum.reduce(ends).max(), np.maximum.reduce(ends).min()
    is_one = low < NEARLY_ONE and high > 1 / NEARLY_ONE
    if low > high or low <= 0 <= high or is_one:
        return None
    factor, words = _factor(low, high)
    products = hull(factor * least, factor * most)
    if not judged.agrees(products)[is_given & ~kept].all():
        return None
    message = f"{wrong.every} {wrong.are} {words} what {wrong.they} should be."
    which = "is one too many" if abs(factor) > 1 else "was left out"
    return Finding("constant_factor", message, f"Look for a factor that {which}.")


def _factor(low: float, high: float) -> tuple[float, str]:
    """Return the simplest factor between two, and how it is said: a half, 3 times, 1.25 times."""
    middle = (low + high) / 2
    for parts in range(2, 11):
        if low <= 1 / parts <= high:
            said = {2: "half", 3: "a third of", 4: "a quarter of"}
            return 1 / parts, said.get(parts, f"1/{parts} of")
    simple = [round(middle, digits) for digits in range(4)]
    factor = next((x for x in simple if low <= x <= high), middle)
    return factor, "twice" if factor == 2 else f"{factor:.4g} times"


def of_other_step(wrong: WrongStep) -> Finding | None:
    """The numbers are those of another step."""
    kept, name = wrong.judged.codes != MISSING, wrong.judged.step.name
    for step in wrong.judge.trace:
        if step.name == name or step.array.shape != wrong.given.shape or kept.sum() < 2:
            continue
        known = wrong.judge.judged.get(step.name)
        numbers = known.written.values if isinstance(known, Given) else step.array
        if wrong.judged.agrees(numbers)[kept].all():
            message = f"These are the numbers of {step.name}, not those of {name}."
            advice = f"Calculate {wrong.judged.step.formula}."
            return Finding("another_step", message, advice)
    return None


def of_exchange(wrong: WrongStep) -> Finding | None:
    """Two rows, two columns or two cells have changed places."""
    cells = wrong.cells
    for axis in (-2, -1):
        lines = sorted({place[axis] for place in cells})
        if len(lines) == 2 and len(cells) > 1 and wrong.given.shape[-3 - axis] > 1:
            order = list(range(wrong.given.shape[axis]))
            order[lines[0]], order[lines[1]] = lines[1], lines[0]
            swapped, unit = (np.take(x, order, axis) for x in (wrong.given, wrong.judged.unit))
            if wrong.would_be_right(swapped, _lines(wrong, axis, lines), unit):
                noun, names = wrong.noun(axis), [wrong.line(axis, line) for line in lines]
                message = f"{noun.capitalize()}s {' and '.join(names)} have changed places."
                advice = f"Write each {noun} into its own place."
                return Finding(f"{noun}s_swapped", message, advice)
    if len(cells) == 2:
        one, other = cells
        swapped, unit = wrong.given.copy(), wrong.judged.unit.copy()
        for array in (swapped, unit):
            array[one], array[other] = array[other], array[one]
        if wrong.would_be_right(swapped, unit=unit):
            message = f"{wrong.cell(one)} and {wrong.cell(other)} have changed places."
            return Finding("cells_swapped", message, "Write each number into its own cell.")
    return None


def _lines(wrong: WrongStep, axis: int, lines: list[int]) -> Array:
    """Return which given cells stand in some lines of the heads that have a wrong cell."""
    codes = wrong.judged.codes
    heads = (codes == WRONG).any(axis=tuple(range(2, codes.ndim)), keepdims=True)
    chosen = np.zeros_like(heads, shape=codes.shape)
    np.moveaxis(chosen, axis, 0)[lines] = True
    found: Array = chosen & heads & (codes != MISSING)
    return found
