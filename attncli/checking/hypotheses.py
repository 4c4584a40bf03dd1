"""Hypotheses of what went wrong in a step; all are tested in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import takewhile
from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, interval
from attncli.checking.agreement import agrees
from attncli.checking.findings import Finding
from attncli.checking.judged import MISSING, WRONG, Compared
from attncli.checking.judging import Judge
from attncli.checking.thresholds import MAX_COINCIDENCE, MAX_HAND_DECIMALS
from attncli.explaining.terms import Term, Worked
from attncli.records import Record, replace
from attncli.tape.cells import Index, cell_name, place_of, place_word
from attncli.tape.replay import Values
from attncli.tape.step import LEADING, Operation, Step
from attncli.tape.walk import walk
from attncli.text.escapes import label_text

MAX_WORKED_SIZE = 500
"""Maximum size of a step that is worked as a whole to get one number."""


class Hypothesis(Record, eq=False):
    """One way in which wrong numbers may have come about; arrays have the layout of the step.

    Attributes:
        finding: the finding if it holds.
        expected: what the step becomes; None for what follows from the earlier numbers.
        written: what the student would have written without the slip; None for what they wrote.
        unit: the units of these numbers; None for those of what the student wrote.
        fitted: number of cells that it was fitted to, which are no evidence.
        is_fact: True if it only states what is seen, and guesses nothing.
    """

    finding: Finding
    expected: Values | None = None
    written: Array | None = None
    unit: Array | None = None
    fitted: int = 0
    is_fact: bool = False


class WrongStep(Record, eq=False):
    """A step with wrong cells, and a judge who has judged every step up to it.

    Arrays have the layout of the step's array.
    """

    judge: Judge
    judged: Compared

    @cached_property
    def wrong(self) -> Array:
        return np.asarray(self.judged.codes == WRONG)

    @cached_property
    def shown(self) -> Array:
        """The cells that were not left out."""
        return np.asarray(self.judged.codes != MISSING)

    @cached_property
    def cells(self) -> list[Index]:
        """The places of the wrong cells."""
        return [tuple(place) for place in np.argwhere(self.wrong).tolist()]

    @property
    def given(self) -> Array:
        return self.judged.written.values

    @cached_property
    def _worked(self) -> Worked:
        return Worked(self.judge.midpoints)

    def terms(self, place: Index) -> list[tuple[Term, ...]]:
        """Return the products whose sum a cell is, each as its factors; an addend has one factor.

        A cell that is neither a sum nor a product has none, nor has a cell of a large step.
        """
        if is_long(self.judged.step):
            return []
        found = _summands(self._worked.term(self.judged.step, place))
        return found if len(found) > 1 or len(found[0]) > 1 else []

    @cached_property
    def is_first(self) -> bool:
        """True if every step before it is free of wrong numbers."""
        before = takewhile(lambda other: other is not self.judged, self.judge.judged.values())
        return not any(other.has(WRONG) for other in before)

    # ---- does a hypothesis hold?

    @cached_property
    def off(self) -> Array:
        """The distance of each number from what follows from the student's earlier ones."""
        with np.errstate(invalid="ignore"):  # −∞ − (−∞)
            return np.asarray(np.abs(self.given - self.judged.yours))

    @cached_property
    def spread(self) -> Array:
        """The width of the interval of what follows from the student's earlier numbers."""
        with np.errstate(invalid="ignore"):  # −∞ − (−∞)
            return np.asarray(self.judged.follows.high - self.judged.follows.low)

    def with_numbers(self, numbers: Array, cells: Array) -> Interval:
        """Return what follows, with other numbers, as uncertain, in some cells."""
        follows = self.judged.follows
        low, high = numbers - self.spread, numbers + self.spread
        return Interval(np.where(cells, low, follows.low), np.where(cells, high, follows.high))

    def holds(self, hypothesis: Hypothesis) -> bool:
        return bool(self.fits(hypothesis.expected, hypothesis.written, hypothesis.unit).all())

    def fits(
        self, expected: Values | None, written: Array | None = None, unit: Array | None = None
    ) -> Array:
        """Return the cells that a hypothesis gives or leaves right; arguments as its attributes.

        An interval that accepts anything explains nothing: in half of the wrong cells it must be
        narrower than the error that it explains.
        """
        judged, follows = self.judged, self.judged.follows
        written = self.given if written is None else written
        unit = judged.unit if unit is None else unit
        expected = follows if expected is None else interval(expected)
        with np.errstate(invalid="ignore"):
            width = expected.high - expected.low
        is_narrow = (expected.low == expected.high) | (width <= self.off)
        if 2 * (is_narrow & self.wrong).sum() < self.wrong.sum():
            return np.zeros(self.wrong.shape, bool)
        is_left = (expected.low == follows.low) & (expected.high == follows.high)
        is_left &= (written == self.given) & ~self.wrong
        found: Array = agrees(written, unit, expected, judged.written.share) | is_left
        return found | ~self.shown

    # ---- may it hold by chance?

    def is_certain(self, hypothesis: Hypothesis, tried: int) -> bool:
        """Return True if a hypothesis, one of those that were tried, is hardly a coincidence.

        The probability that a number that is wrong for no reason agrees with it is the width of the
        interval of agreement, relative to the error. A number that was written down wrongly has no
        more information than its digits.
        """
        given, yours = self.given[self.wrong], self.judged.yours[self.wrong]
        off, spread = self.off[self.wrong], np.nan_to_num(self.spread[self.wrong], nan=0.0)
        if hypothesis.written is not None:
            off = np.minimum(off, np.minimum(np.abs(given), np.abs(yours)))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = self.judged.written.share * np.abs(np.nan_to_num(yours))
            digits = np.maximum(self.judged.unit[self.wrong], _grid(given, yours))
            found = np.minimum(1.0, (digits + 2 * spread + share) / (2 * off))
        found = np.sort(np.nan_to_num(found, nan=1.0))
        return bool(tried * np.prod(found[hypothesis.fitted :]) <= MAX_COINCIDENCE)

    # ---- what its places are called

    def cell(self, place: Index) -> str:
        return cell_name(self.judged.step, place_of(self.judged.step, place))

    @property
    def is_one_line(self) -> bool:
        """True if the step has only one row or column on paper."""
        return min(self.judged.step.value.shape[-2:], default=1) == 1

    @cached_property
    def axis(self) -> int | None:
        """The axis across which one line holds all wrong cells: −2 for a row of the layout."""
        is_stacked = self.judged.codes.ndim == 4
        lines = {axis: {(*at[:2], at[axis]) for at in self.cells} for axis in (-2, -1)}
        return next((axis for axis in lines if is_stacked and len(lines[axis]) == 1), None)

    @property
    def is_only_line(self) -> bool:
        """True if that line is the whole step, so that it need not be named."""
        return self.axis is not None and bool(self.in_line.all())

    @property
    def in_line(self) -> Array:
        """The cells of that line."""
        found = np.zeros(self.wrong.shape, bool)
        at: list[int | slice] = list(self.cells[0])
        at[-1 if self.axis == -2 else -2] = slice(None)
        found[tuple(at)] = True
        return found

    @property
    def place(self) -> str:
        """The part of the step that is wrong, if it is one cell or one line; or ""."""
        if len(self.cells) == 1:
            return f"{self.cell(self.cells[0])} is wrong"
        if self.axis is None or self.is_only_line:
            return ""
        return f"Only {self.line_with_head(self.axis)} is wrong"

    def noun(self, axis: int) -> str:
        return "row" if (axis == -2) != self.judged.step.columns else "column"

    def line(self, axis: int, line: int) -> str:
        """Return the name of a row or column: its label, or its number from 1."""
        trailing = self.judged.step.trailing
        axis_name = trailing[axis] if len(trailing) >= -axis else ""
        return label_text(place_word(self.judged.step.labels, axis_name, line))

    def line_with_head(self, axis: int) -> str:
        """Return the name of the line of the wrong cells; the only line of a head is the head."""
        step, place = self.judged.step, self.cells[0]
        pairs = zip(LEADING, place, strict=False)
        stacked = ", ".join(f"{name} {i + 1}" for name, i in pairs if name in step.leading)
        if self.given.shape[axis] == 1:
            return stacked
        of_head = f" of {stacked}" if stacked else ""
        return f"{self.noun(axis)} {self.line(axis, place[axis])}{of_head}"

    @property
    def again(self) -> str:
        """The advice for one number; a copied step needs no calculation."""
        is_copied = isinstance(self.judged.step.operation, Step)
        return "Copy it again." if is_copied else "Calculate it again."


