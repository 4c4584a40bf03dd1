"""Attention over many tokens as one line of a calculation, without the n × m steps before it.

The numbers are those of `tile_loop`; any score function, mask and normaliser will do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attncli.arithmetic.elements import Array
from attncli.attention.heads import RepeatHeads
from attncli.attention.masks import is_kept
from attncli.attention.normalizers import tell_of_shift
from attncli.attention.scores import SCORES
from attncli.attention.weights import (
    ADJUSTED,
    Rules,
    adjust,
    adjustments,
    score,
    score_operation,
    tell_of_blocked,
    weights_of,
)
from attncli.errors import fail
from attncli.notation.tree import Formula, Listed, Phrase, Words
from attncli.records import replace
from attncli.tape.operations import MIXED, MatMul, Transposed
from attncli.tape.step import Expression, Operation, Step, notation_of
from attncli.tape.tape import Tape
from attncli.tape.walk import array_of

if TYPE_CHECKING:
    from attncli.tiles.tile_loop import TileScores, Tiling

MANY_SCORES = 2**18
"""Number of scores from which tiles are used: 2 MiB for each step in double precision."""

TILED = {"Q", "K", "V", "weights", "context", "concat", "output", "attentional"}
"""The steps that can be read where the n × m steps, but for the weights, are not kept."""

MASK_ROWS = 256
"""Number of rows of a mask that are looked at together."""


def is_tiled(tape: Tape, q: Step, k: Step, rules: Rules) -> bool:
    """Return whether scores are so many that tiles are used, and every wanted step allows it."""
    if (
        tape.wanted is None
        or not tape.wanted <= {*TILED, "scores", *ADJUSTED}
        or tape.settle is not None
    ):
        return False
    if rules.normalize.axis != "keys":  # over the queries, each weight depends on all of them
        return False
    if "weights" in tape.wanted and rules.normalize.name == "none":  # the scores are the weights
        return False
    batch, heads, n, _ = q.array.shape
    count: int = max(batch, len(k.array)) * heads * n * k.array.shape[-2]
    return count >= MANY_SCORES


class Tiled(Operation):
    """What attention by tiles makes of queries, keys and values."""

    parts: tuple[Step, ...]
    axes: tuple[str, str]
    formula: Formula
    path: str  # how it was calculated, in words
    why = MIXED

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.parts

    @property
    def trailing(self) -> tuple[str, ...]:
        return self.axes

    def apply(self, *arrays: Array) -> Array:
        """The tile loop gives the numbers, and no other elements go through it."""
        message = "this step cannot be worked again, as the steps before it were not kept"
        raise fail(message, hint="compute every step, without `only`")

    def notation(self, columns: bool) -> Formula:
        return self.formula


def attend(
    tape: Tape, q: Step, k: Step, v: Step, rules: Rules, name: str, symbol: str = "Z"
) -> Step:
    """Record the weighted values as the step `name`, and what is wanted of scores and weights.

    Args:
        tape: also takes the warnings.
        q: queries (…, heads, n, d_q).
        k: keys (…, kv_heads, m, d_k); query head i reads head i · kv_heads // heads.
        v: values (…, kv_heads, m, d_v).
        rules: how scores become weights, over the keys.
        name: the name of the step.
        symbol: the letter that papers use for it.

    Raises:
        InputError: for a number that floats cannot hold, or scores that have no weights.
    """
    from attncli.tiles.tile_loop import TileLoop, tiling_of  # few problems are so large

    _record_scores(tape, q, k, rules)
    queries, keys, scores_of, depth = _scoring(tape, q, k, rules)
    bias = () if rules.bias is None else (rules.bias,)
    dtype = np.result_type(queries, keys, v.array, *bias)
    queries, keys, values = (a.astype(dtype, copy=False) for a in (queries, keys, v.array))
    if rules.bias is not None:
        rules = replace(rules, bias=rules.bias.astype(dtype, copy=False))
    keeps_weights = "weights" in (tape.wanted or ())
    is_whole = keeps_weights or not _can_be_summed(values, rules)
    rows = _Rows(tape, _adjusted(rules, q, k), rules) if is_whole else None
    tiling = tiling_of(queries, keys, depth, is_whole)
    try:
        weights_of = None if rows is None else rows.weights
        sides = queries, keys, values
        loop = TileLoop(*sides, rules, tiling, scores_of, weights_of, keeps_weights)
        found = loop.result()
    except FloatingPointError as beyond:
        raise tape.too_large(str(beyond)) from None
    tell_of_blocked(tape, found.blocked, q.trailing[-2], rules.normalize)
    if found.is_beyond:
        tell_of_shift(tape, _adjusted(rules, q, k), rules.normalize)
    path = _path(tiling)
    if rows is not None:
        for warning in sorted(rows.warnings):
            tape.warn(warning)
    if rows is not None and found.weights is not None:
        made = Tiled((q, k), (q.trailing[-2], k.trailing[-2]), rows.formula(), path)
        tape.record("weights", made, symbol="A", array=found.weights)
    of_q, *others = (notation_of(step, tape.columns) for step in (q, k, v))
    attention = Phrase((Words("attention of"), of_q))
    formula = Listed((attention, *others, Words("some queries at a time")))
    made = Tiled((q, k, v), (q.trailing[-2], v.trailing[-1]), formula, path)
    return tape.record(name, made, symbol=symbol, array=found.output)


def _record_scores(tape: Tape, q: Step, k: Step, rules: Rules) -> None:
    """Record the scores if they are wanted, or are the operand of an adjusted step that is."""
    wanted = tape.wanted or frozenset()
    if not wanted & {"scores", *ADJUSTED}:
        return
    times = q.array.shape[1] // k.array.shape[1]
    is_adjusted = not wanted.isdisjoint(ADJUSTED)
    kept = 1 + is_adjusted * adjustments(rules) + ("weights" in wanted)
    scores = score(tape, q, RepeatHeads(k, times) if times > 1 else k, rules, kept=kept)
    if is_adjusted:
        adjust(tape, scores, rules)


def _can_be_summed(v: Array, rules: Rules) -> bool:
    """Whether e^s · v, with e^s up to 1, may be summed over a row before it is divided."""
    most = max(float(v.max()), -float(v.min())) * v.shape[-2]
    return rules.normalize.name == "softmax" and most < float(np.finfo(v.dtype).max)


def _path(tiling: Tiling) -> str:
    rows = f"{tiling.rows} query row{'s'[: tiling.rows != 1]} at a time"
    on = f" on {tiling.threads} threads" if tiling.threads > 1 else ""
    return f"streamed, {rows}{on}; the n × m steps are not kept"


def _scoring(
    tape: Tape, q: Step, k: Step, rules: Rules
) -> tuple[Array, Array, TileScores | None, int]:
    """Return how to calculate the scores of a tile.

    Returns:
        Two arrays with a row for each query and each key, the function of rows that gives their
        scores (None for dot products), and how many numbers a score takes on the way.
    """
    if not any("hidden" in parameter.shape for parameter in SCORES[rules.score].parameters):
        # Of all rows, so that what is refused is named by its place.
        made = score_operation(Tape(tape.labels, tape.columns), q, k, rules)
        if isinstance(made, MatMul) and isinstance(made.right, Transposed):
            try:
                return array_of(made.left), array_of(made.right.operand), None, 1
            except FloatingPointError as beyond:
                raise tape.too_large("scores", *beyond.args) from None

    def scores_of(queries: Array, keys: Array) -> Array:
        tile = Tape()
        given = tile.given("Q", queries, ("query", "feature"))
        return score(tile, given, tile.given("K", keys, ("key", "feature")), rules).array

    sizes = (size for value in rules.parameters.values() for size in np.shape(value))
    depth = max([q.array.shape[-1] + k.array.shape[-1], *sizes])
    return q.array, k.array, scores_of, depth


def _adjusted(rules: Rules, q: Step, k: Step) -> str:
    """Return the name of the step that is normalised."""
    n, m = q.array.shape[-2], k.array.shape[-2]
    parts = (slice(start, min(start + MASK_ROWS, n)) for start in range(0, n, MASK_ROWS))
    if any(is_kept(rules.mask, n, m, part) is not None for part in parts):
        return "masked"
    if rules.bias is not None and rules.bias.any():
        return "biased"
    if rules.softcap is not None:
        return "capped"
    return "scores" if rules.scale is None else "scaled"


class _Rows:
    """Weights of whole rows of scores, by the row of the table of normalisers.

    Attributes:
        warnings: those of any tile.
    """

    def __init__(self, tape: Tape, adjusted: str, rules: Rules) -> None:
        self.columns, self.adjusted, self.rules = tape.columns, adjusted, rules
        self.warnings: set[str] = set()

    def weights(self, scores: Array, first: int) -> Array:
        """Return the weights of scores (rows, m), of which the first row has that number."""
        tape = Tape(columns=self.columns)
        tape.first = first
        found: Array = array_of(self._normalized(tape, scores))[0, 0]
        self.warnings.update(tape.warnings)
        return found

    def formula(self) -> Formula:
        """Return how the weights are made."""
        bias = self.rules.bias
        blocks = self.adjusted == "masked" or (bias is not None and (bias == -np.inf).any())
        sample = np.array([[1.0, -np.inf if blocks else 1.0]])
        made = self._normalized(Tape(columns=self.columns), sample)
        return notation_of(made.operation or made, self.columns)

    def _normalized(self, tape: Tape, scores: Array) -> Step:
        given = tape.given(self.adjusted, scores[None, None], ("query", "key"))
        made = weights_of(tape, given, self.rules)
        return made if isinstance(made, Step) else tape.record("weights", made, symbol="A")
