"""A network whose state attends to the states before it (Cheng et al. 2016, section 3.1).

That is the form of a plain network: the state h_t is made from the input and the context c_{t−1};
then h_t attends to h_0 … h_t, which gives c_t. Vectors are columns in the formulas, so A multiplies
from the left.
"""

from __future__ import annotations

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.problem.problem import Problem
from attncli.core.tape.backward_operations import Columns
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.operations import Add, Below, MatVec, Row, Stacked, Tanh, Together
from attncli.core.tape.step import Derivatives, Expression, Step
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import at_time, attended, label, put
from attncli.mechanisms.attention.times import State, below, repeated


def steps(tape: Tape, problem: Problem) -> None:
    """Record h_0; for each time h_t, scores_t, weights_t and c_t; all weights; all states."""
    x = put(tape, problem, "X", ("time", "feature"))
    times = x.array.shape[-2]
    words = problem.tokens or tuple(f"x_{t}" for t in range(1, times + 1))
    label(tape, time=words, state=tuple(f"h_{t}" for t in range(times + 1)))
    a = put(tape, problem, "A", ("state_feature", "joined"))
    attends = problem.update != "plain"
    reads_weights = not tape.skips_times or "weights" in (tape.wanted or ())
    first = tuple([_start(tape, problem, name, a) for name in ("h_0", "c_0")[: 1 + attends]])
    stacks = [Below(first[:1])]

    def of_time(t: int, before: State) -> tuple[State, tuple[Expression, ...]]:
        h, context = before[0], before[-1]
        parts: dict[str, Expression] = {"h": h, "x": Row(x, t - 1), "c": context}
        net: Expression = MatVec(a, Stacked(tuple(parts[p] for p in ORDER[problem.update])))
        with at_time(tape, problem.tokens, t):
            if "b" in problem.given:
                net = Add(net, put(tape, problem, "b", ("state_feature",)))
            h = tape.record("h", Tanh(net), ("feature",), why=STATE)
            if not attends:
                return (h,), (h,)
            stacks.append(stacks[-1].with_row(h, times))
            context, shares = attended(tape, problem, h, stacks[-1], "c")
        return (h, context), (h, shares)[: 1 + reads_weights]

    _, (output, *weights) = repeated(tape, problem, times, of_time, first)
    for rows in weights:
        tape.record("weights", Triangle(rows.below.parts), symbol="A", array=rows.array)
    tape.record("output", output.below, ("time", "feature"), symbol="H", array=output.array)


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


class Triangle(Together):
    """The weights of every time, each row one longer than the row before."""

    shape = "-> time state"
    why = "The weights of all times, a row each."

    def apply(self, *arrays: Array) -> Array:
        """(…, 1, 2), (…, 1, 3), … give (…, T, T + 1), with 0 where there is nothing yet."""
        return below(arrays)

    def derivative(self, result: Expression, upstream: Expression) -> Derivatives:
        for place, part in enumerate(self.parts):
            yield part, Columns(Row(upstream, place), 0, array_of(part).shape[-1])

    def is_blank(self, row: int, column: int) -> bool:
        """Whether the state does not exist yet."""
        return column > row + 1
