"""Causal attention a token at a time, as a decoder works with a cache (Shazeer 2019, section 2.4).

Keys and values of the tokens before it are kept, so each token makes only its own.
"""

from __future__ import annotations

from attncli.core.attention.heads import RepeatHeads
from attncli.core.attention.norms import normed
from attncli.core.attention.positions import rotated
from attncli.core.attention.weights import adjust, normalize, score
from attncli.core.mechanisms.attention import CACHED, finish, goes_on, label_past, past_of, project
from attncli.core.mechanisms.inputs import label
from attncli.core.mechanisms.recurrent import AsRow, Below
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.operations import MatMul
from attncli.core.tape.step import Expression, Step
from attncli.core.tape.tape import Tape

CACHE = ("key", "feature")


def decode(tape: Tape, problem: Problem) -> None:
    """Record q_t, k_t, v_t, the caches K_t and V_t, and what token t reads in them; the output."""
    label(tape, query=problem.tokens, key=problem.tokens)
    label_past(tape, problem)
    rules, times = problem.rules, problem.heads // problem.kv_heads
    keys, values = (past_of(tape, problem, name) for name in ("K", "V"))
    read: list[Step] = []
    for t in range(1, problem.sizes["n"] + 1):
        tape.group = f"t = {t} ({problem.tokens[t - 1]})" if problem.tokens else f"t = {t}"
        here = tuple(replace(rule, shift=rule.shift + t - 1) for rule in rules.by_place)
        of_token = replace(rules, by_place=here)
        with tape.within(suffix=f"_{t}"):
            q, k, v = (project(tape, problem, name, "query", t) for name in ("Q", "K", "V"))
            q, k = normed(tape, q, k, rules)
            q, k = rotated(tape, q, k, rules.positions, t - 1)
            keys = tape.record("K", Below((keys, k)) if keys else k, CACHE, why=CACHED)
            values = tape.record("V", Below((values, v)) if values else v, CACHE, why=CACHED)
            shared: list[Expression] = [keys, values]
            if times > 1:
                shared = [RepeatHeads(cache, times) for cache in shared]
            scores = score(tape, AsRow(q), shared[0], of_token, ("key",))
            weights = normalize(tape, adjust(tape, scores, of_token), rules)
            read.append(tape.record("z", MatMul(weights, shared[1]), ("feature",)))
    tape.group = ""
    name = "context" if problem.heads > 1 or goes_on(problem) else "output"
    finish(tape, problem, tape.record(name, Below(tuple(read)), ("query", "feature"), symbol="Z"))
