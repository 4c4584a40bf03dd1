"""Mistakes in what is chosen: another normaliser, other keys, other matrices to compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attncli.checking.mistakes.of_masks import with_mask
from attncli.checking.mistakes.of_scores import sigmoid
from attncli.checking.mistakes.of_weights import DIVIDE_BY_SUM, tempered
from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import Masked, is_kept
from attncli.core.attention.normalizers import NORMALIZERS, Hardmax, Sigmoid, Sparsemax, Unblocked
from attncli.core.attention.parameters import Normalize
from attncli.core.attention.scores import (
    SCORES,
    Cosine,
    GaussianExponent,
    PairDot,
    Pairs,
    RepeatHeads,
    SplitHeads,
)
from attncli.core.attention.softmax import Exp, ShiftedExp, Sum, WithSink, shifted
from attncli.core.calculation.mistake import (
    Changes,
    Nodes,
    is_named,
    is_projection,
    made_by,
    made_of,
    mistake,
    put,
    rewritten_steps,
    rising,
    uncut,
    wrong,
)
from attncli.core.calculation.mutations import passed_over
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.cell_names import place_word
from attncli.core.tape.evaluation import array_of, walk
from attncli.core.tape.operations import Below, Divide, MatMul, Scale, Transposed, dot
from attncli.core.tape.step import Expression, Operation, Step

# ---- the normaliser


@mistake("{used} was taken, not {right}.", "Take {right}: {rule}.")
def other_normalizer(step: Step, trace: Trace) -> Changes:
    """Weights by another row of the table; softmax without e^ is `not_exponentiated`."""
    if not step.is_weights:
        return
    settings = trace.problem.rules.normalize
    scores = _scores_of(made_of(step))
    for name, (build, used) in BUILT.items() if scores is not None else ():
        if name != settings.name and (settings.name, name) != ("softmax", "sum"):
            rule = NORMALIZERS[settings.name].formula
            yield build(scores, settings), {"used": used, "right": settings.name, "rule": rule}


def _scores_of(weights: Expression) -> Expression | None:
    if isinstance(weights, Divide):
        power = made_by(Exp, weights.dividend)
        weights = power or weights.dividend
    elif isinstance(weights, Scale):
        weights = weights.operand
    if isinstance(weights, Exp | Hardmax | Sigmoid | Sparsemax | Unblocked):
        return weights.operand
    return weights if isinstance(weights, Step) else None


def _softmax(scores: Expression, settings: Normalize) -> Expression:
    along = settings.along
    power = Exp(scores, settings.base, settings.temperature)
    power, _ = shifted(power, along, None)  # nothing overflows
    return Divide(power, Sum(power, along))


def _hardmax(scores: Expression, settings: Normalize) -> Expression:
    node = Hardmax(scores, settings.along)

    def ranges(numbers: Any) -> Any:
        """As of the operation; of several that read the same, a student takes the first."""
        ends, kind, along = node.bounds(numbers), type(numbers), settings.along
        least = numbers.low.max(axis=along, keepdims=True)
        most = numbers.high.max(axis=along, keepdims=True)
        is_open = ends.low != ends.high
        reads_the_same = (numbers.low == least) & (numbers.high == most)
        is_first = (~is_open | reads_the_same).all(axis=along, keepdims=True)
        first = node.apply(numbers.high)
        return kind(*(np.where(is_first, first, end) for end in (ends.low, ends.high)))

    return wrong(node.apply, scores, ranges=ranges)


def _by_sum(scores: Expression, settings: Normalize) -> Expression:
    return Divide(Unblocked(scores), Sum(Unblocked(scores), settings.along))


BUILT: dict[str, tuple[Callable[[Any, Normalize], Expression], str]] = {
    "softmax": (_softmax, "The softmax"),
    "hardmax": (_hardmax, "1 for the largest score and 0 for the others (hardmax)"),
    "sparsemax": (lambda s, rule: Sparsemax(s, rule.along, rule.temperature), "The sparsemax"),
    "sum": (_by_sum, "Each score divided by the sum of its line"),
    "none": (lambda scores, _: Unblocked(scores), "The score itself, without any normaliser,"),
}
"""The weights of each normaliser, and what a sentence calls them."""


sink_missing = passed_over(WithSink, "The sink was left out of the sum.")


@mistake("The sigmoid 1 / (1 + e^−s) of each score was taken.", DIVIDE_BY_SUM)
def sigmoid_for_softmax(node: Divide) -> Nodes:
    if (power := made_by(Exp, node.dividend)) and made_by(Sum, node.divisor):
        is_plain = (power.base, power.temperature) == (np.e, 1)
        times = float(np.log(power.base))
        scores = power.operand
        yield wrong(sigmoid, scores if is_plain else Scale(scores, times, power.temperature))


@mistake("The largest number of each {line} was taken, not its sum.", DIVIDE_BY_SUM)
def divided_by_largest(node: Sum | Divide) -> Nodes:
    return _with_divisor(
        node, lambda powers, along: rising(lambda a: a.max(axis=along, keepdims=True), powers)
    )


def _with_divisor(node: Sum | Divide, instead: Callable[[Expression, int], Expression]) -> Nodes:
    if isinstance(node, Divide):
        for total in _sums(node):
            yield replace(node, divisor=instead(node.dividend, total.along))
    elif made_by(Exp, node.operand):
        yield instead(node.operand, node.along)


def _sums(node: Divide) -> Iterator[Sum]:
    total = made_by(Sum, node.divisor)
    if total and made_by(Exp, node.dividend):
        yield total


@mistake(
    "Each number was divided by the sum of the others.",
    "Its own number counts: divide by the sum of the whole {line}.",
)
def divided_by_others(node: Divide) -> Nodes:
    def sum_of_others(numbers: Any) -> Any:
        others = numbers.sum(axis=along, keepdims=True) - numbers
        return np.where((numbers > 0).sum(axis=along, keepdims=True) > 1, others, 0.0)

    for along in (total.along for total in _sums(node)):
        if array_of(node.dividend).shape[along] > 1:
            yield replace(node, divisor=rising(sum_of_others, node.dividend))


@mistake("The root of the sum of squares of each {line} was taken, not its sum.", DIVIDE_BY_SUM)
def divided_by_length(node: Sum | Divide) -> Nodes:
    """The powers divided by their length, or the scores by theirs."""
    yield from _with_divisor(node, _length)
    if isinstance(node, Divide) and (power := made_by(Exp, node.dividend)):
        for total in _sums(node):
            yield Divide(tempered(power), _length(tempered(power), total.along))


def _length(numbers: Expression, along: int) -> Expression:
    return wrong(lambda a: np.sqrt((a * a).sum(axis=along, keepdims=True)), numbers)


@mistake(
    "The scores were added up before e^ was taken: this is e^(the sum), not the sum of e^.",
    "Take e^ of every score first, then add up the {line}.",
)
def sum_in_the_exponent(node: Sum | Divide) -> Nodes:
    def power_of_sum(powers: Expression, along: int) -> Expression:
        power = made_by(Exp, powers)
        assert power is not None  # by `_with_divisor`
        total = Sum(Unblocked(power.operand), along)
        return Exp(total, power.base, power.temperature)

    return _with_divisor(node, power_of_sum)


@mistake("e^0 was taken as 0.", "e^0 = 1, as of every number to the power of 0.")
def e_to_zero_is_zero(node: Exp) -> Nodes:
    """The mistake is seen only where a score is 0."""
    scores = node.operand
    if not isinstance(node, ShiftedExp) and isinstance(scores, Step) and (scores.array == 0).any():

        def ranges(written: Any) -> Any:
            power = node.bounds(written)
            is_zero = (written.low <= 0) & (written.high >= 0)
            return type(power)(*(np.where(is_zero, 0.0, end) for end in (power.low, power.high)))

        yield wrong(lambda s: np.where(s == 0, 0.0, node.apply(s)), scores, ranges=ranges)


# ---- keys that are padding

FIRST_ARE_REAL = "The first keys are real, as many as the length says; the others are padding."


@mistake("The first keys were taken as padding, not the last.", FIRST_ARE_REAL, of=Masked)
def padding_at_wrong_end(step: Step, trace: Trace) -> Changes:
    real, keys = _lengths(trace), np.arange(step.array.shape[-1])
    if real is not None:
        yield from _with_keys(step, trace, keys >= len(keys) - real)


@mistake("The key {blocked} was blocked, not {right}.", FIRST_ARE_REAL, of=Masked)
def wrong_key_blocked(step: Step, trace: Trace) -> Changes:
    """A real key blocked, and a padded one kept."""
    real, keys = _lengths(trace), np.arange(step.array.shape[-1])
    if real is None or real.size != 1:
        return
    length = int(real.item())
    for padded in keys[length:].tolist():
        for other in keys[:length].tolist():
            blocked, right = (place_word(step.labels, "key", key) for key in (other, padded))
            keep = ((keys < length) | (keys == padded)) & (keys != other)
            for masked in _with_keys(step, trace, keep):
                yield masked, {"blocked": blocked, "right": right}


def _lengths(trace: Trace) -> Array | None:
    real = trace.problem.rules.mask.get("lengths")
    return None if real is None else real.reshape(-1, 1, 1, 1)


def _with_keys(step: Step, trace: Trace, keep: Array) -> Iterator[Masked]:
    if masked := made_by(Masked, step):
        mask = {key: value for key, value in trace.problem.rules.mask.items() if key != "lengths"}
        others = is_kept(mask, *step.array.shape[-2:])
        yield with_mask(masked, keep if others is None else keep * others)


@mistake(
    "The rows of padded queries were blocked, too.", "A mask of lengths blocks keys, not queries."
)
def padded_queries_blocked(step: Step, trace: Trace) -> Changes:
    """−∞ in the rows of padded queries, or no weights; where queries and keys are the same."""
    real, (n, m) = _lengths(trace), step.array.shape[-2:]
    if real is None or n != m or trace.problem.kind != "self":
        return
    rows = (np.arange(n)[:, None] < real).astype(float)
    if masked := made_by(Masked, step):
        yield replace(masked, mask=wrong(lambda mask: mask * rows, masked.mask))
    elif step.plain == "weights":
        yield wrong(lambda weights: weights * rows, made_of(step))


# ---- queries and keys


@mistake("The queries were compared with the queries.", "Calculate {formula}: queries with keys.")
def queries_with_queries(step: Step, trace: Trace) -> Changes:
    for q, k in _projected_sides(step, trace):
        yield put(made_of(step), k, q)


@mistake("The keys were compared with the keys.", "Calculate {formula}: queries with keys.")
def keys_with_keys(step: Step, trace: Trace) -> Changes:
    for q, k in _projected_sides(step, trace):
        yield put(made_of(step), q, k)


@mistake(
    "The input was compared with itself, without W_q and W_k.", "Calculate {formula} from Q and K."
)
def inputs_with_inputs(step: Step, trace: Trace) -> Changes:
    """X Xᵀ for Q Kᵀ, or X memoryᵀ; the input cut into heads, or whole for every head."""
    inputs, heads = trace.inputs, trace.problem.heads
    for q, k in _projected_sides(step, trace, same_number=False) if "X" in inputs else ():
        used = [inputs["X"], inputs.get("memory", inputs["X"])]
        if [uncut(made_of(trace[name])) for name in "QK"] != used:
            for cut in (SplitHeads, RepeatHeads) if heads > 1 else (None,):
                one, other = (cut(x, heads) if cut else x for x in used)
                yield put(put(made_of(step), q, one), k, other)


def _projected_sides(
    step: Step, trace: Trace, same_number: bool = True
) -> list[tuple[Expression, Expression]]:
    """Return Q and K, as a step is made from them, if they are not the same matrix."""
    if not step.plain.startswith(("scores", "hidden")) or not {"Q", "K"} <= trace.steps.keys():
        return []
    q, k, sides = trace["Q"], trace["K"], _sides(made_of(step))
    is_like = not same_number or q.array.shape[-2] == k.array.shape[-2]
    is_pair = sides and is_named(sides[0], "Q") and q.operation is not k.operation and is_like
    return [sides] if sides and is_pair else []


@mistake("The scores are {used}, not {right}.")
def other_score_function(step: Step, trace: Trace) -> Changes:
    """Another row of the table, of those that need nothing but queries and keys."""
    scores, rules = made_of(step), trace.problem.rules
    if not step.plain.startswith("scores"):
        return
    hidden = scores.pairs if isinstance(scores, PairDot) else None
    sides = _sides(made_of(hidden) if isinstance(hidden, Step) else scores)
    if sides is None:
        return
    width = rules.parameters.get("width", 1.0)
    ways: dict[str, Operation] = {
        "dot": dot(*sides),
        "cosine": Cosine(*sides),
        "distance": GaussianExponent(*sides, float(width)),
    }
    right = "dot" if rules.score == "scaled_dot" else rules.score
    for name, other in ways.items():
        # Those two have mistakes of their own: `lengths_forgotten`, `projection_missing`.
        if name != right and (right, name) not in {("cosine", "dot"), ("general", "dot")}:
            yield other, {"used": SCORES[name].formula, "right": SCORES[right].formula}


def _sides(expression: Expression) -> tuple[Expression, Expression] | None:
    for node in walk(expression):
        if isinstance(node, Pairs):
            return _unprojected(node.q), _unprojected(node.k)
        if isinstance(node, MatMul) and isinstance(node.right, Transposed):
            k = node.right.operand
            if not is_projection(k):
                return _unprojected(node.left), k
    return None


def _unprojected(side: Expression) -> Expression:
    if not isinstance(side, MatMul):
        return side
    matrix = side.right.operand if isinstance(side.right, Transposed) else side.right
    return side.left if is_projection(matrix) else side


@mistake(
    "All weight matrices were transposed.",
    "Multiply by the matrices as they are written; programs often store them the other way.",
    steps=("Q", "K", "V"),
)
def all_weight_matrices_transposed(step: Step, trace: Trace) -> Changes:
    """W_q, W_k and W_v at once, and W_o."""

    def rule(node: Expression) -> Nodes:
        if isinstance(node, MatMul) and is_named(node.right, ("W_q", "W_k", "W_v", "W_o")):
            yield replace(node, right=Transposed(node.right))

    change = rewritten_steps(trace, ("Q", "K", "V", "output"), rule)
    before = {name: other for name, other in change.items() if name != "output"}
    if len(before) > 1 and step.name == next(iter(before)):  # or it would be tried three times
        yield change
        if "output" in change:
            yield before


@mistake(
    "The new token was not in the cache: only earlier tokens were attended to.",
    "Append the new key and value to the cache first; a token attends to itself, too.",
)
def cache_without_new_token(step: Step, trace: Trace) -> Changes:
    """The scores of new keys blocked, if there are earlier ones; at each time, where there are."""
    if step.plain.startswith("scores") and trace.problem.rules.normalize.name == "softmax":
        change: dict[str, Expression] = {}
        for scores in (one for one in trace if one.plain.startswith("scores")):
            keys = scores.array.shape[-1]
            is_at_a_time = len(scores.trailing) == 1 and f"K{scores.suffix}" in trace
            earlier = keys - 1 if is_at_a_time else trace.problem.sizes.size("p")
            if earlier:
                keep = (np.arange(keys) < earlier).astype(float)[None, None, None]
                mask = wrong(lambda _, keep=keep: keep, made_of(scores))
                change[scores.name] = Masked(made_of(scores), mask)
        if step.name in change:
            yield change


@mistake(
    "The new row was put above the cache, not below it.",
    "The cache is in the order of time: the new row is the last one.",
)
def cache_upside_down(step: Step, trace: Trace) -> Changes:
    if step.plain[0] in "KV" and made_by(Below, step):
        every = ((s, made_by(Below, s)) for s in trace if s.plain[0] == step.plain[0])
        yield {s.name: replace(below, parts=below.parts[::-1]) for s, below in every if below}
