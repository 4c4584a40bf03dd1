"""Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, section 2.1, equations 9 to 19).

Keys and values of all heads are made from one short vector per token, a row of c_kv. Only these
vectors, and one key per token that all heads share and that alone knows positions, are cached.
"""

from __future__ import annotations

from attncli.core.attention.norms_and_activations import normalized
from attncli.core.attention.positions import rotated
from attncli.core.mechanisms.attention import (
    PURPOSES,
    context_name,
    cut,
    finish,
    label,
    put,
    read_values,
    tokens_of,
)
from attncli.core.problem.layers import eps_of
from attncli.core.problem.problem import Problem
from attncli.core.tape.operations import Concatenate, MatMul, Transposed
from attncli.core.tape.step import Expression, Step
from attncli.core.tape.tape import Tape

ROWS = {"q": "query", "kv": "key", "Q": "query", "K": "key", "V": "key"}
"""The rows of what is made, by its letters."""

COMPRESSED = {
    "q": "A short vector per token, from which the queries of all heads are made.",
    "kv": "A short vector per token, from which all keys and values are made: a cache keeps this.",
}
CONTENT = "This part is compared for what the tokens say, wherever they stand."
ROTARY = {
    "Q": "This part is turned by the position of its token.",
    "K": "This part is turned by the position of its token. All heads share it.",
}
JOINED = "The score of two tokens is the sum of those of the two parts."
ABSORBED = "q · (c W_uk) = (q W_ukᵀ) · c: so queries meet c_kv itself, and no keys are made."
SHARED = "The weights mix c_kv itself; W_uv follows, once for each query."
LATE = "A mixture of products with W_uv is the product of the mixture with W_uv."


def latent(tape: Tape, problem: Problem) -> None:
    """Record softmax(Q Kᵀ / √d_k) V, where K is [c_kv W_uk; RoPE(X W_kr)] and V is c_kv W_uv.

    In the form `absorbed` W_uk multiplies the queries, K is [c_kv; RoPE(X W_kr)], V is c_kv, and
    W_uv multiplies what the weights have mixed.
    """
    label(tape, query=problem.tokens, key=problem.tokens)
    x, is_absorbed = tokens_of(tape, problem, "X"), problem.form == "absorbed"
    is_rotary = "W_kr" in problem.given
    last = "Q_absorbed" if is_absorbed else "Q_C"
    with tape.within(names={} if is_rotary else {last: "Q", "K_C": "K"}):
        below = compressed(tape, problem, x, "q") if "W_dq" in problem.given else x
        q = projected(tape, problem, "Q_C", below, "W_q" if below is x else "W_uq", CONTENT)
        c = k = v = compressed(tape, problem, x, "kv")
        if is_absorbed:
            operation = MatMul(q, Transposed(by_head(tape, problem, "W_uk")))
            q = tape.record("Q_absorbed", operation, ("query", "latent"), why=ABSORBED)
            k = c if is_rotary else tape.record("K", c)
            v = tape.record("V", c, why=SHARED)
        else:
            k = projected(tape, problem, "K_C", c, "W_uk", CONTENT)
            v = projected(tape, problem, "V", c, "W_uv", PURPOSES["V"])
    if is_rotary:
        turned = (
            projected(tape, problem, "Q_rotary", below, "W_qr", ROTARY["Q"]),
            projected(tape, problem, "K_rotary", x, "W_kr", ROTARY["K"]),
        )
        q_r, k_r = rotated(tape, *turned, problem.rules.positions)
        q = tape.record("Q", Concatenate(q, q_r), ("query", "feature"), why=JOINED)
        k = tape.record("K", Concatenate(k, k_r), ("key", "feature"), why=JOINED)
    if is_absorbed:
        mixed = read_values(tape, problem, q, k, v, "context_c")
        operation = MatMul(mixed, by_head(tape, problem, "W_uv"))
        context = tape.record(context_name(problem), operation, symbol="Z", why=LATE)
    else:
        context = read_values(tape, problem, q, k, v)
    finish(tape, problem, context)


def compressed(tape: Tape, problem: Problem, x: Step, side: str) -> Step:
    """Record c_q or c_kv, and its norm if there is one; return what goes on."""
    with tape.within(suffix=f"_{side}"):
        weight = put(tape, problem, f"W_d{side}", ("model", "latent"))
        c = tape.record("c", MatMul(x, weight), (ROWS[side], "latent"), why=COMPRESSED[side])
        if not problem.latent_norm:
            return c
        key = f"gain_{side}"
        gain = put(tape, problem, key, ("latent",)) if key in problem.given else None
        eps = eps_of(problem.latent_norm, problem.eps)
        return normalized(tape, c, problem.latent_norm, eps, gain, None, "normed")


def projected(tape: Tape, problem: Problem, name: str, x: Step, key: str, why: str) -> Step:
    """Record the product of x and a weight; that of k_r is one for all heads."""
    product: Expression = MatMul(x, put(tape, problem, key, (x.trailing[-1], "feature")))
    if key != "W_kr":
        product = cut(product, problem.heads, problem)
    return tape.record(name, product, (ROWS[name[0]], "feature"), why=why)


def by_head(tape: Tape, problem: Problem, key: str) -> Expression:
    """Return W_uk or W_uv cut into heads."""
    return cut(put(tape, problem, key, ("latent", "feature")), problem.heads, problem)
