"""Random numbers for matrices: of a new problem, and of a variant of a given one.

They come from `random.Random.random`, which Python promises to keep as it is, so a seed gives the
same numbers on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from random import Random
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array


def draw(random: Random, shape: tuple[int, ...], values: Sequence[float], zeros: float) -> Array:
    """Return an array of 0, in this share of the places, and of values that are equally likely."""

    def number() -> float:
        is_zero = random.random() < zeros
        return 0.0 if is_zero else values[int(random.random() * len(values))]

    return np.array([number() for _ in range(prod(shape))]).reshape(shape)


def with_new_row(random: Random, before: Array, new: Array, width: int) -> Array:
    """Return an array with some of its numbers from a new one: a row of that width, or a number."""
    found = before.copy()
    rows, others = (array.reshape(-1, width) for array in (found, new))
    row = int(random.random() * len(rows))
    rows[row] = others[row]
    return found


def in_lists(array: Array) -> Any:
    """Return an array as nested lists, in which whole numbers are integers."""
    if array.ndim > 1:
        return [in_lists(part) for part in array]
    numbers = array.tolist()
    return [int(x) if abs(x) < inf and x == int(x) else x for x in numbers]
