"""Derivatives without a rule for any: differences of the loss in 50-digit arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracles import reference
from tests.oracles.arithmetic import BLOCKED, EXACT, Hand, Keys, Number, mp, slope_of
from tests.oracles.lists import depth, every

OVER = {"squared_error": 1, "half_squared_error": 2}
"""By what the sum of squares is divided; of the mean, by the number of them."""


def loss(gradient: Any, **keys: Any) -> Number:
    """Return the loss of a problem in row convention."""
    several = [reference.element(keys, b) for b in range(reference.batches(keys))]
    outputs = [reference.worked_by(Hand(), one) for one in several]
    numbers = every(outputs)
    if isinstance(gradient, str):
        return mp.fsum(numbers)
    if isinstance(gradient, dict):
        pairs = zip(numbers, every(reference.exact(gradient["target"])), strict=True)
        return mp.fsum((z - t) ** 2 for z, t in pairs) / OVER.get(gradient["loss"], len(numbers))
    upstream = reference.exact(gradient)  # the derivative of Σ g z with regard to z is g
    several = upstream if depth(upstream) == 3 else [upstream] * len(outputs)
    return EXACT.dot(numbers, every(several))


def with_number(keys: Keys, name: str, array: Any) -> Keys:
    """Return the keys with another array for one, also for a part such as score.W."""
    head, _, part = name.partition(".")
    return keys | {head: keys[head] | {part: array} if part else array}


def array_of(keys: Keys, name: str) -> Any:
    """Return the exact numbers of a key, or of a part such as score.W, in an array."""
    head, _, part = name.partition(".")
    return np.array(reference.exact(keys[head][part] if part else keys[head]), object)


def difference(keys: Keys, name: str) -> Any:
    """Return the derivative of the loss with regard to every number of a key."""
    array = array_of(keys, name)
    found = np.empty(array.shape, object)
    for place in np.ndindex(array.shape):
        direction = np.zeros(array.shape, object)
        direction[place] = mp.mpf(1)
        found[place] = mp.mpf(0) if array[place] == BLOCKED else slope(keys, name, direction)
    return found


def slope(keys: Keys, name: str, direction: Any) -> Number:
    """Return how the loss grows as a key moves along a direction."""
    array = array_of(keys, name)
    return slope_of(lambda by: loss(**with_number(keys, name, (array + direction * by).tolist())))
