"""Which mistakes a problem's numbers cannot show: a homework that hides them teaches less."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.calculation import compute
from attncli.checking import unseen
from attncli.problem import Problem
from attncli.rendering.blocks import Line
from attncli.rendering.digits import DEFAULT_DECIMALS


def weaknesses(problem: Problem, decimals: int | None) -> Iterator[Line]:
    """Yield a line for each mistake that changes no number, with where it hides."""
    digits = DEFAULT_DECIMALS if decimals is None else decimals
    hidden = unseen(compute(problem), digits)
    if not hidden:
        yield [(f"Every mistake of the catalogue shows in {digits} decimals.", "right")]
        return
    yield [(f"Mistakes that change no number of this problem in {digits} decimals:", "title")]
    width = max(map(len, hidden))
    for id_, why in hidden.items():
        yield [(f"  {id_.ljust(width)}  ", "label"), (why, "")]
