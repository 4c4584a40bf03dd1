"""Hand rounding: every step is rounded as a person rounds it, before the next step uses it."""

from __future__ import annotations

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.records import Record


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
        from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

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
