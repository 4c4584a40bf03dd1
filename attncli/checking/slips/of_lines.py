"""Slips in one row or column: another line's numbers, a wrong divisor, a miscopied number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.judged import MISSING, WRONG, Finding
from attncli.checking.slips.certainty import is_certain
from attncli.checking.slips.of_cells import number, of_few_cells
from attncli.checking.slips.wrong_step import WrongStep, part_at
from attncli.tape.cells import Index, cell_name, place_of
from attncli.tape.operations import Divide, MatMul, Transposed
from attncli.tape.step import LEADING, Expression, Step
from attncli.tape.walk import evaluate

ENOUGH_CELLS = 3
"""So many numbers of a line at least prove what explains them."""


def of_line(wrong: WrongStep, axis: int) -> Finding | None:
    """Name the one row or column that is wrong, and what explains its numbers.

    Where there is only one, it is the step: that it is wrong says nothing.
    """
    place = wrong.cells[0]
    noun = wrong.noun(axis)
    chosen = _line(wrong, axis, place)
    is_step = wrong.given.shape[axis] == 1 == np.prod(wrong.given.shape[:2])
    start = "" if is_step else f"Only {_name(wrong, axis, place)} is wrong"
    like_another = _like_another(wrong, axis, place, chosen)
    for words in () if is_step else chain(like_another, _by_a_sum(wrong, chosen, "it was")):
        return Finding(f"{noun}_slip", f"{start}: {words}.", wrong.again)
    for words, cell in _miscopied(wrong, axis, place, chosen):
        message = _sentence(words) if is_step else f"{start}: {words}."
        return Finding("miscopied_number", message, f"Copy {cell} again.")
    if (few := of_few_cells(wrong)) and len(wrong.cells) < chosen.sum():
        return few  # the line has right numbers, too
    return None if is_step else Finding(f"{noun}_slip", f"{start}.", wrong.again)


def of_divisor(wrong: WrongStep) -> Finding | None:
    """The numbers of a step of one row or column were divided by another number than they should.

    With more rows, each is divided by a sum of its own.
    """
    is_given = wrong.judged.codes != MISSING
    every = f"all {int(is_given.sum())} numbers were"
    for words in _by_a_sum(wrong, is_given, every) if wrong.is_one_line else ():
        return Finding("wrong_divisor", _sentence(words), wrong.again)
    return None


def _sentence(words: str) -> str:
    """Return words as a sentence; names of steps stay as they are."""
    start = words.partition(" ")[0]
    return f"{words if '[' in start else words[0].upper() + words[1:]}."


def _name(wrong: WrongStep, axis: int, place: Index) -> str:
    """Return the name of a line, with that of its head where there are several.

    The only line of a head is the head.
    """
    step = wrong.judged.step
    pairs = zip(LEADING, place, strict=False)
    stacked = [f"{name} {i + 1}" for name, i in pairs if name in step.leading]
    if wrong.given.shape[axis] == 1:
        return ", ".join(stacked)
    of_head = f" of {', '.join(stacked)}" if stacked else ""
    return f"{wrong.noun(axis)} {wrong.line(axis, place[axis])}{of_head}"


def _line(wrong: WrongStep, axis: int, place: Index) -> Array:
    """Return which cells are in the same line as one, and were given."""
    chosen = np.zeros(wrong.given.shape, bool)
    at: list[int | slice] = list(place)
    at[-1 if axis == -2 else -2] = slice(None)
    chosen[tuple(at)] = True
    found: Array = chosen & (wrong.judged.codes != MISSING)
    return found


def _perhaps(wrong: WrongStep, tried: int, chosen: Array, fitted: int = 0) -> str:
    """Return "perhaps " where an explanation of a line may be a coincidence.

    Fewer than three numbers that it explains are no proof.
    """
    is_wrong = wrong.judged.codes == WRONG
    enough = (chosen & is_wrong).sum() >= ENOUGH_CELLS
    return "" if enough and is_certain(wrong.judged, tried, chosen, fitted) else "perhaps "


def _like_another(wrong: WrongStep, axis: int, place: Index, chosen: Array) -> Iterator[str]:
    """Yield that a line holds the numbers of another line, first of the one that fits best."""
    lines = wrong.given.shape[axis]
    others = {
        other: np.take(wrong.judged.yours, [other], axis=axis)
        for other in range(lines)
        if other != place[axis]
    }

    def off(other: int) -> float:
        differences = np.abs(wrong.given - others[other])[chosen]
        return float(np.nan_to_num(differences, nan=0.0, posinf=0.0).sum())

    for other in sorted((i for i, x in others.items() if wrong.is_given_by(x, chosen)), key=off):
        perhaps = _perhaps(wrong, lines, chosen)
        yield f"{perhaps}it holds the numbers of {wrong.noun(axis)} {wrong.line(axis, other)}"


def _by_a_sum(wrong: WrongStep, chosen: Array, subject: str) -> Iterator[str]:
    """Yield by which sum the numbers of a line were divided, where that explains it."""
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
    for i, total in enumerate(dict.fromkeys(sums)):
        if total * divisor[at] > 0 and wrong.is_given_by(dividend / total, chosen):
            is_fitted = i == len(sums) - 1
            perhaps = _perhaps(wrong, len(sums), chosen, fitted=int(is_fitted))
            about = "about " if is_fitted else ""
            by, right = _rough(total) if is_fitted else number(total), number(float(divisor[at]))
            yield f"{perhaps}{subject} divided by {about}{by}, not by {right}"


def _rough(value: float) -> str:
    """Return a number that is known to a few digits."""
    return f"{value:.3g}"


def _miscopied(
    wrong: WrongStep, axis: int, place: Index, chosen: Array
) -> Iterator[tuple[str, str]]:
    """Yield which number of a factor, read as another one, explains a line of a product.

    A row of A B is off by a multiple of row k of B, where number k of the row of A was misread.
    The name of that number is yielded, too.
    """
    product, yours = wrong.judged.step.operation, wrong.judged.yours
    if not isinstance(product, MatMul):
        return
    sides = (product.left, Transposed(product.right))
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
                at = (*place[:2], place[axis], k)
                name = _cell_of(sides[axis + 2], at) or f"number {k + 1} of what it is made from"
                perhaps = _perhaps(wrong, len(row), chosen, fitted=1)
                words = f"was read as {number(row[k] + change)}, not as {number(row[k])}"
                yield f"{perhaps}{name} {words}", name if "[" in name else "that number"


def _cell_of(expression: Expression, at: Index) -> str:
    """Return the name of the cell at a place of a factor; "" where the factor has no name."""
    if isinstance(expression, Transposed):
        return _cell_of(expression.operand, (*at[:2], at[3], at[2]))
    if not isinstance(expression, Step) or expression.array.ndim != 4:
        return ""
    place = tuple(min(i, n - 1) for i, n in zip(at, expression.array.shape, strict=True))
    return cell_name(expression, place_of(expression, place))
