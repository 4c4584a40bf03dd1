"""Causal attention a token at a time, as a decoder works with a cache (Shazeer 2019, section 2.4).

Keys and values of the tokens before are kept, so each token makes only its own.
"""

from __future__ import annotations

from attncli.core.attention.scores import RepeatHeads
from attncli.core.attention.weights import adjust, normalize, score
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.operations import AsRow, Below, MatMul
from attncli.core.tape.step import Expression, Step
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import (
    CACHED,
    at_time,
    label,
    label_past,
    normed_and_rotated,
    past_of,
    project,
)
from attncli.mechanisms.attention.steps import context_name, finish

CACHE = ("key", "feature")


def steps(tape: Tape, problem: Problem) -> None:
    """Record q_t, k_t, v_t, the caches K_t and V_t, and what token t reads in them; the output."""
    label(tape, query=problem.tokens, key=problem.tokens)
    label_past(tape, problem)
    rules, times = problem.rules, problem.heads // problem.kv_heads
    keys, values = (past_of(tape, problem, name) for name in ("K", "V"))
    read: list[Step] = []
    for t in range(1, problem.sizes["n"] + 1):
        here = tuple(replace(rule, shift=rule.shift + t - 1) for rule in rules.by_place)
        of_token = replace(rules, by_place=here)
        with at_time(tape, problem.tokens, t):
            q, k, v = (project(tape, problem, name, "query", t) for name in ("Q", "K", "V"))
            q, k = normed_and_rotated(tape, q, k, rules, t - 1)
            keys = tape.record("K", Below((keys, k)) if keys else k, CACHE, why=CACHED)
            values = tape.record("V", Below((values, v)) if values else v, CACHE, why=CACHED)
            shared: list[Expression] = [keys, values]
            if times > 1:
                shared = [RepeatHeads(cache, times) for cache in shared]
            scores = score(tape, AsRow(q), shared[0], of_token, ("key",))
            weights = normalize(tape, adjust(tape, scores, of_token), rules)
            read.append(tape.record("z", MatMul(weights, shared[1]), ("feature",)))
    name = context_name(problem)
    finish(tape, problem, tape.record(name, Below(tuple(read)), ("query", "feature"), symbol="Z"))
