"""Slips in one number: what may have gone wrong where a step has one wrong cell.

A search yields hypotheses of how the wrong number came about; `hypotheses` tests all of them alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from attncli.checking.hypotheses import Hypothesis, WrongStep
from attncli.checking.judged import Finding

POWERS_OF_TEN = (1, -1, 2, -2, 3, -3)
"""Places by which a decimal point may be moved. Chosen."""

MAX_UNITS = 2**53
"""Maximum size of a number, in units in the last place, whose digits a float holds exactly."""

TERM_SLIPS = (
    (-2, "sign_slip", "was taken as {}"),
    (-1, "single_cell_slip", "was left out"),
    (1, "single_cell_slip", "was counted twice"),
)
"""How often a term is added in excess, the id of the slip, and the words for it."""

CARRIES = (1, 10, 100)
"""Errors of sums that people add up by hand. Chosen."""


def moved_point(wrong: WrongStep) -> Iterator[Hypothesis]:
    """The number is right but for the place of its decimal point.

    Its last digit moves with the point, or a 0 was appended: 32 is not 3 with the point moved.
    """
    (place,) = wrong.cells
    given, unit = float(wrong.given[place]), float(wrong.judged.unit[place])
    words = "Its decimal point is in the wrong place."
    advice = "Put the point where it belongs."
    finding = Finding("decimal_point_slip", words, advice, wrong.place)
    for factor in (10.0**-power for power in POWERS_OF_TEN):
        if not np.isfinite([given * factor, unit * factor]).all():
            continue  # an infinite unit would let anything round to it
        written = np.where(wrong.wrong, given * factor, wrong.given)
        units = np.where(wrong.wrong, unit * factor, wrong.judged.unit)
        kept = abs(given * factor / unit) if unit else 0.0
        if factor < 1 <= kept < np.inf and abs(kept - round(kept)) < 1e-6:
            yield Hypothesis(finding, written=written)
        if abs(given) > unit:
            yield Hypothesis(finding, written=written, unit=units)


def swapped_digits(wrong: WrongStep) -> Iterator[Hypothesis]:
    """Two neighbouring digits of the number are exchanged: 14 for 41."""
    (place,) = wrong.cells
    unit, given = float(wrong.judged.unit[place]), float(wrong.given[place])
    count = abs(given) / unit if unit else np.inf
    digits = f"0{round(count):d}" if count < MAX_UNITS else ""  # 0.41 may be 4.01
    words = "Two of its digits have changed places."
    finding = Finding("digits_swapped", words, "Copy the number again.", wrong.place)
    for i in range(len(digits) - 1):
        other = digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :]
        if other != digits:
            number = float(np.copysign(int(other) * unit, given))
            yield Hypothesis(finding, written=np.where(wrong.wrong, number, wrong.given))


def other_term(wrong: WrongStep) -> Iterator[Hypothesis]:
    """The number is a sum, and a mistake was made in one of its terms."""
    (place,) = wrong.cells
    yours = float(wrong.judged.yours[place])
    if not np.isfinite([float(wrong.given[place]), yours]).all():
        return
    values = ([factor.value for factor in factors] for factors in wrong.terms(place))
    terms = [factors for factors in values if prod(factors)]
    slips = [
        (id_, words.format(short(-prod(factors))), times * prod(factors), factors)
        for times, id_, words in TERM_SLIPS
        for factors in terms
    ]
    slips += [
        (
            "single_cell_slip",
            f"was taken as {short(sum(factors))}, the sum",
            sum(factors) - prod(factors),
            factors,
        )
        for factors in terms
        if len(factors) > 1
    ]
    for id_, words, excess, factors in slips:
        what = f"{_product_text(factors)} {words}."
        finding = Finding(id_, what, wrong.again, wrong.place, hint="")
        numbers = np.where(wrong.wrong, yours + excess, wrong.judged.yours)
        yield Hypothesis(finding, wrong.with_numbers(numbers, wrong.wrong))


def _product_text(factors: Sequence[float]) -> str:
    """Return a product as people write it, such as 2·(-1); a single factor is itself."""
    texts = [short(factor) for factor in factors]
    if len(texts) > 1:
        texts = [f"({x})" if x.startswith("-") else x for x in texts]
    return "·".join(texts)


def off_by(wrong: WrongStep) -> str:
    """Return by how much a sum is off, where that is an amount of `CARRIES`; or ""."""
    (place,) = wrong.cells
    off = float(wrong.given[place] - wrong.judged.yours[place])
    if abs(off) not in CARRIES or not wrong.terms(place):
        return ""
    return f"It is {abs(off):g} too {'large' if off > 0 else 'small'}."


def short(value: float) -> str:
    """Return a number as a sentence holds it: as a table writes it, and thirds as fractions.

    >>> short(-0.0), short(2 / 3), short(0.15), short(1e-5)
    ('0', '2/3', '0.15', '1e-05')
    """
    is_decimal = round(value, 4) == value
    for parts in (3, 6, 7, 9) if not is_decimal and abs(value) < 10 else ():
        count = round(value * parts)
        if count % parts and abs(value * parts - count) < 1e-9:
            return f"{count}/{parts}"
    if 0 < abs(value) < 1e-3 or abs(value) >= 1e9:
        return f"{value:.4g}"
    return f"{value + 0.0:.4f}".rstrip("0").rstrip(".")  # −0 is 0
