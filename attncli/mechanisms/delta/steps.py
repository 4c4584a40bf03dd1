"""Linear attention with a state, and the delta rule, a token at a time.

The state S, (d_k, d_v), is a memory: asked with a key k, it answers k S. Linear attention adds
kᵀ v for each token (Katharopoulos et al. 2020, section 3.4). The delta rule writes only what is
new, β kᵀ (v − k S), as a fast weight programmer does (Schlag et al. 2021, section 4.2; Yang et al.
2024, section 2.2). With a gate, the state fades first, and what has faded is read: S̃ = α S, and
S = S̃ + β kᵀ (v − k S̃) (Gated DeltaNet, Yang et al. 2025, section 3.1). Vectors are rows here; in
the papers, and with tokens as columns, they are columns.
"""

from __future__ import annotations

import numpy as np

from attncli.core.attention.norms_and_activations import Gate
from attncli.core.attention.scores import RepeatHeads
from attncli.core.formulas import tree
from attncli.core.problem.problem import Problem
from attncli.core.tape.backward_operations import Hadamard, Subtract
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, MatMul, Row, Scale, Transposed
from attncli.core.tape.step import Derivatives, Expression, Step
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import (
    at_time,
    cut,
    label,
    linear,
    normed_and_rotated,
    project,
    put,
    tokens_of,
)
from attncli.mechanisms.attention.steps import context_name, finish
from attncli.mechanisms.attention.times import State, repeated

STATE = ("key_feature", "value_feature")

RATES = {
    "alpha": "α says how much the state keeps: 1 keeps all, 0 forgets all.",
    "beta": "β says how much of the error is written: 1 all of it, 0 nothing.",
}
FADED = "The state fades before it is read and written."
HELD = "Asked with the key, the state answers with the value that it holds for it."
ERROR = "Only what is new is written: the value, less what the state holds for this key."
CORRECTED = "From now on the state answers this key with this value, as far as β says."
ADDED = "The value is added to the state under its key."
FOUND = "The query reads the state, as a key does: values of keys that are like it, mixed."


def steps(tape: Tape, problem: Problem) -> None:
    """Record S_0; for each token q, k, v, what fades, is held and is new, S and o; the output."""
    label(tape, query=problem.tokens)
    start, rules = _start(tape, problem), problem.rules
    rates = [_rates(tape, problem, name) for name in ("alpha", "beta")]
    times = problem.heads // problem.kv_heads

    def of_token(t: int, before: State) -> tuple[State, State]:
        with at_time(tape, problem.tokens, t):
            q, k, v = (project(tape, problem, name, "query", t) for name in "QKV")
            q, k = normed_and_rotated(tape, q, k, rules)
            alpha, beta = (x and cut(Row(x, t - 1), problem.kv_heads, problem) for x in rates)
            state = _next(tape, before[0], k, v, alpha, beta, "delta" in problem.update)
            found: Expression = MatMul(q, RepeatHeads(state, times) if times > 1 else state)
            if (scale := rules.scale) is not None:
                found = Scale(found, scale.times, scale.over, scale.symbol, scale.value)
            return (state,), (tape.record("o", found, ("feature",), why=FOUND),)

    _, (o,) = repeated(tape, problem, problem.sizes["n"], of_token, (start,))
    name, axes = context_name(problem), ("query", "feature")
    finish(tape, problem, tape.record(name, o.below, axes, "O", array=o.array))


def _start(tape: Tape, problem: Problem) -> Step:
    if "S_0" in problem.given:
        start: Expression = cut(put(tape, problem, "S_0", STATE), problem.kv_heads, problem)
    else:
        sizes = problem.sizes["d_k"], problem.sizes["d_v"]
        start = tape.put("0", np.zeros((1, 1, *sizes), problem.floats), STATE)
    return tape.record("S_0", start, STATE)


def _rates(tape: Tape, problem: Problem, name: str) -> Step | None:
    """Return α or β of each token, a number or one per feature of keys; None where it is 1."""
    if name in problem.given:
        return put(tape, problem, name, ("query", "rate"))
    if f"W_{name}" not in problem.given:
        return None
    gate = Gate(linear(tape, problem, tokens_of(tape, problem, "X"), name, problem.kv_heads))
    return tape.record(name, gate, ("query", "rate"), why=RATES[name])


def _next(
    tape: Tape,
    state: Step,
    k: Step,
    v: Step,
    alpha: Expression | None,
    beta: Expression | None,
    corrects: bool,
) -> Step:
    """Record S_t, and before it what fades, what is read, and the error."""
    if alpha is not None:
        is_single = array_of(alpha).shape[-1] == 1
        fading = Faded(alpha if is_single else Transposed(alpha), state)
        state = tape.record("decayed", fading, why=FADED)
    if corrects:
        held = tape.record("read", MatMul(k, state), ("feature",), why=HELD)
        v = tape.record("error", Subtract(v, held), why=ERROR)
    new: Expression = MatMul(Transposed(k), v)
    new = new if beta is None else Faded(beta, new)
    return tape.record("S", Add(state, new), STATE, why=CORRECTED if corrects else ADDED)


class Faded(Hadamard):
    """A number of a token times a matrix; or a column of numbers times its rows."""

    @property
    def trailing(self) -> tuple[str, ...]:
        return self.right.trailing

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.left, Hadamard(upstream, self.right)
        yield self.right, Faded(self.left, upstream)

    @property
    def is_single(self) -> bool:
        return len(self.left.trailing) == 1

    def notation(self, columns: bool) -> tree.Formula:
        """`alpha_1 S_0`, or `alpha_1ᵀ ⊙ S_0`."""
        return tree.Times(self.notations(columns), " " if self.is_single else " ⊙ ")

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return (self.left, "·" if self.is_single else "⊙", self.right)
