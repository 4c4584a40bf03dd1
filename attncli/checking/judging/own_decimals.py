"""Trials of people who give each step its own number of decimals, or go on from some written ones.

Few of the many combinations differ: numbers of one decimal hardly show how those before them were
rounded. So all are worked together, step by step, and those that are alike from there on are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from attncli.checking.judging.agreement import PLAUSIBLE_UNITS, RoundingRule, roundings_of
from attncli.checking.judging.operands import Operands
from attncli.core.arithmetic.elements import Array
from attncli.core.tape.evaluation import evaluate
from attncli.core.tape.step import Step
from attncli.core.text.strings import all_of

OWN_DECIMALS = tuple(map(RoundingRule, range(1, 5)))
"""Roundings of a step that is not shown, by people who give each step its own decimals. Chosen."""

MAX_WORKED = 6_000_000
"""Maximum number of cells that are calculated for one step. It bounds time (to 1 s). Chosen."""

MAX_SCHEDULES = 4**12
"""Maximum number of combinations, before those that are alike are merged. Measured with honest
submissions of benchmarks.surveys: of more, too many remain."""

AS_WRITTEN = "used as written"
UNROUNDED = "used before rounding"

Use: TypeAlias = RoundingRule | str
"""How a student goes on from a step: rounded, `AS_WRITTEN` or `UNROUNDED`."""

Uses: TypeAlias = Callable[[Operands, Step], Sequence[Use]]


def hidden_rounded(operands: Operands, step: Step) -> Sequence[Use]:
    if operands.is_whole(step):
        return [AS_WRITTEN]
    return [rule] if (rule := rule_of(operands, step)) else OWN_DECIMALS


def some_written(operands: Operands, step: Step) -> Sequence[Use]:
    return [AS_WRITTEN, UNROUNDED] if operands.is_whole(step) else [UNROUNDED]


def rule_of(operands: Operands, step: Step) -> RoundingRule | None:
    """Return the rounding of a shown step that has decimals."""
    shown = operands.shown(step)
    rules = roundings_of(shown.written.texts.ravel().tolist()) if shown else ()
    decimals = [one.count for one in rules if not one.is_significant]
    return RoundingRule(max(decimals)) if decimals else None


def combined(operands: Operands, step: Step) -> Iterator[OwnDecimals]:
    """Yield what a step may become, where there are several combinations, and not too many."""
    for uses in (hidden_rounded, some_written):

        def make(uses: Uses = uses) -> OwnDecimals | None:
            try:
                return OwnDecimals(operands, step, uses)
            except OverflowError:
                return None

        # Those of one student take much memory, and are tried once.
        is_first = operands.is_first(step)
        found = operands.kept(("own", uses.__name__), step, make) if is_first else make()
        if found is not None:
            yield found


class OwnDecimals:
    """The results of all combinations for a step, along the axis of the batch."""

    is_ordered = False
    plausible = PLAUSIBLE_UNITS

    def __init__(self, operands: Operands, step: Step, uses: Uses) -> None:
        """Work the step.

        Raises:
            OverflowError: if there are too many combinations, or none but the usual one.
        """
        self._operands, self._step, self._uses = operands, step, uses
        self._numbers: dict[str, Array] = {}  # of the steps that are used later
        self._tried: dict[str, Sequence[Use]] = {}  # by the stem of the steps
        self._chosen: dict[str, Array] = {}  # the place of that in each combination
        self._varied: list[Step] = []  # the steps of which it is open how they are used
        self._size = 0  # of all numbers that were worked
        order = self._order()
        count = prod({one.stem: len(uses(operands, one)) for one in order}.values())
        if not 1 < count <= MAX_SCHEDULES:
            raise OverflowError
        for place, source in enumerate(order):
            self._work(source)
            self._merge([*order[place + 1 :], step])
        numbers = self._worked(step)
        self.numbers = np.broadcast_to(numbers, (self.count, *step.array.shape[1:]))[:, None]
        self.is_valid, self.cuts = np.ones(self.count, bool), np.zeros(self.count, bool)

    @property
    def count(self) -> int:
        return max(map(len, self._chosen.values()), default=1)

    def words(self, index: int) -> str:
        """Return the words of a report: what was done with the steps, and which."""
        names: dict[str, list[str]] = {}
        for step in self._varied:
            use = self._tried[step.stem][self._chosen[step.stem][index]]
            if isinstance(use, str) or not use.keeps(step.array):
                names.setdefault(str(use), []).append(step.name)
        said = [f"{all_of(several)} {use}" for use, several in sorted(names.items())]
        return ", ".join(said)

    def _order(self) -> list[Step]:
        """Return the steps before, each where it is used first."""
        order: dict[str, Step] = {}
        todo = [self._step]
        while todo:
            last = todo[-1]
            is_known = last is not self._step and self._uses(self._operands, last) == [AS_WRITTEN]
            sources = () if is_known else self._operands.reference.sources(last)
            rest = (one for one in sources if one.operation and one.name not in order)
            if (first := next(rest, None)) is not None:
                todo.append(first)
            else:
                order[last.name] = todo.pop()
        return [*order.values()][:-1]

    def _worked(self, step: Step) -> Array:
        assert step.operation is not None  # as inputs are no steps before
        numbers: Array = evaluate(
            step.operation, lambda one: self._numbers[one.name] if one.operation else one.array
        )
        return numbers

    def _work(self, step: Step) -> None:
        uses, count = self._uses(self._operands, step), self.count
        if uses == [AS_WRITTEN]:
            self._numbers[step.name] = self._operands.written(step)
            return
        worked = self._worked(step)
        shape = count, *worked.shape[1:]
        self._size += len(uses) * count * worked[0].size
        if self._size > MAX_WORKED:
            raise OverflowError
        every = [np.broadcast_to(self._used(step, worked, use), shape) for use in uses]
        if len(uses) == 1:
            self._numbers[step.name] = every[0]
            return
        self._varied.append(step)
        if (chosen := self._chosen.get(step.stem)) is not None:  # of another layer, or time
            self._numbers[step.name] = np.array(every)[chosen, np.arange(count)]
        else:
            self._tried[step.stem] = uses
            self._keep(np.tile(np.arange(count), len(uses)))
            self._chosen[step.stem] = np.repeat(np.arange(len(uses)), count)
            self._numbers[step.name] = np.concatenate(every)

    def _used(self, step: Step, worked: Array, use: Use) -> Array:
        if use == AS_WRITTEN:
            return self._operands.written(step)
        numbers = use(worked) if isinstance(use, RoundingRule) else worked
        completed: Array = self._operands.completed(step, numbers, is_kept=True)
        return completed

    def _keep(self, places: Array) -> None:
        """Keep the combinations at some places."""
        count = self.count
        self._chosen = {stem: chosen[places] for stem, chosen in self._chosen.items()}
        for name, numbers in self._numbers.items():
            self._numbers[name] = numbers[places] if len(numbers) == count else numbers

    def _merge(self, later: Sequence[Step]) -> None:
        """Keep one of the combinations that are alike in all that is used later."""
        used = {one.name for step in later for one in self._operands.reference.sources(step)}
        self._numbers = {name: one for name, one in self._numbers.items() if name in used}
        stems = {step.stem for step in later}
        if (count := self.count) == 1:
            return
        columns = [one.reshape(count, -1) for one in self._numbers.values() if len(one) == count]
        columns += [one[:, None] for stem, one in self._chosen.items() if stem in stems]
        # A sum that is the same for two combinations only if all their cells are; a mask's −∞ is.
        sums, seen = np.zeros(count), 0
        for cells in columns:
            places = np.arange(seen, seen := seen + cells.shape[1])
            sums += (np.where(np.isfinite(cells), cells, 0.0) * np.cos(places)).sum(axis=1)
        self._keep(np.sort(np.unique(sums, return_index=True)[1]))
