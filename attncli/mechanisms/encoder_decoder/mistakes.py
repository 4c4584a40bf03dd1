"""Mistakes in a recurrent encoder, and in a decoder that attends to its states.

Each may be made in one step, in steps of one time, or in all steps like it.
"""

from __future__ import annotations

from functools import partial

from attncli.core.calculation.mistake import Changes, Nodes, made_of, mistake
from attncli.core.calculation.mutations import exchanged, in_steps, left_out, with_part
from attncli.core.calculation.trace import Trace
from attncli.core.tape.backward_operations import Hadamard, OneMinus
from attncli.core.tape.evaluation import transform, with_steps
from attncli.core.tape.operations import MatVec, Scale
from attncli.core.tape.step import Operation, Step

STATES = ("h", "s")
GATES = (*"fiogrzn", *STATES)


_in_steps = partial(in_steps, "encoder_decoder")

CELL = ("c",)

forget_gate_left_out = _in_steps(
    CELL, left_out("f", "The forget gate was left out, so that all of the cell stayed.")
)
input_gate_left_out = _in_steps(CELL, left_out("i", "The input gate was left out."))
gates_of_cell_exchanged = _in_steps(CELL, exchanged("f", "i"))
update_gate_reversed = _in_steps(STATES, exchanged(OneMinus, "z"))
reset_gate_left_out = _in_steps(("n",), left_out("r", "The reset gate was left out."))


@mistake("The state was reset on the other side of its product with U_n.")
def _reset_elsewhere(node: Operation) -> Nodes:
    match node:
        case MatVec(matrix=u, vectors=Hadamard(left=r, right=state)):
            yield Hadamard(r, MatVec(u, state))
        case Hadamard(left=r, right=MatVec(matrix=u, vectors=state)):
            yield MatVec(u, Hadamard(r, state))


reset_on_other_side = _in_steps(("n",), _reset_elsewhere)
weights_of_gate_exchanged = _in_steps(GATES, exchanged("W", "U"))
context_left_out = _in_steps(
    GATES, left_out(with_part("C"), "What the decoder found was left out.")
)


@mistake("The decoder was started with zeros.", "It starts where the encoder ended: {formula}.")
def _from_zeros(step: Step, trace: Trace) -> Changes:
    last = step.operation
    if isinstance(last, Step) and isinstance(last.operation, Operation):
        yield Scale(last, times=0.0)


decoder_from_zeros = _in_steps(("s", "c"), _from_zeros)


@mistake(
    "The words of memory were attended to, not their states.",
    "The decoder attends to the encoder's states: {formula}.",
)
def _words_for_states(step: Step, trace: Trace) -> Changes:
    other = with_steps(made_of(step), {"H": trace.inputs["memory"]})
    if other is not step.operation:
        yield other


words_attended_to = _in_steps(("hidden", "scores", "context"), _words_for_states)


@mistake("The query was the state before, not the new one.")
def _query_before(step: Step, trace: Trace) -> Changes:
    if trace.problem.attends == "after":
        before = trace[f"s_{int(step.suffix[1:]) - 1}"]
        yield transform(made_of(step), lambda x: before if x.stem == "s" else x)


query_of_time_before = _in_steps(("hidden", "scores"), _query_before)
