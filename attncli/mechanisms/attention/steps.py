"""Self-attention and cross-attention with any number of heads (Vaswani et al. 2017, section 3.2).

Keys and values are made from X, or from `memory`; or Q, K, V or scores are given. What reads the
values, and what follows it, other mechanisms share.
"""

from __future__ import annotations

from attncli.core.attention.parameters import Rules
from attncli.core.attention.scores import MergeHeads, RepeatHeads
from attncli.core.attention.weights import (
    adjust,
    attend,
    is_tiled,
    normalize,
    score,
    warn_of_blocked,
)
from attncli.core.problem.keys import KINDS
from attncli.core.problem.problem import Problem
from attncli.core.tape.operations import Add, Concatenate, MatMul, Tanh, Transposed
from attncli.core.tape.step import Expression, Operation, Step
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import label, normed_and_rotated, project, put, with_past

MERGED = "W_o makes one vector per token of the results of all heads."


def steps(tape: Tape, problem: Problem) -> Step:
    """Record every step of softmax(Q Kᵀ / √d_k) V, or of the problem's variant of it."""
    label(tape, query=problem.tokens, key=problem.memory_tokens)
    sizes = problem.sizes
    is_same = "n" in sizes and "m" in sizes and sizes["n"] == sizes["m"]
    if is_same and KINDS[problem.kind].source == "X":  # the words also name the keys
        label(tape, key=problem.memory_tokens or problem.tokens)
    keys = "key"
    if problem.past:  # new keys are only some of those that are attended to
        keys = "time"
        label(tape, time=tape.labels.get("key", ()))
    q = k = None
    if "scores" not in problem.given:
        q = project(tape, problem, "Q", "query")
        k = project(tape, problem, "K", keys)
    v = project(tape, problem, "V", keys)
    if q is not None and k is not None and problem.differential:
        from attncli.mechanisms.differential.steps import difference

        return finish(tape, problem, difference(tape, problem, q, k, v, context_name(problem)))
    if q is not None and k is not None:
        q, k = normed_and_rotated(tape, q, k, problem.rules)
        k, v = with_past(tape, problem, k, v)
    return finish(tape, problem, read_values(tape, problem, q, k, v))


def read_values(
    tape: Tape, problem: Problem, q: Step | None, k: Step | None, v: Step, name: str = ""
) -> Step:
    """Record scores, weights and weights · V, or only the last one if they are large.

    `name` is what weights · V is called, by default `context`, or `output` if nothing follows.
    """
    rules, times = problem.rules, problem.heads // problem.kv_heads
    name, symbol = name or context_name(problem), name or "Z"
    if q is None or k is None:
        scores = put(tape, problem, "scores", ("query", "key"))
        scores = tape.record("scores", scores, symbol="S")
    elif is_tiled(tape, q, k, rules):
        return attend(tape, q, k, v, rules, name, symbol)
    else:
        scores = score(tape, q, RepeatHeads(k, times) if times > 1 else k, rules)
    weighted = mixed(tape, adjust(tape, scores, rules), v, rules, times)
    return tape.record(name, weighted, symbol=symbol)


def mixed(tape: Tape, s: Step, v: Step, rules: Rules, times: int = 1) -> Operation:
    """Record the weights of scores (…, heads, n, m), or their tiles; return weights · v.

    v is (…, kv_heads, m, d_v), of which `times` heads share each.
    """
    if rules.tile:
        from attncli.mechanisms.online.steps import online_softmax  # few problems have tiles

        warn_of_blocked(tape, s, rules)
        return online_softmax(tape, s, v, rules.tile, rules.normalize, times)
    return MatMul(normalize(tape, s, rules), RepeatHeads(v, times) if times > 1 else v)


def finish(tape: Tape, problem: Problem, context: Step) -> Step:
    """Record what comes after the heads: the gate, side by side, through W_o, through W_c.

    Returns:
        The step `output`.
    """
    output = context
    if "norm" in problem.differential:
        from attncli.mechanisms.differential.steps import rescaled

        output = rescaled(tape, problem, output)
    if problem.gate:
        from attncli.mechanisms.gate.steps import gated

        output = gated(tape, problem, output)
    if problem.heads > 1:
        name = "concat" if goes_on(problem) else "output"
        output = tape.record(name, MergeHeads(output), symbol="Z")
    if goes_on(problem) or (_is_changed(problem) and problem.heads == 1):
        projected: Expression = output
        if "W_o" in problem.given:
            projected = MatMul(projected, put(tape, problem, "W_o", ("feature", "out")))
        if "b_o" in problem.given:
            projected = Add(projected, put(tape, problem, "b_o", ("out",)))
        why = MERGED if problem.heads > 1 and "W_o" in problem.given else ""
        output = tape.record("output", projected, symbol="Z", why=why)
    if "W_c" in problem.given:
        w_c = put(tape, problem, "W_c", ("out", "joined"))
        x = put(tape, problem, "X", ("query", "model"))
        joined = MatMul(Concatenate(output, x), Transposed(w_c))
        why = "What was found and the token's own vector together make the new one."
        tape.record("attentional", Tanh(joined), why=why)
    return output


def context_name(problem: Problem) -> str:
    """Return what weights · V is called: the output, where nothing comes after it."""
    is_last = problem.heads == 1 and not _is_changed(problem) and not goes_on(problem)
    return "output" if is_last else "context"


def _is_changed(problem: Problem) -> bool:
    """Whether a gate or a norm changes what each head found, before all are put side by side."""
    return bool(problem.gate) or "norm" in problem.differential


def goes_on(problem: Problem) -> bool:
    """Whether the heads' values are projected once more."""
    return "W_o" in problem.given or "b_o" in problem.given
