"""Rounding schedules: the steps and constants that a student rounds on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, combinations
from math import floor, log, log10
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.judging.agreement import CUT, EVEN, UP, RoundingRule
from attncli.checking.judging.operands import Operands, axis_of_shares
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.softmax import Exp
from attncli.core.formulas.text import text
from attncli.core.records import Record, replace
from attncli.core.tape.backward_operations import Pointwise
from attncli.core.tape.evaluation import Change, everywhere, sources, walk
from attncli.core.tape.operations import Scale
from attncli.core.tape.step import Expression, Step
from attncli.core.text.strings import all_of

CONSTANT_DECIMALS = (1, 2, 3, 4)
"""Decimals to which constants are rounded."""

MIN_DIGITS = 2
"""Minimum number of significant digits of a rounded constant: √3 is not taken as 2. Chosen."""


RoundingRules: TypeAlias = Sequence[RoundingRule]


class RoundedConstant(Record, eq=False):
    """A constant of the calculation, taken as another number."""

    words: str  # of a report: `√3 taken as 1.73`
    factors: Mapping[str, float]  # multiplies the operand instead, by the name of the step


def constants_of(steps: Iterable[Step]) -> tuple[RoundedConstant, ...]:
    by_words: dict[str, dict[str, float]] = {}
    for step in steps:
        node = _holder(step)
        for words, factor in _rounded(node) if node is not None else ():
            by_words.setdefault(words, {})[step.name] = factor
    return tuple(RoundedConstant(words, factors) for words, factors in by_words.items())


def _rounded(node: Scale | Exp) -> Iterator[tuple[str, float]]:
    if isinstance(node, Exp):
        if node.base == np.e:
            for value in rounded_values(np.e):
                yield f"e taken as {value:g}", log(value) / node.temperature
        for value in rounded_values(node.temperature):
            yield f"the temperature taken as {value:g}", log(node.base) / value
        return
    number = node.over if node.times == 1 else node.times / node.over
    is_divisor = node.times == 1
    name = _name(number) if is_divisor or node.symbol is None else text(node.symbol)
    for value in rounded_values(number):
        yield f"{name} taken as {value:g}", 1 / value if is_divisor else value
    for value in rounded_values(1 / number) if is_divisor else ():
        yield f"1/{name} taken as {value:g}", value


def _name(value: float) -> str:
    square = value * value
    is_root = abs(square - round(square)) < 1e-9 * square
    return f"√{round(square)}" if is_root else f"{value:.6g}"


def rounded_values(value: float) -> list[float]:
    values: dict[float, None] = {}
    for decimals in CONSTANT_DECIMALS[::-1]:
        digits = decimals + (floor(log10(abs(value))) + 1 if value else 0)
        for mode in (UP, CUT):
            short = round(float(RoundingRule(decimals, mode=mode)(np.asarray(value))), decimals)
            if digits >= MIN_DIGITS and abs(short - value) > 1e-9:
                values[short] = None
    return list(values)


class Multiplied(Pointwise):
    """An operand times factors: one factor for each schedule, along the axis of the batch."""

    factors: Any

    def apply(self, *arrays: Any) -> Any:
        extra = arrays[0].ndim - self.factors.ndim
        return arrays[0] * self.factors.reshape(*self.factors.shape, *[1] * extra)


def with_constants(
    constants: Iterable[RoundedConstant | None],
    steps: Iterable[Step],
    as_factor: Callable[[Array], Any],
) -> Change:
    """Return the operations in which constants are others; None for all exact ones."""
    every = list(constants)
    named = {name for one in every if one for name in one.factors}
    change: dict[str, Expression] = {}
    for step in steps:
        node = _holder(step) if step.name in named else None
        if node is not None:
            factor = _factor(node)
            factors = [one.factors.get(step.name, factor) if one else factor for one in every]
            other: Expression = Multiplied(node.operand, as_factor(np.array(factors)))
            if isinstance(node, Exp):
                other = replace(node, operand=other, base=np.e, temperature=1.0)
            assert step.operation is not None  # as it holds the node
            change[step.name] = everywhere(step.operation, {node: other})
    return change


def _holder(step: Step) -> Scale | Exp | None:
    nodes = walk(step.operation) if step.operation is not None else ()
    return next((node for node in nodes if isinstance(node, Scale | Exp)), None)


def _factor(node: Scale | Exp) -> float:
    if isinstance(node, Scale):
        return float(node.times) / float(node.over)
    return log(node.base) / float(node.temperature)


STEP_GROUPS = (
    "Q K V frequencies angles",
    "h cos sin",
    "hidden",
    "scores",
    "scaled",
    "capped biased masked",
    "exp",
    "sum",
    "weights",
    "context c concat aligned",
)
"""Steps that people round together, by the first part of their names; all others join the last."""

EVERY = range(len(STEP_GROUPS))

COMMON_GROUPS: tuple[Sequence[int], ...] = (
    *(range(4, 10), range(3, 8)),
    *((6, 8), (6, 7), (6, 7, 8), (8, 9)),
    *((index,) for index in EVERY),
)
"""Combinations of `STEP_GROUPS` that are rounded to other digits than the submission's."""

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
    """One way to round on the way."""

    names: frozenset[str] = frozenset()  # the steps and inputs that are rounded
    rounding: RoundingRule | None = None
    constant: RoundedConstant | None = None
    adjusts: bool = False  # True if the largest weight of a line is, so that they sum to 1

    @property
    def cuts(self) -> bool:
        return self.rounding is not None and self.rounding.mode == CUT

    def words(self, steps: Iterable[Step]) -> str:
        """Return the words of a report, with the names of steps, in their order, that it changes.

        Without a rounding, it explains adjusted weights, not those with every digit.
        """
        said = [self.constant.words] if self.constant else []
        if (rounding := self.rounding) is not None and self.names:
            order = {step.name: step.array for step in steps}
            changed = [n for n in order if n in self.names and not rounding.keeps(order[n])]
            names = [*sorted(self.names - order.keys()), *changed] or ["numbers"]
            what = all_of(names) if len(names) <= 3 else "the steps that are not shown"
            said.append(f"{what} {rounding.mode if names == ['numbers'] else rounding}")
        if self.adjusts:
            said.append("the largest weight adjusted so that they sum to 1")
        elif not said:
            said.append("one weight of a row adjusted so that it sums to 1")
        return ", and ".join(said)


