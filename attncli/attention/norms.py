"""The norms of queries and keys, which keep scores from growing with the lengths of vectors."""

from __future__ import annotations

import numpy as np

from attncli.arithmetic import floats as precision
from attncli.arithmetic.elements import Array
from attncli.attention.parameters import Parameter
from attncli.attention.scores import refuse_zero_rows
from attncli.attention.weights import Rules
from attncli.notation import tree
from attncli.records import Record
from attncli.tape.derivatives import Hadamard
from attncli.tape.operations import Divide, Scale, constant
from attncli.tape.step import Derivatives, Expression, Operation, Step
from attncli.tape.tape import Tape
from attncli.tape.walk import array_of


class QkNorm(Record):
    """One row of the table."""

    formula: str  # of a query or key x
    why: str
    parameters: tuple[Parameter, ...] = ()  # the keys that it takes in the `qk_norm` mapping


def normed(tape: Tape, q: Step, k: Step, rules: Rules, suffix: str = "") -> tuple[Step, Step]:
    """Record `Q_normed` and `K_normed` if there is a norm; return the queries and keys to use."""
    if not rules.qk_norm:
        return q, k
    own = dict(rules.qk_norm)
    name, gains = own.pop("name"), {"q": own.pop("g_q", None), "k": own.pop("g_k", None)}
    found = []
    for side, (letter, gain) in zip((q, k), gains.items(), strict=True):
        if name == "l2":
            refuse_zero_rows(tape, side, "qk_norm", "it cannot be divided by its length")
        made: Operation = Divide(side, Length(side, **own))
        if gain is not None:
            key = f"qk_norm.g_{letter}"
            known = tape.input_of(key)
            made = Hadamard(made, known or tape.given(f"g_{letter}", gain, ("feature",), key=key))
        step = f"{side.plain[0]}_normed{suffix}"
        found.append(tape.record(step, made, side.trailing, why=NORMS[name].why))
    return found[0], found[1]


class Length(Operation):
    """The length of each vector; with eps, the root of the mean of its squares and eps."""

    operand: Expression
    eps: float | None = None

    @property
    def trailing(self) -> tuple[str, ...]:
        return (*self.operand.trailing[:-1], "length")

    def apply(self, x: Array) -> Array:
        """(…, n, d) gives (…, n, 1)."""
        if self.eps is not None:
            return np.sqrt((x * x).sum(axis=-1, keepdims=True) / x.shape[-1] + self.eps)
        x, exponent = precision.of_ordinary_size(x)
        length = np.sqrt((x * x).sum(axis=-1, keepdims=True))
        return length if exponent is None else np.ldexp(length, exponent)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        slope = Hadamard(upstream, Divide(self.operand, result))
        count = 1.0 if self.eps is None else float(array_of(self.operand).shape[-1])
        yield self.operand, slope if count == 1 else Scale(slope, over=count)

    def notation(self, columns: bool) -> tree.Formula:
        if self.eps is None:
            return tree.Norm(*self.notations(columns))
        squares = tree.Phrase((tree.Words("mean"), tree.Squared(*self.notations(columns))))
        return tree.Root(tree.plus(squares, constant(self.eps)))


NORMS: dict[str, QkNorm] = {
    "l2": QkNorm("x / ‖x‖", "All vectors get one length: scores depend on their directions alone."),
    "rms": QkNorm(
        "x / √(mean of x² + eps) · g",
        "All vectors get about one length, so that scores stay small.",
        (Parameter("eps", default=1e-6), Parameter("g_q", ("d_q",)), Parameter("g_k", ("d_k",))),
    ),
}
