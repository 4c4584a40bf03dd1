"""Constants of a calculation, such as √3, e or the temperature, taken as rounded numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import floor, log, log10
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval
from attncli.attention.normalizers import Exp
from attncli.checking.rounding_rules import CUT, UP, RoundingRule
from attncli.notation.text import text
from attncli.records import Record, replace
from attncli.tape.operations import Scale
from attncli.tape.replay import Change
from attncli.tape.step import Expression, Operation, Step
from attncli.tape.walk import everywhere, walk

CONSTANT_DECIMALS = (1, 2, 3, 4)
"""Decimals to which constants are rounded."""

MIN_DIGITS = 2
"""Minimum number of significant digits of a rounded constant: nobody takes √3 as 2."""


class Constant(Record, eq=False):
    """A constant of the calculation, taken as another number.

    Attributes:
        words: what a report says: `√3 taken as 1.73`.
        factors: the number that multiplies the operand instead, by the name of each step whose
            operation holds the constant.
    """

    words: str
    factors: Mapping[str, float]


def constants_of(steps: Iterable[Step]) -> tuple[Constant, ...]:
    """Return the roundings of the constants of some steps, those with more digits first."""
    found: dict[str, dict[str, float]] = {}
    for step in steps:
        node = _holder(step)
        for words, factor in _rounded(node) if node is not None else ():
            found.setdefault(words, {})[step.name] = factor
    return tuple(Constant(words, factors) for words, factors in found.items())


def _rounded(node: Scale | Exp) -> Iterator[tuple[str, float]]:
    """Yield the words for each rounding of a constant, and the factor that it makes."""
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
    """Return the name of a constant: √3, or its digits."""
    square = value * value
    is_root = abs(square - round(square)) < 1e-9 * square
    return f"√{round(square)}" if is_root else f"{value:.6g}"


def rounded_values(value: float) -> list[float]:
    """Return a constant rounded and cut off to a few decimals, where that changes it."""
    found: dict[float, None] = {}
    for decimals in CONSTANT_DECIMALS[::-1]:
        digits = decimals + (floor(log10(abs(value))) + 1 if value else 0)
        for mode in (UP, CUT):
            short = round(float(RoundingRule(decimals, mode=mode)(np.asarray(value))), decimals)
            if digits >= MIN_DIGITS and abs(short - value) > 1e-9:
                found[short] = None
    return list(found)


# ---- operations with other constants


class Multiplied(Operation):
    """An operand times factors: one factor for each schedule, along the axis of the batch."""

    operand: Expression
    factors: Any
    pointwise = True

    def apply(self, *arrays: Array) -> Array:
        """Any shape; the factors have four axes."""
        extra = arrays[0].ndim - self.factors.ndim
        product: Array = arrays[0] * self.factors.reshape(*self.factors.shape, *[1] * extra)
        return product


def with_constants(
    constants: Iterable[Constant | None], steps: Iterable[Step], as_factor: Callable[[Array], Any]
) -> Change:
    """Return the operations in which a constant is another number.

    Args:
        constants: a constant for each calculation, None where all of them are exact.
        steps: the steps that are worked.
        as_factor: makes a factor of the factors of an operation, one for each calculation.
    """
    every = list(constants)
    named = {name for one in every if one for name in one.factors}
    found: dict[str, Expression] = {}
    for step in steps:
        node = _holder(step) if step.name in named else None
        if node is not None:
            own = _factor(node)
            factors = [one.factors.get(step.name, own) if one else own for one in every]
            other: Expression = Multiplied(node.operand, as_factor(np.array(factors)))
            if isinstance(node, Exp):
                other = replace(node, operand=other, base=np.e, temperature=1.0)
            assert step.operation is not None  # as it holds the node
            found[step.name] = everywhere(step.operation, node, other)
    return found


def any_of(factors: Array) -> Interval:
    return Interval(factors.min(keepdims=True), factors.max(keepdims=True))


def _holder(step: Step) -> Scale | Exp | None:
    """Return the operation of a step that holds a constant, if one does."""
    nodes = walk(step.operation) if step.operation is not None else ()
    return next((node for node in nodes if isinstance(node, Scale | Exp)), None)


def _factor(node: Scale | Exp) -> float:
    if isinstance(node, Scale):
        return float(node.times) / float(node.over)
    return log(node.base) / float(node.temperature)
