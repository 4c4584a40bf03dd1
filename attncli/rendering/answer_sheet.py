"""The numbers of a calculation as a sheet of answers, in YAML."""

from __future__ import annotations

from math import inf
from typing import Any

from attncli.arithmetic.rounding import Rounding
from attncli.mechanisms.trace import Trace
from attncli.rendering.problem_file import entry

SURE = 12
"""So many significant digits of a float are the same on every machine."""


def answer_sheet(trace: Trace, decimals: int, above: str = "") -> bytes:
    """Return every step with so many decimals, rounded half up; whole numbers have none.

    Args:
        trace: the calculation.
        decimals: digits after the point.
        above: a line that stands above it, as a comment.
    """
    rounding = Rounding(decimals=decimals)

    def written(numbers: Any) -> Any:
        if isinstance(numbers, list):
            return [written(part) for part in numbers]
        number = float(f"{numbers:.{SURE}g}")
        if abs(number) == inf:
            return f"{number}"
        is_whole = number == int(number)
        return f"{rounding.number(number) + 0.0:.{0 if is_whole else decimals}f}"

    lines = [f"# {above}"] if above else []
    lines += [entry(step.name, written(step.value.tolist())) for step in trace]
    return "".join(f"{line}\n" for line in lines).encode()
