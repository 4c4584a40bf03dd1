"""Two sentences that attend to each other.

Parikh et al. 2016, section 3.1 (a soft alignment of each sentence with the other), and Chen et al.
2017, section 3.2 (the enhancement [a; ã; a − ã; a ⊙ ã]).
"""

from __future__ import annotations

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.weights import adjust, normalize, score
from attncli.core.formulas.tree import Formula, Stack, Times, minus
from attncli.core.problem.problem import Problem
from attncli.core.tape.operations import MatMul, Transposed, joined
from attncli.core.tape.step import Expression, Operation
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import label, put


def steps(tape: Tape, problem: Problem) -> None:
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
