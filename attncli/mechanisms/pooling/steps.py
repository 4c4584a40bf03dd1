"""The states of a text pooled into one vector.

Yang et al. 2016, section 2.2 (u_t = tanh(W h_t + b), the word attention of a document), and Zhou et
al. 2016, section 3.3 (M = tanh(H), α = softmax(wᵀ M), r = H αᵀ, tanh(r)).
"""

from __future__ import annotations

from attncli.core.attention.weights import adjust, attend, is_tiled, score
from attncli.core.problem.problem import Problem
from attncli.core.tape.operations import Add, MatMul, Tanh, Transposed
from attncli.core.tape.step import Expression
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import label, put
from attncli.mechanisms.attention.steps import mixed


def steps(tape: Tape, problem: Problem) -> None:
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
