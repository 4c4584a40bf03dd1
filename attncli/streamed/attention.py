"""Attention over many tokens: softmax(Q Kᵀ) V with memory that grows with n, not with n · m.

For some queries of a head at a time, the scores with some keys at a time stand in one small
buffer, in which every line of the textbook is done in its place. Where e^s may leave the range of a
float, what they add to the output is summed with the largest score so far subtracted, and what was
summed before is made smaller where a later score is larger (Milakov and Gimelshein 2018; Dao et al.
2022, algorithm 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import frexp, log, prod, sqrt
from typing import TypeAlias

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.arithmetic.floats import largest_exponent
from attncli.attention.masks import is_kept, keys_seen, of_head
from attncli.attention.normalizers import is_out_of_range
from attncli.attention.weights import Factor, Rules
from attncli.records import Record
from attncli.streamed.threads import over_threads, threads_available
from attncli.tape.walk import cut

ROWS, KEYS = 256, 512
"""How many queries and keys a tile of scores has: 1 MiB, which a processor's cache holds."""

DEEP = 2**20
"""How many numbers the hidden layer of a tile has at most."""

LEAST_ROWS = 32
"""With fewer rows, a matrix product is slower."""

TASKS = 4
"""So many tasks a thread has at least, as some end before the others."""

Tile: TypeAlias = Callable[[Array, Array], Array]
"""The scores (1, 1, n, m) of some queries (1, 1, n, d_q) with some keys (1, 1, m, d_k)."""


class Plan(Record):
    """How the work is parted."""

    rows: int  # how many queries are done at a time
    keys: int  # and how many keys
    threads: int


class Attended(Record, eq=False):
    """What came out."""

    output: Array  # (batch, head, n, d_v)
    blocked: set[int]  # the queries that see no key, in any head
    is_masked: bool  # whether the mask blocks anything
    is_beyond: bool  # whether some e^s may be beyond a float, had the largest s not been subtracted


