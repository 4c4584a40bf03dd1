"""When an explanation of wrong numbers is beyond doubt, and when it may be a coincidence.

Among many explanations that are tried, one gives nearly any number of few digits. Without a
"perhaps" one is said only where a number that is wrong for no reason would hardly ever show it.
"""

from __future__ import annotations

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.checking.judged import WRONG, Compared

TELLING = 100
"""A number tells enough that is so many times what it is blurred by: it has three digits."""

BY_CHANCE = 0.01
"""How many numbers that are wrong for no reason may show an explanation that is called certain."""

FINEST = 6
"""Nobody calculates by hand with more decimals than this."""


def blur(judged: Compared) -> Array:
    """Return within how wide a range each number agrees with what explains it."""
    with np.errstate(invalid="ignore", over="ignore"):  # −∞ − (−∞)
        spread = np.nan_to_num(judged.follows.high - judged.follows.low, nan=0.0)
        share = judged.written.share * np.abs(np.nan_to_num(judged.yours))
        found: Array = np.maximum(judged.unit, _grid(judged)) + 2 * spread + share
    return found


def _grid(judged: Compared) -> Array:
    """Return what each number is a multiple of, as is the right one: 1, 0.1 and so on; else 0.

    Zeros that are written behind a whole number are digits, but tell nothing.
    """
    found = np.zeros(judged.unit.shape)
    for decimals in range(FINEST, -1, -1):
        is_multiple = np.ones(judged.unit.shape, bool)
        for numbers in (judged.written.values, judged.yours):
            is_multiple &= np.isclose(numbers, np.round(numbers, decimals), rtol=0, atol=1e-9)
        found = np.where(is_multiple, 10.0**-decimals, found)
    return found


def chances(judged: Compared) -> Array:
    """Return how likely each number, wrong by as much for no reason, agrees with an explanation."""
    with np.errstate(invalid="ignore", divide="ignore"):  # −∞ − (−∞)
        off = np.abs(judged.written.values - judged.yours)
        found = np.minimum(1.0, blur(judged) / (2 * off))
    return np.where(np.isnan(found), 1.0, found)


def is_certain(judged: Compared, tried: int, chosen: Array | None = None, fitted: int = 0) -> bool:
    """Return whether what explains the wrong numbers is hardly a coincidence.

    Args:
        judged: the step.
        tried: how many explanations there might have been.
        chosen: the cells that are explained; by default the wrong ones.
        fitted: to how many of them the explanation was fitted, which prove nothing.
    """
    wrong = judged.codes == WRONG
    found = np.sort(chances(judged)[wrong if chosen is None else chosen & wrong])
    return bool(tried * np.prod(found[fitted:]) <= BY_CHANCE)
