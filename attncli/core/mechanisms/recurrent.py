"""Attention over states of recurrent networks: inside a network, over a text, between two texts.

A network whose state attends to the states before it (Cheng et al. 2016, section 3.1, in the form
of a plain network): the state h_t is made from the input and the context c_{t−1}; then h_t attends
to h_0 … h_t, which gives c_t. Vectors are columns in the formulas, so A multiplies from the left.

Pooling the states of a text into one vector: Yang et al. 2016, section 2.2 (u_t = tanh(W h_t + b),
the word attention of a document), and Zhou et al. 2016, section 3.3 (M = tanh(H),
α = softmax(wᵀ M), r = H αᵀ, tanh(r)).

Matching two sentences that attend to each other: Parikh et al. 2016, section 3.1 (a soft alignment
of each sentence with the other) and Chen et al. 2017, section 3.2 (the enhancement
[a; ã; a − ã; a ⊙ ã]).
"""

from __future__ import annotations

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.weights import adjust, attend, is_tiled, mixed, normalize, score
from attncli.core.formulas.tree import Formula, Stack, Times, minus
from attncli.core.mechanisms.attention import at_time, label, put
from attncli.core.problem.problem import Problem
from attncli.core.tape.backward_operations import Columns
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import (
    Add,
    AsRow,
    Below,
    MatMul,
    MatVec,
    Row,
    Stacked,
    Tanh,
    Together,
    Transposed,
    joined,
)
from attncli.core.tape.step import Derivatives, Expression, Operation, Step
from attncli.core.tape.tape import Tape


def recurrent(tape: Tape, problem: Problem) -> None:
    """Record h_0; for each time h_t, scores_t, weights_t and c_t; all weights; all states."""
    x = put(tape, problem, "X", ("time", "feature"))
    times = x.array.shape[-2]
    words = problem.tokens or tuple(f"x_{t}" for t in range(1, times + 1))
    label(tape, time=words, state=tuple(f"h_{t}" for t in range(times + 1)))
    a = put(tape, problem, "A", ("state_feature", "joined"))
    attends = problem.update != "plain"
    states = [_start(tape, problem, "h_0", a)]
    context = _start(tape, problem, "c_0", a) if attends else states[0]
    weights: list[Expression] = []
    for t in range(1, times + 1):
        parts: dict[str, Expression] = {"h": states[-1], "x": Row(x, t - 1), "c": context}
        net: Expression = MatVec(a, Stacked(tuple(parts[p] for p in ORDER[problem.update])))
        with at_time(tape, problem.tokens, t):
            if "b" in problem.given:
                net = Add(net, put(tape, problem, "b", ("state_feature",)))
            states.append(tape.record("h", Tanh(net), ("feature",), why=STATE))
            if attends:
                context, shares = attended(tape, problem, states[-1], Below(tuple(states)), "c")
                weights.append(shares)
    if attends:
        tape.record("weights", Triangle(tuple(weights)), symbol="A")
    tape.record("output", Below(tuple(states[1:])), ("time", "feature"), symbol="H")


STATE = "The new state is made of the input and of what came before it."

ORDER = {"input_context": "xc", "state_input_context": "hxc", "plain": "hx"}
"""The parts of the vector that A multiplies, for each update: h, x and c."""


def _start(tape: Tape, problem: Problem, name: str, a: Step) -> Step:
    if name in problem.given:
        start = put(tape, problem, name, ("feature",))
    else:
        zeros = np.zeros((1, 1, 1, a.array.shape[-2]), a.array.dtype)
        start = tape.put("0" if name == "h_0" else name, zeros, ("feature",))
    return tape.record(name, start, ("feature",)) if name == "h_0" else start


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


class Triangle(Together):
    """The weights of every time, each row one longer than the row before."""

    shape = "-> time state"
    why = "The weights of all times, a row each."

    def apply(self, *arrays: Array) -> Array:
        """(…, 1, 2), (…, 1, 3), … give (…, T, T + 1), with 0 where there is nothing yet."""
        width = arrays[-1].shape[-1]
        padded = [
            np.concatenate([a, np.zeros((*a.shape[:-1], width - a.shape[-1]), a.dtype)], axis=-1)
            for a in arrays
        ]
        return joined(padded, -2)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        for place, part in enumerate(self.parts):
            yield part, Columns(Row(upstream, place), 0, array_of(part).shape[-1])

    def is_blank(self, row: int, column: int) -> bool:
        """Whether the state does not exist yet."""
        return column > row + 1


def pooling(tape: Tape, problem: Problem) -> None:
    """Record the hidden layer, its scores against u, the weights and the weighted mean."""
    label(tape, key=problem.tokens)
    x = put(tape, problem, "X", ("key", "feature"))
    u = put(tape, problem, "u", ("query", "feature"))
    hidden: Expression = x
    if "W" in problem.given:
        hidden = MatMul(hidden, Transposed(put(tape, problem, "W", ("hidden", "feature"))))
    if "b" in problem.given:
        hidden = Add(hidden, put(tape, problem, "b", ("hidden",)))
    # Without W and b the states are their own hidden layer, unless tanh is asked for.
    if (problem.activation or ("none" if hidden is x else "tanh")) == "tanh":
        hidden = Tanh(hidden)
    if hidden is not x:
        hidden = tape.record("hidden", hidden)
    rules = problem.rules
    is_bent = problem.output_activation == "tanh"
    name, symbol = ("context", "C") if is_bent else ("output", "Z")
    if is_tiled(tape, u, hidden, rules):
        context = attend(tape, u, hidden, x, rules, name, symbol)
    else:
        scores = adjust(tape, score(tape, u, hidden, rules), rules)
        context = tape.record(name, mixed(tape, scores, x, rules), symbol=symbol)
    if is_bent:
        tape.record("output", Tanh(context), symbol="Z")


def co_attention(tape: Tape, problem: Problem) -> None:
    """Record one matrix of scores, softmax over it both ways, and each sentence's aligned one."""
    label(tape, query=problem.tokens, key=problem.memory_tokens)
    a = put(tape, problem, "X", ("query", "feature"))
    b = put(tape, problem, "memory", ("key", "feature"))
    rules = problem.rules
    scores = adjust(tape, score(tape, a, b, rules), rules)
    sides = (("_x", scores, a, b, "Ã"), ("_memory", Transposed(scores), b, a, "B̃"))
    aligned: dict[str, Operation] = {}
    for suffix, shown, x, other, symbol in sides:
        with tape.within(suffix=suffix):
            weights = normalize(tape, shown, rules)
            step = tape.record("aligned", MatMul(weights, other), symbol=symbol)
            aligned[suffix] = Enhanced(x, step)
    for suffix, enhanced in aligned.items() if problem.enhance else ():
        with tape.within(suffix=suffix):
            tape.record("enhanced", enhanced)


class Enhanced(Operation):
    """[a; ã; a − ã; a ⊙ ã], feature by feature side by side."""

    x: Expression
    aligned: Expression
    shape = "n d, n d -> n enhanced"
    why = (
        "Side by side, own and aligned vector, difference and product are what a comparison needs."
    )

    def apply(self, *arrays: Array) -> Array:
        x, aligned = arrays
        return joined([x, aligned, x - aligned, x * aligned], -1)

    def notation(self, columns: bool) -> Formula:
        x, aligned = self.notations(columns)
        return Stack((x, aligned, minus(x, aligned), Times((x, aligned), " ⊙ ")))
