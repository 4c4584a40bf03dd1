"""Mistakes in the positions of tokens."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from attncli.attention.biases import AddedByPlace, LookedUp
from attncli.attention.positions import Angles, Embedded, Rotated, Sinusoids
from attncli.checking.mistakes.mistake import Changes, Nodes, mistake, wrong
from attncli.checking.mistakes.nodes import made_by, made_of
from attncli.mechanisms.trace import Trace
from attncli.records import EMPTY, replace
from attncli.tape.derivatives import Subtract
from attncli.tape.operations import Add, MatMul, Scale
from attncli.tape.step import Expression, Step
from attncli.tape.walk import array_of, rewritten, transform

BASES = (10.0, 100.0, 1e3, 1e4, 1e5, 5e5, 1e6)
"""Bases that textbooks and models use."""

PAIRS = {"neighbours": "each with its neighbour", "halves": "one of each half"}


def _changed(
    step: Step, trace: Trace, kinds: Any, rule: Callable[[Any], Any], words: Any = EMPTY
) -> Changes:
    """Yield a change of a step, and one of all steps like it, as of queries and of keys."""
    if isinstance(step.operation, kinds):
        like = type(step.operation)
        every = {s.name: rule(s.operation) for s in trace if type(s.operation) is like}
        yield {step.name: every[step.name]}, words
        if len(every) > 1:
            yield every, words


def _with_waves(step: Step, trace: Trace, kinds: Any, name: str, *values: Any) -> Changes:
    """Yield a step with another base, start or pairing."""
    right = getattr(getattr(step.operation, "waves", None), name, None)
    for value in (value for value in values if value != right):
        used, known = (PAIRS.get(str(x)) or f"{x:.12g}" for x in (value, right or 0))

        def other(made: Any, value: Any = value) -> Any:
            return replace(made, waves=replace(made.waves, **{name: value}))

        yield from _changed(step, trace, kinds, other, {"used": used, "right": known})


@mistake("Sine and cosine were exchanged.", "Calculate the sine first: sin 0 = 0, and cos 0 = 1.")
def sine_and_cosine_exchanged(step: Step, trace: Trace) -> Changes:
    yield from _changed(step, trace, Sinusoids, lambda m: replace(m, functions=("cos", "sin")))
    yield from _changed(step, trace, Rotated, lambda m: replace(m, angles=_complement(m.angles)))


def _complement(angles: Expression) -> Expression:
    return wrong(lambda numbers: pi / 2 - numbers, angles)


@mistake("Positions were counted from {used}.", "Count them from {right}.")
def positions_from_another_start(step: Step, trace: Trace) -> Changes:
    return _with_waves(step, trace, Sinusoids | Angles, "start", 1, 0)


@mistake("The exponent of the base was halved.", "Pair j has the exponent 2j/d, and j from 0.")
def exponent_halved(step: Step, trace: Trace) -> Changes:
    if isinstance(step.operation, Sinusoids | Angles):
        root = step.operation.waves.base**0.5
        yield from _with_waves(step, trace, Sinusoids | Angles, "base", root)


@mistake("The base of the angles was {used}.", "Take the base {right}.")
def another_base(step: Step, trace: Trace) -> Changes:
    return _with_waves(step, trace, Sinusoids | Angles, "base", *BASES)


@mistake("Every feature has an angle of its own.", "The sine and the cosine of a pair share one.")
def pairs_not_shared(node: Sinusoids) -> Nodes:
    single = replace(node.waves, size=2 * node.waves.size)
    is_sine = np.arange(node.waves.size) % 2 == 0

    def own(rows: Any) -> Any:
        angles = single.angles(rows.shape[-2])[None, None]
        return np.where(is_sine, np.sin(angles), np.cos(angles))

    if node.waves.pairs == "neighbours":
        yield wrong(own, node.operand, ranges=lambda rows: type(rows)(own(rows), own(rows)))


@mistake("Other features were paired: {used}.", "Pair {right}.")
def other_pairs(step: Step, trace: Trace) -> Changes:
    return _with_waves(step, trace, Sinusoids | Rotated, "pairs", *PAIRS)


@mistake(
    "The pairs were turned the wrong way.", "Calculate x cos θ − y sin θ, then x sin θ + y cos θ."
)
def angle_negative(step: Step, trace: Trace) -> Changes:
    return _changed(step, trace, Rotated, lambda made: replace(made, back=not made.back))


@mistake("The positions were left out.", "Calculate {formula}.")
def positions_missing(step: Step, trace: Trace) -> Changes:
    kinds = Embedded | Rotated | AddedByPlace
    return _changed(step, trace, kinds, lambda made: made.operands[0])


@mistake(
    "The values were turned, too.", "Turn only queries and keys: values are mixed as they are."
)
def values_rotated(step: Step, trace: Trace) -> Changes:
    turned = made_by(Rotated, trace["K_rotated"]) if "K_rotated" in trace else None
    if turned and trace["V"].array.shape[-1] >= turned.waves.size:
        other = replace(turned, operand=trace["V"])
        made = transform(made_of(step), lambda part: other if part.name == "V" else part)
        if made is not step.operation:
            yield {step.name: made}, {}


@mistake("The positions were added after the projection.", "Add them to X: {formula}.")
def positions_after_projection(step: Step, trace: Trace) -> Changes:
    def later(node: Expression) -> Nodes:
        whole = made_by(Embedded, node.left) if isinstance(node, MatMul) else None
        if whole and isinstance(node, MatMul):
            product = replace(node, left=whole.left)
            if array_of(product).shape[-1] == array_of(whole.right).shape[-1]:
                yield Add(product, whole.right)

    for made in rewritten(made_of(step), later):
        yield {step.name: made}, {}


@mistake("What is added for the distance has the wrong sign.", "Calculate {formula}.")
def distance_sign(node: AddedByPlace) -> Nodes:
    yield Subtract(Scale(node.operand, times=2.0), node)


@mistake(
    "The slope of another head was used.", "Of 8 heads, head 1 has the slope 1/2, head 8 1/256."
)
def slopes_of_other_heads(node: AddedByPlace) -> Nodes:
    if (right := node.rule.slopes) is not None:
        h = np.arange(len(right))
        for slopes in (right[::-1], 2.0 ** -(h + 1), 2.0 ** (-8 * h / len(h))):
            if not np.array_equal(slopes, right):
                yield replace(node, rule=replace(node.rule, slopes=slopes))


@mistake("The distance was taken from key to query.", "Look up j − i: what is later is positive.")
def distance_reversed(node: LookedUp) -> Nodes:
    yield replace(node, table=wrong(lambda table: table[..., ::-1], node.table))
