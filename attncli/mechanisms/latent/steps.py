"""Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, section 2.1, equations 9 to 19).

Keys and values of all heads are made from one short vector per token, a row of c_kv. Only these
vectors, and one key per token that all heads share and that alone knows positions, are cached.
"""

from __future__ import annotations

from attncli.core.attention.norms_and_activations import eps_of, normalized
from attncli.core.attention.positions import rotated
from attncli.core.problem.problem import Problem
from attncli.core.tape.operations import Concatenate, MatMul, Transposed
from attncli.core.tape.step import Step
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import PURPOSES, cut, label, put, tokens_of
from attncli.mechanisms.attention.steps import context_name, finish, read_values

FOR_QUERIES = "A short vector per token, from which the queries of all heads are made."
FOR_KEYS = "A short vector per token, from which all keys and values are made: a cache keeps it."
CONTENT = "This part is compared for what the tokens say, wherever they stand."
ROTARY = "This part is turned by the position of its token."
SHARED = f"{ROTARY} All heads share it, so a cache keeps it once."
JOINED = "The score of two tokens is the sum of those of the two parts."
ABSORBED = "q · (c W_uk) = (q W_ukᵀ) · c: so queries meet c_kv itself, and no keys are made."
LATE = "The product of a mixture with W_uv is the mixture of the products, the values."


def steps(tape: Tape, problem: Problem) -> None:
    """Record softmax(Q Kᵀ / √d_k) V, where K is [c_kv W_uk; RoPE(X W_kr)] and V is c_kv W_uv.

    In the form `absorbed` W_uk multiplies the queries, K is [c_kv; RoPE(X W_kr)], V is c_kv, and
    W_uv multiplies what the weights have mixed.
    """
    label(tape, query=problem.tokens, key=problem.tokens)
    x, is_compressed = tokens_of(tape, problem, "X"), "W_dq" in problem.given
    is_absorbed, is_rotary = problem.form == "absorbed", "W_kr" in problem.given
    c_q = (
        compressed(tape, problem, x, "q", ("query", "latent"), FOR_QUERIES) if is_compressed else x
    )
    c_kv = compressed(tape, problem, x, "kv", ("key", "latent"), FOR_KEYS)
    last = "Q_absorbed" if is_absorbed else "Q_C"
    with tape.within(names={} if is_rotary else {last: "Q", "K_C": "K"}):
        q = projected(tape, problem, "Q_C", c_q, "W_uq" if is_compressed else "W_q", CONTENT)
        if is_absorbed:
            weights = (put(tape, problem, key, ("latent", "feature")) for key in ("W_uk", "W_uv"))
            w_uk, w_uv = (cut(weight, problem.heads, problem) for weight in weights)
            q = tape.record("Q_absorbed", MatMul(q, Transposed(w_uk)), why=ABSORBED)
            k, v = c_kv if is_rotary else tape.record("K", c_kv), tape.record("V", c_kv)
        else:
            k = projected(tape, problem, "K_C", c_kv, "W_uk", CONTENT)
            v = projected(tape, problem, "V", c_kv, "W_uv", PURPOSES["V"])
    if is_rotary:
        q_r = projected(tape, problem, "Q_rotary", c_q, "W_qr", ROTARY)
        one = MatMul(x, put(tape, problem, "W_kr", ("model", "feature")))
        k_r = tape.record("K_rotary", one, ("key", "feature"), why=SHARED)
        q_r, k_r = rotated(tape, q_r, k_r, problem.rules.positions)
        q = tape.record("Q", Concatenate(q, q_r), ("query", "feature"), why=JOINED)
        k = tape.record("K", Concatenate(k, k_r), ("key", "feature"), why=JOINED)
    context = read_values(tape, problem, q, k, v, "context_c" if is_absorbed else "")
    if is_absorbed:
        name = context_name(problem)
        context = tape.record(name, MatMul(context, w_uv), symbol="Z", why=LATE)
    finish(tape, problem, context)


def compressed(
    tape: Tape, problem: Problem, x: Step, side: str, axes: tuple[str, str], why: str
) -> Step:
    """Record c_q or c_kv, and its norm if there is one; return what goes on."""
    weight = put(tape, problem, f"W_d{side}", ("model", "latent"))
    c = tape.record(f"c_{side}", MatMul(x, weight), axes, why=why)
    if not problem.latent_norm:
        return c
    key, eps = f"gain_{side}", eps_of(problem.latent_norm, problem.eps)
    gain = put(tape, problem, key, ("latent",)) if key in problem.given else None
    with tape.within(suffix=f"_{side}"):
        return normalized(tape, c, problem.latent_norm, eps, gain, None, "normed")


def projected(tape: Tape, problem: Problem, name: str, x: Step, key: str, why: str) -> Step:
    """Record the product of x and a weight, cut into heads."""
    weight = put(tape, problem, key, (x.trailing[-1], "feature"))
    return tape.record(name, cut(MatMul(x, weight), problem.heads, problem), why=why)
