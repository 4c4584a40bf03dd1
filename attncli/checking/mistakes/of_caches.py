"""Mistakes with norms of queries and keys, with positive features, and with caches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from attncli.attention.masks import Masked
from attncli.attention.norms import Length, RootMeanSquare
from attncli.attention.scores import EluPlusOne
from attncli.checking.mistakes.mistake import Changes, mistake, wrong
from attncli.checking.mistakes.nodes import made_of, rewritten_steps
from attncli.mechanisms.trace import Trace
from attncli.records import replace
from attncli.tape.operations import Divide, Multiply
from attncli.tape.step import Expression, Operation, Step

OTHER_SIDE = str.maketrans("QKqk", "KQkq")
"""The letters of queries and keys in names of steps, exchanged."""


def _in_both(
    step: Step, trace: Trace, kind: type[Operation], rule: Callable[..., Iterable[Expression]]
) -> Changes:
    """Yield a change of a step of queries or keys, and the same change of both."""

    def changed(node: Expression) -> Iterator[Expression]:
        yield from rule(node) if isinstance(node, kind) else ()

    if own := rewritten_steps(trace, [step.name], changed):
        names = (step.name, step.name.translate(OTHER_SIDE))
        yield own, {}
        yield rewritten_steps(trace, names, changed), {}


def _divided(node: Divide, instead: Callable[[Divide], Expression]) -> Iterable[Expression]:
    return [instead(node)] if isinstance(node.divisor, Length) else []


@mistake("The vectors were not divided by their norm.", "Calculate {formula}.")
def norm_missing(step: Step, trace: Trace) -> Changes:
    return _in_both(step, trace, Divide, lambda node: _divided(node, lambda n: n.dividend))


@mistake("The vectors were divided by the square of their norm.", "Take the root: {formula}.")
def norm_not_rooted(step: Step, trace: Trace) -> Changes:
    def squared(node: Divide) -> Expression:
        return replace(node, divisor=wrong(lambda norm: norm * norm, node.divisor))

    return _in_both(step, trace, Divide, lambda node: _divided(node, squared))


@mistake(
    "The vectors were divided by their length, not by the root of the mean square.",
    "Divide the sum of squares by how many there are before the root: {formula}.",
)
def length_for_mean(step: Step, trace: Trace) -> Changes:
    return _in_both(step, trace, RootMeanSquare, lambda node: [Length(node.operand)])


@mistake("The gain was left out.", "Multiply by it: {formula}.")
def gain_missing(step: Step, trace: Trace) -> Changes:
    return _in_both(step, trace, Multiply, lambda node: [node.left])


@mistake("φ was left out.", "Take φ(x) = elu(x) + 1 of every number: {formula}.")
def phi_missing(step: Step, trace: Trace) -> Changes:
    return _in_both(step, trace, EluPlusOne, lambda node: [node.operand])


@mistake("The 1 was not added to elu(x).", "φ(x) = elu(x) + 1 is x + 1 above 0, and e^x below.")
def elu_without_one(step: Step, trace: Trace) -> Changes:
    return _in_both(step, trace, EluPlusOne, lambda node: [wrong(lambda phi: phi - 1, node)])


@mistake(
    "The new token was not in the cache: only earlier tokens were attended to.",
    "Append the new key and value to the cache first; a token attends to itself, too.",
)
def cache_without_new_token(step: Step, trace: Trace) -> Changes:
    """The scores of new keys blocked, if there are earlier ones; in `decode` those of each time."""
    if step.name.startswith("scores") and trace.problem.rules.normalize.name == "softmax":
        change: dict[str, Expression] = {}
        for scores in (one for one in trace if one.name.startswith("scores")):
            keys = scores.array.shape[-1]
            earlier = keys - 1 if trace.problem.kind == "decode" else trace.problem.sizes.size("p")
            if earlier:
                change[scores.name] = _first_alone(made_of(scores), earlier, keys)
        if step.name in change:
            yield change, {}


def _first_alone(scores: Expression, count: int, keys: int) -> Masked:
    keep = (np.arange(keys) < count).astype(float)[None, None, None]
    return Masked(scores, wrong(lambda _: keep, scores))
