"""What keeps the numbers of a calculation from showing what they should."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.normalizers import KEYS
from attncli.mechanisms.trace import Trace

LEAST, MOST = 0.01, 0.95
"""A smaller weight, or difference of weights, is hardly seen; a larger one leaves others none."""

GRAVE = 10
"""So many small flaws weigh as much as a row of weights that is saturated."""

GUARD = 9
"""To so many decimals weights are rounded before they are compared with a bound.

So floats that differ in their last digits from machine to machine are on the same side of it.
"""


def saturated(trace: Trace) -> int:
    """Return how many rows of weights give one key nearly all, or every key the same.

    Only rows of shares of 1 count in which several keys may be attended to. Where weights are
    normalised over the queries, a row is that of a key. A hardmax gives one key all on purpose.
    """
    return sum(_saturated(head) for head in _heads(trace))


def _saturated(head: Array) -> int:
    least, most, several = _extent(head)
    is_share = np.abs(np.where(head > 0, head.round(GUARD), 0.0).sum(axis=-1) - 1) < LEAST
    is_flat = (most > MOST) | (most - least < LEAST)
    return int((several & is_share & is_flat).sum())


def alike(trace: Trace) -> int:
    """Return how many pairs of queries, keys and values are equal."""
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
        yield int((several & (least < LEAST)).sum())
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
    turned = trace.problem.rules.normalize.along != KEYS
    for step in trace:
        if step.name.startswith("weights"):
            weights = np.swapaxes(step.array, -1, -2) if turned else step.array
            yield from weights.reshape(-1, *weights.shape[-2:])


def _extent(head: Array) -> tuple[Array, Array, Array]:
    """Return the least and the largest weight above 0 of each row, and where there are several."""
    shares = np.where(head > 0, head.round(GUARD), np.nan)
    several = (head > 0).sum(axis=-1) > 1
    return np.fmin.reduce(shares, axis=-1), np.fmax.reduce(shares, axis=-1), several


def _made(trace: Trace) -> list[Array]:
    return [trace[name].array for name in ("Q", "K", "V") if name in trace]


def _repeated(lines: Array) -> int:
    """Return how many lines, along the first axis, are equal to an earlier one."""
    return len(lines) - len({line.tobytes() for line in lines + 0.0})  # −0 becomes 0
