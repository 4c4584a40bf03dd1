"""Steps worked in decimal digits, as on paper, and rounded as a person rounds them.

On paper, 0.9 · 0.15 + 0.1 · 0.2 is 0.155 and rounds to 0.16; floats have 0.15499999999999997.
Every step is rounded before the next step uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, localcontext
from functools import total_ordering
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, Element, Words, filled
from attncli.core.numbers.written import OPERATORS
from attncli.core.records import Record
from attncli.core.tape.evaluation import array_of, evaluate
from attncli.core.tape.step import Expression, Step

MAX_PRODUCTS = 500_000
"""Maximum number of multiplications, about, of a step worked in decimal digits (chosen).

Larger steps are calculated with floats, as they are not worked on paper. Chosen."""

CONTEXT = Context(prec=50, traps=[])

PI = Decimal("3.14159265358979323846264338327950288419716939937510582")


@total_ordering
class Digits(Element):
    """A decimal number that NumPy's functions can be applied to."""

    __slots__ = ("decimal",)

    def __init__(self, decimal: Decimal) -> None:
        self.decimal = decimal

    @staticmethod
    def combined(op: str, left: Any, right: Any) -> Digits:
        return Digits(OPERATORS[op](_decimal(left), _decimal(right)))

    def __neg__(self) -> Digits:
        return Digits(-self.decimal)

    def __abs__(self) -> Digits:
        return Digits(abs(self.decimal))

    def __eq__(self, other: object) -> bool:
        return self.decimal == _decimal(other)

    def __lt__(self, other: object) -> bool:
        return self.decimal < _decimal(other)

    __hash__ = object.__hash__

    def __float__(self) -> float:
        return float(self.decimal)

    def exp(self) -> Digits:
        return Digits(self.decimal.exp())

    def sqrt(self) -> Digits:
        return Digits(self.decimal.sqrt())

    def tanh(self) -> Digits:
        # (1 − e^−2x) / (1 + e^−2x), with −2|x| as the exponent, so that nothing overflows
        power = (-2 * abs(self.decimal)).exp()
        return Digits(((1 - power) / (1 + power)).copy_sign(self.decimal))

    def log(self) -> Digits:
        return Digits(self.decimal.ln())

    def erf(self) -> Digits:
        # 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (2n+1)!!, of terms of one sign (DLMF 7.6.2)
        square = self.decimal * self.decimal
        term = total = self.decimal
        n = 0
        while abs(term) > abs(total).scaleb(-CONTEXT.prec):
            n += 1
            term = term * 2 * square / (2 * n + 1)
            total += term
        return Digits(2 / PI.sqrt() * (-square).exp() * total)

    def at_least_zero(self) -> Digits:
        return Digits(max(self.decimal, Decimal(0)))

    def largest(self, line: Sequence[Digits]) -> Digits:
        return max(line)

    def called(self, symbol: str) -> Digits:
        return self

    def decides(self, result: object, seen: Sequence[Digits], words: Words) -> object:
        return result


def by_hand(operation: Expression) -> Array:
    """Return the array of an expression of recorded values, worked in 50 decimal digits."""
    floats = array_of(operation)
    if _work(operation, floats) > MAX_PRODUCTS:
        return floats
    with localcontext(CONTEXT):
        worked = evaluate(operation, _digits, _constant)
        numbers = [float(x) for x in worked.ravel()]
    array = np.array(numbers, floats.dtype).reshape(worked.shape)
    if not np.array_equal(np.isfinite(array), np.isfinite(floats)):
        raise FloatingPointError
    return array


def _digits(step: Step) -> Array:
    return filled(step.array.shape, lambda at: Digits(_decimal(step.array[at])))


def _constant(number: float) -> Any:
    # e has no decimal form; Power compares its base with it.
    return number if number == np.e else Digits(_decimal(number))


def _decimal(number: Any) -> Decimal:
    if isinstance(number, Digits):
        return number.decimal
    return Decimal(str(number))


def _work(operation: Expression, result: Array) -> float:
    sizes = [array_of(operand).size for operand in getattr(operation, "operands", ())]
    return float(np.prod([float(size) for size in (*sizes, result.size)]) ** 0.5)


class Rounding(Record):
    """How to round: exactly one of the two counts is set."""

    decimals: int | None = None  # digits after the point
    significant: int | None = None  # digits from the first that is not 0
    half: str = "up"  # "up" (away from zero, as people do) or "even"

    def __call__(self, name: str, array: Array) -> Array:
        """Return a step's array with every number rounded."""
        rounded = [self.number(x) for x in array.ravel().tolist()]
        return np.array(rounded, array.dtype).reshape(array.shape)

    def number(self, value: float) -> float:
        """Return one number rounded as its shortest decimal form is: 2.675 becomes 2.68.

        Raises:
            FloatingPointError: if a float cannot hold the rounded number.

        >>> Rounding(decimals=2).number(2.675), Rounding(significant=3).number(0.0123456)
        (2.68, 0.0123)
        """
        if not np.isfinite(value) or value == 0:
            return value
        written = Decimal(repr(value))
        if self.decimals is not None:
            place = -self.decimals
        else:
            assert self.significant is not None  # exactly one of the two is set
            place = written.adjusted() - self.significant + 1
        exponent = written.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= place:
            return value
        mode = ROUND_HALF_UP if self.half == "up" else ROUND_HALF_EVEN
        rounded = float(written.quantize(Decimal(1).scaleb(place), rounding=mode))
        if not np.isfinite(rounded):
            raise FloatingPointError
        return rounded
