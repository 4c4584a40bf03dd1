"""Self-attention and cross-attention with any number of heads (Vaswani et al. 2017, section 3.2).

`kind: self` takes keys and values from X, `kind: cross` from `memory`; or Q, K, V or scores are
given. `kind: decode` is causal attention a token at a time, as a decoder works with a cache
(Shazeer 2019, section 2.4): keys and values of the tokens before are kept, so each token makes only
its own. `label` and `put` put the words and matrices of a problem on the tape, for all kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attncli.core.attention.parameters import Rules
from attncli.core.attention.scores import MergeHeads, RepeatHeads, SplitHeads
from attncli.core.attention.weights import adjust, attend, is_tiled, mixed, normalize, score
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import KINDS
from attncli.core.problem.problem import Problem
from attncli.core.records import replace
from attncli.core.tape.backward_operations import Hadamard, Subtract
from attncli.core.tape.operations import (
    Add,
    AsRow,
    Below,
    Concatenate,
    MatMul,
    Row,
    Tanh,
    Transposed,
)
from attncli.core.tape.step import Expression, Step
from attncli.core.tape.tape import Tape

PURPOSES = {
    "Q": "A query says what its token looks for.",
    "K": "A key says what its token can be found by.",
    "V": "A value is what its token hands on to those that attend to it.",
}
CACHED = "Keys and values of earlier tokens do not change, so they are kept, not worked again."
GATED = "The gate says how much of what the head found passes on."
MERGED = "W_o makes one vector per token of the results of all heads."


def attention(tape: Tape, problem: Problem) -> Step:
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
        return finish(tape, problem, difference(tape, problem, q, k, v))
    if q is not None and k is not None:
        q, k = normed_and_rotated(tape, q, k, problem.rules)
        k, v = with_past(tape, problem, k, v)
    return finish(tape, problem, read_values(tape, problem, q, k, v))


def normed_and_rotated(
    tape: Tape, q: Step, k: Step, rules: Rules, before: int = 0
) -> tuple[Step, Step]:
    """Record queries and keys normed and turned by their positions, `before` tokens before them."""
    if rules.qk_norm:
        from attncli.core.attention.norms_and_activations import normed

        q, k = normed(tape, q, k, rules)
    if rules.positions:
        from attncli.core.attention.positions import rotated

        q, k = rotated(tape, q, k, rules.positions, before)
    return q, k


def project(tape: Tape, problem: Problem, name: str, rows: str, t: int = 0) -> Step:
    """Record Q, K or V: given directly, or X W (+ b), cut into heads where there are several.

    With t, it is q_t, k_t or v_t, of token t alone.
    """
    heads = problem.heads if name == "Q" else problem.kv_heads
    source = "X" if name == "Q" else KINDS[problem.kind].source
    letter = name.lower()
    if name in problem.given:
        whole = put(tape, problem, name, (rows, "feature"))
        result = cut(_token(whole, t) if t else whole, heads, problem)
    else:
        whole = tokens_of(tape, problem, source)
        result = linear(tape, problem, _token(whole, t) if t else whole, letter, heads)
        if name == "K" and "W_q" in problem.given and "W_k" not in problem.given:
            tape.warn(f"W_k is left out, so K is made from {source} without a projection")
    axes, why = (rows, "feature"), PURPOSES[name]
    return tape.record(letter if t else name, result, axes[-1:] if t else axes, why=why)


def tokens_of(tape: Tape, problem: Problem, source: str) -> Step:
    """Return X or memory, with its positions where they are added to it."""
    x = put(tape, problem, source, ("query" if source == "X" else "key", "model"))
    if not problem.rules.positions or source in tape.scope.sources:  # which have theirs
        return x
    from attncli.core.attention.positions import embedded

    return embedded(tape, x, problem.rules.positions)


def linear(tape: Tape, problem: Problem, x: Expression, letter: str, heads: int) -> Expression:
    """Return x W (+ b), such as for Q, by the name of what it makes, cut into several heads."""
    gate = problem.gate if letter == "gate" else {}
    weight, bias_key = ("gate.W", "gate.b") if gate else (f"W_{letter}", f"b_{letter}")
    if gate or weight in problem.given:
        x = MatMul(x, put(tape, problem, weight, ("model", "feature"), f"W_{letter}"))
    if "b" in gate or bias_key in problem.given:
        bias: Expression = put(tape, problem, bias_key, ("feature",), f"b_{letter}")
        if ("head" in x.leading) != ("head" in bias.leading):  # of all heads, and of each
            x, bias = cut(x, heads, problem), cut(bias, heads, problem)
        x = Add(x, bias)
    return cut(x, heads, problem)


def with_past(tape: Tape, problem: Problem, k: Step, v: Step) -> tuple[Step, Step]:
    """Record `K_all` and `V_all`, which begin with the keys and values of earlier tokens."""
    if not problem.past:
        return k, v
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
    past = tape.put(key, array, ("key", "feature"), leading, key=key)
    return cut(past, problem.kv_heads, problem)


def _token(whole: Step, t: int) -> Expression:
    return Row(whole, t - 1)


def cut(x: Expression, heads: int, problem: Problem) -> Expression:
    """Return the features cut into heads, if there are several and they are not cut yet."""
    return SplitHeads(x, heads) if problem.heads > 1 and "head" not in x.leading else x


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


def difference(tape: Tape, problem: Problem, q: Step, k: Step, v: Step) -> Step:
    """Record (A_1 − λ A_2) V, each A of one half of the features of Q and K, or A_1 V − λ A_2 V."""
    from attncli.core.attention.differential import WHY, Multiple, factor, half_of

    rules, times = problem.rules, problem.heads // problem.kv_heads

    def of_half(number: int) -> Step:
        """Record the weights; of many tokens, what they read."""
        with tape.within(suffix=f"_{number}"):
            halves = [tape.record(x.stem, half_of(x, number)) for x in (q, k)]
            of_q, of_k = normed_and_rotated(tape, halves[0], halves[1], rules)
            if is_tiled(tape, of_q, of_k, rules) and "weights" not in (tape.wanted or ()):
                return read_values(tape, problem, of_q, of_k, v, "context")
            scores = score(tape, of_q, RepeatHeads(of_k, times) if times > 1 else of_k, rules)
            return normalize(tape, adjust(tape, scores, rules), rules)

    first, second = of_half(1), of_half(2)
    rest = Subtract(first, Multiple(second, factor(tape, of_differential(tape, problem))))
    if first.stem == "context":
        return tape.record(context_name(problem), rest, symbol="Z", why=WHY)
    weights = tape.record("weights", rest, symbol="A", why=WHY)
    values = RepeatHeads(v, times) if times > 1 else v
    return tape.record(context_name(problem), MatMul(weights, values), symbol="Z")


def of_differential(tape: Tape, problem: Problem) -> dict[str, Step]:
    """Return λ, or what it is made of, and what the norm takes, by their names."""
    names = [name for name in problem.differential if name not in ("norm", "eps")]
    return {name: put(tape, problem, f"differential.{name}", ("feature",)) for name in names}


def finish(tape: Tape, problem: Problem, context: Step) -> Step:
    """Record what comes after the heads: the gate, side by side, through W_o, through W_c.

    Returns:
        The step `output`.
    """
    output = context
    if "norm" in problem.differential:
        from attncli.core.attention.differential import rescaled

        output = rescaled(tape, output, of_differential(tape, problem), problem.differential)
    if problem.gate:
        from attncli.core.attention.norms_and_activations import Gate

        net = linear(tape, problem, tokens_of(tape, problem, "X"), "gate", problem.heads)
        gate = tape.record("gate", Gate(net), ("query", "feature"))
        output = tape.record("gated", Hadamard(output, gate), why=GATED)
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


def label(tape: Tape, **words: tuple[str, ...]) -> None:
    """Name the places along axes, where there are words for them."""
    tape.labels.update({axis: places for axis, places in words.items() if places})


def put(tape: Tape, problem: Problem, key: str, trailing: tuple[str, ...], name: str = "") -> Step:
    """Put a matrix of the problem on the tape, once; by default it is called as its key is."""
    if (known := tape.input_of(key)) is not None:  # without making its array again
        return known
    head, _, part = key.partition(".")
    leading, as_written = problem.leading(key), KEYS[head].as_written
    return tape.put(name or part or key, problem.array(key), trailing, leading, as_written, key)


@contextmanager
def at_time(tape: Tape, words: tuple[str, ...], t: int) -> Iterator[None]:
    """Name the steps of time t, such as `S_2`, and show them under a heading of their own."""
    tape.group = f"t = {t} ({words[t - 1]})" if words else f"t = {t}"
    with tape.within(suffix=f"_{t}"):
        yield
    tape.group = ""


CACHE = ("key", "feature")


def decode(tape: Tape, problem: Problem) -> None:
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
