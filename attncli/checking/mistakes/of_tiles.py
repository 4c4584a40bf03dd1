"""Mistakes in softmax by tiles of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attncli.checking.mistakes.mistake import (
    Changes,
    Nodes,
    is_named,
    made_by,
    made_of,
    mistake,
    put,
    wrong,
)
from attncli.core.attention.online import Averaged, Finite, Rescaled, RunningMax
from attncli.core.attention.softmax import Exp, ShiftedExp, Sum
from attncli.core.mechanisms.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Hadamard, Subtract
from attncli.core.tape.evaluation import walk
from attncli.core.tape.operations import Add, Divide, MatMul, Scale, added
from attncli.core.tape.step import Expression, Step


def _in_tiles(
    step: Step, trace: Trace, stems: str, rule: Callable[[Step], Expression | None]
) -> Changes:
    """Yield a change of one step, and at the first that a rule changes, that of every tile.

    The rule is for steps of which the name before the number of the tile is one of `stems`.
    """
    alike = (one for one in trace if one.suffix and one.stem in stems.split())
    if not step.suffix or step.stem not in stems.split() or (change := rule(step)) is None:
        return
    yield {step.name: change}, {}
    if next(one.name for one in alike if rule(one) is not None) == step.name:
        others = {one.name: other for one in alike if (other := rule(one)) is not None}
        if others:
            yield {step.name: change, **others}, {}


def _rescaled(step: Step) -> Iterator[Rescaled]:
    yield from (node for node in walk(made_of(step)) if isinstance(node, Rescaled))


@mistake("The sum so far was not rescaled.", "Calculate {formula}.")
def tile_sum_not_rescaled(step: Step, trace: Trace) -> Changes:
    return _in_tiles(step, trace, "l", _without_factor)


@mistake("The output so far was not rescaled.", "Calculate {formula}.")
def tile_output_not_rescaled(step: Step, trace: Trace) -> Changes:
    return _in_tiles(step, trace, "O", _without_factor)


def _without_factor(step: Step) -> Expression | None:
    return next((put(made_of(step), node, node.left) for node in _rescaled(step)), None)


@mistake("Nothing was rescaled for the new maximum.", "Calculate {formula}.")
def tile_not_rescaled(step: Step, trace: Trace) -> Changes:
    """The factor is 1, for the sum and the output."""
    return _in_tiles(step, trace, "rescale", lambda one: wrong(lambda x: x * 0 + 1, made_of(one)))


@mistake(
    "The factor is upside down: e^(new m − old m) was taken, not e^(old m − new m).",
    "Earlier powers shrink: calculate {formula}.",
)
def tile_rescaled_by_inverse(step: Step, trace: Trace) -> Changes:
    """In the factor, or only where it is used, as the paper of FlashAttention-2 prints it."""
    for stem, rule in (("rescale", _inverse), ("l", _divided), ("O", _divided)):
        yield from _in_tiles(step, trace, stem, rule)


def _inverse(step: Step) -> Expression:
    def inverse(x: Any) -> Any:
        return np.where(x > 0, 1 / np.where(x > 0, x, 1), 0.0)  # of 0, where all were blocked

    factor = made_of(step)
    return wrong(inverse, factor, ranges=lambda x: type(x)(inverse(x.high), inverse(x.low)))


def _divided(step: Step) -> Expression | None:
    nodes = _rescaled(step)
    return next((put(made_of(step), n, Divide(n.left, n.right)) for n in nodes), None)


@mistake(
    "The largest score of this tile alone was taken.", "An earlier one may be larger: {formula}."
)
def tile_maximum_alone(step: Step, trace: Trace) -> Changes:
    return _in_tiles(step, trace, "m", _of_tile)


def _of_tile(largest: Step) -> RunningMax | None:
    """Return the largest score of a tile alone, if there are tiles before it."""
    node = made_by(RunningMax, largest)
    return replace(node, parts=node.parts[:1]) if node and node.parts[1:] else None


@mistake(
    "The factor was made with the largest score of this tile alone, not with the largest so far.",
    "Calculate {formula}.",
)
def tile_rescaled_to_own_maximum(step: Step, trace: Trace) -> Changes:
    def own_or_running(own: Any, running: Any) -> Any:
        return np.where(own == -np.inf, running, own)  # nothing changes if a tile is blocked

    def rule(one: Step) -> Expression | None:
        power = made_by(ShiftedExp, one)
        own = _of_tile(_largest(power)) if power else None
        if not power or not own:
            return None
        return _less(power, wrong(own_or_running, own, _largest(power)))

    return _in_tiles(step, trace, "rescale", rule)


def _largest(power: ShiftedExp) -> Step:
    """Return the step of the largest score, which is subtracted in a power."""
    assert isinstance(power.shift, Finite)
    assert isinstance(power.shift.operand, Step)
    return power.shift.operand


def _less(power: ShiftedExp, largest: Expression) -> Exp:
    """Return a power of scores less another number, which may be smaller than they."""
    return Exp(Subtract(power.operand, Finite(largest)), power.base, power.temperature)


@mistake("The largest score was not subtracted.", "Calculate {formula}.")
def tile_maximum_not_subtracted(step: Step, trace: Trace) -> Changes:
    def rule(one: Step) -> Expression | None:
        power = made_by(ShiftedExp, one)
        return power and Exp(power.operand, power.base, power.temperature)

    return _in_tiles(step, trace, "P", rule)


@mistake(
    "The largest score of the earlier tiles was subtracted, not the new one.",
    "Calculate {formula}.",
)
def tile_earlier_maximum(step: Step, trace: Trace) -> Changes:
    def rule(one: Step) -> Expression | None:
        power = made_by(ShiftedExp, one)
        newest = made_by(RunningMax, _largest(power)) if power else None
        if not power or not newest or not newest.parts[1:]:
            return None
        return _less(power, newest.parts[1])

    return _in_tiles(step, trace, "P", rule)


@mistake("What the earlier tiles gave was left out.", "Calculate {formula}.")
def tile_earlier_left_out(step: Step, trace: Trace) -> Changes:
    """In the sum, in the output, or in both."""
    for stems in ("l", "O", "l O"):
        yield from _in_tiles(step, trace, stems, _new)


def _new(step: Step) -> Expression | None:
    node = made_of(step)
    return node.right if isinstance(node, Add) and isinstance(node.left, Rescaled) else None


@mistake("The output was divided by the sum of the last tile.", "Calculate {formula}.")
def tile_divided_by_last_sum(node: Averaged) -> Nodes:
    if (total := made_by(Add, node.divisor)) and isinstance(node.divisor, Step):
        yield replace(node, divisor=total.right)


@mistake("The output was not divided by the sum of all powers.", "Calculate {formula}.")
def tile_not_divided(node: Averaged) -> Nodes:
    yield node.dividend


@mistake(
    "O was divided by the sum so far already in this tile.", "Divide once, after the last tile."
)
def tile_divided_each(step: Step, trace: Trace) -> Changes:
    """In a tile, in all or in all before the last; or in all, and then not again."""

    def rule(one: Step) -> Expression | None:
        total = trace.steps.get(f"l{one.suffix}")
        return total and Divide(made_of(one), total)

    for change, words in _in_tiles(step, trace, "O", rule):
        yield change, words
        *earlier, last = (one for one in trace if one.name in change)
        for averaged in (one for one in trace if isinstance(one.operation, Averaged) and earlier):
            yield {one.name: change[one.name] for one in earlier}, words
            yield {**change, averaged.name: last}, words


@mistake(
    "Each tile had a softmax of its own, and the results were added.",
    "The sum of all tiles divides: {formula}.",
)
def tile_softmax_of_its_own(step: Step, trace: Trace) -> Changes:
    """The results of the tiles added, or their mean."""
    if not isinstance(step.operation, Averaged):
        return
    powers = [one for one in trace if one.stem == "P" and one.suffix]
    outputs = [trace.steps[f"O{one.suffix}"] for one in powers]
    products = [next(n for n in walk(made_of(o)) if isinstance(n, MatMul)) for o in outputs]
    results = [Divide(n, Sum(p, -1)) for n, p in zip(products, powers, strict=True)]
    if results[1:]:
        yield {step.name: added(results)}, {}
        yield {step.name: Scale(added(results), over=float(len(results)))}, {}


@mistake("The derivative was not rescaled.", "Calculate {formula}.", backward=True)
def tile_derivative_not_rescaled(node: Hadamard) -> Nodes:
    if is_named(node.right, "rescale"):
        yield node.left
