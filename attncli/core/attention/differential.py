"""Differential attention: what two attentions of a head both find is noise, and is subtracted.

The lines are those of Ye et al. 2024 (Differential Transformer, section 2): each half of the
features of a head's queries and keys makes attention weights of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.norms_and_activations import LAYER_NORMS, normalized
from attncli.core.attention.scores import SplitHeads
from attncli.core.attention.softmax import Exp
from attncli.core.formulas import tree
from attncli.core.tape.backward_operations import Columns, Hadamard, OfTwo, OneMinus, Subtract
from attncli.core.tape.operations import Add
from attncli.core.tape.step import Derivatives, Expression, Operation, Step
from attncli.core.tape.tape import Tape

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


def factor(tape: Tape, p: Mapping[str, Step]) -> Expression:
    """Return λ as given, or record it: e^(λ_q1·λ_k1) − e^(λ_q2·λ_k2) + λ_init (eq. 2)."""
    if "lambda" in p:
        return _of_heads(p["lambda"])
    first, second = (Exp(DotProduct(p[f"lambda_q{i}"], p[f"lambda_k{i}"])) for i in (1, 2))
    total = Add(Subtract(first, second), _of_heads(p["lambda_init"]))
    return tape.record("lambda", total, why=LEARNED)


def rescaled(tape: Tape, context: Step, p: Mapping[str, Step], settings: Mapping[str, Any]) -> Step:
    """Record (1 − λ_init) · norm of what each head found (eq. 3)."""
    norm = settings["norm"]
    eps = settings.get("eps", LAYER_NORMS[norm].eps)
    with tape.within(suffix="_context"):
        normed = normalized(tape, context, norm, eps, p.get("gain"), None, "normed")
        rest = OneMinus(_of_heads(p["lambda_init"]))
        return tape.record("rescaled", Multiple(normed, rest), why=RESCALED)


def _of_heads(numbers: Step) -> Step | Operation:
    count = numbers.array.shape[-1]
    return SplitHeads(numbers, count) if count > 1 else numbers
