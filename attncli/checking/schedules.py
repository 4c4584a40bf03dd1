"""Rounding schedules: the steps and constants that a student rounds on the way, and their digits.

A schedule is a way of working that a person can carry out. All schedules of a list are tried at
once: arrays have one place for each schedule along the axis of the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, combinations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.constants import Constant
from attncli.checking.rounding_rules import CUT, EVEN, UP, RoundingRule
from attncli.records import Record, replace
from attncli.tape.step import Step
from attncli.tape.walk import sources
from attncli.text.sentences import all_of

PARTS = (
    ("Q", "K", "V"),
    ("h",),
    ("hidden",),
    ("scores",),
    ("scaled",),
    ("capped", "biased", "masked"),
    ("exp",),
    ("sum",),
    ("weights",),
    ("context", "c", "concat", "aligned"),
)
"""Steps that people round together, by the first part of their names; all others join the last."""

EVERY = range(len(PARTS))

COMMON_PARTS: tuple[Sequence[int], ...] = (
    *(EVERY, range(4, 10), range(3, 8)),
    *((6, 8), (6, 7), (6, 7, 8), (8, 9)),
    *((index,) for index in EVERY),
)
"""Combinations of `PARTS` that are rounded to other digits than the submission's."""

COMMON_ROUNDINGS = (
    *(RoundingRule(count) for count in range(1, 7)),
    *(RoundingRule(count, is_significant=True) for count in range(2, 7)),
)
"""Roundings that people use in hidden steps."""

BACKWARD_ROUNDINGS = (
    *(RoundingRule(count) for count in range(2, 6)),
    *(RoundingRule(count, is_significant=True) for count in range(3, 5)),
)
"""Roundings that people use in gradients; all hidden steps are rounded alike."""

INPUT_DECIMALS = 4
"""Maximum number of decimals of an input that is used as it is; 1/3 may be rounded."""

MAX_SINGLE = 16
"""Maximum number of hidden steps of which each is tried as the only one that is rounded."""


class Schedule(Record, eq=False):
    """One way to round on the way.

    Attributes:
        names: the steps and inputs that are rounded.
        rounding: how they are rounded; None where only a constant is.
        constant: the constant that is rounded, if one is.
        adjusts: True if the largest weight of each line is adjusted so that they sum to 1.
    """

    names: frozenset[str] = frozenset()
    rounding: RoundingRule | None = None
    constant: Constant | None = None
    adjusts: bool = False

    def words(self, order: Sequence[str]) -> str:
        """Return the words of a report; `order` holds the names of all steps in their order."""
        said = [self.constant.words] if self.constant else []
        if self.rounding is not None and self.names:
            names = sorted(self.names, key=lambda n: order.index(n) if n in order else -1)
            what = all_of(names) if len(names) <= 3 else "the steps that are not shown"
            said.append(f"{what} {self.rounding}")
        if self.adjusts:
            said.append("the largest weight adjusted so that they sum to 1")
        return ", and ".join(said) or "every digit kept"


class Schedules(Record, eq=False):
    """Schedules that are tried at once; usual ones need no evidence beside the numbers."""

    each: tuple[Schedule, ...]
    is_usual: bool = False

    @cached_property
    def by_step(self) -> dict[str, dict[RoundingRule, Array]]:
        """The roundings of each step, and the schedules that round it so."""
        found: dict[str, dict[RoundingRule, Array]] = {}
        for index, schedule in enumerate(self.each):
            if schedule.rounding is not None:
                for name in schedule.names:
                    none = np.zeros(len(self.each), bool)
                    found.setdefault(name, {}).setdefault(schedule.rounding, none)[index] = True
        return found

    @cached_property
    def to_even(self) -> Schedules:
        """The schedules that round halves up, with halves rounded to even instead."""
        up = (one for one in self.each if one.rounding is not None and one.rounding.mode == UP)
        even = (replace(one, rounding=one.rounding and one.rounding.of_mode(EVEN)) for one in up)
        return Schedules(tuple(even), self.is_usual)

    def chunks(self, size: int) -> Iterator[Schedules]:
        if len(self.each) <= size:
            yield self
            return
        for start in range(0, len(self.each), size):
            yield Schedules(self.each[start : start + size], self.is_usual)


