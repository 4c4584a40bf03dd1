"""Every cell of a student's answers against the right number and against what follows.

A student's matrices take the place of the computed ones on the tape: each operation is evaluated
on the student's own operands, so that a slip is told apart from what only follows from it. A
written number stands for the numbers that it may be a rounding of, so operands are ranges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, hull, interval
from attncli.checking.answers import ShapeMismatch, Written, significant
from attncli.checking.judged import (
    CORRECT,
    FOLLOWS,
    LAST_DIGIT,
    MISSING,
    WRONG,
    Compared,
    Given,
    Judged,
    Misshapen,
    NotGiven,
)
from attncli.mechanisms.trace import Trace
from attncli.tape.step import Step
from attncli.tape.walk import evaluate, sources

LIKE_BLOCKED = -1e4
"""Programs write a number as low as this where a hand writes −∞ for a blocked cell."""

HALF = 0.5 + 1e-9

ENOUGH = 3
"""So many numbers make a habit."""

SPARE = 0.1
"""How far beyond its rounding a number may lie, in halves of its last digit: whoever goes on with
one digit more than is written is off by as much."""


class Judge:
    """Judges one student's answers, step by step in the order of computation.

    Args:
        trace: the right calculation.
        others: calculations that are right as well, such as the one without rounding.
        given: the student's matrices by step.

    Attributes:
        judged: the steps so far.
    """

    def __init__(
        self, trace: Trace, others: tuple[Trace, ...], given: Mapping[str, Written | ShapeMismatch]
    ) -> None:
        self.trace = trace
        self.others = others
        self.given = given
        self.judged: dict[str, Judged] = {}
        self._middles: dict[str, Array] = {}
        self._ranges: dict[str, Array | Interval] = {}
        self._digits: tuple[float, int] | None = None

    def steps(self) -> Iterator[Judged]:
        """Judge every step of the trace."""
        for step in self.trace:
            found = self._judge(step)
            self.judged[step.name] = found
            yield found

    def middle(self, step: Step) -> Array:
        """Return the student's own numbers of a step; where there are none, what they lead to."""
        if step.operation is None:
            return step.array
        if step.name not in self._middles:
            self._fill(step)
        return self._middles[step.name]

    def own(self, step: Step) -> Array | Interval:
        """Return the ranges that the student's own numbers of a step stand for."""
        if step.operation is None:
            return step.array
        if step.name not in self._ranges:
            self._fill(step)
        return self._ranges[step.name]

    def left_out_before(self, step: Step) -> list[Step]:
        """Return the steps between a step and those that were given, in their order."""
        wanted = set(names_of(step))
        found = []
        for source in reversed(self.judged.values()):
            if source.step.name in wanted and isinstance(source, NotGiven):
                found.append(source.step)
                wanted.update(names_of(source.step))
        return found[::-1]

    def _judge(self, step: Step) -> Judged:
        written = self.given.get(step.name)
        if not isinstance(written, Written):
            codes = np.full(step.array.shape, MISSING, np.int8)
            return NotGiven(step, codes) if written is None else Misshapen(step, codes, written)
        values = _without_stand_ins(written.values, step.array)
        right = [step.array, *(other[step.name].array for other in self.others)]
        slack = slack_of(step.array, written.slack)
        unit = self._unit(written)
        off = np.minimum.reduce([_difference(values, r) for r in right])
        codes = np.full(values.shape, WRONG, np.int8)
        is_exact = _is_exact(step.array, unit, slack)
        if not is_exact:
            codes[off <= unit + slack] = LAST_DIGIT
        codes[off <= unit / 2 + slack] = CORRECT
        codes[written.missing] = MISSING
        if not np.isin(codes, (WRONG, LAST_DIGIT)).any():
            return Given(step, codes, written, unit)
        assert step.operation is not None  # inputs are no steps
        yours = evaluate(step.operation, self.middle)
        follows = _around(yours, evaluate(step.operation, self.own))
        slack = np.maximum(slack, slack_of(yours, written.slack))
        open_ = (codes == WRONG) | (codes == LAST_DIGIT)
        if not _is_known(follows, unit, slack):
            codes[open_ & _holds(follows, values, unit + slack)] = LAST_DIGIT
        codes[open_ & _holds(follows, values, unit / 2 + slack)] = FOLLOWS
        return Compared(step, codes, written, unit, yours, follows)

    def _unit(self, written: Written) -> Array:
        """Return the units of the written digits, where 1200000 may stand for 1202604.

        In three significant digits the zeros at the end of a large number say nothing, nor does
        the point and zero that programs write after it.
        """
        values, unit = written.values, written.unit
        with np.errstate(invalid="ignore"):
            whole = (np.abs(values) >= 100) & (values % 1 == 0) & (unit > 0.01)
        if not whole.any():
            return unit
        digits = max(3, significant(written.texts[~written.missing].tolist()))
        size = np.floor(np.log10(np.abs(values), where=whole, out=np.zeros_like(values)))
        return np.where(whole, np.maximum(unit, 10.0 ** (size + 1 - digits)), unit)

    def _fill(self, wanted: Step) -> None:
        """Find the student's own numbers of all steps up to one, in their order."""
        for step in self.trace:
            if step.name not in self._middles and step.operation is not None:
                self._find(step)
            if step.name == wanted.name:
                return

    def _find(self, step: Step) -> None:
        assert step.operation is not None  # by _fill
        judged = self.judged.get(step.name)
        if isinstance(judged, Misshapen):
            # Nothing can follow from a matrix that does not fit: go on from the right one.
            self._middles[step.name] = self._ranges[step.name] = step.array
            return
        if not isinstance(judged, Given):
            self._middles[step.name] = evaluate(step.operation, self.middle)
            self._ranges[step.name] = self.perhaps_rounded(
                _around(self._middles[step.name], evaluate(step.operation, self.own))
            )
            return
        self._middles[step.name], self._ranges[step.name] = self._of_written(judged)

    def _of_written(self, judged: Given) -> tuple[Array, Array | Interval]:
        """Return a given step's numbers, and the ranges that they stand for."""
        written, step = judged.written, judged.step
        assert step.operation is not None  # by _find
        right = step.array
        values = _without_stand_ins(written.values, right)
        slack = slack_of(right, written.slack)
        unit = judged.unit
        same = _difference(values, right) <= written.slack * np.abs(right)
        same &= judged.codes == CORRECT
        values = np.where(same, right, values)
        if same.all():
            return right, right
        half = unit / 2 * (not self._is_tidy(judged, right, values, slack))
        may_be = Interval(values - half, values + half)
        # A right number may be what was written or what it was rounded from, and little else.
        spare = np.where(same, 0.0, half * SPARE)
        others = [other[step.name].array for other in self.others]
        known = (judged.codes == CORRECT) | (judged.codes == LAST_DIGIT)
        near = hull(values, right, *others)
        low = np.where(known, near.low - spare, may_be.low)
        high = np.where(known, near.high + spare, may_be.high)
        if isinstance(judged, Compared) or self._went_wrong() or written.missing.any():
            yours, around = self._from_earlier(judged)
            # Only by chance is a number right that follows from a wrong one.
            mine = _holds(around, values, half + slack)
            after = np.where(mine, np.maximum(may_be.low, around.low), np.inf)
            before = np.where(mine, np.minimum(may_be.high, around.high), -np.inf)
            own = judged.codes == FOLLOWS
            low = np.minimum(np.where(own, values, low), after)
            high = np.maximum(np.where(own, values, high), before)
        if written.missing.any():
            follows = interval(self.perhaps_rounded(around))
            values = np.where(written.missing, yours, values)
            low = np.where(written.missing, follows.low, low)
            high = np.where(written.missing, follows.high, high)
        return values, Interval(low, high)

    def _from_earlier(self, judged: Given) -> tuple[Array, Interval]:
        """Return what the student's own earlier numbers give, and the ranges of that."""
        if isinstance(judged, Compared):
            return judged.yours, judged.follows
        assert judged.step.operation is not None  # inputs are no steps
        yours = evaluate(judged.step.operation, self.middle)
        return yours, _around(yours, evaluate(judged.step.operation, self.own))

    def _went_wrong(self) -> bool:
        """Whether a step before has a wrong number, so that right ones may be right by chance."""
        return any(judged.has(WRONG) for judged in self.judged.values())

    def _is_tidy(self, judged: Given, right: Array, values: Array, slack: Array) -> bool:
        """Whether a step's numbers were not rounded: neither the right ones nor the student's.

        A wrong number may be the rounding of anything, such as 5.77 where 10 is right.
        """
        unit, off = judged.unit, (judged.codes == WRONG) & (judged.unit < 1)
        if isinstance(judged, Compared) and not _is_known(judged.follows, unit, slack):
            return False
        with np.errstate(invalid="ignore"):  # −∞
            tens = values / np.where(unit, 10 * unit, 1.0)
            more_digits = np.abs(tens - np.round(tens)) > 0.05
        return _is_exact(right, unit, slack) and not (more_digits & off).any()

    def perhaps_rounded(self, numbers: Array | Interval) -> Array | Interval:
        """Return the ranges of a step that was left out, rounded before it was used or not."""
        finest, digits = self._habit()
        found = interval(numbers)
        size = np.maximum(np.abs(found.low), np.abs(found.high))
        with np.errstate(all="ignore"):
            unit = 10.0 ** (np.floor(np.log10(size)) + 1 - digits)
        unit = np.where(np.isfinite(unit), np.maximum(unit, finest), finest)
        if not finest:
            return found.low if np.array_equal(found.low, found.high) else found
        with np.errstate(invalid="ignore"):  # an infinite end stays where it is
            # A half may be rounded either way.
            ends = (
                np.ceil(found.low / unit - HALF) * unit,
                np.floor(found.high / unit + HALF) * unit,
            )
            moved = [
                np.abs(end - old) > 1e-9 * np.abs(old)
                for end, old in zip(ends, (found.low, found.high), strict=True)
            ]
        spare = SPARE * unit / 2
        rounded = Interval(
            np.where(moved[0], ends[0] - spare, found.low),
            np.where(moved[1], ends[1] + spare, found.high),
        )
        wide = hull(found, rounded)
        return wide.low if np.array_equal(wide.low, wide.high) else wide

    def _habit(self) -> tuple[float, int]:
        """Return to what the student rounds: the finest unit, and how many significant digits.

        Only numbers with a point tell; a whole number may be exact. Where all have as many
        decimals, that is the habit; else few significant digits may be.
        """
        if self._digits is None:
            cells = [
                (text, unit)
                for given in self.given.values()
                if isinstance(given, Written)
                for text, unit in zip(given.texts.flat, given.unit.flat, strict=True)
                if "." in text and unit
            ]
            units = [float(unit) for _, unit in cells]
            finest = min(units, default=0.0)
            counts = [count for text, _ in cells if (count := significant([text]))]
            digits = max(counts, default=0)
            # 0.478 has three decimals and three digits: where all are so, either may be the habit.
            even = len(counts) >= ENOUGH and min(counts) == digits
            by_digits = 3 <= digits <= 4 and (even or max(units) > 1.5 * finest)
            self._digits = finest, digits if by_digits else 17
        return self._digits


