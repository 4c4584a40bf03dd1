"""Hypotheses of what went wrong in a step, tested alike; and those about a single number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from math import prod
from typing import TypeAlias

import numpy as np

from attncli.checking.answers.program_arrays import MAX_HAND_DECIMALS
from attncli.checking.judging.agreement import FLOAT_ERROR, MAX_COINCIDENCE, ROUNDED, agrees
from attncli.checking.judging.judge import Judge
from attncli.checking.judging.judged_steps import MISSING, WRONG, Compared, Finding
from attncli.checking.judging.operands import axis_of_shares
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.intervals import Interval, interval
from attncli.core.attention.scores import SplitHeads
from attncli.core.explaining.terms import StepTerms, Term, regions_of
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import Index, cell_name, place_of, place_word
from attncli.core.tape.evaluation import Values, walk
from attncli.core.tape.step import LEADING, Operation, Step
from attncli.core.text.strings import label_text

MAX_WORKED_SIZE = 500
"""Maximum size of a step that is calculated as a whole to explain one of its numbers."""


class Hypothesis(Record, eq=False):
    """One possible cause of wrong numbers; arrays have the layout of the step's array."""

    finding: Finding
    expected: Values | None = None  # the values of the step; None for those that follow
    written: Array | None = None  # the numbers without the slip; None for what is written
    unit: Array | None = None  # the units in the last place of `written`
    guess: Interval | None = None  # `expected` without a margin for the hidden steps
    fitted: int = 0  # number of cells that it was fitted to, which are no evidence
    is_fact: bool = False  # True if it states only what can be seen


