"""Floats that carry a bound on what rounding has done to them so far.

Running error analysis (Higham 2002, section 3.3), to first order: each operation adds the unit
roundoff times its result to what its operands bring along. A calculation that does the same sums in
another order, with fused multiply-add, or with exponents that are shifted by the largest one, is
within a small multiple of the bound: a sum of n terms counts n·u·Σ|terms| as in
`tests.support.bounds`, and a power of e as much as its exponent is large.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

from tests.oracles.arithmetic import Arithmetic

UNIT = 2.0**-53
"""The unit roundoff of a double."""

OF_FUNCTION = 4 * UNIT
"""Relative error of exp, tanh, erf, … in mathematical libraries; they promise 1 or 2 ulps."""


class Rounded:  # noqa: PLW1641 - which nobody keeps in a set
    """A float and how far it may be from the exact number."""

    __slots__ = ("error", "value")

    def __init__(self, value: float, error: float = 0.0) -> None:
        self.value, self.error = value, error

    def __float__(self) -> float:
        return self.value

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    def __eq__(self, other: object) -> bool:
        return self.value == other

    def __bool__(self) -> bool:
        return bool(self.value)

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.error)

    def __add__(self, other: Any) -> Rounded:
        value = self.value + float(other)
        return Rounded(value, self.error + error_of(other) + UNIT * abs(value))

    def __sub__(self, other: Any) -> Rounded:
        value = self.value - float(other)
        return Rounded(value, self.error + error_of(other) + UNIT * abs(value))

    def __mul__(self, other: Any) -> Rounded:
        size, off = abs(float(other)), error_of(other)
        value = self.value * float(other)
        error = self.error * size + (abs(self.value) + self.error) * off + UNIT * abs(value)
        return Rounded(value, error)

    def __truediv__(self, other: Any) -> Rounded:
        value, off = self.value / float(other), error_of(other)
        under = abs(float(other)) - off
        error = (self.error + abs(value) * off) / under if under > 0 else math.inf
        return Rounded(value, error + UNIT * abs(value))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rtruediv__(self, other: Any) -> Rounded:
        return Rounded(float(other)) / self


def error_of(number: Any) -> float:
    return number.error if isinstance(number, Rounded) else 0.0


def number(given: Any) -> Rounded:
    return given if isinstance(given, Rounded) else Rounded(float(given))


def total(terms: Iterable[Rounded]) -> Rounded:
    """Return a sum with the bound of a sum in any order."""
    several = list(terms)
    size = sum(abs(term.value) for term in several)
    carried = sum(term.error for term in several)
    return Rounded(math.fsum(t.value for t in several), carried + len(several) * UNIT * size)


def exp(x: Rounded) -> Rounded:
    if x.value == -math.inf:
        return Rounded(0.0)
    value = math.exp(x.value)
    return Rounded(value, value * (math.expm1(x.error) + OF_FUNCTION * (1 + abs(x.value))))


def log(x: Rounded) -> Rounded:
    value, under = math.log(x.value), x.value - x.error
    return Rounded(value, (x.error / under if under > 0 else math.inf) + OF_FUNCTION * abs(value))


def sqrt(given: Any) -> Rounded:
    x = number(given)
    value = math.sqrt(x.value)
    carried = x.error / (2 * math.sqrt(x.value - x.error)) if x.value > x.error else math.inf
    return Rounded(value, carried + UNIT * value)


def lipschitz(function: Callable[[float], float], slope: float) -> Callable[[Rounded], Rounded]:
    """Return a function whose slope is nowhere larger than this."""

    def made(x: Rounded) -> Rounded:
        value = function(x.value)
        return Rounded(value, slope * x.error + OF_FUNCTION * abs(value))

    return made


tanh, erf = lipschitz(math.tanh, 1), lipschitz(math.erf, 2 / math.sqrt(math.pi))
cos, sin, pi = lipschitz(math.cos, 1), lipschitz(math.sin, 1), math.pi
ROUNDED = Arithmetic(sys.modules[__name__], number, total)


def parts(nested: Any) -> tuple[Any, Any]:
    """Return the values and the errors of nested lists."""
    if isinstance(nested, list):
        found = [parts(item) for item in nested]
        return [value for value, _ in found], [error for _, error in found]
    return float(nested), error_of(nested)
