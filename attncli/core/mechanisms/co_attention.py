"""Matching two sentences that attend to each other.

Parikh et al. 2016, section 3.1 (a soft alignment of each sentence with the other) and Chen et
al. 2017, section 3.2 (the enhancement [a; ã; a − ã; a ⊙ ã]).
"""

from __future__ import annotations

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.weights import adjust, normalize, score
from attncli.core.formulas.tree import Formula, Stack, Times, minus
from attncli.core.mechanisms.inputs import given, label
from attncli.core.problem.problem import Problem
from attncli.core.tape.operations import MatMul, Transposed, joined
from attncli.core.tape.step import Expression, Operation
from attncli.core.tape.tape import Tape


def co_attention(tape: Tape, problem: Problem) -> None:
    """Record one matrix of scores, softmax over it both ways, and each sentence's aligned one."""
    label(tape, query=problem.tokens, key=problem.memory_tokens)
    a = given(tape, problem, "X", ("query", "feature"))
    b = given(tape, problem, "memory", ("key", "feature"))
    rules = problem.rules
    scores = adjust(tape, score(tape, a, b, rules), rules)
    sides = (("_x", scores, a, b, "Ã"), ("_memory", Transposed(scores), b, a, "B̃"))
    aligned: dict[str, Operation] = {}
    for suffix, shown, own, other, symbol in sides:
        with tape.within(suffix=suffix):
            weights = normalize(tape, shown, rules)
            step = tape.record("aligned", MatMul(weights, other), symbol=symbol)
            aligned[suffix] = Enhanced(own, step)
    for suffix, enhanced in aligned.items() if problem.enhance else ():
        with tape.within(suffix=suffix):
            tape.record("enhanced", enhanced)


class Enhanced(Operation):
    """[a; ã; a − ã; a ⊙ ã], feature by feature side by side."""

    own: Expression
    aligned: Expression
    why = (
        "Side by side, own and aligned vector, difference and product are what a comparison needs."
    )

    @property
    def trailing(self) -> tuple[str, ...]:
        return (self.own.trailing[-2], "enhanced")

    def apply(self, *arrays: Array) -> Array:
        """(…, n, d) and (…, n, d) give (…, n, 4 d)."""
        own, aligned = arrays
        return joined([own, aligned, own - aligned, own * aligned], -1)

    def notation(self, columns: bool) -> Formula:
        own, aligned = self.notations(columns)
        return Stack((own, aligned, minus(own, aligned), Times((own, aligned), " ⊙ ")))
