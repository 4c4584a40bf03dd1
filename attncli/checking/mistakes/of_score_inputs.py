"""Mistakes in what scores compare: other matrices than queries and keys, or another function."""

from __future__ import annotations

import numpy as np

from attncli.core.attention.masks import Masked
from attncli.core.attention.scores import (
    SCORES,
    Cosine,
    GaussianExponent,
    PairDot,
    Pairs,
    RepeatHeads,
    SplitHeads,
)
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
    uncut,
    wrong,
)
from attncli.core.calculation.trace import Trace
from attncli.core.records import replace
from attncli.core.tape.evaluation import walk
from attncli.core.tape.operations import Below, MatMul, Transposed, dot
from attncli.core.tape.step import Expression, Operation, Step


@mistake("The queries were compared with the queries.", "Calculate {formula}: queries with keys.")
def queries_with_queries(step: Step, trace: Trace) -> Changes:
    """Q Qᵀ for Q Kᵀ."""
    for q, k in _projected_sides(step, trace):
        yield {step.name: put(made_of(step), k, q)}, {}


@mistake("The keys were compared with the keys.", "Calculate {formula}: queries with keys.")
def keys_with_keys(step: Step, trace: Trace) -> Changes:
    """K Kᵀ for Q Kᵀ."""
    for q, k in _projected_sides(step, trace):
        yield {step.name: put(made_of(step), q, k)}, {}


@mistake(
    "The input was compared with itself, without W_q and W_k.", "Calculate {formula} from Q and K."
)
def inputs_with_inputs(step: Step, trace: Trace) -> Changes:
    """X Xᵀ for Q Kᵀ, or X memoryᵀ; the input cut into heads, or whole for every head."""
    inputs = trace.inputs
    for q, k in _projected_sides(step, trace, same_number=False) if "X" in inputs else ():
        used, heads = (inputs["X"], inputs.get("memory", inputs["X"])), trace.problem.heads
        if tuple(uncut(trace[name].operation) for name in "QK") == used:
            continue
        ways: list[tuple[Expression, Expression]] = [used]
        if heads > 1:
            ways = [
                (SplitHeads(used[0], heads), SplitHeads(used[1], heads)),
                (RepeatHeads(used[0], heads), RepeatHeads(used[1], heads)),
            ]
        for one, other in ways:
            yield {step.name: put(put(made_of(step), q, one), k, other)}, {}


def _projected_sides(
    step: Step, trace: Trace, same_number: bool = True
) -> list[tuple[Expression, Expression]]:
    """Return Q and K, as a step is made from them, if they are not the same matrix."""
    if not step.plain.startswith(("scores", "hidden")) or not {"Q", "K"} <= trace.steps.keys():
        return []
    sides = _sides(made_of(step))
    if sides is None or not is_named(sides[0], "Q"):
        return []
    q, k = trace["Q"], trace["K"]
    if q.operation is k.operation or (same_number and q.array.shape[-2] != k.array.shape[-2]):
        return []
    return [sides]


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
            words = {"used": SCORES[name].formula, "right": SCORES[right].formula}
            yield {step.name: other}, words


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
    if isinstance(side, MatMul):
        matrix = side.right.operand if isinstance(side.right, Transposed) else side.right
        return side.left if is_projection(matrix) else side
    return side


@mistake(
    "All weight matrices were transposed.",
    "Multiply by the matrices as they are written; programs often store them the other way.",
)
def all_weight_matrices_transposed(step: Step, trace: Trace) -> Changes:
    """W_q, W_k and W_v at once, and W_o."""

    def rule(node: Expression) -> Nodes:
        if isinstance(node, MatMul) and is_named(node.right, ("W_q", "W_k", "W_v", "W_o")):
            yield replace(node, right=Transposed(node.right))

    change = rewritten_steps(trace, ("Q", "K", "V", "output"), rule)
    before = {name: other for name, other in change.items() if name != "output"}
    if len(before) > 1 and step.name == next(iter(before)):  # or it would be tried three times
        yield change, {}
        if "output" in change:
            yield before, {}


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
                change[scores.name] = _first_alone(made_of(scores), earlier, keys)
        if step.name in change:
            yield change, {}


def _first_alone(scores: Expression, count: int, keys: int) -> Masked:
    keep = (np.arange(keys) < count).astype(float)[None, None, None]
    return Masked(scores, wrong(lambda _: keep, scores))


@mistake(
    "The new row was put above the cache, not below it.",
    "The cache is in the order of time: the new row is the last one.",
)
def cache_upside_down(step: Step, trace: Trace) -> Changes:
    """In `decode`, at every time."""
    if step.plain[0] in "KV" and made_by(Below, step):
        every = ((s, made_by(Below, s)) for s in trace if s.plain[0] == step.plain[0])
        yield (
            {s.name: replace(joined, parts=joined.parts[::-1]) for s, joined in every if joined},
            {},
        )
