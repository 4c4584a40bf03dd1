"""Rounding schedules: which steps and constants somebody rounds on the way, and to how many digits.

A schedule is a way of working that a person can carry out. All schedules of a list are tried at
once: arrays have one place per schedule along the axis of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, combinations
from math import floor, log, log10
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval
from attncli.attention.normalizers import Exp, Sum
from attncli.checking.ranged import axis_of_shares
from attncli.checking.rounding import CUT, EVEN, UP, Rounding, with_sum
from attncli.notation.text import text
from attncli.records import Record, replace
from attncli.tape.operations import Scale
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Operation, Step
from attncli.tape.walk import evaluate, everywhere, walk
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
"""Steps that people round together, by the beginnings of their names; others are with the last."""

EVERY = range(len(PARTS))

COMMON_PARTS: tuple[Sequence[int], ...] = (
    *(EVERY, range(4, 10), range(3, 8)),
    *((6, 8), (6, 7), (6, 7, 8), (8, 9)),
    *((index,) for index in EVERY),
)
"""Combinations of `PARTS` that are rounded to other digits than those of the submission."""

COMMON_ROUNDINGS = (
    *(Rounding(count) for count in range(1, 7)),
    *(Rounding(count, is_significant=True) for count in range(2, 7)),
)
"""Digits to which people round what they do not show."""

BACKWARD_ROUNDINGS = (
    *(Rounding(count) for count in range(2, 6)),
    *(Rounding(count, is_significant=True) for count in range(3, 5)),
)
"""The same for gradients, of which all steps that are not shown are rounded alike."""

CONSTANT_DECIMALS = (1, 2, 3, 4)
"""Decimals to which constants are rounded."""

FEWEST_DIGITS = 2
"""Minimum number of significant digits of a rounded constant: nobody takes √3 as 2."""

INPUT_DECIMALS = 4
"""An input with more decimals, such as 1/3, may be rounded where it is used."""


MAX_SINGLE = 16
"""Maximum number of hidden steps of which each is tried as the only one that is rounded."""


class Constant(Record, eq=False):
    """A constant of the calculation, taken as another number.

    Attributes:
        words: what a report says: `√3 taken as 1.73`.
        factors: what the operand of each operation that holds it is multiplied by instead, by the
            step's name.
    """

    words: str
    factors: Mapping[str, float]


class Schedule(Record, eq=False):
    """One way to round on the way.

    Attributes:
        names: the steps and inputs that are rounded.
        rounding: how they are rounded; None where only a constant is.
        constant: the constant that is rounded, if one is.
        adjusts: True if the largest of each line of weights takes what the sum is short of 1.
    """

    names: frozenset[str] = frozenset()
    rounding: Rounding | None = None
    constant: Constant | None = None
    adjusts: bool = False

    @property
    def cuts(self) -> bool:
        """True if whoever works so cuts numbers off."""
        return self.rounding is not None and self.rounding.mode == CUT

    def words(self, order: Sequence[str]) -> str:
        """Return what a report says of it; `order` is the names of all steps in their order."""
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
    def by_step(self) -> dict[str, dict[Rounding, Array]]:
        """How each step is rounded, and the places of the schedules that do so."""
        found: dict[str, dict[Rounding, list[int]]] = {}
        for index, schedule in enumerate(self.each):
            if schedule.rounding is not None:
                for name in schedule.names:
                    found.setdefault(name, {}).setdefault(schedule.rounding, []).append(index)
        return {
            name: {rounding: np.array(places) for rounding, places in by.items()}
            for name, by in found.items()
        }

    @cached_property
    def cuts(self) -> Array:
        """Which of the schedules cut numbers off."""
        return np.array([one.cuts for one in self.each])

    @cached_property
    def keep(self) -> Array:
        """Which of the schedules keep every digit, so that they tell nothing of cutting off."""
        return np.array([one.rounding is None for one in self.each])

    @cached_property
    def to_even(self) -> Schedules:
        """The schedules that round halves, which they round to even instead."""
        up = (one for one in self.each if one.rounding is not None and one.rounding.mode == UP)
        even = (replace(one, rounding=one.rounding and one.rounding.of_mode(EVEN)) for one in up)
        return Schedules(tuple(even), self.is_usual)

    def chunks(self, size: int) -> Iterator[Schedules]:
        """Yield the schedules, at most so many at once."""
        if len(self.each) <= size:
            yield self
            return
        for start in range(0, len(self.each), size):
            yield Schedules(self.each[start : start + size], self.is_usual)


@lru_cache(maxsize=256)  # the submissions of a class show the same steps
def schedules_of(
    names: tuple[str, ...],
    own: tuple[Rounding, ...],
    constants: tuple[Constant, ...],
    shares: tuple[str, ...],
    every: tuple[str, ...],
    is_backward: bool,
) -> tuple[Schedules, ...]:
    """Return the schedules to be tried, those first that are likelier.

    Args:
        names: the hidden steps, and inputs with many digits.
        own: how the submission is rounded, each half up.
        constants: the constants that may be rounded.
        shares: the hidden steps whose lines sum to 1.
        every: the names of all steps that are worked, and of the one that is to be explained.
        is_backward: True for a step of the backward pass, whose parts are not told apart.
    """
    finer = (one for rounding in own for one in (rounding.finer, rounding.finer.finer))
    likely = [Schedule(frozenset(every), one) for one in finer]
    likely += [Schedule(constant=constant) for constant in constants]
    usual: list[Schedule] = []
    common: list[Schedule] = []
    if names:
        by_own = list(own_schedules(names, own, is_backward))
        usual = [one for one in by_own if one.names == frozenset(names)]
        likely += [one for one in by_own if one not in usual]
        common = list(common_schedules(names, own, is_backward))
        whole = [*usual, *(one for one in common if one.names == frozenset(names))]
        likely += with_adjusted_weights((*usual, *likely), shares)
        common += with_adjusted_weights(common, shares)
        common += with_constants(constants, whole)
    lists = (usual, True), (likely, False), (common, False)
    return tuple(Schedules(tuple(part), is_usual) for part, is_usual in lists if part)


def own_schedules(
    names: Sequence[str], roundings: Iterable[Rounding], is_backward: bool
) -> Iterator[Schedule]:
    """Yield the schedules that round to the digits of the submission.

    Args:
        names: the hidden steps, and inputs with many digits.
        roundings: how the submission is rounded, each half up.
        is_backward: True for a step of the backward pass, whose parts are not told apart.
    """
    parts = [frozenset(names)] if is_backward else list(_parts(names).values())
    ways = [rounding.of_mode(mode) for rounding in roundings for mode in (UP, CUT)]
    for count in (len(parts), *range(1, len(parts))):
        for chosen in combinations(parts, count):
            together = frozenset(chain.from_iterable(chosen))
            yield from (Schedule(together, rounding) for rounding in ways)


def common_schedules(
    names: Sequence[str], own: Sequence[Rounding], is_backward: bool
) -> Iterator[Schedule]:
    """Yield the schedules that round to other digits; arguments as for `own_schedules`."""
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
    """Return the names that are rounded together, by the index of the part."""
    found: dict[int, set[str]] = {}
    for name in names:
        stem = name.rpartition(".")[2].partition("_")[0]
        index = next((i for i, stems in enumerate(PARTS) if stem in stems), len(PARTS) - 1)
        found.setdefault(index, set()).add(name)
    return {index: frozenset(part) for index, part in sorted(found.items())}


def with_constants(
    constants: Sequence[Constant], schedules: Iterable[Schedule]
) -> Iterator[Schedule]:
    """Yield schedules each with every constant rounded, too."""
    for schedule in schedules:
        for constant in constants:
            yield replace(schedule, constant=constant)


def with_adjusted_weights(schedules: Iterable[Schedule], shares: Iterable[str]) -> list[Schedule]:
    """Return the schedules that round weights, with the weights made to sum to 1.

    Args:
        schedules: those to choose from.
        shares: the names of the steps whose lines sum to 1.
    """
    wanted = frozenset(shares)
    return [replace(one, adjusts=True) for one in schedules if one.names & wanted]


def results(
    schedules: Schedules,
    step: Step,
    hidden: Sequence[Step],
    value_of: Callable[[Step], Array],
    complete: Callable[[Step, Array], Array],
) -> tuple[Array, Array, bool]:
    """Return what a step becomes by each schedule, and which schedules can be carried out.

    Args:
        schedules: the schedules.
        step: the step.
        hidden: the steps that are worked on the way to it, in the order of computation.
        value_of: gives the numbers of an input, or of a step that is not worked.
        complete: puts the cells that are shown into a worked step.

    Returns:
        Numbers, (schedules, …) with the shape of the step; truth values, (schedules,). Nobody
        divides by a sum, or goes on from a line of weights, that was rounded to nothing but zeros.
        Then True if a half was rounded up, which others round to even.
    """
    count = len(schedules.each)
    batch = step.array.shape[0]
    valid = np.ones(count, bool)
    has_ties: list[bool] = []
    values: dict[str, Array] = {}
    changed = _with_factors(schedules.each, (*hidden, step), batch)

    def settled(name: str, made: Array, shares: int | None) -> Array:
        by_rounding = schedules.by_step.get(name, {})
        made = np.array(_spread(made, count, batch)) if by_rounding else made
        for rounding, places in by_rounding.items():
            at = _at(places, batch)
            has_ties.append(rounding.mode == UP and bool(rounding.ties(made[at]).any()))
            part = rounding(made[at])
            if shares is not None:
                lost = (part == 0).all(axis=shares) & (made[at] != 0).any(axis=shares)
                valid[places] &= ~lost.reshape(len(places), -1).any(axis=-1)
                adjusts = [i for i, place in enumerate(places) if schedules.each[place].adjusts]
                if adjusts:
                    own = _at(np.array(adjusts), batch)
                    total = np.round(made[at][own].sum(axis=shares, keepdims=True), 6)
                    part[own] = with_sum(part[own], shares, total, rounding)
            made[at] = part
        return made

    def value(source: Step) -> Array:
        if source.name not in values:
            known = value_of(source)
            known = known if len(known) == 1 else _spread(known, count, batch)
            values[source.name] = settled(source.name, known, None)
        return values[source.name]

    with np.errstate(all="ignore"):
        for source in hidden:
            made = evaluate(changed.get(source.name) or source.operation or source, value)
            shown = complete(source, settled(source.name, made, axis_of_shares(source)))
            values[source.name] = shown
            if isinstance(source.operation, Sum):
                sums, right = (_spread(one, count, batch) for one in (shown, source.array))
                valid &= ~((sums == 0) & (right != 0)).reshape(count, -1).any(axis=-1)
        found = evaluate(changed.get(step.name) or step.operation or step, value)
        found = settled(step.name, found, None)
    found = np.broadcast_to(found, (found.shape[0], *step.array.shape[1:]))
    found = _spread(found, count, batch).reshape(count, *step.array.shape)
    return found, valid, any(has_ties)


def _at(places: Array, batch: int) -> Array:
    """Return the indices along the axis of the batch that belong to some schedules."""
    found: Array = (places[:, None] * batch + np.arange(batch)).ravel()
    return found


def _spread(array: Array, count: int, batch: int) -> Array:
    """Return an array with a place per schedule and batch along its first axis."""
    if array.shape[0] == count * batch and count > 1:
        return array
    if batch == 1:
        return np.broadcast_to(array, (count, *array.shape[1:]))
    wide = np.broadcast_to(array, (batch, *array.shape[1:]))
    return np.tile(wide, (count, *[1] * (array.ndim - 1)))


# ---- constants


class Multiplied(Operation):
    """An operand times a factor per schedule."""

    operand: Expression
    factors: Any
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """The factors have a place per schedule along the axis of the batch."""
        extra = arrays[0].ndim - self.factors.ndim
        product: Array = arrays[0] * self.factors.reshape(*self.factors.shape, *[1] * extra)
        return product


def _with_factors(
    schedules: Sequence[Schedule], steps: Iterable[Step], batch: int
) -> dict[str, Expression]:
    """Return the operations in which a constant is another one in some of the schedules."""
    named = {name for one in schedules if one.constant for name in one.constant.factors}
    found: dict[str, Expression] = {}
    for step in steps:
        node = _holder(step) if step.name in named else None
        if node is None:
            continue
        own = _factor(node)
        factors = [
            one.constant.factors.get(step.name, own) if one.constant else own for one in schedules
        ]
        along = np.repeat(np.array(factors), batch).reshape(-1, 1, 1, 1)
        found[step.name] = _with_factor(step, node, along)
    return found


def with_any_constant(constants: Iterable[Constant], steps: Iterable[Step]) -> Change:
    """Return operations on intervals that hold every number that a constant may be taken as."""
    by_name: dict[str, list[float]] = {}
    for constant in constants:
        for name, factor in constant.factors.items():
            by_name.setdefault(name, []).append(factor)
    found: dict[str, Expression] = {}
    for step in steps:
        if node := _holder(step) if step.name in by_name else None:
            every = np.array([*by_name[step.name], _factor(node)]).reshape(-1, 1)
            along = Interval(every.min(axis=0), every.max(axis=0))
            found[step.name] = _with_factor(step, node, along)
    return found


def _with_factor(step: Step, node: Scale | Exp, factor: Array | Interval) -> Expression:
    """Return a step's operation in which a constant makes another factor."""
    other: Expression = Multiplied(node.operand, factor)
    if isinstance(node, Exp):
        other = replace(node, operand=other, base=np.e, temperature=1.0)
    assert step.operation is not None  # as it holds the node
    return everywhere(step.operation, node, other)


