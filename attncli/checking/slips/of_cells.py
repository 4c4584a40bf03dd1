"""Slips in a single cell: a sign, the point, swapped digits, one product taken otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.attention.heads import SplitHeads
from attncli.attention.normalizers import Sum
from attncli.checking.judged import Finding
from attncli.checking.judging import Judge
from attncli.checking.slips.wrong_step import AGAIN, WrongStep, part_at
from attncli.tape.cells import Index
from attncli.tape.operations import Add, MatMul
from attncli.tape.step import Expression
from attncli.tape.walk import evaluate

OF_A_TERM = (
    (-2, "sign_slip", "was taken as {}"),
    (-1, "single_cell_slip", "was left out"),
    (1, "single_cell_slip", "was counted twice"),
)
"""How often a term of a sum is there too often, and what that is called."""

POWERS_OF_TEN = (1, 2, 3, -1, -2, -3)

ROUND_AMOUNTS = (1, 10, 100)
"""By so much a number is off that was added up wrongly by hand."""


def of_cell(wrong: WrongStep) -> Finding:
    """Name the one wrong cell, and what explains its number."""
    (place,) = wrong.cells
    name, given, yours = wrong.cell(place), wrong.given[place], wrong.judged.yours[place]
    if np.isinf(yours) or np.isinf(given):
        words = "it is blocked, so it is −∞" if np.isinf(yours) else "it is not blocked"
        message = f"Only {name} is wrong: {words}."
        return Finding("single_cell_slip", message, "Look at the mask again.")
    if given and wrong.would_be_right(-wrong.given):
        return Finding("sign_slip", f"{name} has the wrong sign.", "Mind the sign.")
    if given and any(wrong.would_be_right(wrong.given / 10.0**power) for power in POWERS_OF_TEN):
        message = f"The decimal point of {name} stands in the wrong place."
        return Finding("decimal_point_slip", message, AGAIN)
    if any(wrong.would_be_right(np.full_like(wrong.given, x)) for x in _digits_swapped(wrong)):
        message = f"Two digits of {name} have changed places."
        return Finding("digits_swapped", message, "Copy the number again.")
    for id_, words in _of_terms(wrong, place):
        return Finding(id_, f"{name} is wrong: {words}.", AGAIN)
    return Finding("single_cell_slip", f"Only {name} is wrong.", AGAIN)


def _digits_swapped(wrong: WrongStep) -> Iterator[float]:
    """Yield the one wrong number with two neighbouring digits exchanged: 14 for 41."""
    (place,) = wrong.cells
    unit, given = float(wrong.judged.unit[place]), float(wrong.given[place])
    digits = f"0{round(abs(given) / unit):d}" if unit else ""  # 0.41 may be 4.01
    for i in range(len(digits) - 1):
        other = digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :]
        if other != digits:
            yield float(np.copysign(int(other) * unit, given))


def _of_terms(wrong: WrongStep, place: Index) -> Iterator[tuple[str, str]]:
    """Yield the id and words of what one product or addend, taken otherwise, makes of a number."""
    yours = float(wrong.judged.yours[place])
    pairs = _terms(wrong.judged.step.operation, place, wrong.judge)
    is_sum = len({y for _, y in pairs}) == 1 and pairs[0][1] == 1.0
    for times, id_, words in OF_A_TERM:
        for a, b in pairs:
            if a * b and _is_explained(wrong, place, yours + times * a * b):
                shown = number(a) if is_sum else _product(a, b)
                yield id_, f"{shown} {words.format(number(-a * b))}"
    for a, b in pairs if not is_sum else ():
        if _is_explained(wrong, place, yours - a * b + a + b):
            yield "single_cell_slip", f"{_product(a, b)} was taken as {number(a + b)}, the sum"
    off = float(wrong.given[place]) - yours
    if pairs and abs(off) in ROUND_AMOUNTS:
        yield "single_cell_slip", f"it is {abs(off):g} too {'large' if off > 0 else 'small'}"


def _is_explained(wrong: WrongStep, place: Index, value: float) -> bool:
    """Return whether a value gives a cell for which the right one does not stand as well."""
    chosen = np.zeros(wrong.given.shape, bool)
    chosen[place] = True
    numbers = np.full(wrong.given.shape, value)
    return wrong.is_given_by(numbers, chosen) and not wrong.is_given_by(wrong.judged.yours, chosen)


def _terms(expression: Expression | None, place: Index, judge: Judge) -> list[tuple[float, float]]:
    """Return the products whose sum is one cell; an addend is itself times 1."""
    if isinstance(expression, SplitHeads) and isinstance(expression.operand, MatMul | Add):
        width = evaluate(expression, judge.midpoints).shape[-1]
        place = (place[0], 0, place[2], place[1] * width + place[3])
        return _terms(expression.operand, place, judge)
    if isinstance(expression, Add):
        addend = part_at(evaluate(expression.right, judge.midpoints), place)
        return [*_terms(expression.left, place, judge), (float(addend), 1.0)]
    if isinstance(expression, MatMul):
        left, right = (evaluate(side, judge.midpoints) for side in expression.operands)
        row = part_at(left, place[:3])
        column = part_at(right.swapaxes(-1, -2), (*place[:2], place[3]))
        return list(zip(row.tolist(), column.tolist(), strict=True))
    if isinstance(expression, Sum):
        addends = evaluate(expression.operand, judge.midpoints)[place[0], place[1]]
        line = addends[place[2]] if expression.along == -1 else addends[:, place[3]]
        return [(float(x), 1.0) for x in line]
    return []


def _product(a: float, b: float) -> str:
    return "·".join(f"({x})" if x.startswith("-") else x for x in (number(a), number(b)))


def number(value: float) -> str:
    """Return a number as a sentence holds it."""
    return f"{value:.6g}"