def names_of(step: Step) -> list[str]:
    """Return the names of the steps, but for inputs, that a step is made from at once."""
    return [source.name for source in sources(step) if source.operation is not None]


def _without_stand_ins(values: Array, right: Array) -> Array:
    """Return the numbers with −∞ where a blocked cell was given a very low number instead."""
    return np.where((right == -np.inf) & (values <= LIKE_BLOCKED), -np.inf, values)


def _difference(values: Array, right: Array) -> Array:
    """Return how far two numbers are apart; equal infinities are not at all."""
    with np.errstate(invalid="ignore"):
        return np.where(values == right, 0.0, np.abs(values - right))


def slack_of(right: Array, relative: float) -> Array:
    """Return by how much a number may be off for reasons that no hand has.

    Beside its own share there is a little for a 0 that a sum of floats misses; it is capped, for
    beside e^60 any ordinary number is small, and not the less wrong for it.

    Args:
        right: the numbers that are expected.
        relative: the share of a number that is granted.
    """
    relative = max(relative, 1e-6) if right.dtype == np.float32 else relative
    size = np.where(np.isfinite(right), np.abs(right), 0.0)
    most = size.max(initial=0.0)
    slack: Array = relative * (size + 1e-3 * min(most, 1.0)) + min(1e-6 * relative * most, 1e-9)
    return slack