def planned(q: Array, k: Array, depth: int = 1) -> Plan:
    """Return how to part the work of queries (batch, heads, n, d_q) and keys (…, m, d_k).

    `depth` is how many numbers a score takes while it is worked out.
    """
    n, m, heads = q.shape[-2], k.shape[-2], q.shape[1] * max(len(q), len(k))
    threads = threads_available()
    even = -(-n * heads // (TASKS * threads))  # rounded up
    rows = min(max(even, LEAST_ROWS), max(DEEP // (depth * KEYS), 1), ROWS, n)
    keys = min(max(ROWS * KEYS // (rows * depth), KEYS), m)
    return Plan(rows, keys, min(threads, -(-n // rows) * heads))


def attention(
    q: Array, k: Array, v: Array, rules: Rules, plan: Plan, tile: Tile | None = None
) -> Attended:
    """Return softmax over the keys, times V, by the rules for scores and weights.

    A score that no query sees is not calculated where positions or lengths block a whole tile.

    Args:
        q: (batch, heads, n, d_q).
        k: (batch, kv_heads, m, d_k), where query head i reads head i · kv_heads // heads.
        v: (batch, kv_heads, m, d_v).
        rules: normalised by softmax over the keys; its bias has the dtype of the others.
        plan: how to part the work.
        tile: the score function, by default the dot products.

    Raises:
        FloatingPointError: for a score that is beyond what a float can hold.
    """
    return _Streamed(q, k, v, rules, plan, tile).result()


class _Streamed:
    """One calculation, and what it found so far."""

    def __init__(
        self, q: Array, k: Array, v: Array, rules: Rules, plan: Plan, tile: Tile | None
    ) -> None:
        self.q, self.k, self.v, self.rules, self.plan, self.tile = q, k, v, rules, plan, tile
        lead = np.broadcast_shapes(q.shape[:1], k.shape[:1], v.shape[:1])
        self.n, self.m = q.shape[-2], k.shape[-2]
        self.output = np.empty((*lead, q.shape[1], self.n, v.shape[-1]), q.dtype)
        self.bias = rules.bias if rules.bias is not None and rules.bias.any() else None
        self.exponent = log(rules.normalize.base) / rules.normalize.temperature  # of e, times s
        raw, adjusted = _bounds(q, k, self.bias, rules) if tile is None else (np.inf, np.inf)
        most = float(np.finfo(q.dtype).max) / 2
        self.is_surely_held = max(raw, adjusted) < most
        self.is_surely_within = not self._is_out_of_range(adjusted)
        self.is_shifted = self.exponent != 1 or not _is_ordinary(adjusted, v)
        self.factor = 1.0  # of the queries, in place of the scores
        if rules.scale is not None and tile is None and self.is_surely_held:
            self.factor = _exact_factor(rules.scale)
        # Several threads tell what they find: each only adds to it.
        self.blocked: set[int] = set()
        self.is_masked = self.is_beyond = False

    def result(self) -> Attended:
        """Calculate."""
        places = list(np.ndindex(*self.output.shape[:2]))
        starts = range(0, self.n, self.plan.rows)
        rows = [slice(start, min(start + self.plan.rows, self.n)) for start in starts]
        over_threads(
            self._worker, [(*at, part) for at in places for part in rows], self.plan.threads
        )
        return Attended(self.output, self.blocked, self.is_masked, self.is_beyond)

    def _worker(self) -> Callable[[tuple[int, int, slice]], None]:
        """Return what does a task in one thread, with a buffer of its own."""
        buffer = np.empty(self.plan.rows * self.plan.keys, self.q.dtype)

        def work(task: tuple[int, int, slice]) -> None:
            with np.errstate(all="ignore"):
                self._attend(*task, buffer)

        return work

    def _attend(self, batch: int, head: int, rows: slice, buffer: Array) -> None:
        """Calculate the output of some queries of one head."""
        values = self._of_head(self.v, batch, head)
        result = self.output[batch, head, rows]
        part, ones = np.empty_like(result), np.ones((self.plan.keys, 1), result.dtype)
        largest = np.full((len(result), 1), -np.inf, result.dtype)
        total = np.zeros((len(result), 1), result.dtype)
        result[...] = 0
        for keys, scores, keep in self._tiles(batch, head, rows, buffer):
            if self.is_shifted:
                if keep is not None:
                    _block(scores, keep)
                if not self.is_surely_within and self._is_out_of_range(_largest(scores)):
                    self.is_beyond = True
                decay, largest = largest, np.maximum(largest, scores.max(axis=1, keepdims=True))
                self._shift(scores, largest)
                self._shift(decay, largest)
                np.exp(decay, out=decay)
                total *= decay
                result *= decay
            np.exp(scores, out=scores)
            if keep is not None and not self.is_shifted:
                np.multiply(scores, keep, out=scores)  # e^−∞ is 0, too, but takes much longer
            total += scores @ ones[: scores.shape[1]]  # in half the time of `scores.sum`
            result += np.matmul(scores, values[keys], out=part)
        np.divide(result, total, out=result, where=total > 0)
        if not total.all():
            self.blocked.update((rows.start + np.flatnonzero(total == 0)).tolist())

    def _shift(self, scores: Array, largest: Array) -> None:
        """Put the exponent of e, below 0, in the place of each score."""
        # Where everything is blocked so far, −∞ − 0 is −∞, and −∞ − −∞ would be nothing.
        scores -= np.where(largest == -np.inf, 0, largest)
        if self.exponent != 1:
            scores *= self.exponent

    def _tiles(
        self, batch: int, head: int, rows: slice, buffer: Array
    ) -> Iterator[tuple[slice, Array, Array | None]]:
        """Yield some keys, the scores of the queries with them, and which of them are kept."""
        q, k = self.q[min(batch, len(self.q) - 1), head, rows], self._of_head(self.k, batch, head)
        if self.factor != 1:
            q = q * q.dtype.type(self.factor)
        mask = of_head(self.rules.mask, batch, head)
        seen, by_all = keys_seen(mask, self.n, self.m, rows)
        if seen != slice(0, self.m):
            self.is_masked = True
        for start in range(seen.start, seen.stop, self.plan.keys):
            keys = slice(start, min(start + self.plan.keys, seen.stop))
            is_whole = by_all.start <= keys.start and keys.stop <= by_all.stop
            keep = None if is_whole else is_kept(mask, self.n, self.m, rows, keys)
            if keep is not None:
                self.is_masked = True
                if not keep.any():
                    continue
            scores = buffer[: len(q) * (keys.stop - start)].reshape(len(q), -1)
            if self.tile is None:
                np.matmul(q, k[keys].T, out=scores)
            else:
                scores[...] = self.tile(q[None, None], k[None, None, keys])[0, 0]
            self._adjust(scores, batch, head, rows, keys)
            yield keys, scores, None if keep is None else keep[0, 0]

    def _adjust(self, scores: Array, batch: int, head: int, rows: slice, keys: slice) -> None:
        """Scale, cap and bias scores in their place, each as its operation does."""
        self._check(scores)
        if (factor := self.rules.scale) is not None and self.factor == 1:
            if factor.times != 1:
                scores *= float(factor.times)
            if factor.over != 1:
                _divide(scores, float(factor.over))
            self._check(scores)
        if (cap := self.rules.softcap) is not None:
            _divide(scores, float(cap))
            np.tanh(scores, out=scores)
            scores *= float(cap)
        if self.bias is not None:
            at = (min(i, size - 1) for i, size in zip((batch, head), self.bias.shape, strict=False))
            scores += cut(self.bias, (rows, keys))[tuple(at)]
            self._check(scores, is_blocked=True)

    def _check(self, scores: Array, is_blocked: bool = False) -> None:
        """Raise an error for a score that a float cannot hold; −∞ may block a cell."""
        if self.is_surely_held:
            return
        if not ((scores < np.inf).all() if is_blocked else np.isfinite(scores).all()):
            raise FloatingPointError

    def _of_head(self, array: Array, batch: int, head: int) -> Array:
        """Return the keys or values that a query head reads."""
        shared = head * array.shape[1] // self.output.shape[1]
        found: Array = array[min(batch, len(array) - 1), shared]
        return found

    def _is_out_of_range(self, largest: float) -> bool:
        return is_out_of_range(largest, self.q.dtype, self.rules.normalize)


def _bounds(q: Array, k: Array, bias: Array | None, rules: Rules) -> tuple[float, float]:
    """Return what no |q · k| is above (Cauchy and Schwarz), and no score that comes of it."""
    with np.errstate(all="ignore"):
        # Half a percent covers what rounding adds, and `tiny` a square that is too small for it.
        least = q.shape[-1] * float(np.finfo(q.dtype).tiny)
        squares = (float(np.einsum("...d,...d->...", a, a).max()) + least for a in (q, k))
        raw = adjusted = 1.005 * prod(map(sqrt, squares))
        if rules.scale is not None:
            adjusted *= abs(float(rules.scale.times) / float(rules.scale.over))
        if rules.softcap is not None:
            adjusted = min(adjusted, abs(float(rules.softcap)))
        if bias is not None:
            adjusted += _largest(bias)
    return raw, adjusted


def _block(scores: Array, keep: Array) -> None:
    """Put −∞ where a mask is 0: the lesser of the score and ±∞, as choosing takes much longer."""
    limits = keep - scores.dtype.type(0.5)
    limits *= np.inf
    np.minimum(scores, limits, out=scores)


def _is_ordinary(most: float, v: Array) -> bool:
    """Whether e^s and e^s · v are far from the ends of the range of a float, for |s| up to `most`.

    Then the largest score need not be subtracted, as a hand does not.
    """
    half = largest_exponent(v.dtype) / 2
    values = max(float(v.max()), -float(v.min()))
    return most <= half and (values == 0 or abs(log(values)) <= half / 2)


def _exact_factor(scale: Factor) -> float:
    """Return the scale where it is a power of two and makes numbers smaller; else 1.

    Then the queries may be scaled in place of the scores, and no digit changes.
    """
    times, over = float(scale.times), float(scale.over)
    is_exact = frexp(abs(times))[0] == frexp(abs(over))[0] == 0.5
    return times / over if is_exact and abs(times) < abs(over) else 1.0


def _largest(scores: Array) -> float:
    """Return the largest magnitude; a cell of −∞ is blocked, and has none."""
    top, bottom = float(scores.max()), float(scores.min())
    if bottom == -np.inf:
        top = max(top, 0.0)
        bottom = float(scores.min(initial=0.0, where=scores > -np.inf))
    return max(top, -bottom)


def _divide(scores: Array, divisor: float) -> None:
    """Divide in place; by a power of two, a product with its inverse is the same, and faster."""
    if frexp(divisor)[0] == 0.5:
        scores *= 1 / divisor
    else:
        scores /= divisor
