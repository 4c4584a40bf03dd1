"""Numbers in 40 digits, each with a bound on how far a calculation in floats may be from it.

A `Ball` is an array of middles and one of radii. Its operations give the exact result of exact
operands as the middle, and as the radius what the operands' own radii and one rounding for each
operation in floats (Higham 2002, section 3.1), with gradual underflow, add up to. The exponents of
these numbers have no end, so nothing overflows here; `Floats` keeps how large a number became.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

mp = mpmath.MPContext()
mp.dps = 40

Numbers = np.ndarray[Any, Any]
INFINITE = mp.mpf("inf")
FLAT = 10**6
"""From this argument on, e^−x is 0 and tanh x is 1 for every purpose here."""


def exact(numbers: Any) -> Numbers:
    """Return an array of exact numbers from floats."""
    return np.asarray(np.frompyfunc(lambda x: mp.mpf(float(x)), 1, 1)(np.asarray(numbers)), object)


def _each(function: Callable[..., Any], *arrays: Any) -> Numbers:
    return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), object)


def _exp(x: Any) -> Any:
    return mp.mpf(0) if x < -FLAT else mp.exp(x)


def _tanh(x: Any) -> Any:
    return mp.sign(x) if abs(x) > FLAT else mp.tanh(x)


class Floats:
    """The type of floats that is calculated with, and the largest number that it met."""

    def __init__(self, dtype: Any) -> None:
        about = np.finfo(dtype)
        self.unit = mp.mpf(float(about.eps)) / 2
        self.smallest = mp.mpf(float(about.smallest_subnormal))
        self.most = mp.mpf(float(about.max))
        self.largest = mp.mpf(0)

    @property
    def overflows(self) -> bool:
        """Whether a number, or a sum of magnitudes, is about as large as floats get, or larger."""
        return bool(self.largest * (1 + 100 * self.unit) >= self.most)

    def given(self, numbers: Any) -> Ball:
        """Return numbers that are exactly known."""
        middle = exact(numbers)
        return Ball(self, middle, 0 * middle)

    def met(self, sizes: Any) -> None:
        """Keep how large numbers are; those that may be anything may be infinite."""
        self.largest = max(
            [self.largest, *(x if x < INFINITE else INFINITE for x in np.ravel(sizes))]
        )


class Ball:
    """An array of numbers, each with the largest error that it may have in floats."""

    def __init__(self, floats: Floats, middle: Numbers, radius: Numbers) -> None:
        self.floats, self.middle = floats, np.asarray(middle, object)
        self.radius = np.broadcast_to(np.asarray(radius, object), self.middle.shape)

    @property
    def size(self) -> Numbers:
        """The largest magnitude that each number may have."""
        return np.asarray(np.abs(self.middle) + self.radius, object)

    def made(self, middle: Any, inherited: Any, sizes: Any, roundings: int = 1) -> Ball:
        """Return a result: its radius is inherited, and grows by roundings of these sizes."""
        self.floats.met(sizes)
        own = roundings * (self.floats.unit * sizes + self.floats.smallest)
        return Ball(self.floats, middle, inherited + own)

    def like(self, middle: Any, radius: Any) -> Ball:
        """Return numbers of the same floats."""
        return Ball(self.floats, middle, radius)

    def __getitem__(self, place: Any) -> Ball:
        return self.like(self.middle[place], self.radius[place])

    @property
    def T(self) -> Ball:  # noqa: N802 - as of an array
        """The transpose."""
        return self.like(self.middle.T, self.radius.T)

    def __add__(self, other: Ball) -> Ball:
        sizes = self.size + other.size
        return self.made(self.middle + other.middle, self.radius + other.radius, sizes)

    def __sub__(self, other: Ball) -> Ball:
        return self + other.like(-other.middle, other.radius)

    def __mul__(self, other: Ball) -> Ball:
        inherited = self.size * other.radius + self.radius * other.size
        return self.made(self.middle * other.middle, inherited, self.size * other.size)

    def __matmul__(self, other: Ball) -> Ball:
        inherited = self.size @ other.radius + self.radius @ other.size
        terms = self.middle.shape[-1] + 1
        return self.made(self.middle @ other.middle, inherited, self.size @ other.size, terms)

    def __truediv__(self, other: Ball) -> Ball:
        least = np.abs(other.middle) - other.radius
        if not (least > 0).all():
            return self.like(0 * self.middle * other.middle, INFINITE)
        inherited = (self.radius + self.size * other.radius / least) / least
        return self.made(self.middle / other.middle, inherited, self.size / least)

    def sum(self) -> Ball:
        """Return the sum of each row, as one column."""
        ones = np.full((self.middle.shape[-1], 1), mp.mpf(1))
        return self @ self.like(ones, 0 * ones)

    def scaled(self, times: float, over: float) -> Ball:
        """Return times / over of each number, in two operations; both numbers are rounded, too."""
        factor = mp.mpf(float(times)) / mp.mpf(float(over))
        product, quotient = abs(mp.mpf(float(times))) * self.size, abs(factor) * self.size
        self.floats.met(product)
        found = self.made(self.middle * factor, abs(factor) * self.radius, quotient, 4)
        return self.like(found.middle, found.radius + self.floats.smallest / abs(mp.mpf(over)))

    def tanh(self) -> Ball:
        """Return the hyperbolic tangent of each number, which rises."""
        middle = _each(_tanh, self.middle)
        ends = _each(_tanh, self.middle - self.radius), _each(_tanh, self.middle + self.radius)
        return self.made(middle, np.maximum(middle - ends[0], ends[1] - middle), np.abs(middle), 4)

    def within(self, found: Any) -> Numbers:
        """Return for each number whether what floats gave is as near as it must be.

        Where a radius is infinite, or ∞ · 0, the number may be anything.
        """
        return np.asarray(~(np.abs(exact(found) - self.middle) > self.radius).astype(bool))


def beside(*parts: Ball) -> Ball:
    """Return the features of several side by side."""
    middles, radii = ([getattr(p, end) for p in parts] for end in ("middle", "radius"))
    return parts[0].like(np.concatenate(middles, -1), np.concatenate(radii, -1))


def below(*parts: Ball) -> Ball:
    """Return the rows of several one below the other."""
    return beside(*(part.T for part in parts)).T


def cosine(q: Ball, k: Ball) -> Ball:
    """Return q·k / (‖q‖ ‖k‖) of every row with every row."""
    units, turned = [], []
    for side in (q, k):
        length = _each(mp.sqrt, (side.middle**2).sum(-1, keepdims=True))
        off = _each(mp.sqrt, (side.radius**2).sum(-1, keepdims=True))
        if not (length > off).all():  # a vector of rounding errors points anywhere
            return q.like(np.zeros((len(q.middle), len(k.middle)), object), INFINITE)
        units.append(side.middle / length)
        turned.append(2 * off / length)
    middle = units[0] @ units[1].T
    roundings = (2 * q.middle.shape[-1] + 8) * q.floats.unit
    return q.like(middle, turned[0] + turned[1].T + roundings)


def softmax(scores: Ball, keep: Numbers, base: Any, temperature: float) -> Ball:
    """Return the weights of each row; where `keep` is False, the cell is blocked."""
    per = (mp.log(base) if base != "e" else mp.mpf(1)) / mp.mpf(float(temperature))
    middle, radius = scores.middle * per, scores.radius * per
    found = np.zeros((3, *middle.shape), object)
    for i, j in zip(*np.nonzero(keep), strict=True):
        for end, sign in enumerate((0, -1, 1)):  # the weight, and how small and large it may be
            own = middle[i, j] + sign * radius[i, j]
            others = middle[i] - sign * radius[i] - own
            exponents = [_exp(min(x, FLAT)) for x in np.delete(others, j)[np.delete(keep[i], j)]]
            found[end, i, j] = 1 / (1 + mp.fsum(exponents))
    weight, least, most = found
    # A rounded exponent x costs |x| u, but is mended: see `floats.power`.
    inherited = np.maximum(weight - least, most - weight)
    return scores.made(weight, inherited, weight, middle.shape[-1] + 12)


def hardmax(scores: Ball, keep: Numbers) -> Ball:
    """Return 1 at the first largest number of each row; either, where errors decide."""
    shape = scores.middle.shape
    weight, radius = np.full(shape, mp.mpf(0)), np.full(shape, mp.mpf(0))
    for i, row in enumerate(keep):
        if row.any():
            kept = np.nonzero(row)[0]
            first = kept[np.argmax(scores.middle[i, kept])]
            weight[i, first] = mp.mpf(1)
            reach = scores.middle[i, first] - scores.radius[i, first]
            near = scores.middle[i, kept] + scores.radius[i, kept] >= reach
            tied = scores.middle[i, kept] == scores.middle[i, first]
            exact_tie = not (scores.radius[i, kept[near]] > 0).any() and bool(tied[near].all())
            if near.sum() > 1 and not exact_tie:
                radius[i, kept[near]] = mp.mpf(1)
    return scores.like(weight, radius)


def sparsemax(scores: Ball, keep: Numbers, temperature: float) -> Ball:
    """Return the nearest shares of 1; they move by no more than the scores do."""
    over, shape = mp.mpf(float(temperature)), scores.middle.shape
    weight, radius = np.full(shape, mp.mpf(0)), np.full(shape, mp.mpf(0))
    for i, row in enumerate(keep):
        kept = np.nonzero(row)[0]
        if not len(kept):
            continue
        own = (scores.middle[i, kept] - max(scores.middle[i, kept])) / over
        ordered = sorted(own, reverse=True)
        sums = [mp.fsum(ordered[: count + 1]) for count in range(len(ordered))]
        pairs = enumerate(zip(ordered, sums, strict=True), 1)
        support = max(count for count, (s, total) in pairs if 1 + count * s > total)
        threshold = (sums[support - 1] - 1) / support
        weight[i, kept] = [max(s - threshold, mp.mpf(0)) for s in own]
        moved = mp.sqrt(mp.fsum((scores.radius[i, kept] / over) ** 2))
        radius[i, kept] = min(moved + 8 * (len(own) + 2) * scores.floats.unit, mp.mpf(1))
    return scores.like(weight, radius)
