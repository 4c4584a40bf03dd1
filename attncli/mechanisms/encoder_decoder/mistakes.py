"""Mistakes in a recurrent encoder, and in a decoder that attends to its states.

Each may be made in one step, in steps of one time, or in all steps like it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from attncli.core.calculation.mistake import (
    Changes,
    Mistake,
    Nodes,
    is_named,
    made_of,
    mistake,
    put,
)
from attncli.core.calculation.trace import Trace
from attncli.core.tape.backward_operations import Hadamard
from attncli.core.tape.evaluation import array_of, transform, walk
from attncli.core.tape.operations import Add, MatVec, Scale
from attncli.core.tape.step import Operation, Step

Rule = Callable[[Step, Trace], Nodes]
"""Yields what a mistake makes of a step, which may be nothing."""

STATES = ("h", "s")
GATES = (*"fiogrzn", *STATES)


def in_steps(
    stems: tuple[str, ...], sentence: str, advice: str = "Calculate {formula}."
) -> Callable[[Rule], Mistake]:
    """Return a decorator for a mistake in the steps of some stems, here or in many at once."""

    def decorated(rule: Rule) -> Mistake:
        @wraps(rule)
        def changes(step: Step, trace: Trace) -> Changes:
            if trace.problem.kind != "encoder_decoder" or step.stem not in stems:
                return
            like = [one for one in trace if one.stem in stems and not one.backward]
            made = {one.name: other for one in like for other in rule(one, trace)}
            at_once = [name for name in made if trace[name].suffix == step.suffix]
            for scope in ([step.name], at_once, [*made]) if step.name in made else ():
                if scope[0] == step.name:
                    yield {name: made[name] for name in scope}, {}

        return mistake(sentence, advice)(changes)

    return decorated


@in_steps(("c",), "The forget gate was left out, so that all of the cell stayed.")
def forget_gate_left_out(step: Step, trace: Trace) -> Nodes:
    match step.operation:
        case Add(left=Hadamard(right=cell), right=new):
            yield Add(cell, new)


@in_steps(("c",), "The input gate was left out.")
def input_gate_left_out(step: Step, trace: Trace) -> Nodes:
    match step.operation:
        case Add(left=kept, right=Hadamard(right=candidate)):
            yield Add(kept, candidate)


@in_steps(("c",), "The forget gate and the input gate were exchanged.")
def gates_of_cell_exchanged(step: Step, trace: Trace) -> Nodes:
    match step.operation:
        case Add(left=Hadamard(left=f, right=cell), right=Hadamard(left=i, right=candidate)):
            yield Add(Hadamard(i, cell), Hadamard(f, candidate))


@in_steps(
    STATES, "z and 1 − z were exchanged.", "Calculate {formula}: where z is 1, the state stays."
)
def update_gate_reversed(step: Step, trace: Trace) -> Nodes:
    match step.operation:
        case Add(left=Hadamard(left=rest, right=new), right=Hadamard(left=z, right=before)):
            yield Add(Hadamard(z, new), Hadamard(rest, before))


@in_steps(("n",), "The reset gate was left out.")
def reset_gate_left_out(step: Step, trace: Trace) -> Nodes:
    for node in walk(made_of(step)):
        match node:
            case Hadamard(left=Step(stem="r"), right=state):
                yield put(made_of(step), node, state)


@in_steps(("n",), "The state was reset on the other side of its product with U_n.")
def reset_on_other_side(step: Step, trace: Trace) -> Nodes:
    for node in walk(made_of(step)):
        match node:
            case MatVec(matrix=u, vectors=Hadamard(left=r, right=state)):
                yield put(made_of(step), node, Hadamard(r, MatVec(u, state)))
            case Hadamard(left=r, right=MatVec(matrix=u, vectors=state)):
                yield put(made_of(step), node, MatVec(u, Hadamard(r, state)))


@in_steps(GATES, "W was multiplied by the state before, and U by the input.")
def weights_of_gate_exchanged(step: Step, trace: Trace) -> Nodes:
    """Only if both have one shape."""
    parts = [node for node in walk(made_of(step)) if is_named(node, ("W", "U"))]
    if len(parts) == 2 and array_of(parts[0]).shape == array_of(parts[1]).shape:
        others = dict(zip(parts, parts[::-1], strict=True))
        yield transform(made_of(step), lambda x: others.get(x, x))


@in_steps(GATES, "What the decoder found was left out.")
def context_left_out(step: Step, trace: Trace) -> Nodes:
    for node in walk(made_of(step)):
        match node:
            case Add(left=net, right=MatVec(matrix=c)) if is_named(c, "C"):
                yield put(made_of(step), node, net)


@in_steps(
    ("s", "c"),
    "The decoder was started with zeros.",
    "It starts where the encoder ended: {formula}.",
)
def decoder_from_zeros(step: Step, trace: Trace) -> Nodes:
    last = step.operation
    if isinstance(last, Step) and isinstance(last.operation, Operation):
        yield Scale(last, times=0.0)


@in_steps(
    ("hidden", "scores", "context"),
    "The words of memory were attended to, not their states.",
    "The decoder attends to the encoder's states: {formula}.",
)
def words_attended_to(step: Step, trace: Trace) -> Nodes:
    memory = trace.inputs["memory"]
    if (other := transform(made_of(step), lambda x: memory if x.name == "H" else x)) != made_of(
        step
    ):
        yield other


@in_steps(("hidden", "scores"), "The query was the state before, not the new one.")
def query_of_time_before(step: Step, trace: Trace) -> Nodes:
    if trace.problem.attends == "after":
        before = trace[f"s_{int(step.suffix[1:]) - 1}"]
        yield transform(made_of(step), lambda x: before if x.stem == "s" else x)