def is_long(step: Step) -> bool:
    """Return True if one number of a large step cannot be worked without all others."""
    nodes = walk(step.operation) if step.operation is not None else ()
    first = (slice(0, 1), slice(0, 1))
    is_whole = any(isinstance(node, Operation) and node.needs(first) is None for node in nodes)
    return is_whole and step.array.size > MAX_WORKED_SIZE


def _summands(term: Term) -> list[tuple[Term, ...]]:
    op = getattr(term, "op", "")
    if op == "+":
        return [factors for part in term.operands for factors in _summands(part)]
    return [{"*": term.operands, "square": term.operands * 2}.get(op, (term,))]


def _grid(*arrays: Array) -> Array:
    """Return the largest of 1, 0.1, … of which the numbers at each place are multiples; else 0.

    Zeros at the end of a whole number are digits, but no information.
    """
    found = np.zeros(arrays[0].shape)
    for decimals in range(MAX_HAND_DECIMALS, -1, -1):
        rounded = (np.isclose(one, np.round(one, decimals), rtol=0, atol=1e-9) for one in arrays)
        found = np.where(np.logical_and.reduce(list(rounded)), 10.0**-decimals, found)
    return found


Search: TypeAlias = Callable[[WrongStep], Iterator[Hypothesis]]


def explained_by(wrong: WrongStep, search: Search) -> Finding | None:
    """Return the first hypothesis of a search that gives every number, if there is one.

    It is a guess where it may hold by chance, or where another one of the search holds as well.
    """
    tried = list(search(wrong))
    holding = [one for one in tried if wrong.holds(one)]
    if not holding:
        return None
    first = holding[0]
    is_only = len({one.finding.what for one in holding}) == 1
    is_certain = first.is_fact or (is_only and wrong.is_certain(first, len(tried)))
    return replace(first.finding, certain=is_certain)
