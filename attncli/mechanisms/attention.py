"""Self-attention and cross-attention with any number of heads (Vaswani et al. 2017, section 3.2).

`kind: self` takes keys and values from X, `kind: cross` from `memory`; or Q, K, V or scores are
given.
"""

from __future__ import annotations

from attncli.attention.heads import MergeHeads, RepeatHeads, SplitHeads
from attncli.attention.positions import embedded, rotated
from attncli.attention.weights import adjust, normalize, score
from attncli.mechanisms.inputs import given, label
from attncli.problem.kinds import KINDS
from attncli.problem.problem import Problem
from attncli.tape.operations import Add, Concatenate, MatMul, Tanh, Transposed
from attncli.tape.step import Expression, Step
from attncli.tape.tape import Tape
from attncli.tiles.tiled import attend, is_tiled

PURPOSES = {
    "Q": "A query says what its token looks for.",
    "K": "A key says what its token can be found by.",
    "V": "A value is what its token hands on to those that attend to it.",
}
MERGED = "W_o makes one vector per token of the results of all heads."


def attention(tape: Tape, problem: Problem) -> None:
    """Record every step of softmax(Q Kᵀ / √d_k) V, or of the problem's variant of it."""
    label(tape, query=problem.tokens, key=problem.memory_tokens)
    if problem.keys_are_tokens:
        label(tape, key=problem.memory_tokens or problem.tokens)
    q = k = None
    if "scores" not in problem.given:
        q = project(tape, problem, "Q", "query")
        k = project(tape, problem, "K", "key")
    v = project(tape, problem, "V", "key")
    if q is not None and k is not None:
        q, k = rotated(tape, q, k, problem.rules.positions)
    finish(tape, problem, read_values(tape, problem, q, k, v))


def project(tape: Tape, problem: Problem, name: str, rows: str) -> Step:
    """Record Q, K or V: given directly, or X W (+ b), cut into heads where there are several."""
    heads = problem.heads if name == "Q" else problem.kv_heads
    source = "X" if name == "Q" else KINDS[problem.kind].source
    letter = name.lower()
    made: Expression
    if name in problem.given:
        made = given(tape, problem, name, (rows, "feature"))
    else:
        tokens = "query" if source == "X" else "key"
        x = given(tape, problem, source, (tokens, "model"))
        suffix = "_memory" if source == "memory" else ""
        made = embedded(tape, x, problem.rules.positions, suffix)
        if f"W_{letter}" in problem.given:
            made = MatMul(made, given(tape, problem, f"W_{letter}", ("model", "feature")))
        elif name == "K" and "W_q" in problem.given:
            tape.warn(f"W_k is left out, so K is made from {source} without a projection")
        if f"b_{letter}" in problem.given:
            bias: Expression = given(tape, problem, f"b_{letter}", ("feature",))
            if made.leading != bias.leading:  # one of the two is of all heads, the other of each
                made, bias = _cut(made, heads, problem), _cut(bias, heads, problem)
            made = Add(made, bias)
    return tape.record(name, _cut(made, heads, problem), (rows, "feature"), why=PURPOSES[name])


def _cut(made: Expression, heads: int, problem: Problem) -> Expression:
    """Return the features cut into heads, if there are several and they are not cut yet."""
    return SplitHeads(made, heads) if problem.heads > 1 and "head" not in made.leading else made


def read_values(tape: Tape, problem: Problem, q: Step | None, k: Step | None, v: Step) -> Step:
    """Record scores, weights and weights · V, or only the last one if they are large."""
    rules, times = problem.rules, problem.heads // problem.kv_heads
    name = "context" if problem.heads > 1 or _goes_on(problem) else "output"
    if q is None or k is None:
        scores = given(tape, problem, "scores", ("query", "key"))
        scores = tape.record("scores", scores, symbol="S")
    elif is_tiled(tape, q, k, rules):
        return attend(tape, q, k, v, rules, name)
    else:
        scores = score(tape, q, RepeatHeads(k, times) if times > 1 else k, rules)
    weights = normalize(tape, adjust(tape, scores, rules), rules)
    values = RepeatHeads(v, times) if times > 1 else v
    return tape.record(name, MatMul(weights, values), symbol="Z")


def finish(tape: Tape, problem: Problem, context: Step) -> None:
    """Record what comes after the heads: side by side, through W_o, through W_c."""
    output = context
    if problem.heads > 1:
        name = "concat" if _goes_on(problem) else "output"
        output = tape.record(name, MergeHeads(output), symbol="Z")
    if _goes_on(problem):
        made: Expression = output
        if "W_o" in problem.given:
            made = MatMul(made, given(tape, problem, "W_o", ("feature", "out")))
        if "b_o" in problem.given:
            made = Add(made, given(tape, problem, "b_o", ("out",)))
        why = MERGED if problem.heads > 1 and "W_o" in problem.given else ""
        output = tape.record("output", made, symbol="Z", why=why)
    if "W_c" in problem.given:
        w_c = given(tape, problem, "W_c", ("out", "joined"))
        x = given(tape, problem, "X", ("query", "model"))
        joined = MatMul(Concatenate(output, x), Transposed(w_c))
        why = "What was found and the token's own vector together make the new one."
        tape.record("attentional", Tanh(joined), why=why)


def _goes_on(problem: Problem) -> bool:
    """Whether the heads' values are projected once more."""
    return "W_o" in problem.given or "b_o" in problem.given
