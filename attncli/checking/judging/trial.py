"""Trials of rounding schedules on a step, for each reading of the shown steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product

import numpy as np

from attncli.checking.judging.agreement import PLAUSIBLE_UNITS, UP, with_sum
from attncli.checking.judging.operands import Operands, axis_of_shares
from attncli.checking.judging.schedules import Schedules, with_constants
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.position_operations import Angles
from attncli.core.attention.softmax import Sum
from attncli.core.records import EMPTY, Record
from attncli.core.tape.evaluation import Replay, sources
from attncli.core.tape.step import Step

MAX_COMBINATIONS = 64
"""Maximum number of combinations of the numbers of the shown steps of which a step is made."""

MAX_STARTS = 40
"""Maximum number of steps of which each is tried as the first that kept every digit, and as the
only one that did not."""


class Reading(Record, eq=False):
    """One way in which a student may have gone on from the shown steps."""

    worked: Sequence[Step]  # the steps that are worked again, in order
    numbers: Mapping[str, Array] = EMPTY  # of other steps; by default as written
    is_kept: bool = False  # True if worked numbers stay where they are written so


def readings(operands: Operands, step: Step) -> Iterator[Reading]:
    hidden, shown = operands.hidden_before(step), _shown_before(operands, step)
    numbers = [operands.numbers(source) for source in shown]
    if not any(len(choices) > 1 for choices in numbers):
        return
    for choice in islice(product(*numbers), MAX_COMBINATIONS):
        chosen = zip(shown, choice, strict=True)
        yield Reading(hidden, {source.name: choices for source, choices in chosen})
    every = operands.ancestors(step)
    for place, source in enumerate(every if len(every) <= MAX_STARTS else ()):
        yield Reading(every[place:], is_kept=True)
        if operands.is_whole(source):  # as written, and all others with every digit
            yield Reading([*every[:place], *every[place + 1 :]], is_kept=True)


def common_readings(operands: Operands, step: Step) -> list[Reading]:
    hidden, shown = operands.hidden_before(step), _shown_before(operands, step)
    numbers = {source.name: operands.numbers(source) for source in shown}
    count = max((len(choices) for choices in numbers.values()), default=1)
    each = (
        {s: choices[min(i, len(choices) - 1)] for s, choices in numbers.items()}
        for i in range(count)
    )
    alike = [Reading(hidden, chosen) for chosen in each]
    every = operands.ancestors(step)
    return alike if len(every) == len(hidden) else [*alike, Reading(every, is_kept=True)]


def _shown_before(operands: Operands, step: Step) -> list[Step]:
    every = [source for one in (*operands.hidden_before(step), step) for source in sources(one)]
    shown = (source for source in every if source.operation is not None and operands.shown(source))
    return list({source.name: source for source in shown}.values())


class Trial:
    """The results of schedules for a step, each with a place along the axis of the batch.

    One is not valid if it divides by a sum, or goes on from angles or weights, that were rounded to
    zeros.
    There are ties if a usual schedule rounded a half up, which other people round to even.
    """

    is_ordered = True  # the likelier schedules first
    numbers: Array  # what the step becomes, (schedules, …) with the shape of the step

    def __init__(
        self,
        operands: Operands,
        schedules: Schedules,
        step: Step,
        reading: Reading,
        watch: Callable[[Step, Array], None] = lambda step, numbers: None,
    ) -> None:
        """Work the step; `watch` takes each step before it, with its valid numbers unrounded."""
        self.schedules, self._step, self._trace = schedules, step, operands.trace
        self._count, self._batch = len(schedules.each), step.array.shape[0]
        self._adjusts = np.array([one.adjusts for one in schedules.each])
        self.is_valid = np.ones(self._count, bool)
        self.has_ties = False
        before = operands.ancestors(step)
        adds_batch = any(source.array.shape[0] > self._batch for source in before)  # as d_W does
        if self._count > 1 and adds_batch:
            # One schedule after the other: a sum along the first axis would add them up.
            parts = schedules.chunks(1)
            each = [Trial(operands, one, step, reading, watch) for one in parts]
            self.numbers = np.concatenate([one.numbers for one in each])
            self.is_valid = np.concatenate([one.is_valid for one in each])
            self.has_ties = any(one.has_ties for one in each)
            return
        constants = (one.constant for one in schedules.each)
        change = with_constants(constants, (*reading.worked, step), self._along_batch)
        again = {source.name for source in reading.worked}

        def known(source: Step) -> Array | None:
            if source.name in again:
                return None
            numbers = reading.numbers.get(source.name)
            return self._known(source, operands.written(source) if numbers is None else numbers)

        def settled(source: Step, result: Array) -> Array:
            watch(source, self._of_each(source, result)[self.is_valid])
            result = self._settled(source, result)
            completed: Array = operands.completed(source, result, is_kept=reading.is_kept)
            return completed

        replay: Replay[Array] = Replay(before, known, settled, instead=change, of_input=self._input)
        result = replay.result(step)
        watch(step, self._of_each(step, result)[self.is_valid])
        self.numbers = self._of_each(step, self._rounded(step, result))

    @property
    def plausible(self) -> float:
        """Errors up to this size, in units in the last place, need no evidence."""
        return np.inf if self.schedules.is_usual else PLAUSIBLE_UNITS

    @property
    def cuts(self) -> Array:
        return np.array([one.cuts for one in self.schedules.each])

    def words(self, index: int) -> str:
        return self.schedules.each[index].words(self._trace)

    def _of_each(self, step: Step, numbers: Array) -> Array:
        numbers = np.broadcast_to(numbers, (len(numbers), *step.array.shape[1:]))
        if self._count == 1:
            numbers = np.broadcast_to(numbers, step.array.shape)
        numbers = self._spread(numbers).reshape(self._count, -1, *step.array.shape[1:])
        return numbers[:, : len(step.array)]

    def _along_batch(self, factors: Array) -> Array:
        return np.repeat(factors, self._batch).reshape(-1, 1, 1, 1)

    def _spread(self, array: Array) -> Array:
        """Return numbers with a place for each schedule and batch; of one schedule as they are."""
        if self._count == 1:
            return array
        places = self._count * self._batch
        if self._batch == 1 or len(array) == places:
            return np.broadcast_to(array, (places, *array.shape[1:]))
        return np.tile(array, (places // len(array), *[1] * (array.ndim - 1)))

    def _input(self, source: Step) -> Array:
        return self._known(source, source.array)

    def _known(self, source: Step, numbers: Array) -> Array:
        return self._rounded(source, numbers if len(numbers) == 1 else self._spread(numbers))

    def _settled(self, source: Step, numbers: Array) -> Array:
        numbers = self._rounded(source, numbers)
        if isinstance(source.operation, Sum | Angles):
            lost = (self._spread(numbers) == 0) & (self._spread(source.array) != 0)
            self.is_valid &= ~lost.reshape(self._count, -1).any(axis=-1)
        return numbers

    def _rounded(self, source: Step, numbers: Array) -> Array:
        by_rounding = self.schedules.by_step.get(source.name, ())
        result = self._spread(numbers).copy() if by_rounding else numbers
        along = axis_of_shares(source) if source is not self._step else None
        for rounding, schedules in by_rounding:
            batch = np.arange(len(result) // self._count)
            places = np.add.outer(schedules * len(batch), batch).ravel()
            exact = result[places]
            if self.schedules.is_usual and rounding.mode == UP:
                self.has_ties |= bool(rounding.ties(exact).any())
            rounded = rounding(exact)
            if along is not None:
                lost = (rounded == 0).all(axis=along) & (exact != 0).any(axis=along)
                self.is_valid[schedules] &= ~lost.reshape(len(schedules), -1).any(axis=-1)
                adjusts = np.repeat(self._adjusts[schedules], len(batch))
                if adjusts.any():
                    total = (exact[adjusts] != 0).any(axis=along, keepdims=True).astype(float)
                    rounded[adjusts] = with_sum(exact[adjusts], along, total, rounding)
            result[places] = rounded
        return result
