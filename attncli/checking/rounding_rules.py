"""Rounding of arrays and intervals, to decimals or significant digits."""

from __future__ import annotations

from decimal import Decimal
from math import log10

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval, hull, interval
from attncli.records import Record, replace
from attncli.tape.replay import Values

NOISE = 1e-9
"""Error, in units in the last place, with which a float counts as a half or a whole number."""

CALCULATOR = 2e-8
"""Error, in units in the last place, with which a float is not cut off to the unit below it. A
calculator shows ten digits: the tanh of 12 is 1 to most people, and the tanh of 9 is 0.999."""

TEN = np.float64(10)
"""A float whose powers overflow to infinity, where Python's floats raise an error."""

UP, EVEN, CUT = "rounded", "rounded, a half to even,", "cut off"
"""What happens to further digits; `UP` rounds a half away from zero."""


class RoundingRule(Record):
    """One way to round numbers.

    Attributes:
        count: number of decimals, or of significant digits.
        is_significant: True if the count is of significant digits.
        mode: `UP`, `EVEN` or `CUT`.
    """

    count: int
    is_significant: bool = False
    mode: str = UP

    def __str__(self) -> str:
        """Return the words of a report: `rounded to 2 decimals`."""
        noun = "significant digit" if self.is_significant else "decimal"
        preposition = "after" if self.mode == CUT else "to"
        return f"{self.mode} {preposition} {self.count} {noun}{'' if self.count == 1 else 's'}"

    @property
    def coarsest(self) -> float:
        return 10.0 ** (int(self.is_significant) - self.count)

    @property
    def finer(self) -> RoundingRule:
        return replace(self, count=self.count + 1)

    def writes(self, unit: Array) -> bool:
        """Return True if numbers with these units in the last place may have been rounded so."""
        return self.is_significant or bool((unit == 10.0**-self.count).all())

    def of_mode(self, mode: str) -> RoundingRule:
        return replace(self, mode=mode)

    def __call__(self, numbers: Array) -> Array:
        """Return rounded numbers; infinite ones stay."""
        units, power = self._units(numbers)
        with np.errstate(all="ignore"):
            whole = np.floor(units + (CALCULATOR if self.mode == CUT else 0.5 + NOISE))
            if self.mode == EVEN and (ties := self.ties(numbers)).any():
                powers = np.broadcast_to(power, units.shape)[ties]
                whole[ties] = list(map(_printed, numbers[ties].tolist(), powers.tolist()))
            found = np.copysign(whole / power, numbers)
        return np.where(np.isfinite(found), found, numbers)

    def ties(self, numbers: Array) -> Array:
        """Return which numbers are in the middle between two rounded ones."""
        units, _ = self._units(numbers)
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            found: Array = np.abs(units - np.floor(units) - 0.5) <= NOISE
        return found

    def _units(self, numbers: Array) -> tuple[Array, Array]:
        """Return the sizes of numbers in units of the last kept digit, and 1 in these units."""
        size = np.abs(numbers)
        with np.errstate(all="ignore"):
            lead = np.floor(np.log10(size)) + 1 if self.is_significant else 0
            power = np.asarray(TEN ** (self.count - lead))
            return size * power, power

    def interval(self, found: Values) -> Interval:
        """Return intervals that hold numbers as they are, rounded, and cut off."""
        ends = interval(found)
        bounds = [
            [np.copysign(size, end) for size in self._around(end)] for end in (ends.low, ends.high)
        ]
        low, high = np.minimum(*bounds[0]), np.maximum(*bounds[1])
        return Interval(
            np.where(np.isfinite(low), low, ends.low), np.where(np.isfinite(high), high, ends.high)
        )

    def _around(self, numbers: Array) -> tuple[Array, Array]:
        """Return the least and the largest size of numbers as they are, rounded, and cut off."""
        units, power = self._units(numbers)
        with np.errstate(all="ignore"):
            cut, up = np.floor(units + CALCULATOR), np.floor(units + 0.5 + NOISE)
            return np.minimum(cut, units) / power, np.maximum(np.maximum(up, cut), units) / power

    def either(self, found: Values) -> Interval:
        """Return rounded intervals, of halves both up and down, as floats may have it."""
        ends = interval(found)
        made = []
        for end in (ends.low, ends.high):
            units, power = self._units(end)
            up, down = self(end), np.copysign(np.floor(units) / power, end)
            made += [up, np.where(self.ties(end), down, up)]
        return hull(*made)

    def any_finer(self, found: Values) -> Interval:
        """Return intervals that hold numbers rounded or cut off to these digits, or to more."""
        ends = interval(found)
        size = np.maximum(np.abs(ends.low), np.abs(ends.high))
        with np.errstate(all="ignore"):
            lead = np.floor(np.log10(size)) + 1 if self.is_significant else np.zeros(size.shape)
            unit = np.where((size > 0) & np.isfinite(size), 10.0 ** (lead - self.count), 0.0)
        low = np.where(ends.low > 0, np.maximum(0.0, ends.low - unit), ends.low - unit / 2)
        high = np.where(ends.high < 0, np.minimum(0.0, ends.high + unit), ends.high + unit / 2)
        return Interval(low, high)


def _printed(number: float, power: float) -> float:
    """Return a number in units as programs print it: the float itself, a half to even."""
    return round(Decimal(abs(number)).scaleb(round(log10(power))))


def with_sum(shares: Array, along: int, total: Array | float, rounding: RoundingRule) -> Array:
    """Return rounded shares, of which the largest of each line is adjusted so that they have a sum.

    Args:
        shares: the shares with every digit.
        along: the axis of a line.
        total: the sum of each line: 1, or 0 where everything is blocked.
        rounding: the rounding; the largest share is written with the same digits.
    """
    largest, found = shares.argmax(axis=along, keepdims=True), rounding(shares)
    missing = total - found.sum(axis=along, keepdims=True)
    taken = np.take_along_axis(found, largest, along) + missing
    np.put_along_axis(found, largest, rounding.of_mode(UP)(taken), along)
    return found
