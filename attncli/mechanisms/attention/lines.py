"""The lines that mechanisms share: words and matrices on the tape, projections, a cache, times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attncli.core.attention.parameters import Rules
from attncli.core.attention.scores import SplitHeads
from attncli.core.attention.weights import adjust, normalize, score
from attncli.core.problem.keys import KEYS, KINDS
from attncli.core.problem.problem import Problem
from attncli.core.tape.operations import Add, AsRow, Below, MatMul, MatVec, Row
from attncli.core.tape.step import Expression, Step
from attncli.core.tape.tape import Tape

PURPOSES = {
    "Q": "A query says what its token looks for.",
    "K": "A key says what its token can be found by.",
    "V": "A value is what its token hands on to those that attend to it.",
}
CACHED = "Keys and values of earlier tokens do not change, so they are kept, not worked again."


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


def tokens_of(tape: Tape, problem: Problem, source: str) -> Step:
    """Return X or memory, with its positions where they are added to it."""
    x = put(tape, problem, source, ("query" if source == "X" else "key", "model"))
    if not problem.rules.positions or source in tape.scope.sources:  # which have theirs
        return x
    from attncli.core.attention.positions import embedded

    return embedded(tape, x, problem.rules.positions)


def linear(
    tape: Tape, problem: Problem, x: Expression, letter: str, heads: int, of: str = ""
) -> Expression:
    """Return x W (+ b), such as for Q, by the name of what it makes, cut into several heads.

    The matrices are keys of the problem, `W_q` and `b_q`, or parts `W` and `b` of the key `of`.
    """
    weight, bias_key = (f"{of}.W", f"{of}.b") if of else (f"W_{letter}", f"b_{letter}")
    if is_given(problem, weight):
        x = MatMul(x, put(tape, problem, weight, ("model", "feature"), f"W_{letter}"))
    if is_given(problem, bias_key):
        bias: Expression = put(tape, problem, bias_key, ("feature",), f"b_{letter}")
        if ("head" in x.leading) != ("head" in bias.leading):  # of all heads, and of each
            x, bias = cut(x, heads, problem), cut(bias, heads, problem)
        x = Add(x, bias)
    return cut(x, heads, problem)


def is_given(problem: Problem, key: str) -> bool:
    """Return whether a problem has a key, or a part of one, such as `gate.b`."""
    head, _, part = key.partition(".")
    return part in getattr(problem, head) if part else key in problem.given


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


def _token(whole: Step, t: int) -> Expression:
    return Row(whole, t - 1)


def cut(x: Expression, heads: int, problem: Problem) -> Expression:
    """Return the features cut into heads, if there are several and they are not cut yet."""
    return SplitHeads(x, heads) if problem.heads > 1 and "head" not in x.leading else x


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


def attended(
    tape: Tape, problem: Problem, q: Expression, states: Expression, name: str, axis: str = "state"
) -> tuple[Step, Expression]:
    """Record scores and weights of one state with others (…, m, d), and what they give, by name."""
    k = states
    if "W_q" in problem.given:
        q = MatVec(put(tape, problem, "W_q", ("query_feature", "feature")), q)
    if "W_k" in problem.given:
        k = MatVec(put(tape, problem, "W_k", ("key_feature", "feature")), k)
    scores = score(tape, AsRow(q), k, problem.rules, (axis,))
    weights = normalize(tape, adjust(tape, scores, problem.rules), problem.rules)
    return tape.record(name, MatMul(weights, states), ("feature",)), weights
