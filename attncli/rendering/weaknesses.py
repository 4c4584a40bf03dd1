"""Which mistakes a problem's numbers cannot show: a homework that hides them teaches less."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.checking.weakness import unseen
from attncli.mechanisms.compute import compute
from attncli.problem.problem import Problem
from attncli.rendering.blocks import Line


def weaknesses(problem: Problem, digits: int) -> Iterator[Line]:
    """Yield a line for each mistake that changes no number, with where it hides."""
    hidden = unseen(compute(problem), digits)
    if not hidden:
        yield [(f"Every mistake of the catalogue shows in {digits} decimals.", "right")]
        return
    yield [(f"Mistakes that change no number of this problem in {digits} decimals:", "title")]
    width = max(map(len, hidden))
    for id_, why in hidden.items():
        yield [(f"  {id_.ljust(width)}  ", "label"), (why, "")]