class WrongStep:
    """A step with wrong cells, and a judge who has judged every step up to it."""

    def __init__(self, judge: Judge, judged: Compared, within: Array | bool = True) -> None:
        self.judge, self.judged, self.step = judge, judged, judged.step
        self.wrong: Array = (judged.codes == WRONG) & within
        self.shown: Array = (judged.codes != MISSING) & within
        self.cells: list[Index] = [tuple(place) for place in np.argwhere(self.wrong).tolist()]
        self.values = judged.written.values
        self.off: Array = np.abs(self.values - judged.yours)
        self.spread: Array = judged.follows.high - judged.follows.low
        self.is_one_line = min(self.step.value.shape[-2:], default=1) == 1
        is_copied = isinstance(self.step.operation, Step)
        self.again = "Copy it again." if is_copied else "Calculate it again."
        lines = {axis: {(*at[:2], at[axis]) for at in self.cells} for axis in (-2, -1)}
        is_stacked = self.wrong.ndim == 4
        # The axis across which one line holds all wrong cells: −2 for a row of the layout.
        self.axis = next((axis for axis in lines if is_stacked and len(lines[axis]) == 1), None)
        self._worked = StepTerms(judge.operands.written)

    def within(self, rows: list[int]) -> WrongStep:
        """Return the step as if only some rows of the layout had been handed in."""
        is_in = np.isin(np.arange(self.wrong.shape[-2]), rows)[:, None]
        return WrongStep(self.judge, self.judged, is_in)

    def terms(self, place: Index) -> list[tuple[Term, ...]]:
        """Return the factors of each product that a cell sums; [] for no sum, or a long step."""
        if is_long(self.step):
            return []
        summands = _summands(self._worked.term(self.step, place))
        return summands if len(summands) > 1 or len(summands[0]) > 1 else []

    @cached_property
    def is_first(self) -> bool:
        before = takewhile(lambda other: other is not self.judged, self.judge.judged.values())
        return not any(other.has(WRONG) for other in before)

    def of_numbers(
        self, finding: Finding, numbers: Array, cells: Array, fitted: int = 0
    ) -> Hypothesis:
        follows = self.judged.follows
        low, high = numbers - self.spread, numbers + self.spread
        ends = Interval(np.where(cells, low, follows.low), np.where(cells, high, follows.high))
        last = ROUNDED * self.judged.unit  # a last digit may be off
        low, high = np.maximum(low, numbers - last), np.minimum(high, numbers + last)
        guess = Interval(np.where(cells, low, ends.low), np.where(cells, high, ends.high))
        return Hypothesis(finding, ends, guess=guess, fitted=fitted)

    def holds(self, hypothesis: Hypothesis) -> bool:
        return bool(self.fits(hypothesis.expected, hypothesis.written, hypothesis.unit).all())

    def fits(
        self, expected: Values | None, written: Array | None = None, unit: Array | None = None
    ) -> Array:
        """Return the cells whose number a hypothesis gives, or leaves right.

        In half of the wrong cells its interval must be narrower than the error that it explains.
        """
        judged, follows = self.judged, self.judged.follows
        written = self.values if written is None else written
        unit = judged.unit if unit is None else unit
        expected = follows if expected is None else interval(expected)
        width = expected.high - expected.low
        is_narrow = (width <= self.off) & np.isfinite(width)  # an unbounded one tells nothing
        is_narrow |= expected.low == expected.high
        if 2 * (is_narrow & self.wrong).sum() < self.wrong.sum():
            return np.zeros(self.wrong.shape, bool)
        is_left = (expected.low == follows.low) & (expected.high == follows.high)
        is_left &= (written == self.values) & ~self.wrong
        fitting: Array = agrees(written, unit, expected) | is_left
        return fitting | ~self.shown

    def chance(self, hypothesis: Hypothesis, tried: int) -> float:
        """Return how many of the hypotheses that were tried would fit as well by coincidence.

        A number agrees by chance with a probability of the interval's width over twice its error.
        """
        if hypothesis.is_fact:
            return 0.0
        at = self._independent
        values, yours = self.values[at], self.judged.yours[at]
        ends = interval(self.judged.follows if hypothesis.expected is None else hypothesis.expected)
        off, spread = self.off[at], np.nan_to_num((ends.high - ends.low)[at], nan=0.0)
        if hypothesis.written is not None:
            off = np.minimum(off, np.minimum(np.abs(values), np.abs(yours)))
        share = FLOAT_ERROR * np.abs(np.nan_to_num(yours))
        digits = np.maximum(self.judged.unit[at], _grid(values, yours))
        chances = np.minimum(1.0, (digits + 2 * spread + share) / (2 * off))
        chances = np.sort(np.nan_to_num(chances, nan=1.0))
        return float(tried * np.prod(chances[hypothesis.fitted :]))

    @cached_property
    def _independent(self) -> tuple[list[int], ...]:
        """The places of the wrong cells that are independent evidence.

        Lines with the same numbers count once. In a line of shares, equal shares count once, and
        the last share does not count, as it follows from the others.
        """
        along, lines = axis_of_shares(self.step), dict[Index, dict[Index, tuple[float, float]]]()
        axis = -1 if along is None else along
        for at in self.cells:
            numbers = float(self.values[at]), float(self.judged.yours[at])
            lines.setdefault((*at[:axis], *at[axis:][1:]), {})[at] = numbers
        places = list[Index]()
        for line in {tuple(line.values()): line for line in lines.values()}.values():
            different = {numbers: at for at, numbers in line.items()}.values()
            places += line if along is None else [*different][:-1] or different
        return tuple(map(list, zip(*places, strict=True)))

    def cell(self, place: Index) -> str:
        return cell_name(self.step, place_of(self.step, place))

    @property
    def is_only_line(self) -> bool:
        return self.axis is not None and bool(self.in_line.all())

    @property
    def in_line(self) -> Array:
        cells = np.zeros(self.wrong.shape, bool)
        at: list[int | slice] = list(self.cells[0])
        at[-1 if self.axis == -2 else -2] = slice(None)
        cells[tuple(at)] = True
        return cells

    @property
    def place(self) -> str:
        if len(self.cells) == 1:
            return f"{self.cell(self.cells[0])} is wrong"
        if self.axis is None or self.is_only_line:
            return ""
        return f"Only {self.line_with_head(self.axis)} is wrong"

    def noun(self, axis: int) -> str:
        return "row" if (axis == -2) != self.step.columns else "column"

    def line(self, axis: int, line: int) -> str:
        trailing = self.step.trailing
        axis_name = trailing[axis] if len(trailing) >= -axis else ""
        return label_text(place_word(self.step.labels, axis_name, line))

    def line_with_head(self, axis: int) -> str:
        """Return the name of the line of the wrong cells; the only line of a head is the head."""
        step, place = self.step, self.cells[0]
        pairs = zip(LEADING, place, strict=False)
        stacked = ", ".join(f"{name} {i + 1}" for name, i in pairs if name in step.leading)
        if self.values.shape[axis] == 1:
            return stacked
        of_head = f" of {stacked}" if stacked else ""
        return f"{self.noun(axis)} {self.line(axis, place[axis])}{of_head}"


def is_long(step: Step) -> bool:
    """Return True for a large step of which a single number takes many others to work."""
    nodes = walk(step.operation) if step.operation is not None else ()
    first = (slice(0, 1), slice(0, 1))
    is_whole = any(
        isinstance(node, SplitHeads) or regions_of(node, first)[1] == first
        for node in nodes
        if isinstance(node, Operation)
    )
    return is_whole and step.array.size > MAX_WORKED_SIZE


def _summands(term: Term) -> list[tuple[Term, ...]]:
    op = getattr(term, "op", "")
    if op == "+":
        return [factors for part in term.operands for factors in _summands(part)]
    return [{"*": term.operands, "square": term.operands * 2}.get(op, (term,))]


def _grid(*arrays: Array) -> Array:
    """Return for each place the largest of 1, 0.1, … that divides the numbers there; 0 for none."""
    grid = np.zeros(arrays[0].shape)
    for decimals in range(MAX_HAND_DECIMALS, -1, -1):
        rounded = (np.isclose(one, np.round(one, decimals), rtol=0, atol=1e-9) for one in arrays)
        grid = np.where(np.logical_and.reduce(list(rounded)), 10.0**-decimals, grid)
    return grid


SlipSearch: TypeAlias = Callable[[WrongStep], Iterator[Hypothesis]]


