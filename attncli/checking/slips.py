"""Slips: one number or one line that went wrong, and the small thing that explains it.

A slip is looked for where no mistake of the catalogue fits. Places are told as they stand on
paper, with the words of the problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.heads import RepeatHeads, SplitHeads
from attncli.attention.normalizers import Sum
from attncli.checking.judged import MISSING, WRONG, Compared, Given
from attncli.checking.judging import Judge
from attncli.records import Record
from attncli.tape.operations import Add, Divide, MatMul
from attncli.tape.step import Expression
from attncli.tape.walk import evaluate
from attncli.text.escapes import visible

Found: TypeAlias = tuple[str, str, str]
"""The id of a slip, its sentence and the advice."""

AGAIN = "Calculate it again."

ENOUGH_CELLS = 3
"""From so many wrong cells on a common factor is no coincidence."""

OF_A_TERM = (
    (-2, "sign_slip", "was taken as {}"),
    (-1, "single_cell_slip", "was left out"),
    (1, "single_cell_slip", "was counted twice"),
)
"""How often a term of a sum is there too often, and what that is called."""


def slip(judge: Judge, judged: Compared) -> Found | None:
    """Return the slip that a step's wrong cells are, if they are one."""
    look = Look(judge, judged)
    wrong = look.wrong
    if len(wrong) == 1:
        return look.of_cell(tuple(wrong[0]))
    for find in (look.of_signs, look.of_factor, look.of_other_step, look.of_exchange):
        if found := find():
            return found
    for axis in (-2, -1):
        if judged.codes.ndim == 4 and len({(*w[:2], w[axis]) for w in wrong.tolist()}) == 1:
            return look.of_line(axis)
    return None