def _is_exact(right: Array, unit: Array, slack: Array) -> bool:
    """Whether every right number of a step has no more digits than were written.

    Then nothing was rounded, and a number that is off by one is wrong.
    """
    kept = np.isfinite(right) & (unit > 0)
    if not kept.any():
        return False
    right, unit = right[kept], unit[kept]
    near = np.round(right / unit) * unit
    return bool((np.abs(near - right) <= np.broadcast_to(slack, kept.shape)[kept]).all())


def _is_known(follows: Interval, unit: Array, slack: Array) -> bool:
    """Whether what follows is known without a doubt, and has no more digits than were written."""
    with np.errstate(invalid="ignore"):
        wide = follows.high - follows.low > slack
    return not wide.any() and _is_exact(follows.low, unit, slack)


def _around(middle: Array, found: Array | Interval) -> Interval:
    """Return ranges that hold the numbers from which they were made, whatever a float did."""
    wide = interval(found)
    low = np.where(np.isnan(wide.low), -np.inf, np.fmin(wide.low, middle))
    return Interval(low, np.where(np.isnan(wide.high), np.inf, np.fmax(wide.high, middle)))


def _holds(found: Interval, values: Array, more: Array) -> Array:
    """Return which numbers lie in their range, or within so much of it."""
    with np.errstate(invalid="ignore"):
        inside: Array = (values >= found.low - more) & (values <= found.high + more)
    inside |= np.isinf(values) & (values == found.low) & (values == found.high)
    return inside
