"""Whether a row of numbers can be a mixture of values at all.

All numbers of a row are mixed by the same weights. Ranges for each number alone let pass what no
weights give: where one column of the values is twice another, so it is in every mixture.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.intervals import Interval

ITERATIONS = 200
"""Of the search for the nearest mixture."""

EVERY = 10
"""After so many of them it is asked whether a mixture was found."""

SURE = 1e-6
"""By which part of the numbers a row must be out of reach."""


def may_be_mixed(
    written: Array, off: Array, weights: Interval, values: Interval, off_sum: float, asked: Array
) -> Array:
    """Return which rows of numbers some weights may give; a row that is not asked for may be.

    No row is refused that is within reach: one is refused only where a direction is known in which
    every mixture stays behind it. That direction is from the nearest mixture to the row (Boyd and
    Vandenberghe 2004, section 2.5, on separating hyperplanes), which is searched for by the
    accelerated gradient method (Beck and Teboulle 2009).

    Args:
        written: the numbers, (…, n, d); nan where there is none.
        off: how far each may be off, of the same shape.
        weights: the ranges of shares of 1, (…, n, m).
        values: the ranges of what is mixed, (…, m, d).
        off_sum: how far the sum of a row of weights may be from 1, as they may be rounded.
        asked: the numbers whose rows are asked for, of the same shape as `written`.

    Returns:
        Truth values, (…, n, 1).
    """
    found = np.ones((*written.shape[:-1], 1), bool)
    for at in map(tuple, np.argwhere(asked.any(axis=-1)).tolist()):
        given = np.isfinite(written[at])
        lead = tuple(min(i, size - 1) for i, size in zip(at, values.low.shape, strict=False))[:-1]
        own = tuple(min(i, size - 1) for i, size in zip(at, weights.low.shape, strict=False))
        more = np.append(off[at][given], off_sum)
        target = np.append(written[at][given], 1.0) / more
        ends = [_with_ones(end[lead][:, given]) / more for end in (values.low, values.high)]
        low, high = np.maximum(weights.low[own], 0.0), weights.high[own]
        found[at] = not _is_out_of_reach(target, low, high, *ends)
    return found


def _with_ones(values: Array) -> Array:
    """Return values with a column of which a mixture is the sum of the weights."""
    found: Array = np.concatenate([values, np.ones((len(values), 1))], axis=1)
    return found


def _is_out_of_reach(target: Array, low: Array, high: Array, least: Array, most: Array) -> bool:
    """Return whether no weights from low to high give a row to within 1 in each of its numbers.

    The values are from least to most, (m, d).
    """
    if not all(np.isfinite(part).all() for part in (target, low, high, least, most)):
        return False
    values = (least + most) / 2
    step = 1 / max(float(np.linalg.norm(values, 2)) ** 2, 1e-300)
    weights = ahead = (low + high) / 2
    pace = 1.0
    for turn in range(ITERATIONS):
        if turn % EVERY == 0 and not _missing(target - weights @ values).any():
            return False
        new = np.clip(ahead + step * (values @ _missing(target - ahead @ values)), low, high)
        before, pace = pace, (1 + sqrt(1 + 4 * pace * pace)) / 2
        weights, ahead = new, new + (before - 1) / pace * (new - weights)
    direction = _missing(target - weights @ values)
    along = np.maximum(direction * least, direction * most).sum(axis=1)
    farthest = np.maximum(low * along, high * along).sum()
    needed = direction @ target - np.abs(direction).sum()
    size = np.abs(direction * target).sum()
    return bool(needed - farthest > SURE * size)


def _missing(difference: Array) -> Array:
    """Return what is missing to come within 1."""
    found: Array = difference - np.clip(difference, -1.0, 1.0)
    return found
