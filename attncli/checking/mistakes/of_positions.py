"""Mistakes in the positions of tokens: what is added or turned for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.angles import PAIRS, Waves
from attncli.core.attention.position_operations import (
    Angles,
    AtDistances,
    BiasAdded,
    Embedded,
    Frequencies,
    OfAngles,
    Rotated,
    Sinusoids,
)
from attncli.core.calculation.mistake import (
    Changes,
    Nodes,
    made_by,
    made_of,
    mistake,
    negative,
    wrong,
)
from attncli.core.calculation.trace import Trace
from attncli.core.records import EMPTY, replace
from attncli.core.tape.evaluation import Change, array_of, transform
from attncli.core.tape.operations import Add, MatMul, Scale
from attncli.core.tape.step import Expression, Step

BASES = (10.0, 100.0, 1e3, 1e4, 1e5, 5e5, 1e6)
"""Bases that textbooks and models use."""

PLACED = Sinusoids | Angles  # the operations that number tokens

_waved = partial(mistake, of=PLACED | Frequencies | OfAngles | Rotated)


def _changed(
    step: Step, trace: Trace, kinds: Any, rule: Callable[[Any], Any], words: Any = EMPTY
) -> Changes:
    if isinstance(step.operation, kinds):
        yield rule(step.operation), words
        like = type(step.operation)
        yield {s.name: rule(s.operation) for s in trace if type(s.operation) is like}, words


def with_waves(
    step: Step, trace: Trace, kinds: Any, field: str, others: Callable[[Any], Iterable[Any]]
) -> Changes:
    """Yield other values of a field of the waves; `others` gives them for the right one."""
    right = getattr(step.operation.waves, field) if isinstance(step.operation, kinds) else None
    for value in () if right in (None, ()) else others(right):
        if value != right:

            def other(node: Any, value: Any = value) -> Any:
                return replace(node, waves=replace(node.waves, **{field: value}))

            used, wanted = (
                f"{x:.12g}" if isinstance(x, int | float) else str(x) for x in (value, right)
            )
            words = {"used": used, "right": wanted, field: used, f"right_{field}": wanted}
            yield from _changed(step, trace, kinds, other, words)


@mistake("The positions were left out.", of=Embedded | BiasAdded | Rotated | Add)
def positions_left_out(step: Step, trace: Trace) -> Changes:
    yield from _changed(step, trace, Embedded | BiasAdded, lambda m: m.operands[0])
    node = step.operation
    if isinstance(node, Rotated):
        yield _not_turned(trace, "QK")
    if isinstance(node, Add) and (step.plain == "embedded" or isinstance(node.right, AtDistances)):
        yield node.left


def _not_turned(trace: Trace, letters: str) -> Change:
    every = ((s, made_by(Rotated, s)) for s in trace if s.plain[0] in letters)
    return {s.name: rotated.operand for s, rotated in every if rotated}


@_waved("Only the {turned} were turned, not the {left}.", "Turn queries and keys: {formula}.")
def one_side_turned(step: Step, trace: Trace) -> Changes:
    if made_by(Rotated, step):
        turned, left = ("keys", "queries") if step.plain[0] == "Q" else ("queries", "keys")
        yield _not_turned(trace, step.plain[0]), {"turned": turned, "left": left}


class InDegrees(Waves):
    """Waves whose angles are taken as degrees, though they are radians."""

    def of(self, function: str, angles: Array) -> Array:
        return super().of(function, np.radians(angles))


@_waved("The angles were taken as degrees.", "The angles are radians: cos 1 is 0.5403.")
def degrees_for_radians(step: Step, trace: Trace) -> Changes:
    def in_degrees(node: Any) -> Any:
        return replace(node, waves=InDegrees(**vars(node.waves)))

    return _changed(step, trace, Sinusoids | OfAngles, in_degrees)


@mistake("What is added for the distance has the wrong sign.")
def sign_of_position_bias(node: BiasAdded | AtDistances) -> Nodes:
    yield negative(node) if isinstance(node, AtDistances) else _added(node, np.negative)


@mistake("The distance was not multiplied by the slope.")
def slope_forgotten(node: BiasAdded) -> Nodes:
    if np.all(slopes := node.rule.names.get("slope", 0.0)):
        yield _added(node, lambda numbers: numbers / np.reshape(slopes, (-1, 1, 1)))


@mistake("The slopes went to the wrong heads.", "Take them in order: the first is for head 1.")
def slopes_exchanged(node: BiasAdded) -> Nodes:
    if np.size(node.rule.names.get("slope", 0.0)) > 1:
        yield _added(node, lambda numbers: numbers[::-1])


def _added(node: BiasAdded, function: Callable[[Array], Array]) -> Expression:
    numbers = function(node.numbers(*array_of(node).shape[1:]))
    return wrong(lambda scores: scores + numbers, node.operand)


@mistake("The table was read from its other end, at i − j.", "The first number is for j − i = −k.")
def table_reversed(node: AtDistances) -> Nodes:
    yield wrong(lambda table: node.apply(table[..., ::-1]), node.table)


@_waved("Sine and cosine were exchanged.", "Look them up again: sin 0 = 0, and cos 0 = 1.")
def sine_and_cosine_exchanged(step: Step, trace: Trace) -> Changes:
    yield from _changed(step, trace, Sinusoids, lambda m: replace(m, functions=("cos", "sin")))
    yield from _changed(step, trace, Rotated, lambda m: replace(m, cos=m.sin, sin=m.cos))


@_waved("Positions were counted from {used}.", "Count them from {right}.")
def positions_from_another_start(step: Step, trace: Trace) -> Changes:
    return with_waves(step, trace, PLACED, "start", lambda _: (1, 0))


@_waved("The base of the angles was {used}.", "Take the base {right}.")
def another_base(step: Step, trace: Trace) -> Changes:
    return with_waves(step, trace, PLACED | Frequencies, "base", lambda _: BASES)


@_waved("The pairs were {used}.", "Pair {right}.")
def other_pairs(step: Step, trace: Trace) -> Changes:
    return with_waves(step, trace, Sinusoids | Rotated, "pairs", lambda _: PAIRS)


@_waved(
    "The pairs were turned the wrong way.", "Calculate x cos θ − y sin θ, then x sin θ + y cos θ."
)
def angle_negative(step: Step, trace: Trace) -> Changes:
    return _changed(step, trace, Rotated, lambda rotated: replace(rotated, back=not rotated.back))


@mistake(
    "The values were turned, too.", "Turn only queries and keys: values are mixed as they are."
)
def values_rotated(step: Step, trace: Trace) -> Changes:
    turned = made_by(Rotated, trace["K_rotated"]) if "K_rotated" in trace else None
    if turned and trace["V"].array.shape[-1] >= turned.waves.size:
        other = replace(turned, operand=trace["V"])
        mixture = transform(made_of(step), lambda part: other if part.plain == "V" else part)
        if mixture is not step.operation:
            yield mixture


@mistake("The positions were added after the projection.", "Add them to X: {formula}.")
def positions_after_projection(node: MatMul) -> Nodes:
    if whole := made_by(Embedded, node.left):
        product = replace(node, left=whole.left)
        if array_of(product).shape[-1] == array_of(whole.right).shape[-1]:
            yield Add(product, whole.right)


@_waved("The frequencies were not scaled.")
def scaling_left_out(step: Step, trace: Trace) -> Changes:
    return _with_scaling(step, trace, lambda right: replace(right, factor=1.0))


def _with_scaling(
    step: Step, trace: Trace, other: Callable[[Any], Any], kind: Any = Frequencies
) -> Changes:
    return with_waves(step, trace, kind, "scaling", lambda right: [other(right)])


@_waved("The frequencies were multiplied by the factor.", "Divide them: longer texts turn slower.")
def multiplied_by_scaling_factor(step: Step, trace: Trace) -> Changes:
    return _with_scaling(step, trace, lambda right: replace(right, factor=1 / right.factor))


@_waved("All pairs were scaled alike.", "The share γ of each pair stays as it is: {formula}.")
def pairs_scaled_alike(step: Step, trace: Trace) -> Changes:
    return _with_scaling(step, trace, lambda right: replace(right, kind="linear"))


@_waved("The attention factor was left out.", "Multiply each cosine and sine by it.")
def attention_factor_left_out(step: Step, trace: Trace) -> Changes:
    return _with_scaling(step, trace, lambda right: replace(right, attention_factor=1.0), OfAngles)


@mistake(
    "The scores were multiplied by the attention factor once.",
    "Multiply cosines and sines by it, those of queries and of keys: the scores have it twice.",
)
def attention_factor_of_scores(step: Step, trace: Trace) -> Changes:
    turned = made_by(Rotated, trace["K_rotated"]) if "K_rotated" in trace else None
    factor = float(turned.waves.amplitude) if turned else 1.0
    if step.plain == "scores" and step.operation and factor != 1:
        yield Scale(step.operation, over=factor)


@_waved("The tokens were numbered one after the other.", "Take the position of each from `ids`.")
def ids_left_out(step: Step, trace: Trace) -> Changes:
    def counted(ids: Any) -> Iterable[Any]:
        for start in (0, 1):
            yield tuple(tuple(range(start, start + len(row))) for row in ids)

    return with_waves(step, trace, PLACED, "ids", counted)


@_waved("The positions were read from the other end.", "The first of `ids` is of the first token.")
def ids_reversed(step: Step, trace: Trace) -> Changes:
    return with_waves(step, trace, PLACED, "ids", lambda ids: [tuple(row[::-1] for row in ids)])


@_waved("1 was added to or taken from each of `ids`.", "They are the positions as they are.")
def ids_shifted(step: Step, trace: Trace) -> Changes:
    def shifted(ids: Any) -> Iterable[Any]:
        for by in (1, -1):
            yield tuple(tuple(place + by for place in row) for row in ids)

    return with_waves(step, trace, PLACED, "ids", shifted)


@_waved("Pairs took their positions from another row of `ids`.", "Take the rows by `sections`.")
def sections_exchanged(step: Step, trace: Trace) -> Changes:
    return with_waves(step, trace, PLACED, "ids", permutations)
