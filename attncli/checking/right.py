"""The right numbers of a problem, and what is the same of them for every sheet."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.agreement import exact_cells, float_error, is_exact, largest
from attncli.checking.judged import CORRECT, Given
from attncli.checking.ranged import axis_of_shares
from attncli.mechanisms.trace import Trace
from attncli.records import Record
from attncli.tape.step import Step

MOST_KEPT = 16
"""So much is kept of what units tell of a step; a class writes in one unit or two."""

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
        return float_error(self.step.array)

    @cached_property
    def _kept(self) -> dict[tuple[Any, ...], Any]:
        return {}

    def agrees(self, given: Given, units: float) -> Array:
        """Return which numbers, of no short floats, may stand for the right ones.

        That is what `given.agrees` tells of them.
        """
        low, high = self._of_units(self._ends, given, units)
        found: Array = (given.written.values >= low) & (given.written.values <= high)
        return found

    def exact_cells(self, given: Given) -> Array:
        """Return which numbers have no more digits than were written; as in `agreement`."""
        return self._of_units(self._exact_cells, given, given.written.share)

    def is_exact(self, given: Given) -> bool:
        """Return whether no number has more digits than were written; as in `agreement`."""
        return self._of_units(self._is_exact, given, given.written.share)

    def _ends(self, unit: Array, units: float) -> tuple[Array, Array]:
        more = units * unit + self._slack
        return self.step.array - more, self.step.array + more

    def _exact_cells(self, unit: Array, share: float) -> Array:
        return exact_cells(self.step.array, unit, share)

    def _is_exact(self, unit: Array, share: float) -> bool:
        return is_exact(self.step.array, unit, share)

    def _of_units(self, work: Callable[[Array, float], T], given: Given, more: float) -> T:
        """Return what is worked out for units, kept where all numbers have the same one."""
        if given.only_unit is None:
            return work(given.unit, more)
        key = work, given.only_unit, more
        if key not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = work(given.unit, more)
        found: T = self._kept[key]
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
