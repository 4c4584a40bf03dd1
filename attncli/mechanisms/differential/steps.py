"""Differential attention: what two attentions of a head both find is noise, and is subtracted.

The lines are those of Ye et al. 2024 (Differential Transformer, section 2): each half of the
features of a head's queries and keys makes attention weights of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.norms_and_activations import LAYER_NORMS, normalized
from attncli.core.attention.scores import RepeatHeads, SplitHeads
from attncli.core.attention.softmax import Exp
from attncli.core.attention.weights import adjust, attend, is_tiled, normalize, score
from attncli.core.formulas import tree
from attncli.core.problem.problem import Problem
from attncli.core.tape.backward_operations import Columns, Hadamard, OfTwo, OneMinus, Subtract
from attncli.core.tape.operations import Add, MatMul
from attncli.core.tape.step import Derivatives, Expression, Operation, Step
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import normed_and_rotated, put

WHY = "What both halves find is noise: λ times the second weights are subtracted from the first."
LEARNED = "λ is learned: the dot products move it up or down from λ_init."
RESCALED = "With 1 − λ_init, gradients are about as large as those of a usual attention."


class Half(Columns):
    """The first or second half of the features of each head: (…, n, 2·d) gives (…, n, d)."""

    why = "Each half of a head's features compares queries with keys by itself."


def half_of(step: Step, number: int) -> Half:
    """Return the half with a number, 1 or 2, of queries or keys."""
    size = step.array.shape[-1] // 2
    return Half(step, (number - 1) * size, number * size)


class Multiple(Hadamard):
    """A matrix times a number, or times one for each head."""

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Times(self.notations(columns)[::-1], " · ")

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return (self.right, "·", self.left)


class DotProduct(OfTwo):
    """q·k of two vectors."""

    shape = "n d, n d -> n product"

    def apply(self, q: Array, k: Array) -> Array:
        return (q * k).sum(axis=-1, keepdims=True)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.left, Multiple(self.right, upstream)
        yield self.right, Multiple(self.left, upstream)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Times(self.notations(columns), " · ")


def difference(tape: Tape, problem: Problem, q: Step, k: Step, v: Step, name: str) -> Step:
    """Record (A_1 − λ A_2) V, or A_1 V − λ A_2 V, by a name; each half of Q and K makes one A."""
    rules, times = problem.rules, problem.heads // problem.kv_heads

    def of_half(number: int) -> Step:
        """Record the weights; of many tokens, what they read."""
        with tape.within(suffix=f"_{number}"):
            halves = [tape.record(x.stem, half_of(x, number)) for x in (q, k)]
            of_q, of_k = normed_and_rotated(tape, halves[0], halves[1], rules)
            if is_tiled(tape, of_q, of_k, rules) and "weights" not in (tape.wanted or ()):
                return attend(tape, of_q, of_k, v, rules, "context", "context")
            scores = score(tape, of_q, RepeatHeads(of_k, times) if times > 1 else of_k, rules)
            return normalize(tape, adjust(tape, scores, rules), rules)

    first, second = of_half(1), of_half(2)
    rest = Subtract(first, Multiple(second, factor(tape, _given(tape, problem))))
    if first.stem == "context":
        return tape.record(name, rest, symbol="Z", why=WHY)
    weights = tape.record("weights", rest, symbol="A", why=WHY)
    values = RepeatHeads(v, times) if times > 1 else v
    return tape.record(name, MatMul(weights, values), symbol="Z")


def _given(tape: Tape, problem: Problem) -> dict[str, Step]:
    """Return λ, or what it is made of, and what the norm takes, by their names."""
    names = [name for name in problem.differential if name not in ("norm", "eps")]
    return {name: put(tape, problem, f"differential.{name}", ("feature",)) for name in names}


def factor(tape: Tape, p: Mapping[str, Step]) -> Expression:
    """Return λ as given, or record it: e^(λ_q1·λ_k1) − e^(λ_q2·λ_k2) + λ_init (eq. 2)."""
    if "lambda" in p:
        return _of_heads(p["lambda"])
    first, second = (Exp(DotProduct(p[f"lambda_q{i}"], p[f"lambda_k{i}"])) for i in (1, 2))
    total = Add(Subtract(first, second), _of_heads(p["lambda_init"]))
    return tape.record("lambda", total, why=LEARNED)


def rescaled(tape: Tape, problem: Problem, context: Step) -> Step:
    """Record (1 − λ_init) · norm of what each head found (eq. 3)."""
    settings, p = problem.differential, _given(tape, problem)
    norm = settings["norm"]
    eps = settings.get("eps", LAYER_NORMS[norm].eps)
    with tape.within(suffix="_context"):
        normed = normalized(tape, context, norm, eps, p.get("gain"), None, "normed")
        rest = OneMinus(_of_heads(p["lambda_init"]))
        return tape.record("rescaled", Multiple(normed, rest), why=RESCALED)


def _of_heads(numbers: Step) -> Step | Operation:
    count = numbers.array.shape[-1]
    return SplitHeads(numbers, count) if count > 1 else numbers
