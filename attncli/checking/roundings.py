"""What people round on the way: the constants of a step, and the steps that they do not show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import floor, log, log10

import numpy as np

from attncli.attention.normalizers import Exp
from attncli.checking.digits import ALL_DIGITS, Habit
from attncli.notation.text import text
from attncli.records import EMPTY, Record, replace
from attncli.tape.operations import Scale
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Operation, Step
from attncli.tape.walk import everywhere, walk
from attncli.text.sentences import all_of

FEWEST_DIGITS = 2
"""Nobody takes √3 as 2."""

DECIMALS = (1, 2, 3, 4)
"""To so many decimals constants are rounded."""

HABITS: Mapping[str, Habit] = {
    "rounded to 2 decimals": Habit(1e-2),
    "rounded to 3 decimals": Habit(1e-3),
    "rounded to 4 decimals": Habit(1e-4),
    "rounded to 3 digits": Habit(0.0, 3),
    "rounded to 4 digits": Habit(0.0, 4),
    "cut off after 2 decimals": Habit(1e-2, cuts=True),
    "cut off after 3 decimals": Habit(1e-3, cuts=True),
    "cut off after 4 decimals": Habit(1e-4, cuts=True),
}
"""How people round what they do not show, in words."""

MOST_DECIMALS = 4
"""An input with more decimals, such as 1/3, is perhaps rounded where it is used."""


class EarlyRounding(Record):
    """One way to round: a constant of steps, and the values of some steps or inputs.

    Attributes:
        words: what is said of it.
        constant: what the constant is called, or nothing.
        change: the steps with the constant rounded.
        factor: what the constant makes of a score, as a factor of it.
        names: the steps and inputs whose values are rounded.
        habit: how those are rounded.
    """

    words: str
    constant: str = ""
    change: Change = EMPTY
    factor: float = 1.0
    names: frozenset[str] = frozenset()
    habit: Habit = Habit(0.0)


def roundings(
    constants: list[EarlyRounding], names: list[str], own: Habit
) -> Iterator[EarlyRounding]:
    """Yield the ways to round, the simpler first.

    Args:
        constants: the ways to round a constant.
        names: the steps and inputs that may be rounded.
        own: how what is shown is rounded.
    """
    yield from constants
    every = frozenset(names)
    for words, habit in {**HABITS, **_finer(own)}.items() if names else ():
        listed = all_of(names) if len(names) <= 3 else "the steps that are not shown"
        yield EarlyRounding(f"{listed} {words}", names=every, habit=habit)
    for name in names if len(names) > 1 else ():
        for words, habit in HABITS.items():
            yield EarlyRounding(f"{name} {words}", names=frozenset((name,)), habit=habit)
    for constant in constants if names else ():
        for words, habit in HABITS.items():
            yield replace(
                constant,
                words=f"{constant.words}, and the steps that are not shown {words}",
                names=every,
                habit=habit,
            )


def _finer(own: Habit) -> dict[str, Habit]:
    """Return the habits of who has a digit or two more on scratch paper than on the sheet."""
    found = {}
    decimals = round(-log10(own.finest)) if own.finest else 0
    for more in (1, 2):
        if decimals:
            found[f"rounded to {decimals + more} decimals"] = Habit(own.finest / 10**more)
        if own.digits < ALL_DIGITS:
            found[f"rounded to {own.digits + more} digits"] = Habit(0.0, own.digits + more)
    return found


def long_inputs(steps: Iterable[Step]) -> list[str]:
    """Return the names of inputs that hold numbers such as 1/3, which nobody writes out."""
    found = {}
    for step in steps:
        for node in walk(step.operation) if step.operation is not None else ():
            if isinstance(node, Step) and node.operation is None:
                short = np.round(node.array, MOST_DECIMALS)
                finite = np.isfinite(node.array)
                if (np.abs(node.array - short)[finite] > 1e-9).any():
                    found[node.name] = True
    return list(found)


def constants_of(steps: Iterable[Step]) -> Iterator[EarlyRounding]:
    """Yield the ways in which the constants of steps may be rounded, from the least value up."""
    found: dict[tuple[str, float, float], dict[str, Expression]] = {}
    for step in steps:
        made = step.operation
        if not isinstance(made, Operation):
            continue
        for node in walk(made):
            for name, value, factor, instead in _of_node(node):
                change = found.setdefault((name, value, factor), {})
                change[step.name] = everywhere(made, node, instead)
    for (name, value, factor), change in sorted(found.items(), key=lambda pair: pair[0][1]):
        yield EarlyRounding(f"{name} taken as {value:g}", name, change, factor)


def _of_node(node: Expression) -> Iterator[tuple[str, float, float, Expression]]:
    """Yield a constant's name, what it is taken as, its factor, and the operation with that."""
    if isinstance(node, Scale):
        own = node.over if node.times == 1 else node.times / node.over
        name = _name(own) if node.times == 1 or node.symbol is None else text(node.symbol)
        for value in _rounded(own):
            over, times = (value, 1.0) if node.times == 1 else (1.0, value)
            yield name, value, times / over, replace(node, over=over, times=times)
        if node.times == 1:
            for value in _rounded(1 / own):
                yield f"1/{name}", value, value, replace(node, over=1.0, times=value)
    elif isinstance(node, Exp):
        if node.base == np.e:
            for value in _rounded(np.e):
                yield "e", value, log(value), replace(node, base=value)
        for value in _rounded(node.temperature):
            yield _name(node.temperature), value, 1 / value, replace(node, temperature=value)


def _name(value: float) -> str:
    """Return what a constant is called: √3, or its digits."""
    square = value * value
    is_root = abs(square - round(square)) < 1e-9 * square
    return f"√{round(square)}" if is_root else f"{value:.6g}"


def _rounded(value: float) -> Iterator[float]:
    """Yield a constant rounded and cut off to a few decimals, where that changes it."""
    seen = []
    for decimals in DECIMALS:
        for round_ in (round, _cut):
            found = round_(value, decimals)
            digits = decimals + (floor(log10(abs(value))) + 1 if value else 0)
            if digits >= FEWEST_DIGITS and abs(found - value) > 1e-9 and found not in seen:
                seen.append(found)
                yield found


def _cut(value: float, decimals: int) -> float:
    power: int = 10**decimals
    return round(int(round(value * power, 9)) / power, decimals)