def schedules_of(
    names: Sequence[str],
    own: Sequence[RoundingRule],
    constants: Sequence[Constant],
    shares: Sequence[str],
    every: Sequence[str],
    is_backward: bool,
) -> list[Schedules]:
    """Return the schedules to be tried, the likelier first.

    Args:
        names: the hidden steps, and inputs with many digits.
        own: the roundings of the submission, each half up.
        constants: the constants that may be rounded.
        shares: the hidden steps whose lines sum to 1.
        every: the names of all steps that are worked, and of the one that is to be explained.
        is_backward: True for a step of the backward pass, whose steps are all rounded alike.
    """

    def adjusted(schedules: Iterable[Schedule]) -> list[Schedule]:
        return [replace(one, adjusts=True) for one in schedules if one.names & {*shares}]

    finer = (one for rounding in own for one in (rounding.finer, rounding.finer.finer))
    likely = [Schedule(frozenset(every), one) for one in finer]
    likely += [Schedule(constant=constant) for constant in constants]
    usual: list[Schedule] = []
    common: list[Schedule] = []
    if names:
        by_own = list(_own_schedules(names, own, is_backward))
        usual = [one for one in by_own if one.names == frozenset(names)]
        likely += [one for one in by_own if one not in usual]
        common = list(_common_schedules(names, own, is_backward))
        whole = [*usual, *(one for one in common if one.names == frozenset(names))]
        likely += adjusted((*usual, *likely))
        common += adjusted(common)
        common += [replace(one, constant=constant) for one in whole for constant in constants]
    lists = (usual, True), (likely, False), (common, False)
    return [Schedules(tuple(part), is_usual) for part, is_usual in lists if part]


def _own_schedules(
    names: Sequence[str], roundings: Iterable[RoundingRule], is_backward: bool
) -> Iterator[Schedule]:
    """Yield the schedules that round to the digits of the submission."""
    parts = [frozenset(names)] if is_backward else list(_parts(names).values())
    ways = [rounding.of_mode(mode) for rounding in roundings for mode in (UP, CUT)]
    for count in (len(parts), *range(1, len(parts))):
        for chosen in combinations(parts, count):
            together = frozenset(chain.from_iterable(chosen))
            yield from (Schedule(together, rounding) for rounding in ways)


def _common_schedules(
    names: Sequence[str], own: Sequence[RoundingRule], is_backward: bool
) -> Iterator[Schedule]:
    """Yield the schedules that round to other digits."""
    parts = _parts(names)
    chosen: dict[frozenset[str], None] = {}
    for wanted in (EVERY,) if is_backward else COMMON_PARTS:
        found = frozenset(chain.from_iterable(parts.get(index, ()) for index in wanted))
        if found:
            chosen[found] = None
    if len(names) <= MAX_SINGLE:
        chosen.update({frozenset((name,)): None for name in names})
    roundings = BACKWARD_ROUNDINGS if is_backward else COMMON_ROUNDINGS
    for together in chosen:
        for rounding in roundings:
            if rounding not in own:
                yield Schedule(together, rounding)
                yield Schedule(together, rounding.of_mode(CUT))


def _parts(names: Iterable[str]) -> dict[int, frozenset[str]]:
    """Return the names that are rounded together, by their index in `PARTS`."""
    found: dict[int, set[str]] = {}
    for name in names:
        stem = name.rpartition(".")[2].partition("_")[0]
        index = next((i for i, stems in enumerate(PARTS) if stem in stems), len(PARTS) - 1)
        found.setdefault(index, set()).add(name)
    return {index: frozenset(part) for index, part in sorted(found.items())}


def long_inputs(steps: Iterable[Step]) -> list[str]:
    """Return the names of inputs that hold numbers such as 1/3, which nobody writes out.

    Parameters of score functions of pairs are left out: they have no axis for schedules.
    """
    found = {}
    for step in steps:
        inputs = [source for source in sources(step) if source.operation is None]
        of_pairs = any(one.array.ndim > 4 for one in (step, *sources(step)))
        for source in inputs if not of_pairs else ():
            numbers = source.array[np.isfinite(source.array)]
            if (np.abs(numbers - np.round(numbers, INPUT_DECIMALS)) > 1e-9).any():
                found[source.name] = True
    return list(found)