def _holder(step: Step) -> Scale | Exp | None:
    """Return the operation of a step that holds a constant, if one does."""
    nodes = walk(step.operation) if step.operation is not None else ()
    return next((node for node in nodes if isinstance(node, Scale | Exp)), None)


def _factor(node: Scale | Exp) -> float:
    """Return what the operand of an operation is multiplied by."""
    if isinstance(node, Scale):
        return float(node.times) / float(node.over)
    return log(node.base) / float(node.temperature)


@lru_cache(maxsize=64)  # the submissions of a class show the same steps
def constants_of(steps: tuple[Step, ...]) -> tuple[Constant, ...]:
    """Return the constants of steps as they may be rounded, those with more digits first."""
    found: dict[str, dict[str, float]] = {}
    for step in steps:
        node = _holder(step)
        for words, factor in _rounded_constants(node) if node is not None else ():
            found.setdefault(words, {})[step.name] = factor
    return tuple(Constant(words, factors) for words, factors in found.items())


def _rounded_constants(node: Scale | Exp) -> Iterator[tuple[str, float]]:
    """Yield what is said of a rounded constant, and the factor that it makes."""
    if isinstance(node, Exp):
        if node.base == np.e:
            for value in rounded_values(np.e):
                yield f"e taken as {value:g}", log(value) / node.temperature
        for value in rounded_values(node.temperature):
            yield f"the temperature taken as {value:g}", log(node.base) / value
        return
    own = node.over if node.times == 1 else node.times / node.over
    is_divisor = node.times == 1
    name = _name(own) if is_divisor or node.symbol is None else text(node.symbol)
    for value in rounded_values(own):
        yield f"{name} taken as {value:g}", 1 / value if is_divisor else value
    for value in rounded_values(1 / own) if is_divisor else ():
        yield f"1/{name} taken as {value:g}", value