class Look(Record):
    """A step that is looked at for slips."""

    judge: Judge
    judged: Compared

    @property
    def wrong(self) -> Array:
        """The places of the wrong cells in the step's layout, one a row."""
        return np.argwhere(self.judged.codes == WRONG)

    @property
    def given(self) -> Array:
        """The student's numbers."""
        return self.judged.written.values

    @property
    def unit(self) -> Array:
        """One unit of the last digit of each of them."""
        return self.judged.unit

    @property
    def yours(self) -> Array:
        """What the student's earlier numbers give."""
        return self.judged.yours

    def fits(self, numbers: Array, places: Array | None = None) -> bool:
        """Whether the wrong cells (or those of a mask) are what some numbers round to."""
        written, follows = self.judged.written, self.judged.follows
        chosen = self.judged.codes == WRONG if places is None else places
        numbers = np.broadcast_to(numbers, self.given.shape)[chosen]
        with np.errstate(invalid="ignore"):  # −∞ fits nothing here
            spread = (follows.high - follows.low)[chosen]
            near = np.abs(self.given[chosen] - numbers)
        slack = written.slack * (1 + np.abs(numbers))
        return bool((near <= self.unit[chosen] / 2 + spread + slack).all())

    def would_do(
        self, values: Array, places: Array | None = None, unit: Array | None = None
    ) -> bool:
        """Whether other numbers, in the place of the wrong ones or those of a mask, follow."""
        follows = self.judged.follows
        unit = self.unit if unit is None else unit
        chosen = self.judged.codes == WRONG if places is None else places
        with np.errstate(invalid="ignore"):
            more = unit / 2 + 1e-9 * (1 + np.abs(values))
            inside = (values >= follows.low - more) & (values <= follows.high + more)
        return bool(inside[chosen].all())

    def of_cell(self, place: tuple[int, ...]) -> Found:
        """Name one wrong cell, and what explains its number."""
        name, given, yours = self.cell(place), self.given[place], self.yours[place]
        if np.isinf(yours) or np.isinf(given):
            words = "it is blocked, so it is −∞" if np.isinf(yours) else "it is not blocked"
            return "single_cell_slip", f"Only {name} is wrong: {words}.", "Look at the mask again."
        if given and self.would_do(-self.given):
            return "sign_slip", f"{name} has the wrong sign.", "Mind the sign."
        for power in (1, 2, 3, -1, -2, -3):
            if given and self.would_do(self.given / 10.0**power):
                message = f"The decimal point of {name} stands in the wrong place."
                return "decimal_point_slip", message, AGAIN
        if sentence := self._of_digits(place):
            return "digits_swapped", sentence, "Copy the number again."
        for id_, words in self._of_terms(place, float(given - yours)):
            return id_, f"{name} is wrong: {words}.", AGAIN
        return "single_cell_slip", f"Only {name} is wrong.", AGAIN

    def of_signs(self) -> Found | None:
        """Every wrong cell has the wrong sign."""
        wrong = self.judged.codes == WRONG
        if self.given[wrong].any() and self.would_do(-self.given):
            count = int(wrong.sum())
            where = "Every number" if wrong.all() else f"{count} numbers"
            has = "has" if wrong.all() else "have"
            return "sign_slip", f"{where} {has} the wrong sign.", "Mind the sign."
        return None

    def of_factor(self) -> Found | None:
        """Every number is the same multiple of the right one."""
        written = self.judged.written
        follows = self.judged.follows
        # Somebody may have multiplied what was rounded already.
        least, most = follows.low - self.unit / 2, follows.high + self.unit / 2
        kept = (self.judged.codes != MISSING) & np.isfinite(self.yours)
        kept &= least * most > 0  # what may be 0 says nothing of a factor
        if (self.judged.codes[kept] == WRONG).sum() < ENOUGH_CELLS:
            return None
        # Each number allows the factors that round to it; what all of them allow is the factor.
        half = self.unit[kept] / 2 + written.slack * np.abs(self.given[kept])
        ends = [
            (self.given[kept] + way * half) / end[kept] for way in (-1, 1) for end in (least, most)
        ]
        low, high = np.minimum.reduce(ends).max(), np.maximum.reduce(ends).min()
        zeros = (self.judged.codes != MISSING) & (self.yours == 0)
        if low > high or low <= 0 <= high or (self.judged.codes[zeros] == WRONG).any():
            return None
        simple = [round((low + high) / 2, digits) for digits in range(4)]
        factor = next((x for x in simple if low <= x <= high), (low + high) / 2)
        message = f"Every number is {factor:.4g} times what it should be."
        return "constant_factor", message, "Look for a factor that is one too many."

    def of_other_step(self) -> Found | None:
        """The numbers are those of another step."""
        kept = self.judged.codes != MISSING
        for step in self.judge.trace:
            if step.name == self.judged.step.name or step.array.shape != self.given.shape:
                continue
            known = self.judge.judged.get(step.name)
            own = known.written.values if isinstance(known, Given) else step.array
            with np.errstate(invalid="ignore"):
                near = (np.abs(own - self.given) <= self.unit / 2 + 1e-9) | (own == self.given)
            if kept.sum() > 1 and near[kept].all():
                message = f"These are the numbers of {step.name}."
                return "another_step", message, f"Write the numbers of {self.judged.step.name}."
        return None

    def of_exchange(self) -> Found | None:
        """Two rows, or two columns, have changed places."""
        wrong = self.wrong
        for axis in (-2, -1):
            lines = sorted({int(place[axis]) for place in wrong})
            if len(lines) == 2 and len(wrong) > 1:
                order = list(range(self.given.shape[axis]))
                order[lines[0]], order[lines[1]] = lines[1], lines[0]
                swapped, unit = (np.take(x, order, axis=axis) for x in (self.given, self.unit))
                noun = self.noun(axis)
                names = " and ".join(self.line(axis, line) for line in lines)
                if self.would_do(swapped, self._lines_of(axis, lines), unit):
                    message = f"The {noun}s {names} have changed places."
                    return f"{noun}s_swapped", message, f"Keep the order of the {noun}s."
        if len(wrong) == 2:
            one, other = (tuple(int(i) for i in place) for place in wrong)
            swapped, unit = self.given.copy(), self.unit.copy()
            swapped[one], swapped[other] = self.given[other], self.given[one]
            unit[one], unit[other] = self.unit[other], self.unit[one]
            if self.would_do(swapped, unit=unit):
                message = f"{self.cell(one)} and {self.cell(other)} have changed places."
                return "cells_swapped", message, "Write each number into its own cell."
        return None

    def of_line(self, axis: int) -> Found:
        """Name the one row or column that is wrong, and what explains its numbers."""
        place = tuple(int(i) for i in self.wrong[0])
        noun, line = self.noun(axis), self.line(axis, place[axis])
        start = f"Only {noun} {line}{self.head(place)} is wrong"
        for words in (*self._like_another(axis, place), *self._by_a_sum(axis, place)):
            return f"{noun}_slip", f"{start}: {words}.", AGAIN
        for words in self._miscopied(axis, place):
            return "miscopied_number", f"{start}: {words}.", "Copy the number again."
        return f"{noun}_slip", f"{start}.", AGAIN

    def noun(self, axis: int) -> str:
        """What an axis of the layout is on paper: a row or a column."""
        return "row" if (axis == -2) != self.judged.step.columns else "column"

    def line(self, axis: int, line: int) -> str:
        """The name of a row or column: its word, or its number from 1."""
        step = self.judged.step
        if len(step.trailing) < -axis:
            return str(line + 1)
        labels = step.labels.get(step.trailing[axis], ())
        return visible(labels[line]) if line < len(labels) else str(line + 1)

    def head(self, place: Sequence[int]) -> str:
        """` of head 2`, where there are heads."""
        step = self.judged.step
        parts = [f"{axis} {place[i] + 1}" for i, axis in enumerate(("batch", "head"))]
        shown = [part for part in parts if part.split()[0] in step.leading]
        return f" of {', '.join(shown)}" if shown else ""

    def cell(self, place: Sequence[int]) -> str:
        """`scores[am, I]`, as it stands on paper."""
        step = self.judged.step
        names = [self.line(i - len(place), place[i]) for i in range(2, len(place))]
        names = names[-len(step.trailing) :]
        names = names[::-1] if step.columns and len(names) == 2 else names
        return f"{step.name}[{', '.join(names)}]{self.head(place)}"

    def _is_near(self, place: tuple[int, ...], value: float) -> bool:
        places = np.zeros(self.given.shape, bool)
        places[place] = True
        numbers = np.full(self.given.shape, value)
        return self.fits(numbers, places) and not self.fits(self.yours, places)

    def _of_digits(self, place: tuple[int, ...]) -> str:
        """Two neighbouring digits have changed places: 41 for 14."""
        unit, given = float(self.unit[place]), float(self.given[place])
        digits = f"0{round(abs(given) / unit):d}" if unit else ""  # 0.41 may be 4.01
        for i in range(len(digits) - 1):
            other = digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :]
            if other != digits and self.would_do(
                np.zeros_like(self.given) + np.copysign(int(other) * unit, given)
            ):
                return f"Two digits of {self.cell(place)} have changed places."
        return ""

    def _of_terms(self, place: tuple[int, ...], off: float) -> Iterator[tuple[str, str]]:
        """Yield what one product or addend, taken otherwise, makes of a number."""
        pairs = _terms(self.judged.step.operation, place, self.judge)
        is_sum = len({y for _, y in pairs}) == 1 and pairs[0][1] == 1.0
        for times, id_, words in OF_A_TERM:
            for a, b in pairs:
                product, shown = a * b, f"{_signed(number(a))}·{_signed(number(b))}"
                shown = number(a) if is_sum else shown
                if product and self._is_near(place, self.yours[place] + times * product):
                    yield id_, f"{shown} {words.format(number(-product))}"
        for a, b in pairs if not is_sum else ():
            if self._is_near(place, self.yours[place] - a * b + a + b):
                shown = f"{_signed(number(a))}·{_signed(number(b))}"
                yield "single_cell_slip", f"{shown} was taken as {number(a + b)}, the sum"
        if pairs and abs(off) in (1, 10, 100):
            side = "large" if off > 0 else "small"
            yield "single_cell_slip", f"it is {abs(off):g} too {side}"

    def _like_another(self, axis: int, place: tuple[int, ...]) -> Iterator[str]:
        """Yield that a line holds the numbers of another line."""
        chosen = self._line_of(axis, place)
        for other in range(self.given.shape[axis]):
            if other != place[axis]:
                numbers = np.take(self.yours, [other], axis=axis)
                if self.fits(numbers, chosen):
                    yield f"it holds the numbers of {self.line(axis, other)}"

    def _by_a_sum(self, axis: int, place: tuple[int, ...]) -> Iterator[str]:
        """Yield by which sum a line was divided, where that explains it."""
        made = self.judged.step.operation
        if not isinstance(made, Divide):
            return
        dividend = np.broadcast_to(evaluate(made.dividend, self.judge.middle), self.given.shape)
        divisor = np.broadcast_to(evaluate(made.divisor, self.judge.middle), self.given.shape)
        chosen = self._line_of(axis, place)
        largest = max(np.argwhere(chosen).tolist(), key=lambda at: abs(float(dividend[tuple(at)])))
        at = tuple(largest)
        if not self.given[at]:
            return
        sums = dict.fromkeys([*np.unique(divisor).tolist(), float(dividend[at] / self.given[at])])
        for total in sums:
            if total and self.fits(dividend / total, chosen):
                yield f"it was divided by {number(total)}, not by {number(float(divisor[at]))}"

    def _miscopied(self, axis: int, place: tuple[int, ...]) -> Iterator[str]:
        """Yield which number of an operand, read as another one, explains a line."""
        product = _uncut(self.judged.step.operation)
        if not isinstance(product, MatMul) or self.judged.step.operation is not product:
            return
        left, right = (evaluate(side, self.judge.middle) for side in (product.left, product.right))
        mine, other = (
            (left, right) if axis == -2 else (right.swapaxes(-1, -2), left.swapaxes(-1, -2))
        )
        off = np.take(self.given - self.yours, place[axis], axis=axis)[place[0], place[1]]
        row = mine[min(place[0], len(mine) - 1), min(place[1], mine.shape[1] - 1), place[axis]]
        factors = other[min(place[0], len(other) - 1), min(place[1], other.shape[1] - 1)]
        chosen = self._line_of(axis, place)
        kept = ~np.isnan(off)
        for k, factor in enumerate(factors):
            if np.count_nonzero(factor[kept]) < 2:
                continue
            by = float(off[kept] @ factor[kept] / (factor[kept] @ factor[kept]))
            # What was read has no more decimals than what stands there.
            most = next((d for d in range(4) if round(row[k], d) == row[k]), 4)
            for change in dict.fromkeys(round(by, d) for d in range(most + 1)):
                numbers = self.yours + np.expand_dims(change * factor, axis)
                if change and self.fits(numbers, chosen):
                    words = f"{number(row[k] + change)}, not {number(row[k])}"
                    yield f"as if number {k + 1} of what it is made from were {words}"

    def _lines_of(self, axis: int, lines: Sequence[int]) -> Array:
        """Return which cells stand in some lines of the heads that have a wrong cell."""
        wrong = self.judged.codes == WRONG
        leading = wrong.any(axis=tuple(range(2, wrong.ndim)), keepdims=True)
        chosen = np.zeros(wrong.shape, bool)
        at: list[slice | list[int]] = [slice(None)] * wrong.ndim
        at[axis] = list(lines)
        chosen[tuple(at)] = True
        found: Array = chosen & leading & (self.judged.codes != MISSING)
        return found

    def _line_of(self, axis: int, place: tuple[int, ...]) -> Array:
        """Return which cells are in the same line and were given."""
        chosen = np.zeros(self.given.shape, bool)
        at: list[int | slice] = list(place)
        at[-1 if axis == -2 else -2] = slice(None)
        chosen[tuple(at)] = True
        chosen &= self.judged.codes != MISSING
        return chosen


