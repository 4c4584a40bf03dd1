"""Slips all over a matrix: signs, a factor, the numbers of another step, an exchange."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.agreement import tolerance
from attncli.checking.judged import MISSING, WRONG, Finding, Given
from attncli.checking.slips.wrong_step import WrongStep

ENOUGH_CELLS = 3
"""From so many wrong cells on a common factor is no coincidence."""


def of_signs(wrong: WrongStep) -> Finding | None:
    """Every wrong cell has the wrong sign."""
    chosen = wrong.judged.codes == WRONG
    if not wrong.given[chosen].any() or not wrong.would_be_right(-wrong.given):
        return None
    many = "Every number has" if chosen.all() else f"{int(chosen.sum())} numbers have"
    return Finding("sign_slip", f"{many} the wrong sign.", "Mind the sign.")


def of_factor(wrong: WrongStep) -> Finding | None:
    """Every number is the same multiple of the right one.

    Each number allows the factors with which the right one rounds to it, and so a range. What all
    ranges have in common is the factor.
    """
    codes, unit, share = wrong.judged.codes, wrong.judged.unit, wrong.judged.written.share
    # Somebody may have multiplied what was rounded already.
    least, most = wrong.judged.follows.low - unit / 2, wrong.judged.follows.high + unit / 2
    kept = (codes != MISSING) & np.isfinite(wrong.judged.yours)
    kept &= least * most > 0  # what may be 0 says nothing of a factor
    if (codes[kept] == WRONG).sum() < ENOUGH_CELLS:
        return None
    given = wrong.given[kept]
    more = tolerance(unit[kept], given, share)
    ends = [(given + way * more) / end[kept] for way in (-1, 1) for end in (least, most)]
    low, high = np.minimum.reduce(ends).max(), np.maximum.reduce(ends).min()
    zeros = (codes != MISSING) & (wrong.judged.yours == 0)
    if low > high or low <= 0 <= high or (codes[zeros] == WRONG).any():
        return None
    simple = [round((low + high) / 2, digits) for digits in range(4)]
    factor = next((x for x in simple if low <= x <= high), (low + high) / 2)
    message = f"Every number is {factor:.4g} times what it should be."
    return Finding("constant_factor", message, "Look for a factor that is one too many.")


def of_other_step(wrong: WrongStep) -> Finding | None:
    """The numbers are those of another step."""
    kept, name = wrong.judged.codes != MISSING, wrong.judged.step.name
    for step in wrong.judge.trace:
        if step.name == name or step.array.shape != wrong.given.shape or kept.sum() < 2:
            continue
        known = wrong.judge.judged.get(step.name)
        numbers = known.written.values if isinstance(known, Given) else step.array
        if wrong.judged.agrees(numbers)[kept].all():
            message = f"These are the numbers of {step.name}."
            return Finding("another_step", message, f"Write the numbers of {name}.")
    return None


def of_exchange(wrong: WrongStep) -> Finding | None:
    """Two rows, two columns or two cells have changed places."""
    cells = wrong.cells
    for axis in (-2, -1):
        lines = sorted({place[axis] for place in cells})
        if len(lines) == 2 and len(cells) > 1:
            order = list(range(wrong.given.shape[axis]))
            order[lines[0]], order[lines[1]] = lines[1], lines[0]
            swapped, unit = (np.take(x, order, axis) for x in (wrong.given, wrong.judged.unit))
            if wrong.would_be_right(swapped, _lines(wrong, axis, lines), unit):
                noun, names = wrong.noun(axis), [wrong.line(axis, line) for line in lines]
                message = f"The {noun}s {' and '.join(names)} have changed places."
                return Finding(f"{noun}s_swapped", message, f"Keep the order of the {noun}s.")
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
