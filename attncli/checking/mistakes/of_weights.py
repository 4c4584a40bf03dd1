"""Mistakes between the scores and the output: in the weights, the weighted sums, and the heads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from attncli.core.attention.normalizers import Unblocked
from attncli.core.attention.scores import MergeHeads, RepeatHeads, SplitHeads
from attncli.core.attention.softmax import Exp, Sum
from attncli.core.attention.weights import ADJUSTED
from attncli.core.calculation.mistake import (
    Changes,
    Nodes,
    is_mixture,
    is_named,
    made_by,
    made_of,
    mistake,
    negative,
    rewritten_steps,
    wrong,
)
from attncli.core.calculation.trace import Trace
from attncli.core.problem.keys import KINDS
from attncli.core.records import replace
from attncli.core.tape.evaluation import array_of, everywhere, rewritten, sources, walk
from attncli.core.tape.operations import Add, Divide, MatMul, Scale, Transposed
from attncli.core.tape.step import Expression, Operation, Step

DIVIDE_BY_SUM = "Divide each number by the sum of its {line}."


@mistake("{step} was calculated from {used}, not from {right}.")
def earlier_step_used(step: Step, trace: Trace) -> Changes:
    if not step.plain.startswith((*ADJUSTED, "exp")):
        return
    node = made_of(step)
    for name in node.fields if isinstance(node, Operation) else ():
        right = getattr(node, name)
        used = right
        while is_named(used, ADJUSTED) and isinstance(used.operation, Operation):
            used = used.operation.operands[0]
            if isinstance(used, Step):
                yield replace(node, **{name: used}), {"used": used.name, "right": right.name}


@mistake(
    "The weights were scaled, not the scores.", "Divide the scores by √d_k before the softmax."
)
def scaled_after_softmax(step: Step, trace: Trace) -> Changes:
    for scaled in trace if step.is_weights else ():
        scale = made_by(Scale, scaled)
        if scale and scaled.plain.startswith("scaled"):
            yield {scaled.name: scale.operand, step.name: replace(scale, operand=made_of(step))}


@mistake(
    "The softmax was taken over the wrong axis: the {shares} of each {other} sum to 1.",
    "Divide by the sum of each {line}: the {shares} of each {one} sum to 1.",
)
def softmax_over_queries(node: Sum | Divide) -> Nodes:
    if isinstance(node, Sum):
        yield Transposed(replace(node, along=_other_axis(node.along)))
    elif total := made_by(Sum, node.divisor):
        yield replace(node, divisor=replace(total, along=_other_axis(total.along)))


@mistake(
    "The softmax was taken over the whole matrix at once.", "Divide each {line} by its own sum."
)
def softmax_over_all(node: Sum | Divide) -> Nodes:
    if isinstance(node, Sum):
        yield Sum(node, _other_axis(node.along))
    elif total := made_by(Sum, node.divisor):
        yield replace(node, divisor=Sum(total, _other_axis(total.along)))


def _other_axis(along: int) -> int:
    return -3 - along  # the axes are −1 and −2


@mistake("The numbers were not divided by the sum of their {line}.", DIVIDE_BY_SUM)
def not_normalized(node: Divide | MatMul) -> Nodes:
    division = node if isinstance(node, Divide) else made_by(Divide, node.left)
    if division and made_by(Sum, division.divisor):
        yield division.dividend if division is node else replace(node, left=division.dividend)


@mistake(
    "The scores were taken as they are: no e^ was calculated.",
    "Take e^ of every score, then divide by the sum of the {line}.",
)
def not_exponentiated(node: Exp | Divide) -> Nodes:
    if isinstance(node, Exp):
        yield tempered(node)
    elif (power := made_by(Exp, node.dividend)) and (total := made_by(Sum, node.divisor)):
        yield Divide(tempered(power), Sum(tempered(power), total.along))


def tempered(power: Exp) -> Expression:
    """Return scores divided by the temperature, 0 where they are blocked."""
    scores = Unblocked(power.operand)
    return Scale(scores, over=power.temperature) if power.temperature != 1 else scores


@mistake("The values were mixed by the scores: there was no softmax.")
def scores_as_weights(node: MatMul) -> Nodes:
    division = made_by(Divide, node.left)
    if division and (power := made_by(Exp, division.dividend)):
        yield replace(node, left=tempered(power))


@mistake("The softmax was taken twice.", "Take it once: after it every {line} sums to 1.")
def softmax_twice(node: Divide) -> Nodes:
    if total := made_by(Sum, node.divisor):
        powers = [Exp(node)]
        if (first := made_by(Exp, node.dividend)) and (first.base, first.temperature) != (np.e, 1):
            powers.append(Exp(node, first.base, first.temperature))
        for again in powers:
            yield Divide(again, Sum(again, total.along))


@mistake("The temperature was left out.")
def temperature_missing(node: Exp) -> Nodes:
    if node.temperature != 1:
        yield replace(node, temperature=1.0)


@mistake("The scores were multiplied by the temperature.", "Divide by it: {formula}.")
def temperature_inverted(node: Exp) -> Nodes:
    if node.temperature != 1:
        yield replace(node, temperature=1 / node.temperature)


@mistake(
    "The weights were divided by the temperature, not the scores.",
    "Divide the scores by the temperature, before the softmax.",
)
def temperature_on_weights(step: Step, trace: Trace) -> Changes:
    division = made_by(Divide, step)
    power = division and made_by(Exp, division.dividend)
    if division and isinstance(division.dividend, Step) and power and power.temperature != 1:
        weights = Scale(division, over=power.temperature)
        yield {division.dividend.name: replace(power, temperature=1.0), step.name: weights}


@mistake("Powers of {used} were taken, not of {right}.", of=Exp)
def wrong_base(step: Step, trace: Trace) -> Changes:
    power = made_by(Exp, step)
    for base in (2.0, 10.0, np.e):
        if power and base != power.base:
            used, right = ("e" if b == np.e else f"{b:g}" for b in (base, power.base))
            yield replace(power, base=base), {"used": used, "right": right}


@mistake(
    "The exponents have the wrong sign: −s was taken, not s.",
    "Calculate {formula}: the largest score gets the largest weight.",
)
def exponent_sign(node: Exp) -> Nodes:
    yield replace(node, operand=negative(node.operand))


@mistake(
    "The weights are transposed: rows and columns have changed places.",
    "Let every query mix the values by its own weights.",
)
def attention_transposed(step: Step, trace: Trace) -> Changes:
    """Aᵀ for A, in the step itself or where it is used."""
    if step.is_weights and len(step.trailing) == 2:
        yield Transposed(made_of(step))

    def rule(node: Expression) -> Nodes:
        if is_mixture(node):
            yield replace(node, left=Transposed(node.left))

    yield from rewritten(made_of(step), rule)


@mistake("The weights were multiplied by {used}, not by the values.", of=MatMul)
def input_instead_of_values(step: Step, trace: Trace) -> Changes:
    """Weights · X for weights · V; the input cut into heads where there are several."""
    node = made_of(step)
    if not is_mixture(node):
        return
    inputs = [trace.inputs[name] for name in ("X", "memory") if name in trace.inputs]
    if KINDS[trace.problem.kind].has_layers and "V" in trace.steps:
        inputs += [one for one in sources(trace.steps["V"]) if one.operation is not None]
    # In pooling, and between two sentences, an input itself is what is mixed.
    for other in (one for one in inputs if one is not node.right):
        if "head" in step.leading:
            cut = SplitHeads(other, trace.problem.heads)
            yield replace(node, right=cut), {"used": other.name}
        yield replace(node, right=other), {"used": other.name}


@mistake("The weights were multiplied by {used}, not by the values.", of=MatMul)
def keys_instead_of_values(step: Step, trace: Trace) -> Changes:
    """Weights · K for weights · V; of a pooling, weights · hidden."""
    return _other_values(step, "K", "hidden")


@mistake("The weights were multiplied by {used}, not by the values.", of=MatMul)
def queries_instead_of_values(step: Step, trace: Trace) -> Changes:
    return _other_values(step, "Q")


def _other_values(step: Step, *names: str) -> Changes:
    node = made_of(step)
    if not is_mixture(node):
        return
    for name in names:
        for other in walk(node.left, into_steps=True):
            if isinstance(other, Step) and other.plain == name:
                shared = node.right if isinstance(node.right, RepeatHeads) else None
                is_whole = shared and other.array.shape[1] == array_of(shared).shape[1]
                right = replace(shared, operand=other) if shared and not is_whole else other
                yield replace(node, right=right), {"used": name}


@mistake("This is the mean of the values: every key got the same weight.")
def equal_weights(node: MatMul) -> Nodes:
    if is_mixture(node):
        yield replace(node, left=wrong(lambda a: np.full(a.shape, 1 / a.shape[-1]), node.left))


@mistake("The input was added, as in a transformer block.", "Attention ends with {formula}.")
def input_added(step: Step, trace: Trace) -> Changes:
    if step.plain == "output" and "X" in trace.inputs:
        yield Add(made_of(step), trace.inputs["X"])


@mistake(
    "{step} is transposed: rows and columns have changed places.",
    "A token keeps its place through every step.",
)
def step_transposed(step: Step, trace: Trace) -> Changes:
    # A vector may be a row or a column; but each row is divided by its own sum.
    least = 1 if step.plain.startswith("sum") else 2
    is_matrix = len(step.trailing) == 2 and min(step.array.shape[-2:]) >= least
    if is_matrix and not step.plain.startswith(("scores", "weights")):
        yield Transposed(made_of(step))


PIECES = "A head is a contiguous piece of every row: the first d_k features are head 1."

_of_heads = partial(mistake, of=SplitHeads | MergeHeads)


@mistake(
    "Neighbouring features went to different heads.", PIECES, of=SplitHeads | MergeHeads | MatMul
)
def heads_interleaved(step: Step, trace: Trace) -> Changes:
    """Also below Q, K and V as a whole: in all steps that take a head of them, or in one."""
    yield from other_heads(step, trace, split_in_turns, merged_in_turns)

    def heads_of(one: Step) -> dict[Expression, Expression]:
        taken = [x for x in sources(one) if is_named(x, ("Q", "K", "V"))]
        return {x: wrong(in_turns, x) for x in taken if x.array.shape[1] > 1}

    every = trace if trace.problem.heads > 1 and heads_of(step) else ()
    products = [one for one in every if heads_of(one) and made_of_product(one)]
    if step in products:
        change = {one.name: everywhere(made_of(one), heads_of(one)) for one in products}
        if step is products[0]:
            yield change
        yield change[step.name]


@_of_heads("The numbers were filled into the heads line by line, as reshape does.", PIECES)
def heads_reshaped(step: Step, trace: Trace) -> Changes:
    """The axes of heads and tokens were not exchanged, as is needed before or after a reshape."""
    return other_heads(step, trace, split_by_lines, merged_by_lines)


def other_heads(
    step: Step, trace: Trace, split: Callable[..., Any], merged: Callable[[Any], Any]
) -> Changes:
    """Yield changes of how heads are split or merged: in this step; in Q, K and V; everywhere."""

    def rule(node: Expression) -> Nodes:
        if isinstance(node, SplitHeads):
            yield wrong(partial(split, heads=node.heads), node.operand)
        elif isinstance(node, MergeHeads):
            yield wrong(merged, node.operand)

    yield from rewritten(made_of(step), rule)
    change = rewritten_steps(trace, ("Q", "K", "V", "concat", "output"), rule)
    cut = {name: other for name, other in change.items() if name in ("Q", "K", "V")}
    if len(cut) > 1 and step.name == next(iter(cut)):  # or it would be tried three times
        yield cut
        yield change


def split_by_lines(array: Any, heads: int) -> Any:
    """(batch, 1, n, h·d) → (batch, h, n, d), every number in its order."""
    batch, _, n, width = array.shape
    return array.reshape(batch, heads, n, width // heads)


def merged_by_lines(array: Any) -> Any:
    """(batch, h, n, d) → (batch, 1, n, h·d), every number in its order."""
    batch, heads, n, width = array.shape
    return array.reshape(batch, 1, n, heads * width)


def split_in_turns(array: Any, heads: int) -> Any:
    """Feature i to head i modulo the number of heads: (batch, 1, n, h·d) → (batch, h, n, d)."""
    batch, _, n, width = array.shape
    return np.moveaxis(array.reshape(batch, n, width // heads, heads), 3, 1)


def merged_in_turns(array: Any) -> Any:
    """The first feature of every head, then the second: (batch, h, n, d) → (batch, 1, n, h·d)."""
    batch, heads, n, width = array.shape
    return np.moveaxis(array, 1, 3).reshape(batch, 1, n, heads * width)


def made_of_product(step: Step) -> bool:
    """Return True for a step that multiplies matrices, and does not only turn or norm them."""
    return any(isinstance(node, MatMul) for node in walk(made_of(step)))


def in_turns(heads: Any) -> Any:
    """(batch, h, n, d) → the same, with the features of all heads side by side cut in turns."""
    batch, count, n, size = heads.shape
    return split_in_turns(np.moveaxis(heads, 1, 2).reshape(batch, 1, n, count * size), count)


@mistake(
    "The query heads take the key/value heads in turns.",
    "Neighbouring query heads share a key/value head.",
)
def shared_heads_alternate(node: RepeatHeads) -> Nodes:
    yield wrong(lambda array: np.concatenate([array] * node.times, axis=1), node.operand)


@mistake("The heads are in the wrong order.", "Head 1 comes first.")
def heads_in_wrong_order(node: MergeHeads) -> Nodes:
    yield MergeHeads(wrong(lambda array: np.flip(array, axis=1), node.operand))


@mistake("Head {head} was left out.", "Put all heads side by side.", of=MergeHeads | MatMul)
def head_missing(step: Step, trace: Trace) -> Changes:
    heads = trace.problem.heads

    def without(node: Expression, head: int) -> Nodes:
        def dropped(array: Any) -> Any:
            width = array.shape[-1]
            return array * np.where(np.arange(width) // (width // heads) == head, 0.0, 1.0)

        if isinstance(node, MergeHeads):
            yield wrong(dropped, node)
        elif isinstance(node, MatMul) and is_named(node.right, "W_o"):
            yield replace(node, left=wrong(dropped, node.left))

    for head in range(heads if heads > 1 else 0):
        for other in rewritten(made_of(step), partial(without, head=head)):
            yield other, {"head": str(head + 1)}


@mistake("The heads were added up.", "Put them side by side: their features stay apart.")
def heads_summed(node: MergeHeads) -> Nodes:
    yield wrong(lambda array: array.sum(axis=1, keepdims=True), node.operand)


@mistake("This is the mean of the heads.", "Put them side by side: their features stay apart.")
def heads_averaged(node: MergeHeads) -> Nodes:
    yield wrong(lambda array: array.sum(axis=1, keepdims=True) / array.shape[1], node.operand)


@mistake("The product with W_o was left out.")
def w_o_missing(node: Add | MatMul) -> Nodes:
    product = node.left if isinstance(node, Add) else node
    if isinstance(product, MatMul) and is_named(product.right, "W_o"):
        yield product.left
