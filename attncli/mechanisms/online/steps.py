"""Softmax by tiles of keys, as FlashAttention calculates it: no whole row of scores is needed.

Each query keeps the largest score so far, m, the sum of powers so far, l, and the output so far,
O. When a later tile has a larger score, the sum and the output are rescaled by e^(old m − new m).
Milakov and Gimelshein 2018, algorithm 3, have m and l; the steps here are those of FlashAttention-2
(Dao 2023, algorithm 1), which divides O by l once, at the end. (The first version, Dao et al. 2022,
divides at every tile. Line 10 of the second one prints the inverse of the factor by mistake.)
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from attncli.core.arithmetic.elements import Array, are_elements, filled
from attncli.core.attention.normalizers import Unblocked
from attncli.core.attention.parameters import Normalize
from attncli.core.attention.scores import RepeatHeads
from attncli.core.attention.softmax import ALONG_KEYS, ShiftedExp, Sum
from attncli.core.formulas import tree
from attncli.core.tape.backward_operations import Columns, Hadamard
from attncli.core.tape.operations import Add, Divide, MatMul, Row, Together, joined
from attncli.core.tape.step import Derivatives, Expression, Step, notation_of
from attncli.core.tape.tape import Tape

CUT = "Keys and values of one tile at a time fit into fast memory."
POWER = "Powers of e, after the largest score so far is subtracted: none is above 1."
RESCALED = "Earlier powers were taken with the old maximum; this gives them the new one."
TOTAL = "The sum of all powers up to this tile, with one and the same maximum."
MIXED = "All values up to this tile, each times its power, are summed."


class RunningMax(Together):
    """The largest score of each query so far; −∞ while every key is blocked."""

    blocks = True
    why = "The largest score of each query, in this tile and all before it."

    @property
    def shape(self) -> str:
        return "n m', n sum -> n sum" if len(self.parts) > 1 else "n m' -> n sum"

    def apply(self, *arrays: Array) -> Array:
        """Scores (…, n, m) and the largest ones before them (…, n, 1) give (…, n, 1)."""
        scores, *before = arrays
        if not are_elements(scores):
            return reduce(np.maximum, before, scores.max(axis=-1, keepdims=True))
        line = joined([*before, scores], -1)
        return filled((*line.shape[:-1], 1), lambda at: line[at].largest(line[at[:-1]]))

    def notation(self, columns: bool) -> tree.Formula:
        scores, *before = self.notations(columns)
        largest = tree.Phrase((tree.Words("max over keys of"), scores))
        return tree.Call("max", (*before, largest)) if before else largest


class Finite(Unblocked):
    """The number subtracted from scores: m, but 0 while it is −∞, as −∞ − (−∞) is no number."""

    def notation(self, columns: bool) -> tree.Formula:
        return notation_of(self.operand, columns)


class Rescaled(Hadamard):
    """A sum so far, times the factor for a new largest score."""

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """The factor has none: whatever m is, the output is the same."""
        yield self.left, Hadamard(upstream, self.right)


class Averaged(Divide):
    """The sum of values times powers, divided by the sum of the powers."""

    why = "Divided once, after the last tile, by the sum of all powers."


def online_softmax(
    tape: Tape, scores: Step, v: Step, tile: int, settings: Normalize, times: int = 1
) -> Averaged:
    """Record the steps of every tile of keys, with its number; return softmax(scores) · v.

    Scores are (…, heads, n, m), v is (…, kv_heads, m, d_v), and `times` heads share each of v.
    """
    axis, group, count = scores.trailing[-1], tape.group, scores.array.shape[-1]
    words = {name: every for name, every in tape.labels.items() if name == axis}
    so_far: tuple[Step, ...] = ()
    for number, start in enumerate(range(0, count, tile), 1):
        stop = min(start + tile, count)
        tape.group = ", ".join(filter(None, (group, f"tile {number}")))
        tape.labels |= {name: every[start:stop] for name, every in words.items()}
        with tape.within(suffix=f"_{number}"):
            s = tape.record("S", Columns(scores, start, stop), why=CUT)
            values: Expression = tape.record("V", Row(v, start, stop - start), why=CUT)
            values = RepeatHeads(values, times) if times > 1 else values
            so_far = _with_tile(tape, s, values, so_far, (settings.base, settings.temperature))
    tape.group = group or "all tiles"
    tape.labels |= words
    return Averaged(so_far[2], so_far[1])


def _with_tile(
    tape: Tape, s: Step, v: Expression, so_far: tuple[Step, ...], numbers: tuple[float, float]
) -> tuple[Step, Step, Step]:
    """Record and return m, l and O after a tile; `so_far` are those before it, if it has some.

    `numbers` are the base and the temperature of the powers.
    """
    largest = tape.record("m", RunningMax((s, *so_far[:1])))
    shift = Finite(largest)
    powers = tape.record("P", ShiftedExp(s, *numbers, shift), why=POWER)
    total: Expression = Sum(powers, ALONG_KEYS)
    mixed: Expression = MatMul(powers, v)
    if so_far:
        old, sums, outputs = so_far
        by = tape.record("rescale", ShiftedExp(old, *numbers, shift), why=RESCALED)
        total, mixed = Add(Rescaled(sums, by), total), Add(Rescaled(outputs, by), mixed)
    sums = tape.record("l", total, why=TOTAL)
    return largest, sums, tape.record("O", mixed, symbol="O", why=MIXED)
