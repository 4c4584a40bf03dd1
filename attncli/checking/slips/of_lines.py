"""Slips in one row or column: another line's numbers, a wrong divisor, a miscopied number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.judged import MISSING, Finding
from attncli.checking.slips.of_cells import number
from attncli.checking.slips.wrong_step import AGAIN, WrongStep, part_at
from attncli.tape.cells import Index
from attncli.tape.operations import Divide, MatMul
from attncli.tape.step import LEADING
from attncli.tape.walk import evaluate


def of_line(wrong: WrongStep, axis: int) -> Finding:
    """Name the one row or column that is wrong, and what explains its numbers."""
    place, step = wrong.cells[0], wrong.judged.step
    noun = wrong.noun(axis)
    pairs = zip(LEADING, place, strict=False)
    stacked = [f"{name} {i + 1}" for name, i in pairs if name in step.leading]
    of_head = f" of {', '.join(stacked)}" if stacked else ""
    start = f"Only {noun} {wrong.line(axis, place[axis])}{of_head} is wrong"
    chosen = _line(wrong, axis, place)
    for words in chain(_like_another(wrong, axis, place, chosen), _by_a_sum(wrong, chosen)):
        return Finding(f"{noun}_slip", f"{start}: {words}.", AGAIN)
    for words in _miscopied(wrong, axis, place, chosen):
        return Finding("miscopied_number", f"{start}: {words}.", "Copy the number again.")
    return Finding(f"{noun}_slip", f"{start}.", AGAIN)


def _line(wrong: WrongStep, axis: int, place: Index) -> Array:
    """Return which cells are in the same line as one, and were given."""
    chosen = np.zeros(wrong.given.shape, bool)
    at: list[int | slice] = list(place)
    at[-1 if axis == -2 else -2] = slice(None)
    chosen[tuple(at)] = True
    found: Array = chosen & (wrong.judged.codes != MISSING)
    return found


def _like_another(wrong: WrongStep, axis: int, place: Index, chosen: Array) -> Iterator[str]:
    """Yield that a line holds the numbers of another line."""
    for other in range(wrong.given.shape[axis]):
        numbers = np.take(wrong.judged.yours, [other], axis=axis)
        if other != place[axis] and wrong.is_given_by(numbers, chosen):
            yield f"it holds the numbers of {wrong.line(axis, other)}"


def _by_a_sum(wrong: WrongStep, chosen: Array) -> Iterator[str]:
    """Yield by which sum a line was divided, where that explains it."""
    made = wrong.judged.step.operation
    if not isinstance(made, Divide):
        return
    dividend, divisor = (
        np.broadcast_to(evaluate(part, wrong.judge.midpoints), wrong.given.shape)
        for part in (made.dividend, made.divisor)
    )
    places = [tuple(place) for place in np.argwhere(chosen).tolist()]
    at = max(places, key=lambda place: abs(float(dividend[place])))
    if not wrong.given[at]:
        return
    sums = [*np.unique(divisor).tolist(), float(dividend[at] / wrong.given[at])]
    for total in dict.fromkeys(sums):
        if total and wrong.is_given_by(dividend / total, chosen):
            yield f"it was divided by {number(total)}, not by {number(float(divisor[at]))}"


def _miscopied(wrong: WrongStep, axis: int, place: Index, chosen: Array) -> Iterator[str]:
    """Yield which number of a factor, read as another one, explains a line of a product.

    A row of A B is off by a multiple of row k of B, where number k of the row of A was misread.
    """
    product, yours = wrong.judged.step.operation, wrong.judged.yours
    if not isinstance(product, MatMul):
        return
    mine, other = (evaluate(side, wrong.judge.midpoints) for side in (product.left, product.right))
    if axis == -1:
        mine, other = other.swapaxes(-1, -2), mine.swapaxes(-1, -2)
    off = np.take(wrong.given - yours, place[axis], axis=axis)[place[:2]]
    row = part_at(mine, place[:2])[place[axis]]
    kept = ~np.isnan(off)
    for k, factor in enumerate(part_at(other, place[:2])):
        if np.count_nonzero(factor[kept]) < 2:
            continue
        by = float(off[kept] @ factor[kept] / (factor[kept] @ factor[kept]))
        # What was read has no more decimals than what stands there.
        most = next((d for d in range(4) if round(row[k], d) == row[k]), 4)
        for change in dict.fromkeys(round(by, digits) for digits in range(most + 1)):
            if change and wrong.is_given_by(yours + np.expand_dims(change * factor, axis), chosen):
                words = f"{number(row[k] + change)}, not {number(row[k])}"
                yield f"as if number {k + 1} of what it is made from were {words}"
