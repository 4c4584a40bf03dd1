"""A simple recurrent network whose state attends to the states before it.

Cheng et al. 2016, section 3.1, in the form of a plain network: the state h_t is made from the
input and the context c_{t−1}; then h_t attends to h_0 … h_t, which gives c_t. Vectors are columns
in the formulas, so A multiplies from the left.
"""

from __future__ import annotations

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.weights import adjust, normalize, score
from attncli.core.formulas import tree
from attncli.core.mechanisms.inputs import given, label
from attncli.core.problem.problem import Problem
from attncli.core.tape.cells import row_letter
from attncli.core.tape.derivatives import Columns, Rearranged, features
from attncli.core.tape.operations import Add, MatMul, Tanh, Transposed, joined
from attncli.core.tape.step import Derivatives, Expression, Operation, Step
from attncli.core.tape.tape import Tape
from attncli.core.tape.walk import array_of


def recurrent(tape: Tape, problem: Problem) -> None:
    """Record h_0; for each time h_t, scores_t, weights_t and c_t; all weights; all states."""
    x = given(tape, problem, "X", ("time", "feature"))
    times = x.array.shape[-2]
    words = problem.tokens or tuple(f"x_{t}" for t in range(1, times + 1))
    label(tape, time=words, state=tuple(f"h_{t}" for t in range(times + 1)))
    a = given(tape, problem, "A", ("state_feature", "joined"))
    attends = problem.update != "plain"
    states = [_start(tape, problem, "h_0", a)]
    context = _start(tape, problem, "c_0", a) if attends else states[0]
    weights: list[Expression] = []
    for t in range(1, times + 1):
        tape.group = f"t = {t} ({words[t - 1]})" if problem.tokens else f"t = {t}"
        parts: dict[str, Expression] = {"h": states[-1], "x": Row(x, t - 1), "c": context}
        made: Expression = MatVec(a, Stacked(tuple(parts[p] for p in ORDER[problem.update])))
        if "b" in problem.given:
            made = Add(made, given(tape, problem, "b", ("state_feature",)))
        with tape.within(suffix=f"_{t}"):
            states.append(tape.record("h", Tanh(made), ("feature",), why=STATE))
            if attends:
                context, shares = _attend(tape, problem, states)
                weights.append(shares)
    tape.group = ""
    if attends:
        tape.record("weights", Triangle(tuple(weights)), symbol="A")
    tape.record("output", Below(tuple(states[1:])), ("time", "feature"), symbol="H")


STATE = "The new state is made of the input and of what came before it."

ORDER = {"input_context": "xc", "state_input_context": "hxc", "plain": "hx"}
"""The parts of the vector that A multiplies, for each update: h, x and c."""


def _start(tape: Tape, problem: Problem, name: str, a: Step) -> Step:
    if name in problem.given:
        start = given(tape, problem, name, ("feature",))
    else:
        zeros = np.zeros((1, 1, 1, a.array.shape[-2]), a.array.dtype)
        start = tape.given("0" if name == "h_0" else name, zeros, ("feature",))
    return tape.record(name, start, ("feature",)) if name == "h_0" else start


def _attend(tape: Tape, problem: Problem, states: list[Step]) -> tuple[Step, Expression]:
    """Record scores_t, weights_t and c_t of the newest state with all states so far."""
    before = Below(tuple(states))
    q: Expression = states[-1]
    k: Expression = before
    if "W_q" in problem.given:
        q = MatVec(given(tape, problem, "W_q", ("query_feature", "feature")), q)
    if "W_k" in problem.given:
        k = MatVec(given(tape, problem, "W_k", ("key_feature", "feature")), k)
    scores = score(tape, AsRow(q), k, problem.rules, ("state",))
    weights = normalize(tape, adjust(tape, scores, problem.rules), problem.rules)
    return tape.record("c", MatMul(weights, before), ("feature",)), weights


class Row(Operation):
    """One token of X, a vector; or some rows of a matrix."""

    operand: Expression
    place: int
    count: int = 0  # number of rows of a matrix; 0 for a vector

    @property
    def trailing(self) -> tuple[str, ...]:
        return self.operand.trailing if self.count else ("feature",)

    def apply(self, matrix: Array) -> Array:
        """(…, n, d) gives (…, 1, d), or (…, count, d)."""
        return matrix[..., self.place : self.place + (self.count or 1), :]

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, InRow(upstream, self.place, array_of(self.operand).shape[-2])

    def notation(self, columns: bool) -> tree.Formula:
        if self.count:
            what = f"{'columns' if columns else 'rows'} from {self.place + 1} of"
            return tree.Phrase((tree.Words(what), *self.notations(columns)))
        if isinstance(self.operand, Step):
            return tree.named(f"{row_letter(self.operand)}_{self.place + 1}")
        return tree.Phrase((tree.Words(f"row {self.place + 1} of"), *self.notations(columns)))