class Schedules(Record, eq=False):
    """Schedules that are tried at once; usual ones need no evidence beside the numbers."""

    each: tuple[Schedule, ...]
    is_usual: bool = False

    @cached_property
    def by_step(self) -> dict[str, list[tuple[RoundingRule, Array]]]:
        """The rules by which a step or an input is rounded, with the indices of their schedules."""
        by_rounding: dict[RoundingRule, list[int]] = {}
        for index, schedule in enumerate(self.each):
            if schedule.rounding is not None:
                by_rounding.setdefault(schedule.rounding, []).append(index)
        rules: dict[str, list[tuple[RoundingRule, Array]]] = {}
        for rounding, indices in by_rounding.items():
            by_name: dict[str, list[int]] = {}
            for index in indices:
                for name in self.each[index].names:
                    by_name.setdefault(name, []).append(index)
            for name, places in by_name.items():
                rules.setdefault(name, []).append((rounding, np.array(places)))
        return rules

    @cached_property
    def to_even(self) -> Schedules:
        up = (one for one in self.each if one.rounding is not None and one.rounding.mode == UP)
        even = (replace(one, rounding=one.rounding and one.rounding.of_mode(EVEN)) for one in up)
        return Schedules(tuple(even), self.is_usual)

    def chunks(self, size: int) -> Iterator[Schedules]:
        if len(self.each) <= size:
            yield self
            return
        for start in range(0, len(self.each), size):
            yield Schedules(self.each[start : start + size], self.is_usual)


EXACT = Schedules((Schedule(),))
"""The schedule that keeps every digit."""


def schedules_for(operands: Operands, step: Step, worked: Sequence[Step]) -> list[Schedules]:
    """Return the schedules for steps that are worked on the way to one, the likelier first."""
    hidden = [one.name for one in worked if not operands.is_whole(one)]
    make = partial(_schedules, hidden, operands.roundings, (*worked, step))
    # The submissions of a class show the same steps.
    every = (*(one.name for one in worked), step.name)
    return operands.reference.kept(("schedules", every, *hidden, operands.roundings), make)


