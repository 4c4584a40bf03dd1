"""Rounding schedules carried out: what a step becomes by each of them."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.normalizers import Sum
from attncli.checking.constants import with_constants
from attncli.checking.joint_intervals import axis_of_shares
from attncli.checking.operands import Operands
from attncli.checking.readings import Reading, result_of
from attncli.checking.rounding_rules import UP, with_sum
from attncli.checking.schedules import Schedules
from attncli.tape.step import Step


class Trial:
    """Schedules that are carried out at once on the way to a step.

    Arrays have one place for each schedule along the axis of the batch.

    Attributes:
        schedules: the schedules.
        numbers: what the step becomes, (schedules, …) with the shape of the step.
        is_valid: the schedules that can be carried out, (schedules,). Nobody divides by a sum, or
            goes on from a line of weights, that was rounded to nothing but zeros.
        has_ties: True if a usual schedule rounded a half up, which other people round to even.
    """

    numbers: Array

    def __init__(
        self, operands: Operands, schedules: Schedules, step: Step, reading: Reading
    ) -> None:
        self.schedules, self._step = schedules, step
        self._count, self._batch = len(schedules.each), step.array.shape[0]
        self._adjusts = np.array([one.adjusts for one in schedules.each])
        self.is_valid = np.ones(self._count, bool)
        self.has_ties = False
        if self._count > 1 and _adds_batch(operands, step):
            # One schedule after the other: a sum along the first axis would add them up.
            each = [Trial(operands, one, step, reading) for one in schedules.chunks(1)]
            self.numbers = np.concatenate([one.numbers for one in each])
            self.is_valid = np.concatenate([one.is_valid for one in each])
            self.has_ties = any(one.has_ties for one in each)
            return
        constants = (one.constant for one in schedules.each)
        change = with_constants(constants, (*reading.worked, step), self._along_batch)
        with np.errstate(all="ignore"):
            found = result_of(operands, step, reading, self._settled, self._known, change)
            found = self._rounded(step, found)
        found = np.broadcast_to(found, (len(found), *step.array.shape[1:]))
        if self._count == 1:
            found = np.broadcast_to(found, step.array.shape)
        self.numbers = self._spread(found).reshape(self._count, *step.array.shape)

    def _along_batch(self, factors: Array) -> Array:
        return np.repeat(factors, self._batch).reshape(-1, 1, 1, 1)

    def _spread(self, array: Array) -> Array:
        """Return numbers with a place for each schedule and batch along the first axis.

        Those of one schedule stay: steps before a sum over the batch have more places than the sum.
        """
        if self._count == 1:
            return array
        places = self._count * self._batch
        if self._batch == 1 or len(array) == places:
            return np.broadcast_to(array, (places, *array.shape[1:]))
        return np.tile(array, (places // len(array), *[1] * (array.ndim - 1)))

    def _known(self, source: Step, numbers: Array) -> Array:
        """Return the numbers of an input, or of a shown step; one for all broadcasts."""
        return self._rounded(source, numbers if len(numbers) == 1 else self._spread(numbers))

    def _settled(self, source: Step, made: Array) -> Array:
        """Return the value of a worked step that later steps use."""
        made = self._rounded(source, made)
        if isinstance(source.operation, Sum):
            lost = (self._spread(made) == 0) & (self._spread(source.array) != 0)
            self.is_valid &= ~lost.reshape(self._count, -1).any(axis=-1)
        return made

    def _rounded(self, source: Step, numbers: Array) -> Array:
        """Return the numbers of a step as each schedule rounds them."""
        by_rounding = self.schedules.by_step.get(source.name, {})
        made = self._spread(numbers).copy() if by_rounding else numbers
        along = axis_of_shares(source) if source is not self._step else None
        for rounding, schedules in by_rounding.items():
            batch = len(made) // self._count
            places = np.repeat(schedules, batch)
            exact = made[places]
            if self.schedules.is_usual and rounding.mode == UP:
                self.has_ties |= bool(rounding.ties(exact).any())
            made[places] = rounding(exact)
            if along is not None:
                lost = (made[places] == 0).all(axis=along) & (exact != 0).any(axis=along)
                self.is_valid[schedules] &= ~lost.reshape(schedules.sum(), -1).any(axis=-1)
                adjusts = np.repeat(schedules & self._adjusts, batch)
                if adjusts.any():
                    shares = exact[adjusts[places]]
                    total = (shares != 0).any(axis=along, keepdims=True).astype(float)
                    made[adjusts] = with_sum(shares, along, total, rounding)
        return made


def _adds_batch(operands: Operands, step: Step) -> bool:
    """Return True if a step adds up numbers of several batch elements, as d_W does."""
    before = operands.ancestors(step)
    return any(source.array.shape[0] > step.array.shape[0] for source in before)