def explained_by(wrong: WrongStep, search: SlipSearch) -> Finding | None:
    """Return the first hypothesis of a search that gives every number, if there is one.

    It is reported as a guess if it may hold by chance, or if another hypothesis holds as well.
    """
    tried = list(search(wrong))
    holding = [one for one in tried if wrong.holds(one)]
    if not holding:
        return None
    first = holding[0]
    is_only = len({one.finding.what for one in holding}) == 1
    if first.is_fact or (is_only and wrong.chance(first, len(tried)) <= MAX_COINCIDENCE):
        return first.finding
    for one in holding:  # a guess must hold without the margin
        if one.guess is None or wrong.holds(replace(one, expected=one.guess)):
            return replace(one.finding, certain=False)
    return None


POWERS_OF_TEN = (1, -1, 2, -2, 3, -3)
"""Places by which a decimal point may be moved. Chosen."""

MAX_UNITS = 2**53
"""Maximum size of a number, in units in the last place, whose digits a float holds exactly."""

TERM_SLIPS = (
    (-2, "sign_slip", "was taken as {}"),
    (-1, "single_cell_slip", "was left out"),
    (1, "single_cell_slip", "was counted twice"),
)
"""For each slip, the multiple of a term by which the sum is too large, the id, and the words."""

CARRIES = (1, 10, 100)
"""Errors of sums that people add up by hand. Chosen."""


def moved_point(wrong: WrongStep) -> Iterator[Hypothesis]:
    """The number is right but for the place of its decimal point, or a 0 at its end."""
    (place,) = wrong.cells
    number, unit = float(wrong.values[place]), float(wrong.judged.unit[place])
    words = "Its decimal point is in the wrong place."
    advice = "Put the point where it belongs."
    finding = Finding("decimal_point_slip", words, advice, wrong.place)
    for factor in (10.0**-power for power in POWERS_OF_TEN):
        if not np.isfinite([number * factor, unit * factor]).all():
            continue  # an infinite unit would let anything round to it
        written = np.where(wrong.wrong, number * factor, wrong.values)
        units = np.where(wrong.wrong, unit * factor, wrong.judged.unit)
        kept = abs(number * factor / unit) if unit else 0.0
        if factor < 1 <= kept < np.inf and abs(kept - round(kept)) < 1e-6:
            yield Hypothesis(finding, written=written)
        if abs(number) > unit:
            yield Hypothesis(finding, written=written, unit=units)


def swapped_digits(wrong: WrongStep) -> Iterator[Hypothesis]:
    """Two neighbouring digits of the number are exchanged: 14 for 41."""
    (place,) = wrong.cells
    unit, value = float(wrong.judged.unit[place]), float(wrong.values[place])
    count = abs(value) / unit if unit else np.inf
    digits = f"0{round(count):d}" if count < MAX_UNITS else ""  # 0.41 may be 4.01
    words = "Two of its digits have changed places."
    finding = Finding("digits_swapped", words, "Copy the number again.", wrong.place)
    for i in range(len(digits) - 1):
        other = digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :]
        if other != digits:
            number = float(np.copysign(int(other) * unit, value))
            yield Hypothesis(finding, written=np.where(wrong.wrong, number, wrong.values))


def other_term(wrong: WrongStep) -> Iterator[Hypothesis]:
    """The number is a sum, and a mistake was made in one of its terms."""
    (place,) = wrong.cells
    yours = float(wrong.judged.yours[place])
    if not np.isfinite([float(wrong.values[place]), yours]).all():
        return
    values = ([factor.value for factor in factors] for factors in wrong.terms(place))
    terms = [factors for factors in values if prod(factors)]
    slips = [
        (id_, words.format(short_number(-prod(term))), times * prod(term), term)
        for times, id_, words in TERM_SLIPS
        for term in terms
    ]
    for term in terms:
        if len(term) > 1:
            words = f"was taken as {short_number(sum(term))}, the sum"
            slips.append(("single_cell_slip", words, sum(term) - prod(term), term))
    for id_, words, excess, factors in slips:
        what = f"{_product_text(factors)} {words}."
        finding = Finding(id_, what, wrong.again, wrong.place, hint="")
        numbers = np.where(wrong.wrong, yours + excess, wrong.judged.yours)
        yield wrong.of_numbers(finding, numbers, wrong.wrong)


def _product_text(factors: Sequence[float]) -> str:
    """Return a product as people write it, such as 2·(-1); a single factor is itself."""
    texts = [short_number(factor) for factor in factors]
    if len(texts) > 1:
        texts = [f"({x})" if x.startswith("-") else x for x in texts]
    return "·".join(texts)


def off_by(wrong: WrongStep) -> str:
    """Return a sentence on the error of a sum if it is one of `CARRIES`; else ""."""
    (place,) = wrong.cells
    off = float(wrong.values[place] - wrong.judged.yours[place])
    if abs(off) not in CARRIES or not wrong.terms(place):
        return ""
    return f"It is {abs(off):g} too {'large' if off > 0 else 'small'}."


def short_number(value: float) -> str:
    """Return a number as a sentence holds it: as a table writes it, and thirds as fractions.

    >>> short_number(-0.0), short_number(2 / 3), short_number(0.15), short_number(1e-5)
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
