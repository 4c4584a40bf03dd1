"""A step with wrong cells: what other numbers would explain it, and what its places are called."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval
from attncli.checking.agreement import agrees
from attncli.checking.judged import MISSING, WRONG, Compared
from attncli.checking.judging import Judge
from attncli.records import Record
from attncli.tape.cells import Index, cell_name, place_of, place_word
from attncli.tape.step import Step
from attncli.text.escapes import label_text

MANY = 4
"""So many numbers tell that a step was understood, if only one of them is wrong."""


def part_at(array: Array, place: Index) -> Array:
    """Return what stands at a place, or at the first axes of one; an axis of size 1 broadcasts."""
    found: Array = array[tuple(min(i, n - 1) for i, n in zip(place, array.shape, strict=False))]
    return found


class WrongStep(Record):
    """A step in which a slip is looked for, with a judge who has judged every step up to it.

    Arrays have the layout of the step's array.
    """

    judge: Judge
    judged: Compared

    @property
    def cells(self) -> list[Index]:
        """The places of the wrong cells."""
        return [tuple(place) for place in np.argwhere(self.judged.codes == WRONG).tolist()]

    @property
    def is_alone(self) -> bool:
        """Whether one number is wrong among many that are not."""
        codes = self.judged.codes
        return int((codes == WRONG).sum()) == 1 and int((codes != MISSING).sum()) >= MANY

    def is_one_along(self, axis: int) -> bool:
        """Return whether one line across an axis of the layout holds all wrong cells."""
        lines = {(*place[:2], place[axis]) for place in self.cells}
        return self.judged.codes.ndim == 4 and len(lines) == 1

    @property
    def given(self) -> Array:
        """The student's numbers."""
        return self.judged.written.values

    @property
    def again(self) -> str:
        """What to do about one number: a step that another one is needs no calculation."""
        is_copied = isinstance(self.judged.step.operation, Step)
        return "Copy it again." if is_copied else "Calculate it again."

    def off(self, place: Index) -> float:
        """Return how far a number is from what follows from the student's earlier ones."""
        return abs(float(self.given[place] - self.judged.yours[place]))

    def is_given_by(self, numbers: Array, chosen: Array | None = None) -> bool:
        """Return whether the wrong cells, or those chosen, are what other numbers round to.

        The numbers are as uncertain as what follows from the student's earlier ones.
        """
        follows = self.judged.follows
        with np.errstate(invalid="ignore"):  # −∞ − (−∞), and then nothing agrees
            spread = follows.high - follows.low
            found = self.judged.agrees(Interval(numbers - spread, numbers + spread))
        return bool(found[self.judged.codes == WRONG if chosen is None else chosen].all())

    def would_be_right(
        self, values: Array, chosen: Array | None = None, unit: Array | None = None
    ) -> bool:
        """Return whether other values in the wrong cells, or those chosen, would follow."""
        unit = self.judged.unit if unit is None else unit
        found = agrees(values, unit, self.judged.follows, self.judged.written.share)
        return bool(found[self.judged.codes == WRONG if chosen is None else chosen].all())

    def cell(self, place: Index) -> str:
        """Return the name of a cell."""
        return cell_name(self.judged.step, place_of(self.judged.step, place))

    @property
    def is_one_line(self) -> bool:
        """Whether the step has only one row or column on paper."""
        return min(self.judged.step.value.shape[-2:], default=1) == 1

    @property
    def every(self) -> str:
        """All numbers of the step, as a sentence begins with them."""
        count = int((self.judged.codes != MISSING).sum())
        return f"All {count} numbers" if self.is_one_line else "Every number"

    @property
    def have(self) -> str:
        """The verb after `every`."""
        return "have" if self.is_one_line else "has"

    @property
    def are(self) -> str:
        """The verb after `every`."""
        return "are" if self.is_one_line else "is"

    @property
    def they(self) -> str:
        """The pronoun of `every`."""
        return "they" if self.is_one_line else "it"

    def noun(self, axis: int) -> str:
        """Return what a line across an axis of the layout is on paper: a row or a column."""
        return "row" if (axis == -2) != self.judged.step.columns else "column"

    def line(self, axis: int, line: int) -> str:
        """Return the name of a row or column: its label, or its number from 1."""
        trailing = self.judged.step.trailing
        axis_name = trailing[axis] if len(trailing) >= -axis else ""
        return label_text(place_word(self.judged.step.labels, axis_name, line))
