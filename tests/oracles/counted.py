"""Floats that count each operation on them where it is carried out.

A sum of n numbers takes n − 1 additions, and a product of matrices as many multiply–adds as pairs
of numbers meet.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.oracles.arithmetic import Arithmetic, Hand, Keys, Matrix, T, Vector
from tests.oracles.reference import worked_by

DONE: Counter[str] = Counter()
"""What was done since the last step was written."""


def counting(what: str, function: Callable[..., float]) -> Callable[..., Counted]:
    def carried_out(*operands: float) -> Counted:
        DONE[what] += 1
        return Counted(function(*operands))

    return carried_out


class Counted(float):
    """A number of the calculation; sizes and other constants are plain floats."""

    __add__ = __radd__ = counting("additions", float.__add__)
    __sub__ = counting("additions", float.__sub__)
    __mul__ = __rmul__ = counting("multiplications", float.__mul__)
    __truediv__ = counting("divisions", float.__truediv__)
    __rtruediv__ = counting("divisions", float.__rtruediv__)

    def __neg__(self) -> Counted:
        return Counted(-float(self))


class Functions:
    """The functions of the module `math`, counted where they are of a number that counts."""

    pi = math.pi
    exp = staticmethod(counting("exponentials", math.exp))

    def __getattr__(self, name: str) -> Callable[[float], float]:
        plain = getattr(math, name)
        counted = counting("functions", plain)
        return lambda x: counted(x) if isinstance(x, Counted) else plain(x)


def total(terms: Vector) -> Any:
    first, *others = terms
    for term in others:
        first = first + term
    return first


class Counting(Arithmetic):
    """The arithmetic of numbers that count."""

    def dot(self, a: Vector, b: Vector) -> Counted:
        DONE["multiply_adds"] += len(a)
        return Counted(math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True)))


class CountingHand(Hand):
    """Counts what each step takes, by its name."""

    def __init__(self) -> None:
        super().__init__(Counting(Functions(), Counted, total))
        self.counts: dict[str, Counter[str]] = {}
        DONE.clear()

    def write(self, name: str, heads: T) -> T:
        heads = super().write(name, heads)
        counts = self.counts.setdefault([*self.steps][-1], Counter())
        counts.update(DONE)
        DONE.clear()
        return heads


def worked(keys: Keys) -> tuple[Matrix, dict[str, Counter[str]]]:
    """Return the output of a problem, and the counts of each step that has any."""
    hand = CountingHand()
    if keys["score"] == "additive":
        keys = keys | {"score": {"name": "additive", **keys["parameters"]}}
    output = worked_by(hand, keys)
    return output, {name: counts for name, counts in hand.counts.items() if counts.total()}
