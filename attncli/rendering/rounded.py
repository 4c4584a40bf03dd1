"""What a page says of steps that were rounded by hand."""

from __future__ import annotations

import numpy as np

from attncli.mechanisms.trace import Trace, furthest

MOST = 17
"""Digits that tell every float from its neighbours."""


def enough_decimals(trace: Trace, least: int) -> int:
    """Return so many decimals that every rounded number is shown whole.

    A reader works on with what is shown, so it must be what the next step used.
    """
    from decimal import Decimal

    needed = least
    for step in trace:
        for number in step.array[np.isfinite(step.array)].tolist():
            exponent = Decimal(repr(number)).normalize().as_tuple().exponent
            needed = max(needed, -int(exponent))
    return min(needed, MOST)


def closing_line(trace: Trace) -> str:
    """Return how far rounded steps have led the output away."""
    from attncli.tape.cells import cell_name

    distance, place = furthest(trace)
    name = trace.last.name
    if distance == 0:
        return f"rounded steps: the {name} is as without rounding"
    cell = cell_name(trace.last, place).removeprefix(name)
    return f"rounded steps: the {name} is off by at most {distance:.2g} (at {cell})"
