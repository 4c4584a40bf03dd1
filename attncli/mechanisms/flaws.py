"""Flaws of numbers: what keeps a calculation from showing what it should."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.normalizers import ALONG_KEYS
from attncli.mechanisms.trace import Trace

MIN_WEIGHT, MAX_WEIGHT = 0.01, 0.95
"""A weight, or a difference of weights, below or above these shows too little."""

GRAVE = 10
"""Number of small flaws that weigh as much as a saturated row of weights."""

WEIGHT_DECIMALS = 9
"""Decimals of the weights that are compared, as later ones differ between machines."""


def saturated(trace: Trace) -> int:
    """Return how many rows of weights give one key nearly all, or every key the same.

    Only rows of shares of 1 count in which several keys may be attended to. Where weights are
    normalised over the queries, a row is that of a key. A hardmax gives one key all on purpose.
    """
    return sum(_saturated(head) for head in _heads(trace))


def _saturated(head: Array) -> int:
    least, most, several = _extent(head)
    is_share = (
        np.abs(np.where(head > 0, head.round(WEIGHT_DECIMALS), 0.0).sum(axis=-1) - 1) < MIN_WEIGHT
    )
    is_flat = (most > MAX_WEIGHT) | (most - least < MIN_WEIGHT)
    return int((several & is_share & is_flat).sum())


def alike(trace: Trace) -> int:
    """Return the number of pairs among Q, K and V that are equal."""
    made = _made(trace)
    return sum(
        np.array_equal(one, other) for index, one in enumerate(made) for other in made[:index]
    )


def small_flaws(trace: Trace) -> int:
    """Return how often a calculation hides a little.

    Counted are rows with a weight that is hardly seen, equal rows of weights, tokens that are equal
    or zeros, equal columns of a projection, and columns of zeros in queries, keys and values.
    """
    return sum(_small_flaws(trace))


def _small_flaws(trace: Trace) -> Iterator[int]:
    for head in _heads(trace):
        least, _, several = _extent(head)
        yield int((several & (least < MIN_WEIGHT)).sum())
        yield _repeated(head.round(6))
    problem = trace.problem
    for key in problem.matrices():
        if key in ("X", "memory"):
            tokens = np.moveaxis(problem.array(key), -2, 0)
            yield _repeated(tokens) + int((~tokens.any(axis=(1, 2, 3))).sum())
        elif key.startswith("W_"):
            yield _repeated(np.moveaxis(problem.array(key), -1, 0))
    for one in _made(trace):
        yield int((~one.any(axis=-2)).sum())


def _heads(trace: Trace) -> Iterator[Array]:
    """Yield the weights of each head and batch element, a line that sums to 1 in a row."""
    turned = trace.problem.rules.normalize.along != ALONG_KEYS
    for step in trace:
        if step.name.startswith("weights"):
            weights = np.swapaxes(step.array, -1, -2) if turned else step.array
            yield from weights.reshape(-1, *weights.shape[-2:])


def _extent(head: Array) -> tuple[Array, Array, Array]:
    """Return the least and the largest weight above 0 of each row, and where there are several."""
    shares = np.where(head > 0, head.round(WEIGHT_DECIMALS), np.nan)
    several = (head > 0).sum(axis=-1) > 1
    return np.fmin.reduce(shares, axis=-1), np.fmax.reduce(shares, axis=-1), several


def _made(trace: Trace) -> list[Array]:
    return [trace[name].array for name in ("Q", "K", "V") if name in trace]


def _repeated(lines: Array) -> int:
    """Return how many lines, along the first axis, are equal to an earlier one."""
    return len(lines) - len({line.tobytes() for line in lines + 0.0})  # −0 becomes 0