def _signed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _uncut(expression: Expression | None) -> Expression | None:
    while isinstance(expression, SplitHeads | RepeatHeads):
        expression = expression.operand
    return expression


def _terms(
    expression: Expression | None, place: tuple[int, ...], judge: Judge
) -> list[tuple[float, float]]:
    """Return the products whose sum is one cell; an addend is itself times 1."""
    if isinstance(expression, SplitHeads) and isinstance(expression.operand, MatMul | Add):
        width = evaluate(expression, judge.middle).shape[-1]
        place = (place[0], 0, place[2], place[1] * width + place[3])
        return _terms(expression.operand, place, judge)
    if isinstance(expression, Add):
        addend = evaluate(expression.right, judge.middle)
        return [*_terms(expression.left, place, judge), (_at(addend, place), 1.0)]
    if isinstance(expression, MatMul):
        left, right = (evaluate(side, judge.middle) for side in (expression.left, expression.right))
        row = left[tuple(min(i, n - 1) for i, n in zip(place[:3], left.shape[:3], strict=False))]
        at = tuple(min(i, n - 1) for i, n in zip(place[:2], right.shape[:2], strict=False))
        column = right[at][:, min(place[3], right.shape[-1] - 1)]
        return list(zip(row.tolist(), column.tolist(), strict=True))
    if isinstance(expression, Sum):
        addends = evaluate(expression.operand, judge.middle)
        line = list(place)
        row = addends[tuple(line[:2])]
        found = row[place[2]] if expression.along == -1 else row[:, place[3]]
        return [(float(x), 1.0) for x in found]
    return []


def _at(array: Array, place: Sequence[int]) -> float:
    return float(array[tuple(min(i, n - 1) for i, n in zip(place, array.shape, strict=True))])


def number(value: float) -> str:
    """Return a number as a sentence holds it."""
    return f"{value:.6g}"
