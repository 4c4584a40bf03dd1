"""Cells that are blocked and should not be, or should be and are not."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.masks import Masked
from attncli.checking.judged import WRONG, Finding
from attncli.checking.slips.wrong_step import WrongStep
from attncli.tape.cells import Index
from attncli.text.sentences import all_of

MOST_NAMED = 3
"""How many cells are named before the others are only counted."""


def of_mask(wrong: WrongStep) -> tuple[Finding, list[Index]] | None:
    """A blocked cell holds a number, or one that is let through holds none.

    No sign or digit explains that, so it is said before any other slip is looked for; but not where
    numbers are wrong, too, of which the mask says nothing. The cells are returned, too.
    """
    blocked = _blocked(wrong)
    if blocked is None:
        return None
    is_wrong, given = wrong.judged.codes == WRONG, wrong.given
    nothing = (given == -np.inf) | (given == 0)
    if (is_wrong & ~blocked & ~nothing).any():
        return None
    for chosen, words in (
        (is_wrong & blocked, "the mask blocks {it}, so {it_is} {nothing}"),
        (is_wrong & ~blocked & nothing, "the mask lets {it} through, so {it_is} not {nothing}"),
    ):
        if chosen.any():
            cells = [tuple(place) for place in np.argwhere(chosen).tolist()]
            message = _sentence(wrong, cells, words)
            return Finding("mask_slip", message, "Look at the mask again."), cells
    return None


def _blocked(wrong: WrongStep) -> Array | None:
    """Return which cells the student's mask, or else the right one, blocks; None without a mask."""
    step, midpoints = wrong.judged.step, wrong.judge.midpoints
    if isinstance(step.operation, Masked):
        return np.asarray(wrong.judged.yours == -np.inf)
    if not step.name.startswith(("exp", "weights")):
        return None
    for other in wrong.judge.trace:
        is_like = other.trailing == step.trailing and other.array.shape == step.array.shape
        if isinstance(other.operation, Masked) and is_like:
            return np.asarray((midpoints(other) == -np.inf) & (wrong.judged.yours == 0))
    return None


def _sentence(wrong: WrongStep, places: list[Index], words: str) -> str:
    names = [wrong.cell(place) for place in places[:MOST_NAMED]]
    if len(places) > MOST_NAMED:
        names = [*names[:-1], f"{len(places) - MOST_NAMED + 1} more"]
    is_score = isinstance(wrong.judged.step.operation, Masked)
    one, several = {"it": "it", "it_is": "it is"}, {"it": "them", "it_is": "they are"}
    blanks = one if len(places) == 1 else several
    said = words.format(nothing="−∞" if is_score else "0", **blanks)
    return f"{all_of(names)} {'is' if len(places) == 1 else 'are'} wrong: {said}."
