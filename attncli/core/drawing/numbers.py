"""Random numbers, and the flaws of a calculation with them: what hides how it is worked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import inf, prod
from random import Random
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.softmax import ALONG_KEYS
from attncli.core.calculation.trace import Trace
from attncli.core.numbers.forms import ArrayForm
from attncli.core.problem.keys import KEYS, KINDS
from attncli.core.problem.shapes import form_of

PROJECTED = ("Q", "K", "V")

GRAVE = 10
"""Number of small flaws that weigh as much as a saturated row of weights."""

MIN_WEIGHT, MAX_WEIGHT = 0.01, 0.95
"""A weight, or a difference of weights, below or above these shows too little."""

WEIGHT_DECIMALS = 9
"""Decimals of the weights that are compared, as later ones differ between machines."""


def draw(random: Random, shape: tuple[int, ...], values: Sequence[float], zeros: float) -> Array:
    """Return an array of 0, in this share of the places, and of values that are equally likely."""

    def number() -> float:
        is_zero = random.random() < zeros
        return 0.0 if is_zero else values[int(random.random() * len(values))]

    return np.array([number() for _ in range(prod(shape))]).reshape(shape)


def with_new_row(random: Random, before: Array, new: Array, width: int) -> Array:
    """Return an array with some of its numbers from a new one: a row of that width, or a number."""
    changed = before.copy()
    rows, others = (array.reshape(-1, width) for array in (changed, new))
    row = int(random.random() * len(rows))
    rows[row] = others[row]
    return changed


def in_lists(array: Array) -> Any:
    """Return an array as nested lists, in which whole numbers are integers."""
    if array.ndim > 1:
        return [in_lists(part) for part in array]
    numbers = array.tolist()
    return [int(x) if abs(x) < inf and x == int(x) else x for x in numbers]


class Flaws:
    """The flaws of a calculation; each kind is counted when it is first read."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def saturated(self) -> int:
        """The number of rows of weights that give one key nearly all, or every key the same.

        Only rows of shares of 1 count in which several keys may be attended to. Where weights are
        normalised over the queries, a row is that of a key. A hardmax gives one key all on purpose.
        """
        count = 0
        for head in _heads(self._trace):
            least, most, several = _extent(head)
            sums = np.where(head > 0, head.round(WEIGHT_DECIMALS), 0.0).sum(axis=-1)
            is_flat = (most > MAX_WEIGHT) | (most - least < MIN_WEIGHT)
            count += int((several & (np.abs(sums - 1) < MIN_WEIGHT) & is_flat).sum())
        return count

    @cached_property
    def alike(self) -> int:
        """The number of pairs among Q, K and V that are equal."""
        trace = self._trace
        projected = [trace[name].array for name in PROJECTED if name in trace]
        return sum(np.array_equal(one, other) for one, other in combinations(projected, 2))

    @cached_property
    def small(self) -> int:
        """The number of small flaws; one of `alike` counts as `GRAVE`, as does a W_k of zeros.

        These are rows with a weight that is hardly seen, equal rows of weights, tokens that are
        equal or zeros, equal columns of a projection, columns of zeros in a matrix of a network, in
        queries, keys and values, equal lines of those that are given, and steps of a later time
        that are 0.
        """
        trace, count = self._trace, GRAVE * self.alike
        count += sum(not step.array.any() for step in trace if step.suffix not in ("", "_1"))
        for head in _heads(trace):
            least, _, several = _extent(head)
            count += int((several & (least < MIN_WEIGHT)).sum()) + _repeated(head.round(6))
        count += sum(_flaws_in(key, trace) for key in trace.problem.matrices())
        made = (one.array for one in trace if one.plain.startswith(PROJECTED))
        return count + sum(int((~one.any(axis=-2)).sum()) for one in made)


def _flaws_in(key: str, trace: Trace) -> int:
    problem = trace.problem
    if not isinstance(form_of(key), ArrayForm):  # such as the lengths of a mask
        return 0
    array, (head, _, part) = problem.array(key), key.partition(".")
    columns = np.moveaxis(array, -1, 0)
    if key in ("X", "memory", *PROJECTED):
        tokens = np.moveaxis(array, -2, 0)
        count = _repeated(tokens) + int((~tokens.any(axis=(1, 2, 3))).sum())
        return count + (_repeated(np.moveaxis(tokens, -1, 0)) if key in PROJECTED else 0)
    if KEYS[head].zeros is None:
        return int((array == 1).all())
    if part and head in KINDS[problem.kind].needs:
        return _repeated(columns) + int((~array.any(axis=-2)).sum())
    if getattr(form_of(key), "is_weight", False):
        return _repeated(columns) + GRAVE * (not array.any())
    return 0


def _heads(trace: Trace) -> Iterator[Array]:
    is_by_key = trace.problem.rules.normalize.along != ALONG_KEYS
    for step in trace:
        if step.is_weights:
            weights = np.swapaxes(step.array, -1, -2) if is_by_key else step.array
            yield from weights.reshape(-1, *weights.shape[-2:])


def _extent(head: Array) -> tuple[Array, Array, Array]:
    """Return the least and the largest weight above 0 of each row, and where there are several."""
    shares = np.where(head > 0, head.round(WEIGHT_DECIMALS), np.nan)
    several = (head > 0).sum(axis=-1) > 1
    return np.fmin.reduce(shares, axis=-1), np.fmax.reduce(shares, axis=-1), several


def _repeated(lines: Array) -> int:
    return len(lines) - len({line.tobytes() for line in lines + 0.0})  # −0 becomes 0