class InRow(Operation):
    """A vector as one row of a matrix whose other rows are 0."""

    operand: Expression
    place: int
    count: int
    trailing = ("time", "feature")

    def apply(self, row: Array) -> Array:
        """(…, 1, d) gives (…, count, d)."""
        *lead, _, width = row.shape
        counts = self.place, self.count - self.place - 1
        before, after = (np.zeros((*lead, count, width), row.dtype) for count in counts)
        return np.concatenate([before, row, after], axis=-2)

    def notation(self, columns: bool) -> tree.Formula:
        where = tree.Words(f"in row {self.place + 1}")
        return tree.Fence(tree.Phrase((*self.notations(columns), where)))


class AsRow(Rearranged):
    """A vector as a matrix of one row, a single query."""

    @property
    def trailing(self) -> tuple[str, ...]:
        return ("now", *self.operand.trailing)

    def apply(self, vector: Array) -> Array:
        """(…, 1, d), as a vector is held already."""
        return vector

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield self.operand, upstream


class MatVec(Operation):
    """A matrix times a vector from the left, or times each of several vectors."""

    matrix: Expression
    vectors: Expression

    @property
    def trailing(self) -> tuple[str, ...]:
        return (*self.vectors.trailing[:-1], self.matrix.trailing[0])

    def apply(self, matrix: Array, vectors: Array) -> Array:
        """(…, a, b) and vectors as rows (…, n, b) give rows (…, n, a)."""
        return vectors @ np.swapaxes(matrix, -1, -2)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        """DA = dy xᵀ and dx = Aᵀ dy, for y = A x."""
        yield self.matrix, Outer(upstream, self.vectors)
        yield self.vectors, MatVec(Transposed(self.matrix), upstream)

    def notation(self, columns: bool) -> tree.Formula:
        return tree.Times(self.notations(columns), " ")

    def layout(self, columns: bool) -> tuple[Expression | str, ...]:
        return (self.matrix, "×", AsColumn(self.vectors))


class Outer(Operation):
    """y xᵀ of two vectors, or its sum over pairs of vectors."""

    left: Expression
    right: Expression

    @property
    def trailing(self) -> tuple[str, ...]:
        return (self.left.trailing[-1], self.right.trailing[-1])

    def apply(self, left: Array, right: Array) -> Array:
        """Vectors as rows, (…, n, a) and (…, n, b), give (…, a, b)."""
        return np.swapaxes(left, -1, -2) @ right

    def notation(self, columns: bool) -> tree.Formula:
        left, right = self.notations(columns)
        return tree.Times((left, tree.Transpose(right)), " ")


class AsColumn(Rearranged):
    """A vector as a column, as in the formula."""

    @property
    def trailing(self) -> tuple[str, ...]:
        return (self.operand.trailing[-1], "now")

    def apply(self, vector: Array) -> Array:
        """(…, 1, d) gives (…, d, 1)."""
        return np.swapaxes(vector, -1, -2)


class Parts(Operation):
    """Several values put together."""

    parts: tuple[Expression, ...]

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.parts

    def notation(self, columns: bool) -> tree.Formula:
        names = self.notations(columns)
        return tree.Stack(names if len(names) <= 3 else (names[0], tree.Dots(), names[-1]))


class Stacked(Parts):
    """One vector of the numbers of several."""

    trailing = ("joined",)

    def apply(self, *arrays: Array) -> Array:
        """(…, 1, a), (…, 1, b), … give (…, 1, a + b + …)."""
        return joined(arrays, -1)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        yield from features(upstream, *self.parts)


class Below(Parts):
    """A matrix with a vector in each row, or the rows of several matrices."""

    trailing = ("state", "feature")
    why = "The states of all times, a row each."

    def apply(self, *arrays: Array) -> Array:
        """Vectors (…, 1, d) give (…, their number, d)."""
        return joined(arrays, -2)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        place = 0
        for part in self.parts:
            count = array_of(part).shape[-2]
            yield part, Row(upstream, place, count if len(part.trailing) > 1 else 0)
            place += count


class Triangle(Parts):
    """The weights of every time, each row one longer than the row before."""

    trailing = ("time", "state")
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