def _schedules(
    hidden: Sequence[str], shown: RoundingRules, every: Sequence[Step]
) -> list[Schedules]:
    *worked, step = every
    names = (*long_inputs((step, *worked)), *hidden)
    constants = constants_of(every)
    parts_of_1 = [one.name for one in every if axis_of_shares(one) is not None]
    shares = {name for name in parts_of_1 if name in hidden}

    def adjusted(schedules: Iterable[Schedule]) -> list[Schedule]:
        return [replace(one, adjusts=True) for one in schedules if one.names & shares]

    finer = [one for rounding in shown for one in (rounding.finer, rounding.finer.finer)]
    ways = [one.of_mode(mode) for mode in (UP, CUT) for one in finer]
    likely = [Schedule(frozenset(one.name for one in every), rounding) for rounding in ways]
    likely += [Schedule(constant=constant) for constant in constants]
    usual, common = list[Schedule](), list[Schedule]()
    if names:
        by_own = list(_own_schedules(names, shown, step.backward))
        wholes = _wholes(names)
        usual = [one for one in by_own if one.names in wholes]
        likely += [one for one in by_own if one not in usual]
        common = list(_common_schedules(names, shown, step.backward))
        whole = [*usual, *(one for one in common if one.names in wholes)]
        likely += adjusted((*usual, *likely))
        common += adjusted(common)
        common += [replace(one, constant=constant) for one in whole for constant in constants]
    lists = (usual, True), (likely, False), (common, False)
    tried = [Schedules(tuple(part), is_usual) for part, is_usual in lists if part]
    return [EXACT, *tried] if step.name in parts_of_1 else tried


def _own_schedules(
    names: Sequence[str], shown: RoundingRules, is_backward: bool
) -> Iterator[Schedule]:
    parts = () if is_backward else list(_parts(names).values())
    ways = [rounding.of_mode(mode) for rounding in shown for mode in (UP, CUT)]
    some = chain.from_iterable(combinations(parts, count) for count in range(1, len(parts)))
    for together in (*_wholes(names), *(frozenset().union(*chosen) for chosen in some)):
        yield from (Schedule(together, rounding) for rounding in ways)


def _common_schedules(
    names: Sequence[str], shown: RoundingRules, is_backward: bool
) -> Iterator[Schedule]:
    parts = _parts(names)
    chosen: dict[frozenset[str], None] = dict.fromkeys(_wholes(names))
    for wanted in () if is_backward else COMMON_GROUPS:
        group = frozenset(chain.from_iterable(parts.get(index, ()) for index in wanted))
        if group:
            chosen[group] = None
    if len(names) <= MAX_SINGLE:
        chosen.update({frozenset((name,)): None for name in names})
    roundings = BACKWARD_ROUNDINGS if is_backward else COMMON_ROUNDINGS
    others = [rounding for rounding in roundings if rounding not in shown]
    ways = [rounding.of_mode(mode) for rounding in others for mode in (UP, CUT)]
    for together in chosen:
        yield from (Schedule(together, rounding) for rounding in ways)


def _wholes(names: Sequence[str]) -> list[frozenset[str]]:
    """Return all names; and those without X, which a block copies from a table."""
    calculated = (name for name in names if name.rpartition(".")[2] != "X")
    return [*filter(None, dict.fromkeys((frozenset(names), frozenset(calculated))))]


def _parts(names: Iterable[str]) -> dict[int, frozenset[str]]:
    """Return the names that are rounded together, by their index in `STEP_GROUPS`."""
    groups: dict[int, set[str]] = {}
    for name in names:
        stem = name.rpartition(".")[2].partition("_")[0]
        known = (i for i, group in enumerate(STEP_GROUPS) if stem in group.split())
        index = next(known, len(STEP_GROUPS) - 1)
        groups.setdefault(index, set()).add(name)
    return {index: frozenset(part) for index, part in sorted(groups.items())}


def long_inputs(steps: Iterable[Step]) -> list[str]:
    """Return the names of inputs that hold numbers such as 1/3, with more digits than are written.

    Parameters of score functions of pairs are left out: they have no axis for schedules.
    """
    long = {}
    for step in steps:
        inputs = [source for source in sources(step) if source.operation is None]
        of_pairs = any(one.array.ndim > 4 for one in (step, *sources(step)))
        for source in inputs if not of_pairs else ():
            numbers = source.array[np.isfinite(source.array)]
            if (np.abs(numbers - np.round(numbers, INPUT_DECIMALS)) > 1e-9).any():
                long[source.name] = True
    return list(long)