def _name(value: float) -> str:
    """Return what a constant is called: √3, or its digits."""
    square = value * value
    is_root = abs(square - round(square)) < 1e-9 * square
    return f"√{round(square)}" if is_root else f"{value:.6g}"


def rounded_values(value: float) -> list[float]:
    """Return a constant rounded and cut off to a few decimals, where that changes it."""
    found: dict[float, None] = {}
    for decimals in CONSTANT_DECIMALS[::-1]:
        digits = decimals + (floor(log10(abs(value))) + 1 if value else 0)
        for mode in (UP, CUT):
            short = round(float(Rounding(decimals, mode=mode)(np.asarray(value))), decimals)
            if digits >= FEWEST_DIGITS and abs(short - value) > 1e-9:
                found[short] = None
    return list(found)


def long_inputs(steps: Iterable[Step]) -> list[str]:
    """Return the names of inputs that hold numbers such as 1/3, which nobody writes out."""
    found = {}
    for step in steps:
        for node in walk(step.operation) if step.operation is not None else ():
            if isinstance(node, Step) and node.operation is None:
                numbers = node.array[np.isfinite(node.array)]
                if (np.abs(numbers - np.round(numbers, INPUT_DECIMALS)) > 1e-9).any():
                    found[node.name] = True
    return list(found)
