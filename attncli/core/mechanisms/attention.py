"""Self-attention and cross-attention with any number of heads (Vaswani et al. 2017, section 3.2).

`kind: self` takes keys and values from X, `kind: cross` from `memory`; or Q, K, V or scores are
given.
"""

from __future__ import annotations

from attncli.core.attention.heads import MergeHeads, RepeatHeads, SplitHeads
from attncli.core.attention.norms import normed
from attncli.core.attention.positions import embedded, rotated
from attncli.core.attention.tiled import attend, is_tiled
from attncli.core.attention.weights import adjust, normalize, score
from attncli.core.mechanisms.inputs import given, label
from attncli.core.problem.kinds import KINDS
from attncli.core.problem.problem import Problem
from attncli.core.tape.operations import Add, Concatenate, MatMul, Tanh, Transposed
from attncli.core.tape.step import Expression, Step
from attncli.core.tape.tape import Tape

PURPOSES = {
    "Q": "A query says what its token looks for.",
    "K": "A key says what its token can be found by.",
    "V": "A value is what its token hands on to those that attend to it.",
}
CACHED = "Keys and values of earlier tokens do not change, so they are kept, not worked again."
MERGED = "W_o makes one vector per token of the results of all heads."


def attention(tape: Tape, problem: Problem) -> None:
    """Record every step of softmax(Q Kᵀ / √d_k) V, or of the problem's variant of it."""
    label(tape, query=problem.tokens, key=problem.memory_tokens)
    if problem.keys_are_tokens:
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
    if q is not None and k is not None:
        q, k = normed(tape, q, k, problem.rules)
        q, k = rotated(tape, q, k, problem.rules.positions)
        k, v = with_past(tape, problem, k, v)
    finish(tape, problem, read_values(tape, problem, q, k, v))


def project(tape: Tape, problem: Problem, name: str, rows: str, t: int = 0) -> Step:
    """Record Q, K or V: given directly, or X W (+ b), cut into heads where there are several.

    With t, it is q_t, k_t or v_t, of token t alone.
    """
    heads = problem.heads if name == "Q" else problem.kv_heads
    source = "X" if name == "Q" else KINDS[problem.kind].source
    letter = name.lower()
    made: Expression
    if name in problem.given:
        whole = given(tape, problem, name, (rows, "feature"))
        made = _token(whole, t) if t else whole
    else:
        tokens = "query" if source == "X" else "key"
        x = given(tape, problem, source, (tokens, "model"))
        is_made = source in tape.scope.sources  # with its positions
        whole = x if is_made else embedded(tape, x, problem.rules.positions)
        made = _token(whole, t) if t else whole
        if f"W_{letter}" in problem.given:
            made = MatMul(made, given(tape, problem, f"W_{letter}", ("model", "feature")))
        elif name == "K" and "W_q" in problem.given:
            tape.warn(f"W_k is left out, so K is made from {source} without a projection")
        if f"b_{letter}" in problem.given:
            bias: Expression = given(tape, problem, f"b_{letter}", ("feature",))
            if ("head" in made.leading) != ("head" in bias.leading):  # of all heads, and of each
                made, bias = _cut(made, heads, problem), _cut(bias, heads, problem)
            made = Add(made, bias)
    axes, why = (rows, "feature"), PURPOSES[name]
    made = _cut(made, heads, problem)
    return tape.record(letter if t else name, made, axes[-1:] if t else axes, why=why)


def with_past(tape: Tape, problem: Problem, k: Step, v: Step) -> tuple[Step, Step]:
    """Record `K_all` and `V_all`, which begin with the keys and values of earlier tokens."""
    if not problem.past:
        return k, v
    from attncli.core.mechanisms.recurrent import Below

    label_past(tape, problem)
    every = []
    for name, new in (("K", k), ("V", v)):
        past = past_of(tape, problem, name)
        assert past is not None  # as the problem has both
        every.append(tape.record(f"{name}_all", Below((past, new)), past.trailing, why=CACHED))
    return every[0], every[1]


def label_past(tape: Tape, problem: Problem) -> None:
    """Name the keys of earlier tokens, where those of the new ones have words."""
    if problem.past and "key" in tape.labels:
        earlier = (f"past{place + 1}" for place in range(problem.sizes["p"]))
        label(tape, key=(*earlier, *tape.labels["key"]))


def past_of(tape: Tape, problem: Problem, name: str) -> Expression | None:
    """Return the keys or values of earlier tokens, cut into heads; None if there are none."""
    if not problem.past:
        return None
    key = f"past.{name}"
    leading, array = problem.leading(key), problem.array(key)
    past = tape.given(key, array, ("key", "feature"), leading, key=key)
    return _cut(past, problem.kv_heads, problem)


def _token(whole: Step, t: int) -> Expression:
    from attncli.core.mechanisms.recurrent import Row  # only `decode` needs it

    return Row(whole, t - 1)


def _cut(made: Expression, heads: int, problem: Problem) -> Expression:
    """Return the features cut into heads, if there are several and they are not cut yet."""
    return SplitHeads(made, heads) if problem.heads > 1 and "head" not in made.leading else made


def read_values(tape: Tape, problem: Problem, q: Step | None, k: Step | None, v: Step) -> Step:
    """Record scores, weights and weights · V, or only the last one if they are large."""
    rules, times = problem.rules, problem.heads // problem.kv_heads
    name = "context" if problem.heads > 1 or goes_on(problem) else "output"
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
        name = "concat" if goes_on(problem) else "output"
        output = tape.record(name, MergeHeads(output), symbol="Z")
    if goes_on(problem):
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


def goes_on(problem: Problem) -> bool:
    """Whether the heads' values are projected once more."""
    return "W_o" in problem.given or "b_o" in problem.given
