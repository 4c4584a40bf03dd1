"""From queries and keys to weights, step by step, as every mechanism does it.

Each line is one line of the textbook, and each goes through the tape. A step that changes
nothing is left out. Of many tokens, attention is one line, without the n × m steps before it: the
numbers are those of `tile_loop`; any score function, mask and normaliser will do.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from attncli.core.arithmetic.elements import Array, are_floats
from attncli.core.arithmetic.floats import Outline, outline
from attncli.core.arithmetic.machine import one_blas_thread
from attncli.core.attention.masks import Mask, Masked, is_kept
from attncli.core.attention.normalizers import NORMALIZERS, tell_of_shift
from attncli.core.attention.parameters import Normalize, Rules
from attncli.core.attention.scores import SCORES, RepeatHeads
from attncli.core.errors import fail
from attncli.core.formulas.tree import Formula, Listed, Phrase, Words
from attncli.core.records import replace
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import MIXED, Add, MatMul, Scale, SoftCap, Transposed
from attncli.core.tape.step import LEADING, Expression, Operation, Step, notation_of
from attncli.core.tape.tape import TakeRows, Tape
from attncli.core.text.strings import visible

if TYPE_CHECKING:
    from attncli.core.attention.tile_loop import TileScores


def score(
    tape: Tape, q: Expression, k: Expression, rules: Rules, trailing: tuple[str, ...] = ()
) -> Step:
    """Record `scores` of q (…, n, d_q) and k (…, m, d_k), and the hidden layer if there is one.

    `trailing` names the axes of the scores where they are not the queries' and keys' rows.

    Raises:
        InputError: for a cosine of a zero vector.
    """
    operation = score_operation(tape, q, k, rules)
    return tape.record("scores", operation, trailing, symbol="S")


def score_operation(tape: Tape, q: Expression, k: Expression, rules: Rules) -> Operation:
    """Return the operation that makes the scores; a hidden layer before it is recorded."""
    row, values = SCORES[rules.score], rules.parameters
    is_matrix = {p.name: len(p.shape) == 2 for p in row.parameters if p.name in values}
    parameters = {name: _parameter(tape, name, values[name], x) for name, x in is_matrix.items()}
    return row.build(tape, q, k, parameters)


def steps_of_scores(rules: Rules) -> int:
    """Return the largest number of steps with n × m numbers, from the scores to the weights."""
    is_biased = rules.by_place or rules.bias is not None
    adjustments = sum(map(bool, (rules.scale, rules.softcap, is_biased, rules.mask)))
    normalized = {"none": 0, "softmax": 2}.get(rules.normalize.name, 1)
    return 1 + adjustments + normalized


ADJUSTED = ("scaled", "capped", "biased", "masked")
"""The steps between the scores and the scores that are normalised, in this order."""


def adjust(tape: Tape, scores: Step, rules: Rules) -> Step:
    """Record the steps `ADJUSTED` of scores (…, n, m), where they change any."""
    s = scores
    if (factor := rules.scale) is not None:
        operation = Scale(s, factor.times, factor.over, factor.symbol, factor.value)
        s = tape.record("scaled", operation)
    if rules.softcap is not None:
        s = tape.record("capped", SoftCap(s, rules.softcap))
    biased: Expression = s
    if rules.bias is not None and rules.bias.any():
        biased = Add(s, _put(tape, "bias", rules.bias))
    n, m = s.array.shape[-2:]
    for rule in rules.by_place:
        from attncli.core.attention.position_operations import AtDistances, BiasAdded

        if rule.key:
            table = _put(tape, rule.key, rules.positions["table"], ("distance",))
            biased = Add(biased, AtDistances(table, (n, m), rule.shift))
        else:
            biased = BiasAdded(biased, rule)
    s = tape.record("biased", biased) if biased is not s else s
    is_outline = isinstance(s.array, Outline)
    keep = (_first_blocking if is_outline else is_kept)(rules.mask, n, m)
    if keep is not None:
        shape = *keep.shape[:2], n, m  # with a row for each query
        keep = outline(shape, float) if is_outline else np.broadcast_to(keep, shape)
        mask = _put(tape, "mask", keep.astype(s.array.dtype))
        has_reason = "when" in rules.mask and "shown" not in rules.mask
        s = tape.record("masked", Masked(s, mask, rules.mask if has_reason else {}))
    return s


def _first_blocking(mask: Mask, n: int, m: int) -> Array | None:
    parts = (slice(start, min(start + MASK_ROWS, n)) for start in range(0, n, MASK_ROWS))
    return next((one for part in parts if (one := is_kept(mask, n, m, part)) is not None), None)


def normalize(tape: Tape, s: Expression, rules: Rules) -> Step:
    """Record `exp`, `sum` and `weights`, and warn of lines of which every cell is blocked."""
    warn_of_blocked(tape, s, rules)
    return weights_of(tape, s, rules)


def warn_of_blocked(tape: Tape, s: Expression, rules: Rules) -> None:
    array, settings = array_of(s), rules.normalize
    if array.min() == -np.inf:
        blocked = np.argwhere((array == -np.inf).all(axis=settings.along))
        if len(s.trailing) < 2 and len(blocked):  # the scores of one query alone, at its time
            name = s.word if isinstance(s, Step) else "scores"
            tape.warn(f"every cell of {name} is blocked: its weights are 0, and so is its output")
            return
        axis = ("query", *s.trailing)[-2 if settings.axis == "keys" else -1]
        tell_of_blocked(tape, {int(place[-1]) for place in blocked}, axis, settings)


def weights_of(tape: Tape, s: Expression, rules: Rules) -> Step:
    """Record `exp`, `sum` and `weights`; with no normalising, the scores are the weights."""
    weights = NORMALIZERS[rules.normalize.name].build(tape, s, rules.normalize)
    if isinstance(weights, Operation):
        return tape.record("weights", weights, symbol="A")
    return weights


def _parameter(tape: Tape, name: str, value: Array | float, is_matrix: bool) -> Step | float:
    if isinstance(value, float):
        return value
    key = f"score.{name}"
    shown = key if name in tape.inputs else name  # pooling has another W, a recurrent network a b
    trailing = ("hidden", "feature") if is_matrix else ("hidden",)
    return tape.put(shown, value, trailing, as_written=is_matrix, key=key)


def _put(tape: Tape, key: str, array: Array, trailing: tuple[str, ...] = ("query", "key")) -> Step:
    sizes = zip(LEADING, array.shape[:2], strict=True)
    leading = tuple(name for name, size in sizes if size > 1)
    return tape.put(key.rpartition(".")[2], array, trailing, leading, key=key)


def tell_of_blocked(tape: Tape, blocked: set[int], axis: str, settings: Normalize) -> None:
    """Warn of places along an axis, of queries or keys, of which every cell is blocked."""
    if not blocked:
        return
    places, labels = sorted(blocked), tape.labels.get(axis, ())
    names = [visible(labels[p]) if p < len(labels) else str(p + 1) for p in places[:3]]
    shown = ", ".join(names) + (", …" if len(places) > 3 else "")
    also = ", and so is its output" if settings.axis == "keys" else ""
    tape.warn(f"every cell of {axis} {shown} is blocked: its weights are 0{also}")


MANY_SCORES = 2**18
"""Number of scores from which tiles are used: 2 MiB for each step in double precision."""

TILED = {"Q", "K", "V", "weights", "context", "concat", "output", "attentional"}
"""The steps that can be read if the n × m steps, but for the weights, are not kept."""

MASK_ROWS = 256
"""Number of rows of a mask that are looked at together."""


def is_tiled(tape: Tape, q: Step, k: Step, rules: Rules) -> bool:
    """Return whether scores are so many that tiles are used, and every wanted step allows it."""
    if tape.wanted is None or not tape.wanted <= {*TILED, *tape.steps, "scores", *ADJUSTED}:
        return False
    if tape.settle is not None or rules.normalize.axis != "keys":
        return False  # over the queries, each weight depends on all of them
    is_named_otherwise = rules.normalize.name == "none"  # as the scores are the weights
    if "weights" in tape.wanted and (is_named_otherwise or rules.tile):
        return False
    batch, heads, n, _ = q.array.shape
    return max(batch, len(k.array)) * heads * n * k.array.shape[-2] >= MANY_SCORES


class Tiled(Operation):
    """Attention by tiles, or the weights of it."""

    parts: tuple[Step, ...]
    axes: tuple[str, str]
    formula: Formula
    path: str  # how it was calculated, in words
    rules: Rules
    why = MIXED

    @property
    def trailing(self) -> tuple[str, ...]:
        return self.axes

    def apply(self, *arrays: Array) -> Array:
        """Return the numbers by tiles; raise an InputError for arrays that hold no floats."""
        if not all(isinstance(array, np.ndarray) and are_floats(array) for array in arrays):
            message = "this step cannot be worked again, as the steps before it were not kept"
            raise fail(message, hint="compute every step, without `only`")
        name = "output" if arrays[2:] else "weights"
        tape = Tape(wanted=frozenset([name]))
        pairs = zip("QKV", arrays, self.parts, strict=False)
        q, k, *v = [tape.put(key, array, one.trailing, one.leading) for key, array, one in pairs]
        attend(tape, q, k, v[0] if v else k, self.rules, "output")
        return tape.steps[name].array

    def notation(self, columns: bool) -> Formula:
        return self.formula


def attend(
    tape: Tape, q: Step, k: Step, v: Step, rules: Rules, name: str, symbol: str = "Z"
) -> Step:
    """Record the weighted values as the step `name`, and those scores and weights that are wanted.

    Queries are (…, heads, n, d_q), keys (…, kv_heads, m, d_k), values (…, kv_heads, m, d_v).

    Raises:
        InputError: for a number that floats cannot hold, or scores that have no weights.
    """
    from attncli.core.attention.tile_loop import TileLoop, tiling_of  # few problems are so large

    _record_scores(tape, q, k, rules)
    queries, keys, scores_of, depth = _scoring(tape, q, k, rules)
    arrays = (a for a in (rules.bias, rules.normalize.parameters.get("sink")) if a is not None)
    dtype = np.result_type(queries, keys, v.array, *arrays)
    queries, keys, values = (a.astype(dtype, copy=False) for a in (queries, keys, v.array))
    if rules.bias is not None:
        rules = replace(rules, bias=rules.bias.astype(dtype, copy=False))
    take_rows, weights = _taker(tape, queries, keys)
    # e^s · v, with e^s up to 1, can be summed over a row before it is divided, if floats hold that.
    most = max(float(values.max()), -float(values.min())) * values.shape[-2]
    can_be_summed = rules.normalize.name == "softmax" and most < float(np.finfo(dtype).max)
    needs_rows = take_rows is not None or not can_be_summed
    adjusted = _adjusted(rules, q, k) if needs_rows else ""
    warnings: set[str] = set()

    def row_weights(scores: Array, head: int, first: int) -> Array:
        part = Tape(columns=tape.columns)
        part.first = first
        weights = _normalized(part, adjusted, scores, _of_head(rules, head)).array[0, 0]
        warnings.update(part.warnings)
        return weights

    tiling = tiling_of(queries, keys, depth, needs_rows)
    if is_in_order := tape.take_rows is not None:
        tiling = replace(tiling, threads=1)
    weights_of = row_weights if needs_rows else None
    loop = TileLoop(queries, keys, values, rules, tiling, scores_of, weights_of, take_rows)
    try:
        with one_blas_thread() if is_in_order else nullcontext():
            loop.run()
    except FloatingPointError as beyond:
        raise tape.too_large(str(beyond)) from None
    tape.has_weights_taken = take_rows is not None and weights is None
    tell_of_blocked(tape, loop.blocked, q.trailing[-2], rules.normalize)
    if loop.is_beyond:
        tell_of_shift(tape, _adjusted(rules, q, k), rules.normalize)
    for warning in sorted(warnings):
        tape.warn(warning)
    if weights is not None:
        formula = _formula_of_weights(tape, adjusted, rules)
        axes = (q.trailing[-2], k.trailing[-2])
        operation = Tiled((q, k), axes, formula, tiling.path, rules)
        tape.record("weights", operation, symbol="A", array=weights)
    of_q, *others = (notation_of(step, tape.columns) for step in (q, k, v))
    words = Phrase((Words("attention of"), of_q)), *others, Words("some queries at a time")
    axes = (q.trailing[-2], v.trailing[-1])
    operation = Tiled((q, k, v), axes, Listed(words), tiling.path, rules)
    return tape.record(name, operation, symbol=symbol, array=loop.output)


def _taker(tape: Tape, q: Array, k: Array) -> tuple[TakeRows | None, Array | None]:
    """Return what takes the weights, if they are wanted, and the array in which it keeps them."""
    if "weights" not in (tape.wanted or ()):
        return None, None
    if tape.take_rows is not None:
        return tape.take_rows, None
    shape = max(len(q), len(k)), q.shape[1], q.shape[-2], k.shape[-2]
    kept = np.empty_like(q, shape=shape)

    def keep(batch: int, head: int, rows: slice, weights: Array) -> None:
        kept[batch, head, rows] = weights

    return keep, kept


def _record_scores(tape: Tape, q: Step, k: Step, rules: Rules) -> None:
    """Record the scores if they are wanted, or are the operand of an adjusted step that is."""
    wanted = tape.wanted or frozenset()
    if not wanted & {"scores", *ADJUSTED}:
        return
    times = q.array.shape[1] // k.array.shape[1]
    scores = score(tape, q, RepeatHeads(k, times) if times > 1 else k, rules)
    if not wanted.isdisjoint(ADJUSTED):
        adjust(tape, scores, rules)


def _scoring(
    tape: Tape, q: Step, k: Step, rules: Rules
) -> tuple[Array, Array, TileScores | None, int]:
    """Return how to calculate the scores of a tile.

    Returns:
        Two arrays with a row for each query and each key, the function of rows that gives their
        scores (None for dot products), and how many numbers a score takes on the way.
    """
    if not any("hidden" in parameter.shape for parameter in SCORES[rules.score].parameters):
        # Of all rows, so that an error names the place of a row.
        operation = score_operation(Tape(tape.labels, tape.columns), q, k, rules)
        if isinstance(operation, MatMul) and isinstance(operation.right, Transposed):
            try:
                return array_of(operation.left), array_of(operation.right.operand), None, 1
            except FloatingPointError as beyond:
                raise tape.too_large("scores", *beyond.args) from None

    def scores_of(queries: Array, keys: Array) -> Array:
        tile = Tape()
        rows = tile.put("Q", queries, ("query", "feature"))
        return score(tile, rows, tile.put("K", keys, ("key", "feature")), rules).array

    sizes = (size for value in rules.parameters.values() for size in np.shape(value))
    depth = max([q.array.shape[-1] + k.array.shape[-1], *sizes])
    return q.array, k.array, scores_of, depth


def _adjusted(rules: Rules, q: Step, k: Step) -> str:
    n, m = q.array.shape[-2], k.array.shape[-2]
    if _first_blocking(rules.mask, n, m) is not None:
        return "masked"
    if rules.by_place or (rules.bias is not None and rules.bias.any()):
        return "biased"
    if rules.softcap is not None:
        return "capped"
    return "scores" if rules.scale is None else "scaled"


def _normalized(tape: Tape, adjusted: str, scores: Array, rules: Rules) -> Step:
    step = tape.put(adjusted, scores[None, None], ("query", "key"))
    return weights_of(tape, step, rules)


def _of_head(rules: Rules, head: int) -> Rules:
    sinks = rules.normalize.parameters.get("sink")
    if sinks is None or sinks.size == 1:
        return rules
    sink = {"sink": sinks[..., head : head + 1]}
    return replace(rules, normalize=replace(rules.normalize, parameters=sink))


def _formula_of_weights(tape: Tape, adjusted: str, rules: Rules) -> Formula:
    blocks = adjusted == "masked" or (rules.bias is not None and (rules.bias == -np.inf).any())
    sample = np.array([[1.0, -np.inf if blocks else 1.0]])
    weights = _normalized(Tape(columns=tape.columns), adjusted, sample, rules)
    return notation_of(weights.operation or weights, tape.columns)
