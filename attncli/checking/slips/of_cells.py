"""Slips in a single cell: a sign, the point, swapped digits, one product taken otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.attention.heads import SplitHeads
from attncli.attention.normalizers import Sum
from attncli.checking.judged import MISSING, Finding
from attncli.checking.judging import Judge
from attncli.checking.slips.certainty import TELLING, blur, is_certain
from attncli.checking.slips.wrong_step import WrongStep, part_at
from attncli.records import Record
from attncli.tape.cells import Index
from attncli.tape.operations import Add, MatMul
from attncli.tape.step import Expression
from attncli.tape.walk import evaluate
from attncli.text.sentences import all_of

OF_A_TERM = (
    (-2, "sign_slip", "was taken as {}"),
    (-1, "single_cell_slip", "was left out"),
    (1, "single_cell_slip", "was counted twice"),
)
"""How often a term of a sum is there too often, and what that is called."""

POWERS_OF_TEN = (1, -1, 2, -2, 3, -3)

ROUND_AMOUNTS = (1, 10, 100)
"""By so much a number is off that was added up wrongly by hand."""

CLEARLY = 8
"""Two digits that change places move a number by 9 units at least, which must be seen."""

PARTS = (3, 6, 7, 9)
"""Parts of 1 that no decimal number gives."""

MOST_PARTS = 10
"""Larger numbers are said as decimal numbers."""

FEW = 3
"""So many wrong cells are named one by one."""


class Cause(Record):
    """What may explain one wrong number: its id, what happened, what to do about it."""

    id: str
    words: str
    advice: str
    is_certain: bool = False


def of_cell(wrong: WrongStep) -> Finding:
    """Name the one wrong cell, and what explains its number.

    That is a guess, and said to be one, where it may be a coincidence, or where something else
    explains the number as well.
    """
    (place,) = wrong.cells
    if found := of_number(wrong):
        return found
    if causes := list({cause.words: cause for cause in _of_terms(wrong, place)}.values()):
        return _explained(wrong, causes[0], len(causes) == 1)
    return Finding(
        "single_cell_slip",
        f"Only {wrong.cell(place)} is wrong{_off_by(wrong, place)}.",
        wrong.again,
    )


def of_number(wrong: WrongStep) -> Finding | None:
    """Name what happened to the one wrong number as a whole when it was written down.

    That says so much that the terms of the number are not asked.
    """
    (place,) = wrong.cells
    cause = _of_number(wrong, place)
    return None if cause is None else _explained(wrong, cause, True)


def _explained(wrong: WrongStep, cause: Cause, is_only: bool) -> Finding:
    perhaps = "" if cause.is_certain and is_only else "perhaps "
    message = f"{wrong.cell(wrong.cells[0])} is wrong: {perhaps}{cause.words}."
    return Finding(cause.id, message, cause.advice)


def of_few_cells(wrong: WrongStep) -> Finding | None:
    """Name the few cells that are wrong among many that are not."""
    cells = wrong.cells
    if not 1 < len(cells) <= FEW or 3 * len(cells) > (wrong.judged.codes != MISSING).sum():
        return None
    names = all_of([wrong.cell(place) for place in cells])
    advice = wrong.again.replace("it", "them")
    return Finding("few_cells_slip", f"Only {names} are wrong.", advice)


def _of_number(wrong: WrongStep, place: Index) -> Cause | None:
    given, yours, judged = float(wrong.given[place]), float(wrong.judged.yours[place]), wrong.judged
    if not np.isfinite([given, yours]).all():
        return None
    enough = TELLING * float(blur(judged)[place])
    is_telling = min(abs(given), abs(yours)) >= enough
    if given and wrong.would_be_right(-wrong.given):
        return Cause("sign_slip", "it has the wrong sign", "Mind the sign.", is_telling)
    if _is_point_moved(wrong, place):
        words = "its decimal point stands in the wrong place"
        return Cause("decimal_point_slip", words, "Put the point where it belongs.", is_telling)
    if any(wrong.would_be_right(np.full_like(wrong.given, x)) for x in _digits_swapped(wrong)):
        words = "two of its digits have changed places"
        is_telling &= wrong.off(place) >= CLEARLY * float(blur(judged)[place])
        return Cause("digits_swapped", words, "Copy the number again.", is_telling)
    return None


def _is_point_moved(wrong: WrongStep, place: Index) -> bool:
    """Return whether the one wrong number is right but for the place of its point.

    Its last digit moves with the point, or a 0 was put behind it: 32 is no 3 whose point was moved.
    """
    given, unit = wrong.given, wrong.judged.unit
    for factor in (10.0**-power for power in POWERS_OF_TEN):
        moved, units = given * factor, unit * factor
        if not np.isfinite([moved[place], units[place]]).all():
            continue  # an infinite unit would let anything round to it
        kept = float(moved[place] / unit[place]) if unit[place] else 0.0
        is_padded = factor < 1 <= abs(kept) < np.inf and abs(kept - round(kept)) < 1e-6
        if is_padded and wrong.would_be_right(moved):
            return True
        if wrong.would_be_right(moved, unit=units):
            return bool(abs(given[place]) > unit[place])
    return False


def _digits_swapped(wrong: WrongStep) -> Iterator[float]:
    """Yield the one wrong number with two neighbouring digits exchanged: 14 for 41."""
    (place,) = wrong.cells
    unit, given = float(wrong.judged.unit[place]), float(wrong.given[place])
    count = abs(given) / unit if unit else np.inf
    digits = f"0{round(count):d}" if np.isfinite(count) else ""  # 0.41 may be 4.01
    for i in range(len(digits) - 1):
        other = digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :]
        if other != digits:
            yield float(np.copysign(int(other) * unit, given))


def _of_terms(wrong: WrongStep, place: Index) -> Iterator[Cause]:
    """Yield what one product or addend, taken otherwise, makes of a number."""
    yours = float(wrong.judged.yours[place])
    if not np.isfinite([float(wrong.given[place]), yours]).all():
        return
    pairs = [(a, b) for a, b in _terms(wrong.judged.step.operation, place, wrong.judge) if a * b]
    is_sum = all(b == 1.0 for _, b in pairs) and not _is_product(wrong.judged.step.operation)
    tried = len(pairs) * (len(OF_A_TERM) + (not is_sum))
    is_telling = wrong.off(place) >= TELLING * float(blur(wrong.judged)[place])
    is_telling &= is_certain(wrong.judged, tried)
    for times, id_, words in OF_A_TERM:
        for a, b in pairs:
            if _is_explained(wrong, place, yours + times * a * b):
                shown = number(a) if is_sum else _product(a, b)
                yield Cause(id_, f"{shown} {words.format(number(-a * b))}", wrong.again, is_telling)
    for a, b in pairs if not is_sum else ():
        if _is_explained(wrong, place, yours - a * b + a + b):
            words = f"{_product(a, b)} was taken as {number(a + b)}, the sum"
            yield Cause("single_cell_slip", words, wrong.again, is_telling)


def _off_by(wrong: WrongStep, place: Index) -> str:
    """Return by how much a sum is off, where it is an amount that hands add up wrongly."""
    off = float(wrong.given[place] - wrong.judged.yours[place])
    if abs(off) not in ROUND_AMOUNTS or not _terms(wrong.judged.step.operation, place, wrong.judge):
        return ""
    return f": it is {abs(off):g} too {'large' if off > 0 else 'small'}"


def _is_product(expression: Expression | None) -> bool:
    made = expression.operand if isinstance(expression, SplitHeads) else expression
    return isinstance(made, MatMul) or (isinstance(made, Add) and _is_product(made.left))


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
    """Return a number as a sentence holds it: as a table writes it, and thirds as fractions.

    >>> number(-0.0), number(2 / 3), number(0.15), number(1e-5)
    ('0', '2/3', '0.15', '1e-05')
    """
    is_decimal = round(value, 4) == value
    for parts in () if is_decimal else PARTS:
        count = round(value * parts) if abs(value) < MOST_PARTS else 0
        if count % parts and abs(value * parts - count) < 1e-9:
            return f"{count}/{parts}"
    if 0 < abs(value) < 1e-3 or abs(value) >= 1e9:
        return f"{value:.4g}"
    return f"{value + 0.0:.4f}".rstrip("0").rstrip(".")  # −0 is 0
