"""The right numbers of a problem, and what is the same of them for every sheet."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.agreement import SHARE, exact_cells, is_exact, largest, slack, within
from attncli.checking.judged import CORRECT
from attncli.checking.ranged import axis_of_shares
from attncli.mechanisms.trace import Trace
from attncli.records import Record
from attncli.tape.step import Step

MOST_KEPT = 16
"""So much is kept of what digits tell of a step; a class writes in one unit or two."""

T = TypeVar("T")


class RightStep(Record):
    """A step of a right calculation, with what is asked of its numbers for every sheet."""

    step: Step

    @cached_property
    def axis_of_shares(self) -> int | None:
        """The axis along which the numbers are parts of 1; None where they are not."""
        return axis_of_shares(self.step)

    @cached_property
    def largest(self) -> float:
        """The size of the largest number; an infinite one does not count."""
        return largest(self.step.array)

    @cached_property
    def correct(self) -> Array:
        """The statuses of numbers that are all correct, the same for all sheets."""
        codes = np.full(self.step.array.shape, CORRECT, np.int8)
        codes.setflags(write=False)
        return codes

    @cached_property
    def _slack(self) -> Array:
        return slack(self.step.array)

    @cached_property
    def _kept(self) -> dict[tuple[Any, float], Any]:
        return {}

    def agrees(self, written: Array, unit: Array, units: float) -> Array:
        """Return which written numbers may stand for the right ones, as `agreement.agrees` does."""
        return within(written, self.step.array, units * unit + self._slack)

    def exact_cells(self, unit: Array, share: float) -> Array:
        """Return which numbers have no more digits than were written; as in `agreement`."""
        return self._of_digits(exact_cells, unit, share)

    def is_exact(self, unit: Array, share: float) -> bool:
        """Return whether no number has more digits than were written; as in `agreement`."""
        return self._of_digits(is_exact, unit, share)

    def _of_digits(self, told: Callable[[Array, Array, float], T], unit: Array, share: float) -> T:
        """Return what is told of the numbers, kept where all were written to the same unit."""
        first = float(unit.flat[0]) if unit.size else 0.0
        if share != SHARE or (unit != first).any():
            return told(self.step.array, unit, share)
        if (told, first) not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[told, first] = told(self.step.array, unit, share)
        found: T = self._kept[told, first]
        return found


class Right:
    """The right calculations of a problem, worked out once for all sheets.

    Attributes:
        trace: the calculation by which a sheet is judged.
        others: calculations that are right as well, such as the one without rounding.
    """

    def __init__(self, trace: Trace, others: tuple[Trace, ...] = ()) -> None:
        self.trace = trace
        self.others = others
        self._steps = {step.name: RightStep(step) for step in trace}

    def __getitem__(self, name: str) -> RightStep:
        """Return a step of the calculation by which a sheet is judged."""
        return self._steps[name]

    def changed(self, change: Callable[[Trace], Trace]) -> Right:
        """Return every calculation changed, as by another right way of working."""
        return Right(change(self.trace), tuple(map(change, self.others)))
