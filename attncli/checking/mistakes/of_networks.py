"""Mistakes in a recurrent encoder, and in a decoder that attends to its states.

Each may be made in one step, in steps of one time, or in all steps like it.
"""

from __future__ import annotations

from attncli.checking.mistakes.mistake import (
    CALCULATE,
    Changes,
    Mistake,
    Nodes,
    made_of,
    mistake,
    put,
)
from attncli.checking.mistakes.mutations import Way, exchanged, instead, product_with, without
from attncli.core.mechanisms.trace import Trace
from attncli.core.tape.backward_operations import Hadamard, OneMinus
from attncli.core.tape.evaluation import transform, walk
from attncli.core.tape.operations import MatVec, Scale
from attncli.core.tape.step import Operation, Step

STATES = ("h", "s")
GATES = (*"fiogrzn", *STATES)


def in_steps(stems: tuple[str, ...], way: Way, sentence: str, advice: str = CALCULATE) -> Mistake:
    """Return a mistake in the steps of some stems, here or in many at once."""

    def changes(step: Step, trace: Trace) -> Changes:
        if trace.problem.kind != "encoder_decoder":
            return
        like = [one for one in trace if one.stem in stems and not one.backward]
        made = {one.name: other for one in like for other in way(one, trace)}
        at_once = [name for name in made if trace[name].suffix == step.suffix]
        for scope in ([step.name], at_once, [*made]) if step.name in made else ():
            if scope[0] == step.name:
                yield {name: made[name] for name in scope}, {}

    return mistake(sentence, advice, steps=stems)(changes)


forget_gate_left_out = in_steps(
    ("c",), without("f"), "The forget gate was left out, so that all of the cell stayed."
)
input_gate_left_out = in_steps(("c",), without("i"), "The input gate was left out.")
gates_of_cell_exchanged = in_steps(
    ("c",), exchanged("f", "i"), "The forget gate and the input gate were exchanged."
)
update_gate_reversed = in_steps(
    STATES,
    exchanged(OneMinus, "z"),
    "z and 1 − z were exchanged.",
    "Calculate {formula}: where z is 1, the state stays.",
)
reset_gate_left_out = in_steps(("n",), without("r"), "The reset gate was left out.")


def _reset_elsewhere(step: Step, trace: Trace) -> Nodes:
    for node in walk(made_of(step)):
        match node:
            case MatVec(matrix=u, vectors=Hadamard(left=r, right=state)):
                yield put(made_of(step), node, Hadamard(r, MatVec(u, state)))
            case Hadamard(left=r, right=MatVec(matrix=u, vectors=state)):
                yield put(made_of(step), node, MatVec(u, Hadamard(r, state)))


reset_on_other_side = in_steps(
    ("n",), _reset_elsewhere, "The state was reset on the other side of its product with U_n."
)
weights_of_gate_exchanged = in_steps(
    GATES, exchanged("W", "U"), "W was multiplied by the state before, and U by the input."
)
context_left_out = in_steps(
    GATES, without(product_with("C")), "What the decoder found was left out."
)


def _from_zeros(step: Step, trace: Trace) -> Nodes:
    last = step.operation
    if isinstance(last, Step) and isinstance(last.operation, Operation):
        yield Scale(last, times=0.0)


decoder_from_zeros = in_steps(
    ("s", "c"),
    _from_zeros,
    "The decoder was started with zeros.",
    "It starts where the encoder ended: {formula}.",
)
words_attended_to = in_steps(
    ("hidden", "scores", "context"),
    instead("memory", "H"),
    "The words of memory were attended to, not their states.",
    "The decoder attends to the encoder's states: {formula}.",
)


def _of_time_before(step: Step, trace: Trace) -> Nodes:
    if trace.problem.attends == "after":
        before = trace[f"s_{int(step.suffix[1:]) - 1}"]
        yield transform(made_of(step), lambda x: before if x.stem == "s" else x)


query_of_time_before = in_steps(
    ("hidden", "scores"), _of_time_before, "The query was the state before, not the new one."
)
