"""From queries and keys to weights, step by step, as every mechanism does it.

Each line is one line of the textbook, and each goes through the tape. A step that changes
nothing is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.biases import AddedByPlace, AtDistances, ByPlace
from attncli.core.attention.masks import Mask, Masked, kept
from attncli.core.attention.normalizers import NORMALIZERS
from attncli.core.attention.parameters import Normalize, Parameter
from attncli.core.attention.scores import SCORES
from attncli.core.formulas.tree import Formula
from attncli.core.records import EMPTY, Record
from attncli.core.tape.operations import Add, Scale, SoftCap
from attncli.core.tape.step import LEADING, Expression, Operation, Step
from attncli.core.tape.tape import Tape
from attncli.core.tape.walk import array_of
from attncli.core.text.escapes import visible


class Factor(Record):
    """The factor of the scores, times / over as for `Scale`, and its formula."""

    times: float
    over: float
    symbol: Formula
    value: Formula | None = None


class Rules(Record, eq=False):
    """How scores come about and become weights; arrays are (batch, head, row, column)."""

    score: str = "scaled_dot"  # a key of `SCORES`
    parameters: Mapping[str, Array | float] = EMPTY  # the score function's own
    scale: Factor | None = None  # None where it is 1
    softcap: float | None = None  # c of c·tanh(s/c), or None
    bias: Array | None = None  # added to the scores, broadcasting to (batch, head, n, m), or None
    mask: Mask = EMPTY  # what may be attended to
    normalize: Normalize = Normalize()  # how scores become weights
    qk_norm: Mapping[str, Any] = EMPTY  # the norm of queries and keys, and its parameters
    positions: Mapping[str, Any] = EMPTY  # parameters by the rows of `POSITIONS`, and arrays
    by_place: tuple[ByPlace, ...] = ()  # what is added to the scores beside the bias


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
    given = [p for p in row.parameters if p.name in values]
    parameters = {p.name: _parameter(tape, p, values[p.name]) for p in given}
    return row.build(tape, q, k, parameters)


def steps_of_scores(rules: Rules) -> int:
    """Return the largest number of steps with n × m numbers, from the scores to the weights."""
    normalized = {"none": 0, "softmax": 2}.get(rules.normalize.name, 1)
    return 1 + adjustments(rules) + normalized


def adjustments(rules: Rules) -> int:
    """Return the largest number of steps between the scores and what is normalised."""
    is_biased = rules.by_place or rules.bias is not None
    return sum(map(bool, (rules.scale, rules.softcap, is_biased, rules.mask)))


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
        biased = Add(s, _given(tape, "bias", rules.bias))
    n, m = s.array.shape[-2:]
    for rule in rules.by_place:
        if rule.key:
            table = _given(tape, rule.key, rules.positions["table"], ("distance",))
            biased = Add(biased, AtDistances(table, (n, m), rule.shift))
        else:
            biased = AddedByPlace(biased, rule)
    s = tape.record("biased", biased) if biased is not s else s
    keep = kept(rules.mask, n, m)
    if keep is not None:
        keep = np.broadcast_to(keep, (*keep.shape[:2], n, m))  # with a row for each query
        mask = _given(tape, "mask", keep.astype(s.array.dtype))
        s = tape.record("masked", Masked(s, mask))
    return s


def normalize(tape: Tape, s: Expression, rules: Rules) -> Step:
    """Record `exp`, `sum` and `weights`, and warn of lines of which every cell is blocked."""
    array, settings = array_of(s), rules.normalize
    if array.min() == -np.inf:
        blocked = np.argwhere((array == -np.inf).all(axis=settings.along))
        axis = s.trailing[-2 if settings.axis == "keys" else -1]
        tell_of_blocked(tape, {int(place[-1]) for place in blocked}, axis, settings)
    return weights_of(tape, s, rules)


def weights_of(tape: Tape, s: Expression, rules: Rules) -> Step:
    """Record `exp`, `sum` and `weights`; with no normalising, the scores are the weights."""
    made = NORMALIZERS[rules.normalize.name].build(tape, s, rules.normalize)
    if isinstance(made, Operation):
        return tape.record("weights", made, symbol="A")
    return made


def _parameter(tape: Tape, parameter: Parameter, value: Array | float) -> Step | float:
    """Return a parameter, on the tape once although a recurrent network uses it at every time."""
    if isinstance(value, float):
        return value
    name, key = parameter.name, f"score.{parameter.name}"
    if (known := tape.input_of(key)) is not None:
        return known
    # Pooling has a W of its own, and a recurrent network a b.
    shown = key if name in tape.inputs else name
    is_matrix = len(parameter.shape) == 2
    trailing = ("hidden", "feature") if is_matrix else ("hidden",)
    return tape.given(shown, value, trailing, as_written=is_matrix, key=key)


def _given(
    tape: Tape, key: str, array: Array, trailing: tuple[str, ...] = ("query", "key")
) -> Step:
    """Put an array of the problem on the tape, once."""
    if (known := tape.input_of(key)) is not None:
        return known
    sizes = zip(LEADING, array.shape[:2], strict=True)
    leading = tuple(name for name, size in sizes if size > 1)
    return tape.given(key.rpartition(".")[2], array, trailing, leading, key=key)


def tell_of_blocked(tape: Tape, blocked: set[int], axis: str, settings: Normalize) -> None:
    """Warn of places along an axis, of queries or keys, of which every cell is blocked."""
    if not blocked:
        return
    places, labels = sorted(blocked), tape.labels.get(axis, ())
    names = [visible(labels[p]) if p < len(labels) else str(p + 1) for p in places[:3]]
    shown = ", ".join(names) + (", …" if len(places) > 3 else "")
    also = ", and so is its output" if settings.axis == "keys" else ""
    tape.warn(f"every cell of {axis} {shown} is blocked: its weights are 0{also}")
