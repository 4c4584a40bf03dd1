"""Attention a tile at a time: softmax(Q Kᵀ) V in memory that grows with n, not with n · m.

A tile has the scores of some queries of one head with some keys, in a small buffer. Softmax needs
no whole row: e^s · v and e^s are summed tile by tile. Where e^s may leave the range of floats, the
largest score so far is subtracted first, and the sums so far are scaled down when a later score is
larger (Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from math import frexp, log, prod, sqrt
from threading import local
from typing import TypeAlias

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.floats import Outline, largest_exponent
from attncli.core.arithmetic.machine import over_threads, threads_available
from attncli.core.attention.masks import is_kept, of_head, reach_of
from attncli.core.attention.normalizers import is_out_of_range
from attncli.core.attention.parameters import Rules
from attncli.core.records import Record
from attncli.core.tape.tape import TakeRows

TILE_ROWS, TILE_KEYS = 256, 512
"""Rows and keys of a tile: 1 MiB of scores, which a processor's cache holds. Half or twice as many
of either take 2 % less to 6 % more time, measured on 2,048 tokens."""

PARTLY_SEEN_KEYS = 128
"""Keys of a tile that not all of its rows see: of 256 rows under a causal mask, a quarter of the
scores is left out. Of fewer keys, products and masks take longer than what is left out."""

MAX_HIDDEN = 2**20
"""Maximum number of numbers in the hidden layer of a tile."""

MIN_ROWS = 32
"""With fewer rows a matrix product is slower."""

TASKS_PER_THREAD = 2
"""Minimum number of tasks for each thread: under a causal mask the first and the last rows take as
long together as those in the middle."""

CHECKED = ("scores", "scaled", "biased")
"""The steps whose numbers may be beyond floats, in the order of computation."""

TileScores: TypeAlias = Callable[[Array, Array], Array]
"""Returns the scores (1, 1, n, m) of queries (1, 1, n, d_q) with keys (1, 1, m, d_k)."""

RowWeights: TypeAlias = Callable[[Array, int, int], Array]
"""Returns the weights of whole rows of scores (rows, m) of a head; the first has that number."""

Tile: TypeAlias = tuple[slice, slice, Array | None]
"""The rows of a tile, counted from the first of its task; its keys; what is kept, None for all."""


class Tiling(Record):
    """How the scores are cut into tiles."""

    rows: int  # queries in a tile
    keys: int  # keys in a tile
    threads: int

    @property
    def path(self) -> str:
        """How the steps are calculated, in words."""
        path = f"streamed, {self.rows} query row{'s'[: self.rows != 1]} at a time"
        path += f" on {self.threads} threads" if self.threads > 1 else ""
        return f"{path}; the n × m steps are not kept"


def tiling_of(q: Array, k: Array, depth: int = 1, whole_rows: bool = False) -> Tiling:
    """Return the tiling for queries (batch, heads, n, d_q) and keys (…, m, d_k).

    `depth` is the number of numbers that a score takes while it is calculated.
    """
    n, m, heads = q.shape[-2], k.shape[-2], q.shape[1] * max(len(q), len(k))
    threads = threads_available()
    size = min(TILE_ROWS * TILE_KEYS, MAX_HIDDEN // depth)
    if whole_rows:
        rows, keys = max(min(size // m, n), 1), m
    else:
        of_each_task = -(-n * heads // (TASKS_PER_THREAD * threads))  # rounded up
        rows = max(min(max(of_each_task, MIN_ROWS), TILE_ROWS, size // TILE_KEYS, n), 1)
        keys = min(max(size // rows, TILE_KEYS), m)
    return Tiling(rows, keys, min(threads, -(-n // rows) * heads))


class TileLoop:
    """Attention over many tokens; tiles that a mask blocks as a whole are not calculated.

    Args:
        q: (batch, heads, n, d_q), of the dtype of k, v, and the bias.
        k: (batch, kv_heads, m, d_k); query head i reads head i · kv_heads // heads.
        v: (batch, kv_heads, m, d_v).
        rules: how scores become weights, over the keys.
        tiling: the size of a tile; of whole rows, if there is `weights_of`.
        scores_of: the score function; by default the dot products.
        weights_of: the normaliser; by default softmax, for which rows need not be whole.
        take_rows: takes the weights as they are calculated, up to the first score that floats
            cannot hold; needs `weights_of`. With one thread they come in order.

    Attributes:
        output: (batch, head, n, d_v).
        blocked: the queries that see no key, in any head.
        is_beyond: whether floats might not hold some e^s if the largest s were not subtracted.
    """

    def __init__(
        self,
        q: Array,
        k: Array,
        v: Array,
        rules: Rules,
        tiling: Tiling,
        scores_of: TileScores | None = None,
        weights_of: RowWeights | None = None,
        take_rows: TakeRows | None = None,
    ) -> None:
        self.rules, self.tiling = rules, tiling
        self.scores_of, self.weights_of, self.take_rows = scores_of, weights_of, take_rows
        batches, heads = max(map(len, (q, k, v))), q.shape[1]
        self.n, self.m = q.shape[-2], k.shape[-2]
        self.parts = -(-self.n // tiling.rows)  # rounded up
        self.q, self.k, self.v = (np.broadcast_to(a, (batches, *a.shape[1:])) for a in (q, k, v))
        self.sharing = heads // k.shape[1]  # query heads for each head of keys and values
        self.bias = None
        if rules.bias is not None and rules.bias.any():
            self.bias = np.broadcast_to(rules.bias, (batches, heads, self.n, self.m))
        self.output = np.empty_like(q, shape=(batches, heads, self.n, v.shape[-1]))
        # Several threads add to these.
        self.blocked: set[int] = set()
        self.too_large: set[str] = set()
        self.is_beyond = False
        if isinstance(self.output, Outline):  # has no numbers
            return
        self.weight_batches = max(len(q), len(k))  # values may have more
        masks = (of_head(rules.mask, batch, 0) for batch in range(batches))  # the same of all heads
        reaches = (reach_of(mask, self.n, self.m, slice(0, self.n)) for mask in masks)
        self.first, self.last, (self.is_exact, *_) = zip(*reaches, strict=True)
        self.exponent = log(rules.normalize.base) / rules.normalize.temperature  # of e, times s
        dots, adjusted = (np.inf, np.inf) if scores_of else _bounds(q, k, rules)
        # As scores: e^sink is base^(s / temperature) of another s.
        sinks = rules.normalize.parameters.get("sink", np.array(-np.inf)).ravel() / self.exponent
        self.sinks = np.broadcast_to(sinks, heads).astype(q.dtype)
        adjusted = max(adjusted, _largest(self.sinks))
        self.is_surely_held = max(dots, adjusted) < float(np.finfo(q.dtype).max) / 2
        self.is_surely_within = not self._is_out_of_range(adjusted)
        least = float(np.log(np.finfo(q.dtype).smallest_subnormal)) - 1  # e^s of less is 0
        self.vanishing = least - adjusted  # what is added to a score of which e^s is surely 0
        # Floats surely hold every e^s, and sum of e^s · v, for |s| up to `adjusted`.
        half, values = largest_exponent(v.dtype) / 2, max(float(v.max()), -float(v.min()))
        is_ordinary = adjusted <= half and (values == 0 or abs(log(values)) <= half / 2)
        self.is_shifted = self.exponent != 1 or not is_ordinary
        scale = (1, 1) if rules.scale is None else (rules.scale.times, rules.scale.over)
        self.times, self.over = map(float, scale)  # of the scores
        # A power of two changes no digit, so that queries, which are fewer, are scaled instead.
        factor = self.times / self.over
        can_move = self.is_surely_held and scores_of is None and weights_of is None
        self.scales_queries = can_move and frexp(abs(factor))[0] == 0.5 and abs(factor) < 1
        self.of_thread = local()
        self.is_beyond = self._is_out_of_range(self.sinks.max())

    def run(self) -> None:
        """Calculate, or raise a FloatingPointError with the name of a step beyond floats."""
        if isinstance(self.output, Outline):
            return
        tasks = range(prod(self.output.shape[:2]) * self.parts)
        if self.weights_of is None:  # under a causal mask the last rows take longest
            tasks = tasks[::-1]
        over_threads(self._attend, tasks, self.tiling.threads)
        if self.too_large:
            raise FloatingPointError(min(self.too_large, key=CHECKED.index))

    def _attend(self, task: int) -> None:
        of_head, part = divmod(task, self.parts)
        batch, head = divmod(of_head, self.output.shape[1])
        first = part * self.tiling.rows
        rows = slice(first, min(first + self.tiling.rows, self.n))
        attend = self._sum_tiles if self.weights_of is None else self._weigh_rows
        if not hasattr(self.of_thread, "buffer"):
            self.of_thread.buffer = np.empty(self.tiling.rows * self.tiling.keys, self.q.dtype)
        with np.errstate(all="ignore"), suppress(FloatingPointError):
            attend(batch, head, rows)

    def _sum_tiles(self, batch: int, head: int, rows: slice) -> None:
        """Calculate the output of some queries by softmax."""
        values, result = self.v[batch, head // self.sharing], self.output[batch, head, rows]
        product, ones = np.empty_like(result), np.ones((self.tiling.keys, 1), result.dtype)
        sink = np.full((len(result), 1), self.sinks[head])
        largest_of_rows, total_of_rows = sink.copy(), np.zeros_like(sink)
        result[...] = 0
        queries = self.q[batch, head, rows]
        if self.scales_queries:
            queries = queries * queries.dtype.type(self.times / self.over)
        for part, keys, keep in self._tiles(batch, head, rows):
            largest, total, sums = largest_of_rows[part], total_of_rows[part], result[part]
            at = slice(rows.start + part.start, rows.start + part.stop)
            scores = self._adjusted(queries[part], batch, head, at, keys)
            if self.is_shifted:
                if keep is not None:
                    np.copyto(scores, -np.inf, where=~keep)
                if not self.is_surely_within and self._is_out_of_range(_largest(scores)):
                    self.is_beyond = True
                decay = largest.copy()
                np.maximum(largest, scores.max(axis=1, keepdims=True), out=largest)
                self._shift(scores, largest)
                self._shift(decay, largest)
                np.exp(decay, out=decay)
                total *= decay
                sums *= decay
            np.exp(scores, out=scores)
            if keep is not None and not self.is_shifted:
                np.multiply(scores, keep, out=scores)  # e^−∞ is 0, too, but much slower
            total += scores @ ones[: scores.shape[1]]  # twice as fast as `scores.sum`
            sums += np.matmul(scores, values[keys], out=product[part])
        self._add_blocked(total_of_rows == 0, rows)
        if self.is_shifted:
            self._shift(sink, largest_of_rows)
        total_of_rows += np.exp(sink)
        result /= np.where(total_of_rows > 0, total_of_rows, 1)

    def _tiles(self, batch: int, head: int, rows: slice) -> Iterator[Tile]:
        """Yield the tiles of some rows: wide where all rows see the keys, narrow elsewhere."""
        first, last = self.first[batch][rows], self.last[batch][rows]
        start, end = int(first.min()), int(last.max()) + 1
        for rule in self.rules.by_place if not self.is_shifted else ():
            if rule.is_negligible:  # e^s of far keys is 0, which takes long to find out
                near = rule.near(head, rows, self.vanishing)
                start, end = max(start, near.start), min(end, near.stop)
        seen_by_all = range(int(first.max()), int(last.min()) + 1) if self.is_exact else range(0)
        wide = narrow = self.tiling.keys
        if self.is_exact and not self.rules.by_place:  # whose biases are worked out for each tile
            narrow = min(PARTLY_SEEN_KEYS, wide)
        while start < end:
            is_whole = start in seen_by_all
            edges = start + (wide if is_whole else narrow), seen_by_all.start, seen_by_all.stop, end
            keys = slice(start, min(edge for edge in edges if edge > start))
            if is_whole:
                yield slice(0, len(first)), keys, None
            else:
                yield from self._partly_seen(batch, head, rows, keys)
            start = keys.stop

    def _partly_seen(self, batch: int, head: int, rows: slice, keys: slice) -> Iterator[Tile]:
        """Yield a tile from the first to the last row that sees a key, if there are any."""
        first, last = self.first[batch][rows], self.last[batch][rows]
        seeing = np.flatnonzero((first < keys.stop) & (last >= keys.start))
        if not len(seeing):
            return
        part = slice(int(seeing[0]), int(seeing[-1]) + 1)
        if self.is_exact:
            numbers = np.arange(keys.start, keys.stop, dtype=first.dtype)
            keep: Array = numbers <= last[part, None]
            if first.max() > keys.start:
                keep &= numbers >= first[part, None]
            yield part, keys, keep
            return
        mask, at = self.rules.mask, slice(rows.start + part.start, rows.start + part.stop)
        kept = is_kept(of_head(mask, batch, head), self.n, self.m, at, keys)
        if kept is None or kept.any():
            yield part, keys, None if kept is None else kept[0, 0]

    def _shift(self, scores: Array, largest: Array) -> None:
        # Where every score so far is blocked, −∞ − 0 is −∞, while −∞ − −∞ would be nan.
        scores -= np.where(largest == -np.inf, 0, largest)
        if self.exponent != 1:
            scores *= self.exponent

    def _weigh_rows(self, batch: int, head: int, rows: slice) -> None:
        """Calculate the weights and the output of some queries by any normaliser."""
        assert self.weights_of is not None  # or softmax needs no whole rows
        queries = self.q[batch, head, rows]
        scores = self._adjusted(queries, batch, head, rows, slice(0, self.m))
        keep = is_kept(of_head(self.rules.mask, batch, head), self.n, self.m, rows)
        if keep is not None:
            np.copyto(scores, -np.inf, where=keep[0, 0] == 0)
        self._add_blocked(scores.max(axis=1) == -np.inf, rows)
        weights = self.weights_of(scores, head, rows.start)
        np.matmul(weights, self.v[batch, head // self.sharing], out=self.output[batch, head, rows])
        if self.take_rows is not None and batch < self.weight_batches and not self.too_large:
            self.take_rows(batch, head, rows, weights)

    def _adjusted(self, q: Array, batch: int, head: int, rows: slice, keys: slice) -> Array:
        """Return the scores of a tile, scaled, capped and biased in place."""
        k = self.k[batch, head // self.sharing, keys]
        scores: Array = self.of_thread.buffer[: len(q) * len(k)].reshape(len(q), -1)
        if self.scores_of is None:
            np.matmul(q, k.T, out=scores)
        else:
            scores[...] = self.scores_of(q[None, None], k[None, None])[0, 0]
        self._check(scores, "scores")
        if not self.scales_queries:
            if self.times != 1:
                scores *= self.times
            if self.over != 1:
                scores /= self.over
            self._check(scores, "scaled")
        if (cap := self.rules.softcap) is not None:
            scores /= float(cap)
            np.tanh(scores, out=scores)
            scores *= float(cap)
        if self.bias is not None:
            scores += self.bias[batch, head, rows, keys]
        for rule in self.rules.by_place:
            scores += rule.at(head, rows, keys)
        if self.bias is not None or self.rules.by_place:
            self._check(scores, "biased", is_blocked=True)
        return scores

    def _check(self, scores: Array, name: str, is_blocked: bool = False) -> None:
        """Raise an error for a score that floats cannot hold; −∞ may block a cell."""
        if self.is_surely_held:
            return
        if not ((scores < np.inf).all() if is_blocked else np.isfinite(scores).all()):
            self.too_large.add(name)
            raise FloatingPointError

    def _add_blocked(self, is_blocked: Array, rows: slice) -> None:
        self.blocked.update((rows.start + np.flatnonzero(is_blocked)).tolist())

    def _is_out_of_range(self, largest: float) -> bool:
        return is_out_of_range(largest, self.q.dtype, self.rules.normalize)


def _bounds(q: Array, k: Array, rules: Rules) -> tuple[float, float]:
    """Return upper bounds for |q · k| (Cauchy and Schwarz) and for the adjusted scores."""
    with np.errstate(all="ignore"):
        # Half a percent covers what rounding adds, and `tiny` a square that is too small for it.
        least = q.shape[-1] * float(np.finfo(q.dtype).tiny)
        squares = (float(np.einsum("...d,...d->...", a, a).max()) + least for a in (q, k))
        dots = adjusted = 1.005 * prod(map(sqrt, squares))
        if rules.scale is not None:
            adjusted *= abs(float(rules.scale.times) / float(rules.scale.over))
        if rules.softcap is not None:
            adjusted = min(adjusted, abs(float(rules.softcap)))
        if rules.bias is not None:
            adjusted += _largest(rules.bias)
        adjusted += sum(rule.most for rule in rules.by_place)
    return dots, adjusted


def _largest(scores: Array) -> float:
    """Return the largest magnitude; a cell of −∞ is blocked and does not count."""
    top, bottom = float(scores.max()), float(scores.min())
    if bottom == -np.inf:
        top = max(top, 0.0)
        bottom = float(scores.min(initial=0.0, where=scores > -np.inf))
    return max(top, -bottom)
